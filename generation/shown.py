"""An answer as text for a terminal: claims with their marks, sources with their quotes, what was left out."""

from __future__ import annotations

import shutil
import textwrap

from generation.schema import Answer, Citation, Claim
from generation.visible import without_hidden

WIDEST = 100  # columns


def as_text(answer: Answer) -> str:
    """The whole answer."""
    return "\n\n".join(part for part in (claims(answer), *footing(answer)) if part)


def claims(answer: Answer) -> str:
    """The claims, numbered, or why there are none."""
    if answer.refused:
        return _wrapped(f"No answer: {answer.reason}.")
    return "\n".join(claim_line(number, claim) for number, claim in enumerate(answer.claims, 1))


def claim_line(number: int, claim: Claim) -> str:
    """One claim with level, probability and its sources."""
    cited = "".join(f" [{name}]" for name in dict.fromkeys(place.source for place in claim.citations))
    sure = claim.level if claim.probability is None else f"{claim.level} {claim.probability:.2f}"
    return _wrapped(f"{number}. {claim.text}{cited or ' [no source]'} ({sure})", "   ")


def footing(answer: Answer) -> list[str]:
    """What stands below the claims: sources, what was left out or removed, the cost, and why it is a fallback."""
    said = "\n".join(part for part in (_cost(answer), _fallback(answer)) if part)
    return [part for part in (_sources(answer), _left_out(answer), said) if part]


def _sources(answer: Answer) -> str:
    lines = []
    by_source: dict[str, list[Citation]] = {}
    for claim in answer.claims:
        for place in claim.citations:
            by_source.setdefault(place.source, []).append(place)
    for source in answer.sources:
        if source.id in by_source:
            lines.append(without_hidden(f"{source.id}  {source.passage.place}  (rank {source.passage.rank})"))
            lines += [_quote(place) for place in dict.fromkeys(by_source[source.id])]
    unused = [source.id for source in answer.sources if source.id not in by_source]
    if unused:
        lines.append(_wrapped(f"not cited: {', '.join(unused)}", "  "))
    return "\n".join(["Sources", *lines]) if lines else ""


def _quote(place: Citation) -> str:
    quote = " ".join(place.quote.split())
    where = f"p. {place.page}, characters {place.char_start} to {place.char_end}"
    return _wrapped(f"“{quote}” ({where})", "    ", "    ")


def _left_out(answer: Answer) -> str:
    lines = [_wrapped(f"rank {left.rank}, {left.place}: {left.reason}", "  ") for left in answer.left_out]
    lines += [f"{count} {name} removed from the model's reply" for name, count in answer.removed.items()]
    return "\n".join(["Left out", *lines]) if lines else ""


def _cost(answer: Answer) -> str:
    usage = answer.usage
    said = [answer.generator, *([answer.route, answer.model] if answer.route else [])]
    if usage.input_tokens or usage.output_tokens:
        price = "unknown price" if usage.cost is None else f"${usage.cost:.4f}"
        said += [f"{usage.input_tokens} + {usage.output_tokens} tokens", price]
    said += ["from the cache"] * usage.cached
    if answer.answerable is not None:
        said.append(f"answerable {answer.answerable:.2f}")
    return without_hidden(f"({', '.join(said)}, {usage.seconds:.2f} s)")


def _fallback(answer: Answer) -> str:
    return f"Note: {answer.fallback}" if answer.fallback else ""


def _wrapped(text: str, hang: str = "", first: str = "") -> str:
    """A text of one paragraph within the terminal; it cannot steer it."""
    width = min(WIDEST, shutil.get_terminal_size().columns)
    return textwrap.fill(
        without_hidden(text),
        width,
        initial_indent=first,
        subsequent_indent=hang,
        break_long_words=False,
        break_on_hyphens=False,
    )
