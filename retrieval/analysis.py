"""The one text analyser of every lexical stage, for chunks and queries alike.

NFKC, lower case, words and technical tokens (`c++`, `f1@5`, `3.5`, `multi-agent` and its parts), Lucene's English
stop list, Porter stemming.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.sparse import csr_array

from ingestion.artifacts import fingerprint
from retrieval.schema import Ints
from retrieval.stage import Context

VERSION = 1
STOP_WORDS = frozenset(
    {
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in",
        "into", "is", "it", "no", "not", "of", "on", "or", "such", "that", "the", "their",
        "then", "there", "these", "they", "this", "to", "was", "will", "with",
    }
)  # fmt: skip
# A word, with parts joined by `-`, `@`, `+`, an apostrophe, or `.`/`,` between digits, and C++ or C# at its end.
TOKEN = re.compile(r"[^\W_]+(?:(?:[-@+'’‐‑]|(?<=\d)[.,](?=\d))[^\W_]+)*(?:\+\+|#(?!\w))?")
PARTS = re.compile(r"[-@+‐‑]+")
POSSESSIVE = re.compile(r"['’]s$")
Longs = npt.NDArray[np.int64]


def tokens(text: str) -> list[str]:
    """The terms of a text in their order; a compound is followed by its parts."""
    found: list[str] = []
    for word in TOKEN.findall(unicodedata.normalize("NFKC", text).lower()):
        found.extend(_terms(word))
    return found


@lru_cache(maxsize=1_000_000)
def _terms(word: str) -> tuple[str, ...]:
    """What a raw word is indexed as: nothing for a stop word or a lone letter, several terms for a compound.

    Lone letters are initials and pronouns ("I am interested in"): left in, they cost .016 nDCG@10 on CACM.
    """
    word = POSSESSIVE.sub("", word).replace("’", "'")
    parts = [part for part in PARTS.split(word) if part]
    whole = [word] if len(parts) < 2 else [re.sub("[‐‑]", "-", word), *parts]
    return tuple(_stem(part) for part in whole if part not in STOP_WORDS and (len(part) > 1 or part.isdigit()))


def _stem(word: str) -> str:
    return str(_stemmer().stemWord(word))


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("porter")


@lru_cache(maxsize=1)
def digest() -> str:
    """Sha256 (hex) of everything that decides how text becomes terms."""
    from importlib.metadata import version

    rules = [TOKEN.pattern, PARTS.pattern, POSSESSIVE.pattern, sorted(STOP_WORDS), version("PyStemmer")]
    return fingerprint({"version": VERSION, "unicode": unicodedata.unidata_version, "rules": rules})


@dataclass(frozen=True)
class Analysed:
    """The corpus as terms. Chunk c has the term ids ids[offsets[c]:offsets[c + 1]], in text order.

    `vocabulary` sorted, `ids` int32 [n_tokens], `offsets` int64 [n_chunks + 1].
    """

    vocabulary: tuple[str, ...]
    ids: Ints
    offsets: Longs

    @cached_property
    def id_of(self) -> dict[str, int]:
        """Term id of every term."""
        return {term: number for number, term in enumerate(self.vocabulary)}

    @cached_property
    def counts(self) -> csr_array:
        """Term frequencies, int32 sparse [n_chunks, n_terms], columns of a row ascending."""
        rows = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        shape = (len(self.offsets) - 1, len(self.vocabulary))
        ones = np.ones(len(self.ids), dtype=np.int32)
        matrix = csr_array((ones, (rows, self.ids)), shape=shape)
        matrix.sum_duplicates()
        return matrix

    @cached_property
    def frequency(self) -> Longs:
        """Chunks that hold each term, int64 [n_terms]."""
        return np.bincount(self.counts.indices, minlength=len(self.vocabulary)).astype(np.int64)

    def query_counts(self, texts: Sequence[str]) -> csr_array:
        """Frequencies of known terms in queries, float64 sparse [n_queries, n_terms], columns of a row ascending."""
        known = self.id_of
        found = [[known[term] for term in tokens(text) if term in known] for text in texts]
        rows = np.repeat(np.arange(len(texts)), [len(row) for row in found])
        ids = np.asarray([number for row in found for number in row], dtype=np.int64)
        matrix = csr_array((np.ones(len(ids)), (rows, ids)), shape=(len(texts), len(self.vocabulary)))
        matrix.sum_duplicates()
        return matrix


def analysed(ctx: Context) -> Analysed:
    """The analysed corpus, an artifact that all lexical stages share."""
    return ctx.artifact("analysed", {"analyser": digest()}, lambda folder: _build(ctx.corpus.texts, folder), _load)


def _build(texts: Sequence[str], folder: Path) -> None:
    first: dict[str, int] = {}
    ids: list[int] = []
    lengths = []
    for text in texts:
        row = [first.setdefault(term, len(first)) for term in tokens(text)]
        lengths.append(len(row))
        ids.extend(row)
    vocabulary = sorted(first)
    place = np.zeros(len(first), dtype=np.int32)
    place[[first[term] for term in vocabulary]] = np.arange(len(first), dtype=np.int32)
    np.save(folder / "ids.npy", place[np.asarray(ids, dtype=np.int64)] if ids else np.zeros(0, np.int32))
    np.save(folder / "offsets.npy", np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
    pq.write_table(pa.table({"term": pa.array(vocabulary, pa.string())}), folder / "vocabulary.parquet")


def _load(folder: Path) -> Analysed:
    vocabulary = tuple(pq.read_table(folder / "vocabulary.parquet")["term"].to_pylist())
    ids, offsets = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("ids", "offsets"))
    return Analysed(vocabulary, ids, offsets)
