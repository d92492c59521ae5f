"""What a template makes: a question, its answer, and the sentences that answer it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from evaluation.synthesize.grammar import LEAD, SUBJECT, Subject, subject
from evaluation.synthesize.sentences import Prose, Sentence

Pair = tuple[str, str]


@dataclass(frozen=True)
class Span:
    """A stretch of a document that answers a question; `part` where several are needed."""

    doc: int
    start: int
    end: int
    text: str
    part: str = ""

    @staticmethod
    def of(sentence: Sentence, part: str = "") -> Span:
        """The whole sentence."""
        return Span(sentence.doc, sentence.start, sentence.end, sentence.text, part)


@dataclass(frozen=True)
class Fact:
    """A question that a template made.

    `about`: the sentence's subject, by which facts are joined; None where it has none. `near`: what else the
    sentence names.
    """

    query: str
    kind: str
    template: str
    answer: str
    entities: tuple[str, ...]
    relations: tuple[Pair, ...]
    spans: tuple[Span, ...]
    about: Subject | None = None
    near: tuple[str, ...] = ()


@dataclass(frozen=True)
class Material:
    """What templates may look at beside the sentence."""

    prose: Prose


Template = Callable[[Sentence, Material], Iterator[Fact]]


def opening(pattern: str) -> re.Pattern[str]:
    """A pattern for sentences that begin with a subject, followed by `pattern`."""
    return re.compile(LEAD.pattern + SUBJECT + pattern, re.DOTALL)


def subject_of(found: re.Match[str], sentence: Sentence, material: Material) -> Subject | None:
    """The subject of a sentence that an `opening` matched."""
    return subject(sentence, found.span("noun"), found["article"] or "", material.prose)


def clause(text: str) -> str:
    """The text up to the end of its sentence or clause, without the full stop."""
    ended = re.split(r"(?:[;:]|, (?:which|whereas|while|but|although|though|so|because|since)\b|[.?!]$)", text)[0]
    return ended.strip(" ,.")
