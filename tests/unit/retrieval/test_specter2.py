"""SPECTER2 on a tiny BERT with two adapters, against the adapter's formula worked out in NumPy.

The same arithmetic was compared with adapters 1.3.0 on transformers 4.57.6 (which cannot stand beside ours): six
wirings, both file formats, [CLS] vectors within 1.1e-6.
"""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path

import numpy as np
import pytest

from ingestion.artifacts import ArtifactStore
from ingestion.schema import Corpus
from retrieval import models
from retrieval.adapters import adapted, adapter_digest, find_adapter, missing_adapter, read_adapter
from retrieval.errors import ModelLoadError
from retrieval.models import SELF_TEST
from retrieval.retrievers import specter2
from retrieval.retrievers.specter2 import Specter2
from retrieval.schema import Queries
from retrieval.stage import Context
from tests.contract.conftest import corpus_of
from tests.unit.retrieval.tiny_models import SIZES, rows, save_bert

WIDTH, SMALL = SIZES["hidden_size"], 8
PFEIFFER = {
    "mh_adapter": False,
    "output_adapter": True,
    "reduction_factor": 4,
    "non_linearity": "relu",
    "original_ln_before": True,
    "original_ln_after": True,
    "residual_before_ln": True,
    "adapter_residual_before_ln": False,
    "ln_before": False,
    "ln_after": False,
    "scaling": 1.0,
    "leave_out": [],
}


def save_adapter(folder: Path, seed: int, layers: int = 2, safe: bool = False, **config) -> Path:
    """A random adapter in the library's files and names; its name holds brackets, as SPECTER2's own do."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    config = {**PFEIFFER, **config}
    content = {"config": config, "hidden_size": WIDTH, "model_type": "bert", "name": "[PRX]", "version": "3.1.0"}
    (folder / "adapter_config.json").write_text(json.dumps(content))
    random = torch.Generator().manual_seed(seed)
    first = int(config["ln_before"])
    shapes = {
        f"adapter_down.{first}.weight": (SMALL, WIDTH),
        f"adapter_down.{first}.bias": (SMALL,),
        "adapter_up.weight": (WIDTH, SMALL),
        "adapter_up.bias": (WIDTH,),
    }
    for norm in ("adapter_norm_before",) * config["ln_before"] + ("adapter_norm_after",) * config["ln_after"]:
        shapes |= {f"{norm}.weight": (WIDTH,), f"{norm}.bias": (WIDTH,)}
    tensors = {
        f"bert.encoder.layer.{layer}.output.adapters.[PRX].{name}": 0.3 * torch.randn(shape, generator=random)
        for layer in range(layers)
        if layer not in config["leave_out"]
        for name, shape in shapes.items()
    }
    if safe:
        save_file(tensors, folder / "adapter.safetensors")
    else:
        torch.save(tensors, folder / "pytorch_adapter.bin")
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """A base model and two adapters for which the self-test passes."""
    pytest.importorskip("transformers")
    path = tmp_path_factory.mktemp("specter2")
    save_bert(path / "base", "BertModel", 0)
    save_adapter(path / "chunk", seed=3)
    save_adapter(path / "query", seed=7, safe=True)
    return path


def stage(home: Path, **parameters) -> Specter2:
    names = {"model": "base", "chunk_adapter": "chunk", "query_adapter": "query"}
    return Specter2(**{**{key: str(home / name) for key, name in names.items()}, "max_length": 64, **parameters})


# Adapter wirings as formulas of h = dense(intermediate), a = the attention's output, N = the block's own LayerNorm,
# f = up(act(down(.))), B and A = the adapter's norms: methods/modeling.py of adapters 1.3.0
WIRINGS = {
    "pfeiffer": ({}, lambda h, a, N, f, B, A: N(f(N(h + a)) + h + a)),
    "scaled": ({"scaling": 4.0}, lambda h, a, N, f, B, A: N(4 * f(N(h + a)) + h + a)),
    "post_add": ({"residual_before_ln": "post_add"}, lambda h, a, N, f, B, A: N(f(N(h + a)) + h + a + a)),
    "after": ({"residual_before_ln": False}, lambda h, a, N, f, B, A: N(f(N(h + a)) + N(h + a) + a)),
    "houlsby": ({"original_ln_before": False}, lambda h, a, N, f, B, A: N(f(h) + h + a)),
    "own norms": (
        {"ln_before": True, "ln_after": True, "original_ln_before": False},
        lambda h, a, N, f, B, A: N(A(f(B(h))) + h + a),
    ),
    "no norm after": (
        {"ln_after": True, "adapter_residual_before_ln": True, "original_ln_after": False},
        lambda h, a, N, f, B, A: A(f(N(h + a)) + h),
    ),
}


def normed(weight, bias, eps=1e-12):
    def norm(x):
        centred = x - x.mean(axis=-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps) * weight + bias

    return norm


@pytest.mark.neural
@pytest.mark.parametrize("name", WIRINGS)
def test_one_layer_by_hand(name, tmp_path):
    import torch

    config, formula = WIRINGS[name]
    base = save_bert(tmp_path / "base", "BertModel", 3, num_hidden_layers=1)
    adapter = read_adapter(str(save_adapter(tmp_path / "adapter", seed=4, layers=1, safe=True, **config)))
    block = base.encoder.layer[0].output
    with torch.no_grad():
        block.LayerNorm.weight += 0.1 * torch.randn(WIDTH, generator=torch.Generator().manual_seed(5))
    seen = []
    block.register_forward_hook(lambda module, inputs, output: seen.append((*inputs, output)))
    ids = torch.tensor([[2, 50, 51, 52, 3]])
    with torch.no_grad():
        base(input_ids=ids)
        ours = adapted(base, adapter)(input_ids=ids).last_hidden_state[0].numpy()
    inner, attention, plain = (tensor[0].double().numpy() for tensor in seen[0])
    weights = {key: value.double().numpy() for key, value in adapter.layers[0].items()}
    down = f"adapter_down.{int(bool(config.get('ln_before')))}"
    hidden = inner @ block.dense.weight.detach().double().numpy().T + block.dense.bias.detach().double().numpy()
    own = normed(block.LayerNorm.weight.detach().double().numpy(), block.LayerNorm.bias.detach().double().numpy())
    norms = [
        normed(weights.get(f"adapter_norm_{side}.weight", 1), weights.get(f"adapter_norm_{side}.bias", 0), 1e-5)
        for side in ("before", "after")
    ]

    def bottleneck(x):
        small = np.maximum(x @ weights[f"{down}.weight"].T + weights[f"{down}.bias"], 0)
        return small @ weights["adapter_up.weight"].T + weights["adapter_up.bias"]

    expected = formula(hidden, attention, own, bottleneck, *norms)
    assert np.abs(own(hidden + attention) - plain).max() < 1e-5  # the block without an adapter
    assert np.abs(ours - expected).max() < 1e-5
    assert np.abs(ours - plain).max() > 0.1


@pytest.mark.neural
def test_the_base_stays_as_it_is_and_its_weights_are_shared(home):
    import torch
    from transformers import BertModel

    base = BertModel.from_pretrained(home / "base").eval()
    ids = torch.tensor([[2, 50, 51, 3]])
    with torch.no_grad():
        before = base(input_ids=ids)[0]
        model = adapted(base, read_adapter(str(home / "chunk")))
        other = adapted(base, read_adapter(str(home / "query")))
        assert not torch.equal(model(input_ids=ids)[0], other(input_ids=ids)[0])
        assert torch.equal(base(input_ids=ids)[0], before)
    assert all(a is b for a, b in zip(model.parameters(), base.parameters(), strict=True))


@pytest.mark.neural
def test_a_layer_left_out_has_no_adapter(home, tmp_path):
    import torch
    from transformers import BertModel

    base = BertModel.from_pretrained(home / "base").eval()
    save_adapter(tmp_path / "last", seed=6, leave_out=[0])
    with torch.no_grad():
        plain, ours = (
            model(input_ids=torch.tensor([[2, 50, 3]]), output_hidden_states=True).hidden_states
            for model in (base, adapted(base, read_adapter(str(tmp_path / "last"))))
        )
    assert torch.equal(plain[1], ours[1])
    assert not torch.allclose(plain[2], ours[2], atol=0.1)


def with_titles(chunks, titles) -> Corpus:
    corpus = corpus_of(chunks)
    documents = corpus.documents.to_pylist()
    table = corpus.documents.from_pylist(
        [{**row, "title": titles.get(row["doc_id"], "")} for row in documents], corpus.documents.schema
    )
    return Corpus(corpus.chunks, table, corpus.pages)


def by_hand(home: Path, side: str, texts: list[str]):
    """[CLS] of one text at a time."""
    import torch
    from transformers import BertModel, BertTokenizer

    tokenizer = BertTokenizer.from_pretrained(home / "base")
    model = adapted(BertModel.from_pretrained(home / "base").eval(), read_adapter(str(home / side)))
    with torch.no_grad():
        read = [tokenizer(text, return_tensors="pt", truncation=True, max_length=64) for text in texts]
        return np.stack([model(**one).last_hidden_state[0, 0].numpy() for one in read])


@pytest.mark.neural
def test_the_ranking_is_that_of_euclidean_distances_one_text_at_a_time(home, tmp_path):
    sections = [{**row, "section": "evidence" if n % 2 else ""} for n, row in enumerate(rows())]
    corpus = with_titles(sections, {"d1": "Rank Fusion", "d2": "duplicate"})
    ctx = Context(corpus, ArtifactStore(tmp_path), depth=30)
    queries = Queries.of(["a", "b", "c"], ["reciprocal rank fusion", "  ", "bootstrap interval of a cluster"])
    run = ctx.search(stage(home, batch_size=4), queries)
    assert set(run.query.tolist()) == {0, 2}
    heading = {"d1": "Rank Fusion", "d2": "duplicate"}
    texts = []
    for doc, section, text in zip(corpus.column("doc_id"), corpus.column("section"), corpus.texts, strict=True):
        said = ". ".join(part for part in (heading.get(doc, ""), section) if part)
        texts.append(f"{said}[SEP]{text}" if said else text)
    chunks = by_hand(home, "chunk", texts)
    for query in (0, 2):
        question = by_hand(home, "query", [queries.query[query]])[0]
        distance = np.linalg.norm(chunks.astype(np.float64) - question, axis=1)
        mine = run.query == query
        assert run.chunk[mine].tolist() == sorted(range(30), key=lambda c: (round(distance[c], 5), c))
        assert run.score[mine].tolist() == pytest.approx((-(np.sort(distance) ** 2) / 2 / WIDTH).tolist(), abs=2e-6)
    assert np.abs(np.linalg.norm(chunks, axis=1) - 1).min() > 1  # not normalised


@pytest.mark.neural
def test_a_title_that_the_text_begins_with_is_not_said_twice():
    one = [{**rows()[0], "doc_id": "d0", "text": "Rank fusion Reciprocal ranks are added.", "section": ""}]
    assert specter2._chunk_texts(with_titles(one, {"d0": "Rank fusion"}), "[SEP]") == [
        "Rank fusion[SEP]Reciprocal ranks are added."
    ]
    assert specter2._chunk_texts(with_titles(one, {}), "[SEP]") == ["Rank fusion Reciprocal ranks are added."]


@pytest.mark.neural
def test_chunks_and_questions_have_adapters_of_their_own(home):
    text = ["reciprocal rank fusion"]
    ours = stage(home)
    assert np.abs(ours.embed(text, "chunk") - by_hand(home, "chunk", text)).max() < 1e-5
    assert np.abs(ours.embed(text, "query") - by_hand(home, "query", text)).max() < 1e-5
    assert np.abs(ours.embed(text, "query") - ours.embed(text, "chunk")).max() > 0.1


@pytest.mark.neural
def test_rows_queries_filters_and_an_empty_corpus(home, tmp_path):
    from retrieval.filters import Where

    def names(corpus, queries, where=None):
        ctx = Context(corpus, ArtifactStore(tmp_path), depth=7, remember=False, where=where)
        run = ctx.search(stage(home), queries)
        return [(queries.qid[q], corpus.chunk_ids[c]) for q, c in zip(run.query, run.chunk, strict=True)]

    queries = Queries.of(["a", "b"], ["reciprocal rank fusion", "bootstrap interval"])
    whole = names(corpus_of(rows()), queries)
    assert len(whole) == 14
    assert names(corpus_of(rows()[::-1]), queries) == whole
    assert names(corpus_of(rows()), queries.take([1])) == whole[7:]
    assert names(corpus_of([]), queries) == []
    corpus = corpus_of(rows())
    document = dict(zip(corpus.chunk_ids, corpus.column("doc_id"), strict=True))
    filtered = names(corpus, queries, Where(document=("d2",)))
    assert {document[chunk] for _, chunk in filtered} == {"d2"}


@pytest.mark.neural
def test_inputs_change_with_every_file_and_with_the_titles(home, tmp_path):
    import shutil

    shutil.copytree(home, tmp_path / "home")
    ctx = Context(corpus_of(rows()), ArtifactStore(tmp_path / "artifacts"))
    titled = Context(with_titles(rows(), {"d1": "Rank"}), ArtifactStore(tmp_path / "artifacts"))
    before = stage(home).inputs(ctx)
    assert stage(tmp_path / "home").inputs(ctx) == before  # the place does not matter
    assert titled.corpus.fingerprint == ctx.corpus.fingerprint
    assert {key for key, value in stage(home).inputs(titled).items() if value != before[key]} == {"titles"}
    save_adapter(tmp_path / "home" / "query", seed=9, safe=True)
    changed = stage(tmp_path / "home").inputs(ctx)
    assert {key for key in before if changed[key] != before[key]} == {"query_adapter"}


@pytest.mark.neural
def test_a_model_that_fails_the_self_test_is_refused(home, monkeypatch):
    specter2.load_specter2.cache_clear()
    monkeypatch.setattr(models, "SELF_TEST", (SELF_TEST[0], SELF_TEST[2], SELF_TEST[1]))
    with pytest.raises(ModelLoadError, match="fails its self-test"):
        stage(home).embed(["a"], "chunk")


@pytest.mark.neural
def test_a_base_model_in_the_older_file_and_one_that_is_no_bert(home, tmp_path):
    import torch
    from transformers import BertModel

    model = save_bert(tmp_path / "old", "BertModel", 0)
    (tmp_path / "old" / "model.safetensors").unlink()
    torch.save(model.state_dict(), tmp_path / "old" / "pytorch_model.bin")
    old = stage(home, model=str(tmp_path / "old"))
    assert old.missing() is None
    assert old.embed(["rank fusion"], "chunk").tobytes() == stage(home).embed(["rank fusion"], "chunk").tobytes()
    weights = BertModel.from_pretrained(home / "base").state_dict()
    other = {key: value for key, value in weights.items() if "layer.1" not in key}
    torch.save(other, tmp_path / "old" / "pytorch_model.bin")
    specter2.load_specter2.cache_clear()
    with pytest.raises(ModelLoadError, match=r"no BERT: 16 weights such as encoder\.layer\.1\."):
        old.embed(["rank fusion"], "chunk")


@pytest.mark.neural
def test_other_architectures_are_refused(home, tmp_path):
    for number, (config, said) in enumerate(
        [
            ({"mh_adapter": True}, "mh_adapter=True"),
            ({"architecture": "lora"}, "architecture='lora'"),
            ({"scaling": "learned"}, "scaling='learned'"),
            ({"output_adapter": False}, "no output_adapter"),
            ({"residual_before_ln": "post_add", "original_ln_before": False}, "post_add"),
        ]
    ):
        folder = save_adapter(tmp_path / str(number), seed=1, **config)
        with pytest.raises(ModelLoadError, match=re.escape(said)):
            read_adapter(str(folder))
    from transformers import BertModel

    base = BertModel.from_pretrained(home / "base").eval()
    with pytest.raises(ModelLoadError, match="holds layers \\[0, 1, 2\\]; the model has 2"):
        adapted(base, read_adapter(str(save_adapter(tmp_path / "deep", seed=1, layers=3))))
    wide = save_bert(tmp_path / "wide", "BertModel", 0, hidden_size=16)
    with pytest.raises(ModelLoadError, match="is 32 wide; the model is 16"):
        adapted(wide, read_adapter(str(home / "chunk")))
    with pytest.raises(ModelLoadError, match="non_linearity='nothing'"):
        adapted(base, read_adapter(str(save_adapter(tmp_path / "act", seed=1, non_linearity="nothing"))))
    with pytest.raises(ModelLoadError, match="set max_length=64"):
        stage(home, max_length=512).embed(["a"], "chunk")


@pytest.mark.neural
def test_damaged_files_are_named(tmp_path):
    import torch

    folder = save_adapter(tmp_path / "bin", seed=1)
    for content in (b"", b"no tensors"):
        (folder / "pytorch_adapter.bin").write_bytes(content)
        with pytest.raises(ModelLoadError, match="cannot be read"):
            read_adapter(str(folder))
    torch.save({"a": torch.nn.Linear(1, 1)}, folder / "pytorch_adapter.bin")
    with pytest.raises(ModelLoadError, match="cannot be read"):
        read_adapter(str(folder))
    safe = save_adapter(tmp_path / "safe", seed=1, safe=True)
    (safe / "adapter.safetensors").write_bytes(b"short")
    with pytest.raises(ModelLoadError, match="cannot be read"):
        read_adapter(str(safe))
    (safe / "adapter_config.json").write_text("{")
    with pytest.raises(ModelLoadError, match="cannot be read"):
        read_adapter(str(safe))


@pytest.fixture
def empty_hub(monkeypatch) -> None:
    """An offline machine without a cache."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda *_: None)
    monkeypatch.setattr(socket, "create_connection", lambda *_: pytest.fail("the network was used"))


@pytest.mark.neural
def test_what_is_missing_is_named_with_the_remedy(home, empty_hub):
    assert stage(home).missing() is None
    assert "hf download allenai/specter2_base" in str(Specter2().missing())
    reason = str(stage(home, query_adapter="allenai/specter2_adhoc_query").missing())
    assert "hf download allenai/specter2_adhoc_query" in reason
    assert "name a local folder that holds adapter_config.json and pytorch_adapter.bin" in reason
    for call in (find_adapter, adapter_digest, read_adapter):
        with pytest.raises(ModelLoadError, match="hf download allenai/specter2"):
            call("allenai/specter2")
    assert "is not here" in str(missing_adapter("/no/such/folder"))  # a path is no hub id, and no error of the hub's


@pytest.mark.neural
def test_online_the_hub_is_asked_last_and_only_where_allowed(home, empty_hub, monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    asked = []

    def download(name, allow_patterns):
        asked.append((name, allow_patterns))
        return str(home / "chunk" if name == "allenai/specter2" else tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    assert missing_adapter("allenai/specter2") is None  # it may be had
    with pytest.raises(ModelLoadError):
        find_adapter("allenai/specter2")
    assert asked == []
    assert find_adapter("allenai/specter2", download=True) == home / "chunk"
    assert asked == [("allenai/specter2", ["adapter_config.json", "adapter.safetensors", "pytorch_adapter.bin"])]
    with pytest.raises(ModelLoadError, match="holds no adapter"):
        find_adapter("allenai/no-adapter", download=True)


@pytest.mark.neural
def test_the_hub_cache_comes_before_the_hub(home, empty_hub, monkeypatch):
    monkeypatch.setattr(
        "huggingface_hub.try_to_load_from_cache",
        lambda name, file: str(home / "chunk" / file) if (home / "chunk" / file).is_file() else None,
    )
    assert find_adapter("allenai/specter2", download=True) == home / "chunk"


@pytest.mark.parametrize("value", [{"max_length": 2}, {"batch_size": 0}, {"threads": 0}])
def test_parameters_out_of_range_are_refused(value):
    with pytest.raises(ValueError, match="must be"):
        Specter2(**value)
