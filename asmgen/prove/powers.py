"""Residues modulo a prime that calls make of each other: sums of products of powers, whatever the exponents.

What a meaning asks of residues is answered in a *case*: of every unknown it says whether it is zero and, if it is
not, what its power (p - 1) / d is, one of the d-th roots of one by Fermat's theorem. So x^e is a root of one times a
power below (p - 1) / d, and candidates for square roots become equal or opposite. Which of two opposite residues is
odd is a case of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from asmgen.prove.residues import NotPolynomial

Powers = tuple[tuple[str, int], ...]
"""Unknowns with their exponents, by name; () is one."""

Terms = Mapping[Powers, int]

#: Roots of one that are told apart.
DEGREE = 4

#: Powers of sums that are multiplied out.
SMALL = 64


class NeedsUnknowns(Exception):
    """The answer depends on what the unknowns are: cases are needed."""


class NeedsParity(Exception):
    """The answer depends on whether a residue is odd."""

    def __init__(self, residue: tuple[tuple[Powers, int], ...]) -> None:
        super().__init__("a residue's parity is asked for")
        self.residue = residue


@dataclass(frozen=True)
class Case:
    """The prime, what is assumed of unknowns (0, or the root of one that their power (p - 1) / d is), and which
    residues are odd."""

    p: int
    known: Mapping[str, int] = field(default_factory=dict)
    odd: Mapping[tuple[tuple[Powers, int], ...], bool] = field(default_factory=dict)

    @property
    def degree(self) -> int:
        """d: the largest power of two up to DEGREE that divides p - 1."""
        return min(DEGREE, (self.p - 1) & (1 - self.p))

    def simplified(self, powers: Powers, coefficient: int) -> tuple[Powers, int]:
        """coefficient * powers, as this case has it."""
        kept = []
        step = (self.p - 1) // self.degree
        for name, exponent in powers:
            if name not in self.known:
                kept.append((name, exponent))
                continue
            root = self.known[name]
            coefficient = coefficient * pow(root, exponent // step, self.p) % self.p
            if exponent % step:
                kept.append((name, exponent % step))
        return tuple(kept), coefficient

    def splits(self, names: list[str]) -> Iterator[Case]:
        """One case for each way that the unknowns can be."""
        if not names:
            yield self
            return
        roots = sorted(root for root in _roots(self.p, self.degree))
        for value in (0, *roots):
            yield from Case(self.p, {**self.known, names[0]: value}, self.odd).splits(names[1:])


def _roots(p: int, degree: int) -> set[int]:
    """The d-th roots of one, d a power of two that divides p - 1."""
    found = {1}
    for base in range(2, 100):
        root = pow(base, (p - 1) // degree, p)
        found = {pow(root, power, p) for power in range(degree)}
        if len(found) == degree:
            return found
    raise NotPolynomial("no root of one was found: the modulus may be no prime")


class Residue:
    """A residue modulo the prime of a case."""

    __slots__ = ("case", "terms")

    def __init__(self, case: Case, terms: Terms) -> None:
        self.case = case
        made: dict[Powers, int] = {}
        for powers, coefficient in terms.items():
            if any(case.known.get(name) == 0 for name, _ in powers):
                continue
            rest, factor = case.simplified(powers, coefficient)
            made[rest] = (made.get(rest, 0) + factor) % case.p
        self.terms: Terms = {powers: made[powers] for powers in sorted(made) if made[powers]}

    @staticmethod
    def unknown(case: Case, name: str) -> Residue:
        return Residue(case, {((name, 1),): 1})

    def _of(self, other: Any) -> Terms:
        if isinstance(other, Residue):
            return other.terms
        if isinstance(other, int):
            return {(): other}
        raise NotPolynomial(f"the meaning computes with {other!r}")

    def __add__(self, other: Any) -> Residue:
        terms = dict(self.terms)
        for powers, coefficient in self._of(other).items():
            terms[powers] = terms.get(powers, 0) + coefficient
        return Residue(self.case, terms)

    def __mul__(self, other: Any) -> Residue:
        terms: dict[Powers, int] = {}
        others = self._of(other)
        for one, factor in self.terms.items():
            for two, coefficient in others.items():
                both = dict(one)
                for name, exponent in two:
                    both[name] = both.get(name, 0) + exponent
                powers = tuple(sorted(both.items()))
                terms[powers] = terms.get(powers, 0) + factor * coefficient
        return Residue(self.case, terms)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Residue:
        return self * -1

    def __sub__(self, other: Any) -> Residue:
        return self + Residue(self.case, self._of(other)) * -1

    def __rsub__(self, other: Any) -> Residue:
        return Residue(self.case, self._of(other)) - self

    def __pow__(self, exponent: Any, modulus: int | None = None) -> Residue:
        if not isinstance(exponent, int) or exponent < 0 or modulus not in (None, self.case.p):
            raise NotPolynomial("the meaning raises to a power that is not understood")
        if exponent == 0:
            return Residue(self.case, {(): 1})
        if len(self.terms) <= 1:
            made = {
                tuple((name, each * exponent) for name, each in powers): pow(coefficient, exponent, self.case.p)
                for powers, coefficient in self.terms.items()
            }
            return Residue(self.case, made)
        if exponent > SMALL:
            raise NotPolynomial("the meaning raises a sum to a large power")
        result = self
        for _ in range(exponent - 1):
            result = result * self
        return result

    def __mod__(self, modulus: int) -> Residue | int:
        if modulus == self.case.p:
            return self
        if modulus == 2:
            return self._parity()
        raise NotPolynomial(f"the meaning reduces modulo {modulus}")

    def _parity(self) -> int:
        """The lowest bit of what it is in 0..p - 1: opposite residues other than 0 have opposite ones, as p is odd."""
        if not self.terms:
            return 0
        if set(self.terms) == {()}:
            return self.terms[()] % 2
        if not self:  # raises NeedsUnknowns where it is not known whether it is zero
            return 0
        key, opposite = tuple(self.terms.items()), tuple((-self).terms.items())
        least = min(key, opposite)
        if least not in self.case.odd:
            raise NeedsParity(least)
        return int(self.case.odd[least] == (least == key))

    def __bool__(self) -> bool:
        """Whether it is not zero."""
        if not self.terms or set(self.terms) == {()}:
            return bool(self.terms)
        names = {name for powers in self.terms for name, _ in powers}
        if len(self.terms) == 1 and names <= self.case.known.keys():
            return True  # a product of what is not zero
        raise NeedsUnknowns

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Residue, int)):
            return NotImplemented
        return not bool(self - other)

    def __hash__(self) -> int:
        raise NotPolynomial("the meaning looks an unknown number up")

    def same(self, other: Any) -> bool:
        """Whether the two are equal by their terms alone."""
        return not (self - other).terms
