"""Points of a curve y^2 = x^3 + a x + b by generated field routines: triples (x : y : z), one addition for all cases.

The formulas are those of theorem 1 in J. Renes, C. Costello, L. Batina, Complete addition formulas for prime order
elliptic curves (EUROCRYPT 2016): doubling, the point at infinity and opposite points need no cases of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calculator import Calculator, Number

Point = tuple[int, int, int]
"""The places of x, y and z."""


@dataclass(frozen=True)
class Curve:
    """y^2 = x^3 + a x + b modulo `p`, and a point of order `n` on it."""

    p: int
    a: int
    b: int
    n: int
    base: tuple[int, int]


P256 = Curve(
    2**256 - 2**224 + 2**192 + 2**96 - 1,
    -3,
    0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B,
    0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
    (
        0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
        0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
    ),
)
SECP256K1 = Curve(
    2**256 - 2**32 - 977,
    0,
    7,
    0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141,
    (
        0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
        0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
    ),
)


class Group:
    """The points of a curve, over the routines of its field."""

    def __init__(self, curve: Curve, calculator: Calculator) -> None:
        assert calculator.field.modulus == curve.p
        self.curve, self.calculator = curve, calculator
        self._a, self._b, self._b3 = (calculator.put(x) for x in (curve.a, curve.b, 3 * curve.b))
        self._one = calculator.put(1)
        self._zero = self._new(0, 1, 0)
        self.base, self.key, self._sum, self._total = self._new(*curve.base, 1), self._new(), self._new(), self._new()
        self._clear = self._moved(self._total, self._zero)
        self._double = self._added(self._total, self._total, self._total)
        # What is added to the total for a bit of one scalar, of the other, of both.
        self._add = {key: self._added(self._total, self._total, point)
                     for key, point in (((1, 0), self.base), ((0, 1), self.key), ((1, 1), self._sum))}  # fmt: skip
        self._sums = self._added(self._sum, self.base, self.key)
        tape = calculator.tape()
        x, y, a, b = tape.numbers((*self.key[:2], self._a, self._b))
        self._sides = [calculator.place(), calculator.place()]
        tape.keep(self._sides, [y.squared(), (x.squared() + a) * x + b])
        self._equation = tape.code
        tape = calculator.tape()
        x, _, z = tape.numbers(self._total)
        self._affine = calculator.place()
        tape.keep([self._affine], [x * tape.call("invert", z.place)])
        self._division = tape.code

    def _new(self, *residues: int) -> Point:
        x, y, z = (self.calculator.put(x) for x in residues or (0, 1, 0))
        return x, y, z

    def _moved(self, to: Point, point: Point) -> bytes:
        tape = self.calculator.tape()
        tape.keep(to, tape.numbers(point))
        return tape.code

    def _added(self, to: Point, left: Point, right: Point) -> bytes:
        """to = left + right."""
        tape = self.calculator.tape()
        a, b3 = tape.numbers((self._a, self._b3))
        tape.keep(to, total(tape.numbers(left), tape.numbers(right), a, b3))
        return tape.code

    def take(self, x: bytes, y: bytes) -> bool:
        """Make `key` the point of these coordinates; whether both are canonical and it is on the curve."""
        calculator = self.calculator
        if not (calculator.decode(x, self.key[0]) and calculator.decode(y, self.key[1])):
            return False
        calculator.do(self._moved((self.key[2],) * 3, (self._one,) * 3) + self._equation)  # type: ignore[arg-type]
        return calculator.bit("equal", [], *self._sides) == 1

    def take_compressed(self, x: bytes, odd: int) -> bool:
        """Make `key` the point with this coordinate whose other one is odd or not; whether there is one."""
        calculator = self.calculator
        if not calculator.decode(x, self.key[0]):
            return False
        calculator.do(self._equation)
        root = self.key[1]
        if not calculator.bit("sqrt", [root], self._sides[1]):
            return False
        y = int.from_bytes(calculator.encode(root), "big")
        return self.take(x, (y if y % 2 == odd else -y % self.curve.p).to_bytes(len(x), "big"))

    def multiply(self, scalar: int, other: int = 0) -> bytes | None:
        """The coordinate x of other * base + scalar * key, None at infinity: one doubling a bit, and one addition where
        either number has the bit."""
        parts = [self._sums, self._clear]
        for at in reversed(range(max(scalar.bit_length(), other.bit_length()))):
            bits = other >> at & 1, scalar >> at & 1
            parts += [self._double, self._add[bits]] if any(bits) else [self._double]
        calculator = self.calculator
        calculator.do(b"".join(parts))
        if calculator.bit("is_zero", [], self._total[2]):
            return None
        calculator.do(self._division)
        return calculator.encode(self._affine)


def total(left: Sequence[Number], right: Sequence[Number], a: Number, b3: Number) -> list[Number]:
    """The sum of two points, b3 being 3 b."""
    (x1, y1, z1), (x2, y2, z2) = left, right
    xx, yy, zz = x1 * x2, y1 * y2, z1 * z2
    xy, xz, yz = x1 * y2 + x2 * y1, x1 * z2 + x2 * z1, y1 * z2 + y2 * z1
    middle = a * xz + b3 * zz
    minus, plus = yy - middle, yy + middle
    azz = a * zz
    slope = xx + xx + xx + azz
    rest = b3 * xz + a * (xx - azz)
    return [xy * minus - yz * rest, slope * rest + plus * minus, yz * plus + xy * slope]
