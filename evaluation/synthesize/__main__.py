"""`python -m evaluation.synthesize`: questions drafted from a corpus, and the review that makes them yours."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from evaluation.errors import RequestError
from evaluation.options import read_options, run_command
from evaluation.sources import check_source
from evaluation.synthesize.command import GROUPS, KEYS, draft
from evaluation.synthesize.review import ReviewDesk
from evaluation.synthesize.terminal import review_in_terminal

USAGE = """usage: python -m evaluation.synthesize out=<drafts.jsonl> [corpus.path=<PDFs>] [n=100] [seed=0]
           [by=templates|llm:<model>] [router=<file>] [benchmark.path=<questions there>]
           [strategies=[bm25,tfidf,static]]
           [discriminating=true] [common=.3] [copied=.6] [alike=.8] [depth=100]
       python -m evaluation.synthesize review=<drafts.jsonl> [source=hand:<name>]

The first form drafts questions with their evidence. Templates need no model: they take what sentences state about the
corpus' entities (what something is, is called, does, needs, is used for, how many, how two things compare) and what
two papers state together. Drafts are dropped, with the reason, that point out of themselves (`this method`), can be
answered without the corpus, copy the wording of their evidence, repeat another question (also of benchmark.path=), or
tell no strategies apart. Kept ones are in <drafts.jsonl>, dropped ones in <drafts.dropped.jsonl>.

The second form shows draft after draft with its evidence: a accepts, r rejects, e edits the wording, t changes the
kind, u takes back. Every key is on disk at once in <drafts.review.jsonl>; the command takes up where it stopped.

Then: python -m evaluation.import file=<drafts.jsonl> into=<folder>, which takes the accepted ones."""
REVIEW_KEYS = ("review", "source")


def main(arguments: Sequence[str]) -> int:
    """Draft or review; returns the exit code."""
    return run_command("synthesize", USAGE, arguments, _act)


def _act(arguments: Sequence[str]) -> int:
    if any(argument.startswith("review=") for argument in arguments):
        options = read_options(arguments, REVIEW_KEYS)
        path = Path(options.required("review", "<drafts.jsonl>"))
        source = check_source(options.values.get("source", "hand"))
        if not source.startswith("hand"):
            raise RequestError(f"source={source}: a person reviews; write hand:<name>")
        review_in_terminal(ReviewDesk.open(path, source), sys.stdin, sys.stdout)
        return 0
    options = read_options(arguments, KEYS, GROUPS)
    if options.words:
        raise RequestError(
            f"{options.words[0]!r}: write out=<drafts.jsonl> to draft, review=<drafts.jsonl> to review"
        )
    return draft(options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
