"""What something does, needs, is used for, leads to, and when and why."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evaluation.synthesize.grammar import ACTIONS, PHRASES, Subject, be, do, subject
from evaluation.synthesize.sentences import Sentence
from evaluation.synthesize.templates.fact import Fact, Material, Span, clause, opening, subject_of

THIRD = {**ACTIONS, **PHRASES}  # third person to base form
BASES = frozenset(base for base in THIRD.values() if not base.startswith("be "))
VERB = "|".join(sorted({*THIRD, *BASES, "are based on"}, key=lambda verb: (-len(verb), verb)))
ADVERB = r"(?:(?:also|only|always|usually|often|typically|then|thus|therefore|\w+ly) )?"
ACTS = opening(rf" {ADVERB}(?P<verb>{VERB}) (?P<what>.+)")
EMPTY = re.compile(
    r"(?:it|this|that it|them|these|those|us|one|so|as|to be|in|on|at|by|from|of|our|its|their|and|or|for|among|"
    r"continues|"
    r"takes place)\b"
)
NOUN = r"(?:(?P<with>a|an|the) )?(?P<object>(?:[\w-]+ ){0,3}?[\w-]+)"
OUTSIDE = re.compile(r"\b(?:it|them|this|these|those|they|such|one|here|above)\b")  # points out of the sentence
# After these, which are nouns too, an object must begin as one: `BiTAM models facilitate pairing`.
NOUNS_TOO = {
    "maps", "searches", "counts", "limits", "controls", "bounds", "stores", "needs", "models", "scores", "cuts",
    "labels", "tags", "drops", "moves",
}  # fmt: skip
OBJECT = re.compile(r"(?:a|an|the|all|both|each|every|its|that|how|whether|no|only|which|what|one|two|three|any)\b")
PURPOSE = opening(
    r" (?:is|are|can be|may be) (?:\w+ly )?(?:used|needed|applied|employed|designed|introduced|intended)"
    r" (?P<what>(?:to|for|as) .+)"
)
USE = opening(rf" (?:uses?|employs?|applies|exploits?) {NOUN} (?P<what>(?:to (?!the |a |an )[a-z]+|for) .+)")
CHANGES = {
    "reduces": "reduce", "increases": "increase", "improves": "improve", "causes": "cause", "affects": "affect",
    "lowers": "lower", "raises": "raise", "influences": "influence", "changes": "change",
}  # fmt: skip
EFFECT = opening(
    rf" {ADVERB}(?P<verb>{'|'.join([*CHANGES, *CHANGES.values()])}) {NOUN}"
    r"(?=[,.;]| (?:by|when|because|if|for|in|of|on|at|and|to|from|since|with|only)\b)"
)
BECAUSE = opening(
    r" (?P<be>is|are|can|cannot|must|should|may|does not|do not) (?P<what>[^,;:]{6,70}?),? because (?P<why>.+)"
)
HAPPENS = {
    "occurs": "occur", "happens": "happen", "arises": "arise", "fails": "fail", "vanishes": "vanish",
    "disappears": "disappear", "matters": "matter", "helps": "help", "hurts": "hurt", "pays": "pay", "holds": "hold",
    "applies": "apply", "wins": "win", "loses": "lose", "works": "work", "breaks": "break",
}  # fmt: skip
WHEN = opening(
    rf" {ADVERB}(?P<verb>{'|'.join([*HAPPENS, *HAPPENS.values()])}) (?P<how>well |best |poorly |badly )?"
    r"(?P<what>(?:only )?(?:when|where|if|whenever|as soon as|as long as) .+)"
)
WORKS = (
    "walks|reorders|reads|shifts|maps|lets|decides|drops|adds|resamples|flips|merges|splits|joins|turns|moves|draws|"
    "sorts|compares|divides|multiplies|subtracts|averages|interpolates|generates|builds|constructs|takes|treats|"
    "asserts|bounds|cuts|breaks|collects|labels|tags|parses|aligns|translates|searches|creates|works|operates|"
    "iterates|"
    "traverses|walks through"
)
DOES = opening(rf" {ADVERB}(?P<verb>{WORKS}) (?P<what>.+)")
SIDES = (
    "advantage|disadvantage|drawback|benefit|purpose|role|cost|aim|weakness|strength|limitation|shortcoming|price|"
    "danger|risk|virtue|task|job|point|remedy|effect|cause|consequence"
)
SIDE = re.compile(
    r"(?:The|One|A|An|Another) (?:main |major |obvious |important |chief |first |only |key |further )?"
    rf"(?P<side>{SIDES}) (?P<of>of|for|with) (?:(?P<article>a|an|the) )?(?P<noun>(?:[\w-]+ ){{0,3}}?[\w-]+)"
    r" (?:is|was|are|lies in|consists in) (?P<what>.+)"
)


def action(sentence: Sentence, material: Material) -> Iterator[Fact]:
    """`The rule forbids padded lists`: what does the rule forbid?"""
    found = ACTS.match(sentence.text)
    about = found and subject_of(found, sentence, material)
    if not found or not about or EMPTY.match(found["what"]) or not _is_verb(found):
        return
    verb, what = found["verb"], clause(found["what"])
    if len(what.split()) < 3 or about.plural == (verb in THIRD and verb != "are based on"):
        return
    base = THIRD.get(verb, verb)
    based = base.partition("be ")[2] or verb.partition("are ")[2]
    query = (
        f"What {be(about.plural)} {about.asked} {based}?"
        if based
        else f"What {do(about.plural)} {about.asked} {base}?"
    )
    yield _about(query, "action", what, about, sentence)


def working(sentence: Sentence, material: Material) -> Iterator[Fact]:
    """`Deduplication walks the ranking and drops ...`: what does deduplication do?"""
    found = DOES.match(sentence.text)
    about = found and subject_of(found, sentence, material)
    if found and about and not about.plural and len(found["what"].split()) >= 6 and _is_verb(found):
        answer = clause(sentence.text[found.start("verb") :])
        yield _about(f"What does {about.asked} do?", "working", answer, about, sentence)


def purpose(sentence: Sentence, material: Material) -> Iterator[Fact]:
    """`Gibbs sampling is used to ...`: what is Gibbs sampling used for?"""
    found = PURPOSE.match(sentence.text)
    about = found and subject_of(found, sentence, material)
    if found and about and len(clause(found["what"]).split()) >= 3:
        query = f"What {be(about.plural)} {about.asked} used for?"
        yield _about(query, "purpose", clause(found["what"]), about, sentence)


def use(sentence: Sentence, material: Material) -> Iterator[Fact]:
    """`BABAR uses a recogniser to identify names`: what does BABAR use a recogniser for?"""
    found = USE.match(sentence.text)
    about = found and subject_of(found, sentence, material)
    other = found and subject(sentence, found.span("object"), found["with"] or "", material.prose)
    if found and about and other and len(clause(found["what"]).split()) >= 3:
        query = f"What {do(about.plural)} {about.asked} use {other.asked} for?"
        yield _about(query, "use", clause(found["what"]), about, sentence, other.entities)


def effect(sentence: Sentence, material: Material) -> Iterator[Fact]:
    """`A larger k reduces the edge cliff`: what effect does a larger k have on the edge cliff?"""
    found = EFFECT.match(sentence.text)
    about = found and subject_of(found, sentence, material)
    other = found and subject(sentence, found.span("object"), found["with"] or "", material.prose)
    if found and about and other and about.plural == (found["verb"] not in CHANGES):
        query = f"What effect {do(about.plural)} {about.asked} have on {other.asked}?"
        yield _about(query, "effect", clause(sentence.text[found.start("verb") :]), about, sentence, other.entities)


def reason(sentence: Sentence, material: Material) -> Iterator[Fact]:
    """`The cosine is no similarity because ...`: why is the cosine no similarity?"""
    found = BECAUSE.match(sentence.text)
    about = found and subject_of(found, sentence, material)
    if not found or not about or len(found["why"].split()) < 4 or OUTSIDE.search(found["what"]):
        return
    verb, _, no = found["be"].replace("cannot", "can not").partition(" ")
    query = f"Why {verb} {about.asked} {no} {found['what']}?"
    yield _about(" ".join(query.split()), "reason", clause(found["why"]), about, sentence)


def condition(sentence: Sentence, material: Material) -> Iterator[Fact]:
    """`The ladder fails when ...`: when does the ladder fail?"""
    found = WHEN.match(sentence.text)
    about = found and subject_of(found, sentence, material)
    if found and about and about.plural == (found["verb"] not in HAPPENS):
        how = f" {found['how'].strip()}" if found["how"] else ""
        query = f"When {do(about.plural)} {about.asked} {HAPPENS.get(found['verb'], found['verb'])}{how}?"
        yield _about(query, "condition", clause(found["what"]), about, sentence)


def side(sentence: Sentence, material: Material) -> Iterator[Fact]:
    """`The drawback of pooling is ...`: what is the drawback of pooling?"""
    found = SIDE.match(sentence.text)
    about = found and subject(sentence, found.span("noun"), found["article"] or "", material.prose)
    if found and about and len(found["what"].split()) >= 4:
        article = "an" if found["side"][0] in "aeiou" else "a"
        lead = "the" if sentence.text.startswith("The") else article
        query = f"What is {lead} {found['side']} {found['of']} {about.asked}?"
        yield _about(query, "side", clause(found["what"]), about, sentence)


def _is_verb(found: re.Match[str]) -> bool:
    """Whether a verb that may be a noun has an object behind it."""
    return found["verb"] not in NOUNS_TOO or OBJECT.match(found["what"]) is not None


def _about(
    query: str, template: str, answer: str, about: Subject, sentence: Sentence, objects: tuple[str, ...] = ()
) -> Fact:
    """A question about a subject, related to what it names, else to the next entity of the sentence."""
    others = (*objects, *(label for label in sentence.labels if label not in (*about.entities, *objects)))
    pairs = ((about.entities[0], others[0]),) if others and others[0] != about.entities[0] else ()
    entities = tuple(dict.fromkeys([*about.entities, *objects]))
    return Fact(query, "single_hop", template, answer, entities, pairs, (Span.of(sentence),), about, others)
