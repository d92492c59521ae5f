"""Errors of commands become exit codes and messages without keys."""

from __future__ import annotations

import pytest

from evaluation.errors import EvaluationError, RequestError
from evaluation.judge.generator import CallError
from evaluation.options import run_command
from generation import errors as generation
from ingestion.errors import ConfigError, IngestionError
from tests.planted_keys import planted

CODES = [
    (RequestError, 2),
    (EvaluationError, 2),
    (ConfigError, 2),
    (generation.RequestError, 2),
    (CallError, 1),
    (IngestionError, 1),
    (generation.QuotaError, 1),
    (generation.SpendingCapError, 1),
]


@pytest.mark.parametrize(("kind", "code"), CODES)
def test_an_error_is_one_message_without_keys_and_an_exit_code(kind, code, capsys, monkeypatch):
    known, stranger = planted(31)[3], planted(32)[0]
    monkeypatch.setenv(known.variable, known.value)

    def fail(_):
        raise kind(f"{known.value} and {stranger.value} are refused")

    assert run_command("judge", "usage", [], fail) == code
    assert capsys.readouterr().err == f"judge: [redacted:{known.variable}] and [redacted:anthropic-key] are refused\n"


def test_what_goes_well_ends_with_its_own_code(capsys):
    assert run_command("judge", "usage", ["a=1"], len) == 1
    assert run_command("judge", "usage: judge", ["--help"], lambda arguments: 1) == 0
    assert capsys.readouterr().out == "usage: judge\n"
