"""Answers of a chat model: evidence to prompt, prompt through the router, reply to checked claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from generation.claims import ClaimReader, Reading, read
from generation.errors import GenerationError, ProviderError, RequestError
from generation.generator import SILENT, Listener, Tools
from generation.prompt import memory_messages, messages
from generation.router.routed import Attempt, Routed
from generation.router.router import Router
from generation.router.wire import Call, Message, Reply
from generation.schema import Answer, Claim, Evidence, Usage

NO_PASSAGE = "no passage was retrieved"
UNREADABLE_REPLIES = "unreadable replies"
REPAIR = (
    "Your reply could not be read: {problem}. Send the whole reply again in JSON Lines as described, one object on"
    " each line, no other text, and end it with the end line."
)


class UnreadableReplyError(GenerationError):
    """A whole reply that is none. No ProviderError, after which a router sends the same prompt again in vain."""


@dataclass(frozen=True)
class Chat:
    """A chat model as generator.

    `provider`, `route` and `model` say which one is asked, as `open_router` reads them; None leaves it to the command
    and to the router file. `max_output_tokens` bounds a reply, `temperature` None leaves it to the server, `timeout`
    in seconds. Where no reply can be read, the model is told so and asked again `repairs` times.
    """

    name: str = "chat"
    provider: str | None = None
    route: str | None = None
    model: str | None = None
    max_output_tokens: int = 1024
    temperature: float | None = 0.0
    timeout: float = 60.0
    repairs: int = 1

    def __post_init__(self) -> None:
        if self.max_output_tokens < 1 or self.timeout <= 0 or self.repairs < 0:
            raise ValueError("max_output_tokens must be at least 1, timeout above 0 and repairs at least 0")

    def answer(self, evidence: Evidence, tools: Tools, listener: Listener = SILENT) -> Answer:
        """Ask for an answer; without a source it is refused and nothing is asked.

        Args:
            evidence: what may be cited.
            tools: its router gets the reply.
            listener: is given claims as they arrive where it follows, else at the end.

        Raises:
            RequestError: `tools` has no router.
            ProviderError: no reply could be read, the last repair included.
            GenerationError: what the router raises.
        """
        if not evidence.sources:
            return Answer(evidence.question, (), (), evidence.left_out, True, NO_PASSAGE, self.name)
        return self._answered(evidence, messages(evidence), tools, listener)

    def from_memory(self, question: str, tools: Tools) -> Answer:
        """Ask without any source: claims without citations, or a refusal. It shows what retrieval adds.

        Raises:
            RequestError: `tools` has no router.
            ProviderError: no reply could be read, the last repair included.
            GenerationError: what the router raises.
        """
        return self._answered(Evidence(question, ()), memory_messages(question), tools, SILENT)

    def _answered(self, evidence: Evidence, prompt: tuple[Message, ...], tools: Tools, listener: Listener) -> Answer:
        if tools.router is None:
            raise RequestError("a chat model is asked through a router, and there is none; configure a route")
        talk = _Talk(evidence, listener, self.max_output_tokens)
        call = Call(prompt, self.max_output_tokens, self.temperature, self.timeout)
        routed = self._ask(tools.router, call, talk)
        reading = read(routed.reply.text, evidence)
        talk.tell(reading.claims)
        return self._answer(evidence, reading, routed, talk)

    def _ask(self, router: Router, call: Call, talk: _Talk) -> Routed:
        """A reply that can be read; after one that cannot, the model is told what was wrong with it."""
        current, repairs = call, 0
        while True:
            try:
                return router.ask(current, talk.on_text, talk.begin_anew, talk.listener.cancelled, talk.check)
            except GenerationError as error:
                talk.failed = error.attempts = (*talk.failed, *error.attempts)
                if not isinstance(error, UnreadableReplyError):
                    raise
                if repairs == self.repairs:
                    told = ProviderError(f"no reply could be read, {talk.asked}: {error}")
                    told.attempts = talk.failed
                    raise told from error
                repairs += 1
                current = replace(call, messages=(*call.messages, *_repair(*talk.refused[-1])))
                talk.begin_anew("unreadable reply")

    def _answer(self, evidence: Evidence, reading: Reading, routed: Routed, talk: _Talk) -> Answer:
        removed = Counter(reading.removed)
        removed[UNREADABLE_REPLIES] += len(talk.refused)
        return Answer(
            question=evidence.question,
            claims=reading.claims,
            sources=evidence.sources,
            left_out=evidence.left_out,
            refused=reading.refusal is not None,
            reason=reading.refusal or "",
            generator=self.name,
            model=routed.reply.model or routed.target.model,
            route=routed.target.name,
            removed={name: count for name, count in sorted(removed.items()) if count},
            usage=talk.usage(routed),
            fallback=_fallback(routed),
        )


@dataclass
class _Talk:
    """One answer in the making: what was streamed so far, and which replies could not be read (and why).

    `failed`: the attempts of those calls to the router that gave no reply.
    """

    evidence: Evidence
    listener: Listener
    max_output_tokens: int
    refused: list[tuple[Reply, str]] = field(default_factory=list)
    failed: tuple[Attempt, ...] = ()
    _reader: ClaimReader | None = None
    _told: int = 0

    @property
    def on_text(self) -> Callable[[str], None] | None:
        """Where the router puts pieces; None where nobody follows, so that nothing is streamed."""
        return self._read if self.listener.follows else None

    @property
    def asked(self) -> str:
        """How often that was."""
        return f"{len(self.refused)} time{'s' * (len(self.refused) > 1)}"

    def check(self, reply: Reply) -> None:
        """Whether a whole reply can be read.

        Raises:
            UnreadableReplyError: it cannot; the message says why, and what to do where it was cut off.
        """
        try:
            read(reply.text, self.evidence)
        except ProviderError as error:
            self.refused.append((reply, str(error)))
            cut = f"; it was cut at max_output_tokens={self.max_output_tokens}: raise it"
            raise UnreadableReplyError(f"{error}{cut if reply.finish == 'length' else ''}") from error

    def begin_anew(self, reason: str) -> None:
        """Forget what was streamed, and have the listener forget it."""
        if self._told:
            self.listener.on_restart(reason)
        self._reader, self._told = None, 0

    def tell(self, claims: Sequence[Claim]) -> None:
        """Give the listener those claims of a whole reply that it has not had yet."""
        for claim in claims[self._told :]:
            self._told += 1
            self.listener.on_claim(claim)

    def usage(self, routed: Routed) -> Usage:
        """Tokens of all replies, those that could not be read included, and what the attempts cost together."""
        replies = [routed.reply, *(reply for reply, _ in self.refused)]
        costs = [attempt.cost for attempt in (*self.failed, *routed.attempts)]
        known = [cost for cost in costs if cost is not None]
        return Usage(
            input_tokens=sum(reply.input_tokens for reply in replies),
            output_tokens=sum(reply.output_tokens for reply in replies),
            cost=sum(known) if len(known) == len(costs) else None,
            seconds=routed.seconds,
            counted=all(reply.counted for reply in replies),
            cached=routed.cached and not self.refused,
        )

    def _read(self, text: str) -> None:
        """Take a piece of a reply; whether it is whole is for `check` to say."""
        self._reader = self._reader or ClaimReader(self.evidence)
        for claim in self._reader.feed(text):
            self._told += 1
            self.listener.on_claim(claim)


def _fallback(routed: Routed) -> str:
    """Which models were asked or passed over before the one that answered, and why; empty where it was the first."""
    before = {
        f"{attempt.target.name}, {attempt.target.model} ({attempt.error or attempt.outcome})": None
        for attempt in routed.attempts
        if attempt.target != routed.target
    }
    return f"answered by {routed.target.name}, {routed.target.model} after {'; '.join(before)}" if before else ""


def _repair(reply: Reply, problem: str) -> tuple[Message, Message]:
    """The reply that could not be read, and what to do about it."""
    return Message("assistant", reply.text.strip() or "(nothing)"), Message("user", REPAIR.format(problem=problem))
