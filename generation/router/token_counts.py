"""How many tokens a text is: by the model's own tokenizer where that is at hand, else an estimate from above."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from generation.router.wire import Message

# What a chat format adds: marks of role and end for every message, and the beginning of the reply.
PER_MESSAGE = 4
PER_CALL = 4
# A tokenizer takes time by the square of an unbroken word's length, so a long text is counted in pieces.
LONGEST_PIECE = 4_096
# Where tiktoken would fetch an encoding from; the name of its copy on disk is this address's SHA-1.
ENCODINGS = "https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
# Encodings that share another one's file.
FILES = {"o200k_harmony": "o200k_base"}
_PIECES = re.compile(
    r"(?P<code>(?=[^\s]{0,64}\d)[A-Za-z0-9+/=_\-]{20,})|(?P<word>[A-Z]?[a-z]+)|(?P<capitals>[A-Z]+)| (?=[A-Za-z])"
    r"|(?P<one>\s+|[\x00-\x7f])|(?P<ideographs>[\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]+)|(?P<other>[^\x00-\x7f])"
)


def estimate(text: str) -> int:
    """Tokens of a text without knowing its tokenizer, meant to be too many rather than too few.

    A token for every 3 letters begun of a word (2 in capitals), for every run of blanks that is not one space before
    a letter, for every digit and mark, for every character of a long word with digits, and for every byte of UTF-8
    beyond ASCII, but 2 for a Chinese, Japanese or Korean character. A third of the characters, the usual rule, is a
    quarter too few for tables of numbers and two thirds too few for Chinese.
    """
    count = 0
    for match in _PIECES.finditer(text):
        length = match.end() - match.start()
        match match.lastgroup:
            case "word":
                count += -(-length // 3)
            case "capitals":
                count += -(-length // 2)
            case "code":
                count += length
            case "one":
                count += 1
            case "ideographs":
                count += 2 * length
            case "other":
                count += len(match[0].encode("utf-8", "surrogatepass"))
    return count


def estimate_messages(messages: Iterable[Message]) -> int:
    """Input tokens of messages by `estimate`, with what a chat format adds."""
    return PER_CALL + sum(PER_MESSAGE + estimate(message.content) for message in messages)


def count_messages(messages: Iterable[Message], encoding: Any) -> int:
    """Input tokens of messages by an encoding of tiktoken, with what a chat format adds."""
    return PER_CALL + sum(PER_MESSAGE + count(message.content, encoding) for message in messages)


def count(text: str, encoding: Any) -> int:
    """Tokens of a text by an encoding of tiktoken; marks such as `<|endoftext|>` count as the letters they are."""
    pieces = (text[start : start + LONGEST_PIECE] for start in range(0, len(text), LONGEST_PIECE))
    return sum(len(encoding.encode(piece, disallowed_special=())) for piece in pieces)


def encoding_of(model: str, folder: Path) -> Any | None:
    """The encoding of one of OpenAI's models, if its file is in `folder`; None else: nothing is fetched.

    `folder` must be where tiktoken looks, which is what `TIKTOKEN_CACHE_DIR` says.
    """
    import tiktoken

    try:
        name = tiktoken.encoding_name_for_model(model)
    except KeyError:
        return None
    address = ENCODINGS.format(name=FILES.get(name, name))
    stored = folder / hashlib.sha1(address.encode()).hexdigest()
    return tiktoken.get_encoding(name) if stored.is_file() else None
