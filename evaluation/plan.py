"""`plan=true`: what would run, what is cached, what is missing and why, and about how long it takes."""

from __future__ import annotations

from evaluation.answers.request import AnswerRequest, models
from evaluation.answers.tables import NONE, ORACLE, RETRIEVED
from evaluation.arms import absence
from evaluation.judging import load_chunks
from evaluation.request import Request
from evaluation.schema import Benchmark
from ingestion.artifacts import ArtifactStore, fingerprint
from ingestion.pipeline import is_ingested, pdf_files
from ingestion.schema import Corpus
from retrieval.errors import ModelLoadError
from retrieval.models import NeedsModel, find
from retrieval.rerankers.cross_encoder import CrossEncoder
from retrieval.retrievers.dense import Dense
from retrieval.retrievers.late_interaction import LateInteraction
from retrieval.retrievers.specter2 import Specter2
from retrieval.retrievers.splade import Splade
from retrieval.schema import Queries
from retrieval.stage import Context, Retriever, components, walk

# Measured on 2 cores: papers of 8 pages; MiniLM on chunks of 200 words; a lexical stage over a few hundred queries.
SECONDS_PER_PDF = 0.4
SECONDS_PER_EMBEDDED_CHUNK = 0.1
SECONDS_PER_STAGE = 0.5
CHUNKS_PER_PDF = 30
SECONDS_PER_PAIR = 0.1
SECONDS_PER_ANSWER = 0.01  # without a model
EMBEDS = (Dense, LateInteraction, Specter2, Splade)  # stages that run a transformer over every chunk


def plan(request: Request, benchmark: Benchmark, store: ArtifactStore) -> str:
    """A readable plan with a time estimate; nothing is built."""
    lines = [f"benchmark  {benchmark.name}: {len(benchmark.queries)} questions, split {request.split}"]
    seconds = 0.0
    for label, wanted in request.chunkings().items():
        said, cost = _arms(wanted, benchmark, store, label)
        lines += said
        seconds += cost
    lines += [f"outside    {name}: {path}" for name, path in request.outside.items()]
    if request.answers is not None:
        said, cost = _answers(request.answers, len(request.arms) + len(request.outside), len(benchmark.queries))
        lines += said
        seconds += cost
    lines.append(f"results    {request.out}")
    lines.append(f"about {_duration(seconds)} of work on 2 cores (an estimate from typical rates)")
    return "\n".join(lines)


def _arms(request: Request, benchmark: Benchmark, store: ArtifactStore, label: str) -> tuple[list[str], float]:
    """What runs over one way of chunking, and about how many seconds it takes."""
    corpus, chunks, seconds, said = _corpus(request, store)
    lines = [f"corpus     {said}" + (f", cut as {label}" if label else "")]
    ctx = None if corpus is None else Context(corpus, store, request.depth, request.seed)
    counted: set[str] = set()
    for arm in request.arms:
        missing = absence(arm.stage) or _to_download(arm.stage)
        if missing:
            lines.append(f"missing    {arm.name}: {missing}")
            continue
        new = _to_run(ctx, arm.stage, benchmark.queries)
        cost = sum(_seconds(part, chunks, len(benchmark.queries)) for key, part in new.items() if key not in counted)
        counted |= new.keys()
        seconds += cost
        total = len(walk(arm.stage))
        state = "cached" if not new else f"{len(new)} of {total} stages to run" + ("" if cost else ", all shared")
        lines.append(f"{'cached ' if not new else 'run    '}    {arm.name}: {state}")
    return lines, seconds


def _answers(wanted: AnswerRequest, rankings: int, questions: int) -> tuple[list[str], float]:
    """What generators are asked, how many requests to a model that makes at most, and the seconds of the others."""
    over = {
        RETRIEVED: f"{rankings} ranking{'' if rankings == 1 else 's'}",
        NONE: "nothing",
        ORACLE: "judged evidence",
    }
    contexts = sum(rankings if context == RETRIEVED else 1 for context in wanted.contexts)
    answers = questions * contexts
    lines, seconds = [], 0.0
    for name in wanted.generators:
        said = f"answers    {name}: {answers} answers over {', '.join(over[context] for context in wanted.contexts)}"
        router = wanted.routers.get(name)
        if router is None:
            lines.append(f"{said}; no request to a model")
            seconds += SECONDS_PER_ANSWER * answers
        else:
            chain = ", then ".join(models(router))
            lines.append(f"{said}; at most {answers} requests and their repairs, to {chain}")
    return lines, seconds


def _corpus(request: Request, store: ArtifactStore) -> tuple[Corpus | None, int, float, str]:
    """The corpus if it is there without work, its (expected) chunks, the seconds it takes, and what to say of it."""
    if not request.arms:
        return None, 0, 0.0, "not needed: no strategy of ours runs"
    if request.benchmark.kind == "beir":
        corpus = load_chunks(request, store)
        return corpus, len(corpus), 0.0, f"{request.benchmark.path}: {len(corpus)} documents, judged as a whole"
    files = pdf_files(request.corpus)
    if is_ingested(request.corpus, request.ingest, request.chunker, store):
        corpus = load_chunks(request, store)
        return corpus, len(corpus), 0.0, f"{request.corpus}: {len(files)} PDFs, cached ({len(corpus)} chunks)"
    seconds = SECONDS_PER_PDF * len(files)
    return None, CHUNKS_PER_PDF * len(files), seconds, f"{request.corpus}: {len(files)} PDFs to ingest"


def _to_download(stage: Retriever) -> str | None:
    """Which model the hub would be asked for; a plan downloads nothing."""
    for _, part in components(stage):
        if isinstance(part, NeedsModel) and hasattr(part, "model"):
            try:
                find(part.model)
            except ModelLoadError:
                return f"model {part.model!r} is not here; the run asks the hub for it, and goes on without it"
    return None


def _to_run(ctx: Context | None, stage: Retriever, queries: Queries) -> dict[str, Retriever]:
    """Stages without a cached ranking, by fingerprint; all of them while the corpus is not ingested."""
    parts = {fingerprint(part): part for _, part in walk(stage)}
    if ctx is None:
        return parts
    return {key: part for key, part in parts.items() if not ctx.store.has("runs", ctx.spec(part, queries))}


def _seconds(stage: Retriever, chunks: int, queries: int) -> float:
    own = [part for _, part in components(stage)][-1]
    if isinstance(own, CrossEncoder):
        return SECONDS_PER_STAGE + SECONDS_PER_PAIR * own.depth * queries
    return SECONDS_PER_STAGE + (SECONDS_PER_EMBEDDED_CHUNK * chunks if isinstance(own, EMBEDS) else 0.0)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
