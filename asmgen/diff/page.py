"""The page: script, ours and theirs side by side in one file that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any

import jinja2
from markupsafe import Markup

from asmgen.diff import charts
from asmgen.diff.comparison import Comparison, Side
from asmgen.diff.figures import COLUMNS
from asmgen.diff.job import Case
from asmgen.diff.table import written
from asmgen.diff.verdict import Verdict
from asmgen.emit.prose import contract, prototype

#: What the classes are called on the page.
CLASSES = {
    "products": "product", "with carry": "addition with carry", "other": "other ALU", "loads": "load",
    "stores": "store", "moves": "register move", "constants": "constant", "spills": "spill", "reloads": "reload",
    "frame": "prologue, epilogue", "branches": "branch", "marks": "mark", "": "not executed",
}  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """A line of a listing on the page; `partners` are the numbers of its counterparts, `line` that of the script."""

    number: int
    text: str
    kind: str
    about: str
    partners: tuple[int, ...]
    beside: bool
    cause: str
    line: int | None


@dataclass(frozen=True)
class Row:
    """A row of the listing: the script's line where it changes, ours, theirs."""

    source: tuple[int, str] | None
    ours: Cell | None
    theirs: Cell | None


@dataclass(frozen=True)
class Part:
    """One comparison on the page."""

    identity: str
    name: str
    made: Comparison
    verdict: Verdict
    rows: tuple[Row, ...]
    causes: tuple[tuple[str, int, int], ...]
    charts: tuple[str, ...]
    difference: tuple[tuple[str, str], ...]


@cache
def environment() -> jinja2.Environment:
    """Templates from this package, all text escaped; an unknown name is an error."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("asmgen.diff"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters["thousands"] = lambda number: f"{number:,}"
    made.globals.update(classes=CLASSES, columns=[name for name, _ in COLUMNS])
    return made


def page(cases: Sequence[Case]) -> str:
    """All comparisons of the cases in one HTML file."""
    every = [case_context(index, each) for index, each in enumerate(cases)]
    titles = list(dict.fromkeys(f"{each['name']}" for each in every))
    title = titles[0] if len(titles) == 1 else f"{titles[0]} and {len(titles) - 1} more"
    return environment().get_template("diff.html").render(title=title, cases=every)


def case_context(index: int, made: Case) -> dict[str, Any]:
    """What the templates show of a case; `index` tells several on one page apart."""
    signature = made.function.signature
    return {
        "name": f"{signature.script}.{signature.kernel}",
        "target": made.target,
        "prototype": prototype(signature),
        "contract": contract(signature),
        "figures": figures_rows(made),
        "cores": cores([made.ours, *(each.theirs for each in made.comparisons)]),
        "failed": made.failed,
        "parts": [
            part(f"c{index}-{number}", each, verdict)
            for number, (each, verdict) in enumerate(zip(made.comparisons, made.verdicts, strict=True))
        ],
        "best": made.best,
    }


def figures_rows(made: Case) -> list[tuple[str, Side, Comparison | None]]:
    """Name, routine and comparison of each line of the table of figures."""
    rows: list[tuple[str, Side, Comparison | None]] = [("asmgen", made.ours, None)]
    return rows + [(each.theirs.body.name + made.also(each), each.theirs, each) for each in made.comparisons]


def cores(sides: Sequence[Side]) -> list[str]:
    """The cores for which any of them has modelled cycles."""
    return list(dict.fromkeys(core for side in sides for core in side.figures.cycles))


def part(identity: str, made: Comparison, verdict: Verdict) -> Part:
    """What the page shows of one comparison."""
    mine, yours = made.unmatched(0), made.unmatched(1)
    names = list(dict.fromkeys([*mine, *yours]))
    both = (("asmgen", made.ours), (made.theirs.body.name, made.theirs))
    drawn = (
        charts.lines(
            f"{identity}-chain", "Dependence chain: when all results so far could be there", "cycle",
            [(name, list(accumulate(side.depths, max))) for name, side in both],
        ),
        charts.lines(
            f"{identity}-live", "Register pressure: how many hold something needed", "registers",
            [(name, side.pressure) for name, side in both],
        ),
    )  # fmt: skip
    return Part(
        identity,
        made.theirs.body.name,
        made,
        verdict,
        tuple(_rows(made)),
        tuple((cause, mine.get(cause, 0), yours.get(cause, 0)) for cause in names),
        tuple(map(Markup, drawn)),
        tuple(_difference(made)),
    )


def _rows(made: Comparison) -> Iterator[Row]:
    numbers = [{at: index for index, at in enumerate(side.lines, 1)} for side in made.sides]
    shown = None
    for mine, yours in made.rows:
        place = made.ours.body.sources.get(mine) if mine is not None else None
        source = None
        if place is not None and place.line != shown:
            shown = place.line
            source = (place.line, place.text)
        yield Row(source, _cell(made, 0, mine, yours, numbers), _cell(made, 1, yours, mine, numbers))


def _cell(
    made: Comparison, side: int, at: int | None, beside: int | None, numbers: Sequence[Mapping[int, int]]
) -> Cell | None:
    if at is None:
        return None
    held = made.sides[side]
    partners = made.partners[side].get(at, [])
    kind = held.kinds.get(at, "")
    cause = made.causes[side].get(at, "")
    place = held.body.sources.get(at)
    return Cell(
        numbers[side][at],
        held.lines[at].text,
        kind,
        f"{CLASSES[kind]}{f'; no counterpart: {cause}' if cause else ''}",
        tuple(numbers[1 - side][each] for each in partners),
        beside in partners,
        cause,
        place.line if place else None,
    )


def _difference(made: Comparison) -> Iterator[tuple[str, str]]:
    """Name and value of everything about the input that shows a difference."""
    if made.same is None or made.same.first is None:
        return
    first = made.same.first
    yield "what", f"{first.reason} (vector {first.index} of seed {first.seed}, {first.aliasing})"
    yield from ((name, written(value)) for name, value in first.inputs)
    for (name, wanted), (_, got) in zip(first.wanted, first.got, strict=False):
        if wanted != got:
            yield f"{name}, wanted", f"{wanted:#x}"
            yield f"{name}, got", f"{got:#x}"
