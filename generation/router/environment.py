"""Settings and keys from the process environment and `.env`: read here once, and never shown."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote, urlsplit

from dotenv.parser import Binding, parse_stream

from generation.errors import RequestError
from ingestion.config import ROOT

FILE = ".env"
PROCESS = "environment"
SECRET = frozenset(
    (
        "APIKEY", "BEARER", "CREDENTIAL", "CREDENTIALS", "KEY", "KEYS", "PASS", "PASSPHRASE", "PASSWD", "PASSWORD",
        "PAT", "SECRET", "SECRETS", "TOKEN", "TOKENS",
    )
)  # fmt: skip
PLACES = ("_FILE", "_PATH", "_DIR", "_URI", "PUBLIC_KEY")  # where a secret lies, or what is no secret
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PATH = re.compile(r"[~.]{0,2}/|[A-Za-z]:\\|.*\.json\s*$")  # GOOGLE_APPLICATION_CREDENTIALS names a file


class Environment(Mapping[str, str]):
    """Variables by name; the process comes before `.env`, also where it sets an empty value.

    `repr`, `str`, `pickle` and `json` never show a value; a value is had by its name only.
    """

    __slots__ = ("_origins", "_values")

    def __init__(self, values: Mapping[str, str], origins: Mapping[str, str] | None = None) -> None:
        self._values = dict(values)
        self._origins = dict(origins or {})

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Environment({len(self)} variables)"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("an environment holds keys: it is neither pickled nor sent to another process")

    def __copy__(self) -> Environment:
        return self

    def __deepcopy__(self, memo: object) -> Environment:
        return self  # dataclasses.asdict copies deeply: what holds an environment stays printable

    def setting(self, *names: str) -> str:
        """The first of these variables that is set and not blank, without blanks around it; empty if none is."""
        return next((value for name in names if (value := self.get(name, "").strip())), "")

    def origin(self, name: str) -> str:
        """Where a variable comes from: `environment`, or the path of the `.env` file."""
        return self._origins.get(name, PROCESS)

    def secrets(self) -> dict[str, str]:
        """What must never be shown, by the variable's name: for the redactor alone.

        Values of names that speak of a key, token, secret or password; from JSON and from URLs the parts that are
        secret (a service account's private key, a password before `@`).
        """
        found: dict[str, str] = {}
        for name, value in sorted(self._values.items()):
            for part, secret in enumerate(_secrets(name, value)):
                found[f"{name}#{part}" if part else name] = secret
        return found


def read_environment(folder: Path, environ: Mapping[str, str], root: Path = ROOT) -> Environment:
    """The process environment over the `.env` of `folder`, or of the project where `folder` has none.

    Values in the file are taken as they stand: `${NAME}` is not replaced, since keys may hold a dollar sign.

    Args:
        folder: the current folder.
        environ: the process environment, such as `os.environ`.
        root: the project's folder.

    Raises:
        RequestError: the file cannot be read, or a line is not `NAME=value`; the message has the file and the line's
            number, never the line.
    """
    path = next((place for place in (folder / FILE, root / FILE) if place.is_file()), None)
    stored = {} if path is None else _read(path)
    origins = {name: str(path) for name in stored if name not in environ}
    return Environment({**stored, **environ}, origins)


def current_environment() -> Environment:
    """The environment of this process, with the `.env` of the current folder or of the project.

    Raises:
        RequestError: as `read_environment`.
    """
    return read_environment(Path.cwd(), os.environ)


def is_secret(name: str) -> bool:
    """Whether a name speaks of a key, token, secret or password: `MY_API_KEY` does, `MAX_TOKENS_FILE` does not."""
    upper = re.sub(r"[^A-Z0-9]+", "_", name.upper())
    return bool(SECRET & set(upper.split("_"))) and not upper.endswith(PLACES)


def _read(path: Path) -> dict[str, str]:
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            bindings = list(parse_stream(stream))
    except UnicodeDecodeError:
        raise RequestError(f"{path}: is not UTF-8 text; save it as UTF-8") from None  # the cause holds the bytes
    except OSError as error:
        raise RequestError(f"{path}: cannot be read ({error.strerror})") from error
    return dict(_pair(path, binding) for binding in bindings if not _is_empty(binding))


def _is_empty(binding: Binding) -> bool:
    """Whether a statement is blank lines or a comment."""
    text = binding.original.string.strip()
    return not binding.error and (not text or text.startswith("#"))


def _pair(path: Path, binding: Binding) -> tuple[str, str]:
    text = binding.original.string
    line = binding.original.line + len(re.findall(r"\r\n|\n|\r", text[: len(text) - len(text.lstrip())]))
    if binding.error:
        raise RequestError(f"{path}, line {line}: is not NAME=value; is a quote left open?")
    if binding.key is None or not _NAME.fullmatch(binding.key):
        raise RequestError(f"{path}, line {line}: what stands before '=' is no name of letters, digits and '_'")
    if binding.value is None:
        raise RequestError(f"{path}, line {line}: has no '='; write NAME=value")
    return binding.key, binding.value


def _secrets(name: str, value: str) -> list[str]:
    parts = _in_json(value) if value.lstrip().startswith("{") else []
    if parts or not is_secret(name):
        return parts or _in_url(value)
    if name.upper().endswith("CREDENTIALS") and _PATH.match(value):
        return []
    return [value] if value.strip() else []


def _in_json(text: str) -> list[str]:
    """Secret values of a JSON object, such as a service account's file."""
    try:
        content = json.loads(text)
    except json.JSONDecodeError:
        return []
    return [value for key, value in _leaves(content) if is_secret(key) or "PRIVATE_KEY" in key.upper()]


def _leaves(content: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(content, dict):
        for name, inner in content.items():
            yield from _leaves(inner, str(name))
    elif isinstance(content, list):
        for inner in content:
            yield from _leaves(inner, key)
    elif isinstance(content, str):
        yield key, content


def _in_url(text: str) -> list[str]:
    """The password before `@` in a URL, as it stands and decoded."""
    if "://" not in text or "@" not in text:
        return []
    try:
        password = urlsplit(text.strip()).password or ""
    except ValueError:  # no URL after all
        return []
    return list(dict.fromkeys(part for part in (password, unquote(password)) if part))
