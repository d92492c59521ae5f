"""Sentences that tell a reader or a model what to do, instead of saying how something is.

A document may hold such sentences by accident or by malice. The offline generator never quotes one; a live model sees
them as data. Wording alone decides: intent cannot be read from it, and a paper that prints the prompts of its
experiments loses those prompts as quotes. Advice on anything but answering ("keep a distance of 20 mm") is no
instruction here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from generation.disguise import readings, runs_backwards, spells_order
from generation.orders import MACHINES, ORDERS, Order, word_set
from generation.phrases import IDEOGRAPHIC, PHRASES
from generation.visible import has_border, hidden, marks, plain, without_hidden
from ingestion.lexicon import FUNCTION

Flags = npt.NDArray[np.bool_]

HIDDEN, HIDDEN_SHARE = 4, 0.1  # characters that nobody sees, as a disguise has them; a formula has one or two
LONGEST = 10_000  # characters; what has no end before is no sentence of prose
REPEATED = 0.8  # share of a question from its first word on that no answer to it repeats
LEAST_REPEATED = 5  # words of it
_TOKEN = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
_WORD = re.compile(r"\w+")
_ADVERBS = word_set(
    "always only never not now instead also therefore immediately just simply please kindly then first henceforth"
    " so and do don't don’t to be sure make"
)
_NEGATIVES = word_set("not never don't don’t stop cannot")
_CALLS = word_set("please kindly instead now then simply just henceforth")
_MODALS = word_set("must should shall will may can")
_PASSIVES = word_set("are have need required instructed ordered asked told supposed expected is has")
_OPENERS = word_set(
    "when whenever if for from to in as once after before first finally regardless whatever no instead therefore"
    " please should then thus hence now otherwise"
)
_CONDITIONS = word_set("when whenever if once")
_SUBJECTS = word_set("we they i he she it one")
_QUESTIONING = word_set(
    "what which who whom whose when where why how is are was were do does did can could should will would may must"
    " has have"
)
_LINK = re.compile(
    r"!\[[^\]]*\]\s?\(|\]\(\s*(?:https?:|javascript:|data:)[^)\s]*[?&{$]|https?://\S*[?&/=](?:\w+=)?(?:\{|%7b|\$\{|\[)"
    r"|https?://[^\s\"')]*[?&]\w*=(?=[\s\"')]|$)|<\s*(?:img|iframe|script|form|object|embed|meta|svg)\b[^>]*[=>]"
    r"|\b(?:fetch|window\.open|requests\.get|XMLHttpRequest)\s?\(",
    re.IGNORECASE,
)
# A question of some length within quotation marks, and what is to be said to it.
_QUOTED = re.compile(
    rf"(?<!\w)[\"“”„«‘'] ?(?:\w+ ){{0,2}}(?:{'|'.join(sorted(_QUESTIONING))})\b[^\"“”«»?]{{8,300}}\?", re.IGNORECASE
)
_SAID = re.compile(
    r"\b(?:answer|reply|respond|response|say|tell|state|give|write|print|output|report|name|accept)\b", re.IGNORECASE
)
_LOWER = re.compile(r"(?<![\w.])[^\W\d_A-Z][^\W\d_]+\b(?!\.\w)")
FOREIGN_WORDS, ENGLISH_SHARE = 5, 0.2  # lower-case words from which on English shows by its function words
_ANNOUNCES = re.compile(r":\W*$|\bfollowing\W*(?:\w+\W*)?$", re.IGNORECASE)


def instruction(sentence: str) -> str:
    """The kind of instruction that a sentence is, such as `override` or `link`; empty where it is none.

    Args:
        sentence: as the document has it, hidden characters included (they often are the point).
    """
    if hidden(sentence) >= max(HIDDEN, HIDDEN_SHARE * len(sentence)):
        return "hidden"
    if len(sentence) > LONGEST:
        return "endless"
    shown = without_hidden(sentence)
    if marks(sentence) or (shown != sentence and marks(shown)):
        return "mark"
    text = " ".join(plain(sentence).split())
    return _said(text) or _linked(text) or _disguised(text)


def is_instruction(sentence: str) -> bool:
    """Whether a sentence orders a reader or model to do something, or hides what it says."""
    return bool(instruction(sentence))


def repeats(sentence: str, question: str) -> bool:
    """Whether a sentence holds the question itself, as no answer does but a text that was written to be found.

    The question must be one by its first word; a list of key words may well stand in an answer.
    """
    asked = _WORD.findall(plain(question).lower())
    least = max(LEAST_REPEATED, -(-int(REPEATED * 100) * len(asked) // 100))
    if len(asked) < least or asked[0] not in _QUESTIONING:
        return False
    beginning = " ".join(asked[:least])
    return f" {beginning} " in f" {' '.join(_WORD.findall(plain(sentence).lower()))} "


def quotable(sentences: Sequence[str], question: str = "") -> Flags:
    """Which sentences of one passage, in their order, may be quoted in answer to a question; bool [n_sentences].

    Not to be quoted are instructions, sentences that hold an imitated border, sentences that repeat the question, and
    the sentence that one of these announces (`Reply with the following:`) or that goes on with it.
    """
    allowed = np.ones(len(sentences), dtype=np.bool_)
    announced = False
    for row, sentence in enumerate(sentences):
        barred = has_border(sentence) or is_instruction(sentence) or repeats(sentence, question)
        goes_on = row > 0 and not allowed[row - 1] and not _begins(sentence)
        allowed[row] = not (barred or announced or goes_on)
        announced = barred and _ANNOUNCES.search(sentence) is not None
    return allowed


def _begins(sentence: str) -> bool:
    """Whether a sentence begins like one: splitting at a quoted question mark leaves one that does not."""
    first = sentence.lstrip(" ([\"“‘«„'")[:1]
    return first.isdigit() or (first.isalpha() and not first.islower())


def _said(text: str) -> str:
    """The kind of the first phrase that instructs, or of the first imperative about answering."""
    tokens = list(_TOKEN.finditer(text))
    words = [token[0].lower() for token in tokens]
    return _phrased(text, words) or _ordered(text, tokens, words) or _quizzes(text)


def _phrased(text: str, words: Sequence[str]) -> str:
    by_cue = _phrases_by_cue()
    rows = sorted({row for word in words if word in by_cue for row in by_cue[word]})
    kind = next((PHRASES[row].kind for row in rows if PHRASES[row].pattern.search(text)), "")
    return kind or ("foreign" if not text.isascii() and IDEOGRAPHIC.search(text) else "")


def _ordered(text: str, tokens: Sequence[re.Match[str]], words: Sequence[str]) -> str:
    by_verb = _orders_by_verb()
    for at, word in enumerate(words):
        if word in by_verb and (mood := _mood(words, at, tokens[at][0].istitle())):
            end = tokens[at].end()
            for order in by_verb[word]:
                if order.negated <= (mood == "negative") and order.follows.search(text[end : end + order.within]):
                    return order.kind
    return ""


def _mood(words: Sequence[str], at: int, capital: bool) -> str:
    """Whether a verb stands as an order: `positive`, `negative` (`do not`), or empty for neither.

    A `capital` within a sentence may begin one, behind a heading.
    """
    before = at - 1
    while before >= 0 and words[before] in _ADVERBS:
        before -= 1
    between = words[before + 1 : at]
    if not capital and not _opens(words, before, between):
        return ""
    return "negative" if _NEGATIVES.intersection(between) else "positive"


def _opens(words: Sequence[str], before: int, between: Sequence[str]) -> bool:
    """Whether an imperative may follow the word `before`, -1 for the beginning, with the adverbs `between`."""
    if before < 0:
        return True
    word = words[before]
    if word in _MODALS or (word in _PASSIVES and "to" in between):
        return bool({"you", *MACHINES}.intersection(words[max(0, before - 2) : before]))
    if "to" in between:
        return False
    if word == ",":
        opened = (words[0] in _OPENERS or _CONDITIONS.intersection(words[:before])) and not _SUBJECTS.intersection(
            words[:before]
        )
        return bool(opened) or bool(_CALLS.intersection(between))
    if not word[0].isalnum():
        return word not in ")]}%/&+=-"
    return bool({"please", "kindly"}.intersection(between)) or (word == "stop" and before == 0)


def _quizzes(text: str) -> str:
    """Whether a text quotes a question and says what to answer, or quotes an English one in another language.

    A paper may quote a question to talk about it; it then seldom uses the verbs for answering as they stand.
    """
    question = _QUOTED.search(text) if "?" in text else None
    if question is None:
        return ""
    around = f"{text[: question.start()]} {text[question.end() :]}"
    if _SAID.search(around):
        return "reply"
    words = _LOWER.findall(around)
    english = sum(word in FUNCTION for word in words)
    return "foreign" if len(words) >= FOREIGN_WORDS and english < ENGLISH_SHARE * len(words) else ""


def _linked(text: str) -> str:
    """Whether there is a link that could carry something out: an embedded image, or a query to be filled in."""
    worth = "](" in text or "<" in text or "://" in text or "(" in text
    return "link" if worth and _LINK.search(text) else ""


def _disguised(text: str) -> str:
    """What a text orders in a spelling that hides it."""
    if spells_order(text):
        return "spelled"
    if runs_backwards(text):
        return "reversed"
    return next((kind for other in readings(text) if (kind := _said(other))), "")


@lru_cache(maxsize=1)
def _orders_by_verb() -> Mapping[str, tuple[Order, ...]]:
    verbs = sorted({verb for order in ORDERS for verb in order.verbs})
    return {verb: tuple(order for order in ORDERS if verb in order.verbs) for verb in verbs}


@lru_cache(maxsize=1)
def _phrases_by_cue() -> Mapping[str, tuple[int, ...]]:
    cues = sorted({cue for phrase in PHRASES for cue in phrase.cues})
    return {cue: tuple(row for row, phrase in enumerate(PHRASES) if cue in phrase.cues) for cue in cues}
