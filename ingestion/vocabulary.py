"""The spellings of a corpus, what each can be, and which are used as nouns: read from the words around them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ingestion import lexicon
from ingestion.names import singular
from ingestion.tokens import Flags, Ints, Longs, Words

ACRONYM = re.compile(r"[A-Z][A-Z0-9]*[A-Z][A-Z0-9]*s?")
# Capitals inside a word of some length, a small letter before capitals (kNN), a word with digits behind (word2vec).
COINED = re.compile(
    r"(?=\w{4})[A-Z]?[a-z]{2,}[A-Z]\w+|(?=\w{4})[A-Z][a-z][A-Z]\w+|[a-z][A-Z]{2,}[a-z]?|[A-Z]{2,}[a-z]{3,}\w*"
    r"|[a-z]{3,}\d+[a-z]*|\w+\+\+|[A-Z]#"
)
SEEN = 3  # uses as a noun after which what looks like an adjective is one
NO_ACRONYM = lexicon.FUNCTION | lexicon.CALENDAR | lexicon.LABELS | lexicon.BIBLIOGRAPHY | lexicon.ROMAN
SURNAME = re.compile(r"(?:Mc|Mac|De|Le|La|Di|Du|Van|Von|Fitz|O)[A-Z][a-z]+")


@dataclass(frozen=True)
class Vocabulary:
    """The spellings of a corpus and what each can be; arrays have a row per spelling.

    `normal`: the word as entities compare it: an acronym as it is, without a plural ending, anything else case-folded
    and in the singular.
    """

    surface: tuple[str, ...]
    count: Longs
    normal: tuple[str, ...]
    acronym: Flags

    @staticmethod
    def of(words: Words) -> Vocabulary:
        """The vocabulary of these words; a spelling in capitals that is mostly written small is no acronym."""
        count = np.bincount(words.spelling, minlength=len(words.surface)).astype(np.int64)
        by_spelling = dict(zip(words.surface, count.tolist(), strict=True))
        acronym = np.asarray([_is_acronym(word, by_spelling) for word in words.surface], dtype=np.bool_)
        normal = tuple(
            word.rstrip("s") if is_acronym else singular(word.casefold())
            for word, is_acronym in zip(words.surface, acronym.tolist(), strict=True)
        )
        return Vocabulary(words.surface, count, normal, acronym)

    def flags(self, known: frozenset[str]) -> Flags:
        """Which spellings are in a list of small words, as they are or in the singular; bool [n_spellings]."""
        return np.asarray(
            [
                not acronym and (word.casefold() in known or normal in known)
                for word, normal, acronym in zip(self.surface, self.normal, self.acronym.tolist(), strict=True)
            ],
            dtype=np.bool_,
        )

    @cached_property
    def coined(self) -> Flags:
        """Spellings with capitals or digits inside, such as `BioBERT` or `word2vec`; bool [n_spellings]."""
        return (
            np.asarray(
                [COINED.fullmatch(word) is not None and not SURNAME.fullmatch(word) for word in self.surface],
                dtype=np.bool_,
            )
            & ~self.acronym
        )

    @cached_property
    def small(self) -> Flags:
        """Spellings without a capital; bool [n_spellings]."""
        return np.asarray([word == word.lower() for word in self.surface], dtype=np.bool_)


def _is_acronym(word: str, counts: dict[str, int]) -> bool:
    """Capitals such as `POMDP` or `SVMs`; no heading in capitals, Roman number, venue, or word mostly small."""
    if not ACRONYM.fullmatch(word) or word.lower() in NO_ACRONYM:
        return False
    plain = word.lower()
    return counts.get(plain, 0) + counts.get(plain.capitalize(), 0) < counts[word] and len(word) <= 10


@dataclass(frozen=True)
class Uses:
    """Which spellings the corpus uses as nouns, and which clearly as verbs; bool [n_spellings] each."""

    noun: Flags
    verb: Flags


def uses(words: Words, vocabulary: Vocabulary) -> Uses:
    """What the corpus uses each spelling as.

    A noun: after a determiner or preposition and before a mark or a function word. A verb: after a pronoun, a modal
    or `to`. What looks like an adjective must be seen as a noun several times.
    """
    low = tuple(word.casefold() for word in vocabulary.surface)
    group = numbered(low)
    n_groups = int(group.max(initial=-1)) + 1
    before, after = neighbours(words)
    cue = vocabulary.flags(lexicon.DETERMINERS | lexicon.PREPOSITIONS)
    verb_cue = vocabulary.flags(lexicon.VERB_CUES)
    function = vocabulary.flags(lexicon.FUNCTION)
    ends = (after < 0) | function[after]
    as_noun = (before >= 0) & cue[before] & ends
    as_verb = (before >= 0) & verb_cue[before]
    of_word = group[words.spelling]
    nouns = np.bincount(of_word[as_noun], minlength=n_groups)[group]
    verbs = np.bincount(of_word[as_verb], minlength=n_groups)[group]
    plain = np.asarray([not word.endswith(lexicon.ADJECTIVE_ENDINGS) for word in low])
    noun = np.where(plain, (nouns > verbs) | (nouns + verbs == 0), (nouns >= SEEN) & (nouns > verbs))
    return Uses(noun, (verbs >= 2) & (verbs >= 2 * nouns))


def numbered(names: Sequence[str]) -> Longs:
    """Equal names have equal numbers; int64 [n]."""
    known: dict[str, int] = {}
    return np.asarray([known.setdefault(name, len(known)) for name in names], dtype=np.int64)


def neighbours(words: Words) -> tuple[Ints, Ints]:
    """The spelling before and after every word, -1 where a mark or a sentence end stands between."""
    before, after = np.full(len(words), -1, np.int32), np.full(len(words), -1, np.int32)
    close = ~words.apart[1:]
    before[1:] = np.where(close, words.spelling[:-1], -1)
    after[:-1] = np.where(close, words.spelling[1:], -1)
    return before, after
