"""`python -m evaluation.answers`: fit the confidence of answers on development questions."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from evaluation.answers.examples import examples
from evaluation.answers.fit import Sample, fit
from evaluation.answers.questions import Questions
from evaluation.errors import RequestError
from evaluation.judging import Judged, prepare, read_inputs
from evaluation.ledger import is_sealed
from evaluation.options import CORPUS_KEYS, Options, read_options, run_command
from evaluation.request import read_request
from generation.build import build_reader, reader_config
from generation.pipeline import ContextSpec, retrieved
from generation.words import Rarity
from ingestion.artifacts import ArtifactStore, write_atomic
from ingestion.config import CONF, load, to_plain
from ingestion.typed import build_spec
from retrieval.build import build_strategy, strategy_config
from retrieval.errors import StrategyNotFoundError
from retrieval.stage import Context, Retriever

KEYS = ("strategies", "most_wrong", "reader", "out")
STRATEGIES = ("bm25", "rrf", "rrf_graph_dedup_mmr")
USAGE = """usage: python -m evaluation.answers [strategies=[bm25,rrf]] [most_wrong=0.15] [reader=minilm] [out=<file>]
           [key=value ...]

Fits, on development questions, how probable it is that a quoted claim answers its question, and below which
probability a question is refused; writes conf/confidence/<name>.yaml, which answers then use by confidence=<name>.
strategies   whose passages are learnt from; a question counts the same in each
most_wrong   share of questions that may be refused although their passages hold an answer
reader       a model of conf/reader/ whose score of question and quote is learnt from too; default none
out          default conf/confidence/default.yaml, with a reader conf/confidence/<reader>.yaml
corpus.*, benchmark.*, ingest.*, chunker.*, context.* name papers, questions and context as in run_eval.py."""
HEAD = "# Made by `{}`; the figures under `fitted` are out of fold.\n"


def main(arguments: Sequence[str]) -> int:
    """Run the command; returns the exit code."""
    return run_command("evaluation.answers", USAGE, arguments, _fit)


def _fit(arguments: Sequence[str]) -> int:
    options = read_options(arguments, KEYS, (*CORPUS_KEYS, "context"))
    most_wrong = _share(options.values.get("most_wrong", "0.15"))
    stages = _stages(options.names("strategies") or STRATEGIES)
    named = options.values.get("reader")
    plain = reader_config(named) if named else {}
    reader = build_reader(plain) if plain else None
    judged, store, seed, spec = _opened(options)
    queries = judged.benchmark.queries
    assert judged.corpus is not None
    ctx = Context(judged.corpus, store, seed=seed)
    rarity = Rarity.of(ctx)
    samples = []
    for name, stage in stages.items():
        evidence = retrieved(ctx, stage, queries, spec)
        samples.append(Sample(name, evidence, examples(evidence, judged, rarity, reader)))
    found = fit(samples, Questions.of(judged), rarity, seed, most_wrong)
    out = Path(options.values.get("out") or CONF / "confidence" / f"{named or 'default'}.yaml")
    typed = {key: value for key, value in options.values.items() if key != "out"}
    made = "python -m evaluation.answers" + "".join(f" {key}={value}" for key, value in typed.items())
    content = {"reader": plain, **found} if plain else found
    write_atomic(out, HEAD.format(made) + yaml.safe_dump(content, sort_keys=False))
    for key, value in found["fitted"].items():
        print(f"{key:15} {value if not isinstance(value, list) else ', '.join(value)}")
    print(f"written to {out}")
    return 0


def _stages(names: Sequence[str]) -> dict[str, Retriever]:
    """The strategies by name.

    Raises:
        RequestError: there is none of a name.
    """
    try:
        return {name: build_strategy(strategy_config(name)) for name in names}
    except StrategyNotFoundError as error:
        raise RequestError(str(error)) from error


def _opened(options: Options) -> tuple[Judged, ArtifactStore, int, ContextSpec]:
    """Corpus and development questions with what is needed beside them."""
    overrides = ["strategy=bm25", "tracking=none", *options.overrides]
    if not any(override.startswith("split=") for override in overrides):
        overrides.append("split=dev")
    config = load(overrides)
    request = read_request(config, overrides, {})
    if is_sealed(request.split):
        raise RequestError(f"split={request.split} is sealed: what is fitted on it proves nothing; use split=dev")
    store = ArtifactStore(request.artifacts)
    judged = prepare(request, read_inputs(request), store)
    if judged.spans is None:
        raise RequestError(f"{judged.benchmark.name} has no judged spans; answers are calibrated on those")
    return judged, store, request.seed, build_spec(ContextSpec, to_plain(config)["context"], "context")


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise RequestError(f"most_wrong={text}: must be a share between 0 and 1")
    return share


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
