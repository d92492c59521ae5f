"""Answers per second of the offline generator on warm indexes, beside retrieval alone.

    python benchmarks/answers_speed.py [strategy]

The test questions of the bundled corpus, by `bm25` unless another strategy is named: retrieve, gather, answer. The
indexes are built before; what a process remembers of sentences is not, so that the first round counts, and the second
shows what a server does that has run for a while. Single questions one by one, then all in one batch. Target: at
least 20 answers per second in the first round.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

from evaluation.benchmark import load_benchmark
from evaluation.request import read_request
from generation.api import Answerer, Route
from generation.extracts import quotes
from generation.words import content_words
from ingestion.config import load
from retrieval.schema import Queries
from retrieval.stage import Context

TARGET = 20.0  # answers per second


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def forget() -> None:
    """Empty what this process remembers of sentences and words."""
    quotes.cache_clear()
    content_words.cache_clear()


def search(answerer: Answerer, questions: Sequence[str]) -> None:
    """Retrieval alone, as an answer begins with it."""
    searcher = answerer.searcher
    ctx = Context(searcher.corpus, searcher.store, seed=searcher.seed, remember=False)
    ctx.search(answerer.stage, Queries.of([f"q{at:06}" for at in range(len(questions))], list(questions)))


def main() -> int:
    strategy = sys.argv[1] if len(sys.argv) > 1 else "bm25"
    overrides = [f"strategy={strategy}", "tracking=none"]
    request = read_request(load(overrides), overrides, {})
    questions = list(load_benchmark(request.benchmark, request.split).queries.query)
    answerer = Answerer.open(None, Route(), overrides)
    answerer.answer(questions[0])  # indexes
    forget()
    n = len(questions)
    first, second = (seconds(lambda: [answerer.answer(question) for question in questions]) for _ in range(2))
    forget()
    batch = seconds(lambda: answerer.answers(questions))
    alone = seconds(lambda: [search(answerer, [question]) for question in questions])
    together = seconds(lambda: search(answerer, questions))
    print(f"{n} questions over {len(answerer.searcher.corpus)} chunks, {strategy}")
    rows = (
        (f"answers, one by one (target >= {TARGET:.0f} /s)", first),
        ("answers once more", second),
        ("answers in one batch", batch),
        ("retrieval alone, one by one", alone),
        ("retrieval alone, in one batch", together),
    )
    for what, took in rows:
        print(f"{what:40} {n / took:7.0f} /s  {took / n * 1000:6.1f} ms")
    return 0 if n / first >= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
