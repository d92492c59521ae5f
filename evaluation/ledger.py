"""Who has read the test split: one line a reading in `results/ledger.jsonl`, by digest of the judgments.

A test split that many configurations have read is worth less: the best of them leads by chance.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from filelock import FileLock
from scipy.integrate import quad
from scipy.stats import norm

from evaluation.errors import LedgerError

OPEN_SPLITS = frozenset({"dev", "train", "validation"})  # made to be looked at: their readings are not counted
NORMAL_95 = 2 * 1.959964  # width of a 95 % interval in standard errors


@dataclass(frozen=True)
class Reading:
    """One run that read a sealed split: `configurations` maps each strategy to the digest of all it was."""

    time: str
    run_id: str
    benchmark: str
    digest: str
    split: str
    configurations: Mapping[str, str]


def is_sealed(split: str) -> bool:
    """Whether readings of this split count."""
    return split not in OPEN_SPLITS


def record(path: Path, reading: Reading) -> None:
    """Append a reading, whole or not at all.

    Raises:
        LedgerError: the file cannot be written.
    """
    line = json.dumps(asdict(reading), sort_keys=True, ensure_ascii=False) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock")), path.open("ab") as handle:
            handle.write(line.encode())
    except OSError as error:
        raise LedgerError(f"{path}: cannot be written ({error}); name another one with ledger=<file>") from error


def readers(path: Path, digest: str, split: str) -> set[str]:
    """Digests of the configurations that have read this split of these judgments.

    Raises:
        LedgerError: a line is no reading; the message names it.
    """
    if not path.is_file():
        return set()
    found: set[str] = set()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            reading = Reading(**json.loads(line))
            same = reading.digest == digest and reading.split in (split, "all")
            found |= set(reading.configurations.values()) if same else set()
        except (ValueError, TypeError, AttributeError) as error:
            raise LedgerError(f"{path}, line {number}: not a reading ({error}); mend or remove that line") from error
    return found


def chance(readings: int, comparisons: pd.DataFrame, primary: str) -> float:
    """What the best of that many equal strategies would lead the average one by, in units of the primary metric.

    The expected largest of `readings` normal errors. The size of one strategy's own error comes from the paired
    intervals: a difference of two has twice its variance.
    """
    if readings < 2 or not len(comparisons):
        return 0.0
    rows = comparisons[comparisons["metric"] == primary]
    widths = (rows["hi"] - rows["lo"]).dropna().to_numpy(np.float64)
    if not len(widths):
        return 0.0
    return expected_largest(readings) * float(np.median(widths)) / NORMAL_95 / float(np.sqrt(2))


def expected_largest(n: int) -> float:
    """Expected largest of n independent standard normal values (David and Nagaraja, Order Statistics, 3.1)."""
    return float(quad(lambda x: x * n * norm.pdf(x) * norm.cdf(x) ** (n - 1), -10, 10)[0])
