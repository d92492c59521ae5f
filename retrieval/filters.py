"""Which chunks may be ranked: by document, section and year, the same for every strategy and vector store."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ingestion.config import nearest
from ingestion.schema import Corpus
from retrieval.errors import FilterError

YEARS = re.compile(r"(\d{4})?(-)?(\d{4})?")
YEAR = re.compile(r"\b(?:19|20)\d{2}\b")
YEAR_KEYS = ("year", "published", "date")  # of a chunk's metadata, the first one that holds a year
UNKNOWN_YEAR = 0


@dataclass(frozen=True)
class Where:
    """A filter; what is left empty does not filter.

    `document`: names or ids of documents. `section`: a part of the section's heading, whatever its case. `first_year`
    and `last_year`, both included; a chunk without a known year is left out where one of them is set.
    """

    document: tuple[str, ...] = ()
    section: str = ""
    first_year: int | None = None
    last_year: int | None = None

    @staticmethod
    def read(document: str = "", section: str = "", year: str = "") -> Where:
        """From text as it is typed: documents separated by commas, a year or a span such as `2019-2021` or `2020-`.

        Raises:
            FilterError: the year is no year.
        """
        found = YEARS.fullmatch(year)
        if found is None or year == "-":
            raise FilterError(f"where.year={year!r}: write a year or a span such as 2019-2021, 2020- or -2015")
        first = int(found[1]) if found[1] else None
        last = int(found[3]) if found[3] else None if found[2] else first
        return Where(tuple(part for part in document.split(",") if part), section, first, last)

    def mask(self, corpus: Corpus) -> npt.NDArray[np.bool_]:
        """Bool [n_chunks]: which chunks pass.

        Raises:
            FilterError: a document is not in the corpus, or a year is asked of a corpus without any.
        """
        keep = np.ones(len(corpus), dtype=np.bool_)
        if self.document:
            keep &= np.isin(corpus.column("doc_id"), self.doc_ids(corpus))
        if self.section:
            keep &= np.isin(corpus.column("section"), self.sections(corpus))
        if self.first_year is not None or self.last_year is not None:
            years = chunk_years(corpus)
            if not years.any() and len(years):
                raise FilterError(
                    "where.year: no chunk of this corpus has a year; write metadata.jsonl into its folder, "
                    'a line {"file": "a.pdf", "year": 2021} for each file'
                )
            first, last = self.year_span
            keep &= (years != UNKNOWN_YEAR) & (years >= first) & (years <= last)
        return keep

    @property
    def year_span(self) -> tuple[int, int]:
        """First and last year that pass."""
        return self.first_year or 1, self.last_year or 9999

    def doc_ids(self, corpus: Corpus) -> list[str]:
        """Ids of the documents that are named, sorted.

        Raises:
            FilterError: one of them is not in the corpus.
        """
        ids = corpus.documents["doc_id"].to_pylist()
        by_name: dict[str, set[str]] = {}
        for identifier, name in zip(ids, corpus.documents["doc_name"].to_pylist(), strict=True):
            for key in (identifier, name, name.removesuffix(".pdf")):
                by_name.setdefault(key, set()).add(identifier)
        for name in self.document:
            if name not in by_name:
                raise FilterError(f"where.document={name!r}: not in this corpus{nearest(name, by_name)}"[:300])
        return sorted(set().union(*(by_name[name] for name in self.document)))

    def sections(self, corpus: Corpus) -> list[str]:
        """The headings of this corpus that hold the wanted text, sorted."""
        return sorted(s for s in set(corpus.column("section")) if self.section.casefold() in s.casefold())


def chunk_years(corpus: Corpus) -> npt.NDArray[np.int64]:
    """The year in the metadata of every chunk, int64 [n_chunks]; 0 where it is not known."""
    texts = corpus.chunks["metadata_json"].to_pylist()
    known = {text: _year(json.loads(text), YEAR_KEYS) for text in set(texts)}
    return np.asarray([known[text] for text in texts], dtype=np.int64)


def _year(metadata: dict[str, object], keys: Sequence[str]) -> int:
    found = (YEAR.search(str(metadata.get(key, ""))) for key in keys)
    return next((int(match[0]) for match in found if match), UNKNOWN_YEAR)
