"""Binary frames of `application/vnd.amazon.eventstream`, as Amazon's streams send them.

A frame is: total length and length of the headers (both 4 bytes, big-endian), CRC32 of these eight bytes, headers,
payload, CRC32 of all before it. A header is: length of the name (1 byte), name, type 7 (string), length of the value
(2 bytes), value.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping

from tests.providers.exchange import as_json

STRING = 7
PRELUDE, CHECKSUM = 8, 4


def frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """One frame with string headers."""
    block = b"".join(_header(name, value) for name, value in headers.items())
    total = PRELUDE + CHECKSUM + len(block) + len(payload) + CHECKSUM
    prelude = struct.pack(">II", total, len(block))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + block + payload
    return message + struct.pack(">I", zlib.crc32(message))


def event(kind: str, value: object) -> bytes:
    """An event with a JSON payload."""
    return frame({":event-type": kind, ":content-type": "application/json", ":message-type": "event"}, as_json(value))


def exception(kind: str, text: str) -> bytes:
    """A modelled error within a stream."""
    return frame(
        {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"},
        as_json({"message": text}),
    )


def _header(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    return struct.pack(">B", len(key)) + key + struct.pack(">BH", STRING, len(text)) + text
