"""`python -m generation ask` as it is typed: what is read, what is refused with which code, and how it looks."""

from __future__ import annotations

import json
import logging
import sys
import threading
import warnings
from collections.abc import Iterator

import pytest

from generation import ask_command
from generation.__main__ import main
from generation.api import Answerer, Route, answer
from generation.errors import CapacityError
from generation.schema import Answer, Claim
from generation.shown import as_text
from retrieval.filters import Where
from tests.unit.generation.asking import forget_keys
from tests.unit.generation.bundled import bundled, texts

QUESTION = "What does the Silent Chunk Rule forbid?"
OTHER = "rp-03-linear-fusion.pdf"


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path) -> Iterator[None]:
    """No key of the machine; what the command changes in this process is put back."""
    forget_keys(monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    hooks = sys.excepthook, threading.excepthook, sys.unraisablehook, warnings.formatwarning
    records = logging.getLogRecordFactory()
    yield
    sys.excepthook, threading.excepthook, sys.unraisablehook, warnings.formatwarning = hooks
    logging.setLogRecordFactory(records)


@pytest.fixture
def ask(capsys):
    """Exit code, standard output and standard error of one command."""

    def typed(*arguments: str) -> tuple[int, str, str]:
        code = main(["ask", *arguments])
        return code, *capsys.readouterr()

    return typed


def timeless(text: str) -> str:
    """Without the seconds at the end of the line with the cost."""
    return "\n".join(line.rpartition(",")[0] if line.endswith(" s)") else line for line in text.splitlines())


def test_the_text_is_that_of_the_answer_from_python(ask):
    code, said, errors = ask(QUESTION)
    assert (code, errors) == (0, "")
    assert timeless(said) == timeless(as_text(answer(QUESTION, searcher=bundled())) + "\n")
    assert said.startswith("1. ")
    assert "\n\nSources\nS" in said


def test_json_is_the_same_answer(ask):
    code, said, _ = ask(QUESTION, "--json", "strategy=rrf", "generator.claims=2")
    content = json.loads(said)
    made = answer(QUESTION, searcher=bundled(), strategy="rrf", overrides=["generator.claims=2"])
    expected = json.loads(json.dumps(made.as_json()))
    assert code == 0
    assert content.pop("usage").keys() == expected.pop("usage").keys()
    assert content == expected
    assert set(content) >= {"question", "claims", "sources", "refused", "reason", "cited", "mentions", "fallback"}
    place = content["claims"][0]["citations"][0]
    assert set(place) >= {"source", "chunk_id", "doc_name", "page", "section", "char_start", "char_end", "quote"}


def test_a_stream_has_the_claims_first_and_the_same_footing(ask):
    _, whole, _ = ask(QUESTION)
    code, said, _ = ask(QUESTION, "--stream")
    assert code == 0
    assert timeless(said) == timeless(whole)


def test_claims_are_printed_one_by_one_before_the_answer_is_there(ask, monkeypatch, capsys):
    seen: list[str] = []

    def slowly(self, question, where=None, listener=None) -> Answer:
        for number in (1, 2):
            listener.on_claim(Claim(f"Claim {number}.", ()))
            seen.append(capsys.readouterr().out)
        listener.on_restart("CapacityError")
        listener.on_claim(Claim("Another.", ()))
        return Answer(question, (Claim("Another.", ()),), (), generator="chat")

    monkeypatch.setattr(Answerer, "answer", slowly)
    _, said, _ = ask(QUESTION, "--stream")
    assert seen == ["1. Claim 1. [no source] (LOW)\n", "2. Claim 2. [no source] (LOW)\n"]
    void, again, *_ = said.splitlines()
    assert void == "--- the claims above are void (CapacityError); the answer begins anew ---"
    assert again == "1. Another. [no source] (LOW)"


@pytest.mark.parametrize("claims", [0, 2])
def test_a_stream_that_fails_leaves_nothing_that_passes_as_an_answer(ask, monkeypatch, claims):
    def failing(self, question, where=None, listener=None) -> Answer:
        for number in range(claims if listener else 0):
            listener.on_claim(Claim(f"Claim {number}.", ()))
        raise CapacityError("no route gave a reply")

    monkeypatch.setattr(Answerer, "answer", failing)
    code, said, errors = ask(QUESTION, "--stream")
    assert (code, errors) == (1, "generation: CapacityError: no route gave a reply\n")
    assert said.splitlines()[claims:] == ["--- the claims above are void: the answer failed ---"] * bool(claims)
    code, said, errors = ask(QUESTION)
    assert (code, said) == (1, "")


def test_a_refusal_is_an_answer(ask):
    for flags in ((), ("--stream",)):
        code, said, errors = ask("zzzq xwvvk?", *flags)
        assert (code, errors) == (0, "")
        assert said.startswith("No answer: no passage was retrieved.\n\n(grounded, ")
    code, said, _ = ask("zzzq xwvvk?", "--json")
    assert (json.loads(said)["refused"], json.loads(said)["claims"]) == (True, [])


def test_the_first_passage_as_yardstick(ask):
    code, said, _ = ask(QUESTION, "generator=first", "--json")
    content = json.loads(said)
    assert (code, content["generator"], len(content["claims"])) == (0, "first", 1)
    assert content["claims"][0]["citations"][0]["source"] == "S1"
    _, streamed, _ = ask(QUESTION, "generator=first", "--stream")
    level = f"({content['claims'][0]['level']} {content['claims'][0]['probability']:.2f})"
    assert level in " ".join(streamed.split())  # a stream too says how sure one can be


def test_filters_and_the_graph(ask):
    code, said, _ = ask(QUESTION, f"where.document={OTHER}", "--json")
    assert code == 0
    assert {source["passage"]["doc_name"] for source in json.loads(said)["sources"]} == {OTHER}
    made = answer(QUESTION, searcher=bundled(), where=Where.read(document=OTHER))
    assert json.loads(said)["claims"] == json.loads(json.dumps(made.as_json()["claims"]))
    assert OTHER in texts()
    plain, related = ask(QUESTION)[1], ask(QUESTION, "graph_mode=relations")
    assert related[0] == 0
    assert timeless(related[1]) == timeless(plain)  # relations are for a prompt; the offline generator has none


def test_auto_without_a_key_says_that_it_is_offline(ask):
    code, said, errors = ask(QUESTION, "provider=auto")
    assert (code, errors) == (0, "")
    last = said.splitlines()[-1]
    assert last.startswith("Note: answered offline: no language model is configured")
    assert "python -m generation providers" in last
    assert timeless(said).removesuffix(last).strip() == timeless(ask(QUESTION)[1]).strip()
    _, streamed, _ = ask(QUESTION, "provider=auto", "--stream")
    assert streamed.splitlines()[-1] == last
    _, text, _ = ask(QUESTION, "provider=auto", "--json")
    assert json.loads(text)["fallback"] == last.removeprefix("Note: ")
    assert "Note" not in ask(QUESTION, "provider=offline")[1]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["strateg=bm25"], "unknown key 'strateg'; did you mean 'strategy'?"),
        (["provder=auto"], "unknown key 'provder'; did you mean 'provider'?"),
        (["graph_mod=relations"], "unknown key 'graph_mod'; did you mean 'graph_mode'?"),
        (["generator.clams=1"], "did you mean 'generator.claims'?"),
        (["k=5"], "unknown key 'k'"),
        (["where.documnt=a.pdf"], "did you mean 'document'?"),
        (["where.document=rp-01-bm25-saturatio.pdf"], "did you mean 'rp-01-bm25-saturation.pdf'?"),
        (["where.year=soon"], "where.year"),
        (["strategy=bm26"], "strategy 'bm26' not found; did you mean 'bm25'?"),
        (["generator=grounde"], "generator 'grounde' not found; did you mean 'grounded'?"),
        (["generator.claims=0"], "claims must be at least 1"),
        (["graph_mode=relation"], "did you mean 'relations'?"),
        (["provider=antropic"], "provider 'antropic' not found; did you mean 'anthropic'?"),
        (["provider=anthropic", "route=bedrok"], "route 'bedrok' of anthropic not found; did you mean 'bedrock'?"),
        (["provider=openai"], "set OPENAI_API_KEY"),
        (["provider=auto", "generator=first"], "asks no language model"),
        (["router=nofile"], "router=nofile: no such file"),
        (["confidence.high=2"], "high=2.0 must be 0 to 1"),
        (["--jsn"], "--jsn: unknown; did you mean '--json'?"),
        (["--json", "--stream"], "exclude each other"),
        (["and", "more"], "'and' is no key=value; put the whole question in quotes"),
    ],
)
def test_a_wrong_request_is_told_with_the_nearest_right_name(ask, arguments, named):
    code, said, errors = ask(QUESTION, *arguments)
    assert (code, said) == (2, "")
    assert errors.startswith("generation: ")
    assert named in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("arguments", [[], ["--json"], [""], ["  ", "strategy=bm25"]])
def test_without_a_question_nothing_is_asked(ask, arguments):
    code, said, errors = ask(*arguments)
    assert code == 2
    assert "question" in said + errors


def test_a_question_behind_the_keys_is_found_out(ask):
    assert "in front of all keys" in ask("strategy=bm25", QUESTION)[2]


def test_papers_that_are_not_there_or_cannot_be_read(ask, tmp_path):
    code, said, errors = ask(QUESTION, f"corpus.path={tmp_path}")
    assert (code, said) == (2, "")
    assert f"corpus.path={tmp_path}: no *.pdf file" in errors
    (tmp_path / "broken.pdf").write_bytes(b"no paper")
    code, _, errors = ask(QUESTION, f"corpus.path={tmp_path}", f"artifacts={tmp_path / 'artifacts'}")
    assert code == 1
    assert "broken.pdf" in errors


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help(ask, flag, capsys):
    for arguments in ([flag], [QUESTION, flag]):
        code, said, _ = ask(*arguments)
        assert code == 0
        for key in (*ask_command.OWN, *ask_command.FLAGS, "strategy=", "where.document", "generator=", "context."):
            assert key in said
    assert main([flag]) == 0
    assert "ask" in capsys.readouterr().out
    assert main([]) == main(["aks"]) == 2


def test_every_key_of_the_help_is_read():
    typed = "provider=a route=b router=c model=d=e graph_mode=none strategy=rrf where.year=2019 --stream"
    wanted = ask_command._read([QUESTION, *typed.split()])
    assert wanted.route == Route("c", "a", "b", "d=e")
    assert (wanted.question, wanted.as_json, wanted.stream) == (QUESTION, False, True)
    assert wanted.overrides == ("strategy=rrf", "context.graph_mode=none")
    assert wanted.where is not None
