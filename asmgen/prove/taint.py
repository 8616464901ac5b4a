"""Constant time: no branch, no address and no instruction of varying time depends on data.

The routine is followed once more with labels in place of numbers: secret or public, and for addresses the place. What
is made of anything secret is secret. Counts and addresses are public, all other arguments, whatever lies in memory and
what the caller left in registers are secret. Where a public branch goes both ways both are followed; at the head of a
loop the labels of all ways to it are joined until nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from asmgen.prove.calls import enact, enter_local, leave
from asmgen.prove.decode import Decoded
from asmgen.prove.entry import Entry
from asmgen.prove.flow import Flow
from asmgen.prove.space import Rejected, Undefined
from asmgen.prove.state import CODE, State

#: Mnemonics whose time depends on their operands on some core; none of them has a row, so none can be followed.
VARYING = frozenset({"div", "idiv", "udiv", "sdiv", "pdep", "pext"})

#: Instructions followed at the most.
LIMIT = 200_000


@dataclass(frozen=True)
class Label:
    """What is known of a number: whether it is secret, and the place in memory that it points to."""

    secret: bool
    place: tuple[str, int] | None = None

    def __add__(self, other: Any) -> Label:
        if isinstance(other, int) and self.place is not None:
            name, offset = self.place
            return replace(self, place=(name, (offset + other + 2**63) % 2**64 - 2**63))  # addresses wrap
        return self._joined(other)

    def __sub__(self, other: Any) -> Label:
        return self + -other if isinstance(other, int) else self._joined(other)

    def _joined(self, other: Any) -> Label:
        if isinstance(other, Undefined):
            other + 0
        return Label(self.secret or (isinstance(other, Label) and other.secret))

    def __rsub__(self, other: Any) -> Label:
        return self._joined(other)

    def __mul__(self, other: Any) -> Label:
        return self if other == 1 else self._joined(other)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Label:
        return Label(self.secret)


class Labels:
    """The domain of labels; known numbers stay numbers."""

    def split(self, value: Any, k: int) -> tuple[Any, Any]:
        if isinstance(value, int):
            return value & ((1 << k) - 1), value >> k
        if isinstance(value, Undefined):
            value + 0
        return (value if k >= 64 else Label(value.secret)), Label(value.secret)

    def bitwise(self, op: str, x: Any, y: Any, width: int) -> Any:
        if isinstance(x, int) and isinstance(y, int):
            return {"and": x & y, "or": x | y, "xor": x ^ y}[op]
        return _mixed(x, y)

    def is_zero(self, value: Any) -> Any:
        return int(value == 0) if isinstance(value, int) else _mixed(value)

    def select(self, bit: Any, x: Any, y: Any) -> Any:
        if isinstance(bit, int):
            return x if bit else y
        return _mixed(bit, _join(x, y))

    def value(self, value: Any) -> Any:
        return value

    def operand(self, value: Any) -> Any:
        return value

    def anything(self, name: str) -> Label:
        return Label(secret=True)


def _mixed(*values: Any) -> Label:
    """Something made of these."""
    for value in values:
        if isinstance(value, Undefined):
            value + 0
    return Label(any(isinstance(value, Label) and value.secret for value in values))


class _Places:
    """Addresses by their labels."""

    def locate(self, value: Any) -> tuple[str, int]:
        if isinstance(value, Undefined):
            raise Rejected(f"takes {value.what}, which has no defined value here, for an address")
        if not isinstance(value, Label) or value.place is None:
            secret = isinstance(value, Label) and value.secret
            raise _Secret("address") if secret else Rejected("uses an address that is not known")
        return value.place

    def code(self, offset: int) -> Label:
        return Label(False, (CODE, offset))


class _Secret(Rejected):
    """Something that must be public depends on data."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} depends on data")
        self.what = what


@dataclass(frozen=True)
class Leak:
    """What depends on data, and at which instruction."""

    what: str
    decoded: Decoded


@dataclass
class _Way:
    """A state on its way: `open` counts the public branches that might have gone otherwise."""

    state: State
    offset: int
    open: int = 0
    met: dict[int, int] | None = None


def leaks(flow: Flow, entry: Entry) -> Iterator[Leak]:
    """All that depends on data where it must not. Raises Rejected where the code cannot be followed."""
    found: dict[int, Leak] = {}
    heads: dict[int, State] = {}
    pending = [_Way(_labeled(entry), flow.entry, met={})]
    for _ in range(LIMIT):
        if not pending:
            yield from (found[offset] for offset in sorted(found))
            return
        way = pending.pop()
        decoded = flow.program.at(way.offset)
        if way.offset in flow.heads and not _goes_on(way, heads):
            continue
        if decoded.row.control in ("ret", "call"):
            pending += _called(way, decoded, flow, entry, found)
            continue
        if decoded.row.mnemonic in VARYING:
            found.setdefault(decoded.offset, Leak("the time of an instruction depends on data", decoded))
        try:
            taken = way.state.step(decoded)
        except _Secret as secret:
            found.setdefault(decoded.offset, Leak(f"an {secret.what} depends on data", decoded))
            continue
        pending += _onward(way, decoded, taken, found)
    raise Rejected(f"is still running after {LIMIT} instructions")


def _called(way: _Way, decoded: Decoded, flow: Flow, entry: Entry, found: dict[int, Leak]) -> Iterator[_Way]:
    """A call or a return; what a routine with a proof of its own makes of its inputs is secret."""
    callee = flow.calls.get(decoded.offset)
    if decoded.row.control == "ret":
        back = leave(way.state)
        if back is not None:
            yield replace(way, offset=back)
    elif callee is not None:
        made = enact(way.state, entry.convention, callee, decoded, lambda name, contract: Label(secret=True))
        for parameter, words in zip(callee.signature.inputs, made.inputs, strict=True):
            if parameter.contract.kind == "count" and isinstance(words[0], Label) and words[0].secret:
                found.setdefault(decoded.offset, Leak("the number of repetitions depends on data", decoded))
        yield replace(way, offset=decoded.end)
    else:
        assert decoded.target is not None
        enter_local(way.state, decoded)
        yield replace(way, offset=decoded.target)


def _onward(way: _Way, decoded: Decoded, taken: Any, found: dict[int, Leak]) -> Iterator[_Way]:
    target = decoded.target if decoded.target is not None else decoded.end
    if decoded.row.control != "branch":
        yield replace(way, offset=target if decoded.row.control == "jump" else decoded.end)
        return
    if isinstance(taken, int):
        yield replace(way, offset=target if taken else decoded.end)
        return
    if taken.secret:
        found.setdefault(decoded.offset, Leak("a branch depends on data", decoded))
    for offset in (target, decoded.end):
        yield _Way(way.state.fork(way.state.domain, way.state.places), offset, way.open + 1, dict(way.met or {}))


def _goes_on(way: _Way, heads: dict[int, State]) -> bool:
    """Whether there is something new at this head; the state becomes that of all ways to it.

    A loop whose branches were all decided by known numbers is followed as often as it runs.
    """
    assert way.met is not None
    before = way.met.get(way.offset)
    way.met[way.offset] = way.open
    if before is None or before == way.open:
        heads.setdefault(way.offset, way.state.fork(way.state.domain, way.state.places))
        return True
    known = heads[way.offset]
    joined = _joined(known, way.state)
    if _same(joined, known):
        return False
    heads[way.offset] = joined
    way.state = joined.fork(joined.domain, joined.places)
    return True


def _same(x: State, y: State) -> bool:
    def cells(state: State) -> dict[str, dict[int, tuple[int, Any]]]:
        return {name: region.cells for name, region in state.memory.items()}

    return _defined(x.registers) == _defined(y.registers) and cells(x) == cells(y)


def _defined(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if not isinstance(value, Undefined)}


def _joined(x: State, y: State) -> State:
    """What holds of both: registers and memory that both define."""
    both = x.fork(x.domain, x.places)
    both.registers = {name: _join(value, y.registers.get(name)) for name, value in x.registers.items()}
    both.flags = {}
    for name, region in both.memory.items():
        others = y.memory[name].cells
        region.cells = {
            at: (size, _join(value, others[at][1]))
            for at, (size, value) in region.cells.items()
            if at in others and others[at][0] == size
        }
    return both


def _join(x: Any, y: Any) -> Any:
    if isinstance(x, Undefined) or isinstance(y, Undefined) or y is None:
        return (
            x if isinstance(x, Undefined) else y if isinstance(y, Undefined) else Undefined("a value of one way only")
        )
    if x == y:
        return x
    secret = any(isinstance(each, Label) and each.secret for each in (x, y))
    places = {each.place if isinstance(each, Label) else None for each in (x, y)}
    return Label(secret, places.pop() if len(places) == 1 else None)


def _labeled(entry: Entry) -> State:
    """The state at entry with labels in place of numbers."""

    def label(form: Any) -> Any:
        norm = entry.domain.norm(form)
        if norm.constant is not None:
            return norm.constant
        if entry.is_public(norm):
            return Label(False, entry.places.locate(form) if set(norm.atoms) <= entry.places.atoms else None)
        return Label(secret=True)

    old = entry.state
    state = State(old.target, Labels(), _Places(), {name: label(form) for name, form in old.registers.items()})
    state.red_zone = old.red_zone
    for name, region in old.memory.items():
        cells = {at: (size, label(form)) for at, (size, form) in region.cells.items()}
        state.memory[name] = replace(region, cells=cells, written=set())
    return state
