"""`python -m evaluation.import`: questions of one's own become a benchmark, all of them or none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evaluation.errors import RequestError
from evaluation.importing import report
from evaluation.importing.drafts import accepted, is_drafts
from evaluation.importing.merge import merge
from evaluation.importing.places import Finder
from evaluation.importing.questions import Read, read_questions
from evaluation.importing.rows import read_rows
from evaluation.importing.target import Target
from evaluation.judge.guidelines import HIGHEST
from evaluation.locate import Library
from evaluation.options import Options, RefusedError, read_options, run_command
from evaluation.sources import check_source
from ingestion.artifacts import ArtifactStore
from ingestion.config import load, to_plain
from ingestion.pipeline import ingest_configured

USAGE = """usage: python -m evaluation.import file=<questions.csv> into=<folder or questions.jsonl>
           [corpus.path=<PDFs>] [split=auto] [grade=1] [source=hand] [seed=0]

Makes a benchmark of your questions. The file is a CSV from a spreadsheet (.csv, .tsv), .jsonl or .json; a row has
question, doc, page, quote, grade, and what else there is: qid, answer, kind, part, split, cluster, entities,
relations. Several rows of one question are several pieces of evidence; a row without a question belongs to the one
above. A quote is searched in the corpus, small differences allowed; without a quote the page is judged, without a
page the document.

Nothing is written if anything is refused: an unknown document, a quote that is not in it, a grade that is not 0 to 3,
two texts of one qid. Questions and judgments that are there already are not added again, so a longer file can be
imported over a shorter one. split=auto divides by document: about a third is dev, and questions that share a document
stay together. grade= and source= count for rows that name none.

file=<drafts.jsonl> of `python -m evaluation.synthesize` imports the drafts that a reviewer has accepted."""
KEYS = ("file", "into", "split", "grade", "source")
GROUPS = ("corpus", "ingest", "chunker", "artifacts", "seed")
LISTED = 30  # refused rows that are printed


def main(arguments: Sequence[str]) -> int:
    """Import questions; returns the exit code (1 refused rows, 2 a wrong request)."""
    return run_command("import", USAGE, arguments, _act)


def _act(arguments: Sequence[str]) -> int:
    options = read_options(arguments, KEYS, GROUPS)
    if options.words:
        raise RequestError(f"{options.words[0]!r}: write file={options.words[0]}")
    path = Path(options.required("file", "<questions.csv>"))
    into = Path(options.required("into", "<folder or questions.jsonl>"))
    auto, grade = _auto(options), _grade(options)
    target = Target.open(into)
    lines, read = _read(path, check_source(options.values.get("source", "hand")), grade)
    plain = to_plain(load(options.overrides))
    store = ArtifactStore(Path(plain["artifacts"]))
    finder = Finder(Library(ingest_configured(plain, store)))
    plan = merge(read.questions.values(), target, finder, auto, plain["seed"])
    print("\n".join([*lines, *report.findings(plan, read.ungraded, grade)]))
    _refuse(path, [*(problem.removeprefix(f"{path}, ") for problem in read.problems), *plan.problems])
    plan.apply(target)
    target.write()
    overrides = [text for text in options.overrides if not text.startswith("seed=")]
    print("\n".join([*report.written(into, plan), "run it with", report.command(into, overrides, plan)]))
    return 0


def _read(path: Path, source: str, grade: int) -> tuple[list[str], Read]:
    """The questions of the file, and what is said about reading it."""
    if is_drafts(path):
        drafts = accepted(path)
        return drafts.lines, Read(drafts.questions, 0, 0, drafts.problems)
    rows = read_rows(path)
    read = read_questions(rows, source, grade)
    return report.reading(path, rows, read), read


def _auto(options: Options) -> bool:
    split = options.values.get("split", "")
    if split not in ("", "auto"):
        raise RequestError(f"split={split}: must be auto; splits of your own stand in a column `split`")
    return split == "auto"


def _grade(options: Options) -> int:
    text = options.values.get("grade", "1")
    if not text.isdecimal() or int(text) > HIGHEST:
        raise RequestError(f"grade={text}: must be 0 to {HIGHEST}")
    return int(text)


def _refuse(path: Path, problems: Sequence[str]) -> None:
    if problems:
        more = [f"   and {len(problems) - LISTED} more"] if len(problems) > LISTED else []
        count = f"{len(problems)} row is" if len(problems) == 1 else f"{len(problems)} rows are"
        head = f"{path}: {count} refused, nothing was written:"
        raise RefusedError("\n".join([head, *(f"   {problem}" for problem in problems[:LISTED]), *more]))
