"""The state in which a routine is called: arguments, buffers, the stack, and what must still be there at its return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from asmgen.bounds import Interval, Poly, Space
from asmgen.contracts import Bytes, Contract, Element, Parameter, Signature, Table
from asmgen.polynomial import ZERO, below
from asmgen.prove.cells import Fact, Form
from asmgen.prove.domain import Polynomials
from asmgen.prove.space import CaseSpace, Rejected, Undefined
from asmgen.prove.state import CODE, STACK, STACK_POINTERS, Region, State
from asmgen.targets.conventions import Convention
from emulate.aliasing import Mode, pointers, size

#: No buffer lies in the first page or reaches beyond 2^63.
_LOWEST, _HIGHEST = 1 << 12, 1 << 62


class Places:
    """The unknown addresses of buffers, the stack and the code, each an atom."""

    def __init__(self, domain: Polynomials) -> None:
        self._domain = domain
        self._names: dict[int, str] = {}
        self._bases: dict[str, Form] = {}

    def base(self, name: str) -> Form:
        """The address of a region."""
        if name not in self._bases:
            atom = self._domain.space.atom(f"&{name}", _LOWEST, _HIGHEST)
            self._bases[name] = self._domain.entered(atom)
            self._names[atom.atoms[0]] = name
        return self._bases[name]

    def code(self, offset: int) -> Form:
        """The address of a byte of the code."""
        return self.base(CODE) + offset

    def locate(self, value: Any) -> tuple[str, int]:
        """The region and the byte that a value points to."""
        if isinstance(value, Undefined):
            raise Rejected(f"takes {value.what}, which has no defined value here, for an address")
        core, factor, constant = self._domain.norm(value).normal
        if factor == 1 and len(core) == 1:
            (monomial,) = core.terms
            if len(monomial) == 1 and monomial[0] in self._names:
                return self._names[monomial[0]], (constant + 2**63) % 2**64 - 2**63  # addresses wrap
        raise Rejected("uses an address that depends on data")

    @property
    def atoms(self) -> frozenset[int]:
        return frozenset(self._names)

    def fork(self, domain: Polynomials) -> Places:
        """The same places in a copy of the domain."""
        other = Places(domain)
        other._names, other._bases = dict(self._names), dict(self._bases)
        return other


@dataclass(frozen=True)
class Input:
    """An input as the proof knows it: its words, and the integer that it stands for (an element's value).

    A table has its entries instead of a value.
    """

    contract: Contract
    words: tuple[Poly, ...]
    value: Poly
    entries: tuple[Input, ...] = ()


@dataclass
class Entry:
    """A call and where it has come to: its state, its inputs by name, and the values that must be kept.

    `buffers` has the region of each pointer argument, `public` the atoms of counts, `count` the number of repetitions
    if there is one, `signed` what a signed address is without its signature, and the stack pointer it was signed with.
    """

    signature: Signature
    convention: Convention
    space: CaseSpace
    domain: Polynomials
    places: Places
    state: State
    inputs: Mapping[str, Input]
    kept: Mapping[str, Form]
    buffers: Mapping[str, str]
    public: set[int]
    count: Poly | None
    signed: dict[Form, tuple[Form, int]] = field(default_factory=dict)

    def fork(self, decided: Mapping[int, int] | None = None) -> Entry:
        """The same, to go on another way; in the case that some bits to come have the decided values."""
        space = self.space.fork()
        space.decided.update(decided or {})
        domain = self.domain.fork(space)
        places = self.places.fork(domain)
        state = self.state.fork(domain, places)
        public, signed = set(self.public), dict(self.signed)
        return replace(self, space=space, domain=domain, places=places, state=state, public=public, signed=signed)

    @property
    def undecided(self) -> list[int]:
        """The bits that masks and choices were made of, of which this case does not say what they are."""
        return [bit for bit in self.domain.masks if bit not in self.space.decided]

    def is_public(self, norm: Poly) -> bool:
        """Whether a value is made of counts and addresses alone."""
        known = self.public | self.places.atoms

        def public(atom: int) -> bool:
            numerator = self.space._atoms[atom].numerator
            return atom in known or (numerator is not None and all(public(each) for each in numerator.atoms))

        return all(public(atom) for atom in norm.atoms)

    def output(self, parameter: Parameter) -> list[Form]:
        """The words of an output as they are in memory."""
        region = self.state.memory[self.buffers[parameter.name]]
        return [self.domain.value(region.load(self.domain, *cell)) for cell in cells(parameter.contract)]


def enter(
    signature: Signature,
    convention: Convention,
    mode: Mode,
    given: Mapping[str, Interval],
    constants: bytes = b"",
) -> Entry:
    """A call of a routine with buffers shared as `mode` says; `given` narrows numbers and byte strings. `constants` are
    the bytes of the code where it may read them."""
    space = CaseSpace()
    domain = Polynomials(space)
    places = Places(domain)
    state = State(convention.target, domain, places, {})
    state.red_zone = 128 if convention.name == "sysv" else 0
    stack = Region(STACK, -(1 << 20), convention.return_address + convention.shadow, writable=True)
    state.memory[STACK] = stack
    if constants:
        state.memory[CODE] = Region(CODE, 0, len(constants), writable=False, constants=constants)
    state.registers[STACK_POINTERS[convention.target]] = places.base(STACK)
    kept = {name: domain.anything(f"caller's {name}") for name in _preserved(convention, ours=not constants)}
    state.registers.update(kept)
    if convention.return_address:
        stack.cells[0] = (8, places.base("return address"))
    inputs = _inputs(space, signature, mode, given)
    buffers = _buffers(state, signature, mode, inputs)
    public: set[int] = set()
    count: Poly | None = None
    for index, parameter in enumerate(signature.parameters):
        if parameter.by_pointer:
            value = places.base(buffers[parameter.name])
        else:
            value = domain.entered(inputs[parameter.name].words[0])
            if parameter.contract.kind == "count":
                count = inputs[parameter.name].value
                public.update(count.atoms)
        if index < len(convention.arguments):
            state.registers[convention.arguments[index]] = value
        else:
            offset = convention.stack_argument(index)
            stack.cells[offset] = (8, value)
            stack.high = max(stack.high, offset + 8)
    return Entry(signature, convention, space, domain, places, state, inputs, kept, buffers, public, count)


def _preserved(convention: Convention, *, ours: bool) -> tuple[str, ...]:
    """What a routine must keep; foreign code may use x18, which Linux leaves to everyone."""
    names = dict.fromkeys((*convention.preserved, convention.frame_pointer))
    return (*names, "x18") if convention.target == "arm64" and ours else tuple(names)


def _inputs(space: Space, signature: Signature, mode: Mode, given: Mapping[str, Interval]) -> dict[str, Input]:
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
            inputs[parameter.name] = scalar(space, parameter.name, parameter.contract, given.get(parameter.name))
            continue
        slot = slots[parameter.name]
        if slot not in made:
            made[slot] = _shared(space, parameter.name, sharing[slot])
            if parameter.name in given:
                space.learn(made[slot].value, given[parameter.name])
        words = made[slot].words
        value = _value(parameter.contract, words)
        inputs[parameter.name] = replace(made[slot], contract=parameter.contract, value=value)
    return inputs


def _shared(space: Space, name: str, contracts: Sequence[Contract]) -> Input:
    """An input within the strictest contract of those that share its buffer; what the others add are facts."""
    first = min(contracts, key=lambda contract: contract.value_max if isinstance(contract, Element) else 0)
    if isinstance(first, Table) and any(contract != first for contract in contracts):
        raise Rejected("two tables of different contracts in one buffer are not understood")
    made = pointed(space, name, first)
    for contract in contracts:
        if isinstance(contract, Element) and contract != first:
            for word, most in zip(made.words, contract.limb_max, strict=True):
                space.learn(word, Interval(0, most))
            space.learn(_value(contract, made.words), Interval(0, contract.value_max))
    return made


def scalar(space: Space, name: str, contract: Contract, given: Interval | None) -> Input:
    """An argument passed by value: any that its contract allows, narrowed to `given`."""
    assert not isinstance(contract, (Element, Bytes, Table))
    interval = Interval(0, contract.value_max).meet(given or below(64))
    word = space.atom(name, *interval) if interval.width else Poly.of(interval.low)
    return Input(contract, (word,), word)


def pointed(space: Space, name: str, contract: Contract) -> Input:
    """The words of an argument in memory: any that its contract allows."""
    if isinstance(contract, Table):
        entries = tuple(pointed(space, f"{name}[{index}]", contract.element) for index in range(contract.count))
        return Input(contract, tuple(word for entry in entries for word in entry.words), ZERO, entries)
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
    if isinstance(contract, Table):
        return ZERO
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
            state.memory[name].cells.update(_cells(inputs[parameter.name], state.domain))
            _promise(inputs[parameter.name], state.domain)
    return named


def _cells(given: Input, domain: Polynomials) -> dict[int, tuple[int, Form]]:
    places = zip(cells(given.contract), given.words, strict=True)
    return {at: (length, domain.entered(word)) for (at, length), word in places}


def _promise(given: Input, domain: Polynomials) -> None:
    """Note for goals what a contract says of the whole value."""
    for entry in given.entries:
        _promise(entry, domain)
    if isinstance(given.contract, Element):
        words = zip(given.words, given.contract.field.positions, strict=True)
        value = Poly.sum(domain.entered(word) << at for word, at in words)
        domain.ledger.facts.append(Fact(value, Interval(0, given.contract.value_max)))
        if len(given.value) == 1 and given.value.coefficients == (1,) and len(given.words) > 1:
            whole = domain.entered(given.value)  # its words are digits of it
            domain.ledger.facts.append(Fact(whole - value, Interval(0, 0), domain.ledger.cell(given.value)))


def cells(contract: Contract) -> list[tuple[int, int]]:
    """(offset, size) of the words of an argument in memory: single bytes where the first one is the highest."""
    if isinstance(contract, (Element, Table)):
        return [(8 * index, 8) for index in range(contract.words)]
    assert isinstance(contract, Bytes)
    step = 8 if contract.order == "little" else 1
    return [(at, min(step, contract.length - at)) for at in range(0, contract.length, step)]
