"""What `asmgen list --against` prints: products and squares of the known fields beside other people's routines.

Those stand in peers.csv, with where their figures come from. Ours are compiled here and modelled by llvm-mca where it
is found; on amd64 theirs are measured, which a model does not compare with.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from asmgen.contracts import Element
from asmgen.diff import mca
from asmgen.diff.body import ours
from asmgen.diff.comparison import follow, modelled
from asmgen.errors import UsageError
from asmgen.function import Function
from asmgen.passes import Options
from asmgen.table import console
from asmgen.work import each

PEERS = Path(__file__).with_name("peers.csv")
#: The kernels that compute a product or a square, fully reduced or not.
NAMES = {name: op for op in ("mul", "sqr") for name in (op, f"{op}_canon", f"{op}_loose")}
#: Columns of cycles: cores that are modelled, and one that others were measured on.
CORES = ("neoverse-n1", "neoverse-v1", "neoverse-v2", "cortex-a55", "znver4", "zen4-measured")


@dataclass(frozen=True)
class Entry:
    """A routine: what it computes, who wrote it, and what is known of it. `cycles` are by core, of each of many
    independent calls; `mine` tells ours from theirs."""

    target: str
    field: str
    op: str
    by: str
    reduced: bool
    instructions: int | None
    products: int | None
    cycles: Mapping[str, float]
    mine: bool = False

    @property
    def group(self) -> tuple[str, str, str]:
        """What it is compared within."""
        return self.target, self.field, self.op


def peers() -> list[Entry]:
    """Those of the file, in its order."""
    lines = [line for line in PEERS.read_text().splitlines() if not line.startswith("#")]
    return [
        Entry(
            row["target"], row["field"], row["op"], row["by"], row["reduced"] == "yes",
            int(row["instructions"]) if row["instructions"] else None,
            int(row["products"]) if row["products"] else None,
            {core: float(row[core]) for core in CORES if row.get(core)},
        )
        for row in csv.DictReader(lines)
    ]  # fmt: skip


def entries(functions: Sequence[Function], targets: Sequence[str]) -> list[Entry]:
    """Ours and theirs, by group: ours first. UsageError where none of the functions has a counterpart."""
    theirs = peers()
    known = {entry.group for entry in theirs}
    jobs = [
        (function, target) for target in targets for function in functions
        if function.name in NAMES and (target, _element(function).field.name, NAMES[function.name]) in known
    ]  # fmt: skip
    if not jobs:
        raise UsageError(
            "there are no figures of other people to hold these kernels against",
            hint="figures are for mul and sqr of " + ", ".join(sorted({entry.field for entry in theirs})),
        )
    made = list(each(_entry, jobs))
    order = list(dict.fromkeys(entry.group for entry in made))
    return [entry for group in order for entry in (*made, *theirs) if entry.group == group]


def _element(function: Function) -> Element:
    contract = function.signature.outputs[0].contract
    assert isinstance(contract, Element)
    return contract


def _entry(job: tuple[Function, str]) -> Entry:
    function, target = job
    side = follow(function, ours(function, Options(target)))
    figures = modelled([side], [core for core in CORES if core in mca.MODELLED[target]])[0].figures
    contract, signature = _element(function), function.signature
    return Entry(
        target, contract.field.name, NAMES[function.name], f"{signature.script}.{signature.kernel}",
        contract.value_max < contract.field.modulus, figures.instructions - figures.classes.get("marks", 0),
        figures.column("products"), figures.cycles, mine=True,
    )  # fmt: skip


def table(rows: Sequence[Entry]) -> Table:
    """A line a routine; beside the instructions of ours, how they differ from the fewest of theirs."""
    cores = [core for core in CORES if any(core in entry.cycles for entry in rows)]
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for head in ("computes", "by", "reduced"):
        grid.add_column(head, no_wrap=True)
    for head in ("instrs", "", "prods", *(core.rpartition("-")[2] for core in cores)):
        grid.add_column(head, justify="right", no_wrap=True)
    last = None
    for entry in rows:
        name = "" if entry.group == last else f"{entry.field} {entry.op}, {entry.target}"
        grid.add_row(
            name, entry.by, "yes" if entry.reduced else "no", _text(entry.instructions), _difference(entry, rows),
            _text(entry.products), *(_cycles(entry.cycles.get(core)) for core in cores),
            style="" if entry.mine else "dim",
        )  # fmt: skip
        last = entry.group
    return grid


def _text(number: int | None) -> str:
    return "" if number is None else str(number)


def _cycles(number: float | None) -> str:
    return "" if number is None else f"{number:.1f}"


def _difference(entry: Entry, rows: Sequence[Entry]) -> str:
    others = [each.instructions for each in rows if each.group == entry.group and not each.mine and each.instructions]
    if not (entry.mine and entry.instructions and others):
        return ""
    return f"{entry.instructions - min(others):+d}"


def summary(rows: Sequence[Entry]) -> Iterator[str]:
    """In how many groups the best of ours is no worse than the best of theirs, where both come from the same model."""
    kinds: dict[str, list[tuple[float, float]]] = {}
    for group in dict.fromkeys(entry.group for entry in rows if entry.target == "arm64"):
        for kind in ("instructions", *CORES):
            mine, others = (
                [x for entry in rows if entry.group == group and entry.mine == side and (x := _figure(entry, kind))]
                for side in (True, False)
            )
            if mine and others:
                kinds.setdefault(kind, []).append((min(mine), min(others)))
    for kind, pairs in kinds.items():
        yield f"{kind} {sum(ours <= theirs for ours, theirs in pairs)} of {len(pairs)}"


def _figure(entry: Entry, kind: str) -> float | None:
    return entry.instructions if kind == "instructions" else entry.cycles.get(kind)


def show(functions: Sequence[Function], targets: Sequence[str]) -> None:
    """Print it."""
    out, rows = console(), entries(functions, targets)
    out.print(table(rows))
    best = "; ".join(summary(rows))
    lines = [
        "Instructions, and products among them, from the first one to the return, without the mark for indirect "
        "branches; beside ours how they differ from the fewest of others. Cycles of each of many independent calls, "
        "modelled by llvm-mca; others on amd64 are measured, with which a model does not compare.",
        f"arm64, where the best of ours is no worse than the best of others: {best}." if best else "",
        mca.found()[1],
    ]
    for line in filter(None, lines):
        out.print(line, style="dim")
