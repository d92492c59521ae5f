"""A process that handles keys and tries hard to lose them: run by `test_key_leaks.py`, which then looks for them.

`python -m tests.e2e.leak_victim <folder> [unguarded]`; it reads `{"entries": [{"route", "environ"}], "lines"}`, where
`lines` show keys that nobody knows.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import sys
import threading
import warnings
from pathlib import Path
from urllib.parse import quote

from generation.errors import GenerationError
from generation.router.environment import Environment, read_environment
from generation.router.guard import install
from generation.router.secrets import Redactor
from generation.router.wire import Call, Message

TALKERS = (
    "litellm",
    "LiteLLM",
    "httpx",
    "openai",
    "botocore.auth",
    "urllib3.connectionpool",
    "mlflow",
    "some.library",
)
CALL = Call((Message("user", "Where does the key lie?"),), timeout=20.0)


def main(folder: Path, guarded: bool) -> None:
    """Everything, and a crash at the end."""
    given = json.load(sys.stdin)
    entries = [{**os.environ, **entry["environ"]} for entry in given["entries"]]
    environments = [read_environment(folder, environ) for environ in [dict(os.environ), *entries]]
    secrets = environments[0].secrets()
    for number, environment in enumerate(environments):
        new = {name: value for name, value in environment.secrets().items() if value not in secrets.values()}
        secrets |= {f"{name}#{number}": value for name, value in new.items()}
    if guarded:
        install(Redactor(secrets))
    logging.basicConfig(
        filename=folder / "log.txt", level=logging.DEBUG, format="%(relativeCreated)d %(name)s %(message)s"
    )
    leak_into_logs(secrets, given["lines"])
    if guarded:
        errors = ask_everyone(folder, [entry["route"] for entry in given["entries"]], environments[1:])
        store(folder, environments[0], errors)
    crash([*secrets.values(), *given["lines"]])


def leak_into_logs(secrets: dict[str, str], lines: list[str]) -> None:
    """Keys as libraries log them: in the message, as arguments, in exceptions, encoded, in fields."""
    for name, value in secrets.items():
        for talker in TALKERS:
            logger = logging.getLogger(talker)
            logger.debug("sent %s with header %r", name, {"x-api-key": value})
            logger.debug(f"GET https://host/path?key={quote(value, safe='')}")
        logging.info("basic %s, json %s", base64.b64encode(f"user:{value}".encode()).decode(), json.dumps([value]))
        logging.info("too few %s %s", value)  # noqa: PLE1206 - logging prints its arguments as they are
        warnings.warn(f"{name} is {value}", stacklevel=1)
    for line in lines:
        for talker in TALKERS:
            logging.getLogger(talker).debug(line)
        try:
            raise ValueError(line)
        except ValueError:
            logging.exception("as text and in the traceback: %s", line)


def ask_everyone(folder: Path, routes: list[str], environments: list[Environment]) -> list[str]:
    """Ask every server, whole and in pieces, through the real client; returns what the errors say."""
    from generation.router.open import open_router

    limits = "routes: {anthropic/bedrock: {output_tpm: off}, gemini/direct: {output_tpm: off}}"  # none need wait
    (folder / "router.yaml").write_text(f"folder: {folder / 'router'}\nretry: {{base: 0.01}}\n{limits}\n")
    errors = []
    for number, (route, environment) in enumerate(zip(routes, environments, strict=True)):
        on_text = None if number % 2 else lambda text: print(text, end="")
        router = open_router(folder / "router.yaml", None, route, None, environment)
        try:
            print(router.ask(CALL, on_text).reply.text)
        except GenerationError as error:
            print(f"generation: {error}")
            print(f"{router!r} {router.chain!r} {environment!r}", file=sys.stderr)
            logging.exception("%s failed", route)
            errors.append(str(error))
        router.save_state()
    return errors


def store(folder: Path, environment: Environment, errors: list[str]) -> None:
    """A results folder as the runner writes it, with what failed, and MLflow's view of it."""
    from evaluation import tracking
    from tests.e2e.test_tracking import manifest_of, write_folder

    arms = {
        f"arm{number}": {"state": "absent", "reason": error, "config": {"environment": repr(environment), "e": error}}
        for number, error in enumerate(errors[:8])
    }
    arms["arm0"]["config"]["all"] = errors
    arms["bm25"] = {"state": "ran", "reason": "", "config": {}, "latency_p50_ms": 1.5, "index_bytes": 10}
    results = write_folder(folder / "run", manifest_of("1eaf"), arms, {"bm25": 0.5})
    (results / "report.md").write_text("\n".join(errors))
    tracking.ROOT = folder
    tracking.log_results(results, f"sqlite:///{folder / 'mlflow.db'}", "leaks")


def crash(texts: list[str]) -> None:
    """An error that nobody catches, with a cause, in a thread and in the program."""

    def fail() -> None:
        try:
            raise KeyError(*texts)
        except KeyError as error:
            raise RuntimeError("\n".join(texts)) from error

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    fail()


if __name__ == "__main__":
    main(Path(sys.argv[1]), "unguarded" not in sys.argv)
