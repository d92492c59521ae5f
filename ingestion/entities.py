"""Domain entities of a corpus: coined names, acronyms with their expansion, and noun phrases typical of a document.

No tagger and no model: candidates are counted, and kept where counts, capitals and the words around them say so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ingestion import lexicon
from ingestion.acronyms import expansions
from ingestion.phrases import Marks, Phrases, phrases
from ingestion.tokens import Longs, Words
from ingestion.vocabulary import Vocabulary, neighbours, numbered, uses

Form = tuple[str, ...]
LONGEST = 5  # words of a term
NAMED = 0.6  # share of occurrences in capitals that makes a phrase a name
PROSE = 0.5  # share of occurrences beside a word written small: what stands in tables and code only is no term
SHORT_ACRONYM = 8  # sentences that must hold an acronym of two letters that nobody expands
NESTED = 0.8  # a phrase that stands inside a longer term this often is no term of its own
LEAST_SMALL = 2  # times that the last word of a name must be written small: surnames and places never are
NO_TERM = (
    lexicon.FUNCTION | lexicon.VERBS | lexicon.LABELS | lexicon.CALENDAR | lexicon.BIBLIOGRAPHY | lexicon.VERB_CUES
)


@dataclass(frozen=True)
class EntitySpec:
    """What counts as an entity.

    `min_count`: sentences that must hold a noun phrase, and `burst`: how many of them in one document. `max_share`:
    the largest share of documents that may hold it, unless it is a name. `word_burst` and `word_share`: the same for
    a single word. `whole`: the least share of its occurrences that stand between function words or marks rather than
    inside a longer phrase.
    """

    min_count: int = 3
    burst: int = 2
    max_share: float = 0.3
    word_burst: int = 6
    word_share: float = 0.15
    whole: float = 0.5


@dataclass(frozen=True)
class Entity:
    """An entity: its label as printed, its kind (see `KINDS`), and its variants.

    `forms`: sequences of normal words (`Vocabulary.normal`) by which texts are searched, sorted.
    """

    label: str
    kind: str
    forms: tuple[Form, ...]


@dataclass
class _Candidate:
    """A term while variants are merged: spellings with their counts, its strongest kind, its forms."""

    kind: str
    forms: set[Form]
    spellings: Counter[str] = field(default_factory=Counter)
    short: str = ""


LETTERS = re.compile(r"[A-Za-z\u00c0-\u017f]{3,}")  # a word of a term; symbols of formulas are shorter or Greek
PLAIN = re.compile(r"[a-z]{6,}")  # a word that may be a term alone
KINDS = ("acronym", "coined", "name", "phrase", "word")


def extract(texts: Sequence[str], documents: Sequence[str], spec: EntitySpec) -> tuple[list[Entity], Words]:
    """Entities of these texts, sorted by label, with the words that they were read from.

    Args:
        texts: of the chunks.
        documents: the document of each text.
        spec: thresholds.
    """
    words = Words.of(texts)
    vocabulary = Vocabulary.of(words)
    marks = _marks(words, vocabulary, documents)
    found: dict[str, _Candidate] = {}
    for kind, form, spelling, count in _terms(words, vocabulary, marks, len(set(documents)), spec):
        known = found.setdefault("".join(form).lower(), _Candidate(kind, set()))
        known.kind = min(known.kind, kind, key=KINDS.index)
        known.forms.add(form)
        known.spellings[spelling] += count
    _merge_expansions(found, expansions(texts), vocabulary)
    spelled = set(vocabulary.surface) | set(vocabulary.normal)
    entities = _distinct([_entity(candidate, spelled) for _, candidate in sorted(found.items())])
    return sorted(entities, key=lambda entity: (entity.label.casefold(), entity.label)), words


def _marks(words: Words, vocabulary: Vocabulary, documents: Sequence[str]) -> Marks:
    """What every word can be in a term."""
    own, special, used = words.spelling, vocabulary.acronym | vocabulary.coined, uses(words, vocabulary)
    bibliography = vocabulary.flags(lexicon.BIBLIOGRAPHY)
    no_term = vocabulary.flags(NO_TERM) | (used.verb & ~special)
    generic = vocabulary.flags(lexicon.GENERIC_MODIFIER)
    letters = np.asarray([LETTERS.fullmatch(word) is not None for word in vocabulary.surface], dtype=np.bool_)
    modifier = np.asarray([not word.endswith("ly") for word in vocabulary.surface], dtype=np.bool_)
    modifier &= used.noun | np.asarray([not word.endswith("ing") for word in vocabulary.surface], dtype=np.bool_)
    ends = used.noun & letters & ~generic & ~vocabulary.flags(lexicon.GENERIC_HEAD)
    linked = words.joined.copy()  # function words and letters inside a hyphenated word, as in `part-of-speech`
    linked[:-1] |= words.joined[1:]
    before, after = neighbours(words)
    return Marks(
        word=numbered(vocabulary.normal)[own],
        content=((letters & ~no_term) | special)[own] & ~bibliography[own] | (linked & ~bibliography[own]),
        head=((modifier & ~generic & ~no_term) | special)[own],
        tail=((ends & ~no_term) | special)[own],
        capital=(~vocabulary.small)[own],
        left=((before < 0) | ((no_term | generic) & ~bibliography)[before]) & ~words.joined,
        right=((after < 0) | (no_term & ~bibliography)[after]) & ~np.append(words.joined[1:], False),
        small_before=(before >= 0) & vocabulary.small[before] & ~words.joined,
        small_after=(after >= 0) & vocabulary.small[after] & ~np.append(words.joined[1:], False),
        document=numbered(documents)[words.text],
        fresh=words.first_of_each(documents),
    )


def _terms(
    words: Words, vocabulary: Vocabulary, marks: Marks, n_documents: int, spec: EntitySpec
) -> Iterator[tuple[str, Form, str, int]]:
    """Kind, form, spelling and count of every term, the longest first; what mostly stands inside one is left out."""
    covered = np.zeros(len(words), dtype=np.int64)  # by the end of the longest term that begins at or before a word
    for group in reversed(list(phrases(words, marks, LONGEST))):
        kinds = _kinds(group, words, vocabulary, n_documents, spec)
        last = group.place + group.length - 1
        inside = np.bincount(group.of, weights=covered[group.place] >= last, minlength=len(group.count))
        kept = np.asarray([bool(kind) for kind in kinds]) & (inside < NESTED * group.count)
        taken = kept[group.of]
        for step in range(group.length):
            at = group.place[taken] + step
            np.maximum.at(covered, at, group.place[taken] + group.length - 1)
        for row in np.flatnonzero(kept).tolist():
            low = int(group.start[row])
            own = words.spelling[low : low + group.length]
            form = tuple(vocabulary.normal[number] for number in own)
            yield kinds[row], form, _spelling(words, vocabulary, low, group.length), int(group.count[row])


def _kinds(group: Phrases, words: Words, vocabulary: Vocabulary, n_documents: int, spec: EntitySpec) -> list[str]:
    """What each sequence is: a kind of entity, or an empty string."""
    last = words.spelling[group.start + group.length - 1]
    if group.length == 1:
        common = vocabulary.flags(lexicon.GENERIC_WORD)
        written = (group.prose >= PROSE) & (group.prose * group.count >= 2)
        short = np.asarray([len(vocabulary.surface[number]) < 3 for number in last.tolist()], dtype=np.bool_)
        often = group.count * group.prose >= np.where(short, SHORT_ACRONYM, spec.min_count)
        acronym, coined = vocabulary.acronym[last] & written & often, vocabulary.coined[last] & written
        plain = (group.named < NAMED) & ~(vocabulary.acronym | vocabulary.coined)[last]
        rare = group.documents <= max(2.0, spec.word_share * n_documents)
        word = plain & rare & (group.burst >= spec.word_burst) & (group.whole >= spec.whole) & ~common[last]
        word &= np.asarray([PLAIN.fullmatch(vocabulary.surface[number]) is not None for number in last.tolist()])
        return [str(kind) for kind in np.select([acronym, coined, word], ["acronym", "coined", "word"], "")]
    at = group.start[:, None] + np.arange(group.length)
    small = _small_count(vocabulary)[words.spelling[at]] >= LEAST_SMALL
    special = (vocabulary.acronym | vocabulary.coined)[last] & (
        small.any(axis=1) | words.joined[at[:, 1:]].any(axis=1)
    )
    subject = small[:, -1] & ~vocabulary.flags(lexicon.NAME_HEAD)[last]
    name = (group.named >= NAMED) & (group.count >= 2) & (group.prose >= PROSE) & (special | subject)
    rare = group.documents <= max(2.0, spec.max_share * n_documents)
    often = (group.count >= spec.min_count) & (group.burst >= spec.burst) & (group.prose >= PROSE)
    phrase = (group.named < NAMED) & rare & often
    whole = group.whole >= spec.whole
    return [str(kind) for kind in np.select([name & whole, phrase & whole], ["name", "phrase"], "")]


def _small_count(vocabulary: Vocabulary) -> Longs:
    """How often each spelling's normal word is written small, int64 [n_spellings]."""
    number = numbered(vocabulary.normal)
    return np.bincount(number, weights=vocabulary.count * vocabulary.small)[number].astype(np.int64)


def _spelling(words: Words, vocabulary: Vocabulary, start: int, length: int) -> str:
    """The term as it is printed at one of its occurrences, hyphens kept."""
    parts = []
    for at in range(start, start + length):
        lead = "" if at == start else "-" if words.joined[at] else " "
        parts.append(lead + vocabulary.surface[words.spelling[at]])
    return "".join(parts)


def _merge_expansions(found: dict[str, _Candidate], known: Mapping[str, str], vocabulary: Vocabulary) -> None:
    """An acronym and what it stands for are one entity."""
    normal_of = dict(zip(vocabulary.surface, vocabulary.normal, strict=True))
    for short, long in known.items():
        form = tuple(normal_of.get(word, word.casefold()) for word in long.replace("-", " ").split())
        if set(form) & lexicon.BIBLIOGRAPHY or short.casefold() in lexicon.BIBLIOGRAPHY:
            continue
        own = tuple(normal_of.get(word, word) for word in short.replace("-", " ").split())
        whole = found.pop("".join(own).lower(), None) or _Candidate("acronym", set())
        other = found.pop("".join(form), None)
        if other is not None:
            whole.forms |= other.forms
        whole.kind, whole.short = "acronym", short
        whole.forms |= {own, form}
        whole.spellings = Counter({long: 1})
        found["".join(form)] = whole


def _entity(candidate: _Candidate, spelled: set[str]) -> Entity:
    """The candidate with the forms that it may also take: two words written as one, and an acronym written small."""
    label = min(candidate.spellings, key=lambda spelling: (-candidate.spellings[spelling], spelling))
    joined = {
        (*form[:at], form[at] + form[at + 1], *form[at + 2 :])
        for form in candidate.forms
        for at in range(len(form) - 1)
        if form[at] + form[at + 1] in spelled
    }
    small = {(form[0].lower(),) for form in candidate.forms if len(form) == 1 and form[0].lower() not in spelled}
    forms = candidate.forms | joined | small
    return Entity(f"{label} ({candidate.short})" if candidate.short else label, candidate.kind, tuple(sorted(forms)))


def _distinct(entities: Sequence[Entity]) -> list[Entity]:
    """The entities without forms that an earlier one has taken; labels stay apart."""
    taken: set[Form] = set()
    labels: set[str] = set()
    kept = []
    for entity in entities:
        own = tuple(form for form in entity.forms if form not in taken)
        if own and entity.label not in labels:
            kept.append(Entity(entity.label, entity.kind, own))
            taken.update(own)
            labels.add(entity.label)
    return kept
