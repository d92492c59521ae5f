"""`python -m evaluation.llm_judges`: a language model judges the answers of a run, and is judged by hand labels."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evaluation.errors import RequestError
from evaluation.judge.generator import configured_generator, spent_text, usage_of
from evaluation.llm_judges.asking import PARALLEL, ask, showings
from evaluation.llm_judges.items import Items, items_of
from evaluation.llm_judges.journal import NONE, Verdicts
from evaluation.llm_judges.kinds import KINDS, Kind
from evaluation.llm_judges.labels import Labels, draw, read_labels, write_sample
from evaluation.llm_judges.prompt import prompt
from evaluation.llm_judges.run_folder import read_answered
from evaluation.llm_judges.summary import Summary, shown, summarise
from evaluation.llm_judges.verdicts import Resampling
from evaluation.options import Options, read_options, run_command
from evaluation.replay import PATHS
from evaluation.results import write_json, write_table
from evaluation.sources import check_source
from ingestion.config import nearest

USAGE = """usage: python -m evaluation.llm_judges run=<results folder> by=llm:<model> what=<kind> [labels=<file>]
           [repeats=1] [strategies=[...]] [generators=[...]] [contexts=[...]] [parallel=4] [router=<file>]
           [out=<folder>] [plan=false]
       python -m evaluation.llm_judges run=<results folder> what=<kind> sample=<file.csv or .jsonl> [n=100] [seed=<n>]

A language model judges the answers of a run. what=correctness: against the reference, 0, 1 or 2; what=faithfulness:
whether each claim is supported by its quotes; what=preference: which of two generators answers better on the same
context (both orders are asked, and a win counts only in both). repeats= asks everything so often and takes the
majority. Every verdict is stored at once in <out>/judge_<what>.journal.jsonl; the same command takes up where it
stopped and asks failed calls again. Writes judge_<what>.parquet, .csv and .json into <out>, by default the results
folder. plan=true says how much would be asked, and asks nothing.

sample= draws items for a hand to label, without saying whose they are; fill in the label column and give the file as
labels=. Then the table also has the judge's kappa, sensitivity and specificity, and rates corrected by them.

A model is named as its route lists it, or exactly: by=llm:openai/azure:<model>. `python -m generation providers`
shows the routes and what they need."""
KEYS = (
    "run", "by", "what", "labels", "repeats", "strategies", "generators", "contexts", "parallel", "router", "out",
    "plan", "sample", "n", "seed",
)  # fmt: skip
NAMES = {"strategy": "strategies", "generator": "generators", "context": "contexts"}
MOVED = ("corpus", "benchmark", "artifacts")
INSTEAD = (
    "Draw items with sample=<file> and label them by hand, or call evaluation.llm_judges.asking.ask with a client"
)


@dataclass(frozen=True)
class Work:
    """What a request asks for, and the items that it is about."""

    kind: Kind
    found: Items
    how: Resampling
    out: Path


def main(arguments: Sequence[str]) -> int:
    """Judge the answers of a run; returns the exit code (1: calls failed)."""
    return run_command("llm_judges", USAGE, arguments, _act)


def _act(arguments: Sequence[str]) -> int:
    options = read_options(arguments, KEYS, MOVED)
    if options.words:
        raise RequestError(f"{options.words[0]}: give key=value; {USAGE.splitlines()[0]}")
    folder, kind = Path(options.required("run", "<results folder>")), _kind(options)
    if "sample" not in options.values:
        _source(options)
    answered = read_answered(folder, _moved(options)).only({axis: options.names(NAMES[axis]) for axis in NAMES})
    work = Work(kind, items_of(kind.name, answered), answered.how, Path(options.values.get("out", str(folder))))
    if not work.found.items:
        reasons = "; ".join(f"{count} {reason}" for reason, count in work.found.left_out.items()) or "no answers"
        raise RequestError(f"what={kind.name}: this run has nothing to judge ({reasons})")
    if "sample" in options.values:
        return _sample(work, options)
    return _plan(work, options) if options.flag("plan") else _judge(work, options)


def _kind(options: Options) -> Kind:
    name = options.required("what", "correctness")
    if name not in KINDS:
        raise RequestError(f"what={name}: unknown{nearest(name, list(KINDS))}")
    return KINDS[name]


def _source(options: Options) -> str:
    source = check_source(options.required("by", "llm:<model>"))
    if not source.startswith("llm:"):
        raise RequestError(f"by={source}: must be llm:<model>; a hand labels what sample=<file> draws")
    return source


def _moved(options: Options) -> Mapping[str, str]:
    moved = {key: value for key, _, value in (text.partition("=") for text in options.overrides)}
    for key in moved:
        if key not in PATHS:
            raise RequestError(f"{key}: the results folder says so; what may have moved is {', '.join(PATHS)}")
    return moved


def _sample(work: Work, options: Options) -> int:
    path = Path(options.required("sample", "labels.csv"))
    text = options.values.get("seed", str(work.how.seed))
    if not text.isdecimal():
        raise RequestError(f"seed={text}: must be a whole number from 0")
    chosen = draw(work.kind, work.found.items, options.number("n", 100), int(text))
    write_sample(path, chosen)
    choices = ", ".join(map(str, work.kind.choices))
    print(f"{path}: {len(chosen)} items in random order; fill in label with one of {choices}\n\n{work.kind.rules}")
    return 0


def _plan(work: Work, options: Options) -> int:
    """What would be asked, without asking."""
    repeats, source = options.number("repeats", 1), _source(options)
    journal = Verdicts.open(_journal(work), source)
    todo = {
        one.code: one for one in showings(work.kind, work.found.items, repeats) if one.code not in journal.current
    }
    signs = sum(len(prompt(one)) for one in todo.values())
    print(f"{len(work.found.items)} items, {len(todo)} requests to {source} with {signs} characters of prompts")
    print("\n".join(f"left out: {count} {reason}" for reason, count in work.found.left_out.items()))
    return 0


def _judge(work: Work, options: Options) -> int:
    source, repeats = _source(options), options.number("repeats", 1)
    parallel, labels = options.number("parallel", PARALLEL), _labels(work, options)
    journal = Verdicts.open(_journal(work), source)
    complete = configured_generator(source.partition(":")[2], INSTEAD, options.values.get("router"))
    try:
        votes = ask(work.kind, work.found.items, complete, journal, repeats, parallel)
    finally:
        print(f"{source}{spent_text(usage_of(complete)) or ', nothing spent'}")
    found = summarise(source, work.kind, work.found, votes, labels.verdicts, work.how)
    _write(work, found)
    print(shown(found))
    print(
        f"asked {votes.requests} times, {votes.retries} times again since a reply could not be read;"
        f" {votes.remembered} verdicts were there already"
    )
    print(f"{work.out / _name(work)}.parquet, .csv and .json; every verdict in {journal.path}")
    return 1 if votes.failures else 0


def _labels(work: Work, options: Options) -> Labels:
    if "labels" not in options.values:
        return Labels(np.full(len(work.found.items), NONE, dtype=np.int8), 0, 0)
    labels = read_labels(Path(options.values["labels"]), work.kind, work.found.items)
    if labels.open or labels.strange:
        print(f"labels: {labels.open} rows are not filled in, {labels.strange} are of texts that are not in this run")
    return labels


def _write(work: Work, found: Summary) -> None:
    write_table(work.out, _name(work), found.table)
    write_json(work.out / f"{_name(work)}.json", found.as_json())


def _name(work: Work) -> str:
    return f"judge_{work.kind.name}"


def _journal(work: Work) -> Path:
    return work.out / f"{_name(work)}.journal.jsonl"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
