"""Following a routine along all of its paths, in one case."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from asmgen.bounds import Impossible, Interval, Poly
from asmgen.errors import AsmgenError
from asmgen.polynomial import below, point
from asmgen.prove.decode import Decoded, Program
from asmgen.prove.domain import Rejected, Undefined
from asmgen.prove.entry import Entry
from asmgen.prove.flow import Flow

#: Instructions that one path may have.
LIMIT = 200_000


class Stuck(Exception):
    """The proof cannot go on: why, and at which instruction.

    `leak` says that what the code does depends on data, be it right or wrong.
    """

    def __init__(self, reason: str, decoded: Decoded | None = None, *, leak: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.decoded = decoded
        self.leak = leak


class OutOfTime(Exception):
    """The budget is spent."""


@dataclass
class Path:
    """A call as far as it was followed: its entry with the state as it is, and the offset that is next.

    `end` is "return", or "head" at the head of a loop; `done` are the instructions, in order.
    """

    entry: Entry
    offset: int
    end: str = ""
    done: list[Decoded] = field(default_factory=list)

    def fork(self) -> Path:
        """The same path, to go on another way."""
        return Path(self.entry.fork(), self.offset, self.end, list(self.done))


@dataclass(frozen=True)
class Runner:
    """Follows a program until `deadline`. Branches on data are rejected unless `secret_branches`."""

    flow: Flow
    deadline: float
    secret_branches: bool = False

    @property
    def program(self) -> Program:
        return self.flow.program

    def follow(self, start: Path, *, unroll: bool) -> Iterator[Path]:
        """The paths from where `start` is to their ends: returns, and heads of loops unless these are unrolled."""
        start.end = ""
        pending = [start]
        first = True
        while pending:
            path = pending.pop()
            decoded: Decoded | None = None
            try:
                while not path.end:
                    if not unroll and not first and path.offset in self.flow.heads:
                        path.end = "head"
                        break
                    first = False
                    decoded = self.program.at(path.offset)
                    other = self._do(path, decoded)
                    if other is not None:
                        pending.append(other)
            except Rejected as rejected:
                raise Stuck(str(rejected), decoded) from None
            except Impossible:
                continue
            except AsmgenError as error:
                raise Stuck(error.what, decoded) from None
            yield path

    def _do(self, path: Path, decoded: Decoded) -> Path | None:
        """Do one instruction; the other way to go on when it is a branch that may go both ways."""
        if time.perf_counter() > self.deadline:
            raise OutOfTime
        path.done.append(decoded)
        if len(path.done) > LIMIT:
            raise Rejected(f"is still running after {LIMIT} instructions")
        control = decoded.row.control
        if control == "ret":
            path.end = "return"
            return None
        if control == "call":
            raise Rejected("calls another routine")
        taken = path.entry.state.step(decoded)
        path.offset = decoded.end
        if control == "branch":
            return self._branch(path, decoded, taken)
        if control == "jump":
            assert decoded.target is not None
            path.offset = decoded.target
        return None

    def _branch(self, path: Path, decoded: Decoded, bit: Any) -> Path | None:
        assert decoded.target is not None
        if isinstance(bit, Undefined):
            bit + 0
        if isinstance(bit, Poly):
            known = path.entry.space.interval(bit, view=_decided)
            bit = known.low if known.width == 0 else bit
        if isinstance(bit, int):
            path.offset = decoded.target if bit else path.offset
            return None
        if not self.secret_branches and not path.entry.is_public(bit):
            raise Stuck("a branch depends on data", decoded, leak=True)
        self._settle_flags(path, decoded)
        other = path.fork()
        other.offset = decoded.target
        if not _possible(other, bit, 1):
            return None if _possible(path, bit, 0) else self._impossible()
        if not _possible(path, bit, 0):
            path.entry, path.offset = other.entry, other.offset
            return None
        return other

    def _impossible(self) -> None:
        raise Impossible

    def _settle_flags(self, path: Path, decoded: Decoded) -> None:
        """Compute the flags that are still needed: what computes them belongs to the state before the fork."""
        state = path.entry.state
        needed = frozenset[str]().union(*(self.flow.live(each) for each in self.flow.edges[decoded.offset]))
        for name in list(state.flags):
            if name in needed:
                state.flag(name)
            else:
                del state.flags[name]


def _decided(interval: Interval) -> Interval:
    return interval if interval.width == 0 else below(1)


def _possible(path: Path, bit: Poly, value: int) -> bool:
    """Go on in the case that a bit has a value; False when it cannot."""
    space = path.entry.space
    try:
        space.learn(bit, point(value))
        for atom in bit.atoms:
            numerator, shift = space._atoms[atom].numerator, space._atoms[atom].shift
            known = space.interval(Poly.atom(atom))
            if numerator is not None and known.width == 0:
                space.learn(numerator, below(shift).plus(point(known.low << shift)))
    except Impossible:
        return False
    except AsmgenError:  # Space.learn puts it into words
        return False
    return True
