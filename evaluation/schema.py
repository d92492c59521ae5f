"""Judgments: what people said (`Evidence`, `Benchmark`), where it lies (`Spans`), what chunks get (`Qrels`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from retrieval.schema import Ints, Queries

Grades8 = npt.NDArray[np.int8]
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Evidence:
    """One judged span: a quote on a page of a document, with its grade (int8, 0 and up).

    `doc` is the document's file name, its stem, or its doc_id. `page` counts from 1; 0 means "somewhere in the
    document". Offsets count characters of that page's repaired text; -1 means unknown. An empty quote judges the
    whole page, and with page 0 the whole document. Rows of a query that share a `part` are alternatives; every part
    is needed.
    """

    qid: str
    doc: str
    page: int
    char_start: int
    char_end: int
    quote: str
    grade: int
    source: str
    part: str = ""


@dataclass(frozen=True)
class DocumentJudgment:
    """One judged document, as BEIR and TREC files have them."""

    qid: str
    doc_id: str
    grade: int


@dataclass(frozen=True)
class Benchmark:
    """Questions of one split with their judgments, either by span (`evidence`) or by document (`documents`).

    `exclude` names documents that are dropped from a query's ranking before judging (query by example: the query's
    own document). `extracts` are judged quotes of answers: they grade citations and no ranking. `digest` is the
    sha256 of everything here but the extracts.
    """

    name: str
    queries: Queries
    evidence: tuple[Evidence, ...] = ()
    documents: tuple[DocumentJudgment, ...] = ()
    exclude: Mapping[str, frozenset[str]] = field(default_factory=dict)
    entities: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    relations: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    extracts: tuple[Evidence, ...] = ()
    digest: str = ""


@dataclass(frozen=True)
class Spans:
    """Evidence found in a corpus, in document offsets. Columns of equal length [n_spans].

    `query` row of Queries, `doc` row of `Corpus.documents`, `start`/`end` in the document's repaired text, `grade`,
    `part` (number of the part within its query, from 0; -1 for none), `whole_page` (bool: a judgment of a page or
    document without a quote). `orphans` holds the evidence that was not found.
    """

    query: Ints
    doc: Ints
    start: Longs
    end: Longs
    grade: Grades8
    part: Ints
    whole_page: npt.NDArray[np.bool_]
    orphans: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class Qrels:
    """Judgments of chunks. Rows sorted by query and chunk; every judged pair stands once.

    `grade` int8: 0 is judged and not relevant. `group` int32: number of the pair's class within its query; chunks
    of one class cover the same span and are credited once (`credit=once`); a class of its own each otherwise; -1
    for grade 0. `parts` int64: bit p is set where the chunk covers a relevant span of part p.
    `n_parts` int32 [n_queries].
    """

    query: Ints
    chunk: Ints
    grade: Grades8
    group: Ints
    parts: Longs
    n_parts: Ints
