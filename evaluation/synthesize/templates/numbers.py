"""How many and how much: a number with its unit, and what it belongs to."""

from __future__ import annotations

from collections.abc import Iterator

from evaluation.synthesize.grammar import Subject, be, do
from evaluation.synthesize.sentences import Sentence
from evaluation.synthesize.templates.fact import Fact, Material, Span, opening, subject_of

NUMBER = (
    r"(?:(?:\d[\d,.]*\d|\d)(?![.,]?\d)|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|"
    r"fifty|a hundred)"
)
ABOUT = (
    r"(?:about |only |exactly |around |approximately |nearly |over |more than |at least |up to |a total of |roughly |"
    r"some )?"
)
HOLDS = {
    "contains": "contain", "contained": "contain", "comprises": "comprise", "comprised": "comprise",
    "consists of": "consist of", "consisted of": "consist of", "has": "have", "had": "have", "includes": "include",
    "included": "include", "covers": "cover", "holds": "hold", "uses": "use", "used": "use", "requires": "require",
    "needs": "need", "takes": "take", "produces": "produce", "keeps": "keep", "distinguishes": "distinguish",
    "loses": "lose", "removes": "remove",
}  # fmt: skip
HOLD = "|".join(dict.fromkeys([*HOLDS, *HOLDS.values()]))
UNIT_END = r"(?=[.,;)]| (?:of|in|for|from|with|and|that|which|to|on|at|as|per|whose|each|or|when|if)\b| \()"
COUNT = opening(
    rf" (?:currently |now |also )?(?P<verb>{HOLD}) (?P<count>{ABOUT}{NUMBER}(?: million| thousand)?)"
    rf" (?P<unit>(?:[a-z][\w-]+ ){{0,3}}?[a-z][\w-]*[a-z]s){UNIT_END}"
)
GETS = (
    r" (?:\w+ly )?(?:achieves?|achieved|reaches|reached|obtains?|obtained|scores?|scored|yields?|yielded|gives|gave|"
    r"attains?|attained|has|have|had|shows?|showed|results? in) (?:a |an |the )?"
)
SCORE = (
    "accuracy|precision|recall|F-?score|F-?measure|F1|BLEU|score|error rate|perplexity|agreement|coverage|"
    "correlation|"
    "error|kappa|probability|reduction|improvement|gain|speed"
)
WHERE = (
    r"(?P<where> (?:on|for|in|at|with|over) [^,;:()]{3,50}?)?(?=[.,;(]|$| (?:and|which|while|whereas|but|when|if)\b)"
)
REACHES = opening(rf"{GETS}(?P<value>{ABOUT}{NUMBER} ?%?) (?P<what>(?:[a-z-]+ ){{0,2}}(?:{SCORE})){WHERE}")
OF = opening(rf"{GETS}(?P<what>(?:[a-z-]+ ){{0,3}}[a-z-]+) of (?P<value>{ABOUT}{NUMBER} ?(?:%|percent\b)?){WHERE}")
AMOUNT = opening(
    rf" (?:is|are|was|were) (?P<value>{ABOUT}{NUMBER} ?(?:%|percent|[a-z]+s)?)(?=[.;]|, [a-z]| (?:for|on|in|at)\b)"
)
UNIT = r"(?!(?:in|for|on|at|and|by|of|with|as|when|if|because|which|that|to|or|but|so|since|during)\b)[a-z]+"
SET = opening(
    rf" (?:is|are|was|were) (?:set|fixed|limited|restricted) (?:to|at) (?P<value>{ABOUT}{NUMBER}(?: ?%| {UNIT})?)"
)


def count(sentence: Sentence, material: Material) -> Iterator[Fact]:
    """`The corpus contains 1,200 dialogues`: how many dialogues does the corpus contain?"""
    found = COUNT.match(sentence.text)
    about = found and subject_of(found, sentence, material)
    if not found or not about or found["unit"].split()[-1] in ("times", "ways", "reasons"):
        return
    verb = HOLDS.get(found["verb"], found["verb"])
    query = f"How many {found['unit']} {do(about.plural)} {about.asked} {verb}?"
    yield _numeric(query, "count", f"{found['count']} {found['unit']}", about, sentence)


def measured(sentence: Sentence, material: Material) -> Iterator[Fact]:
    """`The tagger achieves 86.3 % accuracy on X`: what accuracy is reported for the tagger on X?"""
    found = REACHES.match(sentence.text) or OF.match(sentence.text)
    about = found and subject_of(found, sentence, material)
    if found and about:
        query = f"What {found['what']} is reported for {about.asked}{found['where'] or ''}?"
        yield _numeric(query, "measured", found["value"], about, sentence)


def setting(sentence: Sentence, material: Material) -> Iterator[Fact]:
    """`The beam width is set to 10`: what is the beam width set to?"""
    found = SET.match(sentence.text)
    about = found and subject_of(found, sentence, material)
    if found and about:
        yield _numeric(f"What {be(about.plural)} {about.asked} set to?", "setting", found["value"], about, sentence)


def amount(sentence: Sentence, material: Material) -> Iterator[Fact]:
    """`The mean overlap is 0.3`: how large is the mean overlap?"""
    found = AMOUNT.match(sentence.text)
    about = found and subject_of(found, sentence, material)
    if found and about:
        yield _numeric(f"How large {be(about.plural)} {about.asked}?", "amount", found["value"], about, sentence)


def _numeric(query: str, template: str, answer: str, about: Subject, sentence: Sentence) -> Fact:
    return Fact(query, "numeric", template, answer.strip(), about.entities, (), (Span.of(sentence),), about)
