"""Objects out of text in pieces, however it is broken."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generation.json_lines import LONGEST, MOST_LINES, JsonLines

KEYS = ("claim", "end")


def read(text, size=0):
    """All objects and the number of unreadable lines; `size` characters at a time."""
    lines = JsonLines(KEYS)
    pieces = [text[at : at + size] for at in range(0, len(text), size)] if size else [text]
    return [item for piece in pieces for item in lines.feed(piece)] + lines.finish(), lines.unreadable


CASES = {
    '{"claim": "a"}\n{"end": true}': ([{"claim": "a"}, {"end": True}], 0),
    '{"claim": "a"} {"claim": "b"}\r\n\r\n{"end": true}\r\n': ([{"claim": "a"}, {"claim": "b"}, {"end": True}], 0),
    '```json\n{"claim": "a"}\n```': ([{"claim": "a"}], 0),
    '[{"claim": "a"},\n {"end": true}]': ([{"claim": "a"}, {"end": True}], 0),
    '{\n "claim": "a",\n "citations": [\n  {"source": "S1"}\n ]\n}\n': (
        [{"claim": "a", "citations": [{"source": "S1"}]}], 0
    ),
    'Here you are:\n{"claim": "a"}\nDone.': ([{"claim": "a"}], 2),
    '1. {"claim": "a"}\n- {"claim": "b"} (sure)': ([{"claim": "a"}, {"claim": "b"}], 3),
    '{"claim": "a\n{"claim": "b"}\n': ([{"claim": "b"}], 1),
    '{"claim": "a", }\n{"end": true}': ([{"end": True}], 1),
    '{"claim": "a"': ([], 1),
    '{broken}\n{broken}': ([], 2),
    "": ([], 0),
    "[1, 2]\ntrue\n\"text\"": ([], 3),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CASES.items())
def test_what_is_read_and_what_is_counted(text, expected):
    assert read(text) == expected
    assert read(text, 1) == expected
    assert read(text, 7) == expected


def test_an_object_comes_as_soon_as_its_line_is_whole():
    lines = JsonLines(KEYS)
    assert lines.feed('{"claim": ') == []
    assert lines.feed('"a"}') == []
    assert lines.feed('\n{"claim"') == [{"claim": "a"}]
    assert lines.finish() == []
    assert lines.unreadable == 1


def test_what_never_ends_is_given_up():
    found, unreadable = read('{"claim": [\n' + "1,\n" * (MOST_LINES + 5) + '{"end": true}')
    assert found == [{"end": True}]
    assert unreadable == MOST_LINES + 6
    assert read('{"claim": "' + "x" * LONGEST) == ([], 1)


@pytest.mark.parametrize("text", ['{"a": ' * 20_000, '{"end": ' + "9" * 5_000 + "}", "[" * 50_000, "{" * 5_000])
def test_what_breaks_a_parser_is_unreadable(text):
    assert read(text)[0] == []


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=6,
)
ITEMS = st.lists(st.dictionaries(st.text(), JSON, max_size=3).map(lambda item: {"claim": "x", **item}), max_size=6)


@given(ITEMS, st.sampled_from(["\n", "\r\n", " ", "\n\n", ",\n"]), st.sampled_from([None, 1]), st.integers(0, 9))
def test_whatever_is_written_as_json_comes_back(items, between, indent, size):
    if indent and between in (" ", ",\n"):
        between = "\n"
    text = between.join(json.dumps(item, indent=indent, ensure_ascii=False) for item in items)
    found, unreadable = read(text, size)
    if all(len(json.dumps(item, indent=1).split("\n")) <= MOST_LINES for item in items):
        assert found == items
        assert unreadable == 0


@given(st.text('{}[]",: \\\nabcltimen', max_size=80), st.integers(0, 5))
def test_any_text_gives_objects_and_never_an_error(text, size):
    found, unreadable = read(text, size)
    assert all(isinstance(item, dict) for item in found)
    assert (found, unreadable) == read(text)
