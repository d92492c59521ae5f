"""A client that speaks to all routes through LiteLLM: one request, no retry, no fallback, no cache, no telemetry."""

from __future__ import annotations

import logging
import os
import ssl
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generation.errors import GenerationError
from generation.router.environment import Environment
from generation.router.litellm_arguments import Access, ModelName, access, arguments, model_name, output_limit
from generation.router.litellm_call import Asking, Outcome, Terms
from generation.router.prices import Price, listed_price, own_price
from generation.router.secrets import Redactor
from generation.router.token_counts import count, count_messages, encoding_of, estimate, estimate_messages
from generation.router.wire import Call, Reply, Target

if TYPE_CHECKING:
    import httpx

# Read when LiteLLM is imported: no price table and no `.env` from elsewhere, no link for reporting a bug.
_BEFORE_IMPORT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_DISABLE_BUG_REPORT_LINK": "True",
}
# LiteLLM prints its warnings itself; the others write a session token or the whole prompt at level DEBUG.
_SILENT = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")
_ONLY_WARNINGS = ("botocore.auth", "openai._base_client")


class LiteLlmClient:
    """Speaks to the six routes and to compatible servers.

    Args:
        environment: keys by the names of their variables. They go with each call, and nowhere else.
        redact: takes keys out of a server's words; None takes those of `environment` and what is shaped like a key.
        prices: the user's own prices, which come before LiteLLM's table, by `provider/route/model`, `model` or
            `provider/route`.
        clock: seconds since any moment, for time limits.
        wall: seconds since 1970, for dates that a server gives.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        redact: Callable[[str], str] | None = None,
        prices: Mapping[str, Price] | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._environment = environment if isinstance(environment, Environment) else Environment(environment)
        self._redact = redact or Redactor(self._environment.secrets()).redact
        self._prices = dict(prices or {})
        self._clock = clock
        self._wall = wall

    def complete(
        self,
        target: Target,
        call: Call,
        on_text: Callable[[str], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Reply:
        """Ask once; the time limit holds for the whole reply, connecting included.

        The server's token counts hold unless they are missing, below 1, or 100 times off our estimate either way
        (output: above both 100 times the estimate and what was asked for, since thoughts are output); then `counted`
        is False and both are our estimates.

        Args:
            target: where; `settings` may hold `base_url`, `region` and `inference_profile` (Bedrock), `api_version`
                and `deployment` (Azure), `project` and `location` (Vertex).
            call: what.
            on_text: is given every piece of text as it arrives; None asks without streaming.
            cancelled: asked before sending, between pieces, and 20 times a second while nothing comes.

        Raises:
            RateLimitError, QuotaError, CapacityError, AuthError, ContextOverflowError, ProviderError, CancelledError.
            RequestError: there is no such route.
        """
        outcome = self._ask(target, call, on_text, cancelled)
        # Raised here, outside of every `except`: neither the cause nor a frame on the way holds a key.
        if isinstance(outcome, GenerationError):
            raise outcome
        return outcome

    def count_tokens(self, target: Target, call: Call) -> int:
        """Input tokens of a call: by OpenAI's own tokenizer for its models, else estimated from above."""
        encoding = self._encoding(target)
        return estimate_messages(call.messages) if encoding is None else count_messages(call.messages, encoding)

    def tokens_of(self, target: Target, text: str) -> int | None:
        """Tokens of a text by the model's own tokenizer; None where that is not at hand."""
        encoding = self._encoding(target)
        return None if encoding is None else count(text, encoding)

    def most_output(self, target: Target, call: Call) -> int:
        """The most output tokens that a request for this call asks for; more for models that think first."""
        return output_limit(call, self._needs_room(self._name(target)))

    def price(self, target: Target, input_tokens: int, output_tokens: int) -> float | None:
        """US dollars for so many tokens: by the given prices, then LiteLLM's table; None where neither knows."""
        price = own_price(target, self._prices)
        if price is None and target.provider != "compatible":
            name = self._name(target)
            price = listed_price(_litellm().model_cost, (f"{name.service}/{name.known}", name.known), input_tokens)
        return None if price is None else price.cost(input_tokens, output_tokens)

    def _ask(
        self,
        target: Target,
        call: Call,
        on_text: Callable[[str], None] | None,
        cancelled: Callable[[], bool] | None,
    ) -> Outcome:
        import httpx

        from generation.router.litellm_connection import Connection, Watch, proxy_for

        try:
            way = access(target, self._environment)
        except GenerationError as error:
            return error
        name = self._name(target)
        terms = self._terms(target, call, name, httpx.URL(way.url).host)
        sent = self._arguments(name, way, call, on_text is not None)
        # From here on the time counts: not while LiteLLM and the tokenizer are loaded, once in a process.
        watch = Watch(self._clock, self._clock() + call.timeout, cancelled)
        connection = Connection(watch, self._tls, proxy_for(way.url, self._environment))
        # No compression: the last bytes of a stream are looked at as they come.
        with connection, httpx.Client(transport=connection, headers={"accept-encoding": "identity"}) as http:
            asking = Asking(terms, watch, connection.exchange, streamed=on_text is not None)
            sent["client"] = _sender(name, way, http)
            return asking.whole(sent) if on_text is None else asking.in_pieces(sent, on_text)

    def _terms(self, target: Target, call: Call, name: ModelName, server: str) -> Terms:
        encoding = self._encoding(target)
        return Terms(
            target=target,
            timeout=call.timeout,
            service=name.service,
            server=server,
            output_limit=output_limit(call, self._needs_room(name)),
            estimated=self.count_tokens(target, call),
            tokens_of=estimate if encoding is None else lambda text: count(text, encoding),
            redact=self._redact,
            wall=self._wall,
            raised=_raised(),
        )

    def _arguments(self, name: ModelName, way: Access, call: Call, stream: bool) -> dict[str, Any]:
        accepts = _litellm().get_supported_openai_params(name.known, custom_llm_provider=name.service) or ()
        return arguments(name, way.options, call, stream, self._needs_room(name), accepts)

    def _name(self, target: Target) -> ModelName:
        return model_name(target, self._environment, _litellm().model_cost)

    def _needs_room(self, name: ModelName) -> bool:
        """Whether a model thinks before it answers without being asked to, and may be given room for it.

        Bedrock takes all output that a request may produce, five-fold, from the quota before it begins, so that room
        for thoughts would be more than the usual quota of a minute: there a call gets what it asks for.
        """
        if name.service == "bedrock":
            return False
        if name.service == "anthropic":
            return bool(_litellm().model_cost.get(name.known, {}).get("thinking_on_by_default"))
        return bool(_litellm().supports_reasoning(name.known, custom_llm_provider=name.service))

    def _encoding(self, target: Target) -> Any | None:
        return encoding_of(target.model, self._encodings) if target.provider == "openai" else None

    @cached_property
    def _encodings(self) -> Path:
        _litellm()
        return Path(os.environ.get("TIKTOKEN_CACHE_DIR", os.devnull))

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        import httpx

        return httpx.create_ssl_context()


def _litellm() -> Any:
    """LiteLLM with everything off that would print, call back, cache, retry, or go anywhere but to the target.

    It takes seconds to import, so this happens at the first call.
    """
    os.environ.update(_BEFORE_IMPORT)
    if "litellm" not in sys.modules:  # pydantic's view of types within LiteLLM, said when these are first needed
        warnings.filterwarnings("ignore", ".*`ReadOnly` qualifier", UserWarning, r"pydantic\._internal")
    import litellm
    from litellm.litellm_core_utils import default_encoding  # noqa: F401 - says where tiktoken's files are

    litellm.suppress_debug_info = True
    litellm.disable_hf_tokenizer_download = True
    litellm.disable_streaming_logging = True
    litellm.turn_off_message_logging = True
    for name in _SILENT:
        logging.getLogger(name).disabled = True
    for name in _ONLY_WARNINGS:
        logging.getLogger(name).setLevel(logging.WARNING)
    return litellm


def _raised() -> tuple[type[Exception], ...]:
    """What `litellm.completion` and its streams raise: its own errors, and what slips through as it reads a reply."""
    import httpx
    import openai

    slips = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, OSError, ImportError)
    return (openai.OpenAIError, httpx.HTTPError, *slips)


def _sender(name: ModelName, way: Access, http: httpx.Client) -> Any:
    """What LiteLLM sends with: it has one class for OpenAI and Azure each, and one for all others."""
    import openai
    from litellm.llms.custom_httpx.http_handler import HTTPHandler

    given: dict[str, Any] = {"api_key": way.key, "http_client": http, "max_retries": 0}
    if name.service == "openai":
        return openai.OpenAI(base_url=way.url, **given)
    if name.service == "azure":
        return openai.AzureOpenAI(azure_endpoint=way.url, api_version=way.options["api_version"], **given)
    return HTTPHandler(client=http)
