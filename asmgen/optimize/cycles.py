"""Cycles of arm64 kernels on all cores that are modelled: `python -m asmgen.optimize.cycles [KERNEL…]`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from rich.table import Table

from asmgen.errors import AsmgenError
from asmgen.kernel import Kernel
from asmgen.optimize.model import modelled, prepare_calls, taking_time, whole_call
from asmgen.passes import Options, compile_kernel
from asmgen.routine import Code
from asmgen.scripts import find, selector
from asmgen.table import console
from asmgen.targets.cores import core

#: Calls that do not depend on each other.
_MANY = 100
#: Repetitions of loops between which one more takes as long as any.
_FEW, _MORE = 10, 60


def told(code: Code, name: str, counted: bool) -> str:
    """Of each of many independent calls @ of one alone; of a loop each repetition of a long one."""
    chosen = core(name, code.target)
    if counted:
        ends = [prepare_calls(code, chosen, repetitions).cycles(1) for repetitions in (_FEW, _MORE)]
        return f"{(ends[1] - ends[0]) / (_MORE - _FEW):.1f}"
    calls = prepare_calls(code, chosen)
    return f"{calls.cycles(_MANY):.1f} @ {calls.cycles(1):.0f}"


def rows(selectors: Sequence[str]) -> Iterator[tuple[str, int, int, list[str]]]:
    """Each kernel's name, instructions and products executed in a call (of a loop once), and figures by core, of the
    routine that is made for it."""
    for function in find(selectors):
        if not isinstance(function, Kernel):
            continue
        code = compile_kernel(function, Options("arm64"))
        counted = any(parameter.contract.kind == "count" for parameter in function.signature.inputs)
        lines = list(taking_time(whole_call(code, 1)))
        products = sum(line.row.cost in ("mul", "mulh", "madd", "mull", "maddl") for line in lines)
        yield (
            selector(function),
            len(lines),
            products,
            [told(compile_kernel(function, Options("arm64", core=name)), name, counted) for name in modelled()],
        )


def main(selectors: Sequence[str]) -> int:
    """Print the table for these kernels, or all that are shipped."""
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for head in ("kernel", "instructions", "products", *modelled()):
        grid.add_column(head, justify="left" if head == "kernel" else "right", no_wrap=True)
    try:
        for name, instructions, products, figures in rows(selectors):
            grid.add_row(name, str(instructions), str(products), *figures)
    except AsmgenError as error:
        print(error, file=sys.stderr)
        return 1
    out = console()
    out.print(grid)
    out.print(
        f"Cycles of each of {_MANY} independent calls @ of one alone; of loops, each pass of a long one.", style="dim"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
