"""Vectors that depend on their text alone: batches, what is embedded again, and what an interruption costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ingestion.artifacts import ArtifactStore
from retrieval import embedding
from retrieval.embedding import ALONE, Encoder, batches, chunk_vectors, text_keys
from retrieval.stage import Context
from tests.contract.conftest import corpus_of, corpus_rows

MINILM = Encoder("all-MiniLM-L6-v2", "", None, 8, 2)


def test_only_texts_of_one_length_share_a_batch_and_short_ones_go_alone():
    long, short = ALONE, ALONE - 1
    lengths = np.array([short, long, 90, long, short, long, long, 90])
    found = [rows.tolist() for rows in batches(lengths, 3)]
    assert found == [[2, 7], [1, 3, 5], [6], [0], [4]]
    assert list(batches(np.zeros(0, np.int64), 3)) == []


def test_keys_are_of_the_text():
    keys = text_keys(["a", "b", "a", ""])
    assert keys[0] == keys[2]
    assert len(set(keys.tolist())) == 3
    assert all(len(key) == 16 for key in keys.tolist())  # no trailing zero is lost


class Counted:
    """A runtime: vectors that can be read off the texts, and a list of what was embedded."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fail_after: int | None = None) -> None:
        self.texts: list[str] = []
        self.fail_after = fail_after
        monkeypatch.setattr(Encoder, "encode", self.encode)
        monkeypatch.setattr(Encoder, "truncated", lambda _, texts: 0)
        monkeypatch.setattr(embedding, "weights_digest", lambda model: model)

    def encode(self, texts, label="", store=None):
        if self.fail_after is not None and len(self.texts) + len(texts) > self.fail_after:
            raise KeyboardInterrupt
        self.texts += texts
        return np.asarray([vector(text) for text in texts], dtype=np.float32)


def vector(text: str) -> list[float]:
    angle = len(text) + sum(map(ord, text)) % 97
    return [float(np.cos(angle)), float(np.sin(angle))]


def vectors_of(folder: Path, rows: list[dict[str, object]], encoder: Encoder = MINILM) -> np.ndarray:
    corpus = corpus_of(rows)
    found = chunk_vectors(Context(corpus, ArtifactStore(folder)), encoder)
    assert np.allclose(found, [vector(text) for text in corpus.texts])
    return found


def test_another_paper_embeds_its_own_chunks_only(tmp_path, monkeypatch):
    counted = Counted(monkeypatch)
    rows = corpus_rows()
    vectors_of(tmp_path, rows[:20])
    first = len(counted.texts)
    assert first == len({row["text"] for row in rows[:20]})  # equal texts once
    vectors_of(tmp_path, rows)
    assert sorted(counted.texts[first:]) == sorted({r["text"] for r in rows} - {r["text"] for r in rows[:20]})
    before = len(counted.texts)
    vectors_of(tmp_path, rows[5:12])
    assert len(counted.texts) == before  # all of them known
    vectors_of(tmp_path, rows[5:12], replace(MINILM, prefix="passage: "))
    assert len(counted.texts) > before  # another encoder has its own vectors
    assert not list((tmp_path / "vector_blocks").glob("[!.]*/"))


def test_an_interrupted_run_goes_on_from_the_last_block(tmp_path, monkeypatch):
    monkeypatch.setattr(embedding, "BLOCK", 4)
    counted = Counted(monkeypatch, fail_after=10)
    rows = corpus_rows()
    with pytest.raises(KeyboardInterrupt):
        vectors_of(tmp_path, rows)
    assert len(counted.texts) == 8  # two blocks are kept
    counted.fail_after = None
    vectors_of(tmp_path, rows)
    assert len(counted.texts) == len({row["text"] for row in rows})


@pytest.mark.neural
def test_a_vector_depends_on_nothing_but_its_text():
    pytest.importorskip("sentence_transformers")
    words = "retrieval of scientific text by vectors and by terms is measured on judged questions".split()  # noqa: SIM905
    texts = [" ".join((words * 30)[n : n + 3 * n + 1]) for n in range(1, 90, 4)]
    whole = MINILM.encode(texts)
    for other in (replace(MINILM, batch_size=1), replace(MINILM, batch_size=32)):
        assert np.abs(other.encode(texts) - whole).max() < 2e-7
    rows = [3, 17, 9]
    assert np.abs(MINILM.encode([texts[row] for row in rows]) - whole[rows]).max() < 2e-7
    assert np.linalg.norm(whole, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-6)
