"""MaxSim by hand, in exact fractions, and end to end against transformers alone: bi-encoders and ColBERT folders."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ingestion.artifacts import ArtifactStore
from retrieval import models, token_vectors
from retrieval.errors import ModelLoadError
from retrieval.filters import Where
from retrieval.models import SELF_TEST
from retrieval.remembered import Fact
from retrieval.retrievers.late_interaction import LateInteraction
from retrieval.schema import Queries
from retrieval.stage import Context
from retrieval.token_vectors import TokenIndex, best, is_colbert, load_tokens, maxsim, mean_vector, write_index
from tests.contract.conftest import corpus_of, corpus_rows

TEXTS = [str(row["text"]) for row in corpus_rows()]
MINILM = "all-MiniLM-L6-v2"


def context(texts: list[str], folder: Path, **given) -> Context:
    base = corpus_rows()[0]
    rows = [{**base, "chunk_id": f"{n:04}", "doc_id": f"d{n % 6}", "text": text} for n, text in enumerate(texts)]
    return Context(corpus_of(rows), ArtifactStore(folder), depth=100, **given)


def test_maxsim_by_hand():
    query = np.array([[1, 0], [0, 1]], dtype=np.float64)
    tokens = np.array([[1, 0], [0.6, 0.8], [0.8, 0.6], [-1, 0], [0, -1]])
    # Three texts. In the first, (1, 0) meets (1, 0) with 1 and (0, 1) meets (.6, .8) with .8. In the second both meet
    # (.8, .6) and give .8 + .6. In the third, each has a choice of -1 and 0
    assert maxsim(query, tokens, np.array([2, 1, 2])).tolist() == pytest.approx([1.8, 1.4, 0])
    # A query token that stands twice counts twice: 2 * 1, 2 * .8, 2 * 0
    assert maxsim(query[[0, 0]], tokens, np.array([2, 1, 2])).tolist() == pytest.approx([2, 1.6, 0])


def unit(rng: np.random.Generator, n: int, dims: int = 384) -> np.ndarray:
    found = rng.normal(size=(n, dims))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float16)


def test_inner_products_of_half_precision_vectors_are_exact():
    rng = np.random.default_rng(5)
    query, tokens = unit(rng, 3), unit(rng, 4)

    def exact(one, other):
        return sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(one, other, strict=True))

    expected = sum(max(exact(q, t) for t in tokens) for q in query)
    (found,) = maxsim(query.astype(np.float64), tokens.astype(np.float64), np.array([4]))
    assert Fraction(float(found)) == expected


@pytest.fixture
def index(tmp_path) -> tuple[TokenIndex, list[np.ndarray]]:
    """Nine chunks over seven texts of 1 to 40 tokens, one without any."""
    rng = np.random.default_rng(1)
    texts = [unit(rng, n) for n in (3, 40, 0, 1, 7, 12, 2)]
    write_index(tmp_path, iter(texts), np.array([0, 1, 2, 3, 4, 5, 6, 1, 0]), 4)
    return TokenIndex.load(tmp_path), texts


def test_an_index_gives_back_what_was_written(index):
    found, texts = index
    assert isinstance(found.tokens, np.memmap)
    assert found.tokens.dtype == np.float16
    assert found.tokens.tobytes() == np.concatenate(texts).tobytes()
    assert found.offsets.tolist() == [0, 3, 43, 43, 44, 51, 63, 65]
    assert found.has_tokens.tolist() == [True, True, False, True, True, True, True, True, True]
    assert found.truncated == 4
    mean = texts[4].astype(np.float64).mean(axis=0)
    assert found.means[4] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-6)
    assert found.means[7].tolist() == found.means[1].tolist() == mean_vector(texts[1]).tolist()
    assert found.means[2].tolist() == [0] * 384


@pytest.mark.parametrize("tokens", [1, 10, 41, 10_000])
def test_blocks_and_other_queries_do_not_change_a_bit(index, tokens, monkeypatch):
    found, texts = index
    rng = np.random.default_rng(2)
    queries = [unit(rng, n) for n in (5, 1, 9)]
    pools = [np.array([0, 1, 3, 4, 5, 6, 7, 8]), np.array([7, 8]), np.array([0, 3, 6])]
    owner = [0, 1, 2, 3, 4, 5, 6, 1, 0]
    expected = [
        [sum((texts[owner[chunk]].astype(float) @ token).max() for token in query.astype(float)) for chunk in pool]
        for query, pool in zip(queries, pools, strict=True)
    ]
    monkeypatch.setattr(token_vectors, "TOKENS", tokens)
    assert [scores.tolist() for scores in found.score(queries, pools)] == expected
    assert found.score(queries[2:], pools[2:])[0].tolist() == expected[2]


def test_ties_at_the_cut_are_all_kept():
    # To 6 places the second and third are equal, so both go to make_run, which takes the smaller row
    assert best(np.array([0.1, 0.5000002, 0.5, 0.9]), 2).tolist() == [1, 2, 3]
    assert best(np.array([0.1, 0.2]), 2).tolist() == [0, 1]
    assert best(np.array([]), 2).tolist() == []


VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[Q]", "[D]", ".", ","]


def bert(folder: Path):
    """One random BERT layer over whole words, saved as transformers does: folder/raw."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    words = sorted({word for text in [*SELF_TEST, *TEXTS] for word in text.lower().strip(".").split()})
    (folder / "vocab.txt").write_text("\n".join([*VOCABULARY, *words]))
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    network = BertModel(BertConfig(vocab_size=len(words) + len(VOCABULARY), max_position_embeddings=32, **sizes))
    with torch.no_grad():  # words weigh more than their places, so equal words are near
        network.embeddings.word_embeddings.weight.mul_(50)
        network.embeddings.position_embeddings.weight.zero_()
    network.save_pretrained(folder / "raw")
    BertTokenizer(str(folder / "vocab.txt"), model_max_length=32).save_pretrained(folder / "raw")
    return folder / "raw"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    """A bi-encoder's folder, as sentence-transformers writes it."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    folder = tmp_path_factory.mktemp("tokens")
    raw = Transformer(str(bert(folder)), max_seq_length=32)
    SentenceTransformer(modules=[raw, Pooling(32)], device="cpu").save(str(folder / "tiny"))
    return folder / "tiny"


def by_transformers(raw: Path, ids: list[int], keep: list[bool], project=None, attend=None) -> np.ndarray:
    """Unit token vectors of one text from transformers alone, float16."""
    import torch
    from transformers import BertModel

    network = BertModel.from_pretrained(raw).eval()
    attend = torch.tensor([attend or [1] * len(ids)])
    with torch.no_grad():
        tokens = network(input_ids=torch.tensor([ids]), attention_mask=attend)[0][0].numpy()[keep]
    tokens = tokens if project is None else tokens @ project.T
    return (tokens / np.linalg.norm(tokens, axis=1, keepdims=True)).astype(np.float16)


def words_of(raw: Path, text: str, limit: int = 32) -> np.ndarray:
    """Token vectors of a bi-encoder: [CLS] and [SEP] take part in attention but are no tokens of the text."""
    from transformers import BertTokenizer

    ids = BertTokenizer.from_pretrained(raw)(text, truncation=True, max_length=limit)["input_ids"]
    return by_transformers(raw, ids, [0 < place < len(ids) - 1 for place in range(len(ids))])


def similarity(query: np.ndarray, chunk: np.ndarray) -> float:
    return sum(max(float(q @ t) for t in chunk.astype(float)) for q in query.astype(float))


@pytest.mark.neural
def test_a_ranking_against_transformers_alone(tiny, tmp_path):
    ctx = context(TEXTS[:9], tmp_path)
    queries = Queries.of(["a", "b", "c"], ["rank fusion score", " ", "overlap of evidence, zzzz"])
    run = ctx.search(LateInteraction(str(tiny), batch_size=4), queries)
    chunks = [words_of(tiny.parent / "raw", text) for text in TEXTS[:9]]
    assert chunks[0].shape == (19, 32)  # 9 + 9 + 1 words
    assert sorted(set(run.query.tolist())) == [0, 2]
    for row in (0, 2):
        query = words_of(tiny.parent / "raw", queries.query[row])
        expected = np.array([similarity(query, chunk) for chunk in chunks])
        of_query = run.query == row
        assert run.chunk[of_query].tolist() == np.argsort(-expected, kind="stable").tolist()
        assert run.score[of_query] == pytest.approx(np.sort(expected)[::-1], abs=2e-3)
    # a query of n tokens scores n at most
    assert run.score[run.query == 0].max() <= 3.003


@pytest.mark.neural
def test_candidates_are_the_nearest_by_mean_token_vector(tiny, tmp_path):
    ctx = context(TEXTS[:12], tmp_path)
    queries = Queries.of(["a", "b"], ["rank fusion score", "sample of evidence"])
    whole = ctx.search(LateInteraction(str(tiny)), queries)
    few = ctx.remembered(LateInteraction(str(tiny), candidates=4, exact_below=11), queries)
    assert few.facts["chunks scored per query (the nearest by mean token vector)"] == Fact(4, 12)
    assert not any("scored" in name for name in ctx.remembered(LateInteraction(str(tiny)), queries).facts)
    chunks = np.stack([mean_vector(words_of(tiny.parent / "raw", text)) for text in TEXTS[:12]])
    for row in (0, 1):
        cosines = chunks @ mean_vector(words_of(tiny.parent / "raw", queries.query[row]))
        nearest = set(np.argsort(-cosines)[:4].tolist())
        all_of = list(zip(whole.only(row).chunk.tolist(), whole.only(row).score.tolist(), strict=True))
        # the same scores in the same order, of the four alone
        found = few.run.only(row)
        pairs = list(zip(found.chunk.tolist(), found.score.tolist(), strict=True))
        assert pairs == [pair for pair in all_of if pair[0] in nearest]
    # at the bound itself, and with no bound on the effort, the corpus is scored whole
    assert (
        ctx.search(LateInteraction(str(tiny), candidates=4, exact_below=12), queries).fingerprint == whole.fingerprint
    )
    assert ctx.search(LateInteraction(str(tiny), candidates=None, exact_below=0), queries).fingerprint == (
        whole.fingerprint
    )
    filtered = Context(ctx.corpus, ctx.store, where=Where(document=("d1", "d3", "d5")))
    run = LateInteraction(str(tiny), candidates=4, exact_below=0).search(filtered, queries)
    assert len(run) == 8
    assert set(run.chunk.tolist()) <= {1, 3, 5, 7, 9, 11}


@pytest.mark.neural
def test_truncated_chunks_are_counted_equal_texts_tie_and_blank_ones_have_no_rank(tiny, tmp_path):
    long = " ".join(["dense"] * 5 + ["rank"] * 20)
    ctx = context([long, "fusion", long, "", TEXTS[0]], tmp_path)
    stage = LateInteraction(str(tiny), max_length=7, batch_size=2)
    remembered = ctx.remembered(stage, Queries.of(["a", "b"], ["dense vector", "rank"]))
    assert remembered.facts["chunks truncated by the encoder"] == Fact(3, 5)  # 27, 3, 27, 2 and 21 tokens
    run = remembered.run
    assert 3 not in run.chunk
    assert run.only(0).chunk[:2].tolist() == [0, 2]
    assert run.only(0).score[0] == run.only(0).score[1]
    assert run.only(1).score[run.only(1).chunk == 0] < 0.9  # `rank` is behind the cut: no cosine of 1
    alone = stage.search(ctx, Queries.of(["a"], ["dense vector"]))
    assert alone.score.tobytes() == run.only(0).score.tobytes()


@pytest.mark.neural
def test_a_prefix_is_put_before_the_text(tiny, tmp_path):
    ctx = context(TEXTS[:3], tmp_path)
    stage = LateInteraction(str(tiny), query_prefix="rank ", passage_prefix="fusion ")
    run = stage.search(ctx, Queries.of(["a"], ["score"]))
    query = words_of(tiny.parent / "raw", "rank score")
    expected = [similarity(query, words_of(tiny.parent / "raw", f"fusion {text}")) for text in TEXTS[:3]]
    assert run.score.tolist() == pytest.approx(sorted(expected, reverse=True), abs=2e-3)


@pytest.mark.neural
def test_blank_queries_and_no_chunks(tiny, tmp_path):
    assert len(LateInteraction(str(tiny)).search(context(TEXTS[:1], tmp_path), Queries.of(["a"], [" \n"]))) == 0
    assert len(LateInteraction(str(tiny)).search(context([], tmp_path), Queries.of(["a"], ["rank"]))) == 0
    assert len(LateInteraction(str(tiny)).search(context(["", " "], tmp_path), Queries.of(["a"], ["rank"]))) == 0


def colbert(raw: Path, folder: Path, **given) -> np.ndarray:
    """A folder in the layout of PyLate: a transformer and a linear projection; returns the projection, [8, 32]."""
    import shutil

    from safetensors.numpy import save_file

    shutil.copytree(raw, folder)
    project = np.random.default_rng(3).normal(size=(8, 32)).astype(np.float32)
    (folder / "1_Dense").mkdir()
    save_file({"linear.weight": project}, folder / "1_Dense" / "model.safetensors")
    dense = {"in_features": 32, "out_features": 8, "bias": False}
    dense["activation_function"] = "torch.nn.modules.linear.Identity"
    (folder / "1_Dense" / "config.json").write_text(json.dumps(dense))
    modules = [("", "sentence_transformers.models.Transformer"), ("1_Dense", "pylate.models.Dense.Dense")]
    listed = [{"idx": n, "name": str(n), "path": path, "type": kind} for n, (path, kind) in enumerate(modules)]
    (folder / "modules.json").write_text(json.dumps(listed))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 31, "do_lower_case": False}))
    said = {
        "model_type": "ColBERT",
        "query_prefix": "[Q] ",
        "document_prefix": "[D] ",
        "similarity_fn_name": "MaxSim",
    }
    said |= {"query_length": 9, "document_length": 22, "attend_to_expansion_tokens": False, **given}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(said))
    return project


@pytest.mark.neural
@pytest.mark.parametrize("expand", [False, True])
def test_a_colbert_folder_says_itself_which_tokens_count(tiny, tmp_path, expand):
    raw = tiny.parent / "raw"
    project = colbert(raw, tmp_path / "colbert", do_query_expansion=expand)
    assert is_colbert(tmp_path / "colbert")
    assert not is_colbert(tiny)
    place = {word: n for n, word in enumerate((tiny.parent / "vocab.txt").read_text().split("\n"))}

    def ids(marker, text):
        return [place[word] for word in ["[CLS]", marker, *text.split(), "[SEP]"]]

    texts = ["rank fusion .", "dense vector , score", "evidence"]
    run = LateInteraction(str(tmp_path / "colbert")).search(
        context(texts, tmp_path / "artifacts"), Queries.of(["a"], ["rank score"])
    )
    # chunks: [CLS] [D] words [SEP] without punctuation. The query: [CLS] [Q] rank score [SEP], and when it is
    # expanded, [MASK] up to 9 tokens, which see the others, are not seen by them, and count
    query = ids("[Q]", "rank score") + [place["[MASK]"]] * (4 if expand else 0)
    attend = [1] * 5 + [0] * (len(query) - 5)
    vectors = by_transformers(raw, query, [True] * len(query), project, attend)
    expected = []
    for text in texts:
        chunk = ids("[D]", text)
        keep = [number not in (place["."], place[","]) for number in chunk]
        expected.append(similarity(vectors, by_transformers(raw, chunk, keep, project)))
    assert run.chunk.tolist() == np.argsort(-np.array(expected)).tolist()
    assert run.score.tolist() == pytest.approx(sorted(expected, reverse=True), abs=5e-3)


@pytest.mark.neural
def test_chunks_cut_by_a_colbert_model_are_counted(tiny, tmp_path):
    colbert(tiny.parent / "raw", tmp_path / "colbert")
    # [CLS] [D] words [SEP]: 19 words make 22 tokens, 20 make 23
    ctx = context([" ".join(["rank"] * n) for n in (19, 20)], tmp_path / "artifacts")
    queries = Queries.of(["a"], ["rank"])
    facts = ctx.remembered(LateInteraction(str(tmp_path / "colbert")), queries).facts
    assert facts["chunks truncated by the encoder"] == Fact(1, 2)
    facts = ctx.remembered(LateInteraction(str(tmp_path / "colbert"), max_length=21), queries).facts
    assert facts["chunks truncated by the encoder"] == Fact(2, 2)


@pytest.mark.neural
def test_the_packaged_model_against_sentence_transformers(tmp_path):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.util.similarity import maxsim as reference

    if reason := models.missing(MINILM):
        pytest.skip(reason)
    network = SentenceTransformer(str(models.find(MINILM)), device="cpu")
    query, *chunks = (
        network.encode(text, output_value="token_embeddings")[1:-1] for text in ("What do people eat?", *SELF_TEST)
    )
    query, *chunks = (tokens / tokens.norm(dim=1, keepdim=True) for tokens in (query, *chunks))
    expected = reference([query], chunks)[0].numpy()
    run = LateInteraction().search(context(list(SELF_TEST), tmp_path), Queries.of(["a"], ["What do people eat?"]))
    assert run.chunk.tolist() == np.argsort(-expected).tolist()
    assert run.score.tolist() == pytest.approx(np.sort(expected)[::-1].tolist(), abs=2e-3)


@pytest.mark.neural
def test_a_model_that_fails_its_self_test_is_refused(tiny, monkeypatch, tmp_path):
    colbert(tiny.parent / "raw", tmp_path / "turned")
    monkeypatch.setattr(models, "SELF_TEST", (SELF_TEST[0], SELF_TEST[2], SELF_TEST[1]))
    with pytest.raises(ModelLoadError, match="fails its self-test"):
        load_tokens(str(tmp_path / "turned"), None)
    (tmp_path / "turned" / "1_Dense" / "model.safetensors").unlink()
    with pytest.raises(ModelLoadError, match="cannot be loaded"):
        load_tokens(str(tmp_path / "turned"), 30)


def test_what_is_missing_is_said_with_the_remedy(monkeypatch):
    monkeypatch.setattr(models, "_hub_cache", lambda model: None)
    monkeypatch.setattr(models, "offline", lambda: True)
    reason = str(LateInteraction("nobody/no-such-model").missing())
    assert "pip install" in reason or "hf download nobody/no-such-model" in reason
    with pytest.raises(ModelLoadError):
        load_tokens("nobody/no-such-model", None)


@pytest.mark.parametrize(
    "value", [{"max_length": 2}, {"batch_size": 0}, {"threads": 0}, {"candidates": 0}, {"exact_below": -1}]
)
def test_parameters_out_of_range_are_refused(value):
    with pytest.raises(ValueError, match="must be"):
        LateInteraction(**value)
