"""The state in which a routine is called: arguments, buffers, the stack, and what must still be there at its return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from asmgen.bounds import Interval, Poly, Space
from asmgen.contracts import Bytes, Contract, Element, Signature
from asmgen.polynomial import below
from asmgen.prove.domain import CaseSpace, Polynomials, Rejected, Undefined
from asmgen.prove.state import STACK, STACK_POINTERS, Region, State
from asmgen.targets.conventions import Convention
from emulate.aliasing import Mode, pointers, size

#: No buffer lies in the first page or reaches beyond 2^63.
_LOWEST, _HIGHEST = 1 << 12, 1 << 62


class Places:
    """The unknown addresses of buffers, the stack and the code, each an atom."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._names: dict[int, str] = {}
        self._bases: dict[str, Poly] = {}

    def base(self, name: str) -> Poly:
        """The address of a region."""
        if name not in self._bases:
            atom = self._bases[name] = self._space.atom(f"&{name}", _LOWEST, _HIGHEST)
            self._names[atom.atoms[0]] = name
        return self._bases[name]

    def code(self, offset: int) -> Poly:
        """The address of a byte of the code."""
        return self.base("code") + offset

    def locate(self, value: object) -> tuple[str, int]:
        """The region and the byte that a value points to."""
        if isinstance(value, Undefined):
            raise Rejected(f"takes {value.what}, which has no defined value here, for an address")
        if isinstance(value, Poly):
            core, factor, constant = value.normal
            if factor == 1 and len(core) == 1:
                (monomial,) = core.terms
                if len(monomial) == 1 and monomial[0] in self._names:
                    return self._names[monomial[0]], constant
        raise Rejected("uses an address that depends on data")

    @property
    def atoms(self) -> frozenset[int]:
        return frozenset(self._names)


@dataclass(frozen=True)
class Input:
    """An input as the proof knows it: its words, and the integer that it stands for (an element's value)."""

    contract: Contract
    words: tuple[Poly, ...]
    value: Poly


@dataclass
class Entry:
    """A call: its state, its inputs by name, and the values that must be kept."""

    signature: Signature
    convention: Convention
    space: CaseSpace
    domain: Polynomials
    places: Places
    state: State
    inputs: dict[str, Input]
    kept: Mapping[str, Poly]
    public: set[int]
    buffers: dict[str, str]  #: the region of each pointer argument


def enter(signature: Signature, convention: Convention, mode: Mode, decided: Mapping[int, int]) -> Entry:
    """A call of a routine with buffers shared as `mode` says, in the case that some bits have the decided values."""
    space = CaseSpace(decided)
    domain = Polynomials(space)
    places = Places(space)
    state = State(convention.target, domain, places, {})
    state.red_zone = 128 if convention.name == "sysv" else 0
    stack = Region(STACK, -(1 << 20), convention.return_address + convention.shadow, writable=True)
    state.memory[STACK] = stack
    state.registers[STACK_POINTERS[convention.target]] = places.base(STACK)
    kept = {name: space.atom(f"caller's {name}", 0, 2**64 - 1) for name in _preserved(convention)}
    state.registers.update(kept)
    if convention.return_address:
        stack.cells[0] = (8, places.base("return address"))
        stack.low, stack.high = stack.low, stack.high
    inputs = _inputs(space, signature, mode)
    buffers = _buffers(state, signature, mode, inputs)
    public = set()
    for index, parameter in enumerate(signature.parameters):
        if parameter.by_pointer:
            value = places.base(buffers[parameter.name])
        else:
            value = inputs[parameter.name].words[0]
            if parameter.contract.kind == "count":
                public.update(value.atoms)
        if index < len(convention.arguments):
            state.registers[convention.arguments[index]] = value
        else:
            offset = convention.stack_argument(index)
            stack.cells[offset] = (8, value)
            stack.high = max(stack.high, offset + 8)
    return Entry(signature, convention, space, domain, places, state, inputs, kept, public, buffers)


def _preserved(convention: Convention) -> tuple[str, ...]:
    names = dict.fromkeys((*convention.preserved, convention.frame_pointer))
    return (*names, "x18") if convention.target == "arm64" else tuple(names)


def _inputs(space: Space, signature: Signature, mode: Mode) -> dict[str, Input]:
    """Each input once; those in one buffer have the same words, within both contracts."""
    slots = dict(zip((parameter.name for parameter in pointers(signature)), mode.slots, strict=True))
    sharing: dict[int, list[Contract]] = {}
    for parameter in signature.inputs:
        if parameter.by_pointer:
            sharing.setdefault(slots[parameter.name], []).append(parameter.contract)
    made: dict[int, Input] = {}
    inputs: dict[str, Input] = {}
    for parameter in signature.inputs:
        if not parameter.by_pointer:
            inputs[parameter.name] = scalar(space, parameter.name, parameter.contract)
            continue
        slot = slots[parameter.name]
        if slot not in made:
            made[slot] = _shared(space, parameter.name, sharing[slot])
        words = made[slot].words
        inputs[parameter.name] = Input(parameter.contract, words, _value(parameter.contract, words))
    return inputs


def _shared(space: Space, name: str, contracts: Sequence[Contract]) -> Input:
    """An input within the strictest contract of those that share its buffer; what the others add are facts."""
    first = min(contracts, key=lambda contract: contract.value_max if isinstance(contract, Element) else 0)
    made = pointed(space, name, first)
    for contract in contracts:
        if isinstance(contract, Element) and contract != first:
            for word, most in zip(made.words, contract.limb_max, strict=True):
                space.learn(word, Interval(0, most))
            space.learn(_value(contract, made.words), Interval(0, contract.value_max))
    return made


def scalar(space: Space, name: str, contract: Contract) -> Input:
    """An argument passed by value: any that its contract allows."""
    assert not isinstance(contract, (Element, Bytes))
    word = space.atom(name, 0, contract.value_max)
    return Input(contract, (word,), word)


def pointed(space: Space, name: str, contract: Contract) -> Input:
    """The words of an argument in memory: any that its contract allows."""
    if isinstance(contract, Element):
        words = element(space, name, contract)
    else:
        assert isinstance(contract, Bytes)
        width = 64 if contract.order == "little" else 8
        places = range(0, 8 * contract.length, width)
        words = [space.atom(f"{name}{n}", *below(min(width, 8 * contract.length - p))) for n, p in enumerate(places)]
    return Input(contract, tuple(words), _value(contract, words))


def element(space: Space, name: str, contract: Element) -> list[Poly]:
    """The limbs of an element: digits of one unknown when they are proper digits, else unknowns each."""
    widths, unit = contract.field.limbs, contract.multiple_of
    bounded = contract.value_max < contract.value(contract.limb_max)
    digits = not any(most >> width for most, width in zip(contract.limb_max[:-1], widths, strict=False))
    if bounded and digits and unit == 1:
        top = max(1, (contract.value_max >> contract.field.positions[-1]).bit_length())
        limbs = space.word_atoms(name, contract.value_max, [*widths[:-1], top])[1]
        for limb, most in zip(limbs, contract.limb_max, strict=True):
            space.learn(limb, Interval(0, most))
        return limbs
    limbs = [space.atom(f"{name}{i}", 0, most - most % unit, unit) for i, most in enumerate(contract.limb_max)]
    if bounded:
        space.learn(_value(contract, limbs), Interval(0, contract.value_max))
    return limbs


def _value(contract: Contract, words: Sequence[Poly]) -> Poly:
    """The integer that words in memory stand for."""
    if isinstance(contract, Element):
        return Poly.sum(word << at for word, at in zip(words, contract.field.positions, strict=True))
    assert isinstance(contract, Bytes)
    if contract.order == "little":
        return Poly.sum(word << 64 * index for index, word in enumerate(words))
    return Poly.sum(word << 8 * (contract.length - 1 - index) for index, word in enumerate(words))


def _buffers(state: State, signature: Signature, mode: Mode, inputs: Mapping[str, Input]) -> dict[str, str]:
    """The regions of pointer arguments, filled with the inputs; which one each argument has."""
    arguments = pointers(signature)
    outputs = sum(parameter.by_pointer for parameter in signature.outputs)
    named: dict[str, str] = {}
    for index, (parameter, slot) in enumerate(zip(arguments, mode.slots, strict=True)):
        name = named[parameter.name] = arguments[slot].name
        if name not in state.memory:
            state.memory[name] = Region(name, 0, size(parameter), writable=index < outputs)
        if parameter.name in inputs:
            state.memory[name].cells.update(_cells(inputs[parameter.name]))
    return named


def _cells(given: Input) -> dict[int, tuple[int, Poly]]:
    contract = given.contract
    if isinstance(contract, Bytes) and contract.order == "big":
        return {index: (1, word) for index, word in enumerate(given.words)}
    length = contract.length if isinstance(contract, Bytes) else 8 * len(given.words)
    return {8 * index: (min(8, length - 8 * index), word) for index, word in enumerate(given.words)}
