"""Where control can go in a routine: the heads of its loops, their bodies, and the registers that are still needed."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from asmgen.prove.decode import Decoded, Program
from asmgen.prove.routine import Described
from asmgen.prove.state import ZERO
from asmgen.targets.row import Memory, Register, Role


def successors(decoded: Decoded, calls: Container[int] = ()) -> Iterator[int]:
    """The offsets that may be next; a call comes back, and those that are not in `calls` go into the same code."""
    control = decoded.row.control
    if control in ("jump", "branch") or control == "call" and decoded.offset not in calls:
        assert decoded.target is not None
        yield decoded.target
    if control not in ("jump", "ret"):
        yield decoded.end


@dataclass(frozen=True)
class Flow:
    """The control flow of a program from an entry; `calls` are those of routines that have proofs of their own."""

    program: Program
    entry: int = 0
    calls: Mapping[int, Described] = field(default_factory=dict)

    @cached_property
    def edges(self) -> dict[int, tuple[int, ...]]:
        """The successors of every instruction that can be reached."""
        found: dict[int, tuple[int, ...]] = {}
        pending = [self.entry]
        while pending:
            offset = pending.pop()
            if offset not in found:
                found[offset] = tuple(successors(self.program.at(offset), self.calls))
                pending += found[offset]
        return dict(sorted(found.items()))

    @cached_property
    def heads(self) -> frozenset[int]:
        """Where loops begin: what is reached again from itself, first on the way from the entry."""
        heads: set[int] = set()
        done: set[int] = set()
        path: dict[int, Iterator[int]] = {self.entry: iter(self.edges[self.entry])}
        while path:
            offset, rest = next(reversed(path.items()))
            following = next(rest, None)
            if following is None:
                done.add(offset)
                del path[offset]
            elif following in path:
                heads.add(following)
            elif following not in done:
                path[following] = iter(self.edges[following])
        return frozenset(heads)

    def body(self, head: int) -> list[int]:
        """The instructions of a loop: what is reached from the head and leads back to it."""
        before: dict[int, list[int]] = {}
        for offset, following in self.edges.items():
            for each in following:
                before.setdefault(each, []).append(offset)
        return sorted((_reached(head, self.edges) & _reached(head, before)) | {head})

    @cached_property
    def live(self) -> dict[int, frozenset[str]]:
        """The registers and flags whose value may still be read when control is at a place."""
        live: dict[int, frozenset[str]] = {offset: frozenset() for offset in self.edges}
        used = {offset: uses(self.program.at(offset)) for offset in self.edges}
        changed = True
        while changed:
            changed = False
            for offset in reversed(list(self.edges)):
                read, written = used[offset]
                now = (self.after(offset, live) - written) | read
                if now != live[offset]:
                    live[offset], changed = now, True
        return live

    def after(self, offset: int, live: Mapping[int, frozenset[str]] | None = None) -> frozenset[str]:
        """What may still be read after an instruction."""
        live = self.live if live is None else live
        return frozenset[str]().union(*(live[each] for each in self.edges[offset]))


def _reached(start: int, edges: Mapping[int, Sequence[int]]) -> set[int]:
    found: set[int] = set()
    pending = list(edges.get(start, ()))
    while pending:
        offset = pending.pop()
        if offset not in found:
            found.add(offset)
            pending += edges.get(offset, ())
    return found


def uses(decoded: Decoded) -> tuple[frozenset[str], frozenset[str]]:
    """(registers and flags read, those wholly written) of an instruction."""
    read = set(decoded.row.reads)
    written = set(decoded.row.flags_touched)
    for slot, operand in zip(decoded.row.slots, decoded.instruction.operands, strict=True):
        if isinstance(operand, Memory):
            read.add(operand.base.name)
            read.update([operand.index.name] if operand.index is not None else [])
        elif isinstance(operand, Register) and operand.name not in ZERO:
            partial = slot.kind in ("r8", "r16")
            if slot.role is not Role.OUT or partial:
                read.add(operand.name)
            if slot.role is not Role.IN and not partial:
                written.add(operand.name)
    return frozenset(read), frozenset(written)
