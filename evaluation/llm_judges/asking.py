"""Items go to a judge in parallel, verdicts come back in the items' order; failures are kept apart from verdicts."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass

import numpy as np
from tqdm import tqdm

from evaluation.judge.generator import CallError, Complete, GeneratorError
from evaluation.judge.llm import ReplyError
from evaluation.llm_judges.journal import NONE, Verdict, Verdicts
from evaluation.llm_judges.kinds import Item, Kind
from evaluation.llm_judges.prompt import Showing, prompt, read_reply
from evaluation.schema import Grades8

ATTEMPTS = 3  # to get a reply that can be read
PARALLEL = 4


@dataclass(frozen=True)
class Failure:
    """A call that gave no verdict, and why."""

    key: tuple[str, ...]
    order: int
    repeat: int
    error: str


@dataclass(frozen=True)
class Votes:
    """What a judge said about items.

    `verdicts` int8 [n_items, orders, repeats], -1 for a call that failed; `reasons` by item, those of its readable
    replies in the same order. `failures` are all failed calls. `requests` and `retries` (those that repeat one since
    its reply could not be read) were made now; `remembered` prompts were answered by the journal.
    """

    verdicts: Grades8
    reasons: tuple[tuple[str, ...], ...]
    failures: tuple[Failure, ...]
    requests: int
    retries: int
    remembered: int


def showings(kind: Kind, items: Sequence[Item], repeats: int) -> list[Showing]:
    """All that is shown to a judge: item by item, in every order, as often as it is repeated."""
    return [
        Showing(kind, item, order, repeat)
        for item in items
        for order in range(kind.orders)
        for repeat in range(repeats)
    ]


def ask(
    kind: Kind,
    items: Sequence[Item],
    complete: Complete,
    journal: Verdicts,
    repeats: int = 1,
    parallel: int = PARALLEL,
    attempts: int = ATTEMPTS,
) -> Votes:
    """Have a judge judge what the journal does not know yet; equal prompts are asked once.

    Args:
        kind: of judgment.
        items: what is judged.
        complete: prompt to reply, from any thread.
        journal: is given every verdict at once.
        repeats: how often every item is judged in every order.
        parallel: requests at a time.
        attempts: how often a request is made until its reply can be read.

    Raises:
        CallError: no call can succeed any more (key, quota, spending cap); verdicts so far are in the journal.
    """
    shown = showings(kind, items, repeats)
    codes = [showing.code for showing in shown]
    todo = {code: one for code, one in zip(codes, shown, strict=True) if code not in journal.current}
    failed, requests, retries = _asked(todo, complete, journal, parallel, attempts)
    known = journal.current
    flat = [known[code].verdict if code in known else NONE for code in codes]
    each = kind.orders * repeats
    reasons = [
        tuple(known[code].reason for code in codes[start : start + each] if code in known)
        for start in range(0, len(codes), each)
    ]
    failures = [
        Failure(one.item.key, one.order, one.repeat, failed[code])
        for code, one in zip(codes, shown, strict=True)
        if code in failed
    ]
    return Votes(
        np.asarray(flat, dtype=np.int8).reshape(len(items), kind.orders, repeats),
        tuple(reasons),
        tuple(failures),
        requests,
        retries,
        len(set(codes)) - len(todo),
    )


@dataclass(frozen=True)
class _Outcome:
    """What became of one prompt: its verdict, or else its error; `final` means that no other will fare better."""

    requests: int
    verdict: Verdict | None = None
    error: str = ""
    final: bool = False


def _asked(
    todo: Mapping[str, Showing], complete: Complete, journal: Verdicts, parallel: int, attempts: int
) -> tuple[dict[str, str], int, int]:
    """Errors by code of the prompts that failed, requests, and those among them that repeat one.

    The journal is written by this thread alone. After a final error nothing new is sent, what is under way is kept.
    """
    failed: dict[str, str] = {}
    requests = retries = done = 0
    stopped = ""
    bar = tqdm(total=len(todo), desc="judging", unit="verdict", disable=not sys.stderr.isatty())
    with ThreadPoolExecutor(parallel) as pool, bar:
        futures = {pool.submit(_one, showing, complete, attempts): code for code, showing in todo.items()}
        try:
            for future in as_completed(futures):
                outcome = _outcome(future)
                if outcome is None:
                    continue
                requests, retries = requests + outcome.requests, retries + max(0, outcome.requests - 1)
                if outcome.verdict is not None:
                    journal.append(outcome.verdict)
                    done += 1
                elif outcome.final:
                    stopped = stopped or outcome.error
                    _cancel(futures)
                else:
                    failed[futures[future]] = outcome.error
                bar.update()
        except BaseException:
            _cancel(futures)
            raise
    if stopped:
        raise CallError(
            f"{stopped}\n{done} of {len(todo)} verdicts came before and are stored in {journal.path}; the same"
            " command asks for the rest",
            final=True,
        )
    return failed, requests, retries


def _cancel(futures: Mapping[Future[_Outcome], str]) -> None:
    for future in futures:
        future.cancel()


def _outcome(future: Future[_Outcome]) -> _Outcome | None:
    """What became of a prompt; None for one that was never sent."""
    try:
        return future.result()
    except CancelledError:
        return None


def _one(showing: Showing, complete: Complete, attempts: int) -> _Outcome:
    """One prompt, asked until its reply can be read."""
    wanted = prompt(showing)
    text, problem = wanted, ""
    for attempt in range(1, attempts + 1):
        try:
            said = read_reply(complete(text), showing)
        except ReplyError as error:
            problem = f"no readable reply in {attempts} attempts, at last: {error}"
            text = f"{wanted}\n\nAn earlier reply could not be read ({error}). Reply with the JSON object alone."
        except CallError as error:
            return _Outcome(attempt, error=str(error), final=error.final)
        except GeneratorError as error:
            return _Outcome(attempt, error=str(error), final=True)
        else:
            return _Outcome(attempt, Verdict(showing.code, said.verdict, said.reason, attempt))
    return _Outcome(attempts, error=problem)
