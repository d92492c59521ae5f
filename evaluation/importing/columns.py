"""The columns of a table of questions, under the names that people give them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

# Spellings without case, blanks and marks: `Question ID` is questionid.
SPELLINGS: Mapping[str, str] = {
    "qid": "qid id questionid queryid questionnumber questionno questionnr number no nr",
    "query": "query question q questiontext querytext prompt",
    "doc": "doc document docname documentname docid documentid file filename paper papername pdf pdfname pdffile"
    " sourcefile sourcedocument",
    "page": "page pageno pagenr pagenumber pg p",
    "quote": "quote quotation evidence evidencetext evidencequote passage span excerpt snippet text context citation"
    " supportingtext highlight",
    "grade": "grade relevance relevancegrade rel rating score label judgment judgement",
    "answer": "answer referenceanswer goldanswer expectedanswer groundtruth groundtruthanswer response",
    "kind": "kind type questiontype questionkind querytype category",
    "part": "part hop facet aspect",
    "split": "split set subset partition fold",
    "cluster": "cluster group",
    "source": "source judge judgedby assessor annotator",
    "entities": "entities entity goldentities",
    "relations": "relations relation goldrelations",
    "char_start": "charstart",
    "char_end": "charend",
}
FIELD_OF = {spelling: field for field, spellings in SPELLINGS.items() for spelling in spellings.split()}


class ColumnError(Exception):
    """Two columns mean the same, or one nearly is a known name; the message says which."""


def plain(name: str) -> str:
    """A column's name without case, blanks and marks."""
    return re.sub(r"[\W_]+", "", name).casefold()


def fields_of(names: Iterable[str]) -> dict[str, str]:
    """What every known column holds, by its name in the file; columns of other names are left out.

    Raises:
        ColumnError: two columns hold the same, or a name is a known one misspelt.
    """
    names = [name for name in names if name and name.strip()]
    known: dict[str, str] = {}
    for name in names:
        field = FIELD_OF.get(plain(name), "")
        if field and field in known.values():
            other = next(column for column, known_field in known.items() if known_field == field)
            raise ColumnError(f"columns {other!r} and {name!r} both mean {field}; rename or remove one of them")
        if field:
            known[name] = field
    for name in names:
        _refuse_misspelt(name, known)
    return known


def _refuse_misspelt(name: str, known: Mapping[str, str]) -> None:
    """Refuse a column that nearly has the name of a field which no column has."""
    if name in known or len(plain(name)) < 4:
        return
    close = difflib.get_close_matches(plain(name), sorted(FIELD_OF), n=1, cutoff=0.8)
    if close and FIELD_OF[close[0]] not in known.values():
        raise ColumnError(f"unknown column {name!r}; did you mean {close[0]!r} ({FIELD_OF[close[0]]})?")
