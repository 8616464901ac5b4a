"""What the statements of C read, and how often: what is read once may stand inside the one expression that reads it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from asmgen.emit.wide import Groups, Joined, Part, Product, Shifted, Wide
from asmgen.words import Bit, LoopOp, Op, Program, Term, Word


def all_ops(ops: Iterable[Op | LoopOp]) -> Iterable[Op]:
    """Every operation, those inside loops too."""
    for op in ops:
        if isinstance(op, LoopOp):
            yield from op.body
            yield from op.empty
        else:
            yield op


def readers(program: Program) -> dict[Word | Bit, int]:
    """How often each value is read, in the whole program."""
    count: dict[Word | Bit, int] = {}
    terms: list[Term | Bit] = [] if program.returns is None else [program.returns]
    for op in program.ops:
        if isinstance(op, LoopOp):
            terms += [op.count, *op.initial, *op.next, *op.empty_values]
    for each in all_ops(program.ops):
        terms += each.ins
    for term in terms:
        if not isinstance(term, int):
            count[term] = count.get(term, 0) + 1
    return count


@dataclass
class Demand:
    """How often the final statements read each value; of a wide number, as a term of another sum or in another way."""

    values: dict[Word | Bit, int] = field(default_factory=dict)
    terms: dict[Wide, int] = field(default_factory=dict)
    others: dict[Wide, int] = field(default_factory=dict)

    def value(self, term: Term | Bit | None) -> None:
        if term is not None and not isinstance(term, int):
            self.values[term] = self.values.get(term, 0) + 1

    def part(self, part: Part) -> None:
        if isinstance(part, Wide):
            self.terms[part] = self.terms.get(part, 0) + 1
        elif isinstance(part, Product):
            self.value(part.x)
            self.value(part.y)
        elif isinstance(part, Joined):
            self.value(part.high)
            self.value(part.low)
        elif isinstance(part, Shifted):
            if isinstance(part.value, Wide):
                self.other(part.value)
            else:
                self.value(part.value)
        else:
            self.value(part)

    def other(self, wide: Wide) -> None:
        self.others[wide] = self.others.get(wide, 0) + 1

    def live(self, value: Word | Bit | None) -> bool:
        return value is not None and value in self.values

    def inline(self, wide: Wide) -> bool:
        """Whether a wide number is only a term of one other sum, which may then hold all of it."""
        return self.terms.get(wide) == 1 and wide not in self.others


def demand(ops: Sequence[Op | LoopOp], outside: Sequence[Term | Bit], groups: Groups) -> Demand:
    """What the statements for `ops` read, with these wide numbers, when the values `outside` are wanted of them."""
    found = Demand()
    counted: set[Word] = set()

    def slices(words: Iterable[Word | Bit | None]) -> None:
        for word in words:
            if isinstance(word, Word) and found.live(word) and word in groups.narrow and word not in counted:
                counted.add(word)
                found.other(groups.narrow[word][0])

    for term in outside:
        found.value(term)
    for op in reversed(ops):
        if isinstance(op, LoopOp):
            if any(found.live(word) for word in op.results):
                for term in free(op) * 2:  # twice: what a loop reads gets a name
                    found.value(term)
        elif op in groups.wides:
            wide = groups.wides[op]
            slices(word for word, (of, _) in groups.narrow.items() if of is wide)
            if wide in found.terms or wide in found.others:
                for _, part in wide.terms:
                    found.part(part)
        elif op not in groups.followers and any(found.live(out) for out in op.outs):
            if any(out in groups.narrow for out in op.outs if isinstance(out, Word)):
                slices(op.outs)
            else:
                for term in op.ins:
                    found.value(term)
    return found


def free(loop: LoopOp) -> list[Term | Bit]:
    """What a loop reads of the values outside."""
    inside: set[Word | Bit] = set(loop.state)
    found: list[Term | Bit] = [loop.count, *loop.initial]
    for op in (*loop.body, *loop.empty):
        inside.update(out for out in op.outs if out is not None)
        found += op.ins
    found += [*loop.next, *loop.empty_values]
    return [term for term in found if isinstance(term, int) or term not in inside]
