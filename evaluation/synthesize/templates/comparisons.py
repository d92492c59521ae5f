"""How two things that stand in one sentence compare."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evaluation.synthesize.grammar import do, subject
from evaluation.synthesize.sentences import Sentence
from evaluation.synthesize.templates.fact import Fact, Material, Span, opening

OTHER = r"(?:(?P<with>a|an|the) )?(?P<other>(?:[\w-]+ ){0,3}?[\w-]+)"
SAYS = r"(?:is|are|was|were|has|have|does|do|can|only|uses?|gives?|keeps?|measures?|needs?|takes?|\w{3,}s)"
MORE = r"(?:more|less|fewer|better|worse|faster|slower|higher|lower|larger|smaller|[a-z]{3,}er)"
THAN = opening(
    r" (?:is|are|was|were|performs?|performed|has|have|had|gives?|yields?|needs?|takes?|achieves?|works?|uses?|"
    rf"scores?|runs?)\b.{{0,50}}?\b{MORE}\b.{{0,40}}? than {OTHER}"
    r"(?=[.,;]| (?:on|in|for|with|because|when|by|since|at|does|do|is|are|but|and)\b)"
)
DIFFERS = opening(rf" (?:differs?|is different|are different) from {OTHER}(?= (?:in|by|because|since|only)\b)")
BEATS = opening(
    rf" (?:\w+ly )?(?:outperforms?|beats?|surpass(?:es)?|improves? (?:on|over|upon)|exceeds?) {OTHER}"
    r"(?=[.,;]| (?:on|in|for|with|because|when|by|since|at|but|and)\b)"
)
CONTRAST = re.compile(rf", ?(?:whereas|while|but) {OTHER} {SAYS} ")
UNLIKE = re.compile(rf"Unlike {OTHER}, (?:(?P<article>a|an|the) )?(?P<noun>(?:[\w-]+ ){{0,3}}?[\w-]+) {SAYS} ")
BETWEEN = re.compile(
    rf"The (?:main |only |key )?difference between (?:(?P<article>a|an|the) )?(?P<noun>(?:[\w-]+ ){{0,3}}?[\w-]+) and"
    rf" {OTHER} (?:is|lies) "
)
VERBAL = opening(rf" {SAYS} .+")
FORMS = (
    (THAN, "How {do} {one} compare with {other}?"),
    (BEATS, "How {do} {one} compare with {other}?"),
    (DIFFERS, "How {do} {one} differ from {other}?"),
    (UNLIKE, "How {do} {one} differ from {other}?"),
    (BETWEEN, "What is the difference between {one} and {other}?"),
)


def comparison(sentence: Sentence, material: Material) -> Iterator[Fact]:
    """`X is faster than Y`: how does X compare with Y? `X ..., whereas Y ...`: how do X and Y differ?"""
    for pattern, form in FORMS:
        found = pattern.match(sentence.text)
        if found is not None:
            yield from _asked(sentence, material, found, found, form)
            return
    contrast, start = CONTRAST.search(sentence.text), VERBAL.match(sentence.text)
    if contrast is not None and start is not None and start.end("noun") < contrast.start():
        yield from _asked(sentence, material, start, contrast, "How do {one} and {other} differ?")


def _asked(
    sentence: Sentence, material: Material, first: re.Match[str], second: re.Match[str], form: str
) -> Iterator[Fact]:
    one = subject(sentence, first.span("noun"), first["article"] or "", material.prose)
    other = subject(sentence, second.span("other"), second["with"] or "", material.prose)
    if one is None or other is None or set(one.entities) & set(other.entities):
        return
    query = form.format(do=do(one.plural), one=one.asked, other=other.asked)
    pair = (one.entities[0], other.entities[0])
    entities = (*one.entities, *other.entities)
    answer = sentence.text.strip(" .")
    yield Fact(query, "single_hop", "comparison", answer, entities, (pair,), (Span.of(sentence),), one)
