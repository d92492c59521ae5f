"""How a general tokenizer breaks scientific words, and whether the questions that it breaks suffer (RP-TR-14).

    RANKPROOF_DATA=<folder> python corpus/experiments/rp_14_domain_encoders.py <results folder>

Reads the texts of the collections and `<results folder>/<collection>-core/per_query.parquet`, runs the tokenizer of
all-MiniLM-L6-v2 (and its encoder over two dozen short texts of our own), and writes
`corpus/sources/measured/rp-14.json`: pieces per word, nDCG@5 of MiniLM minus that of BM25 for questions with and
without a shattered word (three pieces or more), and the blind glossary, which asks for definitions by coined names.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evaluation.stats import intervals
from retrieval.models import load_encoder
from retrieval.retrievers.dense import Dense
from retrieval.schema import Floats

TARGET = Path(__file__).resolve().parents[1] / "sources" / "measured" / "rp-14.json"
COLLECTIONS = ("med", "npl", "cacm", "cranfield", "csfcube", "scifact", "clscisumm")
SHATTERED, SEED, DRAWS = 3, 14, 2_000
WORDS = ("retrieval", "encoder", "tokenizer", "saturation", "bootstrap", "deduplication", "jackknife", "ionosphere",
         "polarography", "aeroelastic", "SciBERT", "BM25", "nDCG", "HNSW", "SPLADE")  # fmt: skip
# acronym, name and definition of terms coined in the sister reports; a definition has no content word of its name
GLOSSARY = (
    ("HGF", "half-gain frequency", "how often a term must occur before it has earned fifty per cent of its ceiling"),
    ("SCR", "silent chunk rule", "a passage that shares no word with the question is left out of the ranking"),
    (
        "CLT",
        "constant-list trap",
        "min-max normalisation deletes the evidence of a branch whose scores are all equal",
    ),
    ("WJD", "windowed Jaccard deduplication", "drop a passage whose word set resembles a nearby one ranked higher"),
    ("QFG", "query-form gate", "reads the weight of the two branches from how the question is worded"),
    ("EIPS", "exact inner-product search", "compute the similarity to every vector and take the best ones"),
    (
        "VVJ",
        "vocabulary-voted joining",
        "a broken word at a line end is repaired as the document spells it elsewhere",
    ),
    ("DDB", "document-draw bootstrap", "an interval from sampling whole papers with all of their questions"),
    ("MDD", "minimum detectable difference", "the smallest effect that a test of this size would probably notice"),
    ("ESJ", "evidence-span judgment", "a passage of the source marked by a reader as answering the question"),
    ("HCR", "half-cover rule", "a piece of text counts if it holds at least fifty per cent of what was marked"),
    ("SA", "stub advantage", "a bare heading beats the paragraph that explains the matter"),
)


def texts(name: str) -> tuple[list[str], dict[str, str]]:
    """Documents of a collection (of CL-SciSumm the judged papers' sentences), and its questions by id."""
    data = Path(os.environ["RANKPROOF_DATA"])
    folder = data / "pdf_bench" / name if name == "clscisumm" else data / "beir" / name

    def lines(file: str) -> Iterator[dict[str, Any]]:
        with gzip.open(folder / file, "rt", encoding="utf-8") as read:
            yield from map(json.loads, read)

    titled = name != "clscisumm"  # its rows are sentences, each with the title of its paper
    documents = [f"{row['title'] or '' if titled else ''} {row['text']}".strip() for row in lines("corpus.jsonl.gz")]
    return documents, {row["_id"]: row["text"] for row in lines("queries.jsonl.gz")}


class Cutter:
    """Words of a text as the tokenizer sees them, and the pieces of each."""

    def __init__(self) -> None:
        self.tokenizer = load_encoder("all-MiniLM-L6-v2", None).tokenizer
        self.known: dict[str, int] = {}

    def words(self, text: str) -> list[str]:
        """Lower-case words with a letter in them; punctuation parts words, as it does for the encoder."""
        backend = self.tokenizer.backend_tokenizer
        parts = backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(text))
        return [word for word, _ in parts if any(letter.isalpha() for letter in word)]

    def pieces(self, word: str) -> int:
        """How many pieces the word is cut into."""
        if word not in self.known:
            self.known[word] = len(self.tokenizer.tokenize(word))
        return self.known[word]


def vocabulary(cutter: Cutter, documents: Sequence[str]) -> dict[str, float]:
    """Pieces per running word and per distinct word, shares of whole and of shattered words."""
    counts = Counter(word for text in documents for word in cutter.words(text))
    pieces = np.asarray([cutter.pieces(word) for word in counts])
    often = np.asarray(list(counts.values()))
    figures = {
        "words": int(often.sum()), "types": len(counts), "running": (pieces * often).sum() / often.sum(),
        "per type": pieces.mean(), "whole types": (pieces == 1).mean(),
        "shattered types": (pieces >= SHATTERED).mean(),
        "shattered running": often[pieces >= SHATTERED].sum() / often.sum(),
    }  # fmt: skip
    return {key: round(float(value), 4) for key, value in figures.items()}


def differences(folder: Path) -> pd.Series:
    """MiniLM minus BM25, nDCG@5, by question."""
    table = pd.read_parquet(folder / "per_query.parquet")
    wide = table[table.metric == "nDCG@5"].pivot_table(index="qid", columns="strategy", values="value")
    return wide["sentence_transformer"] - wide["bm25"]


def split(gain: Floats, broken: np.ndarray, stratum: np.ndarray) -> dict[str, Any]:
    """Mean difference with and without a shattered word; the gap is compared with labels shuffled in strata."""
    found = intervals(
        np.stack([np.where(broken, gain, np.nan), np.where(broken, np.nan, gain)]), np.arange(len(gain)), SEED
    )
    names = ("shattered", "whole")
    out: dict[str, Any] = {
        name: [round(float(x), 4) for x in row[:3]] + [int(row[3])]
        for name, *row in zip(names, found.mean, found.lo, found.hi, found.n, strict=True)
    }

    def gap(labels: np.ndarray) -> float:
        """Within strata, weighted by their size."""
        parts = [(gain[stratum == s], labels[stratum == s]) for s in np.unique(stratum)]
        both = [(len(g), g[b].mean() - g[~b].mean()) for g, b in parts if 0 < b.sum() < len(b)]
        return float(np.average([d for _, d in both], weights=[n for n, _ in both]))

    rng, seen = np.random.default_rng(SEED), gap(broken)
    order = np.argsort(stratum, kind="stable")
    extreme = 0
    for _ in range(DRAWS):
        drawn = np.empty_like(broken)
        shuffled = order[np.lexsort((rng.random(len(order)), stratum[order]))]
        drawn[order] = broken[shuffled]
        extreme += abs(gap(drawn)) >= abs(seen) - 1e-12
    return {**out, "gap": round(seen, 4), "p": round((1 + extreme) / (1 + DRAWS), 4)}


def glossary() -> dict[str, Any]:
    """Rank of the right definition among all, asked by acronym and by name."""
    encoder = Dense()
    held = encoder.query_vectors([definition for *_, definition in GLOSSARY])
    out: dict[str, Any] = {"terms": len(GLOSSARY)}
    for place, kind in ((0, "acronym"), (1, "name")):
        scores = encoder.query_vectors([row[place] for row in GLOSSARY]) @ held.T
        ranks = 1 + (scores > np.diag(scores)[:, None]).sum(axis=1)
        out[kind] = {"first": int((ranks == 1).sum()), "top3": int((ranks <= 3).sum()), "ranks": ranks.tolist()}
    return out


def main(arguments: Sequence[str]) -> int:
    """Write the figures of the collections whose results are there."""
    cutter, rows = Cutter(), []
    out: dict[str, Any] = {}
    for name in COLLECTIONS:
        documents, questions = texts(name)
        out[name] = vocabulary(cutter, documents)
        folder = Path(arguments[0]) / f"{name}-core"
        if not (folder / "per_query.parquet").is_file():
            print(f"{name}: no results yet", file=sys.stderr)
            continue
        gain = differences(folder)
        cuts = [[cutter.pieces(word) for word in cutter.words(questions[qid])] for qid in gain.index]
        broken = np.asarray([max(cut, default=1) >= SHATTERED for cut in cuts])
        out[name] |= {"query running": round(float(sum(map(sum, cuts)) / sum(map(len, cuts))), 4)}
        out[name] |= {"query shattered": round(float(broken.mean()), 4), "questions": len(gain)}
        rows.append(pd.DataFrame({"gain": gain.to_numpy(), "broken": broken, "stratum": name}))
        if min(broken.sum(), (~broken).sum()) >= 10:
            out[name]["split"] = split(gain.to_numpy(), broken, np.zeros(len(gain)))
    pooled = pd.concat(rows)
    out["all"] = split(*(pooled[column].to_numpy() for column in ("gain", "broken", "stratum")))
    out["cuts"] = {word: cutter.tokenizer.tokenize(word) for word in WORDS}
    out["glossary"] = glossary()
    TARGET.write_text(json.dumps(out, indent=1, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
