"""From an Altair chart to SVG text: one look for all, colours as CSS variables, equal charts give equal bytes.

Charts are drawn when the report is written, not in the reader's browser: a page needs no library, prints as it is,
and follows light and dark through the variables of `colours.css`. What a mark says when it is pointed at is its
`aria-label` (Vega-Lite's `description`).
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import altair as alt
import vl_convert

FONT = "Liberation Sans, Arial, Helvetica, sans-serif"  # measured alike everywhere: metric-compatible families
WIDTH = 640
VERSION = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--ink)",
        "titleColor": "var(--muted)",
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "gridColor": "var(--grid)",
        "domain": False,
        "tickColor": "var(--line)",
        "labelLimit": 260,
    },
    "axisY": {"ticks": False, "labelPadding": 8},
    "legend": {
        "labelColor": "var(--ink)",
        "labelFontSize": 12,
        "orient": "top",
        "title": None,
        "symbolStrokeWidth": 0,
        "labelLimit": 260,
        "aria": False,
    },
    "text": {"color": "var(--ink)", "fontSize": 11, "font": FONT},
    "header": {"labelColor": "var(--ink)", "titleColor": "var(--muted)"},
    "title": {"color": "var(--ink)", "fontSize": 12, "fontWeight": "bold", "anchor": "start"},
}
_GEOMETRY = re.compile(r' (transform|d|x|y|x2|y2)="([^"]*)"')
_LONG = re.compile(r"-?\d+\.\d{3,}(?:e-?\d+)?")
_ROOT = re.compile(r"<svg [^>]*? width=\"([\d.]+)\" height=\"([\d.]+)\"[^>]*>")


def hit(rows: alt.Chart, width: int) -> alt.Chart:
    """Invisible bars over whole rows: what a thin line says is then easy to point at. The column `text` says it."""
    bars: alt.Chart = rows.mark_bar(color="transparent", height=22).encode(
        x=alt.value(0), x2=alt.value(width), description=alt.Description("text:N")
    )
    return bars


def draw(chart: alt.TopLevelMixin, name: str, description: str) -> str:
    """The chart as inline SVG; `name` keeps its ids apart from other charts of the page."""
    return to_svg(chart.to_dict(validate=False), name, description)  # Altair checks every part as it is made


def to_svg(spec: Mapping[str, Any], name: str, description: str) -> str:
    """The same from a Vega-Lite specification."""
    spec = {**spec, "config": CONFIG}
    text: str = vl_convert.vegalite_to_svg(spec, vl_version=VERSION, allowed_base_urls=[])
    text = _GEOMETRY.sub(lambda found: f' {found[1]}="{_LONG.sub(_short, found[2])}"', text)
    text = text.replace("url(#", f"url(#{name}-").replace('<clipPath id="', f'<clipPath id="{name}-')
    label = html.escape(description, quote=True)
    return _ROOT.sub(
        lambda found: (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" aria-label="{label}" '
            f'width="{found[1]}" height="{found[2]}" viewBox="0 0 {found[1]} {found[2]}">'
        ),
        text,
        count=1,
    )


def _short(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def standalone(svg: str) -> str:
    """The same drawing as a file of its own, with the colours that the page would give it."""
    colours = files("evaluation.report").joinpath("colours.css").read_text(encoding="utf-8")
    start = svg.index(">") + 1
    return f"{svg[:start]}<style>{colours}svg {{ background: var(--paper); }}</style>{svg[start:]}\n"
