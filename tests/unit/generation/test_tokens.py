"""The estimate against a count by hand and against a real vocabulary."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from generation.router.token_counts import encoding_of
from generation.tokens import estimate

PROSE = (
    "An answer is grounded when each of its claims can be traced to a passage that the reader may open. What can be"
    " traced is limited by what was put before the generator, so we begin with the context: under a budget of 1,000"
    " words, BM25 shows 31.4 % of the judged evidence of CL-SciSumm, and for 12 % of its questions it shows none."
    " Retrieval effectiveness decreases monotonically; heteroscedasticity was (p < .05) unremarkable in 2019."
)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("the passage", 3),  # 1; seven letters: one over six, 1 + 1
        ("heteroscedasticity", 4),  # eighteen letters: 1 + 12 / 4
        ("in 2019", 4),  # 1; a blank and twice two digits
        ("(0.719)", 6),  # four marks and numbers of 1 and 3 digits: 1 + 1 + 1 + 2 + 1
        ("é", 1),
        ("語", 2),  # three bytes, less one
        ("\ud800", 2),
    ],
)
def test_the_estimate_by_hand(text, count):
    assert estimate(text) == count


def test_the_estimate_is_above_a_real_count_but_not_far(monkeypatch):
    package = find_spec("litellm")
    if package is None or find_spec("tiktoken") is None:
        pytest.skip("litellm brings the vocabulary")
    folder = Path(package.submodule_search_locations[0]) / "litellm_core_utils" / "tokenizers"
    monkeypatch.setitem(os.environ, "TIKTOKEN_CACHE_DIR", str(folder))
    encoding = encoding_of("gpt-4o-mini", folder)
    if encoding is None:
        pytest.skip("no vocabulary at hand")
    count = len(encoding.encode(PROSE))
    assert count <= estimate(PROSE) <= 1.35 * count
