"""The yardstick: the first passage, whole, as the answer to everything."""

from __future__ import annotations

from dataclasses import dataclass

from generation.generator import SILENT, Listener, Tools
from generation.schema import Answer, Claim, Evidence


@dataclass(frozen=True)
class First:
    """Cites the passage of rank 1 and refuses only where nothing was retrieved."""

    name: str = "first"

    def answer(self, evidence: Evidence, tools: Tools, listener: Listener = SILENT) -> Answer:
        """The first source as one claim."""
        if not evidence.sources:
            return Answer(evidence.question, (), (), evidence.left_out, True, "no passage was retrieved", self.name)
        source = evidence.sources[0]
        claim = Claim(" ".join(source.text.split()), (source.cite(0, len(source.passage.text)),))
        listener.on_claim(claim)
        return Answer(evidence.question, (claim,), evidence.sources, evidence.left_out, generator=self.name)
