"""Rows of products in the order in which a machine had better make them: each product just before it is added.

A row comes as all its products, then the chain that adds their low halves, then the one that adds their high halves,
which keeps every half in a register until its turn. Where products leave the carry flag alone, low halves can be added
as they come; where there is a second carry flag, high halves too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from asmgen.passes.fuse import regions
from asmgen.words import Bit, LoopOp, Op, Program, Term

Runs = tuple[tuple[Op, ...], ...]  #: the carry chains of a row: that of the low halves, that of the high halves


def runs_of(ops: Sequence[Op | LoopOp]) -> dict[int, Runs]:
    """The carry chains of each row, by the row's number."""
    found: dict[int, list[list[Op]]] = {}
    for op in ops:
        if not isinstance(op, Op) or op.chain is None:
            continue
        runs = found.setdefault(op.chain, [])
        if runs and any(isinstance(term, Bit) and term in runs[-1][-1].outs for term in op.ins):
            runs[-1].append(op)
        else:
            runs.append([op])
    return {number: tuple(map(tuple, runs)) for number, runs in found.items()}


@dataclass
class Rows:
    """Rows whose two chains have a carry flag each."""

    numbers: set[int] = field(default_factory=set)
    second: dict[Op, bool] = field(default_factory=dict)  #: of each sum, whether it carries in the second flag
    begins: dict[Op, tuple[Bit, Term] | None] = field(default_factory=dict)
    """The first sum of each row, with the carry that it takes in, if any, and the word that this says is not 0."""

    @property
    def tests(self) -> dict[Bit, Term]:
        """The carries that first sums take in, and the words that they say are not 0."""
        return dict(filter(None, self.begins.values()))


def two_flag_rows(program: Program, saved: Collection[Bit]) -> Rows:
    """The rows of sums whose chains can have a flag each: both begin with a known carry, and none of `saved` is among
    their carries."""
    rows = Rows()
    for ops, _ in regions(program):
        tests = {op.outs[0]: op.ins[0] for op in ops if op.kind == "nonzero"}
        for number, runs in runs_of(ops).items():
            sums = [op for run in runs for op in run]
            carries = {term for op in sums for term in op.ins if isinstance(term, Bit)}
            if len(runs) != 2 or any(op.kind != "add" for op in sums) or not carries.isdisjoint(saved):
                continue
            taken = [term for run in runs for term in run[0].ins if isinstance(term, Bit)]
            word = tests.get(taken[0]) if taken else None
            if not taken or (
                len(taken) == 1 and taken[0] in runs[0][0].ins and word is not None and not isinstance(word, Bit)
            ):
                rows.numbers.add(number)
                rows.begins[runs[0][0]] = None if word is None or isinstance(word, Bit) else (taken[0], word)
                rows.second.update((op, op in runs[1]) for op in sums)
    return rows


def weave(ops: Sequence[Op | LoopOp], two_flags: Collection[int]) -> list[Op | LoopOp]:
    """The operations with each row woven, the high halves in only where `two_flags` has the row's number.

    A row in which something else stands is left as it is.
    """
    result = list(ops)
    for number, runs in runs_of(ops).items():
        first = result.index(runs[0][0])
        end = first + sum(map(len, runs))
        start = first
        while start and isinstance(result[start - 1], Op) and result[start - 1].kind == "mul":  # type: ignore[union-attr]
            start -= 1
        if all(isinstance(op, Op) and op.chain == number for op in result[first:end]):
            products = [op for op in result[start:first] if isinstance(op, Op)]
            result[start:end] = _woven(products, runs, number in two_flags)
    return result


def _woven(products: Sequence[Op], runs: Runs, two_flags: bool) -> list[Op]:
    """A row's operations: products wait for the first sum that reads them, high halves follow the low ones."""
    made: list[Op] = []
    waiting = list(products)
    later = [op for run in runs[1:] for op in run]
    missing = {out for op in (*products, *runs[0], *later) for out in op.outs}

    def make(op: Op) -> None:
        made.append(op)
        missing.difference_update(op.outs)

    def blocked(op: Op) -> bool:
        return any(not isinstance(term, int) and term in missing for term in op.ins)

    for op in runs[0]:
        while waiting and blocked(op):
            make(waiting.pop(0))
        make(op)
        while two_flags and later and not blocked(later[0]):
            make(later.pop(0))
    return [*made, *waiting, *later]
