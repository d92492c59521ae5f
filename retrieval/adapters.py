"""Bottleneck adapters (Houlsby et al. 2019; Pfeiffer et al. 2021) for BERT, from the files of the `adapters` library.

That library needs a transformers older than ours, so its sequential adapter after the feed-forward block is computed
here, from its own `adapter_config.json` and weights. What it can do beyond that is refused.
"""

from __future__ import annotations

import copy
import importlib.util
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ingestion.artifacts import file_digest, fingerprint
from retrieval import models
from retrieval.errors import ModelLoadError

CONFIG = "adapter_config.json"
WEIGHTS = ("adapter.safetensors", "pytorch_adapter.bin")
KEY = re.compile(r"(?:.*\.)?encoder\.layer\.(\d+)\.output\.adapters\.[^.]+\.(.+)")
# What is not computed here, with the only value that means the same as its absence
PLAIN: Mapping[str, tuple[object, ...]] = {
    "architecture": (None, "seq_bn"),
    "mh_adapter": (False, None),
    "cross_adapter": (False, None),
    "inv_adapter": (None,),
    "is_parallel": (False, None),
    "phm_layer": (False, None),
    "use_gating": (False, None),
}


@dataclass(frozen=True)
class Bottleneck:
    """How an adapter is wired, as its configuration names it; the sizes follow from the weights."""

    non_linearity: str
    original_ln_before: bool
    original_ln_after: bool
    residual_before_ln: bool | str
    adapter_residual_before_ln: bool
    ln_before: bool
    ln_after: bool
    scaling: float
    leave_out: tuple[int, ...]

    @staticmethod
    def of(config: Mapping[str, Any], name: str) -> Bottleneck:
        """Read the `config` part of an `adapter_config.json`; what it leaves out has the library's default.

        Raises:
            ModelLoadError: it asks for what is not computed here.
        """
        odd = {key: config[key] for key, plain in PLAIN.items() if config.get(key) not in plain}
        scaling = config.get("scaling", 1.0)
        if not isinstance(scaling, float | int):
            odd["scaling"] = scaling
        if config.get("residual_before_ln") == "post_add" and not config.get("original_ln_before"):
            odd["residual_before_ln"] = "post_add"  # there is no addition to take it after
        if not config.get("output_adapter") or odd:
            said = ", ".join(f"{key}={value!r}" for key, value in sorted(odd.items())) or "no output_adapter"
            raise ModelLoadError(f"adapter {name!r} is no sequential bottleneck after the output block ({said})")
        return Bottleneck(
            str(config.get("non_linearity", "relu")),
            bool(config.get("original_ln_before", False)),
            bool(config.get("original_ln_after", True)),
            config.get("residual_before_ln", True),
            bool(config.get("adapter_residual_before_ln", False)),
            bool(config.get("ln_before", False)),
            bool(config.get("ln_after", False)),
            float(scaling),
            tuple(config.get("leave_out") or ()),
        )

    @property
    def tensors(self) -> tuple[str, ...]:
        """What a layer must hold: weight and bias of the way down, then of the way up, then of norms of its own."""
        modules = [f"adapter_down.{int(self.ln_before)}", "adapter_up"]
        modules += ["adapter_norm_before"] * self.ln_before + ["adapter_norm_after"] * self.ln_after
        return tuple(f"{module}.{part}" for module in modules for part in ("weight", "bias"))


@dataclass(frozen=True)
class Adapter:
    """An adapter's wiring and its tensors: layer, then what the file calls them (`adapter_down.0.weight`)."""

    name: str
    wiring: Bottleneck
    layers: Mapping[int, Mapping[str, Any]]


def find_adapter(adapter: str, download: bool = False) -> Path:
    """The folder of an adapter's files: a local one, then the hub cache, then (`download`, not offline) the hub.

    Raises:
        ModelLoadError: it cannot be had; the message names the ways to get it.
    """
    folder = Path(adapter)
    if _complete(folder):
        return folder
    if (cached := _hub_cache(adapter)) is not None:
        return cached
    if download and not models.offline():
        return _download(adapter)
    raise ModelLoadError(f"adapter {adapter!r} is not here; {remedy(adapter)}")


def remedy(adapter: str) -> str:
    """The ways to get an adapter."""
    return f"name a local folder that holds {CONFIG} and {WEIGHTS[1]}, or download it once: hf download {adapter}"


def missing_adapter(adapter: str) -> str | None:
    """Why an adapter cannot be used here, or None; nothing is loaded."""
    try:
        find_adapter(adapter)
    except ModelLoadError as error:
        return str(error) if models.offline() or Path(adapter).is_dir() else None
    return None


def adapter_digest(adapter: str) -> str:
    """Sha256 (hex) over configuration and weights.

    Raises:
        ModelLoadError: the adapter is not here.
    """
    folder = find_adapter(adapter, download=True)
    return fingerprint({name: file_digest(folder / name) for name in (CONFIG, _weights(folder).name)})


def read_adapter(adapter: str) -> Adapter:
    """Wiring and float32 tensors of an adapter.

    Raises:
        ModelLoadError: it is not here, its files are damaged, or it is of another architecture.
    """
    folder = find_adapter(adapter, download=True)
    try:
        config = json.loads((folder / CONFIG).read_text())["config"]
        tensors = _read_tensors(_weights(folder))
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise ModelLoadError(f"adapter {adapter!r} cannot be read: {error}; {remedy(adapter)}") from error
    if not isinstance(config, Mapping):
        raise ModelLoadError(f"adapter {adapter!r}: {CONFIG} holds no configuration of its own; {remedy(adapter)}")
    layers: dict[int, dict[str, Any]] = {}
    for key, tensor in tensors.items():
        found = KEY.fullmatch(key)
        if found is None:
            raise ModelLoadError(f"adapter {adapter!r}: {key} belongs to no BERT output block")
        layers.setdefault(int(found[1]), {})[found[2]] = tensor.float()
    return Adapter(adapter, Bottleneck.of(config, adapter), layers)


def adapted(base: Any, adapter: Adapter) -> Any:
    """A BERT encoder with the adapter in its layers; it shares every weight with `base`, which stays as it is.

    Raises:
        ModelLoadError: the adapter was made for another number of layers or another width.
    """
    _check(base, adapter)
    shared = {id(tensor): tensor for tensor in (*base.parameters(), *base.buffers())}
    model = copy.deepcopy(base, shared)
    activation = _activation(adapter)
    for layer, tensors in adapter.layers.items():
        block = model.encoder.layer[layer].output
        block.forward = partial(_output, block, adapter.wiring, tensors, activation)
    return model


def _output(
    block: Any, wiring: Bottleneck, tensors: Mapping[str, Any], activation: Any, hidden: Any, residual: Any
) -> Any:
    """What a BertOutput gives with an adapter in it: `Adapter` and `BottleneckLayer` of adapters 1.3.

    With the Pfeiffer wiring: h = dense(hidden), LayerNorm(h + up(act(down(LayerNorm(h + residual)))) + residual).
    """
    from torch.nn.functional import layer_norm, linear

    def norm(name: str, value: Any) -> Any:
        return layer_norm(value, value.shape[-1:], tensors[f"{name}.weight"], tensors[f"{name}.bias"])

    hidden = block.dropout(block.dense(hidden))
    added = hidden + residual
    around = {True: hidden, "post_add": added}.get(wiring.residual_before_ln)
    if wiring.original_ln_before:
        hidden = block.LayerNorm(added)
    around = hidden if around is None else around
    inner = norm("adapter_norm_before", hidden) if wiring.ln_before else hidden
    down, up = wiring.tensors[:2], wiring.tensors[2:4]
    inner = activation(linear(inner, *(tensors[name] for name in down)))
    inner = linear(inner, *(tensors[name] for name in up)) * wiring.scaling
    if wiring.adapter_residual_before_ln:
        inner = inner + around
    if wiring.ln_after:
        inner = norm("adapter_norm_after", inner)
    if not wiring.adapter_residual_before_ln:
        inner = inner + around
    return block.LayerNorm(inner + residual) if wiring.original_ln_after else inner


def _activation(adapter: Adapter) -> Any:
    from transformers.activations import ACT2FN

    name = adapter.wiring.non_linearity.lower().replace("leakyrelu", "leaky_relu")  # the library's own name for it
    if name not in ACT2FN:
        raise ModelLoadError(f"adapter {adapter.name!r}: non_linearity={name!r} is none that transformers knows")
    return ACT2FN[name]


def _check(base: Any, adapter: Adapter) -> None:
    number, width = len(base.encoder.layer), base.config.hidden_size
    if set(adapter.layers) != set(range(number)) - set(adapter.wiring.leave_out):
        layers = sorted(adapter.layers)
        raise ModelLoadError(f"adapter {adapter.name!r} holds layers {layers}; the model has {number}")
    for layer, tensors in adapter.layers.items():
        absent = [name for name in adapter.wiring.tensors if name not in tensors]
        if absent:
            raise ModelLoadError(f"adapter {adapter.name!r}: layer {layer} has no {absent[0]}")
        down, up = (tuple(tensors[name].shape) for name in (adapter.wiring.tensors[0], adapter.wiring.tensors[2]))
        if down != up[::-1] or up[0] != width:
            raise ModelLoadError(f"adapter {adapter.name!r}: layer {layer} is {up[0]} wide; the model is {width}")


def _complete(folder: Path) -> bool:
    return (folder / CONFIG).is_file() and any((folder / name).is_file() for name in WEIGHTS)


def _weights(folder: Path) -> Path:
    return next(folder / name for name in WEIGHTS if (folder / name).is_file())


def _read_tensors(path: Path) -> Mapping[str, Any]:
    tensors: Mapping[str, Any]
    if path.suffix == ".safetensors":
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            tensors = load_file(path)
        except SafetensorError as error:
            raise ValueError(str(error)) from error
        return tensors
    import torch

    serialization: Any = torch.serialization  # its refusal of what is no tensor is an error of a module that we ban
    try:
        tensors = torch.load(path, map_location="cpu", weights_only=True)
    except (EOFError, serialization.pickle.UnpicklingError) as error:
        raise ValueError((str(error) or "the file ends early").splitlines()[0]) from error
    return tensors


def _hub_cache(adapter: str) -> Path | None:
    if importlib.util.find_spec("huggingface_hub") is None:
        return None
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = [try_to_load_from_cache(adapter, name) for name in (CONFIG, *WEIGHTS)]
    except HFValidationError:  # a path is no hub id
        return None
    folders = [Path(path).parent for path in found if isinstance(path, str)]
    return folders[0] if len(folders) > 1 and _complete(folders[0]) else None


def _download(adapter: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(adapter, allow_patterns=[CONFIG, *WEIGHTS]))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise ModelLoadError(
            f"adapter {adapter!r} is not here and the hub did not give it ({said[0]}); {remedy(adapter)}"
        ) from error
    if not _complete(folder):
        raise ModelLoadError(f"adapter {adapter!r}: the hub holds no adapter under this name; {remedy(adapter)}")
    return folder
