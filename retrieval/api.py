"""Search by hand in a few lines of Python.

from retrieval.api import Searcher

searcher = Searcher.open("papers/")
for hit in searcher.search("What does k do in reciprocal rank fusion?", strategy="rrf", k=5):
    print(hit.rank, hit.doc_name, hit.page, hit.section, hit.text)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ingestion.artifacts import ArtifactStore
from ingestion.config import load, to_plain
from ingestion.pipeline import build_chunker, build_ingest, ingest
from ingestion.schema import Corpus
from retrieval.build import build_strategy, strategy_config
from retrieval.errors import FilterError, ModelLoadError, RetrievalError
from retrieval.filters import Where
from retrieval.models import NeedsModel
from retrieval.schema import Queries, Run
from retrieval.stage import Context, Retriever, components, walk

QID = "question"


@dataclass(frozen=True)
class StageScore:
    """Where one stage put a chunk; `score` is private to the stage and must not be compared with another's."""

    stage: str
    rank: int
    score: float


@dataclass(frozen=True)
class Hit:
    """One ranked chunk; pages count from 1. `stages`: where each stage put it, in running order."""

    rank: int
    chunk_id: str
    doc_name: str
    page: int
    section: str
    text: str
    stages: tuple[StageScore, ...]

    @property
    def place(self) -> str:
        """Document, page and section in words."""
        return f"{self.doc_name}, page {self.page}" + (f", § {self.section}" if self.section else "")

    @property
    def came_from(self) -> str:
        """Where each stage put it, such as `bm25 3, tfidf 1, fuser 1`."""
        return ", ".join(f"{stage.stage.removeprefix('branches.')} {stage.rank}" for stage in self.stages)


@dataclass(frozen=True)
class Ranked:
    """What one strategy answers to a question; `reason` says why it could not run, or is empty."""

    strategy: str
    hits: tuple[Hit, ...]
    reason: str = ""


@dataclass(frozen=True)
class Searcher:
    """A corpus ready to be searched by any strategy; indexes are artifacts, built at the first search."""

    corpus: Corpus
    store: ArtifactStore
    seed: int = 0

    @staticmethod
    def open(path: str | Path, artifacts: str | Path | None = None, overrides: Sequence[str] = ()) -> Searcher:
        """Ingest a folder of PDFs (what is known is not read again).

        Args:
            path: a folder of PDFs, or one PDF.
            artifacts: where extractions and indexes live; default as in `conf/config.yaml`.
            overrides: configuration as on the command line, such as `chunker=page`.

        Raises:
            IngestionError, ConfigError: with file or key, and the remedy.
        """
        plain = to_plain(load(overrides))
        store = ArtifactStore(Path(artifacts or plain["artifacts"]))
        corpus = ingest(Path(path), build_ingest(plain["ingest"]), build_chunker(plain["chunker"]), store)
        return Searcher(corpus, store, plain["seed"])

    def search(
        self,
        question: str,
        strategy: str = "bm25",
        k: int = 10,
        overrides: Sequence[str] = (),
        where: Where | None = None,
    ) -> list[Hit]:
        """The best k chunks for a question, best first; overrides as in `strategy.then.mmr.lam=.5`.

        Raises:
            StrategyNotFoundError, StageConfigError, ConfigError, ModelLoadError, FilterError: what is wrong and the
                remedy.
        """
        return self.search_stage(question, build_strategy(strategy_config(strategy, overrides)), k, where)

    def search_stage(self, question: str, stage: Retriever, k: int, where: Where | None = None) -> list[Hit]:
        """The same for stages that are built already."""
        return self._hits(self._context(k, where), question, stage, k)

    def compare(
        self, question: str, stages: Mapping[str, Retriever], k: int = 5, where: Where | None = None
    ) -> list[Ranked]:
        """The best k chunks of several strategies; what they share is searched once, who cannot run says why.

        Raises:
            FilterError: the filter names a document that is not there.
        """
        ctx = self._context(k, where)
        ranked = []
        for name, stage in stages.items():
            try:
                ranked.append(Ranked(name, tuple(self._hits(ctx, question, stage, k))))
            except FilterError:
                raise
            except RetrievalError as error:
                ranked.append(Ranked(name, (), f"did not run: {error}"))
        return ranked

    def _context(self, k: int, where: Where | None) -> Context:
        return Context(self.corpus, self.store, depth=max(100, k), seed=self.seed, remember=False, where=where)

    def _hits(self, ctx: Context, question: str, stage: Retriever, k: int) -> list[Hit]:
        ready(stage)
        queries = Queries.of([QID], [question])
        runs = {path: ctx.search(part, queries) for path, part in walk(stage)}
        placed = {path: _places(run) for path, run in runs.items()}
        last = list(runs.values())[-1]
        return [self._hit(int(last.chunk[row]), row + 1, placed) for row in range(min(k, len(last)))]

    def _hit(self, chunk: int, rank: int, placed: Mapping[str, Mapping[int, tuple[int, float]]]) -> Hit:
        row: dict[str, Any] = self.corpus.chunks.slice(chunk, 1).to_pylist()[0]
        stages = tuple(StageScore(path, *where[chunk]) for path, where in placed.items() if chunk in where)
        return Hit(rank, row["chunk_id"], row["doc_name"], row["page_start"], row["section"], row["text"], stages)


def ready(stage: Retriever) -> None:
    """Refuse a strategy that cannot run here.

    Raises:
        ModelLoadError: a model or a package is missing, with the remedy.
    """
    for _, part in components(stage):
        if isinstance(part, NeedsModel) and (reason := part.missing()):
            raise ModelLoadError(reason)


def _places(run: Run) -> dict[int, tuple[int, float]]:
    """Rank and score of every chunk in the ranking of the one question."""
    columns = (run.chunk.tolist(), run.rank.tolist(), run.score.tolist())
    return {chunk: (rank, score) for chunk, rank, score in zip(*columns, strict=True)}
