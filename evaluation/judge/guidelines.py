"""What the grades mean: the same words for the judging page, the terminal and a language model."""

from __future__ import annotations

GUIDELINES: dict[int, tuple[str, str]] = {
    0: ("not relevant", "Nothing here helps to answer the question."),
    1: ("touches it", "On the subject, but answers nothing by itself."),
    2: ("answers partly", "States a part of the answer, or what the answer follows from."),
    3: ("answers fully", "A reader who sees only this passage can answer."),
}
HIGHEST = max(GUIDELINES)
