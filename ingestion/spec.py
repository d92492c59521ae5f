"""Parameters of ingestion, as `conf/ingest` gives them."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class IngestSpec:
    """Limits of one file's extraction, and what is done with the results.

    timeout: seconds for one file. memory_mb: address space of a worker, MiB (Linux only); 0 for no limit. max_pages:
    a longer file is refused. workers: processes; 0 for one per CPU. references: whether reference lists are handed to
    retrieval. strict: a file that fails makes the run fail.
    """

    timeout: float = 60.0
    memory_mb: int = 2048
    max_pages: int = 2000
    workers: int = 0
    references: bool = False
    strict: bool = False

    def __post_init__(self) -> None:
        if self.timeout <= 0:
            raise ValueError(f"timeout={self.timeout}: must be more than 0 seconds")
        if self.max_pages < 1 or self.workers < 0:
            raise ValueError("max_pages must be at least 1, workers at least 0 (0: one per CPU)")
        if self.memory_mb and self.memory_mb < 256:
            raise ValueError(f"memory_mb={self.memory_mb}: a worker needs at least 256, 0 for no limit")

    @property
    def processes(self) -> int:
        """How many worker processes run at most."""
        usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        return self.workers or usable or 1
