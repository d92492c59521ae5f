"""The tables about answers in a page of documentation, written from a results folder."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from evaluation.answers.files import TABLES
from evaluation.answers.findings import AnswerFindings
from evaluation.answers.tables import NONE
from evaluation.answers.values import ACCURACY, F1, PRECISION, RECALL, SOURCES
from evaluation.report import answer_tables as cells
from evaluation.table import as_markdown

SHOWN = (SOURCES, PRECISION, RECALL, F1, ACCURACY)
FILE = "answer_summary.parquet"


def table(results: Path) -> str:
    """What was asked, and three tables: means, refusals, and how often claims of each level were right.

    Left out are answers from no source, and the levels of the yardstick.
    """
    manifest = json.loads((results / "manifest.json").read_text())
    benchmark, config = manifest["benchmark"], manifest["config"]
    found = _findings(results, config["answers"]["primary"])
    means, levels = cells.means(found, SHOWN), cells.levels(found)
    said = (
        f"`{manifest['name']}`, split `{config['split']}`: {benchmark['queries']} questions of {benchmark['name']}, "
        f"{benchmark['judged']} of them with evidence. Means with 95 % intervals that resample source documents."
    )
    parts = (
        means[means["context"] != NONE],
        cells.refusals(found).drop(columns="risk area"),
        levels[levels["generator"] != config["answers"]["yardstick"]].drop(columns="documents"),
    )
    return "\n\n".join([said, *map(as_markdown, parts)])


def _findings(results: Path, primary: str) -> AnswerFindings:
    stored = {"answers": "answers", **TABLES}
    tables = {name: pd.read_parquet(results / f"{file}.parquet") for file, name in stored.items()}
    return AnswerFindings(strategy="", generator="", primary=primary, **tables)
