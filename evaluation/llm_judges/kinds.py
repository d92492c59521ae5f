"""What a judge can be asked about answers: three kinds, each a rubric, its choices, and the texts that it sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Choice = int | str
Texts = Mapping[str, str | tuple[str, ...] | None]


@dataclass(frozen=True)
class Kind:
    """One kind of judgment.

    `key`: the columns that name an item; `group`: those of them that a rate is told for. `asked` and `rules` are
    what the judge reads; `field` is the key of its verdict. `choices`, worst first, are what it may say: a verdict is
    a row of them, and `names` say it where no order is meant. `swapped` names two texts that are shown in both
    orders; none: there is one order. `positive` says in words what the best choice means.
    """

    name: str
    key: tuple[str, ...]
    group: tuple[str, ...]
    asked: str
    rules: str
    field: str
    choices: tuple[Choice, ...]
    names: tuple[str, ...]
    positive: str
    swapped: tuple[str, ...] = ()

    @property
    def orders(self) -> int:
        """In how many orders an item is shown."""
        return 2 if self.swapped else 1

    @property
    def best(self) -> int:
        """The best verdict; 0 is the worst."""
        return len(self.choices) - 1


@dataclass(frozen=True)
class Item:
    """One thing to be judged: `key` as the kind names it, `cluster` its question's source document, and its texts."""

    key: tuple[str, ...]
    cluster: str
    texts: Texts


CORRECTNESS = Kind(
    name="correctness",
    key=("strategy", "generator", "context", "qid"),
    group=("strategy", "generator", "context"),
    asked="You judge whether an answer to a question is correct, against a reference answer.",
    rules=(
        "Grades:\n"
        "0: wrong. It contradicts the reference, or states nothing of what the reference states.\n"
        "1: partly correct. It states a part of the reference and contradicts none of it.\n"
        "2: correct. It states all that the reference states in answer to the question, in whatever words.\n"
        "More than the reference states is neither better nor worse, as long as it does not contradict it; length and"
        " style do not count. Judge by the reference and not by what you know."
    ),
    field="grade",
    choices=(0, 1, 2),
    names=("0", "1", "2"),
    positive="correct",
)
FAITHFULNESS = Kind(
    name="faithfulness",
    key=("strategy", "generator", "context", "qid", "claim"),
    group=("strategy", "generator", "context"),
    asked="You judge whether a claim is supported by the passages that it cites.",
    rules=(
        "yes: somebody who knows nothing but the quotes must conclude that the claim holds, all of it.\n"
        "no: a part of the claim is not in the quotes, does not follow from them, or contradicts them.\n"
        "Whether the claim is true in the world, or answers the question, does not count."
    ),
    field="supported",
    choices=("no", "yes"),
    names=("no", "yes"),
    positive="supported",
)
PREFERENCE = Kind(
    name="preference",
    key=("strategy", "generator_a", "generator_b", "context", "qid"),
    group=("strategy", "generator_a", "generator_b", "context"),
    asked="You judge which of two answers to the same question is better.",
    rules=(
        "Better is the answer that tells the asker more of what the question asks for, and nothing wrong. Where a"
        " reference answer is given, wrong is what contradicts it. The order in which the answers are shown, their"
        " length and their style do not count.\n"
        "first: the first answer is better.\n"
        "second: the second answer is better.\n"
        "tie: neither is better."
    ),
    field="better",
    choices=("second", "tie", "first"),
    names=("b", "tie", "a"),
    positive="a preferred",
    swapped=("first", "second"),
)
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in (CORRECTNESS, FAITHFULNESS, PREFERENCE)}
