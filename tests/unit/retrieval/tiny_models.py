"""Random BERTs of one or two layers in the file layout of the hub, over a small WordPiece vocabulary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from retrieval.models import SELF_TEST
from tests.contract.conftest import corpus_rows

# Of this file alone: another vocabulary gives other random weights, and what the tests chose their seeds for changes
WORDS = [
    "retrieval", "ranking", "fusion", "reciprocal", "rank", "score", "chunk", "document", "query", "term",
    "frequency", "inverse", "length", "vector", "dense", "sparse", "cosine", "overlap", "duplicate", "novelty",
    "relevance", "judgment", "span", "evidence", "interval", "bootstrap", "cluster", "sample", "of", "scores", "a",
]  # fmt: skip
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def rows() -> list[dict[str, object]]:
    """30 chunks of six documents, 18 to 22 words of one token each; two of them have the same text."""
    base = corpus_rows()[0]
    found = []
    for n in range(30):
        start = n % 29
        text = " ".join(WORDS[(start + (3 if start % 2 else 1) * step) % 28] for step in range(18 + start % 5))
        found.append({**base, "chunk_id": f"{n * 7919 % 30:04}", "doc_id": f"d{n // 5}", "text": text})
    return found


def vocabulary() -> list[str]:
    """Every word of the chunks and of the self-test, and single letters to spell any other one."""
    words = {*WORDS, *(word.strip(".").lower() for text in SELF_TEST for word in text.split())}
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)] + list("0123456789.")
    return [*SPECIAL, *letters, *(f"##{letter}" for letter in letters), *sorted(words - set(letters))]


def save_tokenizer(folder: Path, length: int = 64) -> Any:
    """A BertTokenizer over the vocabulary, saved into the folder."""
    from transformers import BertTokenizer

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "vocab.txt"
    path.write_text("\n".join(vocabulary()))
    tokenizer = BertTokenizer(str(path), model_max_length=length)
    tokenizer.save_pretrained(folder)
    return tokenizer


def save_bert(folder: Path, kind: str, seed: int, length: int = 64, spread: float = 8.0, **config: Any) -> Any:
    """A random BERT of a transformers class; weights are `spread` times the usual, so that texts differ."""
    import torch
    import transformers

    torch.manual_seed(seed)
    settings = transformers.BertConfig(
        vocab_size=len(vocabulary()), max_position_embeddings=length, **{**SIZES, **config}
    )
    model = getattr(transformers, kind)(settings).eval()
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if name.endswith("weight") and "LayerNorm" not in name:
                weights.mul_(spread)
    model.save_pretrained(folder)
    save_tokenizer(folder, length)
    return model
