"""The little English that templates need: what a sentence is about, and how that is asked for."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from evaluation.synthesize.sentences import Prose, Sentence
from ingestion.lexicon import FUNCTION, GENERIC_HEAD, GENERIC_MODIFIER, GENERIC_WORD, VERBS
from ingestion.names import singular

LEAD = re.compile(
    r"(?:(?:However|Thus|Hence|Therefore|Moreover|Furthermore|Then|Finally|Also|Instead|Similarly|Clearly|Formally|"
    r"Intuitively|Consequently|Conversely|Indeed|Here|Nevertheless|In general|In practice|By contrast|In contrast|"
    r"On the other hand|For example|Note that|Recall that|By definition|As a result|In this way|"
    r"(?:In|For|On|At|With|By|Under|Among|Across|Within) [^,.;:()]{3,50}), )?"
)
NOUNS = r"(?:[^\W\d_][\w'’+-]*)(?: [^\W_][\w'’+-]*){0,4}?"
SHORT_FORM = r"(?: \([A-Z][\w-]{1,9}\))?"
SUBJECT = rf"(?:(?P<article>A|An|The|Each|Every|a|an|the|each|every) )?(?P<noun>{NOUNS}){SHORT_FORM}"
NO_NOUN = FUNCTION | VERBS | {"result", "results", "fact", "idea", "reason", "problem", "goal", "aim", "example"}
SINGULAR_S = ("ss", "us", "is")
# Verbs that say something about what stands before them.
_ACTIONS = """
    require assume prevent ensure guarantee measure compute estimate return remove replace ignore predict
    capture encode represent combine learn optimize optimise determine identify detect exploit penalize
    penalise minimize minimise maximize maximise forbid allow enable extend generalize generalise model
    describe specify convert transform map assign select choose extract count reward need avoid address solve
    introduce store search compare reflect denote quantify limit bound control
"""


def third_person(verb: str) -> str:
    """`requires` for `require`, `specifies` for `specify`, `searches` for `search`."""
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "x", "z", "ch", "sh")) else f"{verb}s"


ACTIONS = {third_person(verb): verb for verb in _ACTIONS.split()}  # third person to base form
PHRASES = {
    "depends on": "depend on", "relies on": "rely on", "consists of": "consist of", "refers to": "refer to",
    "makes use of": "make use of", "stands for": "stand for", "corresponds to": "correspond to",
    "is based on": "be based on", "suffers from": "suffer from",
}  # fmt: skip


@dataclass(frozen=True)
class Subject:
    """What a sentence is about: its words as they are asked for (`a collocation`), whether they are many, entities.

    `end`: where the rest of the sentence begins.
    """

    asked: str
    noun: str
    plural: bool
    entities: tuple[str, ...]
    end: int


def subject(sentence: Sentence, noun: tuple[int, int], article: str, prose: Prose) -> Subject | None:
    """The subject at a stretch of a sentence; None where it is no name of something in the corpus.

    Its words are content words, and an entity of the graph is among them, or they are a phrase that the document
    repeats.
    """
    words = sentence.text[slice(*noun)]
    parts = words.split()
    if any(part.casefold() in NO_NOUN for part in parts) or parts[-1].endswith(("'s", "’s")):
        return None
    if article.lower() == "the" and len(parts) == 1 and words.isalpha() and words.islower():
        return None  # `the tagset`: whose?
    labels = sentence.within(*noun)
    if not labels and prose.is_repeated(sentence.doc, words) and is_phrase(parts, article):
        labels = (uncapital(words, prose.small),)
    if not labels:
        return None
    name = words if article else uncapital(words, prose.small)
    lead = article.lower()
    if lead in ("each", "every"):
        lead = "an" if name[:1].lower() in "aeio" else "a"
    if lead in ("a", "an") and is_plural(parts[-1]):
        return None
    return Subject(f"{lead} {name}".strip(), name, is_plural(parts[-1]), labels, noun[1])


def is_phrase(parts: list[str], article: str) -> bool:
    """Whether words are a term of their own; one word alone only where it is not `the` one that was spoken of."""
    first, last = parts[0].casefold(), parts[-1].casefold()
    if first in GENERIC_MODIFIER or last in GENERIC_HEAD or not all(len(part) > 2 for part in parts):
        return False
    return len(parts) > 1 or (article.lower() != "the" and len(last) > 4 and singular(last) not in GENERIC_WORD)


def uncapital(words: str, small: Counter[str]) -> str:
    """The words as they stand within a sentence: a capital that only begins it is written small."""
    first, blank, rest = words.partition(" ")
    plain = all(part.islower() for part in re.split(r"[-'’]", first[1:]) if part)
    return (
        f"{first.lower()}{blank}{rest}"
        if plain and small[first.lower()] and rest[:1].islower() | (not rest)
        else words
    )


def is_plural(word: str) -> bool:
    """Whether a noun stands in the plural, as far as its ending says."""
    return len(word) > 3 and word.endswith("s") and not word.lower().endswith(SINGULAR_S)


def be(plural: bool) -> str:
    """The form of `to be`."""
    return "are" if plural else "is"


def do(plural: bool) -> str:
    """The form of `to do`."""
    return "do" if plural else "does"
