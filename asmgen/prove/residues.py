"""What a kernel must compute, as polynomials: its meaning run on unknown residues.

A meaning is a function of integers. Sums, differences, products and powers of `Symbolic` values make polynomials;
asking one whether it is true or what its value is makes a `NeedsCase`, and the proof goes through the cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from asmgen.bounds import Poly
from asmgen.prove.domain import Rejected


class NeedsCase(Exception):
    """The meaning depends on which value an input has: a bit, or a small number; `most` is the last case to tell apart."""

    def __init__(self, poly: Poly, most: int) -> None:
        super().__init__(f"the meaning depends on {poly!r}")
        self.poly = poly
        self.most = most


class NotPolynomial(Rejected):
    """The meaning is no polynomial of the inputs."""


@dataclass(frozen=True)
class TwoToThe:
    """2^n for a count n."""

    count: Symbolic

    def __index__(self) -> int:
        raise NotPolynomial("the meaning uses 2^n in a way that is not understood")


@dataclass(frozen=True)
class ZeroTest:
    """The bit [poly is 0 modulo the modulus]."""

    poly: Poly
    modulus: int

    def __bool__(self) -> bool:
        raise NotPolynomial("the meaning depends on whether a residue is zero")


class Symbolic:
    """An integer that is a polynomial; `modulus` is that by which it was reduced, 0 for none.

    `squarings` is a count n where the value is the polynomial to the power 2^n.
    """

    __slots__ = ("modulus", "poly", "squarings")

    def __init__(self, poly: Poly, modulus: int = 0, squarings: Poly | None = None) -> None:
        self.poly = poly
        self.modulus = modulus
        self.squarings = squarings

    def _plain(self) -> Poly:
        if self.squarings is not None:
            raise NotPolynomial("the meaning goes on with a power a^(2^n)")
        return self.poly

    def _made(self, poly: Poly) -> Symbolic:
        return Symbolic(poly)

    def __add__(self, other: Any) -> Symbolic:
        return self._made(self._plain() + _poly(other))

    def __sub__(self, other: Any) -> Symbolic:
        return self._made(self._plain() - _poly(other))

    def __rsub__(self, other: Any) -> Symbolic:
        return self._made(_poly(other) - self._plain())

    def __mul__(self, other: Any) -> Symbolic:
        return self._made(self._plain() * _poly(other))

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Symbolic:
        return self._made(-self._plain())

    def __lshift__(self, k: int) -> Symbolic:
        return self._made(self._plain() << k)

    def __rlshift__(self, base: int) -> Any:
        return TwoToThe(self) if base == 1 else _unknown("shifts by a count")

    def __rpow__(self, base: int) -> Any:
        return TwoToThe(self) if base == 2 else _unknown("raises to the power of a count")

    def __mod__(self, modulus: int) -> Symbolic:
        return Symbolic(self.poly, modulus, self.squarings)

    def __pow__(self, exponent: Any, modulus: int | None = None) -> Symbolic:
        if isinstance(exponent, TwoToThe):
            return Symbolic(self._plain(), modulus or 0, exponent.count.poly)
        if not isinstance(exponent, int) or not 0 <= exponent <= 64:
            raise NotPolynomial(f"the meaning raises to the power {exponent!r}")
        result = Poly.of(1)
        for _ in range(exponent):
            result = result * self._plain()
        return Symbolic(result, modulus or 0)

    def __bool__(self) -> bool:
        if self.poly.constant is not None and self.squarings is None and not self.modulus:
            return bool(self.poly.constant)
        raise NeedsCase(self.poly, 1)

    def _compare(self, other: Any) -> NoReturn:
        if isinstance(other, int) and not self.modulus and self.squarings is None:
            raise NeedsCase(self.poly, other)
        raise NotPolynomial("the meaning compares residues")

    def __lt__(self, other: Any) -> bool:
        if self._known is not None:
            return self._known < int(other)
        self._compare(other - 1 if isinstance(other, int) else other)

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __le__(self, other: Any) -> bool:
        if self._known is not None:
            return self._known <= int(other)
        self._compare(other)

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __eq__(self, other: object) -> Any:
        if self._known is not None and isinstance(other, int):
            return self._known == other
        if self.modulus and self.squarings is None and isinstance(other, int) and other == 0:
            return ZeroTest(self.poly, self.modulus)
        self._compare(other)

    def __hash__(self) -> int:
        return hash(self.poly)

    @property
    def _known(self) -> int | None:
        return None if self.squarings is not None or self.modulus else self.poly.constant

    def __index__(self) -> int:
        if self._known is None:
            raise NeedsCase(self.poly, 0)
        return self._known

    __int__ = __index__


def _unknown(what: str) -> NoReturn:
    raise NotPolynomial(f"the meaning {what}")


def _poly(value: Any) -> Poly:
    if isinstance(value, Symbolic):
        return value._plain()
    if isinstance(value, int):
        return Poly.of(value)
    raise NotPolynomial(f"the meaning computes with {value!r}")


def symbolic(value: Any) -> Symbolic | ZeroTest:
    """A meaning's result, constants too."""
    return value if isinstance(value, (Symbolic, ZeroTest)) else Symbolic(Poly.of(int(value)))


def results(made: Any, count: int) -> Sequence[Symbolic | ZeroTest]:
    """The results of a meaning, one for each result of the kernel."""
    values = made if isinstance(made, (tuple, list)) else (made,)
    if len(values) != count:
        raise NotPolynomial(f"the meaning gives {len(values)} values for {count} results")
    return [symbolic(value) for value in values]
