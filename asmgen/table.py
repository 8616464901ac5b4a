"""The table that `asmgen list` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from asmgen.emit.census import census
from asmgen.emit.prose import mathematics
from asmgen.function import Function
from asmgen.passes import FEATURES, Options, compile_kernel
from asmgen.work import each

#: Columns of text where no terminal says how many there are: nothing is cut or folded.
WIDE = 200


def console() -> Console:
    """Where tables go: as wide as the terminal, or wide enough for a file or pipe."""
    made = Console(highlight=False)
    return made if made.is_terminal else Console(highlight=False, width=WIDE)


def table(kernels: Sequence[Function]) -> Table:
    """A line for each kernel: its name, what it computes and, for every target and feature set, instructions and how
    many of them are multiplications."""
    variants = [(target, features) for target, known in FEATURES.items() for features in known]
    jobs = [(kernel, Options(target, features)) for kernel in kernels for target, features in variants]
    made = each(_census, jobs)
    grid = Table(box=None, pad_edge=False, header_style="bold")
    grid.add_column("kernel", overflow="fold", no_wrap=True)
    grid.add_column("computes", overflow="fold")
    for target, features in variants:
        grid.add_column(target if features == "default" else f"{target} {features}", justify="right", no_wrap=True)
    for kernel in kernels:
        counts = []
        for _ in variants:
            found = next(made)
            counts.append(f"{sum(found.values())} ({found.get('products', 0)})")
        signature = kernel.signature
        computes = " ".join(mathematics(signature).split()).replace("[", r"\[")
        grid.add_row(f"{signature.script}.{signature.kernel}", computes, *counts)
    return grid


def show(kernels: Sequence[Function]) -> None:
    """Print it."""
    out = console()
    out.print(table(kernels))
    out.print("Instructions of each routine, in parentheses the multiplications among them.", style="dim")


def _census(job: tuple[Function, Options]) -> Mapping[str, int]:
    return census(compile_kernel(*job).items)
