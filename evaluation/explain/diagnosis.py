"""Where evidence was lost, strategy by strategy: the stage that dropped it, or why no stage ever saw it.

Evidence is a class of the judgments: chunks that show the same span. For every list that a strategy made on its way
(one per stage), the rank of the first chunk of the class is looked up, and the last list that still held it is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from evaluation.arms import Arm
from evaluation.errors import EvaluationError
from evaluation.explain.pieces import CANDIDATES, CHUNKING, EXTRACTION, NEVER, Pieces, pieces_of
from evaluation.judging import Judged
from evaluation.mentions import normal_text
from evaluation.pairs import look_up, pairs
from evaluation.schema import Longs, Qrels
from retrieval.build import KEYS, build_strategy
from retrieval.embedding import TRUNCATED
from retrieval.rerankers.dedup import Dedup
from retrieval.rerankers.mmr import Mmr
from retrieval.schema import Ints, Run
from retrieval.stage import Fused, Pipeline, Reranker, walk

FUSION, DEDUP, MMR, RERANKER = "fusion", "dedup", "mmr", "reranker"
BELOW, FOUND = "below k", "found"
STAGES = (EXTRACTION, CHUNKING, CANDIDATES, FUSION, DEDUP, MMR, RERANKER, BELOW, FOUND)
LOSSES = ["strategy", "qid", "evidence", "grade", "stage", "path", "best_rank", "final_rank"]
WATERFALL = ["strategy", "stage", "n", "share"]
SHARES = ["strategy", "share", "value", "count", "total"]


@dataclass(frozen=True)
class Steps:
    """The lists that a strategy makes, in the order in which it makes them; the last one is its ranking.

    `path` [n_lists]; `kind` object [n_lists]: what a loss at this list is called; `reader` int64 [n_lists]: the list
    that was made from this one, -1 for the last.
    """

    path: tuple[str, ...]
    kind: npt.NDArray[np.object_]
    reader: Longs


def losses(arms: Sequence[Arm], judged: Judged, k: int, min_coverage: float = 0.5) -> pd.DataFrame:
    """Where each strategy that ran lost each piece of relevant evidence; columns `LOSSES`.

    The ranks are those of the first chunk of the evidence's class in each list. The first rule that fits decides:

    1. `found`: it stands in the final top k.
    2. It stood in the top k of an earlier list: lost by the stage that read the last such list and did not keep it
       there, whether that stage removed it, cut it off or moved it down: `fusion`, `dedup`, `mmr`, or `reranker` for
       every other one. With branches, the last such list is the one nearest to the end.
    3. `below k`: it stands in the final ranking, further down, and never stood in a top k.
    4. An earlier list held it further down: lost by the stage that read the last such list (fusion cuts at depth).
    5. No list held it. `extraction`: no chunk of the index shows a character of it (the quote is not in the extracted
       text, or its section is left out, as reference lists are). `chunking`: chunks show pieces of it, but none holds
       `min_coverage` of it. Otherwise `candidates`: it takes longer lists or another retriever.

    A run made elsewhere has one list. A query's own document (query by example) is no evidence.

    Args:
        arms: those without a run are left out.
        judged: the benchmark over the corpus that the arms ran on.
        k: how many ranks are looked at.
        min_coverage: share of a span that a chunk must hold, as the qrels were made with.

    Raises:
        EvaluationError: an arm's stages are not those of its configuration.
    """
    pieces = pieces_of(judged, min_coverage)
    known: dict[int, Ints] = {}
    tables = [_losses(arm, arm.run, judged, pieces, known, k) for arm in arms if arm.run is not None]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=LOSSES)


def waterfall(losses: pd.DataFrame) -> pd.DataFrame:
    """How much evidence each stage lost, and what was found; columns `WATERFALL`.

    Strategies as they stand in `losses`, each with all of `STAGES` in that order. `share` is of the strategy's
    evidence and sums to 1.
    """
    if losses.empty:
        return pd.DataFrame(columns=WATERFALL)
    counts = pd.crosstab(losses["strategy"], losses["stage"])
    counts = counts.reindex(index=losses["strategy"].unique(), columns=list(STAGES), fill_value=0)
    shares = counts.div(counts.sum(axis=1), axis=0)
    cells = {
        "strategy": np.repeat(counts.index.to_numpy(dtype=object), len(STAGES)),
        "stage": np.tile(np.asarray(STAGES, dtype=object), len(counts)),
        "n": counts.to_numpy(dtype=np.int64).reshape(-1),
        "share": shares.to_numpy(dtype=np.float64).reshape(-1),
    }
    return pd.DataFrame(cells, columns=WATERFALL)


def shares(arms: Sequence[Arm], judged: Judged, k: int) -> pd.DataFrame:
    """What stands in the top k beside relevance, over all queries of each strategy that ran; columns `SHARES`.

    `duplicates`: chunks whose class, or whose text up to case, hyphens, plurals and punctuation, stands at an earlier
    rank of the same ranking. `unjudged`: chunks without a judgment; where every ranking holds k chunks that is
    1 - Judged@k. `truncated`: chunks of the index that an encoder of the strategy could read in part only; strategies
    without such a count have no row. `value` = count / total, 0 where total is 0.
    """
    same, qrels = _same_text(arms, judged, k), judged.qrels
    known = pairs(qrels.query, qrels.chunk)
    rows: list[tuple[str, str, int, int]] = []
    for arm in arms:
        if arm.run is None:
            continue
        top = arm.run.rank <= k
        query, chunk = arm.run.query[top], arm.run.chunk[top]
        without = len(chunk) - len(look_up(known, pairs(query, chunk))[0])
        rows.append((arm.name, "duplicates", int(_repeated(query, chunk, same, qrels).sum()), len(chunk)))
        rows.append((arm.name, "unjudged", without, len(chunk)))
        cut = [part.facts[TRUNCATED] for part in arm.stages.values() if TRUNCATED in part.facts]
        if cut:
            rows.append((arm.name, "truncated", int(sum(f.value for f in cut)), int(sum(f.of or 0 for f in cut))))
    cells = [(name, share, count / total if total else 0.0, count, total) for name, share, count, total in rows]
    return pd.DataFrame(cells, columns=SHARES)


def steps(arm: Arm) -> Steps:
    """The lists of an arm; one for a run made elsewhere.

    Raises:
        EvaluationError: the arm's stages are not those of its configuration.
    """
    if not arm.stages:
        return Steps(("",), np.asarray([CANDIDATES], dtype=object), np.asarray([-1], dtype=np.int64))
    config = arm.config if "_target_" in arm.config else {key: arm.config[key] for key in KEYS & arm.config.keys()}
    path: list[str] = []
    kind: list[str] = []
    reader: list[int] = []
    unread: list[int] = []  # lists that no stage has read yet; a fuser reads the last ones, one of every branch
    for place, (name, stage) in enumerate(walk(build_strategy(config))):
        inputs = len(stage.branches) if isinstance(stage, Fused) else isinstance(stage, Pipeline)
        for _ in range(inputs):
            reader[unread.pop()] = place
        path.append(name)
        kind.append(_kind(stage))
        reader.append(-1)
        unread.append(place)
    if path != list(arm.stages):
        raise EvaluationError(f"{arm.name}: its stages are {', '.join(arm.stages)}, its YAML says {', '.join(path)}")
    return Steps(tuple(path), np.asarray(kind, dtype=object), np.asarray(reader, dtype=np.int64))


def _kind(stage: object) -> str:
    """What a loss at a stage is called."""
    if isinstance(stage, Fused):
        return FUSION
    return _kind_of_reranker(stage.then[-1][1]) if isinstance(stage, Pipeline) else CANDIDATES


def _kind_of_reranker(reranker: Reranker) -> str:
    if isinstance(reranker, Dedup):
        return DEDUP
    return MMR if isinstance(reranker, Mmr) else RERANKER


def _losses(arm: Arm, run: Run, judged: Judged, pieces: Pieces, known: dict[int, Ints], k: int) -> pd.DataFrame:
    """One arm's rows of `losses`; `known` holds the ranks in lists that strategies share, by the run's identity."""
    made = steps(arm)
    runs = [*[part.run for part in arm.stages.values()][:-1], run]
    for one in runs:
        if id(one) not in known:
            known[id(one)] = pieces.ranks(one)
    ranks = np.stack([known[id(one)] for one in runs])
    stage, path = attribute(ranks, made, pieces.unranked, k)
    best = ranks.min(axis=0)
    cells = {
        "strategy": np.full(len(pieces), arm.name, dtype=object),
        "qid": np.asarray(judged.benchmark.queries.qid, dtype=object)[pieces.query],
        "evidence": pieces.number,
        "grade": pieces.grade,
        "stage": stage,
        "path": path,
        "best_rank": np.where(best == NEVER, 0, best).astype(np.int32),
        "final_rank": np.where(ranks[-1] == NEVER, 0, ranks[-1]).astype(np.int32),
    }
    return pd.DataFrame(cells, columns=LOSSES)


def attribute(
    ranks: Ints, made: Steps, unranked: npt.NDArray[np.object_], k: int
) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.object_]]:
    """The loss of every piece and the path of the stage that caused it (empty where none did), object [n] each.

    Args:
        ranks: int32 [n_lists, n_pieces], `NEVER` where a list does not hold a piece.
        made: the lists.
        unranked: object [n_pieces], the loss of what no list holds.
        k: how many ranks are looked at.
    """
    final = ranks[-1]
    pushed_out, removed = _last_reader(ranks <= k, made.reader), _last_reader(ranks < NEVER, made.reader)
    by_stage = np.where(final <= k, -1, np.where(pushed_out >= 0, pushed_out, np.where(final < NEVER, -1, removed)))
    stage = np.where(final <= k, FOUND, np.where(final < NEVER, BELOW, unranked)).astype(object)
    lost = by_stage >= 0
    stage[lost] = made.kind[by_stage[lost]]
    path = np.where(lost, np.asarray(made.path, dtype=object)[by_stage], "")
    return stage, path


def _last_reader(held: npt.NDArray[np.bool_], reader: Longs) -> Longs:
    """The last stage that read a list which holds a piece, int64 [n_pieces]; -1 where none did."""
    return np.asarray(np.where(held, reader[:, None], -1).max(axis=0), dtype=np.int64)


def _same_text(arms: Sequence[Arm], judged: Judged, k: int) -> Longs:
    """For every row of a top k the first such row whose normal text is the same, int64 [n_ids]; any other is itself.

    Texts without a word are compared as they are; ids beyond the corpus have no text and are like nothing else.
    """
    same = np.arange(len(judged.ids), dtype=np.int64)
    tops = [arm.run.chunk[arm.run.rank <= k] for arm in arms if arm.run is not None]
    if judged.corpus is None or not tops:
        return same
    first: dict[str, int] = {}
    rows = np.unique(np.concatenate(tops))
    for row in rows[rows < len(judged.corpus)].tolist():
        text = judged.corpus.texts[row]
        normal = normal_text(text).partition("|")[0].strip()  # the form with hyphens as spaces
        same[row] = first.setdefault(normal or text, row)
    return same


def _repeated(query: Ints, chunk: Ints, same: Longs, qrels: Qrels) -> npt.NDArray[np.bool_]:
    """Which rows of a ranking show a text or a class that an earlier row of their query shows, bool [n_rows]."""
    repeated = pd.Series(pairs(query, same[chunk])).duplicated().to_numpy(dtype=np.bool_, copy=True)
    row, place = look_up(pairs(qrels.query, qrels.chunk), pairs(query, chunk))
    relevant = qrels.grade[place] > 0
    row, place = row[relevant], place[relevant]
    repeated[row] |= pd.Series(pairs(query[row], qrels.group[place])).duplicated().to_numpy(dtype=np.bool_)
    return repeated
