"""Exact integer polynomials over atoms, and intervals of integers.

An atom is an unknown integer with a number; what the number stands for is known to `bounds.Space` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from math import gcd
from typing import NamedTuple

Monomial = tuple[int, ...]
"""Atoms of a product, in ascending order, repeated for powers; () is the constant one."""


class Interval(NamedTuple):
    """All integers from `low` to `high`, both included."""

    low: int
    high: int

    @property
    def width(self) -> int:
        """One less than the number of integers inside."""
        return self.high - self.low

    def join(self, other: Interval) -> Interval:
        """The smallest interval that holds both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def meet(self, other: Interval) -> Interval:
        """What lies in both; empty (low above high) when nothing does."""
        return Interval(max(self.low, other.low), min(self.high, other.high))

    @property
    def empty(self) -> bool:
        return self.low > self.high

    def within(self, other: Interval) -> bool:
        """Whether every integer inside is inside `other` too."""
        return other.low <= self.low and self.high <= other.high

    def holds(self, value: int) -> bool:
        return self.low <= value <= self.high

    def plus(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def minus(self, other: Interval) -> Interval:
        return Interval(self.low - other.high, self.high - other.low)

    def times(self, other: Interval) -> Interval:
        if self.low >= 0 and other.low >= 0:
            return Interval(self.low * other.low, self.high * other.high)
        corners = (
            self.low * other.low,
            self.low * other.high,
            self.high * other.low,
            self.high * other.high,
        )
        return Interval(min(corners), max(corners))

    def scaled(self, factor: int, offset: int = 0) -> Interval:
        """The interval of factor * x + offset."""
        low, high = factor * self.low + offset, factor * self.high + offset
        return Interval(low, high) if factor >= 0 else Interval(high, low)

    def divided(self, factor: int, offset: int = 0) -> Interval:
        """The integers x with factor * x + offset inside; factor is not zero."""
        low, high = self.low - offset, self.high - offset
        if factor < 0:
            low, high, factor = -high, -low, -factor
        return Interval(-(-low // factor), high // factor)

    def shifted(self, k: int) -> Interval:
        """The interval of floor(x / 2^k)."""
        return Interval(self.low >> k, self.high >> k)


def point(value: int) -> Interval:
    """The interval that holds `value` alone."""
    return Interval(value, value)


def below(k: int) -> Interval:
    """The interval [0, 2^k - 1]."""
    return Interval(0, (1 << k) - 1)


class Normal(NamedTuple):
    """A polynomial written as factor * core + constant.

    The core has no constant, its coefficients have no common factor, and the one of its first monomial is positive:
    polynomials that say the same about the same quantity share it. A constant has core 0 and factor 1.
    """

    core: Poly
    factor: int
    constant: int


class Poly:
    """An integer polynomial in canonical form: monomial -> coefficient that is not zero. Never changed once made."""

    __slots__ = ("_hash", "_normal", "terms")

    terms: Mapping[Monomial, int]

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        """Takes `terms` as it is: monomials sorted, no zero coefficient, not changed afterwards."""
        self.terms = terms
        self._hash: int | None = None
        self._normal: Normal | None = None

    @staticmethod
    def of(value: int) -> Poly:
        """The constant polynomial."""
        return Poly({(): value} if value else {})

    @staticmethod
    def atom(number: int) -> Poly:
        """The polynomial that is one atom."""
        return Poly({(number,): 1})

    @staticmethod
    def sum(parts: Iterable[Poly]) -> Poly:
        """The sum of many, without making the sums in between."""
        total: dict[Monomial, int] = {}
        for part in parts:
            add_scaled(total, part.terms, 1)
        return Poly(total)

    @property
    def constant(self) -> int | None:
        """The value if it is the same for all atoms, otherwise None."""
        if not self.terms:
            return 0
        return self.terms.get(()) if len(self.terms) == 1 else None

    @property
    def coefficients(self) -> tuple[int, ...]:
        """All coefficients, the constant's included."""
        return tuple(self.terms.values())

    @property
    def atoms(self) -> list[int]:
        """The atoms that occur, ascending."""
        return sorted({atom for monomial in self.terms for atom in monomial})

    @property
    def normal(self) -> Normal:
        """This polynomial as factor * core + constant."""
        if self._normal is None:
            self._normal = self._normalize()
        return self._normal

    def _normalize(self) -> Normal:
        constant = self.terms.get((), 0)
        rest = {monomial: c for monomial, c in self.terms.items() if monomial} if constant else self.terms
        if not rest:
            return Normal(ZERO, 1, constant)
        factor = gcd(*rest.values())
        if rest[min(rest)] < 0:
            factor = -factor
        if factor == 1 and not constant:
            return Normal(self, 1, 0)
        core = Poly(rest if factor == 1 else {monomial: c // factor for monomial, c in rest.items()})
        core._normal = Normal(core, 1, 0)
        return Normal(core, factor, constant)

    def mentions(self, atoms: Container[int]) -> bool:
        """Whether one of the atoms occurs."""
        return any(atom in atoms for monomial in self.terms for atom in monomial)

    def evaluate(self, assignment: Mapping[int, int] | Sequence[int]) -> int:
        """The value when each atom has the value given to its number."""
        total = 0
        for monomial, coefficient in self.terms.items():
            for atom in monomial:
                coefficient *= assignment[atom]
            total += coefficient
        return total

    def substitute(self, values: Mapping[int, int]) -> Poly:
        """The polynomial with some atoms replaced by integers."""
        if not self.mentions(values):
            return self
        result: dict[Monomial, int] = {}
        for monomial, coefficient in self.terms.items():
            for atom in monomial:
                coefficient *= values.get(atom, 1)
            add_term(result, tuple(atom for atom in monomial if atom not in values), coefficient)
        return Poly(result)

    def exact_quotient(self, divisor: int) -> Poly | None:
        """This divided by an integer when every coefficient is a multiple of it, otherwise None."""
        if any(c % divisor for c in self.terms.values()):
            return None
        return Poly({monomial: c // divisor for monomial, c in self.terms.items()})

    def __add__(self, other: Poly | int) -> Poly:
        return self._plus(other, 1)

    def __sub__(self, other: Poly | int) -> Poly:
        return self._plus(other, -1)

    def _plus(self, other: Poly | int, sign: int) -> Poly:
        result = dict(self.terms)
        if isinstance(other, int):
            add_term(result, (), sign * other)
        else:
            add_scaled(result, other.terms, sign)
        return Poly(result)

    def __mul__(self, other: Poly | int) -> Poly:
        if isinstance(other, int):
            if other == 1:
                return self
            return Poly({monomial: c * other for monomial, c in self.terms.items()} if other else {})
        result: dict[Monomial, int] = {}
        for monomial, coefficient in self.terms.items():
            add_product(result, other.terms, monomial, coefficient)
        return Poly(result)

    def __radd__(self, other: int) -> Poly:
        return self + other

    def __rsub__(self, other: int) -> Poly:
        return -self + other

    def __rmul__(self, other: int) -> Poly:
        return self * other

    def __neg__(self) -> Poly:
        return Poly({monomial: -c for monomial, c in self.terms.items()})

    def __lshift__(self, k: int) -> Poly:
        return Poly({monomial: c << k for monomial, c in self.terms.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __len__(self) -> int:
        return len(self.terms)

    def __repr__(self) -> str:
        return f"Poly({self.text('x{}'.format)})"

    def text(self, name: Callable[[int], str]) -> str:
        """The polynomial for people, atoms named by `name`: products first, the constant last."""
        text = ""
        for monomial, coefficient in sorted(self.terms.items(), key=lambda term: (-len(term[0]), term[0])):
            factors = [name(atom) for atom in monomial]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, integer_text(abs(coefficient)))
            sign = "-" if coefficient < 0 else "+"
            term = "*".join(factors)
            text = f"{text} {sign} {term}" if text else term if coefficient > 0 else f"-{term}"
        return text or "0"


ZERO = Poly({})


def integer_text(value: int) -> str:
    """An integer for people: powers of two and their neighbors as such."""
    if value < 0:
        return f"-{integer_text(-value)}" if value > -1024 or value.bit_count() == 1 else f"-({integer_text(-value)})"
    if value < 1024:
        return str(value)
    if value.bit_count() == 1:
        return f"2^{value.bit_length() - 1}"
    bits = value.bit_length()
    above, below = (1 << bits) - value, value - (1 << bits - 1)
    if min(above, below) >= 1024:
        return hex(value)
    return f"2^{bits} - {above}" if above <= below else f"2^{bits - 1} + {below}"


def add_term(terms: dict[Monomial, int], monomial: Monomial, coefficient: int) -> None:
    """Add coefficient * monomial to `terms`, in place."""
    total = terms.get(monomial, 0) + coefficient
    if total:
        terms[monomial] = total
    elif monomial in terms:
        del terms[monomial]


def add_scaled(terms: dict[Monomial, int], other: Mapping[Monomial, int], factor: int) -> None:
    """Add factor * other to `terms`, in place."""
    for monomial, coefficient in other.items():
        total = terms.get(monomial, 0) + factor * coefficient
        if total:
            terms[monomial] = total
        else:
            terms.pop(monomial, None)


def add_product(terms: dict[Monomial, int], other: Mapping[Monomial, int], by: Monomial, factor: int) -> None:
    """Add factor * by * other to `terms`, in place."""
    if not by:
        add_scaled(terms, other, factor)
        return
    for monomial, coefficient in other.items():
        product = by + monomial
        if monomial and by[-1] > monomial[0]:
            product = tuple(sorted(product))
        total = terms.get(product, 0) + factor * coefficient
        if total:
            terms[product] = total
        else:
            terms.pop(product, None)
