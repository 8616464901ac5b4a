"""Loops by induction: what a loop changes, what holds at its head, and how often it still runs.

The loop runs as often as a count says, which may be any number of 64 bits, so nothing is unrolled. At its head every
location that the loop changes is forgotten, but for what an invariant says of it; the invariant is guessed from the
first arrival and widened until one pass of the loop keeps it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from asmgen.bounds import Interval, Poly
from asmgen.contracts import Element
from asmgen.polynomial import below
from asmgen.prove.domain import Undefined
from asmgen.prove.entry import Entry, element
from asmgen.prove.flow import uses
from asmgen.prove.run import Path, Runner, Stuck

ROUNDS = 12

Location = tuple[str, str] | tuple[str, str, int, int]
"""("register", name), or ("memory", region, offset, size)."""

Values = Mapping[Location, Any]


@dataclass(frozen=True)
class State:
    """The limbs of a loop's state: where each is, shifted left by so many bits, and what holds of all of them."""

    places: tuple[tuple[Location, int], ...]
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
    """The loop from its head: what the state's limbs are there, and the paths to the head again or to the return."""

    limbs: tuple[Poly, ...]
    remaining: Poly
    back: tuple[Path, ...]
    out: tuple[Path, ...]


def snapshot(entry: Entry) -> dict[Location, Any]:
    """The values of all registers and of everything in memory."""
    found: dict[Location, Any] = {("register", name): value for name, value in entry.state.registers.items()}
    for name, region in entry.state.memory.items():
        found.update({("memory", name, offset, size): value for offset, (size, value) in region.cells.items()})
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
    flow, entry = runner.flow, arrived.entry
    assert entry.count is not None
    live = flow.live(arrived.offset)
    written = {name for offset in flow.body(arrived.offset) for name in uses(flow.program.at(offset))[1]}
    data: dict[Location, Interval] = {}
    counters: dict[Location, int] = {}
    dead: set[Location] = set()
    for name in sorted(written & set(entry.state.registers)):
        location, value = ("register", name), entry.state.registers[name]
        if name not in live or isinstance(value, Undefined):
            dead.add(location)
        elif set(value.atoms) <= entry.public:
            counters[location] = -1
        elif not set(value.atoms) & entry.places.atoms:
            data[location] = entry.space.interval(value)
    return Invariant(data, counters, frozenset(dead), entry.space.interval(entry.count))


def go_round(runner: Runner, arrived: Path, invariant: Invariant) -> Pass:
    """The loop from its head, under the invariant."""
    path = arrived.fork()
    limbs, remaining = _assume(path.entry, invariant)
    back, out = [], []
    for each in runner.follow(path, unroll=False):
        if each.end == "return":
            out.append(each)
        elif each.offset == arrived.offset:
            back.append(each)
        else:
            raise Stuck("has a loop inside a loop, or after one", each.done[-1])
    return Pass(limbs, remaining, tuple(back), tuple(out))


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
        limbs = element(space, "state", invariant.state.contract)
        for limb, (location, shift) in zip(limbs, invariant.state.places, strict=True):
            _put(entry, location, limb << shift)
    held = {location for location, _ in invariant.state.places} if invariant.state else set()
    for location, interval in invariant.data.items():
        if location not in held:
            _put(entry, location, space.atom(f"{name_of(location)} at the head", *interval))
    return tuple(limbs), remaining


def _put(entry: Entry, location: Location, value: Any) -> None:
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
    data, counters, remaining = dict(invariant.data), dict(invariant.counters), invariant.remaining
    for path in made.back:
        space, now = path.entry.space, snapshot(path.entry)
        remaining = remaining.join(space.interval(made.remaining - 1, enough=remaining))
        for location in sorted(first.keys() - invariant.dead):
            value = now.get(location)
            if location in counters:
                step = _step(path.entry, invariant, made, first[location], location, value)
                if step is None:
                    del counters[location]
                    data[location] = _interval(arrived.entry, first[location], location, path)
                else:
                    counters[location] = step
            elif location in data:
                data[location] = _widened(data[location], _interval(path.entry, value, location, path))
            elif value is None or value != first[location]:
                _became(arrived, location, first[location], data, counters, path)
    if remaining.low < 0:
        raise Stuck("the loop may run more often than the count says", made.back[0].done[-1] if made.back else None)
    return replace(invariant, data=data, counters=counters, remaining=remaining)


def _step(
    entry: Entry, invariant: Invariant, made: Pass, first: Poly, location: Location, value: Any
) -> int | None:
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
    if location[0] == "register" or not isinstance(first, Poly) or set(first.atoms) & entry.places.atoms:
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


def _state(arrived: Path, invariant: Invariant, made: Pass) -> State | None:
    """The locations that hold the limbs of the result: what the way out returns of what the way back keeps."""
    entry = arrived.entry
    contract = entry.signature.outputs[0].contract if len(entry.signature.outputs) == 1 else None
    if not isinstance(contract, Element) or not made.out:
        return None
    for values in _candidates(made):
        for out in made.out:
            found = [_place_of(limb, values, invariant) for limb in outputs(out.entry)[0]]
            places = tuple(place for place in found if place is not None)
            if len(places) == len(found):
                most = tuple(invariant.data[location].high >> shift for location, shift in places)
                return State(places, replace(contract, limb_max=most, value_max=contract.value(most), multiple_of=1))
    return None


def _candidates(made: Pass) -> Iterator[Values]:
    for back in made.back:
        yield snapshot(back.entry)


def _place_of(limb: Any, values: Values, invariant: Invariant) -> tuple[Location, int] | None:
    for location in invariant.data:
        value = values.get(location)
        if isinstance(value, Poly) and isinstance(limb, Poly):
            for shift in range(64):
                if value == limb << shift:
                    return location, shift
    return None


def outputs(entry: Entry) -> list[list[Any]]:
    """The words of each output as they are in memory."""
    found = []
    for parameter in entry.signature.outputs:
        region = entry.state.memory[entry.buffers[parameter.name]]
        words = [region.load(entry.domain, at, size) for at, size in entry.words[parameter.name]]
        found.append([entry.domain.value(word) for word in words])
    return found
