"""Static vectors: package wordllama gives the same, and the means of a tiny model2vec folder are worked by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ingestion.artifacts import ArtifactStore
from retrieval import models
from retrieval.errors import ModelLoadError
from retrieval.filters import Where
from retrieval.models import SELF_TEST
from retrieval.retrievers import static
from retrieval.retrievers.static import Static, load
from retrieval.schema import Queries
from retrieval.stage import Context
from tests.contract.conftest import corpus_of, corpus_rows

pytest.importorskip("tokenizers", reason="not installed: tokenizers; pip install '.[weights]'")
pytest.importorskip("safetensors", reason="not installed: safetensors; pip install '.[weights]'")

# Two dimensions: food points one way, the baby the other, so that the self-test holds
WORDS = {
    "[UNK]": (9, 9), "a": (0, 0), "man": (1, 0), "is": (0, 0), "eating": (1, 0), "food": (1, 0), "piece": (1, 0),
    "of": (0, 0), "bread": (1, 0), "the": (0, 0), "girl": (0, 1), "carrying": (0, 1), "baby": (0, 1),
    "north": (0, 2), "east": (4, 0), "back": (-1, 0),
}  # fmt: skip


def model2vec(folder: Path, table, words=tuple(WORDS), **tensors) -> Path:
    """A folder as model2vec writes it: model.safetensors, tokenizer.json, config.json."""
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    folder.mkdir()
    save_file({"embeddings": np.asarray(table), **tensors}, folder / "model.safetensors")
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True}))
    return folder


@pytest.fixture
def tiny(tmp_path) -> str:
    return str(model2vec(tmp_path / "tiny", np.array(list(WORDS.values()), dtype=np.float32)))


def context(texts: list[str], folder: Path) -> Context:
    rows = [
        {**corpus_rows()[0], "chunk_id": f"{n:04}", "doc_id": f"d{n}", "text": text} for n, text in enumerate(texts)
    ]
    return Context(corpus_of(rows), ArtifactStore(folder), depth=100)


def test_a_vector_is_the_scaled_mean_of_token_vectors(tiny):
    # north + east: (0 + 4, 2 + 0) / 2 = (2, 1), of length sqrt(5). An unknown word, (9, 9), is left out
    one, two, three = load(tiny).encode(["north east", "North zebra EAST", "north north east"])
    assert one.tolist() == pytest.approx([2 / 5**0.5, 1 / 5**0.5])
    assert two.tolist() == one.tolist()
    # 2 * (0, 2) + (4, 0) = (4, 4)
    assert three.tolist() == pytest.approx([0.5**0.5, 0.5**0.5])
    assert load(tiny).encode(SELF_TEST).dtype == np.float32


def test_a_text_without_a_known_token_has_no_vector(tiny):
    assert load(tiny).encode(["", " \n\t", "zebra", "the"]).tolist() == [[0, 0]] * 4
    assert load(tiny).encode([]).shape == (0, 2)


def test_mapping_and_weights_of_a_quantised_vocabulary(tmp_path):
    # Tokens share three rows: nothing, east, north; `weights` scales each token's row
    axis = [0 if vector == (0, 0) else 1 if vector[0] else 2 for vector in WORDS.values()]
    weights = np.ones(len(WORDS), dtype=np.float64)
    weights[list(WORDS).index("north")] = 3
    table = np.array([[0, 0], [1, 0], [0, 1]], dtype=np.float16)
    folder = model2vec(tmp_path / "small", table, mapping=np.array(axis, dtype=np.int32), weights=weights)
    # 3 * (0, 1) + (1, 0) + (1, 0) = (2, 3), of length sqrt(13)
    (vector,) = load(str(folder)).encode(["north east man"])
    assert vector.tolist() == pytest.approx([2 / 13**0.5, 3 / 13**0.5])


def test_parts_do_not_change_a_vector(tiny, monkeypatch):
    texts = ["north", "", "east east north", "zebra", "back north"] * 3
    whole = load(tiny).encode(texts)
    monkeypatch.setattr(static, "PART", 2)
    assert load(tiny).encode(texts).tobytes() == whole.tobytes()


def test_a_ranking_by_hand(tiny, tmp_path):
    ctx = context(["north", "zebra", "east", "back", "north east"], tmp_path / "artifacts")
    run = ctx.search(Static(tiny), Queries.of(["a", "b", "c"], ["east", "zebra", " "]))
    # east is (1, 0): cosines 0, none, 1, -1 and 2 / sqrt(5); the chunk without a vector is in no ranking, though its
    # inner product of 0 would beat -1; the other two queries have no vector
    assert run.query.tolist() == [0] * 4
    assert run.chunk.tolist() == [2, 4, 0, 3]
    assert run.score.tolist() == [1, round(2 / 5**0.5, 6), 0, -1]
    filtered = Context(ctx.corpus, ctx.store, where=Where(document=("d1", "d3", "d4")))
    assert Static(tiny).search(filtered, Queries.of(["a"], ["east"])).chunk.tolist() == [4, 3]


def test_no_query_and_no_chunk(tiny, tmp_path):
    ctx = context(["north"], tmp_path / "one")
    assert len(Static(tiny).search(ctx, Queries.of(["a", "b"], ["", "zebra"]))) == 0
    assert len(Static(tiny).search(ctx, Queries.of([], []))) == 0
    assert len(Static(tiny).search(context([], tmp_path / "none"), Queries.of(["a"], ["north"]))) == 0


def test_the_tokenizer_counts_as_an_input(tiny, tmp_path):
    ctx = context(["north"], tmp_path / "artifacts")
    before = Static(tiny).inputs(ctx)
    other = model2vec(tmp_path / "other", np.array(list(WORDS.values()), np.float32), words=tuple(WORDS)[::-1])
    after = Static(str(other)).inputs(ctx)
    assert before["tokenizer"] != after["tokenizer"]
    assert before["tokenizers"] == after["tokenizers"]


def test_files_that_do_not_fit_are_refused(tmp_path):
    values = np.array(list(WORDS.values()), dtype=np.float32)
    with pytest.raises(ModelLoadError, match="16 tokens but 15 vectors"):
        load(str(model2vec(tmp_path / "short", values[:-1])))
    with pytest.raises(ModelLoadError, match="fails its self-test"):
        load(str(model2vec(tmp_path / "turned", values[:, ::-1] * 0 + 1)))
    from safetensors.numpy import save_file

    folder = model2vec(tmp_path / "bert", values)
    save_file({"bert.embeddings.word_embeddings.weight": values}, folder / "model.safetensors")
    with pytest.raises(ModelLoadError, match=r"no static embeddings.*retriever=minilm"):
        load(str(folder))
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelLoadError, match=r"no static embeddings.*model\.safetensors is not there"):
        load(str(folder))
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelLoadError, match="has no tokenizer"):
        Static(str(folder)).inputs(context(["north"], tmp_path / "artifacts"))


def test_what_is_missing_is_said_with_the_remedy(monkeypatch):
    monkeypatch.setattr(models, "_hub_cache", lambda model: None)
    monkeypatch.setattr(models, "offline", lambda: True)
    assert "name a local folder" in str(Static("nobody/no-such-model").missing())
    with pytest.raises(ModelLoadError, match="name a local folder"):
        load("nobody/no-such-model")
    monkeypatch.setattr(static, "PACKAGES", ("tokenizers", "no_such_package"))
    assert Static().missing() == "no_such_package not installed; pip install 'rankproof[weights]'"


@pytest.fixture(scope="module")
def packaged() -> str:
    if reason := models.missing("wordllama-256", static.PACKAGES):
        pytest.skip(reason)
    pytest.importorskip("wordllama", reason="not installed: wordllama; pip install '.[weights]'")
    return "wordllama-256"


def test_the_vectors_are_those_of_package_wordllama(packaged):
    from wordllama import WordLlama

    reference = WordLlama.load(cache_dir=models.find(packaged).parent, disable_download=True)
    texts = [str(row["text"]) for row in corpus_rows()]
    texts += [*SELF_TEST, "naïve café — λ-calculus 你好 😀", "C++ costs 3.5 %\nper  line\t", "x" * 3000, "a"]
    ours, theirs = load(packaged).encode(texts), reference.embed(texts, norm=True)
    assert ours.shape == (len(texts), 256)
    assert np.abs(ours - theirs).max() < 1e-6
    assert np.abs(np.linalg.norm(ours, axis=1) - 1).max() < 1e-6


def test_no_torch_is_needed(packaged):
    program = "import sys; from retrieval.retrievers import static; static.load('wordllama-256'); "
    program += "print('torch' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout == "False\n"
