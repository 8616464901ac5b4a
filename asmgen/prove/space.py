"""What is known in one case: a space in which bits are decided; what has no value, and what no proof can follow."""

from __future__ import annotations

from typing import Any, NoReturn

from asmgen.bounds import Interval, Poly, Space
from asmgen.knowledge import View
from asmgen.polynomial import below, point
from asmgen.prove import leaves


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
    """A space in which some bits are decided: the case that is looked at. Bits go by the number of their atom.

    While it is not `patient`, floors that plain intervals show to have two values are not looked into, and none while
    it is `simple`. Nothing is looked into after the `deadline`; goals are asked about in so many `tries`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.patient = True
        self.simple = False
        self.deadline = float("inf")
        self.tries = len(leaves.TRIES)
        self.decided: dict[int, int] = {}
        self._settled: set[int] = set()

    def fork(self) -> CaseSpace:
        """A copy that learns for itself."""
        other = CaseSpace()
        vars(other).update({name: _copied(value) for name, value in vars(self).items()})
        return other

    def interval(
        self, poly: Poly, enough: Interval | None = None, known: Interval | None = None, view: View | None = None
    ) -> Interval:
        if view is not None and self._depth == 0 and (self.simple or not self.patient):
            quick = self._quick(poly)
            if self.simple or view(quick).width <= 1:
                return quick
        return super().interval(poly, enough, known, view)

    def _floor_atom(self, poly: Poly, k: int) -> Poly:
        """What lies wholly below some bit of all the rest does not matter."""
        twos = sorted({(c & -c).bit_length() - 1 for c in poly.coefficients})
        for j in twos[1:]:
            if j > k:
                break
            low = self._plain({m: c for m, c in poly.terms.items() if c & ((1 << j) - 1)})
            if low.low >> j == low.high >> j:
                rest = Poly({m: c >> j for m, c in poly.terms.items() if not c & ((1 << j) - 1)})
                return self._floor(rest + (low.low >> j), k - j)
        return super()._floor_atom(poly, k)

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
            self.look_again()
        return bit.substitute({atom: value})

    def look_again(self) -> None:
        """Bounds that were not better before may be now, as something new is known."""
        self._effort.clear()


def _copied(value: Any) -> Any:
    """Containers are copied all the way down; what they hold never changes."""
    if type(value) is dict:
        return {key: _copied(each) for key, each in value.items()}
    if type(value) is list:
        return [_copied(each) for each in value]
    return set(value) if type(value) is set else value
