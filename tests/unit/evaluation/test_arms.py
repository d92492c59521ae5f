"""What becomes of an arm whose stage cannot do its work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from evaluation.arms import ABSENT, FAILED, run_arm
from evaluation.judging import Judged
from evaluation.request import ArmSpec
from evaluation.runner import exit_code
from evaluation.schema import Benchmark
from ingestion.artifacts import ArtifactStore
from retrieval.errors import FusionError, ModelLoadError, RetrievalError
from retrieval.schema import Queries, Run
from retrieval.stage import Context
from tests.contract.conftest import corpus_of, corpus_rows


@dataclass(frozen=True)
class Raises:
    VERSION: ClassVar[int] = 1
    error: ClassVar[type[RetrievalError]] = RetrievalError

    def search(self, ctx: Context, queries: Queries) -> Run:
        raise self.error("the reason")


@pytest.mark.parametrize(
    ("error", "state", "reason", "codes"),
    [
        (ModelLoadError, ABSENT, "did not run: the reason", (0, 1)),
        (FusionError, FAILED, "FusionError: the reason", (1, 1)),
    ],
)
def test_a_model_that_cannot_be_had_is_absence_and_anything_else_a_failure(
    error, state, reason, codes, tmp_path, monkeypatch
):
    monkeypatch.setattr(Raises, "error", error)
    corpus, queries = corpus_of(corpus_rows()), Queries.of(["q1"], ["fusion"])
    judged = Judged(Benchmark("tiny", queries), corpus, corpus.chunk_ids, None, None, {})
    arm = run_arm(Context(corpus, ArtifactStore(tmp_path)), ArmSpec("x", Raises(), {}), judged)
    assert (arm.state, arm.reason, arm.run) == (state, reason, None)
    assert (exit_code([arm], allow_missing=True), exit_code([arm], allow_missing=False)) == codes
