"""Where the values of a program lie: the caller's buffers, slots on the stack used again as soon as they are free.

A result may take the place of an operand that is read for the last time, for every routine allows its output to be
one of its inputs. A result of the program itself goes straight to its output buffer when no later step reads an input,
which that buffer may be; until then it waits in a slot and is copied at the end. From the last read of an input on, an
output buffer also serves as a slot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from asmgen.steps import Call, Steps, Value


@dataclass(frozen=True)
class Buffer:
    """A buffer of the caller's, by the argument's name."""

    name: str


@dataclass(frozen=True)
class Slot:
    """Slot `number` on the stack."""

    number: int


Place = Buffer | Slot


@dataclass(frozen=True)
class Copy:
    """A value from one place to another."""

    value: Value
    source: Place
    target: Place


@dataclass(frozen=True)
class Storage:
    """`places` has every value in memory; `slots` their sizes in words; `constants[i]` are written to their places
    before call i, those of the last index at the end; then `copies` are made in their order."""

    places: Mapping[Value, Place]
    slots: tuple[int, ...]
    constants: Mapping[int, tuple[Value, ...]]
    copies: tuple[Copy, ...]


def storage(steps: Steps) -> Storage:
    """Places for all values of a program, by one pass over its calls."""
    return _Storage(steps).run()


def last_uses(steps: Steps) -> dict[Value, int]:
    """The last call that reads each value; the number of calls for what is read at the end."""
    found: dict[Value, int] = {}
    for index, call in enumerate(steps.calls):
        found.update(dict.fromkeys(call.args, index))
    end = [*steps.outputs, *([] if steps.returns is None else [steps.returns])]
    found.update(dict.fromkeys(end, len(steps.calls)))
    return found


class _Storage:
    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.last = last_uses(steps)
        self.made = {value: index for index, call in enumerate(steps.calls) for value in call.results}
        self.places: dict[Value, Place] = {each: Buffer(each.name) for each in steps.inputs if each.in_memory}
        self.holder: dict[Place, Value] = {}  #: who was last in a place
        self.sizes: list[int] = []
        self.constants: dict[int, list[Value]] = {}
        self.inputs_read = max((self.last[value] for value in self.places if value in self.last), default=-1)
        outputs = zip(steps.signature.outputs, steps.outputs, strict=True)
        self.buffers = {Buffer(parameter.name): value for parameter, value in outputs}
        self.direct: dict[Value, Buffer] = {}  #: results that are made in their output buffers
        for buffer, value in self.buffers.items():
            if self.made.get(value, -1) >= max(self.inputs_read, 0):
                self.direct.setdefault(value, buffer)

    def run(self) -> Storage:
        for index, call in enumerate(self.steps.calls):
            self.constant(call.args, index)
            for value in call.outputs():
                self.put(value, self.chosen(value, index, call))
        self.constant(self.steps.outputs, len(self.steps.calls))
        constants = {index: tuple(values) for index, values in self.constants.items()}
        copies = tuple(self.copies())
        return Storage(self.places, tuple(self.sizes), constants, copies)

    def put(self, value: Value, place: Place) -> None:
        self.places[value] = self.places.get(value, place)
        self.holder[place] = value

    def constant(self, values: Iterable[Value], index: int) -> None:
        """Places for the constants among the values that have none: written before call `index`."""
        for value in values:
            if value.constant is not None and value.in_memory and value not in self.places:
                self.put(value, self.free(value, index, before=True))
                self.constants.setdefault(index, []).append(value)

    def chosen(self, value: Value, index: int, call: Call) -> Place:
        """The place of a result of call `index`."""
        if value in self.direct:
            return self.direct[value]
        operands = [self.places[each] for each in call.args if each in self.places]
        return self.free(value, index, operands, [self.places[each] for each in call.outputs() if each in self.places])

    def free(
        self,
        value: Value,
        index: int,
        liked: Sequence[Place] = (),
        taken: Sequence[Place] = (),
        *,
        before: bool = False,
    ) -> Place:
        """A place for a value from call `index` on: one of those that are liked, a slot, an output buffer, a new
        slot; with `before`, from before that call on."""
        for place in (*liked, *(Slot(number) for number in range(len(self.sizes))), *self.buffers):
            if place not in taken and self.fits(value, place, index, before):
                return place
        self.sizes.append(value.words)
        return Slot(len(self.sizes) - 1)

    def fits(self, value: Value, place: Place, index: int, before: bool) -> bool:
        holder = self.holder.get(place)
        if holder is not None and self.last.get(holder, self.made.get(holder, 0)) >= index + (not before):
            return False
        if isinstance(place, Slot):
            return self.sizes[place.number] == value.words
        final = self.buffers.get(place)
        if final is None or self.direct.get(final) != place or final.words != value.words:
            return False
        return index >= self.inputs_read + before and self.last.get(value, index) <= self.made[final]

    def copies(self) -> Iterator[Copy]:
        """What brings the outputs to their buffers. Those that are inputs come first, and through slots when there are
        several: an output buffer may be any input's."""
        wanted = [Copy(value, self.places[value], buffer) for buffer, value in self.buffers.items()]
        wanted = [copy for copy in wanted if copy.source != copy.target]
        inputs = [copy for copy in wanted if copy.value in self.steps.inputs]
        rest = [copy for copy in wanted if copy not in inputs]
        if len(inputs) < 2:
            yield from (*inputs, *rest)
            return
        held = []
        for copy in inputs:
            self.sizes.append(copy.value.words)
            held.append(Slot(len(self.sizes) - 1))
            yield replace(copy, target=held[-1])
        yield from (replace(copy, source=slot) for slot, copy in zip(held, inputs, strict=True))
        yield from rest
