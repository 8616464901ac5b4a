"""The numbers of a proof: exact polynomials over what is unknown, in place of machine words.

Rows compute on them through `split`, `bitwise`, `is_zero` and `select`. An address is a number like any other, the
unknown place of a buffer plus an offset. What was never written is `Undefined` and may be moved about, not used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from asmgen.bounds import Interval, Poly, Space
from asmgen.knowledge import Atom
from asmgen.polynomial import below, point

Value = Poly | int


class Rejected(Exception):
    """What the code does is outside of what a proof can follow; the message says why, the runner adds where."""


class Undefined:
    """What a register or a byte of memory holds before it is written, or a flag that an instruction leaves open."""

    def __init__(self, what: str) -> None:
        self.what = what

    def _reject(self, *_: object) -> NoReturn:
        raise Rejected(f"computes with {self.what}, which has no defined value here")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = _reject


class CaseSpace(Space):
    """A space in which some bits are decided: the case that is looked at. Bits go by the number of their atom."""

    def __init__(self, decided: Mapping[int, int]) -> None:
        super().__init__()
        self.decided = dict(decided)
        self._settled: set[int] = set()

    def _bit(self, numerator: Poly, k: int) -> Poly:
        bit = super()._bit(numerator, k)
        for atom in bit.atoms:
            if atom in self.decided:
                return self._decide(bit, atom)
        return bit

    def _decide(self, bit: Poly, atom: int) -> Poly:
        value = self.decided[atom]
        if atom not in self._settled:
            self._settled.add(atom)
            found, shift = self._atoms[atom].numerator, self._atoms[atom].shift
            assert found is not None
            self.learn(Poly.atom(atom), point(value))
            self.learn(found, below(shift).plus(point(value << shift)))
        return bit.substitute({atom: value})


class Polynomials:
    """The domain of a proof. `masks` are the bits that masks and choices were made of, in order."""

    def __init__(self, space: CaseSpace) -> None:
        self.space = space
        self.masks: dict[int, None] = {}
        self._ands: dict[tuple[Poly, Poly], Poly] = {}
        self._ors: dict[Poly, tuple[Poly, Poly]] = {}

    def split(self, value: Any, k: int) -> tuple[Any, Any]:
        """(low, high) with value = low + 2^k * high, 0 <= low < 2^k."""
        if isinstance(value, int):
            return value & ((1 << k) - 1), value >> k
        if isinstance(value, Undefined):
            value + 0
        return self.space.split(value, k)

    def is_zero(self, value: Any) -> Any:
        """The bit [value == 0]; that of x or y is that of both."""
        if isinstance(value, int):
            return int(value == 0)
        value = value + 0
        parts = self._ors.get(value)
        if parts is not None:
            return self._both(self.is_zero(parts[0]), self.is_zero(parts[1]))
        interval = self.space.interval(value, enough=below(4096))
        if interval.low >= 0:
            return 1 - self.space.at_least(value, 1)
        if interval.high <= 0:
            return self.space.at_least(value, 0)
        return self._both(self.space.at_least(value, 0), self.space.at_least(-value, 0))

    def _both(self, x: Any, y: Any) -> Any:
        """x and y, of bits."""
        return x * y if isinstance(x, int) or isinstance(y, int) else self.space.as_bit(x * y)

    def select(self, bit: Any, x: Any, y: Any) -> Any:
        """x when the bit is 1, else y."""
        if isinstance(bit, int):
            return x if bit else y
        x, y = x + Poly({}), y + Poly({})
        if x == y:
            return x
        bit = self.space.as_bit(bit)
        self._mark(bit)
        return self.space.select(bit, x, y)

    def _mark(self, bit: Poly) -> None:
        self.masks.update(dict.fromkeys(bit.atoms))

    def bitwise(self, op: str, x: Any, y: Any, width: int) -> Any:
        """`and`, `or` or `xor` of two values in [0, 2^width)."""
        if isinstance(x, int) and isinstance(y, int):
            return {"and": x & y, "or": x | y, "xor": x ^ y}[op]
        x, y = x + Poly({}), y + Poly({})
        if x == y:
            return x if op != "xor" else 0
        if y.constant is None and (x.constant is not None or self._mask_of(x, width) is not None):
            x, y = y, x
        both = self._and(x, y, width)
        if op == "and":
            return both
        result = x + y - both * (1 if op == "or" else 2)
        self.space.learn(result, below(width))
        if op == "or" and result.constant is None:
            self._ors[result] = x, y
        return result

    def _and(self, x: Poly, y: Poly, width: int) -> Poly:
        """x and y, of words."""
        mask = y.constant
        if mask is not None:
            constant = x.constant
            return Poly.of(constant & mask) if constant is not None else self._masked(x, mask)
        bit = self._mask_of(y, width)
        if bit is not None:
            if bit.constant is None:
                self._mark(bit)
            return self.space.select(bit, x, Poly({}))
        if self._apart(x, y) or self._apart(y, x):
            return Poly({})
        if self.space.interval(x).within(below(1)) and self.space.interval(y).within(below(1)):
            return self.space.as_bit(x * y)
        return self._opaque(x, y)

    def _mask_of(self, value: Poly, width: int) -> Poly | None:
        """The bit m when the value is m times 2^width - 1, so proven by its coefficients; None otherwise."""
        bit = value.exact_quotient((1 << width) - 1)
        if bit is None or not self.space.interval(bit).within(below(1)):
            return None
        return self.space.as_bit(bit)

    def _masked(self, x: Poly, mask: int) -> Poly:
        """x and a constant: a split for each run of its ones."""
        total, first = Poly({}), 0
        while mask >> first:
            first += (mask >> first & -(mask >> first)).bit_length() - 1
            run = ~(mask >> first)
            width = (run & -run).bit_length() - 1
            above = self.space.split(x, first)[1] if first else x
            total = total + (self.space.split(above, width)[0] << first)
            first += width
        return total

    def _apart(self, x: Poly, y: Poly) -> bool:
        """Whether all bits of x are below those of y."""
        factors = y.coefficients
        twos = min((factor & -factor).bit_length() - 1 for factor in factors) if factors else 0
        return twos > 0 and self.space.interval(x, enough=below(twos)).within(below(twos))

    def _opaque(self, x: Poly, y: Poly) -> Poly:
        """An unknown that is x and y."""
        key = (x, y)
        found = self._ands.get(key) or self._ands.get((y, x))
        if found is None:
            most = min(self.space.interval(x).high, self.space.interval(y).high)
            found = self._ands[key] = self.unknown(f"and{len(self._ands)}", Interval(0, most), lambda a, b: a & b, x, y)
            self.space.learn(x - found, Interval(0, self.space.interval(x).high))
            self.space.learn(y - found, Interval(0, self.space.interval(y).high))
        return found

    def unknown(self, name: str, interval: Interval, function: Callable[..., int], *of: Poly) -> Poly:
        """An atom that stands for an integer function of values."""
        space = self.space
        witnesses = [function(*(each.evaluate(values) for each in of)) for values in space._witnesses]
        return space._add_atom(Atom(name, None, 0), interval, witnesses)

    def value(self, value: Any) -> Any:
        """A value as registers and memory hold it."""
        return Poly.of(value) if isinstance(value, int) else value

    def anything(self, name: str) -> Poly:
        """A word of which nothing is known."""
        return self.space.atom(name, 0, 2**64 - 1)
