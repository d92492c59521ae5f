"""Questions that need two papers: two things defined apart, one that leads to another, one of which both speak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from evaluation.synthesize.sentences import Prose
from evaluation.synthesize.templates.fact import Fact, Span
from ingestion.names import singular

TELLS = ("definition", "apposition", "naming")  # what says what something is
STATES = (
    "action",
    "purpose",
    "use",
    "effect",
    "working",
    "definition",
    "apposition",
    "naming",
    "comparison",
    "proposed",
)
SAID = tuple({*STATES, "acronym"} - {"comparison"})  # what can be asked for with `it`: one thing is spoken of
RARE = 0.2  # largest share of documents that hold an entity over which two papers are joined
FROM_ONE = 2  # joined questions from one fact


def joined(facts: Sequence[Fact], prose: Prose) -> Iterator[Fact]:
    """Questions over two facts of two documents, each fact used a few times at most."""
    used: dict[str, int] = {}
    for fact, first, second in [*_differences(facts, prose), *_bridges(facts, prose), *_shared(facts, prose)]:
        if max(used.get(first.query, 0), used.get(second.query, 0)) < FROM_ONE:
            used |= {one.query: used.get(one.query, 0) + 1 for one in (first, second)}
            yield fact


def _differences(facts: Sequence[Fact], prose: Prose) -> Iterator[tuple[Fact, Fact, Fact]]:
    """Two things of one sort, or that stand in one sentence somewhere, each defined in a paper of its own."""
    defined = _first_of_each([fact for fact in facts if fact.template in TELLS and fact.about])
    node = {label: row for row, label in enumerate(prose.graph.labels)}
    adjacency = prose.graph.adjacency
    for one, other in combinations(defined, 2):
        if not one.about or not other.about or one.spans[0].doc == other.spans[0].doc:
            continue
        ends = [node.get(fact.entities[0]) for fact in (one, other)]
        together = None not in ends and ends[0] != ends[1] and adjacency[ends[0], ends[1]] > 0
        if one.about.noun != other.about.noun and (_head(one.about.noun) == _head(other.about.noun) or together):
            query = f"What is the difference between {one.about.asked} and {other.about.asked}?"
            yield _both(query, "difference", one, other), one, other


def _bridges(facts: Sequence[Fact], prose: Prose) -> Iterator[tuple[Fact, Fact, Fact]]:
    """A paper says something of X by means of Y, another says what Y is or does."""
    documents = dict(zip(prose.graph.labels, prose.graph.nodes["documents"].to_pylist(), strict=True))
    limit = max(3.0, RARE * len(prose.library.texts))
    told = _first_of_each([fact for fact in facts if fact.template in STATES])
    by_subject: dict[str, list[Fact]] = {}
    for fact in told:
        by_subject.setdefault(fact.entities[0], []).append(fact)
    for one in told:
        for bridge in one.near:
            for other in by_subject.get(bridge, []):
                apart = one.spans[0].doc != other.spans[0].doc and one.entities[0] != bridge
                if apart and documents.get(bridge, 0) <= limit:
                    query = f"{one.query.rstrip('?')}, and {other.query[:1].lower()}{other.query[1:]}"
                    yield _both(query, "bridge", one, other), one, other


def _shared(facts: Sequence[Fact], prose: Prose) -> Iterator[tuple[Fact, Fact, Fact]]:
    """Two papers say different things of one entity: the second is asked for with a pronoun."""
    told = _first_of_each([fact for fact in facts if fact.template in SAID])
    by_entity: dict[str, list[Fact]] = {}
    for fact in told:
        by_entity.setdefault(fact.entities[0], []).append(fact)
    for _, own in sorted(by_entity.items()):
        for one, other in combinations(own, 2):
            first, second = (one, other) if other.about else (other, one)
            if second.about is None or first.spans[0].doc == second.spans[0].doc or first.template == second.template:
                continue
            asked, plural = second.about.asked, second.about.plural
            rest = second.query.replace(f" {asked} ", " they " if plural else " it ", 1)
            if rest == second.query:
                rest = second.query.replace(f" {asked}?", " they?" if plural else " it?", 1)
            if rest != second.query and asked.casefold() not in rest.casefold():
                query = f"{first.query.rstrip('?')}, and {rest[:1].lower()}{rest[1:]}"
                yield _both(query, "shared", first, second), first, second


def _both(query: str, template: str, one: Fact, other: Fact) -> Fact:
    """A question that both facts answer, each a part of the answer."""
    spans = (*_parts(one, "a"), *_parts(other, "b"))
    entities = tuple(dict.fromkeys([*one.entities, *other.entities]))
    pairs = ((one.entities[0], other.entities[0]),)
    return Fact(query, "multi_hop", template, f"{one.answer}; {other.answer}", entities, pairs, spans)


def _parts(fact: Fact, part: str) -> tuple[Span, ...]:
    return tuple(replace(span, part=part) for span in fact.spans)


def _first_of_each(facts: Sequence[Fact]) -> list[Fact]:
    """The facts without those that ask what an earlier one asked, in the order of their questions."""
    return [first for _, first in sorted({fact.query: fact for fact in reversed(facts)}.items())]


def _head(noun: str) -> str:
    """The last word of a noun of several words, in the singular; the noun itself where it is one word."""
    first, _, last = noun.rpartition(" ")
    return singular(last.casefold()) if first else noun
