"""Tables and the aligned listing on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from asmgen.diff.classes import CAUSES
from asmgen.diff.comparison import Comparison, Side
from asmgen.diff.figures import COLUMNS
from asmgen.diff.job import Case
from asmgen.emit.prose import prototype
from emulate.inputs import Input

#: The columns of figures, short.
SHORT = ("products", "carry", "ALU", "loads", "stores", "moves", "spills", "frame", "branches")
#: Colors of classes, as names that terminals know.
STYLES = {
    "products": "bold magenta", "with carry": "cyan", "other": "", "loads": "green", "stores": "green",
    "moves": "yellow", "constants": "yellow", "spills": "red", "reloads": "red", "frame": "dim", "branches": "blue",
    "marks": "dim",
}  # fmt: skip


def shown(console: Console, made: Case, *, listing: bool = True) -> None:
    """Everything about a case: prototype, table, verdicts, causes, the listing beside the best of the others."""
    console.print(f"[bold]{prototype(made.function.signature)}[/bold]  {made.target}", highlight=False)
    rows: list[tuple[str, Side, Comparison | None]] = [("asmgen", made.ours, None)]
    rows += [(each.theirs.body.name, each.theirs, each) for each in made.comparisons]
    console.print(counts_table(rows))
    console.print(times_table(rows))
    for name, others in made.equal.items():
        console.print(f"{' and '.join(others)}: the same code as {name}", style="dim", highlight=False)
    for verdict in made.verdicts:
        console.print(f"\n[bold]{verdict.sentences[0]}[/bold]", highlight=False)
        for sentence in verdict.sentences[1:]:
            console.print(f"  {sentence}", highlight=False)
    for each in made.comparisons:
        if each.same is not None and each.same.first is not None:
            for line in difference_lines(each):
                console.print(line, highlight=False, markup=False, soft_wrap=True)
    if any(each.unmatched(side) for each in made.comparisons for side in (0, 1)):
        console.print()
        console.print(causes_table(made.comparisons))
    for failed in made.failed:
        console.print(f"\n[bold red]{failed.name}[/bold red]: ", end="")
        console.print(failed.reason, highlight=False, markup=False, soft_wrap=True)
    if listing and made.best is not None:
        console.print()
        for text in listing_lines(made.comparisons[made.best], console.width):
            console.print(text, highlight=False, soft_wrap=True)


def counts_table(rows: Sequence[tuple[str, Side, Comparison | None]]) -> Table:
    """A line a routine: what it is made of."""
    table = _table("insns", *SHORT, "bytes")
    for name, side, _ in rows:
        figures = side.figures
        columns = (str(figures.column(column)) for column, _ in COLUMNS)
        table.add_row(name, str(figures.instructions), *columns, str(figures.size))
    return table


def times_table(rows: Sequence[tuple[str, Side, Comparison | None]]) -> Table:
    """A line a routine: how long it takes, what of ours it has, whether it is the same function."""
    cores = list(dict.fromkeys(core for _, side, _ in rows for core in side.figures.cycles))
    here = ["measured"] if any(side.figures.measured is not None for _, side, _ in rows) else []
    table = _table("executed", "chain", "live", *cores, *here, "matched", "same")
    for name, side, made in rows:
        figures = side.figures
        cells = [f"{figures.executed:,}", str(figures.chain), str(figures.live)] if side.runs else ["-"] * 3
        cells += [f"{figures.cycles[core]:.1f}" if core in figures.cycles else "-" for core in cores]
        cells += ["-" if figures.measured is None else f"{figures.measured:.1f}"] * len(here)
        cells += ["", ""] if made is None else [_ratio(*made.matched(0, "products")), _same(made)]
        table.add_row(name, *cells)
    return table


def _table(*heads: str) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("", no_wrap=True)
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    return table


def _ratio(part: int, whole: int) -> str:
    return f"{part}/{whole}" if whole else "-"


def _same(made: Comparison) -> str:
    if made.same is None:
        return "-"
    return f"{made.same.vectors:,}" if made.same.holds else "[red]differs[/red]"


def causes_table(comparisons: Sequence[Comparison]) -> Table:
    """Lines without a counterpart, by cause: ours and theirs for each comparison."""
    table = Table(
        box=box.SIMPLE, pad_edge=False, title="Instructions without a counterpart, ours / theirs", title_justify="left"
    )
    table.add_column("")
    counts: list[tuple[Mapping[str, int], Mapping[str, int]]] = []
    for made in comparisons:
        table.add_column(made.theirs.body.name, justify="right")
        counts.append((made.unmatched(0), made.unmatched(1)))
    causes = dict.fromkeys(cause for pair in counts for side in pair for cause in side)
    for cause in CAUSES:
        if cause in causes:
            table.add_row(cause, *(f"{mine.get(cause, 0)} / {theirs.get(cause, 0)}" for mine, theirs in counts))
    return table


def written(value: Input) -> str:
    """An input as people read it."""
    if isinstance(value, bytes):
        return value.hex()
    return ", ".join(f"{word:#x}" for word in (value if isinstance(value, tuple) else (value,)))


def difference_lines(made: Comparison) -> Iterator[str]:
    """The input that shows a difference, and what came of it."""
    assert made.same is not None and made.same.first is not None
    first = made.same.first
    name = made.theirs.body.name
    yield f"{name} differs for vector {first.index} of seed {first.seed} ({first.aliasing}): {first.reason}"
    for name, value in first.inputs:
        yield f"    {name} = {written(value)}"
    for (name, wanted), (_, got) in zip(first.wanted, first.got, strict=False):
        if wanted != got:
            yield f"    {name}: wanted {wanted:#x}"
            yield f"    {' ' * len(name)}  got    {got:#x}"


def listing_lines(made: Comparison, width: int) -> Iterator[Text]:
    """Both listings side by side.

    Behind each line: `=` for a counterpart beside it, the number of the counterpart's line where that stands elsewhere,
    `x` where there is none, `-` for what was not executed.
    """
    numbers = [{at: index for index, at in enumerate(side.lines, 1)} for side in made.sides]
    column = max(30, min(46, (width - 24) // 2 if width < 140 else (width - 64) // 2))
    source = ""
    yield Text.assemble(("ours".ljust(column + 12), "bold"), (made.theirs.body.name, "bold"))
    for mine, yours in made.rows:
        text = Text()
        text.append_text(_cell(made, 0, mine, numbers, yours, column))
        text.append("  ")
        text.append_text(_cell(made, 1, yours, numbers, mine, column))
        place = made.ours.body.sources.get(mine) if mine is not None else None
        if place is not None and place.text != source:
            source = place.text
            text.append(f"  {place.line}: {source}", style="dim")
        text.rstrip()
        yield text


def _cell(
    made: Comparison, side: int, at: int | None, numbers: Sequence[Mapping[int, int]], beside: int | None, width: int
) -> Text:
    if at is None:
        return Text(" " * (width + 10))
    held = made.sides[side]
    line = held.lines[at]
    partners = made.partners[side].get(at, [])
    mark = "=" if beside in partners else f"{numbers[1 - side][partners[0]]}" if partners else ""
    if at not in held.kinds:
        mark = "-"
    elif not partners:
        mark = "x"
    style = STYLES.get(held.kinds.get(at, ""), "dim")
    text = Text(f"{numbers[side][at]:4} ", style="dim")
    text.append(line.text.ljust(width)[:width], style=style)
    text.append(f"{mark:>5}", style="dim")
    return text
