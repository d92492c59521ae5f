"""Generators over the rankings of arms: who gets what, failures that are counted and never averaged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from evaluation.answers.assembled import assemble
from evaluation.answers.request import AnswerRequest
from evaluation.answers.run import run_generators
from evaluation.answers.tables import GROUP
from evaluation.arms import RAN, Arm
from generation.build import build_confidence
from generation.errors import CapacityError, ProviderError
from generation.generators.first import First
from generation.pipeline import ContextSpec
from generation.schema import Answer, Claim
from ingestion.artifacts import ArtifactStore
from ingestion.config import load, to_plain
from retrieval.retrievers.bm25 import Bm25
from retrieval.schema import make_run
from retrieval.stage import Context, walk
from tests.unit.evaluation.answers.lessons import lessons
from tests.unit.evaluation.answers.made import RULES, SETTINGS

JUDGED = lessons(10)
QIDS = JUDGED.benchmark.queries.qid
CONFIDENCE = build_confidence(to_plain(load())["confidence"])


@dataclass(frozen=True)
class Scripted:
    """Cites the first words of rank 1, except that every tenth question meets a busy server, another no reply."""

    def answer(self, evidence, tools, listener=None) -> Answer:
        if "R03" in evidence.question:
            raise CapacityError("busy")
        if "alder of stand R05" in evidence.question:
            raise ProviderError("no end line")
        if not evidence.sources:
            return Answer(evidence.question, (), (), refused=True, reason="nothing to read")
        place = evidence.sources[0].cite(0, 30)
        return Answer(evidence.question, (Claim(place.quote, (place,)),), evidence.sources)

    def from_memory(self, question, tools) -> Answer:
        return Answer(question, (Claim("I remember it well.", ()),), ())


def wanted(contexts=("retrieved", "none", "oracle"), **generators: Any) -> AnswerRequest:
    return AnswerRequest(
        generators=generators,
        asked=tuple(generators),
        yardstick="first",
        contexts=contexts,
        context=ContextSpec(passages=3),
        confidence=CONFIDENCE,
        confidence_name="default",
        primary="answer F1",
        workers=1,
    )


def arm(name: str, shift: int, beyond: bool = False) -> Arm:
    """Each question's own paper (moved by `shift`) first, and the paper behind it; or first an id that is unknown."""
    own = np.asarray([int(cluster[1:]) for cluster in JUDGED.benchmark.queries.cluster])
    query = np.repeat(np.arange(len(own)), 3 if beyond else 2)
    chunks = [([99] if beyond else []) + [(paper + shift) % 10, (paper + shift + 1) % 10] for paper in own]
    score = np.tile([3.0, 2.0, 1.0][: 3 if beyond else 2], len(own))
    return Arm(name, RAN, run=make_run(query, np.concatenate(chunks), score, 5))


@pytest.fixture
def ctx(tmp_path):
    return Context(JUDGED.corpus, ArtifactStore(tmp_path))


def test_every_generator_gets_every_ranking_and_the_other_contexts_once(ctx):
    arms = [(arm("right", 0), None), (arm("wrong", 1), None)]
    found = run_generators(wanted(scripted=Scripted(), first=First()), arms, JUDGED, ctx)
    sizes = found.answers.groupby(GROUP).size()
    assert sizes.to_dict() == {
        (strategy, generator, context): 50
        for generator in ("scripted", "first")
        for strategy, context in (("right", "retrieved"), ("wrong", "retrieved"), ("", "none"), ("", "oracle"))
    }
    cited = found.citations[found.citations["context"] == "retrieved"].merge(
        found.answers[["qid"]].drop_duplicates().assign(paper=[f"p{at // 5:02d}.pdf:0" for at in range(50)])
    )
    right = cited[cited["strategy"] == "right"]
    assert (right["chunk_id"] == right["paper"]).all()
    assert (cited[cited["strategy"] == "wrong"]["chunk_id"] != cited[cited["strategy"] == "wrong"]["paper"]).all()
    assert (right["doc_id"] == "id-" + right["chunk_id"].str[:7]).all()
    assert (right["source_rank"] == 1).all()


def test_contexts_differ_in_what_a_generator_can_know(ctx):
    found = run_generators(wanted(scripted=Scripted(), first=First()), [(arm("right", 0), None)], JUDGED, ctx)
    by = found.answers.groupby(["generator", "context"])
    assert by["refused"].mean()["first", "none"] == 1.0
    recalled = found.answers[(found.answers["generator"] == "scripted") & (found.answers["context"] == "none")]
    assert set(recalled["text"]) == {"I remember it well."}
    # Of 50 questions 10 are unanswerable: no judged evidence, so nothing to cite.
    assert by["refused"].sum()["first", "oracle"] == 10


def test_failures_are_counted_by_name_and_in_no_mean(ctx):
    found = run_generators(wanted(("retrieved",), scripted=Scripted()), [(arm("right", 0), None)], JUDGED, ctx)
    failed = found.answers[found.answers["error"] != ""]
    # Four questions of paper 3 name it (the fifth is about a quasar), one of paper 5.
    assert failed["error"].tolist() == ["CapacityError: busy"] * 4 + ["ProviderError: no end line"]
    assert set(failed["qid"]).isdisjoint(found.claims["qid"])
    findings = assemble(found, JUDGED, RULES, SETTINGS, 0)
    summary = findings.summary.set_index("metric")
    assert summary["n"]["refused"] == 45
    assert summary["n"]["citation recall"] == 40 - 5
    assert findings.costs[["questions", "failed"]].to_numpy().tolist() == [[50, 5]]
    assert findings.costs["errors"][0] == "CapacityError 4; ProviderError 1"


def test_a_run_made_elsewhere_is_answered_from_without_ids_that_the_corpus_lacks(ctx):
    plain = run_generators(wanted(("retrieved",), first=First()), [(arm("theirs", 0), None)], JUDGED, ctx)
    beyond = run_generators(wanted(("retrieved",), first=First()), [(arm("theirs", 0, True), None)], JUDGED, ctx)
    columns = ["qid", "chunk_id", "char_start", "char_end"]
    assert beyond.citations[columns].equals(plain.citations[columns])
    assert set(beyond.citations["source_rank"]) == {1}


def test_a_strategy_of_ours_is_answered_from_in_its_own_order(ctx):
    stage = Bm25()
    parts = {path: ctx.remembered(part, JUDGED.benchmark.queries) for path, part in walk(stage)}
    top = list(parts.values())[-1].run
    own = Arm("bm25", RAN, run=top, stages=parts)
    found = run_generators(wanted(("retrieved",), first=First()), [(own, stage)], JUDGED, ctx)
    first = {
        QIDS[q]: f"p{c:02d}.pdf:0" for q, c, rank in zip(top.query, top.chunk, top.rank, strict=True) if rank == 1
    }
    assert dict(zip(found.citations["qid"], found.citations["chunk_id"], strict=True)) == first


def test_no_arm_that_ran_leaves_the_contexts_without_one(ctx):
    found = run_generators(wanted(first=First()), [], JUDGED, ctx)
    assert set(found.answers["context"]) == {"none", "oracle"}
    assert set(assemble(found, JUDGED, RULES, SETTINGS, 0).lift["metric"]) == set()
