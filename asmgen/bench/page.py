"""The page that `asmgen bench --html` writes: charts and tables in one file that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import jinja2
import pygal
from markupsafe import Markup
from pygal.style import Style

from asmgen.bench import stats
from asmgen.bench.modelled import Modelled
from asmgen.bench.result import Result
from asmgen.bench.text import remarks, said
from asmgen.diff.charts import clean

_WIDTH, _BAR, _REST = 900, 16, 135
_PALETTE = ("var(--ours)", "var(--theirs)", "var(--carry)")


@cache
def _environment() -> jinja2.Environment:
    """All text escaped; the frame of the page is that of `asmgen diff`."""
    loader = jinja2.ChoiceLoader([jinja2.PackageLoader("asmgen.bench"), jinja2.PackageLoader("asmgen.diff")])
    return jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def page(title: str, notes: Sequence[str], results: Sequence[Result], modelled: Sequence[Modelled]) -> str:
    """All of it in one HTML file."""
    cases = [
        {"made": made, "chart": Markup(chart(f"chart-{index}", made)) if made.rows else "",
         "remarks": [line for line, _ in remarks(made)]}
        for index, made in enumerate(results)
    ]  # fmt: skip
    classes = {stats.FASTER: "good", stats.SLOWER: "bad", stats.EVEN: "", stats.NOISY: "faint"}
    return _environment().get_template("bench.html").render(
        title=title, notes=notes, cases=cases, modelled=modelled, said=said, classes=classes
    )  # fmt: skip


def chart(identity: str, made: Result) -> str:
    """Bars as SVG that takes its colors from the page: a group a routine, a bar a mode."""
    style = Style(
        background="transparent", plot_background="transparent", foreground="var(--ink)",
        foreground_strong="var(--ink)", foreground_subtle="var(--faint)", opacity=".75", opacity_hover="1",
        colors=_PALETTE, font_family="inherit", label_font_size=11, major_label_font_size=11, legend_font_size=12,
        value_font_size=10, title_font_size=12, value_colors=("#fff",) * len(_PALETTE), transition="0s",
    )  # fmt: skip
    bars = len(made.rows) * (len(made.modes) + 0.7)
    drawn = pygal.HorizontalBar(
        style=style, js=[], width=_WIDTH, height=int(_REST + _BAR * bars), disable_xml_declaration=True, margin=6,
        legend_at_bottom=True, legend_at_bottom_columns=3, legend_box_size=10, truncate_legend=-1,
        truncate_label=-1, print_values=True,
        print_values_position="center", value_formatter=lambda value: f"{value:.1f}", x_title=f"cycles a {made.unit}",
    )  # fmt: skip
    drawn.uuid = identity
    rows = made.rows[::-1]  # the first one is drawn lowest
    drawn.x_labels = [row.name for row in rows]
    for mode in made.modes:
        drawn.add(mode, [row.figures[mode].cycles if mode in row.figures else None for row in rows])
    svg = re.sub("<!--.*?-->", "", drawn.render(is_unicode=True), flags=re.S)
    return re.sub("<[^>]+>", lambda tag: clean(tag[0]), svg)  # names have versions, whose digits stay
