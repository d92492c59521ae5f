"""What each route needs before it can be asked: variables for keys, and settings with variables that give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from generation.router.environment import PROCESS, Environment

NO_BLANKS = "holds a blank or a line break"
SHOWN = 3  # alternatives that a message names


@dataclass(frozen=True)
class Need:
    """Keys and settings of one route.

    `keys`: alternatives, each a set of variables that are needed together; none where no key is needed. `settings`:
    by name the variables that may give them, after `<PROVIDER>_<ROUTE>_<NAME>`. `required`: settings without which
    nothing works. `ambient`: credentials may come from elsewhere too, such as a file or the machine's role.
    `library`: by the first variable of an alternative, what the provider's own library reads for it, from the process
    alone.
    """

    keys: tuple[tuple[str, ...], ...] = ()
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    ambient: bool = False
    library: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def missing(self, environment: Environment, settings: Mapping[str, str], has_model: bool, model: str) -> str:
        """What to set, by the names of variables; empty where nothing is missing."""
        parts = [*self._keys(environment)]
        parts += [f"set {self.settings[name][0]}" for name in self.required if name not in settings]
        return "; ".join([*parts, *([] if has_model else [f"set {model}"])])

    def out_of_reach(self, environment: Environment) -> list[str]:
        """Variables of the alternatives that are set, but in `.env`, where the provider's own library never looks."""
        read = [name for names in self._set(environment) for name in self.library.get(names[0], ())]
        return [name for name in read if name in environment and environment.origin(name) != PROCESS]

    def _set(self, environment: Environment) -> list[tuple[str, ...]]:
        return [names for names in self.keys if all(environment.setting(name) for name in names)]

    def _keys(self, environment: Environment) -> list[str]:
        lost = self.out_of_reach(environment)
        found = [names for names in self._set(environment) if not set(lost) & set(self.library.get(names[0], ()))]
        if lost and not found:
            names, file = " and ".join(lost), environment.origin(lost[0])
            return [f"set {names} in the environment itself: the provider's library reads it there, not in {file}"]
        if self.keys and not found:
            return ["set " + ", or ".join(" and ".join(names) for names in self.keys[:SHOWN])]
        broken = [name for names in found[:1] for name in names if _broken(environment[name])]
        return [f"{name} {NO_BLANKS}" for name in broken]


def _broken(value: str) -> bool:
    """Whether a value cannot stand in a header: pasted with a line break in it, or with words around it."""
    return any(character.isspace() or not character.isprintable() for character in value.strip())


AWS = (
    ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
    ("AWS_PROFILE",),
    ("AWS_BEARER_TOKEN_BEDROCK",),
    ("AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE"),
    ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",),
    ("AWS_CONTAINER_CREDENTIALS_FULL_URI",),
)
AWS_LIBRARY = {
    "AWS_PROFILE": ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"),
    **{names[0]: names for names in AWS[3:]},
}
NEEDS: Mapping[str, Need] = {
    "anthropic/direct": Need((("ANTHROPIC_API_KEY",),), {"base_url": ("ANTHROPIC_BASE_URL",)}),
    "anthropic/bedrock": Need(
        AWS,
        {
            "base_url": ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME",),
            "region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
            "inference_profile": (),
        },
        ambient=True,
        library=AWS_LIBRARY,
    ),
    # OPENAI_BASE_URL is the compatible route's: a key of OpenAI is not sent to another server by accident.
    "openai/direct": Need((("OPENAI_API_KEY",),), {"base_url": ()}),
    "openai/azure": Need(
        (("AZURE_OPENAI_API_KEY",),),
        {
            "base_url": ("AZURE_OPENAI_ENDPOINT",),
            "api_version": ("AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION"),
            "deployment": (),
        },
        required=("base_url",),
    ),
    "gemini/direct": Need((("GEMINI_API_KEY",),), {"base_url": ()}),
    "gemini/vertex": Need(
        (),
        {"base_url": (), "project": ("GOOGLE_CLOUD_PROJECT",), "location": ("GOOGLE_CLOUD_LOCATION",)},
        required=("project", "location"),
    ),
    "compatible/any": Need((), {"base_url": ("OPENAI_BASE_URL",)}, required=("base_url",)),
}
PROVIDERS = tuple(dict.fromkeys(name.partition("/")[0] for name in NEEDS))
