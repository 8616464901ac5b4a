"""What `asmgen chain` prints without an exponent: chains of shipped programs beside the shortest published ones."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from asmgen.chain_text import parsed
from asmgen.chains import Chain, best
from asmgen.table import console
from asmgen.work import each

FILE = Path(__file__).with_name("published.csv")


@dataclass(frozen=True)
class Published:
    """A chain of `length` products and squares in all for an exponent, and who published it."""

    name: str
    exponent: int
    length: int
    by: str


def published() -> Iterator[Published]:
    """Those of the file, in its order."""
    for row in csv.DictReader(line for line in FILE.read_text().splitlines() if not line.startswith("#")):
        exponent = parsed(row["exponent"])
        assert exponent is not None
        yield Published(row["name"], exponent, int(row["length"]), row["by"])


def table(known: list[Published], found: list[Chain]) -> Table:
    """A line an exponent."""
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for head in ("exponent", "squarings", "multiplications", "in all", "published", "by"):
        grid.add_column(head, justify="left" if head in ("exponent", "by") else "right", no_wrap=True)
    for one, chain in zip(known, found, strict=True):
        ours = chain.squarings, chain.multiplications
        grid.add_row(one.name, *map(str, (*ours, sum(ours), one.length)), one.by)
    return grid


def show() -> None:
    """Print it."""
    known = list(published())
    console().print(table(known, list(each(best, [one.exponent for one in known]))))
