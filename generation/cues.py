"""What sort of thing a question asks for, and sentences that offer it: a reason, advice, a comparison.

English only, and by wording: what a match is worth is fitted on judged extracts, not decided here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Cue:
    """A sort of question, and the wording of a sentence that may answer it."""

    asks: re.Pattern[str]
    offers: re.Pattern[str]

    def speaks(self, question: str, sentence: str) -> bool:
        """Whether the question asks for it and the sentence offers it."""
        return bool(self.asks.search(question)) and bool(self.offers.search(sentence))


def _cue(asks: str, offers: str) -> Cue:
    return Cue(re.compile(asks, re.IGNORECASE), re.compile(offers, re.IGNORECASE))


CUES = {
    "reason": _cue(
        r"\bwhy\b|\breasons?\b|\bcauses?\b|\bexplains?\b|\bwhat (?:went|goes) wrong\b",
        r"\b(?:because|since|therefore|due to|as a result|so that|hence|owing|cause[sd]?|makes?|follows from"
        r"|for (?:this|that) reason|(?:that|which) is why)\b",
    ),
    "advice": _cue(
        r"\b(?:should|worth|worthwhile|recommend(?:ed)?|best|remed(?:y|ies)|cure|prefer(?:able)?)\b"
        r"|\bis it (?:all right|ok|fine|wise|safe)\b|\bdo (?:i|we) (?:need|have)\b|\bhow (?:can|do|should) (?:i|we)\b"
        r"|\bwhich\b.*\b(?:use|choose|pick)\b",
        r"\b(?:recommend|should|must|advi[sc]e|propose|suggest|prefer|need not|worth|right response|better to|use)\b",
    ),
    "comparison": _cue(
        r"\b(?:or|versus|vs|compared?|comparison|than|better|differs?|difference)\b",
        r"\b(?:than|better|worse|more|less|higher|lower|against|while|whereas|both|neither|beats?|loses?|gains?"
        r"|falls?)\b",
    ),
}
