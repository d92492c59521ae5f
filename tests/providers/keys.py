"""Keys in the shape each vendor gives them, from a seeded generator: none of them stands in a file."""

from __future__ import annotations

import string

import numpy as np

WORDS = string.ascii_letters + string.digits
URL_SAFE = WORDS + "-_"
BASE64 = WORDS + "+/"
BASE32 = string.ascii_uppercase + "234567"


def letters(generator: np.random.Generator, count: int, alphabet: str = WORDS) -> str:
    """So many random characters."""
    return "".join(alphabet[index] for index in generator.integers(len(alphabet), size=count))


def anthropic_key(generator: np.random.Generator) -> str:
    """108 characters, version in front, `AA` behind."""
    return "-".join(("sk", "ant", "api03", letters(generator, 93, URL_SAFE) + "AA"))


def openai_key(generator: np.random.Generator) -> str:
    """A project key: 164 characters with the vendor's mark in the middle."""
    mark = "".join(("T3", "Blbk", "FJ"))
    return "-".join(("sk", "proj", letters(generator, 74, URL_SAFE) + mark + letters(generator, 74, URL_SAFE)))


def azure_key(generator: np.random.Generator) -> str:
    """32 hexadecimal digits."""
    return letters(generator, 32, "0123456789abcdef")


def google_key(generator: np.random.Generator) -> str:
    """39 characters."""
    return "".join(("AI", "za", letters(generator, 35, URL_SAFE)))


def compatible_key(generator: np.random.Generator) -> str:
    """The shape that self-hosted gateways give."""
    return "-".join(("sk", letters(generator, 22)))


def aws_keys(generator: np.random.Generator) -> tuple[str, str]:
    """Access key id (20 characters) and secret (40)."""
    return "".join(("AK", "IA", letters(generator, 16, BASE32))), letters(generator, 40, BASE64)


def bedrock_key(generator: np.random.Generator) -> str:
    """A Bedrock API key: base64 behind a mark."""
    return "".join(("AB", "SK", letters(generator, 126, BASE64), "=="))


def google_token(generator: np.random.Generator) -> str:
    """An OAuth access token."""
    return ".".join(("ya29", "c", letters(generator, 180, URL_SAFE)))
