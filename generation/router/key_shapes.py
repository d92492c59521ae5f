"""What keys look like: patterns for keys that nobody told us, such as those that a server repeats in its error.

Every pattern is bound to a vendor's mark or to a key's name in front, so that digests, ids and base64 in ordinary
text stay as they are: a bare run of hexadecimal digits is no key here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Where a key may begin: not inside a word, but after an escape, which ends in a letter or digit (\n \u0027 %3D).
_ESCAPES = (r"\\[nrt]", r"%[0-9A-Fa-f]{2}", r"\\x[0-9A-Fa-f]{2}", r"\\u[0-9A-Fa-f]{4}", r"[0-9]m")  # the last: colour
_START = "(?:(?<![A-Za-z0-9])|" + "|".join(f"(?<={escape})" for escape in _ESCAPES) + ")"
_END = r"(?![A-Za-z0-9])"
_BREAK = r"(?:\s|\\+[nrt]|[\"'])"  # a line break, as it is or escaped
# Key name, then `=`, `:`, the end of an XML tag, or a pair of quoted words; `'` and `"` may be escaped.
_KEY_NAME = (
    r"(?:api|access|account|auth|client|function|master|private|refresh|secret|security|session|subscription)"
    r"[ _.-]?(?:access[ _.-]?)?(?:key|token|secret|password)(?:[ _-]?id)?"
)
_SET = r"(?:[ _](?:provided|given|value|is|was))?(?:[\"'\\]*\s*(?:=>|[:=>])\s*b?[\"'\\]*|[\"']\s*,\s*b?[\"'])"
_VARIABLE = r"(?![A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?![A-Za-z0-9]))"  # OPENAI_API_KEY is a name, and may be shown
_TEXT = r"[A-Za-z0-9_./+~%=-]"


@dataclass(frozen=True)
class Shape:
    """A kind of key; what group 1 matches is the key, or the whole match where there is no group.

    A text without any of `marks` (in small letters) has none: looking for them is a hundred times faster.
    """

    name: str
    marks: tuple[str, ...]
    pattern: re.Pattern[str]


def _shape(name: str, marks: str, pattern: str, flags: int = 0) -> Shape:
    return Shape(name, tuple(marks.split()), re.compile(pattern, flags))


SHAPES = (
    _shape("anthropic-key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{16,}"),
    _shape("openai-project-key", "sk-", r"sk-(?:proj|svcacct|admin|None|or-v1)-[A-Za-z0-9_-]{16,}"),
    _shape(
        "openai-key",
        "sk-",
        rf"{_START}sk-(?:[A-Za-z0-9]{{20,}}|(?=[\w-]{{0,99}}[0-9])(?=[\w-]{{0,99}}[A-Z])[\w-]{{20,}})",
    ),
    _shape("azure-key", "jqqj9", rf"{_START}[A-Za-z0-9]{{52}}JQQJ9[A-Za-z0-9]{{27}}{_END}"),
    _shape("aws-key-id", "akia asia", rf"{_START}(?:AKIA|ASIA)[A-Z2-7]{{16}}{_END}"),
    _shape(
        "aws-secret", "secret", rf"secret[ _]?(?:access[ _]?)?key{_SET}([A-Za-z0-9/+]{{40}}){_END}", re.IGNORECASE
    ),
    _shape(
        "aws-session-token",
        "iqojb3jpz2lu fwogzxivyxdz fqogzxivyxdz",
        rf"{_START}(?:IQoJb3JpZ2lu|FwoGZXIvYXdz|FQoGZXIvYXdz)[A-Za-z0-9/+=_%-]{{60,}}",
    ),
    _shape("aws-signature", "aws4-hmac", r"AWS4-HMAC-SHA256[^\n]{1,400}?Signature=([0-9a-f]{16,64})"),
    _shape("google-key", "aiza", rf"{_START}AIza[A-Za-z0-9_-]{{35}}(?![A-Za-z0-9_-])"),
    _shape("google-token", "ya29.", rf"{_START}ya29\.[A-Za-z0-9._-]{{16,}}"),
    _shape(
        "private-key",
        "key-----",
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----"
        rf"(?:{_BREAK}*+[A-Za-z0-9+/]{{24,}}+={{0,2}})*+"
        rf"(?:{_BREAK}*+[A-Za-z0-9+/=]*+(?:{_BREAK}*+-----END (?:[A-Z0-9]+ )*PRIVATE KEY-----))?",
    ),
    _shape("bearer-token", "bearer", rf"\bbearer[\s:]+(?={_TEXT}*[0-9])({_TEXT}{{12,}})", re.IGNORECASE),
    _shape(
        "authorization",
        "authorization",
        rf"authorization{_SET}(?:bearer|basic|token|apikey)\s+({_TEXT}{{8,}})",
        re.IGNORECASE,
    ),
    _shape("huggingface-token", "hf_", rf"{_START}hf_[A-Za-z0-9]{{30,}}"),
    _shape("jwt", "eyj", r"eyJ[A-Za-z0-9_-]{8,8000}+\.eyJ[A-Za-z0-9_-]{8,8000}+(?:\.[A-Za-z0-9_-]*)?"),
    _shape(
        "key",
        "key token secret password",
        rf"(?i:{_KEY_NAME}{_SET}){_VARIABLE}((?={_TEXT}*[0-9]){_TEXT}{{8,}}|[A-Za-z]{{24,}})",
    ),
    _shape(
        "key",
        "key token secret password",
        rf"(?i:{_KEY_NAME}(?:[ _](?:provided|given|value|is|was))?)\s+{_VARIABLE}((?=[\w-]*[0-9])[\w-]{{20,}})",
    ),
    _shape(
        "key",
        "key= token= sig= signature=",
        r"(?:[?&]|&amp;)(?i:key|token|sig|signature|[a-z-]{1,40}-token|[a-z-]{1,40}-signature)"
        r"=([^&\s\"'<>(){}\[\]$]{8,})",
    ),
    _shape("password", "://", r"://[^\s/:@]{1,200}:(?!\[redacted:)([^\s/@]{3,200})@"),
)


def shaped(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and kind of everything in a text that looks like a key; these may overlap."""
    small = text.lower()
    for shape in SHAPES:
        if any(mark in small for mark in shape.marks):
            for match in shape.pattern.finditer(text):
                start, end = match.span(1 if shape.pattern.groups else 0)
                yield start, end, shape.name
