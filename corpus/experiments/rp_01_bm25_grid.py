"""A grid of k1 and b on public collections, and variants of BM25 compared by their first places (RP-TR-01).

    RANKPROOF_DATA=<data> python corpus/experiments/rp_01_bm25_grid.py

Every cell is the strategy `bm25` of this project with other parameters. Seed 0 for halves and bootstrap.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

import bm25s
import numpy as np
from scipy.sparse import csr_array, diags_array

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from evaluation.beir import load_beir, load_corpus  # noqa: E402
from evaluation.grades import grade_matrix  # noqa: E402
from evaluation.metrics import ndcg  # noqa: E402
from evaluation.qrels import id_qrels  # noqa: E402
from evaluation.stats import intervals  # noqa: E402
from ingestion.artifacts import ArtifactStore  # noqa: E402
from retrieval.analysis import Analysed, analysed  # noqa: E402
from retrieval.retrievers.bm25 import Bm25  # noqa: E402
from retrieval.schema import Floats, Run  # noqa: E402
from retrieval.sparse import Postings  # noqa: E402
from retrieval.stage import Context  # noqa: E402

COLLECTIONS = ("med", "cacm", "cranfield", "scifact")
K1, B = (0.4, 0.8, 1.2, 1.6, 2.0, 3.0), (0.0, 0.25, 0.5, 0.75, 1.0)
USUAL, DEPTH, SEED, HALVES, FREE = (1.2, 0.75), 100, 0, 200, 24


def one_byte(length: int) -> int:
    """A length as Lucene's SmallFloat keeps it in a byte: exact below 40, four significant bits above."""
    if length < FREE:
        return length
    shift = max(0, (length - FREE).bit_length() - 4)
    return FREE + ((length - FREE) >> shift << shift)


def variants(corpus: Analysed, terms: csr_array, ctx: Context) -> dict[str, Run]:
    """Rankings of other programs' BM25 at the usual parameters, over the same terms."""
    k1, b = USUAL
    rows = [corpus.ids[low:high].tolist() for low, high in zip(corpus.offsets, corpus.offsets[1:], strict=False)]
    vocabulary = {term: number for number, term in enumerate(corpus.vocabulary)}
    runs = {}
    for method in ("atire", "robertson"):
        index = bm25s.BM25(method=method, k1=k1, b=b, dtype="float64")
        index.index(bm25s.tokenization.Tokenized(ids=rows, vocab=vocabulary), show_progress=False)
        found = index.scores
        postings = Postings(found["indptr"].astype(np.int64), found["indices"], found["data"], len(rows))
        runs[method] = postings.search(terms, ctx.depth)
    runs["rank_bm25"] = Bm25(engine="rank_bm25").search(ctx, ctx.given["queries"])
    length = np.diff(corpus.offsets)
    coded = np.asarray([one_byte(int(n)) for n in length], dtype=np.float64)
    tf = csr_array(corpus.counts.astype(np.float64)).tocoo()
    gain = tf.data / (tf.data + k1 * (1 - b + b * coded[tf.row] / length.mean()))
    idf = np.log1p((len(length) - corpus.frequency + 0.5) / (corpus.frequency + 0.5))
    runs["one byte"] = Postings.of(csr_array((gain, (tf.row, tf.col)), tf.shape) @ diags_array(idf)).search(
        terms, DEPTH
    )
    return runs


def top(run: Run, n_queries: int, depth: int) -> list[list[int]]:
    """The first chunks of every ranking, in order."""
    return [run.chunk[(run.query == query) & (run.rank <= depth)].tolist() for query in range(n_queries)]


def changed(run: Run, usual: Run, n_queries: int) -> dict[str, float]:
    """Share of questions whose first place, first five in order, and first five as a set are not the usual ones."""
    pairs = list(zip(top(run, n_queries, 5), top(usual, n_queries, 5), strict=True))
    first, order = (float(np.mean([one[:depth] != two[:depth] for one, two in pairs])) for depth in (1, 5))
    members = float(np.mean([set(one) != set(two) for one, two in pairs]))
    return {"first": round(first, 3), "order": round(order, 3), "set": round(members, 3)}


def halves(grid: Floats, usual: int) -> dict[str, float]:
    """Gain over the usual cell of the cell that is best on half of the questions: there, and on the other half."""
    rng, rows = np.random.default_rng(SEED), []
    for _ in range(HALVES):
        order = rng.permutation(grid.shape[1])
        half, rest = order[: len(order) // 2], order[len(order) // 2 :]
        best = int(grid[:, half].mean(axis=1).argmax())
        rows.append([grid[best, part].mean() - grid[usual, part].mean() for part in (half, rest)])
    apparent, kept = np.mean(rows, axis=0)
    return {"apparent": round(float(apparent), 4), "kept": round(float(kept), 4)}


def study(folder: Path, artifacts: Path) -> dict[str, object]:
    """All figures of one collection."""
    benchmark, chunks = load_beir(folder, "test"), load_corpus(folder)
    queries, qrels = benchmark.queries, id_qrels(benchmark, [], chunks.chunk_ids)[1]
    ctx = Context(chunks, ArtifactStore(artifacts), depth=DEPTH, remember=False, given={"queries": queries})
    corpus = analysed(ctx)

    def score(run: Run) -> Floats:
        return ndcg(grade_matrix(run, qrels, len(queries)), 5)

    cells = [(k1, b) for k1 in K1 for b in B]
    runs = {cell: Bm25(*cell).search(ctx, queries) for cell in cells}
    grid = np.stack([score(run) for run in runs.values()])
    usual, means = cells.index(USUAL), grid.mean(axis=1)

    def against(values: Floats) -> list[float]:
        found = intervals((values - grid[usual])[None], queries.cluster, seed=SEED)
        return [round(float(end[0]), 4) for end in (found.mean, found.lo, found.hi)]

    best, ratio = int(means.argmax()), np.diff(corpus.offsets) / np.diff(corpus.offsets).mean()
    others = variants(corpus, corpus.query_counts(queries.query), ctx)
    return {
        "questions": len(queries),
        "documents": len(chunks),
        "length": [round(float(q), 2) for q in np.quantile(ratio, [0.1, 0.5, 0.9])],
        "grid": {str(k1): {str(b): round(float(means[cells.index((k1, b))]), 4) for b in B} for k1 in K1},
        "usual": round(float(means[usual]), 4),
        "best": {"k1": cells[best][0], "b": cells[best][1], "diff": against(grid[best])},
        "b=0": against(grid[cells.index((1.2, 0.0))]),
        "halves": halves(grid, usual),
        "first place of b=0": changed(runs[1.2, 0.0], runs[USUAL], len(queries)),
        "frequent": round(float(np.mean([_frequent(corpus, text) for text in queries.query])), 3),
        "variants": {
            name: changed(run, runs[USUAL], len(queries)) | {"diff": against(score(run))}
            for name, run in others.items()
        },
    }


def _frequent(corpus: Analysed, text: str) -> bool:
    """Whether a question holds a term that more than half of the documents contain."""
    counts = corpus.query_counts([text])
    return bool((corpus.frequency[counts.indices] > (len(corpus.offsets) - 1) / 2).any())


if __name__ == "__main__":
    data = Path(os.environ["RANKPROOF_DATA"]) / "beir"
    with tempfile.TemporaryDirectory() as scratch:
        figures = {name: study(data / name, Path(scratch)) for name in COLLECTIONS}
    target = ROOT / "corpus" / "sources" / "measured" / "rp-01.json"
    target.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n")
