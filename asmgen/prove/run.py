"""Following a routine along all of its paths, in one case."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from asmgen.bounds import Impossible, Interval, Poly
from asmgen.contracts import Contract
from asmgen.errors import AsmgenError
from asmgen.polynomial import below, point
from asmgen.prove import leaves
from asmgen.prove.calls import LINK, Called, enact, enter_local, leave
from asmgen.prove.cells import Form
from asmgen.prove.decode import Decoded, Program
from asmgen.prove.entry import Entry
from asmgen.prove.flow import Flow
from asmgen.prove.space import Rejected, Undefined

#: Instructions that one path may have.
LIMIT = 200_000

#: A path is copied after so many instructions, for cases to go on from.
STRIDE = 24


class Stuck(Exception):
    """The proof cannot go on: why, and at which instruction.

    `final` says that no other way to go about it will do: what the code does depends on data, or is wrong.
    """

    def __init__(self, reason: str, decoded: Decoded | None = None, *, final: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.decoded = decoded
        self.final = final


class OutOfTime(Exception):
    """The budget is spent."""


@dataclass
class Path:
    """A call as far as it was followed: its entry with the state as it is, and the offset that is next.

    `end` is "return", or "head" at the head of a loop; `done` are the instructions, in order. `saved` are copies made
    on the way, from which other cases go on; `calls` are those of routines that have proofs of their own,
    `equations` how many equations there were before each instruction that was done.
    """

    entry: Entry
    offset: int
    end: str = ""
    done: list[Decoded] = field(default_factory=list)
    saved: list[Path] = field(default_factory=list)
    calls: list[Called] = field(default_factory=list)
    equations: list[int] = field(default_factory=list)

    def fork(self, decided: Mapping[int, int] | None = None) -> Path:
        """The same path, to go on another way; in the case that some bits to come have the decided values."""
        return Path(
            self.entry.fork(decided),
            self.offset,
            self.end,
            list(self.done),
            list(self.saved),
            list(self.calls),
            list(self.equations),
        )

    @property
    def route(self) -> list[int]:
        """The offsets of its instructions."""
        return [decoded.offset for decoded in self.done]

    def before(self, bit: int) -> Path | None:
        """The latest copy in which a bit does not exist yet."""
        return next((each for each in reversed(self.saved) if len(each.entry.space._atoms) <= bit), None)


@dataclass(frozen=True)
class Runner:
    """Follows a program until `deadline`. Branches on data are rejected unless `secret_branches`.

    Whether a carry can be is looked into where nothing reads it, as it is lost then; with `patient`, everywhere. The
    solver is asked about those that are lost in so many tries as `asks` says, and about goals in so many `tries`.
    """

    flow: Flow
    deadline: float
    patient: bool = False
    asks: int = 0
    tries: int = len(leaves.TRIES)
    secret_branches: bool = False

    @cached_property
    def _chooses(self) -> bool:
        """Whether there are instructions that may make a choice: only then cases are to be expected."""
        return any(
            decoded.row.reads or decoded.row.name.startswith(("and_rr", "and_rm", "or", "xor", "eor", "bic", "and"))
            for decoded in self.program.instructions.values()
            if decoded.row.cost not in ("adc", "carry", "carry_flags", "branch")
        )

    @property
    def program(self) -> Program:
        return self.flow.program

    def follow(self, start: Path, *, unroll: bool) -> Iterator[Path]:
        """The paths from where `start` is to their ends: returns, and heads of loops unless these are unrolled."""
        start.end = ""
        start.saved = [start.fork()]
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
        if time.process_time() > self.deadline:
            raise OutOfTime
        if self._chooses and len(path.done) % STRIDE == 0 and len(path.done) > len(path.saved[0].done):
            self._settle_flags(path, self.flow.live[decoded.offset])
            path.saved.append(path.fork())
        path.done.append(decoded)
        path.equations.append(len(path.entry.domain.ledger.equations))
        if len(path.done) > LIMIT:
            raise Rejected(f"is still running after {LIMIT} instructions")
        control = decoded.row.control
        if control in ("ret", "call"):
            self._call_or_return(path, decoded)
            return None
        lost = not decoded.row.writes & self.flow.after(decoded.offset)
        path.entry.space.patient = self.patient or lost
        path.entry.domain.asks = self.asks if lost else 0
        if decoded.row.name in ("paciasp", "autiasp"):
            _sign(path.entry, decoded)
            path.offset = decoded.end
            return None
        taken = path.entry.state.step(decoded)
        path.offset = decoded.end
        if control == "branch":
            return self._branch(path, decoded, taken)
        if control == "jump":
            assert decoded.target is not None
            path.offset = decoded.target
        return None

    def _call_or_return(self, path: Path, decoded: Decoded) -> None:
        state, entry = path.entry.state, path.entry
        callee = self.flow.calls.get(decoded.offset)
        if decoded.row.control == "ret":
            back = leave(state)
            path.end = "return" if back is None else ""
            path.offset = path.offset if back is None else back
        elif callee is not None:

            def fresh(name: str, contract: Contract) -> Form:
                most = 1 if contract.kind == "bit" else 2**64 - 1
                return entry.domain.entered(entry.space.atom(name, 0, most))

            path.calls.append(enact(state, entry.convention, callee, decoded, fresh))
            path.offset = decoded.end
        else:
            assert decoded.target is not None
            enter_local(state, decoded)
            path.offset = decoded.target

    def _branch(self, path: Path, decoded: Decoded, bit: Any) -> Path | None:
        assert decoded.target is not None
        if not isinstance(bit, int):
            bit = path.entry.domain.norm(bit)
            known = path.entry.space.interval(bit, view=_decided)
            bit = known.low if known.width == 0 else bit
        if isinstance(bit, int):
            path.offset = decoded.target if bit else path.offset
            return None
        if not self.secret_branches and not path.entry.is_public(bit):
            raise Stuck("a branch depends on data", decoded, final=True)
        self._settle_flags(path, self.flow.after(decoded.offset))
        other = path.fork()
        other.offset = decoded.target
        if not _possible(other, bit, 1):
            if not _possible(path, bit, 0):
                raise Impossible
            return None
        if not _possible(path, bit, 0):
            path.entry, path.offset = other.entry, other.offset
            return None
        return other

    def _settle_flags(self, path: Path, needed: frozenset[str]) -> None:
        """Compute the flags that are still needed: what computes them belongs to the state before the fork."""
        state = path.entry.state
        for name in list(state.flags):
            if name in needed:
                state.flag(name)
            else:
                del state.flags[name]


def _sign(entry: Entry, decoded: Decoded) -> None:
    """Sign the link register with the stack pointer, or take such a signature off: any other value is rejected."""
    state, link = entry.state, LINK["arm64"]
    value, depth = state.domain.value(state.register(link)), state.depth()
    if isinstance(value, Undefined):
        raise Rejected(f"takes {value.what} for an address to sign or to check, which has no defined value here")
    if decoded.row.name == "paciasp":
        made = entry.domain.anything(f"{link} signed at {decoded.offset:#x}")
        entry.signed[made] = value, depth
        state.registers[link] = made
        return
    plain, signed_at = entry.signed.get(value, (None, None))
    if plain is None or signed_at != depth:
        raise Rejected("takes a signature off that was not put on with this stack pointer")
    state.registers[link] = plain


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
