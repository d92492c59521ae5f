"""A made-up benchmark and answers to it whose truth is known: what generators say is drawn from stated chances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from evaluation.answers.tables import ANSWERS, CITATIONS, CLAIMS, Tables
from evaluation.judging import Judged
from evaluation.qrels import span_qrels
from evaluation.rules import Rules
from evaluation.schema import Benchmark, Spans
from ingestion.schema import Corpus
from retrieval.schema import Queries
from tests.unit.evaluation.papers import corpus_of, spans_of

SETTINGS = {"resamples": 500, "confidence": 0.95, "interval": "bca"}
RULES = Rules("nDCG@5", 0.05, 0.8, 0.02, 2000, 200, 500, 0.95, "bca", "", (), ())
SENTENCE = "Sentence {at} of paper {paper} says value {at}."


def judged_of(corpus: Corpus, spans: Spans, queries: Queries, **fields: object) -> Judged:
    """A benchmark of these questions over a corpus, judged by spans."""
    qrels = span_qrels(spans, corpus, len(queries))
    return Judged(Benchmark("made", queries, **fields), corpus, corpus.chunk_ids, qrels, spans, {})  # type: ignore[arg-type]


@dataclass(frozen=True)
class Speaker:
    """A generator: how often a claim of a probability is right is that probability, bent by `shift`."""

    name: str
    refuses: float  # chance to refuse an answerable question; of an unanswerable one 1 - that / 2
    shift: float


SPEAKERS = (Speaker("grounded", 0.1, 0.0), Speaker("first", 0.0, -0.25), Speaker("chat", 0.05, -0.05))


def made_judged(n_papers: int = 14, per_paper: int = 6) -> Judged:
    """Papers of 12 sentences; of each paper's questions the last is unanswerable, of two sentences each is judged."""
    papers = {
        f"p{paper:02d}.pdf": [" ".join(SENTENCE.format(at=at, paper=paper) for at in range(12))]
        for paper in range(n_papers)
    }
    corpus = corpus_of(papers)
    rows, qid, kind, cluster, answers = [], [], [], [], {}
    for paper in range(n_papers):
        for number in range(per_paper):
            last = number == per_paper - 1
            qid.append(f"q{paper:02d}-{number}")
            kind.append("unanswerable" if last else ("numeric" if number % 2 else "single_hop"))
            cluster.append(f"p{paper:02d}" if not last else "")
            if not last:
                answers[qid[-1]] = SENTENCE.format(at=number, paper=paper)
            for at in (number, number + 6):
                start, end = place(paper, at)
                rows.append((len(qid) - 1, paper, start, end, 0 if last or at > number else 3))
    queries = Queries.of(qid, [f"What of {name}?" for name in qid], kind, ["test"] * len(qid), cluster)
    return judged_of(corpus, spans_of(*rows), queries, answers=answers)


def place(paper: int, at: int) -> tuple[int, int]:
    """Where a sentence stands in its paper."""
    before = sum(len(SENTENCE.format(at=one, paper=paper)) + 1 for one in range(at))
    return before, before + len(SENTENCE.format(at=at, paper=paper))


def made_tables(judged: Judged, strategies: tuple[str, ...] = ("rrf", "bm25"), seed: int = 0) -> Tables:
    """What `SPEAKERS` say about every question, over each strategy and context."""
    rng = np.random.default_rng(seed)
    answers: list[tuple[object, ...]] = []
    claims: list[tuple[object, ...]] = []
    citations: list[tuple[object, ...]] = []
    for strategy in strategies:
        for speaker in SPEAKERS:
            for context in ("retrieved", "none", "oracle"):
                for row, qid in enumerate(judged.benchmark.queries.qid):
                    cannot = judged.benchmark.queries.kind[row] == "unanswerable"
                    group = (strategy, speaker.name, context, qid)
                    said = _claims(rng, speaker, group, cannot, strategies.index(strategy))
                    for claim, own in said:
                        claims.append(claim)
                        citations.extend(own)
                    score = float(np.clip(rng.normal(0.3 if cannot else 0.65, 0.15), 0, 1))
                    usage = (float(rng.exponential(0.4)), 900, 60, np.nan if speaker.name == "chat" else 0.0, False)
                    error = "CapacityError: busy" if speaker.name == "chat" and row % 29 == 3 else ""
                    text = " ".join(str(claim[5]) for claim, _ in said)
                    reason = "" if said else "weak"
                    answers.append((*group, not said, reason, len(said), text, *usage, score, np.nan, error))
    failed = {row[:4] for row in answers if row[-1]}
    return Tables.of(
        pd.DataFrame(answers, columns=ANSWERS),
        pd.DataFrame([row for row in claims if row[:4] not in failed], columns=CLAIMS),
        pd.DataFrame([row for row in citations if row[:4] not in failed], columns=CITATIONS),
        judged.benchmark.queries.qid,
    )


def _claims(
    rng: np.random.Generator, speaker: Speaker, group: tuple[str, ...], cannot: bool, handicap: int
) -> list[tuple[tuple[object, ...], list[tuple[object, ...]]]]:
    refuse = 1 - speaker.refuses / 2 if cannot and speaker.refuses else speaker.refuses
    if group[2] == "none":
        refuse = 0.5
    if rng.random() < refuse:
        return []
    paper, number = int(group[3][1:3]), int(group[3][4:])
    out = []
    for claim in range(1, int(rng.integers(2, 4))):
        probability = round(float(rng.beta(3, 1.5)), 3)
        good = not cannot and rng.random() < np.clip(probability + speaker.shift - 0.1 * handicap, 0, 1)
        at = number if good or group[2] == "oracle" else number + 6 if rng.random() < 0.8 else 11
        start, end = place(paper, at)
        text = SENTENCE.format(at=at, paper=paper)
        level = "HIGH" if probability > 0.8 else "MEDIUM" if probability > 0.55 else "LOW"
        rule = "HIGH" if probability > 0.7 else "LOW"
        none = group[2] == "none"
        row = (*group, claim, text, "LOW" if none else level, "LOW" if none else rule)
        cited = (*group, claim, "S1", 1, f"p{paper:02d}.pdf:0", f"id-p{paper:02d}.pdf", 1, start, end, text)
        out.append(
            ((*row, np.nan if none or speaker.name == "first" else probability, not none), [] if none else [cited])
        )
    return out
