"""The cache: what makes a key, what is stored, and what is not."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import replace

import pytest

from generation.router.cache import ReplyCache, key
from generation.router.wire import Call, Message, Reply, Target

TARGET = Target("openai", "direct", "gpt-x")
CALL = Call((Message("system", "be brief"), Message("user", "größer?")), max_output_tokens=50)
REPLY = Reply("Ja – größer.", 12, 5, "stop", "gpt-x-2026", True)


def test_a_key_is_the_sha256_of_model_messages_and_parameters():
    text = (
        '{"messages": [["system", "be brief"], ["user", "größer?"]], "model": "gpt-x", '
        '"parameters": {"max_output_tokens": 50, "temperature": 0.0}, "provider": "openai", "server": {}, '
        '"version": 1}'
    )
    assert key(TARGET, CALL) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("target", "call"),
    [
        (replace(TARGET, model="gpt-y"), CALL),
        (replace(TARGET, provider="gemini"), CALL),
        (replace(TARGET, settings={"base_url": "http://localhost:1"}), CALL),
        (TARGET, replace(CALL, messages=CALL.messages[1:])),
        (TARGET, replace(CALL, messages=(Message("user", "be brief"), CALL.messages[1]))),
        (TARGET, replace(CALL, max_output_tokens=51)),
        (TARGET, replace(CALL, temperature=None)),
    ],
)
def test_what_may_change_a_reply_changes_the_key(target, call):
    assert key(target, call) != key(TARGET, CALL)


def test_what_cannot_change_a_reply_does_not_change_the_key():
    assert key(replace(TARGET, route="azure"), replace(CALL, timeout=5.0)) == key(TARGET, CALL)


def test_a_reply_comes_back_as_it_was_and_its_prompt_is_not_stored(tmp_path):
    cache = ReplyCache(tmp_path)
    assert cache.get(TARGET, CALL) is None
    assert cache.put(TARGET, CALL, REPLY)
    assert ReplyCache(tmp_path).get(TARGET, CALL) == REPLY
    (path,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert path.name == f"{key(TARGET, CALL)}.json"
    assert "be brief" not in path.read_text()


@pytest.mark.parametrize("finish", ["length", "content_filter", ""])
def test_a_reply_that_is_not_whole_is_not_stored(tmp_path, finish):
    cache = ReplyCache(tmp_path)
    assert not cache.put(TARGET, CALL, replace(REPLY, finish=finish))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", json.dumps({"text": 5})])
def test_an_unreadable_file_is_reported_and_counts_as_none(tmp_path, caplog, content):
    cache = ReplyCache(tmp_path)
    cache.put(TARGET, CALL, REPLY)
    path = tmp_path / key(TARGET, CALL)[:2] / f"{key(TARGET, CALL)}.json"
    path.write_text(content)
    with caplog.at_level(logging.WARNING, "rankproof.router"):
        assert cache.get(TARGET, CALL) is None
    assert "asked for anew" in caplog.text
    cache.put(TARGET, CALL, REPLY)
    assert cache.get(TARGET, CALL) == REPLY
