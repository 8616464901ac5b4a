"""What `asmgen bench` prints: bars of cycles with their ratios, tables of what is modelled, and a summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from asmgen.bench import stats
from asmgen.bench.modelled import Modelled
from asmgen.bench.result import HEADS, Result, summary
from asmgen.bench.stats import EVEN, FASTER, SLOWER

_WIDTH = 30  # of the longest bar
_EIGHTHS = " ▏▎▍▌▋▊▉"
_STYLES = {FASTER: "green", SLOWER: "red", EVEN: "", stats.NOISY: "yellow"}


def bar(part: float, width: int = _WIDTH) -> str:
    """A bar of so much of the whole width, to an eighth of a column."""
    eighths = max(1, round(min(max(part, 0.0), 1.0) * width * 8))
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def said(answer: str) -> str:
    """The answer in the words of the table."""
    return f"ours is {answer}" if answer in (FASTER, SLOWER) else answer


def table(made: Result) -> Table:
    """For each mode a bar a routine, with its cycles, their interval, and its ratio to ours with that."""
    grid = _grid(f"{made.name}, cycles a {made.unit}")
    grid.add_column()
    grid.add_column("cycles", justify="right", no_wrap=True)
    for head in ("interval", "", "theirs / ours", ""):
        grid.add_column(head, no_wrap=True)
    for mode in made.modes:
        shown = [row for row in made.rows if mode in row.figures]
        most = max((row.figures[mode].cycles for row in shown), default=1.0)
        grid.add_row(Text(mode, style="bold"))
        for row in shown:
            figure, ratio = row.figures[mode], row.ratios.get(mode)
            style = "cyan" if row.kind == "ours" else ""
            grid.add_row(
                Text(f"  {row.title}", style=style), f"{figure.cycles:.1f}", f"{figure.low:.1f}–{figure.high:.1f}",
                Text(bar(figure.cycles / most), style=style or "dim"),
                f"{ratio.value:.3f}  {ratio.low:.3f}–{ratio.high:.3f}" if ratio else "",
                Text(said(ratio.answer), style=_STYLES[ratio.answer]) if ratio else "",
            )  # fmt: skip
    return grid


def remarks(made: Result) -> Iterator[tuple[str, str]]:
    """Lines below it, each with a style: what is to be known of the noise, and what is not there."""
    twice = ", ".join(f"{mode} {_percent(each)}" for mode, each in made.twice.items())
    if made.twice:
        stretched = "" if made.stretch is None else f"; windows stretched by {made.stretch:.1%}"
        yield f"the same routine twice: {twice}{stretched}, left out: {made.disturbed:.0%}", "dim"
    if made.twice and not made.alone:
        yield (
            f"additions ran at {made.rate:.2f} a cycle, which is no whole number: something else had a part of this "
            "core all the time", "yellow",
        )  # fmt: skip
    if made.twice and not made.quiet:
        yield (
            f"too noisy here now, so intervals are widened: a routine has to tie with itself within {stats.TIE:.0%}, "
            f"and a usual window to take at most {stats.STRETCH:.0%} more than a quick one", "yellow",
        )  # fmt: skip
    lost = [row.name for row in made.rows if any(mode not in row.figures for mode in made.modes)]
    if lost:
        yield f"too few windows were undisturbed for {', '.join(lost)}: again when less is going on", "yellow"
    yield from ((f"not timed: {name}: {reason}", "yellow") for name, reason in made.failed)
    if made.go is not None:
        yield made.go.line, "yellow" if made.go.failed else ""


def _percent(part: float | None) -> str:
    return "not known" if part is None else f"{part:.1%}"


def modelled_table(made: Modelled) -> Table:
    """A line a routine: instructions, products, and for each core cycles of many calls @ one alone."""
    per = f" for one of {made.repetitions} repetitions" if made.repetitions > 1 else ""
    grid = _grid(f"{made.name}, {made.target}, modelled cycles{per}: many independent calls @ one alone")
    grid.add_column("")
    for head in ("instructions", "products", *made.cores):
        grid.add_column(head, justify="right", no_wrap=True)
    for row in made.rows:
        cells = [f"{row.many[core]:.1f} @ {row.alone[core]:.0f}" if core in row.many and core in row.alone else ""
                 for core in made.cores]  # fmt: skip
        name = " = ".join((row.name, *row.equal))
        grid.add_row(Text(name, style="cyan" if row.kind == "ours" else ""), str(row.instructions), str(row.products),
                     *cells)  # fmt: skip
    return grid


def summary_table(results: Sequence[Result]) -> Table:
    """The best of others in each kernel's modes, with its ratio to ours."""
    grid = _grid("the best of others, its cycles in ours")
    for head in ("", *HEADS):
        grid.add_column(head, no_wrap=True)
    for name, cells in summary(results):
        grid.add_row(name, *cells)
    return grid


def _grid(title: str) -> Table:
    return Table(box=None, pad_edge=False, header_style="bold", title_justify="left", title_style="bold", title=title)
