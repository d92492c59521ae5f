"""Models that read question and quote together: one more feature of confidence, and none where there is no reader."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from generation.build import build_confidence, build_reader, reader_config
from generation.confident import Judge
from generation.errors import RequestError
from generation.features import Asked
from generation.generators.grounded import candidates
from generation.reader import READ, reading
from generation.readers.cross_encoder import CrossEncoder
from generation.readers.encoder import Encoder
from generation.schema import Claim
from generation.words import Rarity
from ingestion.config import names
from ingestion.errors import ConfigError
from retrieval import models
from retrieval.models import SELF_TEST
from tests.unit.generation.bundled import confidence, logistic
from tests.unit.generation.sources import evidence

FOUND = evidence(
    "BM25 saturates with the number of occurrences. Cosine similarity is a ratio of two norms.",
    "Cosine similarity saturates\nat no point at all.",
    question="Does BM25 saturate?",
)
RARITY = Rarity({"bm25": 2.0, "satur": 1.0, "cosin": 1.0}, 4.0)


@dataclass(frozen=True)
class Longest:
    """Finds that the longer text answers better; keeps what it was asked."""

    asked: list[tuple[str, list[str]]] = field(default_factory=list)

    def missing(self):
        return None

    def scores(self, question, texts):
        self.asked.append((question, list(texts)))
        return np.asarray([len(text) for text in texts], dtype=np.float64)


def test_without_a_reader_there_is_no_feature():
    assert reading(None, "Why?", ["one", "two"]) == [{}, {}]


def test_a_reader_sees_white_space_as_single_blanks():
    reader = Longest()
    assert reading(reader, "Why?", ["one\n  two", "three"]) == [{READ: 7.0}, {READ: 5.0}]
    assert reader.asked == [("Why?", ["one two", "three"])]


def test_what_it_says_decides_which_extract_is_best():
    judged = replace(confidence(logistic(0.0, read=0.1)), reader=Longest())
    ranked = candidates(Asked(FOUND.question, RARITY), FOUND, judged)
    lengths = [len(candidate.extract.text) for candidate in ranked]
    assert lengths == sorted(lengths, reverse=True) and len(set(lengths)) > 1
    backwards = candidates(Asked(FOUND.question, RARITY), FOUND, replace(judged, claim=logistic(0.0, read=-0.1)))
    assert [len(candidate.extract.text) for candidate in backwards] == lengths[::-1]


def test_a_model_s_claim_is_read_by_its_quotes():
    reader = Longest()
    judge = Judge(FOUND, RARITY, replace(confidence(logistic(-40.0, read=1.0)), reader=reader))
    short, long = FOUND.sources[0].cite(47, 89), FOUND.sources[0].cite(0, 46)
    assert judge.claim(Claim("It does.", (short,))).probability == pytest.approx(1 / (1 + np.exp(-2)), abs=1e-6)
    assert judge.claim(Claim("It does.", (short, long))).probability == pytest.approx(1 / (1 + np.exp(-6)), abs=1e-6)
    assert reader.asked[-1] == (FOUND.question, [short.quote, long.quote])


def test_a_fit_with_a_reader_is_of_no_use_without_one():
    with pytest.raises(RequestError, match="'read' is not known"):
        candidates(Asked(FOUND.question, RARITY), FOUND, confidence(logistic(0.0, read=1.0)))


@pytest.mark.parametrize("name", names("reader"))
def test_every_named_reader_can_be_built_or_says_what_is_missing(name):
    plain = reader_config(name)
    try:
        assert build_reader(plain).missing() is None
    except RequestError as error:
        assert any(remedy in str(error) for remedy in ("pip install", "hf download", "local folder"))
        assert "confidence=default" in str(error)


def test_a_reader_that_is_not_there(monkeypatch):
    with pytest.raises(ConfigError, match=r"'minilmm' not found.*minilm"):
        reader_config("minilmm")
    with pytest.raises(ConfigError, match=r"must be a class below generation\.readers"):
        build_reader({"_target_": "generation.generators.grounded.Grounded"})
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(RequestError, match=r"confidence\.reader: .*no/such.*confidence=default needs no model"):
        build_confidence(
            {"reader": {"_target_": "generation.readers.cross_encoder.CrossEncoder", "model": "no/such"}}
        )


@pytest.mark.skipif(models.missing("all-MiniLM-L6-v2") is not None, reason="all-MiniLM-L6-v2 is not here")
def test_an_encoder_reads_by_cosine_and_embeds_a_text_once(monkeypatch):
    reader = Encoder()
    near, far, again = reader.scores(SELF_TEST[0], [*SELF_TEST[1:], SELF_TEST[1]])
    assert near == again == pytest.approx(0.7553, abs=1e-4) and far < 0.1
    embedded = []
    real = models.load_encoder("all-MiniLM-L6-v2", None)

    class Spy:
        def encode(self, texts, **settings):
            embedded.append(list(texts))
            return real.encode(texts, **settings)

    monkeypatch.setattr(models, "load_encoder", lambda model, length: Spy())
    assert reader.scores(SELF_TEST[2], [*SELF_TEST[1:], "New."])[1] == pytest.approx(1, abs=1e-5)
    assert embedded == [["New."], [SELF_TEST[2]]]
    assert reader.scores(SELF_TEST[0], []).shape == (0,)
    prefixed = Encoder(query_prefix="query: ", passage_prefix="passage: ")
    prefixed.scores("one", ["two"])
    assert embedded[-2:] == [["passage: two"], ["query: one"]]


def test_a_cross_encoder_reads_by_its_raw_logit(monkeypatch):
    seen = []

    def score(self, pairs):
        seen.append((self.model, self.max_length, list(pairs)))
        return np.asarray([2.5, -1.5], dtype=np.float32), np.zeros(2, dtype=np.bool_)

    monkeypatch.setattr("retrieval.rerankers.cross_encoder.CrossEncoder.score", score)
    assert CrossEncoder("mine", max_length=128).scores("Why?", ["so", "not"]).tolist() == [2.5, -1.5]
    assert seen == [("mine", 128, [("Why?", "so"), ("Why?", "not")])]
    assert CrossEncoder().scores("Why?", []).shape == (0,) and len(seen) == 1
