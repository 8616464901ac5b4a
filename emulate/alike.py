"""Whether two routines do the same term for term: an argument apart from the prover's.

Both are followed through the meanings of their rows on terms: sums of atoms, where an atom is a register or a word of
memory as it was, or a part of a sum, a product, a logical operation, a choice. A term that is written down once is the
same wherever it comes up, so equal terms are equal numbers, and terms that differ say nothing. Sums are added up,
and what is ORed, ANDed or XORed has no order; nothing is known of carries but ranges. What branches is not followed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from asmgen.routine import Code, Item
from asmgen.targets.conventions import Convention, convention
from asmgen.targets.row import Instruction, Memory, Operand, Register, Role, Slot

Key = tuple[int, frozenset[tuple[int, int]]]
Place = tuple[int, int, int]  #: the atom that an address starts from, bytes from there, bytes

_STACK_POINTERS = {"amd64": "rsp", "arm64": "sp"}
_ROOM = 1 << 32  #: bytes from a pointer to either end of the addresses, at least


class Unclear(Exception):
    """What is not followed here."""


class Sum:
    """A constant plus atoms, each some times."""

    def __init__(self, terms: Terms, constant: int, parts: Mapping[int, int]) -> None:
        self.terms, self.constant, self.parts = terms, constant, parts

    def __add__(self, other: Any) -> Any:
        constant, parts = _parts(other)
        total = dict(self.parts)
        for atom, times in parts.items():
            total[atom] = total.get(atom, 0) + times
        return self.terms.sum(self.constant + constant, total)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, int):
            return self.terms.sum(other * self.constant, {atom: other * times for atom, times in self.parts.items()})
        one, two = sorted((_key(self), _key(other)), key=repr)
        (a, b), (c, d) = self.range, other.range
        corners = (a * c, a * d, b * c, b * d)
        return self.terms.atom(("product", one, two), min(corners), max(corners))

    def __sub__(self, other: Any) -> Any:
        return self + -1 * other

    def __neg__(self) -> Any:
        return self * -1

    def __rsub__(self, other: Any) -> Any:
        return self * -1 + other

    __radd__, __rmul__ = __add__, __mul__

    @property
    def range(self) -> tuple[int, int]:
        """The least and the most it can be, as far as is known."""
        ends = [[times * end for end in self.terms.ranges[atom]] for atom, times in self.parts.items()]
        return self.constant + sum(map(min, ends)), self.constant + sum(map(max, ends))


def _parts(value: Any) -> tuple[int, Mapping[int, int]]:
    if not isinstance(value, (int, Sum)):
        raise Unclear("that is no sum")
    return (value, {}) if isinstance(value, int) else (value.constant, value.parts)


def _key(value: Any) -> Key:
    constant, parts = _parts(value)
    return constant, frozenset(parts.items())


def _range(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else value.range


class Terms:
    """All atoms by what they are, and the domain that meanings are computed on."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.ranges: list[tuple[int, int]] = []
        self.kinds: list[Any] = []

    def sum(self, constant: int, parts: Mapping[int, int]) -> Any:
        """A sum, an integer where no atom is in it."""
        left = {atom: times for atom, times in parts.items() if times}
        return Sum(self, constant, left) if left else constant

    def atom(self, kind: Any, least: int, most: int) -> Any:
        """The atom of that kind, with its range."""
        if least == most:
            return least
        if kind not in self.numbers:
            self.numbers[kind] = len(self.ranges)
            self.ranges.append((least, most))
            self.kinds.append(kind)
        return Sum(self, 0, {self.numbers[kind]: 1})

    def split(self, value: Any, k: int) -> tuple[Any, Any]:
        """See `asmgen.targets.row.Domain`."""
        if isinstance(value, int):
            return value % (1 << k), value >> k
        least, most = value.range
        if 0 <= least and most < 1 << k:
            return value, 0
        constant, parts = _parts(value)
        rest = self.sum(constant % (1 << k), {atom: times % (1 << k) for atom, times in parts.items()})
        over = self.sum(constant >> k, {atom: times >> k for atom, times in parts.items()})
        least, most = _range(rest)
        if most < 1 << k:
            return rest, over
        low = self.atom(("low", k, _key(rest)), 0, (1 << k) - 1)
        return low, over + self.atom(("high", k, _key(rest)), least >> k, most >> k)

    def bitwise(self, op: str, x: Any, y: Any, width: int) -> Any:
        """See `asmgen.targets.row.Domain`."""
        if op == "and":
            for one, other in ((x, y), (y, x)):
                if isinstance(one, int) and one & (one + 1) == 0:
                    return self.split(other, one.bit_length())[0]
        leaves: list[Key] = []
        for value in (x, y):
            constant, parts = _parts(value)
            (atom, times), *more = parts.items() or [(-1, 0)]
            kind: Any = self.kinds[atom] if times == 1 and not more and not constant else ("",)
            leaves += kind[1] if kind[0] == op else [_key(value)]
        constant, others = (1 << width) - 1 if op == "and" else 0, list[Key]()
        for number, parts_ in leaves:
            if parts_:
                others.append((number, parts_))
            else:
                constant = {"and": constant & number, "or": constant | number, "xor": constant ^ number}[op]
        kept = {leaf for leaf in others if op != "xor" or others.count(leaf) % 2}
        if not kept:
            return constant
        if constant != ((1 << width) - 1 if op == "and" else 0):
            kept.add((constant, frozenset()))
        elif len(kept) == 1:
            ((number, only),) = kept
            return self.sum(number, dict(only))
        return self.atom((op, tuple(sorted(kept, key=repr)), width), 0, (1 << width) - 1)

    def is_zero(self, value: Any) -> Any:
        """See `asmgen.targets.row.Domain`."""
        least, most = _range(value)
        if least == most == 0 or least > 0 or most < 0:
            return int(least == 0)
        return self.atom(("zero", _key(value)), 0, 1)

    def select(self, bit: Any, x: Any, y: Any) -> Any:
        """See `asmgen.targets.row.Domain`."""
        if isinstance(bit, int) or _key(x) == _key(y):
            return x if isinstance(bit, Sum) or bit else y
        (a, b), (c, d) = _range(x), _range(y)
        return self.atom(("select", _key(bit), _key(x), _key(y)), min(a, c), max(b, d))


@dataclass
class Follower:
    """A routine on its way through straight code."""

    terms: Terms
    code: Code
    registers: dict[str, Any] = field(default_factory=dict)
    flags: dict[str, Any] = field(default_factory=dict)
    stack: dict[tuple[int, int], Any] = field(default_factory=dict)
    stored: dict[Place, Any] = field(default_factory=dict)
    loaded: set[Place] = field(default_factory=set)
    nothing: count[int] = field(default_factory=count)

    def register(self, name: str) -> Any:
        """What a register holds; a pointer has room around it."""
        if name == "xzr":
            return 0
        if name not in self.registers:
            given, pointers = self.rules.arguments, self.code.signature.parameters
            at = given.index(name) if name in given else len(pointers)
            pointer = name == self.sp or at < len(pointers) and pointers[at].by_pointer
            room = _ROOM if pointer else 0
            self.registers[name] = self.terms.atom(("register", name), room, (1 << 64) - 1 - room)
        return self.registers[name]

    @property
    def rules(self) -> Convention:
        """The default calling convention."""
        return convention(None, self.code.target)

    @property
    def sp(self) -> str:
        """The stack pointer's name."""
        return _STACK_POINTERS[self.code.target]

    def address(self, memory: Memory) -> Any:
        """The sum that an address is."""
        assert isinstance(memory.base, Register)
        index = self.register(memory.index.name) * memory.scale if isinstance(memory.index, Register) else 0
        return self.register(memory.base.name) + index + memory.offset

    def place(self, address: Any, size: int) -> Place:
        """Where it is, from a register as it was at the call."""
        constant, parts = _parts(address)
        ((atom, times),) = parts.items() if len(parts) == 1 else [(-1, 0)]
        if times != 1 or self.terms.kinds[atom][0] != "register":
            raise Unclear("an address is no pointer that was given")
        return atom, constant, size

    def load(self, address: Any, size: int) -> Any:
        """Words that were stored, or as they were."""
        if size == 16:
            return self.load(address, 8) + (1 << 64) * self.load(address + 8, 8)
        atom, offset, _ = place = self.place(address, size)
        most = (1 << 8 * size) - 1
        if self.terms.kinds[atom] == ("register", self.sp):
            near = [each for each in self.stack if each[0] < offset + size and offset < each[0] + each[1]]
            if near and near != [(offset, size)]:
                raise Unclear("part of a slot is read")
            return self.stack[near[0]] if near else self.terms.atom(("caller's", offset, size), 0, most)
        self.loaded.add(place)
        version = frozenset((where, _key(value)) for where, value in self.stored.items())
        return self.terms.atom(("memory", place, version), 0, most)

    def store(self, address: Any, size: int, value: Any) -> None:
        """Words into memory or the routine's own stack."""
        if size == 16:
            for half, word in enumerate(self.terms.split(value, 64)):
                self.store(address + 8 * half, 8, word)
            return
        atom, offset, _ = place = self.place(address, size)
        own = self.terms.kinds[atom] == ("register", self.sp)
        where: dict[Any, Any] = self.stack if own else self.stored
        key = (offset, size) if own else place
        for other in where:
            start, length = other[-2:]
            if other != key and (own or other[0] == atom) and start < offset + size and offset < start + length:
                raise Unclear("a part of what was stored is stored again")
        if own and not -_ROOM < offset < 0:
            raise Unclear("the caller's stack is written")
        where[key] = value

    def read(self, slot: Slot, operand: Operand) -> Any:
        """The input that an operand gives to a meaning."""
        if isinstance(operand, Memory):
            address = self.address(operand)
            return self.terms.split(address, 64)[0] if slot.kind == "addr" else self.load(address, _bits(slot) // 8)
        if isinstance(operand, Register):
            return self.terms.split(self.register(operand.name), _bits(slot))[0]
        assert isinstance(operand, int)
        return operand

    def step(self, item: Instruction) -> None:
        """One instruction."""
        row, places = item.row, list(zip(item.row.slots, item.operands, strict=True))
        inputs = [self.read(slot, operand) for slot, operand in places if slot.role is not Role.OUT]
        addresses = [self.address(operand) if isinstance(operand, Memory) else 0 for _, operand in places]
        flags = {name: self.flags.get(name, self.terms.atom(("flag", name), 0, 1)) for name in sorted(row.reads)}
        outcome = row.meaning(self.terms, inputs, flags)
        values = iter(outcome.values)
        for (slot, operand), address in zip(places, addresses, strict=True):
            if slot.role is Role.IN:
                continue
            value, bits = next(values), _bits(slot)
            if isinstance(operand, Memory):
                self.store(address, bits // 8, value)
            elif isinstance(operand, Register) and operand.name != "xzr":
                kept = self.terms.split(self.register(operand.name), bits)[1] * (1 << bits) if bits < 32 else 0
                self.registers[operand.name] = kept + value
        for name in sorted(row.writes):
            flag = outcome.flags[name]
            self.flags[name] = flag() if callable(flag) else flag
        for name in sorted(row.destroys):
            self.flags[name] = self.terms.atom(("undefined", id(self), next(self.nothing)), 0, 1)

    def follow(self, items: Sequence[Item]) -> None:
        """To the return."""
        for item in items:
            if isinstance(item, Instruction):
                if item.row.control is not None and item.row.control != "ret":
                    raise Unclear("a branch or a call")
                if item.row.control == "ret":
                    return
                self.step(item)
        raise Unclear("no return")

    @property
    def seen(self) -> list[str]:
        """The registers that a caller looks at."""
        return [*self.rules.preserved, self.sp, *([self.rules.result] if self.code.signature.returns_bit else [])]

    def left(self) -> Any:
        """All that a caller can see."""
        return [_key(self.register(name)) for name in self.seen], {at: _key(x) for at, x in self.stored.items()}


def _bits(slot: Slot) -> int:
    return int("".join(letter for letter in slot.kind if letter.isdigit()))


def alike(code: Code, items: Sequence[Item]) -> bool:
    """Whether straight code does the same with other items; False where that is not clear.

    Seen are all stores, what is returned, and what a caller wants preserved; the others read nothing that the code
    does not read.
    """
    terms = Terms()
    one, other = Follower(terms, code), Follower(terms, code)
    try:
        one.follow(code.items)
        other.follow(items)
    except Unclear:
        return False
    return one.left() == other.left() and other.loaded <= one.loaded
