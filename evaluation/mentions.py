"""Does a text mention a name? Case, plural, possessive and hyphen do not matter; token boundaries do."""

from __future__ import annotations

from ingestion.names import HYPHEN, clean, words


def normal_text(text: str) -> str:
    """The text as `mentions` reads it: normal tokens, once with hyphens as spaces and once without hyphens."""
    return " | ".join(_forms(text))


def mentions(normal: str, name: str) -> bool:
    """Whether a normal text holds a name, token by token. `pre-training` is found in `pretraining` and back."""
    return any(form in normal for form in _forms(name) if form.strip())


def _forms(text: str) -> tuple[str, str]:
    text = clean(text)
    return _joined(HYPHEN.sub(" ", text)), _joined(HYPHEN.sub("", text))


def _joined(text: str) -> str:
    return f" {' '.join(words(text))} "
