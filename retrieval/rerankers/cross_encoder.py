"""Cross-encoder re-scoring (Nogueira and Cho, arXiv 1901.04085): query and chunk are read together.

Plain `transformers` rather than `sentence_transformers.CrossEncoder`: that one puts a sigmoid on a single logit
unless told otherwise, sorts by characters, and does not say which pairs it cut. Here the logit stays raw and in
float32: half precision and the sigmoid both saturate, and what saturates is a tie.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from retrieval import models
from retrieval.errors import ModelLoadError
from retrieval.schema import Floats, Queries, Run, make_run
from retrieval.stage import Context

PLACES = 6  # decimal places of a logit that count
PART = 2_048  # pairs held as tokens at once
SHORTEST = 16  # tokens; below that no room is left for two texts
PACKAGES = ("torch", "transformers")
Pair = tuple[str, str]
Logits = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class CrossEncoder:
    """Re-scores the first `depth` chunks of every ranking and sorts them by the raw logit.

    `keep=None`: all of them stay, and what stood below `depth` keeps its order below them. `keep=n`: the n best stay
    and nothing else. A stage receives at most the run's own depth of chunks per query (100 by default), so a `depth`
    above it needs that one raised too (`depth=200` on the command line); where it cuts, a fact says so.

    `long="truncate"` cuts a pair to `max_length` tokens, the longer text first. `long="window"` reads all of a long
    chunk in windows that share a quarter of `max_length` with the next, and takes the maximum (MaxP: Dai and Callan,
    SIGIR 2019); a question is then cut to half the room.
    """

    VERSION: ClassVar[int] = 1
    model: str = "cross-encoder/ms-marco-MiniLM-L-6-v2"
    depth: int = 50
    keep: int | None = None
    max_length: int = 512
    batch_size: int = 32
    threads: int = 2
    long: Literal["truncate", "window"] = "truncate"

    def __post_init__(self) -> None:
        if self.depth < 1 or not (self.keep is None or 1 <= self.keep <= self.depth):
            raise ValueError(f"depth={self.depth} must be at least 1 and keep={self.keep} from 1 to depth, or null")
        if self.max_length < SHORTEST:
            raise ValueError(f"max_length={self.max_length} must be at least {SHORTEST}")
        if self.batch_size < 1 or self.threads < 1:
            raise ValueError(f"batch_size={self.batch_size} and threads={self.threads} must be at least 1")
        if self.long not in ("truncate", "window"):
            raise ValueError(f"long={self.long!r} must be 'truncate' or 'window'")

    def missing(self) -> str | None:
        """Why the model cannot run here, with the remedy."""
        return models.missing(self.model, PACKAGES, "neural")

    def inputs(self, ctx: Context) -> Mapping[str, str]:
        """The digest of weights, configuration and tokenizer."""
        return {"weights": models.weights_digest(self.model)}

    def rerank(self, ctx: Context, queries: Queries, run: Run) -> Run:
        """The ranking with its head sorted by logit. Scores: logits, and below them whole steps down from the lowest.

        Raises:
            ModelLoadError: the model cannot be had, is no cross-encoder, or fails its self-test.
        """
        if not len(run):
            return run
        self._say_if_shallow(ctx, run)
        head = run.rank <= self.depth
        texts = ctx.corpus.texts
        asked = zip(run.query[head].tolist(), run.chunk[head].tolist(), strict=True)
        logits, long = self.score([(queries.query[query], texts[chunk]) for query, chunk in asked])
        ctx.fact(f"long pairs {'windowed' if self.long == 'window' else 'truncated'}", int(long.sum()), of=len(long))
        if self.keep is None:
            return make_run(run.query, run.chunk, _with_rest(run, head, logits), ctx.depth, PLACES)
        return self._best(ctx, make_run(run.query[head], run.chunk[head], logits, self.depth, PLACES))

    def score(self, pairs: Sequence[Pair]) -> tuple[Logits, Flags]:
        """The logit of every pair (question, text), and whether it was longer than `max_length`.

        Equal pairs are scored once, so they tie exactly. Batches are made of pairs sorted by length, whatever the
        order in which they come.

        Returns:
            float32 [n_pairs] and bool [n_pairs].
        """
        import torch

        tokenizer, model = load_cross_encoder(self.model, self.max_length)
        torch.set_num_threads(self.threads)
        distinct = sorted(set(pairs), key=lambda pair: (-len(pair[0]) - len(pair[1]), pair))
        logits = np.full(len(distinct), -np.inf, dtype=np.float32)
        long = np.zeros(len(distinct), dtype=np.bool_)
        with tqdm(total=len(distinct), desc="re-scoring", unit="pair", disable=not sys.stderr.isatty()) as bar:
            for start in range(0, len(distinct), PART):
                part = distinct[start : start + PART]
                inputs, owner, long[start : start + PART] = _tokens(tokenizer, part, self.max_length, self.long)
                bar.total = (bar.total or 0) + len(owner) - len(part)
                for rows, values in _forward(tokenizer, model, inputs, self.batch_size):
                    np.maximum.at(logits, start + owner[rows], values)
                    bar.update(len(rows))
        at = {pair: row for row, pair in enumerate(distinct)}
        back = np.asarray([at[pair] for pair in pairs], dtype=np.int64)
        return logits[back], long[back]

    def _best(self, ctx: Context, scored: Run) -> Run:
        keep = self.keep or self.depth
        out = scored.rank > keep
        ctx.note("below keep", scored.query[out], scored.chunk[out], value=scored.score[out])
        kept = scored.rank <= keep
        return make_run(scored.query[kept], scored.chunk[kept], scored.score[kept], ctx.depth, PLACES)

    def _say_if_shallow(self, ctx: Context, run: Run) -> None:
        """A ranking as long as the context allows was cut there: it holds fewer candidates than asked for."""
        if ctx.depth < self.depth and int(run.rank.max()) == ctx.depth:
            ctx.fact("candidates re-scored per query; rankings hold no more", ctx.depth, of=self.depth)


@lru_cache(maxsize=2)
def load_cross_encoder(model: str, max_length: int) -> tuple[Any, Any]:
    """Tokenizer and sequence classifier with one logit, float32 on the CPU, self-tested.

    Raises:
        ModelLoadError: weights or packages are missing, it is no cross-encoder, it cannot read `max_length` tokens,
            or a related pair does not score above an unrelated one.
    """
    reason = models.missing(model, PACKAGES, "neural")
    if reason:
        raise ModelLoadError(reason)
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    folder = str(models.find(model, download=True))
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        # float32 by name: the default keeps the precision of the file, which may be half
        loaded, said = AutoModelForSequenceClassification.from_pretrained(
            folder, dtype=torch.float32, output_loading_info=True
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelLoadError(f"model {model!r} cannot be loaded: {error}; {models.remedy(model)}") from error
    _check(model, tokenizer, loaded, sorted(said["missing_keys"]), max_length)
    loaded.eval()
    pairs = [(models.SELF_TEST[0], other) for other in models.SELF_TEST[1:]]
    inputs, _, _ = _tokens(tokenizer, pairs, max_length, "truncate")
    ((rows, scores),) = _forward(tokenizer, loaded, inputs, len(inputs))
    near, far = scores[np.argsort(rows)].tolist()
    models.self_test(model, near, far)
    return tokenizer, loaded


def _check(model: str, tokenizer: Any, loaded: Any, unread: Sequence[str], max_length: int) -> None:
    """Refuse what loads but is no cross-encoder of this length."""
    if loaded.config.num_labels != 1 or unread:
        head = f"{len(unread)} of its weights are not in the file" if unread else f"{loaded.config.num_labels} logits"
        raise ModelLoadError(f"model {model!r} is no cross-encoder with one logit ({head}); name one that is")
    places = getattr(loaded.config, "max_position_embeddings", None) or max_length
    limit = min(tokenizer.model_max_length, places)
    if max_length > limit:
        raise ModelLoadError(
            f"model {model!r} reads {limit} tokens, not max_length={max_length}; set max_length={limit}"
        )
    if not tokenizer.is_fast:
        raise ModelLoadError(f"model {model!r} has no fast tokenizer (tokenizer.json); name one that has")


def _tokens(tokenizer: Any, pairs: Sequence[Pair], max_length: int, long: str) -> tuple[list[Any], Rows, Flags]:
    """What the model reads.

    Returns:
        Inputs, one per piece of a pair; the pair's row of each, int64 [n_pieces]; whether a pair was too long, bool
        [n_pairs].
    """
    questions, texts = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    if long == "truncate":
        read = tokenizer(questions, texts, truncation="longest_first", max_length=max_length)
        owner = np.arange(len(pairs))
        cut = np.asarray([bool(encoding.overflowing) for encoding in read.encodings], dtype=np.bool_)
    else:
        room = max_length - tokenizer.num_special_tokens_to_add(pair=True)
        short = [_first_tokens(tokenizer, question, room // 2) for question in questions]
        read = tokenizer(
            short,
            texts,
            truncation="only_second",
            max_length=max_length,
            stride=room // 4,
            return_overflowing_tokens=True,
        )
        owner = np.asarray(read.pop("overflow_to_sample_mapping"), dtype=np.int64)
        shortened = np.asarray([one != other for one, other in zip(short, questions, strict=True)], dtype=np.bool_)
        cut = (np.bincount(owner, minlength=len(pairs)) > 1) | shortened
    return [{name: read[name][row] for name in read} for row in range(len(owner))], owner, cut


def _first_tokens(tokenizer: Any, text: str, count: int) -> str:
    """The text up to the end of its first `count` tokens."""
    read = tokenizer(text, add_special_tokens=False, truncation=True, max_length=count, return_offsets_mapping=True)
    return text[: read["offset_mapping"][-1][1]] if read["offset_mapping"] else text


def _forward(tokenizer: Any, model: Any, inputs: Sequence[Any], batch_size: int) -> Iterator[tuple[Rows, Logits]]:
    """Rows of the inputs and their logits, a batch at a time, the longest first."""
    import torch

    order = np.argsort([-len(one["input_ids"]) for one in inputs], kind="stable")
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        batch = tokenizer.pad([inputs[row] for row in rows], return_tensors="pt")
        with torch.inference_mode():
            logits = model(**batch).logits[:, 0].numpy()
        yield rows, logits


def _with_rest(run: Run, head: Flags, logits: Logits) -> Floats:
    """A score per row of the run: logits in the head, whole steps below the query's lowest logit after it."""
    lowest = np.full(int(run.query.max()) + 1, np.inf)
    np.minimum.at(lowest, run.query[head], logits.astype(np.float64))
    score = np.asarray(lowest[run.query] - run.rank, dtype=np.float64)
    score[head] = logits
    return score
