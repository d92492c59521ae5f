"""Keeps keys out of logs, tracebacks and warnings of the whole process, whoever writes them.

What it cannot cover: what a program prints itself (give it to `Redactor.redact` first), what native code writes to
the file descriptors, core dumps, and child processes, which have to install it themselves. `faulthandler` prints the
names of files and functions and no values, so it may stay on.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any

from generation.errors import RequestError
from generation.router.environment import Environment, current_environment
from generation.router.secrets import Redactor

LOGGERS = (
    "litellm", "LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "httpx", "httpcore", "openai", "botocore", "boto3",
    "urllib3", "google", "mlflow", "rankproof",
)  # fmt: skip
_BROKEN = (TypeError, ValueError, LookupError, AttributeError, RuntimeError)  # what a wrong format or argument raises


class SecretFilter(logging.Filter):
    """Takes secrets out of a record: message, arguments, traceback, stack and extra fields. It lets all pass."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self.redactor = redactor

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record in place; always true."""
        redact = self.redactor.redact
        _redact_message(record, redact)
        if record.exc_info and record.exc_info[0] is not None:
            record.exc_text = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
            record.exc_info = None  # a formatter of JSON would print the exception's own text
        for name, value in list(vars(record).items()):
            if name != "msg" and isinstance(value, str):
                setattr(record, name, redact(value))
        return True


class _Records:
    """Makes log records without secrets: this reaches handlers and loggers that do not exist yet."""

    def __init__(self, before: Callable[..., logging.LogRecord], redactor: Redactor) -> None:
        self.before, self.filter = before, SecretFilter(redactor)

    def __call__(self, *arguments: Any, **named: Any) -> logging.LogRecord:
        record = self.before(*arguments, **named)
        self.filter.filter(record)
        return record


def install_logging(redactor: Redactor) -> Callable[[], None]:
    """Redact every log record of this process from now on; returns what undoes it.

    A second call adds its values to those of the first.
    """
    before = logging.getLogRecordFactory()
    inner = before.before if isinstance(before, _Records) else before
    redactor = redactor.joined(before.filter.redactor) if isinstance(before, _Records) else redactor
    logging.setLogRecordFactory(_Records(inner, redactor))
    mark = SecretFilter(redactor)
    carriers: list[logging.Filterer] = [*logging.getLogger().handlers]
    for logger in map(logging.getLogger, LOGGERS):
        carriers += [logger, *logger.handlers]  # `extra` fields are set after a record is made
    for carrier in carriers:
        for old in [one for one in carrier.filters if isinstance(one, SecretFilter)]:
            carrier.removeFilter(old)
        carrier.addFilter(mark)

    def undo() -> None:
        logging.setLogRecordFactory(before)
        for carrier in carriers:
            carrier.removeFilter(mark)

    return undo


def protect(environment: Environment) -> Callable[[], None]:
    """Keep the keys of an environment out of what this process logs and reports; as `install`."""
    os.environ["HYDRA_FULL_ERROR"] = "1"  # without it Hydra prints an error of its job itself, past the hook
    return install(Redactor(environment.secrets()))


def redacted(text: str) -> str:
    """What a command prints, without keys: those of the environment, if it can be read, and what looks like one."""
    try:
        known = current_environment().secrets()
    except RequestError:
        known = {}
    return Redactor(known).redact(text)


def install(redactor: Redactor) -> Callable[[], None]:
    """Redact logs, tracebacks that nobody caught (also of threads and destructors) and warnings; for commands.

    Returns what undoes it.
    """
    undo_logging = install_logging(redactor)
    hooks = sys.excepthook, threading.excepthook, sys.unraisablehook, warnings.formatwarning

    def show(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
        lines = traceback.format_exception(kind, error, trace)
        print(redactor.redact("".join(lines)), end="", file=sys.stderr, flush=True)

    def in_thread(arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_type is not SystemExit:
            name = arguments.thread.name if arguments.thread else "unknown"
            print(redactor.redact(f"Exception in thread {name}:"), file=sys.stderr)
            show(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)

    def unraisable(arguments: sys.UnraisableHookArgs) -> None:
        print(f"{arguments.err_msg or 'Exception ignored in'} {type(arguments.object).__name__}:", file=sys.stderr)
        show(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)

    def warning(*arguments: Any, **named: Any) -> str:
        return redactor.redact(hooks[3](*arguments, **named))

    sys.excepthook, threading.excepthook, sys.unraisablehook = show, in_thread, unraisable
    warnings.formatwarning = warning

    def undo() -> None:
        sys.excepthook, threading.excepthook, sys.unraisablehook, warnings.formatwarning = hooks
        undo_logging()

    return undo


def _redact_message(record: logging.LogRecord, redact: Callable[[str], str]) -> None:
    """Message and arguments; where they hold a secret, the message is formatted now and the arguments go."""
    try:
        message = record.getMessage()
    except _BROKEN:  # logging would print message and arguments as they are
        message = f"{record.msg} {record.args!r}"
        record.msg, record.args = redact(message), None
        return
    clean = redact(message)
    shown = repr(record.args) if record.args else ""
    if clean != message or redact(shown) != shown:
        record.msg, record.args = clean, None
