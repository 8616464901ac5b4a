"""Which arguments of a call may be the same buffer: every way that is always tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from asmgen.contracts import Bytes, Element, Parameter, Signature, Table, elements

#: With so many pointers or fewer every partition is tried; with more, those of `_main` (partitions grow like Bell
#: numbers).
_ALL_PARTITIONS = 4


@dataclass(frozen=True)
class Mode:
    """One way to share buffers.

    `slots[i]` is the slot of pointer argument i in C order: the number of the first argument in the same buffer, so
    that a slot always has the same size.
    """

    name: str
    slots: tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A mode, with the buffers flush against the guard page before them (`at_start`) or behind them."""

    mode: Mode
    at_start: bool

    @property
    def name(self) -> str:
        """In words, as printed beside a failure."""
        return f"{self.mode.name}, buffers {'right after' if self.at_start else 'right before'} a guard page"


def pointers(signature: Signature) -> tuple[Parameter, ...]:
    """The arguments passed by pointer, in C order."""
    return tuple(parameter for parameter in signature.parameters if parameter.by_pointer)


def size(parameter: Parameter) -> int:
    """Bytes of a pointer argument's buffer."""
    contract = parameter.contract
    if isinstance(contract, (Element, Table)):
        return 8 * contract.words
    if isinstance(contract, Bytes):
        return contract.length
    raise TypeError(f"{parameter.name} is passed by value")


@lru_cache(maxsize=256)
def cases(signature: Signature) -> tuple[Case, ...]:
    """All modes with both placements. Vector i is run in case i modulo their number."""
    return tuple(Case(mode, at_start) for at_start in (False, True) for mode in modes(signature))


def modes(signature: Signature) -> tuple[Mode, ...]:
    """Separate buffers first, then the ways to share.

    Never two outputs in one buffer; only buffers of one kind and size; inputs only when they hold the same multiples.
    With up to four pointers every way; with more: each output on each input, each two inputs, all inputs, an output
    on all inputs, and the outputs on the inputs in order, rotated in every way.
    """
    arguments = pointers(signature)
    outputs = sum(1 for parameter in signature.outputs if parameter.by_pointer)
    every = len(arguments) <= _ALL_PARTITIONS
    found: dict[tuple[int, ...], Mode] = {}
    for slots in _partitions(len(arguments)) if every else _main(len(arguments), outputs):
        if slots not in found and _allowed(arguments, outputs, slots):
            found[slots] = Mode(_name(arguments, slots), slots)
    return tuple(sorted(found.values(), key=lambda mode: len(arguments) - len(set(mode.slots))))


def _partitions(count: int) -> Iterator[tuple[int, ...]]:
    def grow(slots: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(slots) == count:
            yield slots
            return
        for slot in (*sorted(set(slots)), len(slots)):
            yield from grow((*slots, slot))

    return grow(())


def _main(count: int, outputs: int) -> Iterator[tuple[int, ...]]:
    apart = tuple(range(count))
    inputs = apart[outputs:]

    def share(*groups: Sequence[int]) -> tuple[int, ...]:
        slots = list(apart)
        for group in groups:
            for index in group:
                slots[index] = min(group)
        return tuple(slots)

    yield apart
    for out in range(outputs):
        for index in inputs:
            yield share((out, index))
    for pair in combinations(inputs, 2):
        yield share(pair)
    if inputs:
        yield share(inputs)
    for out in range(outputs):
        yield share((out, *inputs))
    for turn in range(len(inputs)):
        turned = inputs[turn:] + inputs[:turn]
        yield share(*zip(range(outputs), turned, strict=False))


def _allowed(arguments: Sequence[Parameter], outputs: int, slots: Sequence[int]) -> bool:
    for one, other in combinations(range(len(arguments)), 2):
        if slots[one] != slots[other]:
            continue
        if other < outputs:
            return False
        first, second = arguments[one], arguments[other]
        if size(first) != size(second) or first.contract.kind != second.contract.kind:
            return False
        if one >= outputs and not _same_values(first, second):
            return False
    return True


def _same_values(first: Parameter, second: Parameter) -> bool:
    """Whether one buffer can hold values for both inputs."""
    return [element.multiple_of for element in elements([first])] == [
        element.multiple_of for element in elements([second])
    ]


def _name(arguments: Sequence[Parameter], slots: Sequence[int]) -> str:
    groups = [[arguments[i].name for i in range(len(slots)) if slots[i] == slot] for slot in sorted(set(slots))]
    return ", ".join(" = ".join(group) for group in groups if len(group) > 1) or "separate"
