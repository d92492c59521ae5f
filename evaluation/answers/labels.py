"""Labels of citations and claims from judged spans: what a cited passage is worth, and whether its quote is real.

A citation gets the best grade of the judged spans of its question with which it shares at least half of the shorter
of the two: half of a long judged passage that a sentence was cited from would be too much to ask, and so would half
of a long citation that holds a short judged sentence. A cited sentence that lies in a judged passage always counts,
unless somebody judged just this extract: then that grade decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from evaluation.answers.questions import CANNOT, Questions, part_bits
from evaluation.answers.tables import NONE
from evaluation.errors import EvaluationError
from evaluation.judging import Judged
from evaluation.locate import Library
from evaluation.pairs import look_up, pairs
from evaluation.qrels import Chunks
from evaluation.schema import Longs, Spans
from evaluation.stats import Bools
from ingestion.schema import Corpus

UNJUDGED = -1
SHARED = 0.5  # of the shorter of citation and judged span
SAME = 0.6  # overlap over union from which a citation is the very extract that was judged
BLANKS = {ord(blank): " " for blank in "\n\r\t\f\v\u00a0\u2028\u2029"}


def label(citations: pd.DataFrame, judged: Judged, questions: Questions | None = None) -> pd.DataFrame:
    """The citations with `grade`, `relevant`, `source_relevant`, `parts`, `verbatim` and `length`.

    `grade` int8: the best one that the cited span overlaps, -1 where it overlaps no judged span; `relevant`: the
    grade counts (`Questions.least`); `source_relevant`: the cited chunk as a whole counts, wherever in it the quote
    stands; `parts` int64: the parts of the question that it covers, as bits; `verbatim`: the quote is the document's
    text there, line breaks read as blanks; `length`: characters cited. Where a collection is judged by document, a
    citation has the grade of its chunk.

    Raises:
        EvaluationError: a citation names an unknown question, document or chunk, or an offset outside of it.
    """
    known = questions or Questions.of(judged)
    if judged.corpus is None:
        raise EvaluationError("citations can be labelled only over a corpus; there are only outside runs here")
    query, doc = _rows(citations, judged)
    start, end = (citations[name].to_numpy(np.int64) for name in ("char_start", "char_end"))
    by_chunk, parts = _by_chunk(citations["chunk_id"], query, judged, known.least)
    grade = by_chunk
    if judged.spans is not None:
        grade, parts = grades(judged, query, doc, start, end, known.least)
    return citations.assign(
        grade=grade,
        relevant=grade >= known.least,
        source_relevant=(by_chunk >= known.least) | _holds(citations["chunk_id"], judged, query, doc, known.least),
        parts=parts,
        verbatim=_verbatim(citations, doc, start, end, judged.corpus),
        length=end - start,
    )


def passages_hold(judged: Judged, query: Longs, chunks: Sequence[str], least: int) -> Bools:
    """Whether each passage holds an answer: its chunk is relevant, or most of a relevant judged extract lies in it.

    `query` int64 [n]: rows of the questions; `chunks`: ids, n of them.
    """
    if judged.corpus is None:
        raise EvaluationError("passages can be judged only over a corpus; there are only outside runs here")
    ids = pd.Series(list(chunks), dtype=object)
    of_doc = {name: row for row, name in enumerate(judged.corpus.documents["doc_id"].to_pylist())}
    docs = judged.corpus.column("doc_id")
    doc = np.asarray([of_doc[docs[judged.corpus.row_of[name]]] for name in ids], dtype=np.int64)
    return (_by_chunk(ids, query, judged, least)[0] >= least) | _holds(ids, judged, query, doc, least)


def label_claims(claims: pd.DataFrame, labelled: pd.DataFrame, questions: Questions) -> pd.DataFrame:
    """The claims with `right`: 1, 0, or NaN for a claim without a label, and `cluster` of its question.

    A claim is right if one of its citations is relevant. It has no label where all its citations are unjudged, and
    without context, where nothing can be cited. To an unanswerable question every claim is wrong; so is a claim that
    cites nothing.
    """
    key = ["strategy", "generator", "context", "qid", "claim"]
    by_claim = labelled.groupby(key)["grade"].agg(["max", "size"])
    found = by_claim.reindex(pd.MultiIndex.from_frame(claims[key]))
    best, cited = found["max"].to_numpy(np.float64), found["size"].fillna(0).to_numpy(np.int64)
    right = np.where(best >= questions.least, 1.0, np.where((cited > 0) & (best == UNJUDGED), np.nan, 0.0))
    of = questions.table.loc[claims["qid"]]
    right[(of["state"] == CANNOT).to_numpy()] = 0.0
    right[(claims["context"] == NONE).to_numpy()] = np.nan
    return claims.assign(right=right, cluster=of["cluster"].to_numpy())


def _rows(citations: pd.DataFrame, judged: Judged) -> tuple[Longs, Longs]:
    """Row of each citation's question and document, int64 [n] each."""
    assert judged.corpus is not None
    of_query = {qid: row for row, qid in enumerate(judged.benchmark.queries.qid)}
    of_doc = {name: row for row, name in enumerate(judged.corpus.documents["doc_id"].to_pylist())}
    return _numbered(citations["qid"], of_query, "question"), _numbered(citations["doc_id"], of_doc, "document")


def _numbered(names: pd.Series, row_of: Mapping[str, int], what: str) -> Longs:
    unknown = [name for name in names.unique() if name not in row_of]
    if unknown:
        raise EvaluationError(f"a citation names the {what} {unknown[0]!r}, which is none of this benchmark")
    return np.asarray([row_of[name] for name in names], dtype=np.int64)


def grades(
    judged: Judged, query: Longs, doc: Longs, start: Longs, end: Longs, least: int
) -> tuple[npt.NDArray[np.int8], Longs]:
    """Grade and parts of stretches of text as answers, where spans are judged.

    A judged extract that is the same stretch but for a few words (`SAME`) decides, since somebody judged just that;
    else the best of the judged spans that are shared by half. `query`, `doc`: rows; `start`, `end`: document offsets.
    """
    grade, parts = np.full(len(query), UNJUDGED, dtype=np.int8), np.zeros(len(query), dtype=np.int64)
    if judged.spans is not None:
        spans = judged.spans
        row, span, shared = _overlaps(spans, query, doc, start, end)
        enough = shared >= SHARED * np.minimum(end[row] - start[row], (spans.end - spans.start)[span])
        row, span = row[enough], span[enough]
        np.maximum.at(grade, row, spans.grade[span])
        counted = spans.grade[span] >= least
        np.bitwise_or.at(parts, row[counted], part_bits(spans)[span[counted]])
    if judged.extracts is not None:
        own = _same(judged.extracts, query, doc, start, end)
        grade = np.where(own == UNJUDGED, grade, own).astype(np.int8)
        parts[(own != UNJUDGED) & (own < least)] = 0
    return grade, parts


def _same(extracts: Spans, query: Longs, doc: Longs, start: Longs, end: Longs) -> npt.NDArray[np.int8]:
    """Grade of the judged extract that is most alike (overlap over union), -1 where none is the same."""
    row, span, shared = _overlaps(extracts, query, doc, start, end)
    union = np.maximum(extracts.end[span], end[row]) - np.minimum(extracts.start[span], start[row])
    alike = shared / union
    order = np.lexsort((extracts.grade[span], alike))
    order = order[alike[order] >= SAME]
    grade = np.full(len(query), UNJUDGED, dtype=np.int8)
    grade[row[order]] = extracts.grade[span[order]]
    return grade


def _overlaps(spans: Spans, query: Longs, doc: Longs, start: Longs, end: Longs) -> tuple[Longs, Longs, Longs]:
    """Stretches and judged spans of one question that share characters: rows of both, and how many.

    All questions' documents are laid end to end, so that one search joins them.
    """
    places, area = np.unique(pairs(spans.query, spans.doc), return_inverse=True)
    cited, of_area = look_up(places, pairs(query, doc))
    stride = np.int64(max(spans.end.max(initial=0), end.max(initial=0)) + 1)
    order = np.argsort(area * stride + spans.start, kind="stable")
    laid = Chunks((area * stride + spans.start)[order], (area * stride + spans.end)[order], order)
    stretch, at, shared = laid.overlaps(of_area * stride + start[cited], of_area * stride + end[cited])
    return cited[stretch], laid.row[at], shared


def _by_chunk(chunks: pd.Series, query: Longs, judged: Judged, least: int) -> tuple[npt.NDArray[np.int8], Longs]:
    """Grade of the cited chunk, and bit 0 where it counts: the only part of collections judged by document."""
    row_of = {name: row for row, name in enumerate(judged.ids)}
    qrels, chunk = judged.qrels, _numbered(chunks, row_of, "chunk")
    grade = np.full(len(query), UNJUDGED, dtype=np.int8)
    cited, row = look_up(pairs(qrels.query, qrels.chunk), pairs(query, chunk))
    grade[cited] = qrels.grade[row]
    return grade, (grade >= least).astype(np.int64)


def _holds(chunks: pd.Series, judged: Judged, query: Longs, doc: Longs, least: int) -> Bools:
    """Whether half of a relevant judged extract lies in the cited chunk, whoever quoted it, bool [n]."""
    held = np.zeros(len(query), dtype=np.bool_)
    if judged.extracts is None or judged.corpus is None:
        return held
    table = judged.corpus.chunks
    row_of = {name: row for row, name in enumerate(judged.ids)}
    chunk = _numbered(chunks, row_of, "chunk")
    start, end = (table[name].to_numpy()[chunk].astype(np.int64) for name in ("char_start", "char_end"))
    row, extract, shared = _overlaps(judged.extracts, query, doc, start, end)
    length = (judged.extracts.end - judged.extracts.start)[extract]
    held[row[(shared >= SHARED * length) & (judged.extracts.grade[extract] >= least)]] = True
    return held


def _verbatim(citations: pd.DataFrame, doc: Longs, start: Longs, end: Longs, corpus: Corpus) -> Bools:
    texts = Library(corpus).texts
    whole = {row: texts[row].text if row in texts else "" for row in np.unique(doc).tolist()}
    length = np.asarray([len(whole[row]) for row in doc.tolist()], dtype=np.int64)
    outside = np.flatnonzero((start < 0) | (end <= start) | (end > length))
    if len(outside):
        at = int(outside[0])
        row = citations.iloc[at]
        raise EvaluationError(
            f"{row['qid']}: a citation of {row['doc_id']} from {start[at]} to {end[at]} lies outside of its text, "
            f"which has {length[at]} characters"
        )
    stretches = zip(doc.tolist(), start.tolist(), end.tolist(), strict=True)
    there = [whole[row][low:high].translate(BLANKS) for row, low, high in stretches]
    quoted = [str(quote).translate(BLANKS) for quote in citations["quote"]]
    return np.asarray([one == other for one, other in zip(there, quoted, strict=True)], dtype=np.bool_)
