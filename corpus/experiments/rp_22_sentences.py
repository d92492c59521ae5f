"""Do sentences chosen by marginal cover support the claim? Checked on the rationale sentences of SciFact.

    RANKPROOF_DATA=<data> python corpus/experiments/rp_22_sentences.py [<artifacts>]

Writes `corpus/sources/measured/rp-22-sentences.json`. `<artifacts>` keeps indexes (default: a temporary folder).
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

from evaluation.beir import by_id, corpus_file, load_beir, load_corpus
from evaluation.records import either
from evaluation.stats import intervals
from ingestion.artifacts import ArtifactStore
from retrieval.analysis import analysed, tokens
from retrieval.retrievers.bm25 import Bm25
from retrieval.stage import Context

FOLDER = Path(os.environ["RANKPROOF_DATA"]) / "beir" / "scifact"
TARGET = Path(__file__).resolve().parents[1] / "sources" / "measured" / "rp-22-sentences.json"
SHOWN, MOST, LEAST, GUARD, SEED = 5, 5, 0.1, 0.9, 22
Sentence = tuple[str, int, set[str]]  # document, number, terms


def marginal(asked: dict[str, float], context: list[list[Sentence]]) -> list[Sentence]:
    """At most five sentences, each adding at least a tenth of the question's weight to those before it."""
    chosen: list[Sentence] = []
    left, candidates = dict(asked), [s for passage in context for s in passage]
    while left and len(chosen) < MOST:
        best = max(candidates, key=lambda s: sum(left.get(t, 0.0) for t in s[2]))
        if sum(left.get(t, 0.0) for t in best[2]) < LEAST * sum(asked.values()):
            break
        chosen.append(best)
        left = {t: w for t, w in left.items() if t not in best[2]}
    return chosen


def most_cover(asked: dict[str, float], context: list[list[Sentence]]) -> list[Sentence]:
    """As many sentences as `marginal` takes, by their own cover alone."""
    ranked = sorted((s for p in context for s in p), key=lambda s: -sum(asked.get(t, 0.0) for t in s[2]))
    return ranked[: len(marginal(asked, context))]


def at_end(last: bool) -> Callable[[dict[str, float], list[list[Sentence]]], list[Sentence]]:
    """The first or the last sentence of each of the best abstracts, as many as `marginal` takes."""
    return lambda asked, context: [p[-1 if last else 0] for p in context if p][: len(marginal(asked, context))]


def main() -> None:
    """Answer every claim that has a rationale and compare with it."""
    corpus, benchmark = load_corpus(FOLDER), load_beir(FOLDER, "test")
    records, claims = by_id(corpus_file(FOLDER)), by_id(either(FOLDER, "queries.jsonl"))
    with tempfile.TemporaryDirectory() as spare:
        ctx = Context(corpus, ArtifactStore(Path(sys.argv[1] if len(sys.argv) > 1 else spare)))
        terms, run = analysed(ctx), ctx.search(Bm25(), benchmark.queries)
        weight = np.log(1 + (len(corpus) - terms.frequency + 0.5) / (terms.frequency + 0.5))
        idf = {term: float(weight[row]) for term, row in terms.id_of.items()}
    parts: dict[str, list[Sentence]] = {}
    for doc, record in records.items():
        starts = [*record.metadata()["sentence_starts"], len(record.text("text"))]
        texts = [record.text("text")[a:b] for a, b in pairwise(starts)]
        parts[doc] = [(doc, number, set(tokens(text))) for number, text in enumerate(texts)]
    ways = {"marginal": marginal, "cover": most_cover, "first": at_end(False), "last": at_end(True)}
    rows: dict[str, list[list[float]]] = {name: [] for name in ways}
    shown, guarded, sizes, asked_terms = [], [], [], []
    for row, (qid, text) in enumerate(zip(benchmark.queries.qid, benchmark.queries.query, strict=True)):
        evidence = claims[qid].metadata()["evidence"]
        gold = {(doc, n) for doc, found in evidence.items() for group in found["sentences"] for n in group}
        if not gold:
            continue
        top = corpus.chunk_ids[run.only(row).chunk[:SHOWN]]
        context, asked = [parts[doc] for doc in top], {t: idf[t] for t in set(tokens(text)) if t in idf}
        shown.append(bool(gold & {s[:2] for p in context for s in p}))
        guarded += [len(s[2] & asked.keys()) >= GUARD * len(s[2]) for p in context for s in p if s[2]]
        asked_terms.append(len(asked))
        for name, way in ways.items():
            chosen = [s[:2] for s in way(asked, context)]
            hits = [s in gold for s in chosen]
            rows[name].append([float(hits[0]), float(any(hits)), float(np.mean(hits))])
        sizes.append(len(marginal(asked, context)))
    found: dict = {"claims": len(shown), "shown": round(float(np.mean(shown)), 4), "ways": {}}
    for name, values in rows.items():
        table = intervals(np.asarray(values).T, [str(row) for row in range(len(values))], SEED)
        named = zip(("first", "any", "precision"), table.mean, table.lo, table.hi, strict=True)
        found["ways"][name] = {label: [round(float(x), 4) for x in triple] for label, *triple in named}
    found |= {"sentences": round(float(np.mean(sizes)), 2), "terms": round(float(np.mean(asked_terms)), 2)}
    found |= {"candidates": len(guarded), "guarded": int(np.sum(guarded))}
    TARGET.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
