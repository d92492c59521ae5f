"""The weight of linear fusion with MiniLM as second branch, and what min-max does to each branch (RP-TR-03).

    RANKPROOF_DATA=<data> python corpus/experiments/rp_03_fusion_sweep.py <folder of results>

Reads the results folders `<folder>/<collection>-core`: the scores of BM25, TF-IDF and MiniLM are in their traces
(depth 100), so nothing is searched again. Seed 0 for halves, bootstrap and sign flips.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from evaluation.grades import grade_matrix  # noqa: E402
from evaluation.judging import Judged, without_excluded  # noqa: E402
from evaluation.metrics import ndcg  # noqa: E402
from evaluation.randomise import sign_flips  # noqa: E402
from evaluation.replay import replay  # noqa: E402
from evaluation.stats import intervals  # noqa: E402
from retrieval.fusers.linear import blend  # noqa: E402
from retrieval.fusers.pairs import min_max  # noqa: E402
from retrieval.schema import Floats, Run, make_run  # noqa: E402

TARGET = ROOT / "corpus" / "sources" / "measured"
COLLECTIONS = ("med", "cacm", "cranfield", "csfcube", "scifact", "clscisumm")
BRANCHES = {"bm25": "bm25", "tfidf": "tfidf", "minilm": "sentence_transformer"}
ALPHAS = [round(step / 10, 1) for step in range(11)]
DEPTH, SEED, HALVES, FLIPS = 100, 0, 200, 20_000


@dataclass(frozen=True)
class Collection:
    """One collection: its judgments and, by short name, rankings with the scores that their stage gave."""

    judged: Judged
    runs: Mapping[str, Run]

    @staticmethod
    def read(folder: Path) -> Collection:
        """Bring a results folder back, scores from the traces."""
        judged = replay(folder)[0].judged
        row_of = {str(name): row for row, name in enumerate(judged.ids)}
        query_of = {qid: row for row, qid in enumerate(judged.benchmark.queries.qid)}
        runs = {}
        for short, strategy in BRANCHES.items():
            trace = pd.read_parquet(folder / "traces" / f"{strategy}.parquet")
            rows = trace[(trace["event"] == "ranked") & (trace["stage"] == "first")]
            chunk = [row_of[str(name)] for name in rows["chunk_id"]]
            runs[short] = make_run([query_of[qid] for qid in rows["qid"]], chunk, rows["score"], DEPTH)
        return Collection(judged, runs)

    def score(self, run: Run) -> Floats:
        """nDCG@5 of every question."""
        queries = self.judged.benchmark.queries
        shown = without_excluded(run, self.judged, DEPTH)
        return ndcg(grade_matrix(shown, self.judged.qrels, len(queries)), 5)

    def fused(self, alpha: float | Floats, second: str = "minilm", depth: int = DEPTH) -> Run:
        """BM25 and a second branch, each cut at `depth`, fused with one weight or one per question."""
        runs = {"sparse": top(self.runs["bm25"], depth), "dense": top(self.runs[second], depth)}
        return blend(runs, np.broadcast_to(alpha, len(self.judged.benchmark.queries)), DEPTH)

    def difference(self, first: Floats, other: Floats) -> dict[str, object]:
        """Mean difference with its BCa interval, p of paired sign flips (alone, not corrected), wins and losses."""
        clusters = self.judged.benchmark.queries.cluster
        found = intervals((first - other)[None], clusters, seed=SEED)
        p = sign_flips(np.stack([first, other]), np.asarray([[0, 1]]), clusters, SEED, FLIPS)[0]
        wins, losses = int((first > other).sum()), int((first < other).sum())
        ends = [round(float(end[0]), 4) for end in (found.mean, found.lo, found.hi)]
        return {"diff": ends, "p": round(float(p), 4), "wins": wins, "losses": losses}


def top(run: Run, depth: int) -> Run:
    """The first ranks of every ranking."""
    keep = run.rank <= depth
    return Run(run.query[keep], run.chunk[keep], run.score[keep], run.rank[keep])


def kept_gain(values: Floats, base: int) -> dict[str, float]:
    """Choose the best row on one half of the questions, read its gain over row `base` there and on the other half."""
    rng = np.random.default_rng(SEED)
    gains = []
    for _ in range(HALVES):
        order = rng.permutation(values.shape[1])
        half, rest = order[: len(order) // 2], order[len(order) // 2 :]
        best = int(values[:, half].mean(axis=1).argmax())
        gains.append([values[best, part].mean() - values[base, part].mean() for part in (half, rest)])
    seen, kept = np.mean(gains, axis=0)
    return {"apparent": round(float(seen), 4), "kept": round(float(kept), 4)}


def scales(run: Run) -> dict[str, float]:
    """What min-max makes of a branch: the second score, and how many lists are constant or hold one candidate."""
    scaled, lists = min_max(run), len(np.unique(run.query))
    second = scaled[run.rank == 2]
    flat = [len(set(run.score[run.query == query].tolist())) == 1 for query in np.unique(run.query)]
    squeezed = float((second < 0.5).mean())
    return {
        "second": round(float(np.median(second)), 3),
        "squeezed": round(squeezed, 3),
        "constant": sum(flat),
        "lists": lists,
    }


def study(at: Collection) -> dict[str, object]:
    """All figures of one collection; questions without a relevant judgment are left out."""
    found: dict[str, object] = {"scales": {name: scales(run) for name, run in at.runs.items()}}
    for second in ("tfidf", "minilm"):
        values = np.stack([at.score(at.fused(alpha, second)) for alpha in ALPHAS])
        judged = ~np.isnan(values[0])
        best = int(np.nanmean(values, axis=1).argmax())
        found[second] = {
            "arms": [round(float(mean), 4) for mean in np.nanmean(values, axis=1)],
            "best": ALPHAS[best],
            "best - 0.3": at.difference(values[best], values[3]),
            "0.3 - 0": at.difference(values[3], values[0]),
            "0.3 - 1": at.difference(values[3], values[10]),
            "0.5 - 0.3": at.difference(values[5], values[3]),
            "halves": kept_gain(values[:, judged], 3),
        }
    shallow, deep = (at.fused(0.3, depth=depth) for depth in (20, DEPTH))
    moved = np.mean([one != two for one, two in zip(first(shallow, at), first(deep, at), strict=True)])
    found["depth"] = {"moved": round(float(moved), 3), "100 - 20": at.difference(at.score(deep), at.score(shallow))}
    if at.judged.benchmark.exclude:
        early = replace(at, runs={name: without_own(run, at) for name, run in at.runs.items()})
        found["own"] = {
            "scales": {name: scales(run) for name, run in early.runs.items()},
            "before - after": at.difference(early.score(early.fused(0.3)), at.score(deep)),
        }
    return found | {"questions": int(judged.sum())}


def first(run: Run, at: Collection) -> list[set[int]]:
    """The first five of every question."""
    shown = without_excluded(run, at.judged, DEPTH)
    return [
        set(shown.chunk[(shown.query == query) & (shown.rank <= 5)])
        for query in range(len(at.judged.benchmark.queries))
    ]


def without_own(run: Run, at: Collection) -> Run:
    """A ranking with its scores, but without the document that a question was made of."""
    own = {
        (row, doc)
        for row, qid in enumerate(at.judged.benchmark.queries.qid)
        for doc in at.judged.benchmark.exclude.get(qid, ())
    }
    rows = zip(run.query.tolist(), run.chunk.tolist(), strict=True)
    keep = np.asarray([(query, str(at.judged.ids[chunk])) not in own for query, chunk in rows])
    return make_run(run.query[keep], run.chunk[keep], run.score[keep], DEPTH)


def available(folder: Path, without: Sequence[str] = ()) -> dict[str, Collection]:
    """The collections of which there are results."""
    names = [
        name for name in COLLECTIONS if name not in without and (folder / f"{name}-core" / "manifest.json").is_file()
    ]
    return {name: Collection.read(folder / f"{name}-core") for name in names}


def write(name: str, figures: Mapping[str, object]) -> None:
    """Write `sources/measured/<name>.json`, sorted."""
    (TARGET / f"{name}.json").write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    write("rp-03", {name: study(at) for name, at in available(Path(sys.argv[1])).items()})
