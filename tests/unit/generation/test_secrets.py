"""Nothing that is a key stays in a text, a log record or a traceback; everything else stays as it is."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import json
import logging
import subprocess
import sys
import textwrap
import threading
import time
import urllib.parse
import warnings

import numpy as np
import pytest

from generation.router.environment import Environment
from generation.router.guard import install, install_logging
from generation.router.key_shapes import SHAPES
from generation.router.secrets import Redactor, Span, forms, merged, redact
from ingestion.config import ROOT
from tests.planted_keys import planted

KEYS = planted(7)
VALUE = "p/ass+w\"o'r d&%\\ü-0123456789"  # every character that some notation escapes
ESCAPES = {
    "plain": str,
    "url": lambda value: urllib.parse.quote(value, safe=""),
    "url, small hex": lambda value: urllib.parse.quote(value, safe="").replace("%2B", "%2b").replace("%2F", "%2f"),
    "form": urllib.parse.quote_plus,
    "json": json.dumps,
    "json in json": lambda value: json.dumps(json.dumps({"k": value})),
    "json, not ascii": lambda value: json.dumps(value, ensure_ascii=False),
    "repr": repr,
    "html": html.escape,
    "slashes": lambda value: value.replace("/", "\\/"),
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64, url": lambda value: base64.urlsafe_b64encode(value.encode()).decode(),
    "basic": lambda value: base64.b64encode(f"user:{value}".encode()).decode(),
    "base64, one": lambda value: base64.b64encode(f"u{value}and more".encode()).decode(),
    "base64, two": lambda value: base64.b64encode(f"uu{value}m".encode()).decode(),
}


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.shape)
def test_a_key_that_nobody_knows_goes_by_its_shape(key):
    for line in (key.line, f"\x1b[31m{key.line}\x1b[0m", json.dumps({"error": key.line}), f"error:\\n{key.line}"):
        clean = redact(line)
        assert not [piece for piece in key.pieces if piece in clean]
        assert "[redacted:" in clean
        assert redact(clean) == clean


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.shape)
def test_a_known_key_goes_wherever_it_stands(key):
    redactor = Redactor(Environment({key.variable: key.value}).secrets())
    value = key.secret
    for text in (f"x{value}y", value, f"({value})", json.dumps({"v": value}), "/".join(value.splitlines())):
        clean = redactor.redact(text)
        assert not [piece for piece in key.pieces if piece in clean]
        assert f"[redacted:{key.variable}]" in clean or "[redacted:private-key]" in clean


@pytest.mark.parametrize("notation", ESCAPES)
def test_a_known_value_goes_in_every_notation(notation):
    text = f"before <{ESCAPES[notation](VALUE)}> after"
    clean = Redactor({"MY_KEY": VALUE}).redact(text)
    assert "[redacted:MY_KEY]" in clean
    assert clean.startswith("before <")
    assert clean.endswith("> after")
    assert len(clean) < len("before <[redacted:MY_KEY]> after") + 20  # what stands around it in base64 or JSON


@pytest.mark.parametrize(
    "line",
    [
        "<SecretAccessKey>{}</SecretAccessKey>",
        "(b'api-key', b'{}')",
        '{{\\"client_secret\\": \\"{}\\"}}',
        "authorization: Basic {}",
        "wss://host/live?access_token={}&v=1",
        "the api key {} is not valid",
        "postgres://me:{}@host/db",
        "Ocp-Apim-Subscription-Key={}",
        "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1, SignedHeaders=host;x-amz-date, Signature={}",
    ],
)
def test_a_value_without_a_mark_of_its_own_goes_beside_the_name_of_a_key(line):
    value = "".join("0123456789abcdef"[at] for at in np.random.default_rng(8).integers(16, size=40))
    assert value not in redact(line.format(value))
    assert redact(f"beside nothing {value} at all") == f"beside nothing {value} at all"


def test_what_is_left_of_a_key_that_was_cut_goes_too():
    rng = np.random.default_rng(3)
    value = "".join("abcdefghij"[at] for at in rng.integers(10, size=60))
    redactor = Redactor({"K": value})
    assert redactor.redact(f"{value[:12]}...") == "[redacted:K]..."
    assert redactor.redact(f"{value[:40]}...{value[-12:]}") == "[redacted:K]...[redacted:K]"
    assert redactor.redact(f"x{value[-30:]}x") == "x[redacted:K]x"
    assert redactor.redact(f"{value[:11]}...") == f"{value[:11]}..."
    assert redactor.redact(value * 2) == "[redacted:K][redacted:K]"


def test_a_stranger_that_begins_like_a_known_key_goes_whole():
    anthropic, other = planted(1)[0].value, planted(2)[0].value
    assert anthropic[:13] == other[:13]
    redactor = Redactor({"A": anthropic})
    assert redactor.redact(f"{anthropic} {other}") == "[redacted:A] [redacted:anthropic-key]"


def test_short_values_are_words_and_stay():
    assert (
        Redactor({"A_KEY": "ollama", "B_KEY": "", "C_KEY": "test"}).redact("ollama is a test") == "ollama is a test"
    )
    assert forms("none") == []


def test_spans_that_overlap_become_one():
    spans = [Span(0, 12, "a"), Span(0, 40, "b"), Span(45, 50, "c"), Span(48, 60, "d"), Span(60, 61, "e")]
    assert [span[:3] for span in merged(spans)] == [(0, 40, "b"), (45, 60, "d"), (60, 61, "e")]
    assert merged([Span(0, 40, "shape"), Span(2, 20, "known", True)])[0][:3] == (0, 40, "known")


def test_nothing_shows_what_a_redactor_knows():
    assert repr(Redactor({"K": VALUE})) == "Redactor(1 known values)"


ORDINARY = [
    "chunk 9f86d081884c7d65 of document a3f5b2c1d4e6f708, page 3",
    f'"corpus": "{hashlib.sha256(b"corpus").hexdigest()}", "digest": "{hashlib.md5(b"x").hexdigest()}"',
    f"cache key: {hashlib.sha256(b'prompt').hexdigest()}",
    f'{{"key": "{hashlib.sha256(b"artifact").hexdigest()}", "run_id": "{hashlib.md5(b"run").hexdigest()}"}}',
    "arXiv:2605.23950v2, doi:10.48550/arXiv.2605.23950, 2026-11-30T17:53:20Z",
    "task-oriented dialogue, risk-sensitive-reinforcement-learning, sk-learn, desk-research-2024-overview",
    "set ANTHROPIC_API_KEY or AZURE_OPENAI_API_KEY in the environment; api_key=ANTHROPIC_API_KEY",
    "api_key=None, token=None, password: str = '', api_key: str | None, api_key=os.environ['OPENAI_API_KEY']",
    "input_tokens: 12345678, output_tokens=8192, max_tokens=100000, token: 17, tokens per minute 40000",
    "The secret: retrieval augmentation. The key: generalisation. Access tokens: none. Bearer of good news.",
    "bearer authentication with JSON Web Tokens; public-key cryptography; the private key is kept",
    "https://arxiv.org/abs/2605.23950?context=cs.IR&page=12345678#section-4",
    "http://localhost:11434/v1, mailto:someone@example.org, git@github.com:a/b.git",
    "HF_HUB_OFFLINE=1 hf_hub_download sentence-transformers/all-MiniLM-L6-v2 huggingface_hub",
    "AKIA is the mark of a key id; AIza that of Google; eyJ that of a JWT; sk-ant- and ya29. as well",
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
    "Signature strategy=rrf_graph_dedup_mmr nDCG@5=0.6123 [0.58, 0.64] n=330",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_not_mangled(text):
    assert redact(text, {"ANTHROPIC_API_KEY": KEYS[0].value}) == text


def test_figures_and_reports_are_not_mangled():
    rng = np.random.default_rng(5)
    noise = base64.b64encode(rng.bytes(2_000_000)).decode()
    assert redact(noise) == noise
    page = f'<img src="data:image/png;base64,{noise[:100_000]}"><pre>{noise[:5_000]}\n</pre>'
    assert redact(page) == page
    digests = "\n".join(hashlib.sha256(bytes([at, at // 256])).hexdigest()[: 64 - at % 49] for at in range(250))
    assert redact(digests) == digests


def test_our_own_pages_and_documents_are_not_mangled():
    files = [
        path for folder in ("docs", "evaluation", "conf", "corpus/benchmark") for path in (ROOT / folder).rglob("*")
    ]
    texts = [path for path in files if path.suffix in (".md", ".html", ".js", ".css", ".yaml", ".jsonl", ".py")]
    assert len(texts) > 100
    changed = [str(path) for path in texts if redact(text := path.read_text()) != text]
    assert changed == []


def test_patterns_take_time_in_proportion_to_the_text():
    hostile = [
        "a" * 60_000,
        "api_key " * 8_000,
        "-----BEGIN PRIVATE KEY-----" * 2_000,
        "eyJ" * 20_000,
        "://a:" * 12_000,
    ]
    hostile += [
        "-----BEGIN PRIVATE KEY-----" + "A" * 60_000,
        "sk-" * 20_000,
        "bearer " * 9_000,
        "secret key=" * 6_000,
    ]
    for text in hostile:
        for shape in SHAPES:
            start = time.process_time()
            assert sum(1 for _ in shape.pattern.finditer(text)) <= len(text)
            assert time.process_time() - start < 0.5, (shape, text[:30])  # quadratic ones took 1 to 9 seconds


@pytest.fixture
def log():
    """A logger with a handler that writes to a text stream, with redaction installed."""
    stream = io.StringIO()
    logger = logging.getLogger("rankproof.test_secrets")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(message)s %(note)s", defaults={"note": ""}))
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    undo = install_logging(Redactor({"K": VALUE}))
    yield logger, stream
    undo()
    logger.removeHandler(handler)


def test_log_records_lose_keys_wherever_they_are(log):
    logger, stream = log
    stranger = KEYS[0].value
    logger.info("sent %s with %s", "this", VALUE)
    logger.info("in a mapping: %(k)s", {"k": VALUE, "other": stranger})
    logger.warning(f"in the message {stranger}")
    logger.info("too few arguments %s %s", VALUE)  # noqa: PLE1206 - logging would print both
    logger.debug("stack", stack_info=True)
    try:
        try:
            raise ValueError(stranger)
        except ValueError as error:
            raise RuntimeError(VALUE) from error
    except RuntimeError:
        logger.exception("it failed")
    text = stream.getvalue()
    assert VALUE not in text
    assert stranger not in text
    assert "sent this with [redacted:K]" in text
    assert "RuntimeError: [redacted:K]" in text
    assert "ValueError: [redacted:anthropic-key]" in text
    assert "too few arguments %s %s ('[redacted:K]',)" in text


def test_records_without_keys_keep_their_arguments(log, caplog):
    logger, _ = log
    with caplog.at_level(logging.INFO):
        logger.info("ranked %d of %s", 3, "bm25")
    assert (caplog.records[0].msg, caplog.records[0].args) == ("ranked %d of %s", (3, "bm25"))


def test_arguments_that_are_not_printed_are_dropped_where_they_hold_a_key(log, caplog):
    logger, _ = log
    with caplog.at_level(logging.INFO):
        logger.info("%(shown)s", {"shown": "plain", "hidden": VALUE})
    assert (caplog.records[0].getMessage(), caplog.records[0].args) == ("plain", None)


def test_extra_fields_of_the_named_loggers_and_later_handlers():
    undo = install_logging(Redactor({"K": VALUE}))
    try:
        stream, logger = io.StringIO(), logging.getLogger("httpx")
        handler = logging.StreamHandler(stream)  # made after installing, as LiteLLM does when it is imported
        handler.setFormatter(logging.Formatter("%(message)s %(url)s"))
        logger.addHandler(handler)
        logger.error("%s", VALUE, extra={"url": f"https://x.example?k={VALUE}"})
        logger.removeHandler(handler)
        assert VALUE not in stream.getvalue()
        assert stream.getvalue().count("[redacted:K]") == 2
    finally:
        undo()


def test_installing_twice_adds_values_and_undoing_restores_everything():
    before = (logging.getLogRecordFactory(), sys.excepthook, threading.excepthook, sys.unraisablehook)
    before += (warnings.formatwarning, list(logging.getLogger("litellm").filters))
    first = install(Redactor({"A": "first value"}))
    second = install(Redactor({"B": "second value"}))
    record = logging.getLogRecordFactory()("x", 20, "f", 1, "first value, second value", (), None)
    assert record.getMessage() == "[redacted:A], [redacted:B]"
    second()
    first()
    after = (logging.getLogRecordFactory(), sys.excepthook, threading.excepthook, sys.unraisablehook)
    assert (*after, warnings.formatwarning, list(logging.getLogger("litellm").filters)) == before


CRASH = """
    import faulthandler, logging, sys, threading, warnings
    faulthandler.enable()
    from generation.router.guard import install
    from generation.router.secrets import Redactor
    value = sys.stdin.read()
    install(Redactor({"K": value}))
    warnings.warn(f"beware of {value}")
    logging.getLogger("anything").error("no handler: %s", value)
    class Dies:
        def __del__(self):
            raise OSError(value)
    Dies()
    def work():
        raise ValueError(value)
    thread = threading.Thread(target=work, name=f"worker {value}")
    thread.start()
    thread.join()
    def quiet():
        raise SystemExit(value)
    thread = threading.Thread(target=quiet)
    thread.start()
    thread.join()
    raise RuntimeError(f"crashed with {value}")
"""


def test_a_crash_shows_the_error_and_not_the_key():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CRASH)],
        check=False,
        input=VALUE,
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
    )
    assert done.returncode == 1
    assert VALUE not in done.stderr
    assert repr(VALUE)[1:-1] not in done.stderr
    for expected in (
        "beware of [redacted:K]",
        "no handler: [redacted:K]",
        "OSError: [redacted:K]",
        "Exception in thread worker [redacted:K]:",
        "ValueError: [redacted:K]",
        "RuntimeError: crashed with [redacted:K]",
        "Traceback (most recent call last):",
    ):
        assert expected in done.stderr
    assert "SystemExit" not in done.stderr
