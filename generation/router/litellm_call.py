"""One call through LiteLLM: its outcome is a whole reply or one of our errors, never an exception of LiteLLM's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from generation.errors import (
    AuthError,
    CancelledError,
    CapacityError,
    GenerationError,
    ProviderError,
    RateLimitError,
    RefusedError,
)
from generation.router.litellm_errors import Refusal, error_for, kind_midway, kind_of, quoted, retry_after
from generation.router.wire import Reply, Target

if TYPE_CHECKING:
    from generation.router.litellm_connection import Exchange, Watch

Outcome = Reply | GenerationError
# A redirect is one too: a key is not carried to another server.
REFUSED = 300
# LiteLLM gives every piece of Gemini the finish `stop`, also where a stream breaks off; only the bytes tell. A quote
# within a text would be escaped, so this can only be the name of a field.
_FINISH_OF_GOOGLE = re.compile(rb'"finishReason"\s*:\s*"(?!FINISH_REASON_UNSPECIFIED)')
GOOGLE = ("gemini", "vertex_ai")
# A server's token counts this many times off our estimate, either way, are no counts.
ABSURD = 100
_PREFIXES = re.compile(r"^(?:litellm\.)?\w*(?:Error|Exception|Timeout)(?: \w+Error)? *(?::| -) ")


@dataclass(frozen=True)
class Terms:
    """What is known of a call before it is sent.

    `timeout` in seconds; `service` is LiteLLM's name of the provider, `server` the name of its host; `output_limit`
    the output tokens asked for; `estimated` our count of the input tokens, `tokens_of` counts a text; `redact` takes
    keys out of one; `wall` gives seconds since 1970; `raised` is what LiteLLM may raise.
    """

    target: Target
    timeout: float
    service: str
    server: str
    output_limit: int
    estimated: int
    tokens_of: Callable[[str], int]
    redact: Callable[[str], str]
    wall: Callable[[], float]
    raised: tuple[type[Exception], ...]


@dataclass(frozen=True)
class Asking:
    """One call on its way: its terms, when it is to end, what came back so far, and whether it comes in pieces."""

    terms: Terms
    watch: Watch
    exchange: Exchange
    streamed: bool = False

    def whole(self, arguments: Mapping[str, Any]) -> Outcome:
        """Ask for a reply in one piece."""
        answered = self._answered(arguments)
        if isinstance(answered, GenerationError):
            return answered
        if not answered.choices:
            return self._unreadable("it has no answer in it")
        choice = answered.choices[0]
        finish = choice.finish_reason if self._ended(choice.finish_reason) else None
        return self._reply(choice.message.content or "", finish, _usage(answered), answered.model)

    def in_pieces(self, arguments: Mapping[str, Any], on_text: Callable[[str], None]) -> Outcome:
        """Ask for a reply as a stream, and hand on every piece; an error of `on_text` goes through."""
        stream = self._answered(arguments)
        if isinstance(stream, GenerationError):
            return stream
        texts: list[str] = []
        for piece in self._pieces(stream):
            if isinstance(piece, GenerationError):
                return piece
            texts.append(piece)
            on_text(piece)
            if self.watch.over():
                return self._stopped()
        finish = stream.received_finish_reason or stream.intermittent_finish_reason
        usage = next((found for chunk in reversed(stream.chunks) if (found := _usage(chunk))), None)
        return self._reply("".join(texts), finish if self._ended(finish) else None, usage, stream.model)

    def _answered(self, arguments: Mapping[str, Any]) -> Any:
        import litellm

        if self.watch.over():
            return self._stopped()
        try:
            return litellm.completion(**arguments)
        except self.terms.raised as error:
            return self._failure(error)

    def _pieces(self, stream: Any) -> Iterator[str | GenerationError]:
        """Every piece of text that is not empty; an error is the last one."""
        while True:
            try:
                chunk = next(stream)
            except StopIteration:
                return
            except self.terms.raised as error:
                yield self._failure(error)
                return
            text = chunk.choices[0].delta.content if chunk.choices else None
            if text:
                yield text

    def _ended(self, finish: str | None) -> bool:
        """Whether the server said that the reply is at its end."""
        if self.terms.service in GOOGLE and finish == "stop":
            return _FINISH_OF_GOOGLE.search(self.exchange.tail) is not None
        return finish is not None

    def _reply(self, text: str, finish: str | None, usage: tuple[int, int] | None, model: str | None) -> Outcome:
        if finish is None:
            return self._unreadable(f"{self._what} ended early, before the server said that it was finished")
        if finish == "content_filter":
            return self._error(RefusedError, "the server's content filter stopped the reply")
        if not text.strip():
            spent = f" within {self.terms.output_limit} output tokens" if finish == "length" else ""
            return self._unreadable(f"the server sent no text{spent}")
        written = self.terms.tokens_of(text)
        counted = usage is not None and self._plausible(usage, written)
        given, made = usage if counted and usage is not None else (self.terms.estimated, written)
        return Reply(text, given, made, finish, model or self.terms.target.model, counted)

    def _plausible(self, usage: tuple[int, int], written: int) -> bool:
        """Whether a server's counts can be true: above 0 and within 100 times of ours either way.

        Thoughts count as output and are not shown, so output may be any number up to what was asked for.
        """
        given, made = usage
        if not self.terms.estimated / ABSURD <= given <= self.terms.estimated * ABSURD or given < 1:
            return False
        return 1 <= made <= max(written * ABSURD, self.terms.output_limit) and made >= written / ABSURD

    def _failure(self, error: BaseException) -> GenerationError:
        """The error of ours for what LiteLLM raised, by what the server sent if it sent anything."""
        exchange = self.exchange
        if self.watch.over():
            return self._stopped()
        if exchange.status >= REFUSED:
            return self._refused(Refusal(exchange.status, exchange.headers, exchange.body))
        if exchange.fault and exchange.status:
            return self._unreadable(f"{self._what} ended early: the connection broke off")
        if exchange.fault:
            return self._error(
                CapacityError, f"no answer from {self.terms.server or 'the server'} ({exchange.fault})"
            )
        if not exchange.status:
            return self._unsent(error)
        text = _plain(error)
        if "ended before a finish_reason" in text:
            return self._unreadable(f"{self._what} ended early, before the server said that it was finished")
        kind = kind_midway(text)
        if kind is ProviderError:  # these words may quote the prompt or the reply
            return self._unreadable(f"its reply cannot be read ({type(error).__name__})")
        return self._error(kind, f"the server broke off: {quoted(text, self.terms.redact)}")

    def _refused(self, refusal: Refusal) -> GenerationError:
        kind = kind_of(refusal)
        text = quoted(refusal.text, self.terms.redact)
        wait = retry_after(refusal, self.terms.wall()) if kind is RateLimitError else None
        return self._error(kind, f"status {refusal.status}" + (f": {text}" if text else ""), wait)

    def _unsent(self, error: BaseException) -> GenerationError:
        """What went wrong before anything was sent: mostly the credentials of AWS or Google."""
        cause = _cause(error, ("google.auth", "google.oauth2", "botocore"))
        text = _plain(error)
        if cause is None and "credentials" in text:
            return self._error(AuthError, "the file with the credentials cannot be read")
        if cause is None:
            return self._unreadable(f"nothing was sent: {quoted(text, self.terms.redact)}")
        passing = getattr(cause, "retryable", False) or "Transport" in type(cause).__name__
        kind = CapacityError if passing or "Connect" in type(cause).__name__ else AuthError
        return self._error(kind, f"no credentials ({type(cause).__name__}): {quoted(str(cause), self.terms.redact)}")

    def _stopped(self) -> GenerationError:
        if self.watch.stopped == "cancelled":
            return CancelledError(
                f"{self.terms.target.name}, model {self.terms.target.model}: cancelled; what came is dropped"
            )
        return self._error(CapacityError, f"no whole reply within {self.terms.timeout:g} seconds")

    @property
    def _what(self) -> str:
        return "the stream" if self.streamed else "the reply"

    def _unreadable(self, what: str) -> GenerationError:
        return self._error(ProviderError, what)

    def _error(self, kind: type[GenerationError], what: str, wait: float | None = None) -> GenerationError:
        return error_for(self.terms.target, kind, what, self.terms.redact, wait)


def _usage(answered: Any) -> tuple[int, int] | None:
    """Input and output tokens as the server counted them; None where it did not."""
    usage = getattr(answered, "usage", None)
    if usage is None:
        return None
    given, made = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
    return (given, made) if isinstance(given, int) and isinstance(made, int) else None


def _plain(error: BaseException) -> str:
    """What an error of LiteLLM says, without the names of its classes and without its traceback."""
    text, before = str(error).split("\nTraceback")[0].split(" Original exception:")[0], ""
    while text != before:
        before, text = text, _PREFIXES.sub("", text.strip())
    return text


def _cause(error: BaseException | None, modules: tuple[str, ...]) -> BaseException | None:
    """The first error of one of these packages among those that led to this one."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if type(error).__module__.startswith(modules):
            return error
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None
