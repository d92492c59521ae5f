"""Replies that need not be asked for again, on disk, keyed by model, messages and parameters."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import asdict, fields
from pathlib import Path

from generation.router.wire import Call, Reply, Target
from ingestion.artifacts import write_atomic

VERSION = 1  # part of every key: raise it where what a reply means changes
PLACES = ("base_url", "endpoint")  # servers that give names to models as they like

_LOG = logging.getLogger("rankproof.router")


def key(target: Target, call: Call) -> str:
    """The sha256 of what makes a reply: provider, model, server where it names its own models, messages, parameters.

    The route is not in it, since a vendor's model is the same on each, nor is the timeout.
    """
    content = {
        "version": VERSION,
        "provider": target.provider,
        "model": target.model,
        "server": {name: target.settings[name] for name in PLACES if name in target.settings},
        "messages": [[message.role, message.content] for message in call.messages],
        "parameters": {"max_output_tokens": call.max_output_tokens, "temperature": call.temperature},
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


class ReplyCache:
    """A folder of replies, one file each, whole or not at all; neither prompts nor keys are in it.

    A sampled reply (`temperature` above 0) is stored like any other: who wants several asks without a cache.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, target: Target, call: Call) -> Reply | None:
        """The stored reply, None where there is none; an unreadable file is logged and counts as none."""
        path = self._path(target, call)
        try:
            content = json.loads(path.read_bytes())
            return _reply(content)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            _LOG.warning("cached reply %s is unreadable (%s) and is asked for anew", path, type(error).__name__)
            return None

    def put(self, target: Target, call: Call, reply: Reply) -> bool:
        """Store a reply that is whole (`finish` is `stop`); returns whether it was stored."""
        if reply.finish != "stop":
            return False
        write_atomic(self._path(target, call), json.dumps(asdict(reply), ensure_ascii=False))
        return True

    def _path(self, target: Target, call: Call) -> Path:
        name = key(target, call)
        return self.folder / name[:2] / f"{name}.json"


def _reply(content: dict[str, object]) -> Reply:
    """A reply of stored fields, each of its type."""
    kinds = {"text": str, "input_tokens": int, "output_tokens": int, "finish": str, "model": str, "counted": bool}
    values = {name.name: content[name.name] for name in fields(Reply)}
    for name, value in values.items():
        if not isinstance(value, kinds[name]):
            raise TypeError(name)
    return Reply(**values)  # type: ignore[arg-type]
