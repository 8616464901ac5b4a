"""What is seen of a search: a table that changes on a terminal, a line a step elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from asmgen.optimize.search import State
from asmgen.passes.plans import Seed

_BARS = "▁▂▃▄▅▆▇█"


@contextmanager
def view(console: Console) -> Iterator[Callable[[State], None]]:
    """Something to tell about a search."""
    if not console.is_terminal:
        yield _Lines(console)
        return
    with Live(console=console, refresh_per_second=4, transient=True) as live:
        yield lambda state: live.update(table(state))


class _Lines:
    """A line whenever the best is better."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.told = 0

    def __call__(self, state: State) -> None:
        for seconds, cost in state.history[self.told :]:
            self.console.print(f"{seconds:6.1f} s  {gain(cost)}  {state.rate:,.0f} candidates/s", highlight=False)
        self.told = len(state.history)


def gain(cost: float) -> str:
    """A cost by that of the default schedule, in words."""
    return f"{100 * (1 - cost):.1f} % faster" if cost <= 1 else f"{100 * (cost - 1):.1f} % slower"


def name(seed: Seed) -> str:
    """A seed in a few words."""
    choices = "".join(f"{name} {index}, " for name, index in seed.choices)
    choices += "".join(f"{form}, " for form in seed.forms)
    choices += f"{len(seed.others)} other forms, " if seed.others else ""
    return f"{choices}{seed.core}, window {seed.freedom.window}, {seed.freedom.registers} registers"


def table(state: State) -> Group:
    """All of it: the best and the time that is left, what walks start from, and the rate."""
    made = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("start", "walks", "than the default"):
        made.add_column(title, no_wrap=True, justify="left" if title == "start" else "right")
    ranked = sorted(state.seeds.items(), key=lambda each: each[1].cost)
    for seed, outcome in ranked[:6]:
        made.add_row(name(seed), str(state.walks.get(seed, 0)), gain(outcome.cost))
    bar = Progress(TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}"))
    spent = int(min(time.monotonic() - state.began, state.seconds))
    best = gain(state.best.cost) if state.best is not None else "measuring what to start from"
    bar.add_task(
        f"[bold]{state.goal.kernel}[/] {state.goal.target} {state.goal.core}, {state.goal.objective}: {best}",
        total=state.seconds, completed=spent, left=f"{state.seconds - spent:.0f} s left",
    )  # fmt: skip
    said = f"{state.rate:,.0f} candidates/s, {state.judged:,} so far; {_line(state)}  Ctrl-C keeps the best"
    if state.gone:
        said += f"; {state.gone} results of other CPUs left out"
    return Group(bar, made, said)


def _line(state: State) -> str:
    """How the best came down, as a line of bars."""
    costs = [cost for _, cost in state.history][-40:]
    if len(costs) < 2 or max(costs) == min(costs):
        return ""
    least, most = min(costs), max(costs)
    return "".join(_BARS[round((cost - least) / (most - least) * (len(_BARS) - 1))] for cost in costs)
