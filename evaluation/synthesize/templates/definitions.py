"""What something is, what it is called, what its letters stand for, and who came up with it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evaluation.synthesize.grammar import NO_NOUN, Subject, be, do, is_plural, subject
from evaluation.synthesize.sentences import BROKEN, Sentence
from evaluation.synthesize.templates.fact import Fact, Material, Span, clause, opening, subject_of
from ingestion.acronyms import BEFORE, IN_BRACKETS, expansion
from ingestion.lexicon import FUNCTION, VERBS

# What stands behind `is a` where a sentence judges instead of defining.
NO_DEFINITION = re.compile(
    r"(?:very |more |most |rather |quite |particularly |relatively |still |fairly )?(?:important|good|better|best|"
    r"bad|main|major|key|natural|interesting|useful|common|promising|difficult|hard|easy|simple|straightforward|"
    r"usual|"
    r"challenging|critical|crucial|clear|great|strong|popular|necessary|essential|well|small|large|big|only|same|"
    r"first|second|third|last|next|following|problem|reason|result|matter|case|question|example|winner|fact|goal|"
    r"similar|different|special|mixture of|lot|part|number of cases|consequence|instance|instantiation|issue|"
    r"subject|topic|way|one|rule and not|vast|improvement|clever|logical|reasonable|inherent|argument)\b"
)
RELATIVE = re.compile(r"\b(?:of|that|which|between|from|to|whose|where)\b")
IS = opening(
    r" (?:is|are) (?:defined as |simply |essentially |basically )?(?P<what>(?:a|an|the|any|those|one of) .+)"
)
CALLED = re.compile(
    r"(?:(?:which|that) )?(?:[Ww]e (?:will )?(?:call|term|refer to)|(?:is|are) (?:often |usually |commonly |also )?"
    r"(?:called|termed|known as|referred to as))\s+(?P<this>this |it |them |these )?(?:as )?(?P<article>an? |the )?"
    r"[“\"']?(?P<name>[A-Za-z][\w-]*(?: [\w-]+){0,3}?)[”\"']?(?=[.,:;]|$| \()"
)
NAMED = r"(?:(?P<article>a|an|the|A|An|The) )?(?P<noun>(?:[\w-]+ ){0,3}?[\w-]+)(?P<short> \([A-Z][\w-]{1,9}\))?"
APPOSED = re.compile(
    rf"(?<![\w-]){NAMED}, (?P<what>(?:a|an|the|one of the) (?:[\w-]+ ){{1,4}}?"
    r"(?:that|which|of|for|from|by|in which) [^,;:]{15,})"
    r"(?=[,;:.])"
)
ADVERBIAL = re.compile(r"(?:With|In|For|On|At|By|Under|As|Of|After|Before|Like|Unlike|From|To|When|If|While)\b[^,]*")
GOES_ON = re.compile(r", (?!and\b|or\b|but\b|the\b|an?\b)[a-z]")  # the sentence, behind an apposition
COLON = re.compile(rf"{NAMED}: (?P<what>[a-z].{{40,}})")
WHICH = re.compile(
    r"(?:[Ww]e|[Ii]t|[Pp]aper|[Rr]eport) (?:describes?|introduces?|presents?|proposes?|specify|specifies|calls?|"
    rf"defines?) {NAMED}, (?:which|that) (?P<what>(?:[a-z]+s) .{{20,}})"
)
OUTSIDE = re.compile(r"\b(?:this|it|these|they|them|those|such)\b", re.IGNORECASE)
FEW = 6  # words; a shorter stretch explains nothing
PEOPLE = r"(?P<who>[A-Z][a-zé]+(?:-[A-Z][a-z]+)?(?:(?:,| and|, and) [A-Z][a-zé]+| et al\.?)*)"
CITED = r"(?: ?(?:\[\d+\]|\((?:19|20)\d\d[a-z]?\)))?"
BY = opening(
    r" (?:was|were|is|has been) (?:first |originally )?"
    rf"(?P<did>introduced|proposed|developed|described|invented|suggested) by {PEOPLE}{CITED}(?=[ .,;])"
)
THEY = re.compile(
    rf"{PEOPLE}{CITED} (?:first |originally )?(?P<did>introduced?|proposed?|developed|invented|suggested) "
    r"(?:(?P<article>a|an|the) )?(?P<noun>(?:[\w-]+ ){0,4}?[\w-]+)"
    r"(?=[.,;]| (?:which|that|for|to|in|as|and|by|with|where|based)\b| \()"
)


def definition(sentence: Sentence, material: Material) -> Iterator[Fact]:
    """`A collocation is a combination of words that ...`: what is a collocation?"""
    found = IS.match(sentence.text)
    about = found and subject_of(found, sentence, material)
    if not found or not about:
        return
    what = clause(found["what"])
    lead, _, rest = what.partition(" ")
    if len(what.split()) < 4 or NO_DEFINITION.match(rest) or (lead == "the" and not RELATIVE.search(rest)):
        return
    query = f"What {be(about.plural)} {about.asked}?"
    near = tuple(label for label in sentence.labels if label not in about.entities)
    pairs = tuple((about.entities[0], other) for other in near[:1])
    yield Fact(query, "jargon", "definition", what, about.entities, pairs, (Span.of(sentence),), about, near)


def apposition(sentence: Sentence, material: Material) -> Iterator[Fact]:
    """`the Query-Form Gate (QFG), a rule that reads ...`, `The trap: if all scores ...`: what is the trap?"""
    for found in _appositions(sentence.text):
        about = _named(found, sentence, material)
        if about is None or NO_DEFINITION.match(found["what"].partition(" ")[2]):
            continue
        query = f"What {be(about.plural)} {about.asked}?"
        yield Fact(
            query, "jargon", "apposition", clause(found["what"]), about.entities, (), (Span.of(sentence),), about
        )
        return


def _appositions(text: str) -> Iterator[re.Match[str]]:
    """Appositions: behind a name that is introduced with its acronym, or behind the subject that begins the sentence.

    Elsewhere `X, the Y that ...` mostly is a list, or a main clause behind its subordinate one.
    """
    if (colon := COLON.match(text)) is not None:
        yield colon
    for word in re.finditer(r"(?<![\w-])\w", text):
        found = APPOSED.match(text, word.start())
        if found is None or ADVERBIAL.fullmatch(text[: found.start()]):
            continue
        if found["short"] or (found.start() == 0 and GOES_ON.match(text, found.end())):
            yield found


def proposed(sentence: Sentence, material: Material) -> Iterator[Fact]:
    """`We describe windowed deduplication, which walks ...`: what does windowed deduplication do?"""
    found = WHICH.search(sentence.text)
    about = found and _named(found, sentence, material)
    if found and about:
        query = f"What {do(about.plural)} {about.asked} do?"
        yield Fact(
            query, "jargon", "proposed", clause(found["what"]), about.entities, (), (Span.of(sentence),), about
        )


def _named(found: re.Match[str], sentence: Sentence, material: Material) -> Subject | None:
    """The subject of an apposition; it must be a name: with an acronym behind it, or an entity of the graph."""
    about = subject(sentence, found.span("noun"), found["article"] or "", material.prose)
    named = found["short"] or sentence.within(*found.span("noun"))
    return about if about and named and about.noun.split()[0].casefold() not in VERBS else None


def naming(sentence: Sentence, material: Material) -> Iterator[Fact]:
    """`Nodes with no children are called leaves`: what are leaves?"""
    for found in CALLED.finditer(sentence.text):
        name, article = found["name"], (found["article"] or "").strip()
        words = name.casefold().split()
        if (
            not (found["this"] or sentence.text[: found.start()].strip())
            or set(words) & FUNCTION
            or (len(words) == 1 and len(name) < 5)
        ):
            continue
        span, answer = Span.of(sentence), _explained(sentence, found)
        if not answer:
            earlier = material.prose.before(sentence)
            if earlier is None or not _stands_alone(earlier[1]):
                continue
            span, answer = Span(sentence.doc, earlier[0], sentence.end, f"{earlier[1]} {sentence.text}"), earlier[1]
        many = article in ("", "the") and is_plural(name)
        query = f"What {be(many)} {article} {name}?" if article or many else f"What is meant by {name}?"
        labels = sentence.within(*found.span("name")) or (name,)
        yield Fact(" ".join(query.split()), "jargon", "naming", answer.strip(" ,.:"), labels, (), (span,))


def _explained(sentence: Sentence, found: re.Match[str]) -> str:
    """What the sentence itself says of the name; empty where the sentence before it must say it."""
    before, after = sentence.text[: found.start()].strip(" ,"), sentence.text[found.end() :].strip(" ,.:;")
    if found["this"]:
        return after if sentence.text[found.end() : found.end() + 1] in ":;" and len(after.split()) >= FEW else ""
    return "" if OUTSIDE.search(before) or len(before.split()) < FEW - 1 else before


def _stands_alone(text: str) -> bool:
    """Whether a sentence begins as one, is of some length, and points to nothing outside."""
    return text[:1].isupper() and len(text.split()) >= FEW and not (OUTSIDE.search(text) or BROKEN.search(text))


def acronym(sentence: Sentence, material: Material) -> Iterator[Fact]:
    """`the Silent Chunk Rule (SCR)`: what does SCR stand for?"""
    for found in IN_BRACKETS.finditer(sentence.text):
        text = sentence.text[: found.start()]
        before = BEFORE.search(text)
        long = expansion(found[1], before[0].split() if before else [])
        if long is None or not _spells(found[1], long):
            continue
        labels = sentence.within(text.rfind(long), found.end()) or (found[1],)
        query = f"What does {found[1]} stand for?"
        yield Fact(query, "jargon", "acronym", long, labels, (), (Span.of(sentence),))


def _spells(short: str, long: str) -> bool:
    """Whether the content words' initials stand in the acronym, in order: `Task Recall Entities` is no TE."""
    words = [word for word in re.split(r"[\s-]+", long.casefold()) if word and word not in FUNCTION]
    letters = iter(short.casefold())
    return len(words) > 1 and all(word[0] in letters for word in words)


def origin(sentence: Sentence, material: Material) -> Iterator[Fact]:
    """`Fusion was proposed by Fox and Shaw`, `Fox and Shaw proposed fusion`: who proposed fusion?"""
    found = BY.match(sentence.text)
    if found is not None:
        about = subject_of(found, sentence, material)
    else:
        found = THEY.match(sentence.text)
        about = found and subject(sentence, found.span("noun"), found["article"] or "", material.prose)
    if found and about and found["who"].split()[0].strip(",").casefold() not in NO_NOUN:
        did = {"introduce": "introduced", "propose": "proposed"}.get(found["did"], found["did"])
        query = f"Who {did} {about.asked}?"
        yield Fact(query, "single_hop", "origin", found["who"], about.entities, (), (Span.of(sentence),), about)
