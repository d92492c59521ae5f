"""What calibrations are fitted on: every extract of the passages of every question, with features and label."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from evaluation.answers.labels import grades
from evaluation.answers.questions import Questions
from evaluation.errors import EvaluationError
from evaluation.judging import Judged
from evaluation.locate import Library
from generation.extracts import quotes_of
from generation.features import Asked, claim_features, document_shares
from generation.reader import Reader, reading
from generation.schema import Evidence
from generation.words import Rarity

PLACE = ("row", "qid", "cluster", "source", "start", "end", "grade")  # columns that are no features


def examples(
    evidence: Sequence[Evidence], judged: Judged, rarity: Rarity, reader: Reader | None = None
) -> pd.DataFrame:
    """One row per extract: the columns `PLACE`, then its features; grade -1 where nobody judged it.

    `row` of the question, `source` its id in the evidence, `start` and `end` in the source's text.

    Raises:
        EvaluationError: no passage holds a sentence that can be quoted.
        ModelLoadError: the reader's model cannot be had.
    """
    assert judged.corpus is not None
    library, queries = Library(judged.corpus), judged.benchmark.queries
    rows, places = [], []
    for query, own in enumerate(evidence):
        asked = Asked(own.question, rarity)
        shares = document_shares(asked, own.sources)
        quotes = [(source, extract) for source in own.sources for extract in quotes_of(source.passage).extracts]
        read = reading(reader, own.question, [extract.text for _, extract in quotes])
        for (source, extract), score in zip(quotes, read, strict=True):
            passage, doc = source.passage, library.row(source.passage.doc_name)
            key = {
                "row": query,
                "qid": queries.qid[query],
                "cluster": queries.cluster[query],
                "source": source.id,
                "start": extract.start,
                "end": extract.end,
                "grade": -1,
            }
            features = claim_features(asked, extract, source, shares[passage.doc_name])
            rows.append({**key, **features, **score})
            places.append((query, -1 if doc is None else doc, passage.char_start))
    if not rows:
        raise EvaluationError("no passage of these questions holds a sentence that can be quoted: nothing to fit on")
    table = pd.DataFrame(rows)
    query_row, doc_row, base = np.asarray(places, dtype=np.int64).reshape(-1, 3).T
    start, end = (base + table[name].to_numpy(np.int64) for name in ("start", "end"))
    return table.assign(grade=grades(judged, query_row, doc_row, start, end, Questions.of(judged).least)[0])
