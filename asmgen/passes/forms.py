"""Other forms of a word program's operations, which a search may take: one value, other instructions.

Each takes a program and returns one of the same meaning. Without a plan none is taken: they take more instructions, and
are faster on some cores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count

from asmgen.words import MASK, LoopOp, Op, Program, Word


def shifts(program: Program) -> Program:
    """Double shifts as two shifts and an OR: SHLD and SHRD are six micro-operations on AMD's cores, EXTR of two
    registers waits two or three cycles on Arm's.
    """
    numbers = count(1 + max((word.id for op in _every(program.ops) for word in _made(op)), default=0))

    def apart(op: Op) -> Iterator[Op]:
        if op.kind != "funnel":
            yield op
            return
        high, low = op.ins
        upper, lower = Word(next(numbers)), Word(next(numbers), MASK >> op.k)
        yield Op("shl", (high,), (upper,), 64 - op.k, source=op.source)
        yield Op("shr", (low,), (lower,), op.k, source=op.source)
        yield Op("or", (upper, lower), op.outs, source=op.source)

    def all_apart(ops: Iterable[Op]) -> tuple[Op, ...]:
        return tuple(made for op in ops for made in apart(op))

    ops = tuple(
        made
        for op in program.ops
        for made in (
            (replace(op, body=all_apart(op.body), empty=all_apart(op.empty)),) if isinstance(op, LoopOp) else apart(op)
        )
    )
    return replace(program, ops=ops)


def _every(ops: Iterable[Op | LoopOp]) -> Iterator[Op | LoopOp]:
    for op in ops:
        yield op
        if isinstance(op, LoopOp):
            yield from (*op.body, *op.empty)


def _made(op: Op | LoopOp) -> Iterator[Word]:
    """The words that an operation defines."""
    found = (*op.state, *op.results) if isinstance(op, LoopOp) else op.outs
    yield from (each for each in found if isinstance(each, Word))


#: By the names that plans have.
FORMS: Mapping[str, Callable[[Program], Program]] = {"shifts": shifts}
