"""Does a text mention a name? Case, plural, possessive and hyphen do not matter; token boundaries do."""

from __future__ import annotations

import re
import unicodedata

_ACRONYMS = re.compile(r"\b([A-Z][A-Z0-9]+)s\b")
_POSSESSIVE = re.compile(r"['’]s?\b")
_HYPHEN = re.compile(r"(?<=\w)[-\u2010-\u2015\u2212](?=\w)")
_TOKEN = re.compile(r"[^\W_]+(?:[+#]+(?!\w))?")
_SIBILANT_E = re.compile(r"(?<=.)(s|x|z|ch|sh)e$")


def normal_text(text: str) -> str:
    """The text as `mentions` reads it: normal tokens, once with hyphens as spaces and once without hyphens."""
    return " | ".join(_forms(text))


def mentions(normal: str, name: str) -> bool:
    """Whether a normal text holds a name, token by token. `pre-training` is found in `pretraining` and back."""
    return any(form in normal for form in _forms(name) if form.strip())


def _forms(text: str) -> tuple[str, str]:
    text = _ACRONYMS.sub(r"\1", unicodedata.normalize("NFKC", text).replace("\u00ad", ""))
    text = _POSSESSIVE.sub("", text.casefold())
    return _tokens(_HYPHEN.sub(" ", text)), _tokens(_HYPHEN.sub("", text))


def _tokens(text: str) -> str:
    return f" {' '.join(_singular(token) for token in _TOKEN.findall(text))} "


def _singular(token: str) -> str:
    """Harman's S stemmer (JASIS 42(1), 1991: How effective is suffixing?), and one form for `index(es)`."""
    if len(token) < 4:
        return token
    if token.endswith("ies"):
        return token[:-3] + "y"
    if token.endswith("s") and not token.endswith(("ss", "us", "is")):
        token = token[:-1]
    return _SIBILANT_E.sub(r"\1", token) if len(token) > 3 else token
