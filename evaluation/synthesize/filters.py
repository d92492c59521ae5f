"""What makes a draft a bad question, each with the word or figure that says so. Nothing here looks at a ranking."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from evaluation.synthesize.draft import Draft, Dropped, Sifted
from evaluation.synthesize.sentences import Prose
from evaluation.wording import content_words, shared_words
from ingestion.lexicon import FUNCTION
from retrieval.analysis import tokens

DANGLING = "dangling reference"
ANSWERED = "answerable without the corpus"
COPIED = "copied wording"
DUPLICATE = "duplicate"
REASONS = (DANGLING, ANSWERED, COPIED, DUPLICATE)

GENERIC = (
    "method|methods|approach|approaches|model|models|system|systems|algorithm|algorithms|technique|techniques|corpus|"
    "corpora|data|dataset|datasets|set|result|results|experiment|experiments|evaluation|task|paper|papers|study|report|"
    "article|authors?|section|work|parser|tagger|classifier|baseline|framework|procedure|process|figure|table|example|"
    "number|value|score|scores|case|problem|step|stage|feature|features|parameter|parameters"
)
MODIFIERS = (
    "proposed|present|current|same|other|new|first|second|third|last|next|previous|former|latter|final|original|"
    "resulting|given|full|training|test|development|baseline|main|best|above|following|entire|whole|remaining|two|"
    "three|different|our|basic|simple|overall|experimental|improved|extended|described|latest|actual"
)
POINTERS = (
    re.compile(r"\b(?:this|these|those)\b", re.IGNORECASE),
    re.compile(r"\bsuch an?\b|\bthat (?:" + GENERIC + r")\b", re.IGNORECASE),
    re.compile(r"\b(?:the )?(?:above|below|aforementioned|former|latter|following|preceding)\b", re.IGNORECASE),
    re.compile(
        r"\b(?:previous|next|last|present|current) (?:section|chapter|paragraph|example|page)\b", re.IGNORECASE
    ),
    re.compile(
        r"\b(?:figures?|fig\.|tables?|equations?|eqn?\.|sections?|sect\.|algorithm|theorem|lemma|appendix|definition|"
        r"footnote|chapter|step|example)(?: ?\(?\d+| \(?(?-i:[A-Z]|[IVX]+)\b)",
        re.IGNORECASE,
    ),
    re.compile(r"\b(?:we|us|our|ours|my|mine|me)\b", re.IGNORECASE),
    re.compile(r"\bI\b(?!/)"),
    re.compile(
        rf"\bthe (?:(?:{MODIFIERS}) )*(?:{GENERIC})\b(?! (?:of|that|which|called|with|by|from|for)\b)", re.IGNORECASE
    ),
    re.compile(r"\[\d+(?:, ?\d+)*\]"),
)
ELSEWHERE = POINTERS[:1] + POINTERS[2:5]  # what an answer must not hold either
PRONOUN = re.compile(r"\b(?P<whose>its|their)\b|\b(?:it|they|them|he|she|him|her|his|one|ones)\b", re.IGNORECASE)
CLAUSE = re.compile(r"[,;:]|\b(?:and|or|but|when|if|because|that|which|while|so|than|as|where|since|before|after)\b")
ACRONYM = re.compile(r"\b\w*[A-Z]\w*[A-Z]\w*\b")
FRAME = frozenset(tokens("mean meant refer term call known define definition describe"))


@dataclass(frozen=True)
class Limits:
    """From where on a draft is bad.

    `common`: share of documents (at least `many`) that hold every entity of a question: it is about nothing of its
    own. `copied`: share of the question's content words, names apart, that its evidence holds, of `fewest` words or
    more. `alike`: Jaccard similarity of content words of two questions.
    """

    common: float = 0.3
    many: int = 4
    copied: float = 0.6
    fewest: int = 3
    alike: float = 0.8


def dangling(query: str) -> str:
    """The words of a question that point out of it; empty where it can be understood alone.

    A pronoun stands for something within the question only where a content word comes before it: for `it` and `they`
    in an earlier clause, since in one clause a pronoun is never its own subject's object; for `its` anywhere.
    """
    for pattern in POINTERS:
        if found := pattern.search(query):
            return found[0]
    for found in PRONOUN.finditer(query):
        before = query[: found.start()]
        if not found["whose"]:
            ends = [match.start() for match in CLAUSE.finditer(before)]
            before = before[: ends[-1]] if ends else ""
        if not any(word.casefold() not in FUNCTION for word in re.findall(r"[^\W\d_]+", before)):
            return found[0]
    return ""


def unexplained(answer: str) -> str:
    """The words of an answer that point to what its evidence does not say; empty where there are none."""
    found = next((match for pattern in ELSEWHERE if (match := pattern.search(answer))), None)
    return f"answer: {found[0]}" if found else ""


def holds_answer(draft: Draft) -> str:
    """The answer, where the question says every word of it; else empty."""
    told = set(tokens(draft.answer))
    return draft.answer if told and told <= set(tokens(draft.query)) else ""


def generic(draft: Draft, share: Callable[[str], float], limits: Limits, n_documents: int) -> str:
    """The rarest entity with its share of documents, where even that one is common; else empty."""
    if not draft.entities:
        return "names no entity of the corpus"
    rarest = min(draft.entities, key=share)
    held = share(rarest)
    common = held > limits.common and held * n_documents >= limits.many
    return f"{rarest} stands in {held:.0%} of the documents" if common else ""


def copied(draft: Draft, limits: Limits) -> str:
    """How much of a question's wording is its evidence's, where that is too much; else empty.

    The names of what is asked about cannot be worded otherwise, so they do not count.
    """
    names = content_words(" ".join(draft.entities))
    own = content_words(draft.query) - names
    if len(own) < limits.fewest:
        return ""
    share = shared_words(" ".join(sorted(own)), [row.quote for row in draft.evidence])
    return f"{share:.0%} of {len(own)} words" if share > limits.copied else ""


def shares(prose: Prose, drafts: Iterable[Draft]) -> Mapping[str, float]:
    """The share of documents that hold each entity of these drafts."""
    count = max(1, len(prose.library.texts))
    known = dict(zip(prose.graph.labels, prose.graph.nodes["documents"].to_pylist(), strict=True))
    names = {name for draft in drafts for name in draft.entities}
    return {name: (known[name] if name in known else prose.documents_with(name)) / count for name in sorted(names)}


def sift(drafts: Sequence[Draft], prose: Prose, existing: Sequence[str], limits: Limits) -> Sifted:
    """Drop what is bad by its wording; the first reason that holds is given."""
    share = shares(prose, drafts)
    count = len(prose.library.texts)
    kept, dropped = [], []
    for draft in drafts:
        found = {
            DANGLING: dangling(draft.query) or unexplained(draft.answer),
            ANSWERED: holds_answer(draft) or generic(draft, lambda name: share[name], limits, count),
            COPIED: copied(draft, limits),
        }
        reason = next((reason for reason, detail in found.items() if detail), "")
        if reason:
            dropped.append(Dropped(draft, reason, found[reason]))
        else:
            kept.append(draft)
    unique = without_duplicates(kept, existing, limits)
    return Sifted(unique.kept, (*dropped, *unique.dropped))


def without_duplicates(drafts: Sequence[Draft], existing: Sequence[str], limits: Limits) -> Sifted:
    """Drop what nearly is an earlier draft of as many parts, or a question that is there already."""
    texts = [*existing, *(draft.query for draft in drafts)]
    alike = _alike(texts, limits.alike)
    kept: list[Draft] = []
    dropped: list[Dropped] = []
    taken = set(range(len(existing)))
    for row, draft in enumerate(drafts, len(existing)):
        parts = _parts(draft)
        before = next(
            (
                other
                for other in alike[row]
                if other in taken and (other < len(existing) or _parts(drafts[other - len(existing)]) == parts)
            ),
            None,
        )
        if before is None:
            taken.add(row)
            kept.append(draft)
        else:
            dropped.append(Dropped(draft, DUPLICATE, texts[before]))
    return Sifted(tuple(kept), tuple(dropped))


def _parts(draft: Draft) -> int:
    return len({row.part for row in draft.evidence})


def _terms(text: str) -> frozenset[str]:
    """What a question asks for: its content words, acronyms as they are written, for a stemmer would cut them."""
    acronyms = frozenset(ACRONYM.findall(text))
    plain = content_words(ACRONYM.sub(" ", text))
    return ((plain - FRAME) | acronyms) or plain or frozenset(tokens(text))


def _alike(texts: Sequence[str], least: float) -> list[list[int]]:
    """For every text the earlier ones whose content words are alike, ascending."""
    sets = [_terms(text) for text in texts]
    number = {term: column for column, term in enumerate(sorted(frozenset().union(*sets)))}
    rows = np.repeat(np.arange(len(sets)), [len(terms) for terms in sets])
    columns = np.asarray([number[term] for terms in sets for term in sorted(terms)], dtype=np.int64)
    matrix = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(sets), max(1, len(number))))
    shared = (matrix @ matrix.T).tocoo()
    size = np.asarray([len(terms) for terms in sets], dtype=np.float64)
    union = size[shared.row] + size[shared.col] - shared.data
    found: list[list[int]] = [[] for _ in texts]
    close = (shared.data >= least * union) & (shared.col < shared.row)
    for row, column in sorted(zip(shared.row[close].tolist(), shared.col[close].tolist(), strict=True)):
        found[row].append(column)
    return found
