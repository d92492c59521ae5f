"""The side-by-side comparison as one HTML page that opens offline."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from ingestion.schema import Corpus
from retrieval.analysis import tokens
from retrieval.api import Hit, Ranked

STYLE = """
:root { color-scheme: light dark; --line: #8886; --mark: #f6c94488; --same: #2a6fbb; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 1.5rem; }
h1 { font-size: 1.3rem; margin: 0 0 .3rem; }
p.hint { margin: .2rem 0 1rem; opacity: .75; }
fieldset { border: 1px solid var(--line); border-radius: 6px; margin: 0 0 1rem; }
label { margin-right: 1rem; white-space: nowrap; }
.columns { display: flex; gap: 1rem; overflow-x: auto; align-items: flex-start; padding-bottom: 1rem; }
section { flex: 0 0 22rem; }
section h2 { font-size: 1rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
article { border: 1px solid var(--line); border-radius: 6px; padding: .6rem .7rem; margin-bottom: .7rem; }
article.same { outline: 2px solid var(--same); }
article header { font-weight: 600; overflow-wrap: anywhere; }
article .stages { font-size: 12px; opacity: .8; margin: .2rem 0 .4rem; }
article p { margin: 0; max-height: 13rem; overflow-y: auto; overflow-wrap: anywhere; }
mark { background: var(--mark); color: inherit; }
table { border-collapse: collapse; margin-top: 1rem; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .6rem; text-align: center; }
th:first-child, td:first-child { text-align: left; }
@media print { .columns { flex-wrap: wrap; } article p { max-height: none; } fieldset { display: none; } }
"""
SCRIPT = """
for (const box of document.querySelectorAll('input[data-column]'))
  box.addEventListener('change', () => document.getElementById(box.dataset.column).hidden = !box.checked);
const cards = [...document.querySelectorAll('article')];
for (const card of cards) {
  card.addEventListener('mouseenter', () => cards.forEach(other =>
    other.classList.toggle('same', other.dataset.chunk === card.dataset.chunk)));
  card.addEventListener('mouseleave', () => cards.forEach(other => other.classList.remove('same')));
}
"""
HINT = "Compare ranks: a score is private to its stage and not shown. Point at a chunk to find it in other columns."
WORD = re.compile(r"\w[\w'’@+#.-]*\w|\w")


def page(question: str, ranked: Sequence[Ranked], corpus: Corpus) -> str:
    """One column per strategy, a table of ranks by chunk below, and who could not run."""
    answers = [answer for answer in ranked if not answer.reason]
    wanted = frozenset(tokens(question))
    boxes = "".join(
        f'<label><input type="checkbox" checked data-column="c{n}"> {html.escape(answer.strategy)}</label>'
        for n, answer in enumerate(answers)
    )
    columns = "".join(_column(n, answer, wanted) for n, answer in enumerate(answers))
    absent = "".join(
        f"<li>{html.escape(answer.strategy)}: {html.escape(answer.reason)}</li>" for answer in ranked if answer.reason
    )
    title = html.escape(question)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
        f'</head><body><h1>{title}</h1><p class="hint">{len(corpus)} chunks. {HINT}</p>'
        f"<fieldset><legend>Strategies</legend>{boxes}</fieldset>"
        f'<div class="columns">{columns}</div>{_ranks(answers)}'
        f"{f'<h2>Did not run</h2><ul>{absent}</ul>' if absent else ''}<script>{SCRIPT}</script></body></html>\n"
    )


def _column(number: int, answer: Ranked, wanted: frozenset[str]) -> str:
    cards = "".join(_card(hit, wanted) for hit in answer.hits) or "<p>nothing found</p>"
    return f'<section id="c{number}"><h2>{html.escape(answer.strategy)}</h2>{cards}</section>'


def _card(hit: Hit, wanted: frozenset[str]) -> str:
    head = html.escape(f"{hit.rank}. {hit.place}")
    return (
        f'<article data-chunk="{hit.chunk_id}"><header>{head}</header>'
        f'<div class="stages">{html.escape(hit.came_from)}</div><p>{_marked(hit.text, wanted)}</p></article>'
    )


def _marked(text: str, wanted: frozenset[str]) -> str:
    """The text with the question's terms marked, by the analyser of the lexical stages."""
    parts, at = [], 0
    for match in WORD.finditer(text):
        if wanted.intersection(tokens(match[0])):
            parts += [html.escape(text[at : match.start()]), f"<mark>{html.escape(match[0])}</mark>"]
            at = match.end()
    return "".join([*parts, html.escape(text[at:])])


def _ranks(answers: Sequence[Ranked]) -> str:
    """Which strategy put which chunk where: a row per chunk, those that most strategies show first."""
    places: dict[str, dict[str, int]] = {}
    names: dict[str, str] = {}
    for answer in answers:
        for hit in answer.hits:
            places.setdefault(hit.chunk_id, {})[answer.strategy] = hit.rank
            names[hit.chunk_id] = hit.place
    order = sorted(places, key=lambda chunk: (-len(places[chunk]), min(places[chunk].values()), names[chunk], chunk))
    head = "".join(f"<th>{html.escape(answer.strategy)}</th>" for answer in answers)
    rows = "".join(
        f"<tr><td>{html.escape(names[chunk])}</td>"
        + "".join(f"<td>{places[chunk].get(answer.strategy, '')}</td>" for answer in answers)
        + "</tr>"
        for chunk in order
    )
    return f'<h2>Ranks</h2><div class="columns"><table><tr><th>chunk</th>{head}</tr>{rows}</table></div>'
