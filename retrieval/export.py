"""A sentence-transformers encoder exported to ONNX once and run on the CPU by OpenVINO or onnxruntime.

Transformer, pooling and normalisation are exported together, so the vectors are those of `Encoder.encode`; a load
that does not reproduce them is refused. int8 weights are another model: `measure_loss` says what they cost.
"""

from __future__ import annotations

import importlib.util
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ingestion.artifacts import ArtifactStore
from retrieval import models
from retrieval.errors import ModelLoadError

if TYPE_CHECKING:
    from retrieval.embedding import Embed, Encoder
    from retrieval.vectors import Vectors

Backend = Literal["openvino", "onnxruntime"]
Precision = Literal["fp32", "int8"]
PACKAGES: dict[Backend, tuple[str, ...]] = {"openvino": ("onnx", "openvino"), "onnxruntime": ("onnx", "onnxruntime")}
FILE = "model.onnx"
OPSET = 17
TOLERANCE = 1e-4  # of a vector's components against torch; measured: below 1e-6


@dataclass(frozen=True)
class Loss:
    """What other weights do to vectors: cosine with the exact ones, and share of the k nearest texts that stay."""

    cosine_mean: float
    cosine_min: float
    overlap: float


def missing_backend(backend: Backend) -> str | None:
    """Why the backend cannot run here, with the remedy; None where it can."""
    absent = [name for name in PACKAGES[backend] if importlib.util.find_spec(name) is None]
    return f"{' and '.join(absent)} not installed; pip install 'rankproof[openvino]'" if absent else None


def encode(
    encoder: Encoder,
    backend: Backend,
    texts: Sequence[str],
    label: str = "",
    store: ArtifactStore | None = None,
    precision: Precision = "fp32",
) -> Vectors:
    """What `encoder.encode(texts, label)` gives, by another runtime: the same tokens in the same batches.

    Args:
        encoder: model, prefix and batching.
        backend: the runtime.
        texts: what is embedded.
        label: of the progress bar; none without it.
        store: where the export is kept; without it every process exports anew (2 to 3 s).
        precision: fp32, or int8 weights (onnxruntime only).

    Returns:
        Unit vectors, float32 [n_texts, dims], in the order of the texts.

    Raises:
        ModelLoadError: a package or the model is missing, or the export does not reproduce the vectors of torch.
    """
    return encoder.run(runtime(encoder, backend, store, precision), texts, label)


def runtime(
    encoder: Encoder, backend: Backend, store: ArtifactStore | None = None, precision: Precision = "fp32"
) -> Embed:
    """A function from one batch of texts to their unit vectors; see `encode`."""
    root = None if store is None else store.root
    return _load(encoder.model, encoder.max_length, backend, precision, encoder.threads, root)


def measure_loss(
    encoder: Encoder,
    texts: Sequence[str],
    backend: Backend = "onnxruntime",
    precision: Precision = "int8",
    k: int = 10,
    store: ArtifactStore | None = None,
) -> Loss:
    """Compare an export with torch on texts of one's own; each text asks for its k nearest others.

    Raises:
        ModelLoadError: as `encode`.
        ValueError: fewer than k + 1 texts.
    """
    if len(texts) <= k:
        raise ValueError(f"{len(texts)} texts have no {k} others each; give more, or a smaller k")
    exact, other = encoder.encode(texts), encode(encoder, backend, texts, store=store, precision=precision)
    cosine = (exact.astype(np.float64) * other).sum(axis=1)
    near, found = _nearest(exact, k), _nearest(other, k)
    same = [len(set(one) & set(two)) / k for one, two in zip(near.tolist(), found.tolist(), strict=True)]
    return Loss(float(cosine.mean()), float(cosine.min()), float(np.mean(same)))


def export_onnx(model: str, folder: Path, precision: Precision = "fp32") -> None:
    """Write `model.onnx` into the folder: token ids and mask to unit vectors, batch and length free."""
    import torch

    # a copy of its own: tracing must not touch the encoder that others use
    loaded = models.load_encoder.__wrapped__(model, None)
    names = _inputs(loaded)

    class Whole(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.inner = loaded

        def forward(self, *tensors: Any) -> Any:
            features = dict(zip(names, tensors, strict=True))
            for module in self.inner:
                features = module(features)
            return torch.nn.functional.normalize(features["sentence_embedding"], p=2, dim=1)

    example = loaded.preprocess(list(models.SELF_TEST[:2]))  # of two lengths, so that the mask is in the trace
    free = {name: {0: "batch", 1: "length"} for name in names} | {"vector": {0: "batch"}}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of branches that tracing fixes: `_load` compares the result with torch
        torch.onnx.export(
            Whole().float().eval(),
            tuple(example[name] for name in names),
            str(folder / FILE),
            input_names=names,
            output_names=["vector"],
            dynamic_axes=free,
            opset_version=OPSET,
            dynamo=False,
        )
    if precision == "int8":
        _quantise(folder)


@lru_cache(maxsize=4)
def _load(
    model: str, max_length: int | None, backend: Backend, precision: Precision, threads: int, root: Path | None
) -> Embed:
    """Tokeniser and compiled graph as one function."""
    reason = missing_backend(backend)
    if reason or (backend, precision) == ("openvino", "int8"):
        raise ModelLoadError(reason or "int8 runs in onnxruntime only; set backend=onnxruntime")
    encoder = models.load_encoder(model, max_length)
    names = _inputs(encoder)
    if root is None:
        with tempfile.TemporaryDirectory() as folder:
            export_onnx(model, Path(folder), precision)
            graph = _compile(Path(folder) / FILE, backend, threads)
    else:
        graph = _compile(_kept(ArtifactStore(root), model, precision) / FILE, backend, threads)

    def run(features: Any) -> npt.NDArray[np.float32]:
        return graph({name: features[name].numpy() for name in names})

    vectors = run(encoder.preprocess(list(models.SELF_TEST)))
    exact = encoder.encode(list(models.SELF_TEST), normalize_embeddings=True, show_progress_bar=False)
    models.self_test(model, float(vectors[0] @ vectors[1]), float(vectors[0] @ vectors[2]))
    worst = float(np.abs(vectors - exact).max())
    if precision == "fp32" and not worst <= TOLERANCE:
        raise ModelLoadError(f"model {model!r}: {backend} is {worst:.1e} off the vectors of torch; set backend=torch")
    return lambda texts: run(encoder.preprocess(texts))


def _kept(store: ArtifactStore, model: str, precision: Precision) -> Path:
    spec = {
        "weights": models.weights_digest(model),
        "precision": precision,
        "opset": OPSET,
        "version": 1,
        **{name: version(name) for name in ("torch", "transformers", "sentence-transformers")},
        "quantiser": version("onnxruntime") if precision == "int8" else None,
    }
    return store.ensure("onnx", spec, partial(_build, model, precision))


def _build(model: str, precision: Precision, folder: Path) -> None:
    export_onnx(model, folder, precision)


def _compile(path: Path, backend: Backend, threads: int) -> Callable[[Any], npt.NDArray[np.float32]]:
    """The graph as a function from named arrays to vectors."""
    if backend == "openvino":
        import openvino

        wanted = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": threads,
            "INFERENCE_PRECISION_HINT": "f32",  # the default may be bf16 where the CPU has it
        }
        compiled = openvino.Core().compile_model(str(path), "CPU", wanted)
        return lambda inputs: np.array(compiled(inputs)[0])  # a copy: the result's memory is used again
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda inputs: np.asarray(session.run(None, inputs)[0])


def _quantise(folder: Path) -> None:
    """Weights of matrix products as int8, activations on the fly."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    whole = folder / "whole.onnx"
    (folder / FILE).rename(whole)
    # a scale per column: with one per matrix MiniLM's mean cosine falls from .993 to .946
    quantize_dynamic(whole, folder / FILE, weight_type=QuantType.QInt8, per_channel=True)
    whole.unlink()


def _inputs(encoder: Any) -> list[str]:
    """Which of the tokeniser's columns the transformer reads, in a fixed order."""
    features = encoder.preprocess([models.SELF_TEST[0]])
    return [name for name in ("input_ids", "attention_mask", "token_type_ids") if name in features]


def _nearest(vectors: Vectors, k: int) -> npt.NDArray[np.int64]:
    """Rows of the k nearest others, int64 [n, k]; ties by the smaller row."""
    scores = np.round(vectors.astype(np.float64) @ vectors.T.astype(np.float64), 6)
    np.fill_diagonal(scores, -np.inf)
    return np.argsort(-scores, axis=1, kind="stable")[:, :k].astype(np.int64)
