"""`report.html`: one file that opens from disk, without a network and without a library."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from string import Template

from evaluation.findings import Findings
from evaluation.report import answers, facts, sections, view
from evaluation.report.embed import as_json, payload
from evaluation.report.html import section


def page(findings: Findings, charts: Mapping[str, str]) -> str:
    """The whole page; `charts` as `draw_all` gives them."""
    script, colours, style = (_file(name) for name in ("page.js", "colours.css", "style.css"))
    body = "".join(
        [
            sections.verdict(findings),
            sections.leaders(findings, charts),
            sections.compared(findings, charts),
            sections.effects(findings, charts),
            sections.losses(findings, charts),
            sections.cost(findings, charts),
            sections.kinds(findings, charts),
            answers.section(findings.answers, charts) if findings.answers else "",
            _questions(findings),
            facts.liveness(findings),
            facts.manifest(findings),
        ]
    )
    return Template(_file("page.html")).substitute(
        title=escape(view.title(findings.manifest)),
        run=escape(str(findings.manifest["name"])),
        where=escape(_where(findings)),
        policy=_policy(script),
        style=colours + style,
        body=body,
        data=as_json(payload(findings)),
        script=script,
    )


def _file(name: str) -> str:
    return files("evaluation.report").joinpath(name).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    """Only our own script may run, whatever a passage or a name holds; nothing may be fetched."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:"


def _where(findings: Findings) -> str:
    manifest = findings.manifest
    benchmark, corpus = manifest["benchmark"], manifest.get("corpus") or {}
    of = f"{corpus['documents']} documents, " if corpus.get("documents") else ""
    return (
        f"{benchmark['name']}, {manifest['split']} split: {benchmark['queries']} questions; "
        f"{of}{corpus.get('chunks', 0)} chunks; {manifest['time']}; run {manifest['run_id'][:8]}"
    )


def _questions(findings: Findings) -> str:
    """The frame of the per-query table, which the script fills."""
    if not len(findings.questions) or not len(findings.summary):
        return ""
    how = (
        "Two strategies question by question; a click on a question opens both rankings with texts, grades and where "
        "each piece of evidence was lost."
    )
    return section("questions", "Question by question", how, _file("questions.html"))
