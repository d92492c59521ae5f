"""The sentences of a corpus from which a question can be drafted: whole prose, with the entities that they name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evaluation.locate import Library
from ingestion.graph import KnowledgeGraph
from ingestion.schema import Corpus
from ingestion.tokens import Words

PROSE = ("body", "abstract")
FEWEST, MOST = 4, 45  # words of a sentence
LETTERS = 0.72  # least share of letters and blanks: formulas and rows of tables have less
OFTEN, OFTEN_ALONE = 3, 5  # times that a document must say a phrase, or a single word, that is no entity
SHARE = 0.25  # largest share of documents that hold it
AROUND = 280  # characters of the surroundings that a reviewer sees on either side
# What extraction leaves of formulas, broken words, lists and addresses.
BROKEN = re.compile(r"[=∑∏∈≤≥≈~|{}<>^_\\•�\ufffe]|[a-z]- [a-z]|https?:|www\.|\.\s\.\s\.|[A-Za-z]\d[a-z]")
WHOLE = re.compile(r"[A-Z“\"‘(].*[a-z0-9)\]”\"%]\.[\d”\"’)]*", re.DOTALL)
WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")


@dataclass(frozen=True)
class Mention:
    """An entity in a sentence: row of the graph's nodes, label, and where it stands in the sentence's text."""

    node: int
    label: str
    start: int
    end: int


@dataclass(frozen=True)
class Sentence:
    """One sentence. `doc`: row of the documents; `start`, `end`: document offsets; `text`: blanks for line breaks."""

    doc: int
    start: int
    end: int
    text: str
    mentions: tuple[Mention, ...]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The entities, each once, in order."""
        return tuple(dict.fromkeys(mention.label for mention in self.mentions))

    def within(self, start: int, end: int) -> tuple[str, ...]:
        """The entities that stand within a stretch of the text."""
        inside = (one.label for one in self.mentions if start <= one.start and one.end <= end)
        return tuple(dict.fromkeys(inside))


@dataclass(frozen=True)
class Prose:
    """The usable sentences of a corpus by document and place, each once, and all others' places.

    `ends`: where every sentence of a document begins, usable or not, by the place where it ends.
    """

    sentences: tuple[Sentence, ...]
    ends: Mapping[tuple[int, int], int]
    library: Library
    graph: KnowledgeGraph

    @staticmethod
    def of(corpus: Corpus, graph: KnowledgeGraph) -> Prose:
        """Read the sentences of a corpus."""
        words = Words.of(corpus.texts)
        found = graph.linker.link(words)
        bounds = np.searchsorted(words.sentence[found.first], np.arange(len(words.sentences) + 1)).tolist()
        library, labels = Library(corpus), graph.labels
        row_of = {str(name): row for row, name in enumerate(corpus.documents["doc_id"].to_pylist())}
        kinds, sections, owners = corpus.column("kind"), corpus.column("section"), corpus.column("doc_id")
        base = corpus.numbers("char_start")
        kept: dict[tuple[int, int], Sentence] = {}
        ends: dict[tuple[int, int], int] = {}
        for number, (chunk, begin, high) in enumerate(words.sentences.tolist()):
            if kinds[chunk] not in PROSE:
                continue
            low = begin + _heading(corpus.texts[chunk][begin:high], str(sections[chunk]))
            text = corpus.texts[chunk][low:high]
            doc, start = row_of[str(owners[chunk])], int(base[chunk])
            ends[doc, start + high] = start + low
            if not is_prose(text):
                continue
            rows = range(bounds[number], bounds[number + 1])
            places = [(int(found.node[row]), int(found.first[row]), int(found.last[row])) for row in rows]
            mentions = tuple(
                Mention(node, labels[node], int(words.start[first]) - low, int(words.end[last]) - low)
                for node, first, last in places
                if words.start[first] >= low
            )
            kept.setdefault((doc, start + low), Sentence(doc, start + low, start + high, text, mentions))
        return Prose(tuple(kept[place] for place in sorted(kept)), ends, library, graph)

    @cached_property
    def small(self) -> Counter[str]:
        """How often words are written small."""
        return Counter(word for one in self.sentences for word in WORD.findall(one.text) if word.islower())

    def before(self, sentence: Sentence) -> tuple[int, str] | None:
        """Start and text of the sentence in front of one, where no more than a blank or two is between them."""
        ended = next((end for gap in (1, 2) if (end := (sentence.doc, sentence.start - gap)) in self.ends), None)
        if ended is None:
            return None
        start = self.ends[ended]
        return start, " ".join(self.library.texts[sentence.doc].text[start : ended[1]].split())

    @cached_property
    def _plain(self) -> dict[int, str]:
        """Every document's text with single blanks."""
        return {doc: " ".join(text.text.split()) for doc, text in self.library.texts.items()}

    def is_repeated(self, doc: int, words: str) -> bool:
        """Whether a document repeats these words, and few others hold them: then they are a term of its own."""
        often = OFTEN if " " in words else OFTEN_ALONE
        if len(_whole(words).findall(self._plain[doc])) < often:
            return False
        return self.documents_with(words) <= max(2, SHARE * len(self._plain))

    def documents_with(self, words: str) -> int:
        """How many documents hold these words."""
        wanted = _whole(words)
        return sum(wanted.search(text) is not None for text in self._plain.values())

    def around(self, doc: int, start: int, end: int) -> tuple[str, str]:
        """The text before and after a stretch of a document."""
        text = self.library.texts[doc].text
        low = text[max(0, start - AROUND) : start].partition(" ")[2] if start > AROUND else text[:start]
        return " ".join(low.split()), " ".join(text[end : end + AROUND].rpartition(" ")[0].split())


def _whole(words: str) -> re.Pattern[str]:
    """A pattern for whole words; capitals count where there are several, as in an acronym."""
    special = sum(char.isupper() for char in words) > 1
    return re.compile(rf"(?<!\w){re.escape(words)}(?!\w)", re.NOFLAG if special else re.IGNORECASE)


def is_prose(text: str) -> bool:
    """Whether a text is one whole sentence of words, with brackets that close."""
    words = WORD.findall(text)
    letters = sum(char.isalpha() or char == " " for char in text)
    return (
        FEWEST <= len(words) <= MOST
        and WHOLE.fullmatch(text) is not None
        and BROKEN.search(text) is None
        and letters >= LETTERS * len(text)
        and all(text.count(a) == text.count(b) for a, b in ("()", "[]", "“”"))
        and sum(len(word) == 1 and word not in "aAI" for word in words) <= 2
    )


def _heading(text: str, section: str) -> int:
    """How many characters of a sentence are the heading in front of it."""
    title = section.rpartition(" > ")[2].strip()
    for lead in (title, "Abstract"):
        if lead and text.startswith(lead) and text[len(lead) : len(lead) + 1].isspace():
            rest = text[len(lead) :]
            return len(lead) + len(rest) - len(rest.lstrip())
    return 0
