"""The cross-encoder stage on a tiny BERT, against a loop over single pairs through transformers alone."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ingestion.artifacts import ArtifactStore
from retrieval import models
from retrieval.build import build_strategy, strategy_config
from retrieval.errors import ModelLoadError
from retrieval.models import SELF_TEST
from retrieval.rerankers import cross_encoder
from retrieval.rerankers.cross_encoder import CrossEncoder
from retrieval.schema import Queries, empty_run, make_run
from retrieval.stage import Context, Pipeline
from tests.contract.conftest import corpus_of
from tests.unit.retrieval.tiny_models import WORDS, rows, save_bert

SEED = 10  # with it the related pair of the self-test scores above the unrelated one
TWO = Queries.of(["a", "b"], ["reciprocal rank fusion of scores", "bootstrap interval of a cluster"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    pytest.importorskip("transformers")
    path = tmp_path_factory.mktemp("cross_encoder")
    save_bert(path, "BertForSequenceClassification", SEED, num_labels=1)
    return path


@pytest.fixture
def ctx(tmp_path) -> Context:
    return Context(corpus_of(rows()), ArtifactStore(tmp_path / "artifacts"), depth=30)


def stage(folder: Path, **parameters) -> CrossEncoder:
    return CrossEncoder(model=str(folder), **{"max_length": 64, **parameters})


def one_by_one(folder: Path, pairs) -> list[float]:
    """The logit of every pair, each alone in its batch, without any cut."""
    import torch
    from transformers import BertForSequenceClassification, BertTokenizer

    tokenizer = BertTokenizer.from_pretrained(folder)
    model = BertForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        return [float(model(**tokenizer(*pair, return_tensors="pt")).logits[0, 0]) for pair in pairs]


def ranking(chunks: int, queries: int = 1):
    """Chunks 0, 1, 2, ... in this order for every query."""
    rows = np.tile(np.arange(chunks), queries)
    return make_run(np.repeat(np.arange(queries), chunks), rows, -rows, 100)


@pytest.mark.neural
def test_logits_are_those_of_one_pair_at_a_time(folder, ctx):
    pairs = [(query, text) for query in TWO.query for text in ctx.corpus.texts]
    expected = one_by_one(folder, pairs)
    assert max(expected) - min(expected) > 0.05
    for batch_size in (1, 7, 32):
        logits, long = stage(folder, batch_size=batch_size).score(pairs)
        assert logits.dtype == np.float32
        assert logits.tolist() == pytest.approx(expected, abs=2e-6)
        assert not long.any()


@pytest.mark.neural
def test_the_order_in_which_pairs_come_changes_no_bit(folder, ctx):
    pairs = [(query, text) for query in TWO.query for text in ctx.corpus.texts]
    turn = np.random.default_rng(1).permutation(len(pairs))
    logits, _ = stage(folder).score(pairs)
    turned, _ = stage(folder).score([pairs[row] for row in turn])
    assert turned.tobytes() == logits[turn].tobytes()


@pytest.mark.neural
def test_the_head_is_sorted_by_logit_and_the_rest_keeps_its_order_below(folder, ctx):
    run = ranking(12, queries=2)
    done = stage(folder, depth=5).rerank(ctx, TWO, run)
    for query in (0, 1):
        logits = one_by_one(folder, [(TWO.query[query], ctx.corpus.texts[chunk]) for chunk in range(5)])
        mine = done.query == query
        assert done.chunk[mine].tolist() == [*sorted(range(5), key=lambda c: -logits[c]), *range(5, 12)]
        assert done.score[mine][:5].tolist() == pytest.approx(sorted(logits, reverse=True), abs=2e-6)
        assert (np.diff(done.score[mine][4:]) < -0.999).all()
    assert done.chunk[done.query == 0][:5].tolist() != list(range(5))


@pytest.mark.neural
def test_keep_leaves_the_best_alone_and_notes_the_others(folder, ctx):
    class First:
        """The same ranking for every query."""

        def search(self, ctx, queries):
            return ranking(12, len(queries))

    logits = one_by_one(folder, [(TWO.query[0], text) for text in ctx.corpus.texts[:8]])
    order = sorted(range(8), key=lambda c: -logits[c])
    reranker = stage(folder, depth=8, keep=3)
    run = reranker.rerank(ctx, TWO, First().search(ctx, TWO))
    assert run.chunk[run.query == 0].tolist() == order[:3]
    events = ctx._notebooks[-1].table().to_pylist()
    noted = {event["chunk"]: event["value"] for event in events if event["query"] == 0}
    assert sorted(noted) == sorted(order[3:])
    assert noted[order[3]] == pytest.approx(logits[order[3]], abs=2e-6)


@pytest.mark.neural
def test_the_strategy_gives_the_same_for_other_rows_and_fewer_queries(folder, tmp_path):
    def names(stage, chunks, queries, depth=20):
        corpus = corpus_of(chunks)
        ctx = Context(corpus, ArtifactStore(tmp_path / "fresh"), depth=depth, remember=False)
        run = ctx.search(stage, queries)
        assert (run.rank <= depth).all()
        return [(queries.qid[q], corpus.chunk_ids[c]) for q, c in zip(run.query, run.chunk, strict=True)]

    built = build_strategy(strategy_config("cross_encoder"))
    mine = replace(built, then=(("cross_encoder", stage(folder, depth=10)),))
    whole = names(mine, rows(), TWO)
    assert {qid for qid, _ in whole} == {"a", "b"}
    assert names(mine, rows()[::-1], TWO) == whole
    assert names(mine, rows(), TWO.take([1])) == [row for row in whole if row[0] == "b"]
    assert names(mine, [], TWO) == names(mine, rows(), Queries.of(["x"], ["zzzz"])) == []
    assert len(names(mine, rows(), TWO, depth=3)) == 6


@pytest.mark.neural
def test_equal_texts_tie_and_go_to_the_smaller_row(folder, tmp_path):
    texts = enumerate(["rank fusion", "query", "query"])
    chunks = [{**rows()[0], "chunk_id": f"{n:04}", "text": text} for n, text in texts]
    ctx = Context(corpus_of(chunks), ArtifactStore(tmp_path), depth=10)
    run = stage(folder).rerank(ctx, TWO.take([0]), make_run([0] * 3, [2, 1, 0], [3, 2, 1], 10))
    assert run.score[run.chunk == 1] == run.score[run.chunk == 2]
    assert [chunk for chunk in run.chunk.tolist() if chunk] == [1, 2]


LONG = [f"{WORDS[n]}" for n in range(20)]  # 20 words of one token each


@pytest.mark.neural
def test_a_long_pair_is_cut_or_read_in_windows(folder):
    # [CLS] 3 tokens [SEP] text [SEP] in 16 tokens: 10 words fit. A quarter of the room, 13 // 4 = 3 words, is shared
    question, short = "reciprocal rank fusion", " ".join(LONG[:10])
    windows = [" ".join(LONG[start : start + 10]) for start in (0, 7, 14)]
    pairs = [(question, " ".join(LONG)), (question, short)]
    single = one_by_one(folder, [(question, text) for text in windows])
    assert int(np.argmax(single)) != 0  # so that a window counts which truncation does not see
    cut, long = stage(folder, max_length=16).score(pairs)
    assert (long.tolist(), cut.tolist()) == ([True, False], pytest.approx([single[0], single[0]], abs=2e-6))
    best, long = stage(folder, max_length=16, long="window").score(pairs)
    assert (long.tolist(), best.tolist()) == ([True, False], pytest.approx([max(single), single[0]], abs=2e-6))


@pytest.mark.neural
def test_a_question_longer_than_the_room_leaves_half_of_it_to_the_text(folder):
    question, text = " ".join(LONG), "bootstrap interval"
    # window: 13 // 2 = 6 tokens of the question. truncate: the longer text loses tokens until 13 are left
    expected = one_by_one(folder, [(" ".join(LONG[:6]), text), (" ".join(LONG[:11]), text)])
    window, shortened = stage(folder, max_length=16, long="window").score([(question, text)])
    cut, long = stage(folder, max_length=16).score([(question, text)])
    assert [float(window[0]), float(cut[0])] == pytest.approx(expected, abs=2e-6)
    assert long.tolist() == shortened.tolist() == [True]


@pytest.mark.neural
@pytest.mark.parametrize(("long", "said"), [("truncate", "truncated"), ("window", "windowed")])
def test_long_pairs_and_a_shallow_pool_are_counted(folder, ctx, long, said):
    lengths = np.asarray([len(text.split()) for text in ctx.corpus.texts])
    # question of 5 tokens and 3 special ones; every word of the corpus is one token
    expected = int((lengths[:30] + 5 + 3 > 26).sum())
    assert 0 < expected < 30
    shallow = replace(ctx, depth=30)
    first = build_strategy(strategy_config("random"))
    pipeline = Pipeline(first, (("cross_encoder", stage(folder, depth=200, max_length=26, long=long)),))
    facts = shallow.remembered(pipeline, TWO.take([0])).facts
    counted = facts[f"long pairs {said}"]
    assert (counted.value, counted.of) == (expected, 30)
    shallow_fact = facts["candidates re-scored per query; rankings hold no more"]
    assert (shallow_fact.value, shallow_fact.of) == (30, 200)


@pytest.mark.neural
def test_a_pool_that_is_deep_enough_is_no_fact(folder, ctx):
    reranker = stage(folder, depth=10)
    reranker.rerank(ctx, TWO, ranking(30, 2))
    assert list(ctx._notebooks[-1].facts) == ["long pairs truncated"]


@pytest.mark.neural
def test_logits_that_a_sigmoid_would_flatten_still_rank(folder, ctx, tmp_path):
    import torch
    from transformers import BertForSequenceClassification, BertTokenizer

    model = BertForSequenceClassification.from_pretrained(folder)
    with torch.no_grad():
        model.classifier.bias += 40.0
    model.save_pretrained(tmp_path / "high")
    BertTokenizer.from_pretrained(folder).save_pretrained(tmp_path / "high")
    run = stage(tmp_path / "high").rerank(ctx, TWO, ranking(10, 2))
    assert (torch.sigmoid(torch.tensor(run.score, dtype=torch.float32)) == 1).all()
    assert run.chunk.tolist() == stage(folder).rerank(ctx, TWO, ranking(10, 2)).chunk.tolist()


@pytest.mark.neural
def test_weights_in_half_precision_are_computed_in_float32(folder, ctx, tmp_path):
    from transformers import BertForSequenceClassification, BertTokenizer

    BertForSequenceClassification.from_pretrained(folder).half().save_pretrained(tmp_path / "half")
    BertTokenizer.from_pretrained(folder).save_pretrained(tmp_path / "half")
    pairs = [(TWO.query[0], text) for text in ctx.corpus.texts]
    logits, _ = stage(tmp_path / "half").score(pairs)
    assert logits.tolist() == pytest.approx(one_by_one(tmp_path / "half", pairs), abs=2e-6)
    assert (logits != logits.astype(np.float16)).any()


@pytest.mark.neural
def test_what_is_no_cross_encoder_is_refused(folder, tmp_path):
    save_bert(tmp_path / "bi", "BertModel", SEED)
    with pytest.raises(ModelLoadError, match="2 of its weights are not in the file"):  # the head: weight and bias
        stage(tmp_path / "bi").score([SELF_TEST[:2]])
    save_bert(tmp_path / "two", "BertForSequenceClassification", SEED, num_labels=2)
    with pytest.raises(ModelLoadError, match="2 logits"):
        stage(tmp_path / "two").score([SELF_TEST[:2]])
    with pytest.raises(ModelLoadError, match="set max_length=64"):
        stage(folder, max_length=512).score([SELF_TEST[:2]])


@pytest.mark.neural
def test_the_self_test_refuses_a_model_that_turns_the_pair_round(folder, monkeypatch):
    cross_encoder.load_cross_encoder.cache_clear()
    monkeypatch.setattr(models, "SELF_TEST", (SELF_TEST[0], SELF_TEST[2], SELF_TEST[1]))
    with pytest.raises(ModelLoadError, match="fails its self-test"):
        stage(folder).score([("a", "b")])
    cross_encoder.load_cross_encoder.cache_clear()


@pytest.mark.neural
def test_other_weights_are_other_inputs(folder, ctx, tmp_path):
    save_bert(tmp_path / "other", "BertForSequenceClassification", SEED + 1, num_labels=1)
    assert stage(folder).inputs(ctx) == stage(folder).inputs(ctx) != stage(tmp_path / "other").inputs(ctx)
    assert stage(folder).missing() is None


@pytest.mark.neural
def test_a_model_that_is_not_here_is_absent_with_the_remedy(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr(models, "_hub_cache", lambda model: None)
    monkeypatch.setattr(socket, "create_connection", lambda *_: pytest.fail("the network was used"))
    reason = str(CrossEncoder().missing())
    for part in ("ms-marco-MiniLM-L-6-v2", "local folder (model=<folder>)", "hf download cross-encoder/ms-marco-"):
        assert part in reason
    with pytest.raises(ModelLoadError, match="hf download"):
        CrossEncoder().score([("a", "b")])


def test_without_packages_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(cross_encoder, "PACKAGES", ("no_such_torch",))
    assert CrossEncoder().missing() == "no_such_torch not installed; pip install 'rankproof[neural]'"


def test_an_empty_ranking_needs_no_model(ctx):
    assert len(CrossEncoder(model="nobody/none").rerank(ctx, TWO, empty_run())) == 0


@pytest.mark.parametrize(
    "value",
    [{"depth": 0}, {"keep": 0}, {"keep": 51}, {"max_length": 15}, {"batch_size": 0}, {"threads": 0}, {"long": "cut"}],
)
def test_parameters_out_of_range_are_refused(value):
    with pytest.raises(ValueError, match="must be"):
        CrossEncoder(**value)


def test_the_deep_variant_is_the_same_stage_with_other_numbers():
    deep = build_strategy(strategy_config("rrf_dense_cross_encoder")).then[0][1]
    plain = build_strategy(strategy_config("cross_encoder")).then[0][1]
    assert (plain.depth, plain.keep) == (50, None)
    assert deep == replace(plain, depth=200, keep=20)
