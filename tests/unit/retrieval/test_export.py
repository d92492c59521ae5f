"""Exported encoders against torch, and against pooling by hand on a tiny BERT."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ingestion.artifacts import ArtifactStore
from retrieval import export
from retrieval.embedding import Encoder
from retrieval.errors import ModelLoadError
from retrieval.export import encode, export_onnx, measure_loss, missing_backend
from tests.unit.retrieval.tiny_models import WORDS, rows, save_bert

BACKENDS = ("openvino", "onnxruntime")
MINILM = Encoder("all-MiniLM-L6-v2", "", None, 32, 2)
# 40 texts of 1 to 400 words: one is longer than the 256 tokens that MiniLM reads
TEXTS = [str(row["text"]) for row in rows()] + [" ".join((WORDS * 20)[: 5 * n * n + 1]) for n in range(10)]


@pytest.fixture(autouse=True)
def runtimes() -> None:
    for name in ("onnx", *BACKENDS):
        pytest.importorskip(name)


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> ArtifactStore:
    """One for all tests: what one exports, the next finds."""
    return ArtifactStore(tmp_path_factory.mktemp("artifacts"))


@pytest.mark.neural
@pytest.mark.parametrize("backend", BACKENDS)
def test_vectors_are_those_of_torch(backend, store):
    exact, ours = MINILM.encode(TEXTS), encode(MINILM, backend, TEXTS, store=store)
    assert (ours.dtype, ours.shape) == (np.float32, (40, 384))
    assert np.abs(ours - exact).max() < 1e-5  # measured: 2.2e-7 with OpenVINO, 1.5e-7 with onnxruntime
    assert np.linalg.norm(ours, axis=1) == pytest.approx(np.ones(40), abs=1e-5)


@pytest.mark.neural
@pytest.mark.parametrize("backend", BACKENDS)
def test_neither_batches_nor_other_texts_move_a_vector(backend, store):
    whole = encode(MINILM, backend, TEXTS, store=store)
    for size in (1, 7):
        other = encode(replace(MINILM, batch_size=size), backend, TEXTS, store=store)
        assert np.abs(other - whole).max() < 3e-7  # without padding there is next to nothing left to differ in
    turned = encode(MINILM, backend, TEXTS[::-1], store=store)[::-1]
    assert np.abs(turned - whole).max() < 3e-7


@pytest.mark.neural
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_pooling_prefix_and_length_by_hand(backend, pooling, tmp_path):
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import BertTokenizer

    with torch.no_grad():
        model = save_bert(tmp_path / "raw", "BertModel", 1)
        model.embeddings.word_embeddings.weight.mul_(8)  # texts that share words are near: the self-test passes
        model.embeddings.position_embeddings.weight.zero_()
        model.save_pretrained(tmp_path / "raw")
    modules = [Transformer(str(tmp_path / "raw"), max_seq_length=64), Pooling(32, pooling_mode=pooling)]
    SentenceTransformer(modules=modules, device="cpu").save(str(tmp_path / "tiny"))
    encoder = Encoder(str(tmp_path / "tiny"), "query: ", 12, 4, 2)
    ours = encode(encoder, backend, TEXTS)
    tokenizer = BertTokenizer.from_pretrained(tmp_path / "raw")
    for row in (0, 17, 39):
        read = tokenizer(f"query: {TEXTS[row]}", return_tensors="pt", truncation=True, max_length=12)
        with torch.no_grad():
            states = model(**read).last_hidden_state[0]
        expected = (states[0] if pooling == "cls" else states.mean(dim=0)).numpy()
        assert np.abs(ours[row] - expected / np.linalg.norm(expected)).max() < 1e-5


@pytest.mark.neural
def test_the_export_is_an_artifact_that_is_built_once(store, monkeypatch):
    first = encode(MINILM, "onnxruntime", TEXTS[:3], store=store)
    kept = [path for path in (store.root / "onnx").iterdir() if path.is_dir()]
    assert [(folder / "model.onnx").is_file() for folder in kept] == [True]
    export._load.cache_clear()
    monkeypatch.setattr(export, "export_onnx", lambda *_: pytest.fail("exported again"))
    assert encode(MINILM, "onnxruntime", TEXTS[:3], store=ArtifactStore(store.root)).tobytes() == first.tobytes()


@pytest.mark.neural
@pytest.mark.parametrize(("off", "said"), [(2e-4, "off the vectors of torch"), (np.nan, "fails its self-test")])
def test_an_export_that_computes_something_else_is_refused(off, said, store, monkeypatch):
    compiled = export._compile
    monkeypatch.setattr(export, "_compile", lambda *given: lambda inputs: compiled(*given)(inputs) + np.float32(off))
    export._load.cache_clear()
    with pytest.raises(ModelLoadError, match=said):
        encode(MINILM, "onnxruntime", TEXTS[:3], store=store)
    export._load.cache_clear()


@pytest.mark.neural
def test_int8_weights_lose_what_is_measured(tmp_path, store):
    for precision in ("fp32", "int8"):
        (tmp_path / precision).mkdir()
        export_onnx(MINILM.model, tmp_path / precision, precision)
        assert [path.name for path in (tmp_path / precision).iterdir()] == ["model.onnx"]
    size = {name: (tmp_path / name / "model.onnx").stat().st_size for name in ("fp32", "int8")}
    assert size["int8"] < 0.3 * size["fp32"]
    texts = TEXTS[:30]
    loss = measure_loss(MINILM, texts, store=store)
    exact, ours = MINILM.encode(texts), encode(MINILM, "onnxruntime", texts, store=store, precision="int8")
    cosine = [float(np.dot(a.astype(float), b.astype(float))) for a, b in zip(exact, ours, strict=True)]
    assert (loss.cosine_mean, loss.cosine_min) == pytest.approx((np.mean(cosine), min(cosine)), abs=1e-6)
    assert 0.97 < loss.cosine_mean < 0.9999
    assert 0.5 < loss.overlap < 1
    same = measure_loss(MINILM, texts, "openvino", "fp32", store=store)
    assert (same.cosine_min, same.overlap) == pytest.approx((1, 1), abs=1e-6)


def test_loss_by_hand(monkeypatch):
    class Exact:
        """Vectors at 0, 10, 20 and 90 degrees."""

        def encode(self, texts):
            return at(0, 10, 20, 90)

    def at(*degrees):
        angle = np.radians(degrees)
        return np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)

    # the third one turned by 60: cosines 1, 1, .5, 1. Nearest two of each, before: 0: 1 2, 1: 0 2, 2: 1 0, 3: 2 1;
    # after, at 0 10 80 90: 0: 1 2, 1: 0 2, 2: 3 1, 3: 2 1. Shares 1, 1, .5, 1
    monkeypatch.setattr(export, "encode", lambda *_, **__: at(0, 10, 80, 90))
    loss = measure_loss(Exact(), ["a", "b", "c", "d"], k=2)  # type: ignore[arg-type]
    assert loss.cosine_mean == pytest.approx(3.5 / 4, abs=1e-6)
    assert loss.cosine_min == pytest.approx(0.5, abs=1e-6)
    assert loss.overlap == pytest.approx(3.5 / 4)
    with pytest.raises(ValueError, match="4 texts have no 10 others"):
        measure_loss(Exact(), ["a", "b", "c", "d"])  # type: ignore[arg-type]


def test_what_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(export.PACKAGES, "openvino", ("onnx", "no_such_runtime"))
    assert missing_backend("openvino") == "no_such_runtime not installed; pip install 'rankproof[openvino]'"
    assert missing_backend("onnxruntime") is None
    export._load.cache_clear()
    with pytest.raises(ModelLoadError, match="no_such_runtime"):
        encode(MINILM, "openvino", ["a"])


def test_int8_in_openvino_is_refused(tmp_path: Path):
    with pytest.raises(ModelLoadError, match="set backend=onnxruntime"):
        encode(MINILM, "openvino", ["a"], precision="int8")
