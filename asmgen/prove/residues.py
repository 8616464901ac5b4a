"""What a kernel must compute, as polynomials: its meaning run on unknown integers and residues.

A meaning is a function of integers. Sums, differences, products and powers of `Symbolic` values make polynomials.
Asking an integer how large it is makes a `NeedsCase` unless its bounds answer, and the proof goes through the cases;
asking a residue makes a `ZeroTest` or a `Parity`, or there is no such polynomial.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from asmgen.bounds import Interval, Poly
from asmgen.prove.space import Rejected


class NeedsCase(Exception):
    """The meaning depends on whether an input is at most `most`."""

    def __init__(self, poly: Poly, most: int) -> None:
        super().__init__(f"the meaning depends on whether an input is at most {most}")
        self.poly = poly
        self.most = most


class NotPolynomial(Rejected):
    """The meaning is no polynomial of the inputs."""


@dataclass(frozen=True)
class TwoToThe:
    """2^n for a count n."""

    count: Poly

    def __index__(self) -> int:
        raise NotPolynomial("the meaning uses 2^n in a way that is not understood")


@dataclass(frozen=True)
class ZeroTest:
    """The bit [poly is 0 modulo p]."""

    poly: Poly

    def __bool__(self) -> bool:
        raise NotPolynomial("the meaning depends on whether a residue is zero")


@dataclass(frozen=True)
class Parity:
    """The lowest bit of what poly is in 0..p - 1."""

    poly: Poly

    def __bool__(self) -> bool:
        raise NotPolynomial("the meaning depends on whether a residue is odd")


@dataclass(frozen=True)
class EvenOf:
    """Of poly and -poly modulo p the one that is even in 0..p - 1."""

    poly: Poly


@dataclass(frozen=True)
class Context:
    """The modulus, what is known of polynomials, and how to cut them."""

    modulus: int
    interval: Callable[[Poly], Interval]
    split: Callable[[Poly, int], tuple[Poly, Poly]]


Kind = Literal["integer", "residue", "least", "power"]


class Symbolic:
    """A polynomial.

    It stands for the "integer" that it is, for any integer of its "residue" modulo p, for the "least" one in 0..p - 1,
    or, with a count n, for a residue that is its "power" of 2^n.
    """

    __slots__ = ("context", "count", "kind", "poly")

    def __init__(self, context: Context, poly: Poly, kind: Kind, count: Poly | None = None) -> None:
        self.context = context
        self.poly = poly
        self.kind = kind
        self.count = count

    def _with(self, other: Any, function: Callable[[Poly, Poly], Poly]) -> Symbolic:
        if isinstance(other, Symbolic):
            exact = self.kind == other.kind == "integer"
            return Symbolic(self.context, function(self.plain, other.plain), "integer" if exact else "residue")
        if not isinstance(other, int):
            raise NotPolynomial(f"the meaning computes with {other!r}")
        kind: Kind = "integer" if self.kind == "integer" else "residue"
        return Symbolic(self.context, function(self.plain, Poly.of(int(other))), kind)

    @property
    def plain(self) -> Poly:
        """The polynomial of a value that is no power."""
        if self.kind == "power":
            raise NotPolynomial("the meaning goes on with a power a^(2^n)")
        return self.poly

    def __add__(self, other: Any) -> Symbolic:
        return self._with(other, lambda x, y: x + y)

    def __sub__(self, other: Any) -> Symbolic:
        return self._with(other, lambda x, y: x - y)

    def __rsub__(self, other: Any) -> Symbolic:
        return self._with(other, lambda x, y: y - x)

    def __mul__(self, other: Any) -> Symbolic:
        return self._with(other, lambda x, y: x * y)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Symbolic:
        return 0 - self

    def __lshift__(self, k: int) -> Symbolic:
        return self * (1 << k)

    def __rlshift__(self, base: int) -> TwoToThe:
        if base != 1 or self.kind != "integer":
            raise NotPolynomial("the meaning shifts by an unknown number")
        return TwoToThe(self.poly)

    def __rpow__(self, base: int) -> TwoToThe:
        if base != 2 or self.kind != "integer":
            raise NotPolynomial("the meaning raises to an unknown power")
        return TwoToThe(self.poly)

    def __mod__(self, modulus: int) -> Any:
        if modulus == self.context.modulus:
            return Symbolic(self.context, self.poly, self.kind if self.kind == "power" else "least", self.count)
        if modulus == 2 and self.kind == "least":
            return Parity(self.poly)
        if self.kind == "integer" and modulus > 0 and modulus & (modulus - 1) == 0:
            return Symbolic(self.context, self.context.split(self.poly, modulus.bit_length() - 1)[0], "integer")
        raise NotPolynomial(f"the meaning reduces modulo {modulus}")

    def __pow__(self, exponent: Any, modulus: int | None = None) -> Symbolic:
        if modulus is not None and modulus != self.context.modulus:
            raise NotPolynomial(f"the meaning reduces modulo {modulus}")
        if isinstance(exponent, TwoToThe):
            return Symbolic(self.context, self.plain, "power", exponent.count)
        if not isinstance(exponent, int) or not 0 <= exponent <= 64:
            raise NotPolynomial("the meaning raises to a power that is not small")
        result = Poly.of(1)
        for _ in range(exponent):
            result = result * self.plain
        kind: Kind = "integer" if self.kind == "integer" and modulus is None else "residue"
        return Symbolic(self.context, result, kind)

    def __rshift__(self, k: int) -> Symbolic:
        if self.kind != "integer":
            raise NotPolynomial("the meaning shifts a residue down")
        return Symbolic(self.context, self.context.split(self.poly, k)[1], "integer")

    def __floordiv__(self, divisor: int) -> Symbolic:
        if not isinstance(divisor, int) or divisor <= 0 or divisor & (divisor - 1):
            raise NotPolynomial("the meaning divides by something other than a power of two")
        return self >> divisor.bit_length() - 1

    def _bits(self, other: Any, function: Callable[[Poly, Poly], Poly]) -> Symbolic:
        polys = [Poly.of(int(each)) if isinstance(each, int) else each.plain for each in (self, other)]
        known = [self.context.interval(poly) for poly in polys]
        if self.kind != "integer" or any(each.low < 0 or each.high > 1 for each in known):
            raise NotPolynomial("the meaning combines bits of numbers")
        return self._with(other, function)

    def __and__(self, other: Any) -> Symbolic:
        return self._bits(other, lambda x, y: x * y)

    def __or__(self, other: Any) -> Symbolic:
        return self._bits(other, lambda x, y: x + y - x * y)

    def __xor__(self, other: Any) -> Symbolic:
        return self._bits(other, lambda x, y: x + y - x * y * 2)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def _at_most(self, most: Any) -> bool:
        if self.kind != "integer" or not isinstance(most, int):
            raise NotPolynomial("the meaning compares residues")
        known = self.context.interval(self.poly)
        if known.high <= most:
            return True
        if known.low > most:
            return False
        raise NeedsCase(self.poly, most)

    def __le__(self, other: Any) -> bool:
        return self._at_most(other)

    def __lt__(self, other: Any) -> bool:
        return self._at_most(other - 1)

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __bool__(self) -> bool:
        return self._at_most(0) is False

    def __eq__(self, other: object) -> Any:
        if self.kind == "least" and isinstance(other, int) and other == 0:
            return ZeroTest(self.poly)
        return int(self) == other

    def __hash__(self) -> int:
        raise NotPolynomial("the meaning looks an unknown number up")

    def __index__(self) -> int:
        """The integer, where there is one only; halves of its range are cases."""
        if self.kind != "integer":
            raise NotPolynomial("the meaning asks for the value of a residue")
        known = self.context.interval(self.poly)
        if known.width == 0:
            return known.low
        raise NeedsCase(self.poly, (known.low + known.high) // 2)

    __int__ = __index__


Wanted = Symbolic | ZeroTest | Parity | EvenOf


def results(context: Context, made: Any, count: int) -> Sequence[Wanted]:
    """The results of a meaning, one for each result of the kernel."""
    values = made if isinstance(made, (tuple, list)) else (made,)
    if len(values) != count:
        raise NotPolynomial(f"the meaning gives {len(values)} values for {count} results")
    return [_wanted(context, value) for value in values]


def _wanted(context: Context, value: Any) -> Wanted:
    if isinstance(value, (Symbolic, ZeroTest, Parity, EvenOf)):
        return value
    return Symbolic(context, Poly.of(int(value)), "integer")
