"""Small charts of a routine and its rival, as SVG that takes its colors from the page."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pygal
from pygal.style import Style

#: Points of a line; of longer ones every so many are shown.
_POINTS = 400
_WIDTH, _HEIGHT = 720, 190
_STEPS = [unit * 10**power for power in range(8) for unit in (1, 2, 5)]


def lines(identity: str, title: str, unit: str, series: Sequence[tuple[str, Sequence[int]]]) -> str:
    """A line a routine: a number for each instruction in the order of execution. `identity` is the chart's name in its
    page."""
    style = Style(
        background="transparent", plot_background="transparent", foreground="var(--ink)",
        foreground_strong="var(--ink)", foreground_subtle="var(--faint)", opacity=".12", opacity_hover=".3",
        colors=("var(--ours)", "var(--theirs)"), font_family="inherit", title_font_size=14, label_font_size=11,
        major_label_font_size=11, legend_font_size=12, transition="0s",
    )  # fmt: skip
    chart = pygal.XY(
        style=style, js=[], width=_WIDTH, height=_HEIGHT, disable_xml_declaration=True, show_dots=False, margin=6,
        legend_at_bottom=False, legend_box_size=10, title=title, x_title="instruction executed", y_title=unit,
        stroke_style={"width": 1.8}, truncate_legend=-1, include_x_axis=True, print_values=False,
        y_labels=_ticks(max((max(values, default=0) for _, values in series), default=0)),
        x_labels=_ticks(max((len(values) for _, values in series), default=1), 8),
    )  # fmt: skip
    chart.uuid = identity
    for name, values in series:
        chart.add(name, [(index, value) for index, value in thinned(values)])
    return clean(chart.render(is_unicode=True))


def _ticks(most: int, count: int = 4) -> list[int]:
    """Round numbers from 0 to at least `most`, about so many steps."""
    step = next(unit for unit in _STEPS if unit * count >= most)
    return list(range(0, most + step, step))


def thinned(values: Sequence[int]) -> list[tuple[int, int]]:
    """At most so many points, the largest value of each stretch."""
    step = -(-len(values) // _POINTS) or 1
    return [(at, max(values[at : at + step])) for at in range(0, len(values), step)]


def clean(svg: str) -> str:
    """Without comments (which hold a date), names that occur twice in a page, and digits that nobody sees."""
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.S)
    svg = re.sub(r' id="activate-serie-\d+"', "", svg)
    return re.sub(r"(\d\.\d)\d+", r"\1", svg)
