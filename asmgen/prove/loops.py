"""Loops by induction: what a loop changes, what holds at its head, and how often it still runs.

The loop runs as often as a count says, which may be any number of 64 bits, so nothing is unrolled. At its head every
location that the loop changes is forgotten, but for what an invariant says of it; the invariant is guessed from the
first arrival and widened until one pass of the loop keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from asmgen.bounds import Interval, Poly
from asmgen.contracts import Element
from asmgen.polynomial import below
from asmgen.prove.cells import Fact, Form
from asmgen.prove.entry import Entry, element
from asmgen.prove.flow import uses
from asmgen.prove.run import Path, Runner, Stuck
from asmgen.prove.space import Undefined
from asmgen.targets.row import Memory, Role

ROUNDS = 12

Location = tuple[str, str] | tuple[str, str, int, int]
"""("register", name), or ("memory", region, offset, size)."""

Values = Mapping[Location, Any]
Places = tuple[tuple[Location, int], ...]


@dataclass(frozen=True)
class State:
    """The limbs of a loop's state: where each is, shifted left by so many bits, and what holds of all of them."""

    places: Places
    contract: Element


@dataclass(frozen=True)
class Invariant:
    """What holds whenever control is at the head of a loop.

    `data` are locations with an interval each; `counters` have followed the repetitions, by so much each time; what
    `dead` names is needed no more. Everything else is as it was when the loop was reached.
    """

    data: Mapping[Location, Interval]
    counters: Mapping[Location, int]
    dead: frozenset[Location]
    remaining: Interval
    state: State | None = None


@dataclass(frozen=True)
class Pass:
    """The loop from its head: what the state's limbs are there, and the paths to the head again or to the return.

    `start` is the path at the head, `assumed` the norms of all locations there.
    """

    start: Path
    limbs: tuple[Poly, ...]
    remaining: Poly
    assumed: Values
    back: tuple[Path, ...] = ()
    out: tuple[Path, ...] = ()


def snapshot(entry: Entry) -> dict[Location, Any]:
    """The norms of all registers and of everything in memory."""

    def norm(value: Any) -> Any:
        return value if isinstance(value, Undefined) else entry.domain.norm(value)

    found: dict[Location, Any] = {("register", name): norm(value) for name, value in entry.state.registers.items()}
    for name, region in entry.state.memory.items():
        found.update({("memory", name, offset, size): norm(value) for offset, (size, value) in region.cells.items()})
    return found


def induction(runner: Runner, arrived: Path) -> tuple[Invariant, Pass]:
    """An invariant that one pass keeps as far as intervals and counters go, and that pass."""
    invariant = _guess(runner, arrived)
    for _ in range(ROUNDS):
        made = go_round(runner, arrived, invariant)
        better = _mended(arrived, invariant, made)
        if better == invariant and invariant.state is None:
            better = replace(invariant, state=_state(arrived, invariant, made))
            if better.state is None:
                return invariant, made
        if better == invariant:
            return invariant, made
        invariant = better
    raise Stuck("no invariant of the loop was found", arrived.done[-1] if arrived.done else None)


def _guess(runner: Runner, arrived: Path) -> Invariant:
    """What the loop writes, as it is at first."""
    flow, entry = runner.flow, arrived.entry
    assert entry.count is not None
    live, values = flow.live[arrived.offset], snapshot(entry)
    data: dict[Location, Interval] = {}
    counters: dict[Location, int] = {}
    dead: set[Location] = set()
    for location in sorted(_written(runner, arrived) & values.keys()):
        value = values[location]
        if isinstance(value, Undefined) or location[0] == "register" and location[1] not in live:
            dead.add(location)
        elif set(value.atoms) <= entry.public:
            counters[location] = -1
        elif not set(value.atoms) & entry.places.atoms:
            data[location] = entry.space.interval(value)
    invariant = Invariant(data, counters, frozenset(dead), entry.space.interval(entry.count))
    return replace(invariant, state=_state_at_first(entry, invariant, values))


def _written(runner: Runner, arrived: Path) -> set[Location]:
    """The registers that the loop writes, and the memory that it writes by registers that it does not write."""
    flow, entry = runner.flow, arrived.entry
    body = [flow.program.at(offset) for offset in flow.body(arrived.offset)]
    registers = {name for decoded in body for name in uses(decoded)[1]}
    found: set[Location] = {("register", name) for name in registers}
    for decoded in body:
        for slot, operand in zip(decoded.row.slots, decoded.instruction.operands, strict=True):
            if not isinstance(operand, Memory) or slot.role is Role.IN or operand.index is not None:
                continue
            if operand.base.name not in registers and operand.base.name in entry.state.registers:
                name, offset = entry.places.locate(entry.state.registers[operand.base.name])
                found.add(("memory", name, offset + operand.offset, int(slot.kind[1:]) // 8))
    return found


def go_round(runner: Runner, arrived: Path, invariant: Invariant) -> Pass:
    """The loop from its head, under the invariant."""
    path = arrived.fork()
    limbs, remaining = _assume(path.entry, invariant)
    made = Pass(path, limbs, remaining, snapshot(path.entry))
    back, out = [], []
    for each in runner.follow(path.fork(), unroll=False):
        if each.end == "return":
            out.append(each)
        elif each.offset == arrived.offset:
            back.append(each)
        else:
            raise Stuck("has a loop inside a loop, or after one", each.done[-1])
    return replace(made, back=tuple(back), out=tuple(out))


def _assume(entry: Entry, invariant: Invariant) -> tuple[tuple[Poly, ...], Poly]:
    """Forget what the loop changes, and know of it what the invariant says: the state's limbs, and what remains."""
    space, first = entry.space, snapshot(entry)
    assert entry.count is not None
    entry.state.flags.clear()
    remaining = space.atom("remaining", *invariant.remaining)
    entry.public.update(remaining.atoms)
    space.learn(entry.count - remaining, below(64))
    for location in sorted(invariant.dead):
        _put(entry, location, Undefined(f"{name_of(location)}, which the loop has used for something else,"))
    for location, step in invariant.counters.items():
        value = first[location] + (entry.count - remaining) * step
        space.learn(value, below(64))
        _put(entry, location, value)
    limbs: list[Poly] = []
    if invariant.state is not None:
        contract = invariant.state.contract
        limbs = element(space, "state", contract)
        words = zip(limbs, contract.field.positions, strict=True)
        value = Poly.sum(entry.domain.entered(limb) << at for limb, at in words)
        entry.domain.ledger.facts.append(Fact(value, Interval(0, contract.value_max)))
        for limb, (location, shift) in zip(limbs, invariant.state.places, strict=True):
            _put(entry, location, limb << shift)
    held = {location for location, _ in invariant.state.places} if invariant.state else set()
    for location, interval in invariant.data.items():
        if location not in held:
            _put(entry, location, space.atom(f"{name_of(location)} at the head", *interval))
    return tuple(limbs), remaining


def held(entry: Entry, location: Location, shift: int) -> Form:
    """What a location holds, shifted right by `shift` bits, which must be zero."""
    if len(location) == 2:
        value = entry.state.registers[location[1]]
    else:
        value = entry.state.memory[location[1]].load(entry.domain, location[2], location[3])
    value = entry.domain.value(value)
    assert isinstance(value, Poly)
    if not shift:
        return value
    limb = entry.space.divide(entry.domain.norm(value), 1 << shift)
    if limb is None:
        raise Stuck(f"the loop leaves bits below bit {shift} of {name_of(location)}")
    return entry.domain.form(limb)


def _put(entry: Entry, location: Location, norm: Any) -> None:
    value = norm if isinstance(norm, Undefined) else entry.domain.entered(norm)
    if len(location) == 2:
        entry.state.registers[location[1]] = value
    else:
        entry.state.memory[location[1]].store(entry.domain, location[2], location[3], value)


def name_of(location: Location) -> str:
    return location[1] if len(location) == 2 else f"{location[1]}{location[2]:+d}"


# Mending.


def _mended(arrived: Path, invariant: Invariant, made: Pass) -> Invariant:
    """The invariant, widened so that each way back keeps it; itself when it does."""
    first = snapshot(arrived.entry)
    data, counters = dict(invariant.data), dict(invariant.counters)
    for path in made.back:
        now = snapshot(path.entry)
        for location in sorted(first.keys() - invariant.dead):
            value = now.get(location)
            if location in counters:
                step = _step(path.entry, invariant, made, first[location], location, value)
                if step is None:
                    del counters[location]
                    data[location] = _interval(arrived.entry, first[location], location, path)
                else:
                    counters[location] = step
            elif location in data and location not in _implied(invariant.state):
                data[location] = _widened(data[location], _interval(path.entry, value, location, path))
            elif location not in data and (value is None or value != first[location]):
                _became(arrived, location, first[location], data, counters, path)
    if (data, counters) != (invariant.data, invariant.counters):
        wider = replace(invariant, data=data, counters=counters)
        if wider.state is None:
            return wider
        return replace(wider, state=_bounded(arrived.entry, wider.state.contract, wider.state.places, wider))
    remaining = invariant.remaining
    for path in made.back:
        remaining = remaining.join(path.entry.space.interval(made.remaining - 1, enough=remaining))
        if remaining.low < 0:
            raise Stuck("the loop may run more often than the count says", path.done[-1])
    return replace(invariant, remaining=remaining)


def _implied(state: State | None) -> set[Location]:
    """The words of the state whose bounds follow from that of its value, which is a goal of its own."""
    if state is None or state.contract.value_max == state.contract.value(state.contract.limb_max):
        return set()
    places = zip(state.places, state.contract.limb_max, state.contract.field.positions, strict=True)
    return {
        location
        for (location, shift), most, at in places
        if not shift and (most == 2**64 - 1 or state.contract.value_max >> at <= most)
    }


def _step(entry: Entry, invariant: Invariant, made: Pass, first: Poly, location: Location, value: Any) -> int | None:
    """By how much a counter has moved in one pass; None when that is not always the same."""
    assert entry.count is not None
    was = first + (entry.count - made.remaining) * invariant.counters[location]
    moved = (value - was).constant if isinstance(value, Poly) else None
    return moved if moved != 0 else None


def _became(
    arrived: Path,
    location: Location,
    first: Any,
    data: dict[Location, Interval],
    counters: dict[Location, int],
    path: Path,
) -> None:
    """Memory that the loop changes."""
    entry = arrived.entry
    if location[0] == "register" or isinstance(first, Undefined) or set(first.atoms) & entry.places.atoms:
        raise Stuck(f"the loop changes {name_of(location)} in a way that is not understood", path.done[-1])
    if set(first.atoms) <= entry.public:
        counters[location] = -1
    else:
        data[location] = _interval(entry, first, location, path)


def _interval(entry: Entry, value: Any, location: Location, path: Path) -> Interval:
    if not isinstance(value, Poly):
        raise Stuck(f"the loop needs {name_of(location)}, which holds nothing when it comes back", path.done[-1])
    return entry.space.interval(value)


def _widened(old: Interval, new: Interval) -> Interval:
    """An interval for both that is not widened for ever: to all words of as many bits, then to all words."""
    if new.within(old):
        return old
    bits = max(old.high, new.high).bit_length()
    return below(64) if old == below(bits) else below(bits)


# The state.


def _state_at_first(entry: Entry, invariant: Invariant, values: Values) -> State | None:
    """The locations that hold the limbs of an input at first, when it is of the result's field: a guess."""
    contract = _result(entry)
    for given in entry.inputs.values():
        if contract is not None and isinstance(given.contract, Element) and given.contract.field == contract.field:
            found = _places(given.words, values, invariant)
            if found is not None:
                return _bounded(entry, contract, found, invariant)
    return None


def _state(arrived: Path, invariant: Invariant, made: Pass) -> State | None:
    """The locations that hold the limbs of the result: what the way out returns of what the way back keeps."""
    entry = arrived.entry
    contract = _result(entry)
    for values in (*(snapshot(back.entry) for back in made.back), made.assumed):
        for out in made.out:
            words = [out.entry.domain.norm(word) for word in out.entry.output(entry.signature.outputs[0])]
            found = _places(words, values, invariant) if contract is not None else None
            if found is not None and contract is not None:
                return _bounded(entry, contract, found, invariant)
    return None


def _result(entry: Entry) -> Element | None:
    """The contract of the result, when there is one and it is an element."""
    contracts = [parameter.contract for parameter in entry.signature.outputs]
    return contracts[0] if len(contracts) == 1 and isinstance(contracts[0], Element) else None


def _places(words: Sequence[Poly], values: Values, invariant: Invariant) -> Places | None:
    """A location of the state for each word, which it holds shifted left."""
    found = []
    for word in words:
        for location, shift in ((location, shift) for shift in range(64) for location in invariant.data):
            if values.get(location) == word << shift:
                found.append((location, shift))
                break
        else:
            return None
    return tuple(found) if len(set(found)) == len(found) else None


def _bounded(entry: Entry, contract: Element, places: tuple[tuple[Location, int], ...], invariant: Invariant) -> State:
    """The state with limbs as the invariant has them, and a value no larger than it is at first or promised."""
    most = tuple(invariant.data[location].high >> shift for location, shift in places)
    values = snapshot(entry)
    divided = [entry.space.divide(values[location], 1 << shift) for location, shift in places]
    limbs = [limb for limb in divided if limb is not None]
    value = contract.value(most)
    if len(limbs) == len(places):
        first = Poly.sum(limb << at for limb, at in zip(limbs, contract.field.positions, strict=True))
        value = min(value, max(contract.value_max, entry.space.interval(first).high))
    return State(places, replace(contract, limb_max=most, value_max=value, multiple_of=1))
