"""Messages between parent and worker: 4 bytes of length, then the bytes, over a pipe."""

from __future__ import annotations

import os
import struct

_LENGTH = struct.Struct("!I")
_BLOCK = 1 << 16


def send(descriptor: int, message: bytes) -> None:
    """Write one message.

    Raises:
        OSError: the other end is closed.
    """
    data = memoryview(_LENGTH.pack(len(message)) + message)
    while data:
        data = data[os.write(descriptor, data) :]


def receive(descriptor: int) -> bytes | None:
    """Read one message; None where the other end was closed, also in mid-message."""
    header = _exactly(descriptor, _LENGTH.size)
    return None if header is None else _exactly(descriptor, _LENGTH.unpack(header)[0])


def _exactly(descriptor: int, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        block = os.read(descriptor, min(_BLOCK, size - len(data)))
        if not block:
            return None
        data += block
    return bytes(data)
