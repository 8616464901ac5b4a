"""Which operations become part of the one that reads them, on a machine whose sums take in shifts and products."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from asmgen.words import Bit, LoopOp, Op, Program, Term, Word

Region = tuple[Sequence[Op], set[Term]]  #: operations in order, and the words that are read outside of them


def regions(program: Program) -> Iterator[Region]:
    """The straight lines of a program: what is outside of loops, each loop's body, each loop's empty case."""
    loops = [op for op in program.ops if isinstance(op, LoopOp)]
    outside: set[Term] = set() if program.returns is None else {program.returns}
    for loop in loops:
        outside.update((loop.count, *loop.initial, *loop.next, *loop.empty_values))
        outside.update(term for op in (*loop.body, *loop.empty) for term in op.ins if not isinstance(term, Bit))
        yield loop.body, set(loop.next)
        yield loop.empty, set(loop.empty_values)
    yield [op for op in program.ops if isinstance(op, Op)], outside


def taken_in(
    program: Program, takes: Callable[[Op, Op, Word], bool], late: Callable[[Op], bool] = lambda op: False
) -> dict[Word, Op]:
    """By their results, the operations whose only reader can take them in, `takes(reader, op, result)`; one a
    reader, of several the first that is not `late`, and none that takes in another itself."""
    found: dict[Word, Op] = {}
    for ops, outside in regions(program):
        readers: dict[Term | Bit, list[Op]] = {}
        for op in ops:
            for term in op.ins:
                readers.setdefault(term, []).append(op)
        full: set[Op] = set()
        for op in sorted(ops, key=late):
            word = op.outs[0] if op.outs else None
            if not isinstance(word, Word) or word in outside or len(readers.get(word, [])) != 1:
                continue
            reader = readers[word][0]
            if reader not in full and op not in full and takes(reader, op, word):
                full.add(reader)
                found[word] = op
    return found


def first_readers(program: Program) -> dict[Bit, Op]:
    """For each bit the operation that reads it first."""
    found: dict[Bit, Op] = {}
    for ops, _ in regions(program):
        for op in ops:
            for term in op.ins:
                if isinstance(term, Bit):
                    found.setdefault(term, op)
    return found
