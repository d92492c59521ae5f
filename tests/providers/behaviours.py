"""What a fake provider does with one request; a script is a list of these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from tests.providers.exchange import Request, Said

Text = str | Callable[[Request], str]
CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True)
class Failure:
    """An error, told in each vendor's own words.

    `kind`: rate, quota, server, overloaded, auth, overflow, echo. `retry_after` in seconds, `code` the HTTP status of
    a `server` or `echo` failure; `cause` tells apart what one vendor words in several ways.
    """

    kind: str
    retry_after: float | None = None
    code: int = 500
    cause: str = ""


@dataclass(frozen=True)
class Dropped:
    """The connection is closed before any byte."""


@dataclass(frozen=True)
class Answer:
    """A text, and what is wrong with the way it comes.

    `pieces`: into how many parts a stream cuts it; `thoughts`: what the model thinks aloud before; `delay` seconds
    before the first byte and `between` seconds between two pieces; `finish` `stop`, `length` or `filter`; `usage`
    (input, output) instead of the honest count, `counted` False: none; `cut`: only so many characters come, and no
    end; `clean` with `cut`: HTTP ends as it should, only the vendor's end is missing; `broken`: not JSON; `midway`:
    after `cut` characters the server says that it is overloaded (whole answers: the error alone).
    """

    text: Text
    pieces: int = 4
    thoughts: str = ""
    delay: float = 0.0
    between: float = 0.0
    finish: str = "stop"
    usage: tuple[int, int] | None = None
    counted: bool = True
    cut: int | None = None
    clean: bool = False
    broken: bool = False
    midway: bool = False

    def say(self, request: Request, number: int) -> Said:
        """What the model says to this request, the `number`-th of the server."""
        text = self.text if isinstance(self.text, str) else self.text(request)
        honest = (tokens_of(request.prompt), tokens_of(self.thoughts) + tokens_of(text))
        usage = (self.usage or honest) if self.counted else None
        return Said(text, cut_up(text, self.pieces), self.finish, usage, self.thoughts, number)


Behaviour = Answer | Failure | Dropped


def tokens_of(text: str) -> int:
    """Tokens as the fake servers count them: one per four characters begun."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def cut_up(text: str, pieces: int) -> tuple[str, ...]:
    """`text` in at most `pieces` parts, none empty, of lengths that differ by one character at most."""
    count = max(1, min(pieces, len(text)))
    bounds = [len(text) * index // count for index in range(count + 1)]
    return tuple(text[start:end] for start, end in pairwise(bounds) if end > start)


def answer(text: Text, pieces: int = 4, thoughts: str = "") -> Answer:
    """A whole answer."""
    return Answer(text, pieces=pieces, thoughts=thoughts)


def rate_limited(retry_after: float | None = None, cause: str = "requests") -> Failure:
    """429: too many `requests` or `tokens` for now."""
    if cause not in ("requests", "tokens"):
        raise ValueError(f"rate_limited: no cause {cause!r}; there are requests, tokens")
    return Failure("rate", retry_after=retry_after, cause=cause)


def quota(cause: str = "credit") -> Failure:
    """Something is used up that waiting a minute does not bring back.

    `credit`: the money; `limit`: the limit that the owner set; `period`: what the vendor gives in a day or month,
    which several vendors report in the words of a rate limit.
    """
    if cause not in ("credit", "limit", "period"):
        raise ValueError(f"quota: no cause {cause!r}; there are credit, limit, period")
    return Failure("quota", cause=cause)


def server_error(code: int = 500) -> Failure:
    """The server failed."""
    return Failure("server", code=code)


def overloaded() -> Failure:
    """The server has no room: 529, 503 or what the vendor has for it."""
    return Failure("overloaded")


def auth_error() -> Failure:
    """The key is refused, although it is the right one."""
    return Failure("auth")


def overflow() -> Failure:
    """The prompt is longer than the model takes."""
    return Failure("overflow")


def echo_key(code: int = 401) -> Failure:
    """An error whose message contains the key that was sent, as some gateways do."""
    return Failure("echo", code=code)


def dropped() -> Dropped:
    """The connection closes before any byte."""
    return Dropped()


def slow(seconds: float, text: Text) -> Answer:
    """An answer whose first byte comes late."""
    return Answer(text, delay=seconds)


def trickle(seconds_between: float, text: Text, pieces: int = 8) -> Answer:
    """An answer that comes in drops; a whole one comes late by the same time in all."""
    return Answer(text, pieces=pieces, between=seconds_between)


def broken_json(text: Text = "an answer that cannot be read") -> Answer:
    """A reply that is no JSON."""
    return Answer(text, broken=True)


def truncated(after_chars: int, text: Text, clean: bool = False) -> Answer:
    """Only the first characters come. `clean`: HTTP itself ends in order, only the vendor's end is missing."""
    return Answer(text, cut=after_chars, clean=clean)


def fails_midway(after_chars: int, text: Text) -> Answer:
    """A stream that begins and then says that the server is overloaded."""
    return Answer(text, cut=after_chars, midway=True)


def finished_by_length(text: Text) -> Answer:
    """A text that ended because its output tokens were used up."""
    return Answer(text, finish="length")


def wrong_usage(input_tokens: int, output_tokens: int, text: Text) -> Answer:
    """An answer with other token counts than it cost."""
    return Answer(text, usage=(input_tokens, output_tokens))


def no_usage(text: Text) -> Answer:
    """An answer without token counts."""
    return Answer(text, counted=False)


def refused_content(text: Text = "") -> Answer:
    """The vendor's content filter stepped in, after `text` or before anything."""
    return Answer(text, finish="filter")
