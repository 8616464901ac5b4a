"""The table that `asmgen list` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from asmgen.emit.census import census
from asmgen.emit.prose import prototype
from asmgen.function import Function
from asmgen.passes import FEATURES, Options, compile_kernel
from asmgen.work import each


def table(kernels: Sequence[Function]) -> None:
    """Each kernel's C function and, for every target and feature set, instructions and how many of them are
    products."""
    variants = [(target, features) for target, known in FEATURES.items() for features in known]
    jobs = [(kernel, Options(target, features)) for kernel in kernels for target, features in variants]
    made = each(_census, jobs)
    grid = Table(box=None, pad_edge=False)
    grid.add_column("function", overflow="fold")
    for target, features in variants:
        grid.add_column(target if features == "default" else f"{target} {features}", justify="right")
    for kernel in kernels:
        counts = []
        for _ in variants:
            found = next(made)
            counts.append(f"{sum(found.values())} ({found.get('products', 0)})")
        grid.add_row(prototype(kernel.signature), *counts)
    console = Console()
    console.print(grid)
    console.print("Instructions of each routine, in parentheses the multiplications among them.", style="dim")


def _census(job: tuple[Function, Options]) -> Mapping[str, int]:
    return census(compile_kernel(*job).items)
