"""The yardstick."""

from __future__ import annotations

from generation.generator import Listener, Tools
from generation.generators.first import First
from generation.schema import Claim, Evidence, LeftOut
from tests.unit.generation.sources import START, evidence

TOOLS = Tools(None, None)  # type: ignore[arg-type]  # it needs neither


def test_the_first_passage_is_the_answer_whole():
    found = evidence("BM25 saturates.\nAnd so on,  at length.", "Another passage.")
    told: list[Claim] = []
    made = First().answer(found, TOOLS, Listener(on_claim=told.append))
    (claim,) = made.claims
    assert claim.text == "BM25 saturates. And so on, at length."
    (place,) = claim.citations
    assert (place.source, place.chunk_id, place.doc_name, place.page) == ("S1", "c001", "report.pdf", 3)
    assert (place.char_start, place.char_end) == (START, START + 38)
    assert place.quote == "BM25 saturates.\nAnd so on,  at length."
    assert (told, made.refused, made.generator, made.sources) == ([claim], False, "first", found.sources)


def test_it_refuses_only_where_nothing_was_retrieved():
    left = (LeftOut("c1", "report.pdf, page 1", 1, "holds no words"),)
    made = First().answer(Evidence("What?", (), left_out=left), TOOLS)
    assert (made.refused, made.reason, made.claims, made.sources) == (True, "no passage was retrieved", (), ())
    assert (made.left_out, made.generator, made.question) == (left, "first", "What?")
