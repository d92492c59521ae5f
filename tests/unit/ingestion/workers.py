"""Chunkers that misbehave inside of the worker process, as a hostile file makes native code misbehave."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from typing import ClassVar

from ingestion.document import ChunkSpan, ExtractedDocument


@dataclass(frozen=True)
class WholeChunker:
    """One chunk per document, except where the text asks for trouble."""

    VERSION: ClassVar[int] = 1

    def chunk(self, document: ExtractedDocument) -> list[ChunkSpan]:
        os.write(1, b"noise of native code on stdout\n")
        os.write(2, b"noise of native code on stderr\n")
        if "please crash" in document.text:
            os.kill(os.getpid(), signal.SIGSEGV)
        if "please hang" in document.text:
            time.sleep(60)
        if "please eat memory" in document.text:
            bytearray(1 << 40)
        if "please fail" in document.text:
            raise IndexError("a bug in the worker")
        return [ChunkSpan(0, len(document.text), "", "body")]


@dataclass(frozen=True)
class CountingChunker:
    """The chunk's section is the worker's process id: tells which process did the work."""

    VERSION: ClassVar[int] = 1

    def chunk(self, document: ExtractedDocument) -> list[ChunkSpan]:
        return [ChunkSpan(0, len(document.text), str(os.getpid()), "body")]
