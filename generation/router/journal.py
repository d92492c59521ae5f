"""What a day's requests cost, in a file that only grows and that several processes share."""

from __future__ import annotations

import json
import os
import uuid
from contextlib import AbstractContextManager
from pathlib import Path

from filelock import FileLock

from generation.errors import RequestError


class Journal:
    """One file a day, `spending-<day>.jsonl`. A line says what a request costs; a later one of its id replaces it.

    What was reserved and never settled, as after a crash, counts in full: its request may have been sent. Amounts are
    whole numbers of nano-dollars, so that sums are exact. Not for several threads at once.

    Args:
        folder: where the files are; made when first needed.
        day: such as `2026-01-31`.
    """

    def __init__(self, folder: Path, day: str) -> None:
        self.path = folder / f"spending-{day}.jsonl"
        self._lock = FileLock(str(self.path) + ".lock")
        self._amounts: dict[str, int] = {}
        self._forget()

    def totals(self) -> tuple[int, int]:
        """Nano-dollars and requests of the day, of all processes.

        Raises:
            RequestError: a line cannot be read.
        """
        if not self.path.exists():
            return 0, 0
        with self._lock:
            self._catch_up()
        return self._total, len(self._amounts)

    def reserve(self, amount: int, cap: int | None, requests: int | None) -> str | None:
        """Write a request down unless it would pass a cap of the day; its id, or None where it would."""
        with self._locked():
            self._catch_up()
            if cap is not None and self._total + amount > cap:
                return None
            if requests is not None and len(self._amounts) >= requests:
                return None
            request = uuid.uuid4().hex
            self._append(request, amount)
        return request

    def settle(self, request: str, amount: int | None) -> None:
        """Write down what it cost; None where it was never sent."""
        with self._locked():
            self._catch_up()
            self._append(request, amount)

    def _locked(self) -> AbstractContextManager[object]:
        """The lock of all processes, in a folder that is there."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        return self._lock.acquire()

    def _forget(self) -> None:
        self._read = self._lines = self._total = 0
        self._amounts.clear()

    def _append(self, request: str, amount: int | None) -> None:
        line = json.dumps({"request": request, "nanodollars": amount}) + "\n"
        with self.path.open("ab") as handle:
            handle.write(line.encode())
            handle.flush()
            os.fsync(handle.fileno())
        self._read += len(line)
        self._lines += 1
        self._count(request, amount)

    def _catch_up(self) -> None:
        """Read what was appended since; a last line that a crash cut short is cut off."""
        if not self.path.exists() or self.path.stat().st_size < self._read:
            self._forget()
        if not self.path.exists():
            return
        with self.path.open("r+b") as handle:
            handle.seek(self._read)
            new = handle.read()
            whole = new.rfind(b"\n") + 1
            if whole < len(new):
                handle.truncate(self._read + whole)
        for line in new[:whole].splitlines():
            self._lines += 1
            self._count(*self._parse(line))
        self._read += whole

    def _parse(self, line: bytes) -> tuple[str, int | None]:
        try:
            content = json.loads(line)
            request, amount = content["request"], content["nanodollars"]
        except (ValueError, KeyError, TypeError) as error:
            raise self._broken() from error
        if not isinstance(request, str) or not (amount is None or (isinstance(amount, int) and amount >= 0)):
            raise self._broken()
        return request, amount

    def _broken(self) -> RequestError:
        return RequestError(
            f"{self.path}, line {self._lines}: not a line of spending; mend or remove it, or remove the file to "
            "begin the day's sum anew"
        )

    def _count(self, request: str, amount: int | None) -> None:
        self._total -= self._amounts.pop(request, 0)
        if amount is not None:
            self._amounts[request] = amount
            self._total += amount
