"""The estimate of tokens against tokenizers that are at hand, and the exact count without a network."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path

import pytest

from generation.router import token_counts
from generation.router.token_counts import count, count_messages, encoding_of, estimate, estimate_messages
from generation.router.wire import Message

PROSE = (
    "Retrieval-augmented generation answers a question from documents that were found for it. "
    "We report nDCG@10 = 0.412 (95% CI 0.398-0.427) on 1,204 queries; see Table 3 and Fig. 2b.\n"
)
SCRIPTS = {
    "prose": PROSE * 20,
    "capitals": "RETRIEVAL AUGMENTED GENERATION WITH CONFIDENCE " * 20,
    "table": "| 0.12 | 3.4 | 99 |\n" * 50,
    "marks": "!?;:,.-()[]{}" * 40,
    "short words": " a" * 300,
    "mathematics": "∑_{i=1}^n α_i β_i ≤ ∫ f(x) dx → ∞ ∀ε>0 ∃δ " * 20,
    "code": "for(i=0;i<n;++i){a[i]=b[i]*c;}" * 20,
    "accents": "Über die Größe der Straße, naïveté, façade, Łódź, žluťoučký kůň " * 20,
    "Chinese": "检索增强生成系统在回答问题时引用来源文档，并给出每个陈述的置信度。" * 20,
    "Japanese": "検索拡張生成は、文書から根拠を取り出して回答します。カタカナとひらがな。" * 20,
    "Korean": "검색 증강 생성은 문서에서 근거를 찾아 답변합니다." * 20,
    "Russian": "Поисково-дополненная генерация отвечает на вопросы по документам. " * 20,
    "Arabic": "توليد معزز بالاسترجاع يجيب عن الأسئلة من الوثائق " * 20,
    "Hindi": "पुनर्प्राप्ति संवर्धित जनन दस्तावेज़ों से उत्तर देता है " * 20,
    "Greek": "Η παραγωγή με ανάκτηση απαντά σε ερωτήσεις " * 20,
    "Thai": "การสร้างข้อความเสริมการค้นคืนตอบคำถามจากเอกสาร " * 20,
    "emoji": "🙂🚀🔬📚" * 50,
}
ALPHABETS = {
    "hexadecimal": "0123456789abcdef",
    "base64": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
}


@pytest.fixture(scope="module")
def folder() -> Path:
    """LiteLLM's folder of tokenizers, found without the four seconds of its import."""
    pytest.importorskip("tiktoken")
    found = importlib.util.find_spec("litellm")
    if found is None or found.origin is None:
        pytest.skip("litellm is not installed")
    return Path(found.origin).parent / "litellm_core_utils" / "tokenizers"


@pytest.fixture
def cached(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
    monkeypatch.setattr("socket.socket.connect", _no_network)
    return folder


def _no_network(*arguments: object) -> None:
    raise AssertionError("a tokenizer asked the network")


def noise(kind: str) -> str:
    generator = random.Random(kind)
    return "".join(generator.choice(ALPHABETS[kind]) for _ in range(2_000))


@pytest.mark.parametrize("kind", [*SCRIPTS, *ALPHABETS])
def test_the_estimate_is_never_less_than_what_a_tokenizer_in_use_counts(kind: str, cached: Path) -> None:
    text = SCRIPTS[kind] if kind in SCRIPTS else noise(kind)
    for model in ("gpt-5.5", "gpt-4"):
        assert estimate(text) >= count(text, encoding_of(model, cached))


@pytest.mark.parametrize("kind", [*SCRIPTS, *ALPHABETS])
def test_the_estimate_is_never_less_than_what_other_vendors_tokenizers_count(kind: str, folder: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    text = SCRIPTS[kind] if kind in SCRIPTS else noise(kind)
    for name in ("anthropic", "deepseek"):
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / f"{name}_tokenizer.json"))
        assert estimate(text) >= len(tokenizer.encode(text).ids)


def test_on_prose_it_leaves_room_for_a_tokenizer_that_makes_a_third_more(cached: Path) -> None:
    exact = count(SCRIPTS["prose"], encoding_of("gpt-5.5", cached))
    assert 1.35 * exact <= estimate(SCRIPTS["prose"]) <= 2 * exact


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("two words", 1 + 2),
        ("AB", 1),
        ("1.5", 3),
        ("a\n\n b", 1 + 1 + 1),
        ("文書", 4),
        ("é", 2),
        ("\ud800", 3),
        ("0123456789abcdefghij", 20),
    ],
)
def test_the_estimate_by_hand(text: str, tokens: int) -> None:
    assert estimate(text) == tokens


def test_messages_add_what_a_chat_format_adds(cached: Path) -> None:
    messages = (Message("system", "two words"), Message("user", "two words"))
    assert estimate_messages(messages) == 4 + 2 * (4 + 3)
    assert count_messages(messages, encoding_of("gpt-5.5", cached)) == 4 + 2 * (4 + 2)


def test_marks_of_the_format_within_a_text_are_text(cached: Path) -> None:
    assert count("<|endoftext|>", encoding_of("gpt-5.5", cached)) > 1


def test_a_long_word_is_counted_in_pieces(cached: Path) -> None:
    encoding = encoding_of("gpt-5.5", cached)
    text = "ab" * token_counts.LONGEST_PIECE
    assert count(text, encoding) == 2 * count(text[: token_counts.LONGEST_PIECE], encoding)


def test_nothing_is_fetched_where_no_file_is_at_hand(cached: Path, tmp_path: Path) -> None:
    assert encoding_of("gpt-5.5", tmp_path) is None
    assert encoding_of("davinci", cached) is None
    assert encoding_of("a-deployment", cached) is None
    assert encoding_of("gpt-oss-20b", cached) is not None
