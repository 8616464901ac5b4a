"""What is proven of exact integers: polynomials over inputs, floors and bits, and intervals that always hold.

A `Space` owns the atoms. An atom is an input, or floor(P / 2^k) of a polynomial P over older atoms; a bit [P >= 0] is
such a floor too. Floors have one form: coefficients nearest to zero modulo 2^k, no common power of two, no floor
inside, the first sign positive; bits are told apart by what they compare. So equal carries are one atom, and the low
word that Montgomery's reduction makes zero is zero by its coefficients alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from asmgen.errors import AsmgenError
from asmgen.knowledge import WITNESSES, Atom, Case, Impossible, Knowledge, Question, lengths
from asmgen.polynomial import ZERO, Interval, Monomial, Poly, below, integer_text, point

__all__ = ["Case", "Impossible", "Interval", "Monomial", "Poly", "Space", "lengths"]


class Space(Knowledge):
    """The atoms of one computation and everything known of them.

    Inputs enter by `atom` and `word_atoms`; `split`, `divide`, `at_least` and `select` make polynomials over them that
    are exact for all inputs; `interval` bounds any polynomial.
    """

    def __init__(self) -> None:
        super().__init__([], [[] for _ in range(WITNESSES)])
        self._floors: dict[tuple[Poly, int], Poly] = {}
        self._bits: dict[Poly, Poly] = {}
        self._two_valued: dict[Monomial, dict[Poly, tuple[Poly, int]]] = {}
        self._random = Random(20260401)

    # Inputs.

    def atom(self, name: str, low: int, high: int, multiple_of: int = 1) -> Poly:
        """An input: any multiple of `multiple_of` in [low, high]."""
        interval = Interval(low, high).divided(multiple_of)
        if interval.empty:
            raise AsmgenError(f"{name} has no possible value in [{low}, {high}]")
        witnesses = [*interval, *(self._random.randint(*interval) for _ in range(WITNESSES - 2))]
        return self._add_atom(Atom(name, None, 0), interval, witnesses) * multiple_of

    def word_atoms(self, name: str, high: int, widths: Sequence[int]) -> tuple[Poly, list[Poly]]:
        """An input in [0, high] that is one atom, and its exact digits of the given widths in bits, lowest first."""
        if high >> sum(widths):
            raise AsmgenError(f"{name} may be {integer_text(high)}, which does not fit in {sum(widths)} bits")
        rest = value = self.atom(name, 0, high)
        limbs = []
        for width in widths[:-1]:
            limb, rest = self.split(rest, width)
            limbs.append(limb)
        return value, [*limbs, rest]

    def learn(self, poly: Poly, interval: Interval) -> None:
        """Take it as known that `poly` lies in `interval`: a fact that other bounds may rest on. It must be true."""
        try:
            super().learn(poly, interval)
        except Impossible:
            raise AsmgenError(f"{self.explain(poly)} cannot be in {_interval_text(interval)}") from None
        self._keep_witnesses(poly, interval)

    def _add_atom(self, atom: Atom, interval: Interval, witnesses: Sequence[int]) -> Poly:
        number = len(self._atoms)
        self._atoms.append(atom)
        self._ranges[number] = interval
        for values, value in zip(self._witnesses, witnesses, strict=True):
            values.append(value)
        return Poly.atom(number)

    # Floors.

    def split(self, poly: Poly, k: int) -> tuple[Poly, Poly]:
        """(low, high) with poly = low + 2^k * high and 0 <= low < 2^k, exactly."""
        high = self.floor(poly, k)
        low = self._simplify(poly) - (high << k)
        if low.constant is None:
            super().learn(low, below(k))
        return low, high

    def floor(self, poly: Poly, k: int) -> Poly:
        """floor(poly / 2^k): constant or affine in one bit where bounds allow, otherwise a sum of floors."""
        poly = self._simplify(poly)
        interval = self.interval(poly, view=lambda seen: lengths(seen.shifted(k)))
        if interval.low >> k == interval.high >> k:
            return Poly.of(interval.low >> k)
        core, factor, constant = poly.normal
        two = self._known[core]
        if two.width == 1:
            least, most = ((factor * value + constant) >> k for value in two)
            return (core - two.low) * (most - least) + least
        high = self._floor(poly, k)
        values = interval.shifted(k)
        super().learn(high, values)
        if values.width == 1 and high.constant is None and _affine(high) is None:
            self._two_valued.setdefault(max(high.terms), {})[high - values.low] = poly - (values.low << k), k
        return high

    def _floor(self, poly: Poly, k: int) -> Poly:
        """Canonical form: coefficients modulo 2^k, no common power of two, no floor inside, leading sign positive."""
        whole = ZERO
        while True:
            residue, multiple = _reduce(poly, k)
            whole += multiple
            if residue.constant is not None:
                return whole + (residue.constant >> k)
            factor = abs(residue.normal.factor)
            twos = (factor & -factor).bit_length() - 1
            if twos:
                k -= twos
                poly = _shift_down(residue, twos)
                continue
            inner = self._unit_floor(residue)
            if inner is None:
                break
            poly, shift = inner
            k += shift
        if residue.normal.factor < 0:
            residue, multiple = _reduce(-residue - 1, k)
            return whole - multiple - 1 - self._floor_atom(residue, k)
        return whole + self._floor_atom(residue, k)

    def _floor_atom(self, poly: Poly, k: int) -> Poly:
        interval = self.interval(poly, view=lambda seen: lengths(seen.shifted(k))).shifted(k)
        if interval.width == 0:
            return Poly.of(interval.low)
        if interval.width == 1:
            return interval.low + self._bit(poly - (interval.low << k), k)
        found = self._floors.get((poly, k))
        if found is None:
            found = self._floors[poly, k] = self._new_floor(poly, k, interval)
        return found

    def _new_floor(self, poly: Poly, k: int, interval: Interval) -> Poly:
        witnesses = [poly.evaluate(values) >> k for values in self._witnesses]
        atom = self._add_atom(Atom(f"h{len(self._atoms)}", poly, k), interval, witnesses)
        super().learn(poly - (atom << k), below(k))
        return atom

    def _unit_floor(self, poly: Poly) -> tuple[Poly, int] | None:
        """(P, j) with floor(poly / 2^k) = floor(P / 2^(j+k)) for all k, where `poly` has a floor plus or minus once."""
        for monomial in sorted(poly.terms, reverse=True):
            sign = poly.terms[monomial]
            if len(monomial) == 1 and abs(sign) == 1:
                numerator, shift = self._atoms[monomial[0]].numerator, self._atoms[monomial[0]].shift
                if numerator is not None:
                    rest = poly - Poly({monomial: sign})
                    rounded = numerator if sign > 0 else (1 << shift) - 1 - numerator
                    return rounded + (rest << shift), shift
        return None

    # Bits.

    def at_least(self, poly: Poly, m: int) -> Poly:
        """The bit [poly >= m]: constant where the bounds decide."""
        poly = self._simplify(poly) - m
        interval = self.interval(poly, view=lambda seen: Interval(seen.low >= 0, seen.high >= 0))
        if interval.low >= 0 or interval.high < 0:
            return Poly.of(int(interval.low >= 0))
        k = max(interval.high, -interval.low - 1).bit_length()
        return self._bit(poly + (1 << k), k)

    def _bit(self, numerator: Poly, k: int) -> Poly:
        """floor(numerator / 2^k), known to be 0 or 1; two that compare the same share their atom."""
        comparison = numerator - (1 << k)
        while True:
            core, factor, constant = comparison.normal
            comparison = core * (1 if factor > 0 else -1) + constant // abs(factor)
            inner = self._unit_floor(comparison)
            if inner is None:
                break
            comparison = inner[0]
        if comparison.constant is not None:
            return Poly.of(int(comparison.constant >= 0))
        inverted = comparison.normal.factor < 0
        if inverted:
            comparison = -comparison - 1
        bit = self._bits.get(comparison)
        if bit is None:
            if inverted:
                numerator = (1 << (k + 1)) - 1 - numerator
            bit = self._bits[comparison] = self._new_floor(numerator, k, Interval(0, 1))
        return 1 - bit if inverted else bit

    def select(self, bit: Poly, x: Poly, y: Poly) -> Poly:
        """x where the bit is 1, y where it is 0."""
        bit = self.as_bit(bit)
        if bit.constant is not None:
            return x if bit.constant else y
        bounds = []
        try:
            one = self.under(bit, 1)
            x = one._simplify(x)
            bounds.append(one.interval(x))
        except Impossible:
            return y
        try:
            zero = self.under(bit, 0)
            y = zero._simplify(y)
            bounds.append(zero.interval(y))
        except Impossible:
            return x
        result = self._simplify(y + bit * (x - y))
        super().learn(result, bounds[0].join(bounds[1]))
        return result

    def as_bit(self, poly: Poly) -> Poly:
        """The same value, known to be 0 or 1, as a constant, a bit, or one less a bit."""
        if not self.interval(poly, below(1)).within(below(1)):
            raise AsmgenError(f"a bit is needed, but the value may lie in {_interval_text(self.interval(poly))}")
        if poly.constant is not None or _affine(poly):
            return poly
        bit = self.at_least(poly, 1)
        super().learn(poly - bit, point(0))
        return bit

    def under(self, poly: Poly, value: int) -> Case:
        """What is known where `poly` has the given value; Impossible when it is proven never to have it."""
        return self._case(self, poly, value)

    def interval_under(self, poly: Poly, values: Mapping[Poly, int]) -> Interval:
        """The interval of `poly` where others have given values."""
        case: Knowledge = self
        for other, value in values.items():
            case = self._case(case, other, value)
        return case.interval(poly)

    def _case(self, outside: Knowledge, poly: Poly, value: int) -> Case:
        """Few values are told apart by an atom of their own, so that what follows from it is seen."""
        if _affine(poly) is None and self.interval(poly).within(below(1)):
            poly = self.as_bit(poly)
        affine = _affine(poly)
        if affine is None:
            return Case(outside, {}, [(poly, point(value))])
        atom, factor, constant = affine
        quotient, rest = divmod(value - constant, factor)
        if rest:
            raise Impossible
        return Case(outside, {atom: quotient})

    def _by_cases(self, question: Question, best: Interval) -> Interval:
        """Also split on carries that are sums of floors, by a bit in place of the newest floor."""
        best = super()._by_cases(question, best)
        core = question.core
        for newest in list(core.terms):
            for carry, (total, k) in self._two_valued.get(newest, {}).items():
                if question.answered_by(best):
                    return best
                factor, rest = divmod(core.terms[newest], carry.terms[newest])
                if not rest:
                    equal = self._bit(total, k) - carry
                    super().learn(equal, point(0))
                    best = self._split_on_atoms(core + equal * factor, question, best)
        return best

    # Exact division.

    def divide(self, poly: Poly, m: int) -> Poly | None:
        """poly / m when it is proven to be an integer for all inputs, otherwise None.

        Proven by coefficients modulo m, or because what is left of them is bounded to be a multiple of m.
        """
        poly = self._simplify(poly)
        residue = Poly({monomial: r for monomial, c in poly.terms.items() if (r := _nearest(c, m))})
        rest = self.interval(residue, view=_is_point)
        if rest.width == 0 and rest.low % m == 0:
            return (poly - residue + rest.low).exact_quotient(m)
        if m & (m - 1) == 0:
            low, high = self.split(poly, m.bit_length() - 1)
            if self.interval(low, view=_is_point) == (0, 0):
                return high
        return None

    # For people and for tests.

    def assignment(self, inputs: Mapping[int, int]) -> dict[int, int]:
        """The values of all atoms, given those of the input atoms by number."""
        values: dict[int, int] = {}
        for number, atom in enumerate(self._atoms):
            if atom.numerator is None:
                values[number] = inputs[number]
            else:
                values[number] = atom.numerator.evaluate(values) >> atom.shift
        return values

    def evaluate(self, poly: Poly, inputs: Mapping[int, int]) -> int:
        """The value of `poly`, given those of the input atoms by number."""
        return poly.evaluate(self.assignment(inputs))

    def linear(self, poly: Poly) -> bool:
        """Whether it is a sum of multiples of inputs."""
        return all(len(m) <= 1 and all(self._atoms[atom].numerator is None for atom in m) for m in poly.terms)

    def define(self, atom: Poly) -> str:
        """What an atom stands for."""
        affine = _affine(atom)
        if affine is None:
            return self.explain(atom)
        number = affine[0]
        name, numerator, shift = self._atoms[number]
        if numerator is None:
            return f"{name} in {_interval_text(self._range(number))}"
        return f"{name} = floor(({numerator.text(self._name)}) / 2^{shift}) in {_interval_text(self._range(number))}"

    def explain(self, poly: Poly) -> str:
        """A polynomial and what its atoms stand for."""
        lines = [poly.text(self._name)]
        lines += [f"  where {self.define(Poly.atom(a))}" for a in poly.atoms]
        return "\n".join(lines)

    def _name(self, atom: int) -> str:
        return self._atoms[atom].name


def _affine(poly: Poly) -> tuple[int, int, int] | None:
    """(atom, factor, constant) when `poly` is factor * atom + constant."""
    core, factor, constant = poly.normal
    if len(core) == 1:
        (monomial,) = core.terms
        if len(monomial) == 1:
            return monomial[0], factor, constant
    return None


def _reduce(poly: Poly, k: int) -> tuple[Poly, Poly]:
    """(residue, multiple) with poly = residue + 2^k * multiple, coefficients of the residue nearest to zero."""
    modulus = 1 << k
    residue: dict[Monomial, int] = {}
    multiple: dict[Monomial, int] = {}
    for monomial, coefficient in poly.terms.items():
        rest = _nearest(coefficient, modulus) if monomial else coefficient % modulus
        if rest:
            residue[monomial] = rest
        if rest != coefficient:
            multiple[monomial] = (coefficient - rest) >> k
    return Poly(residue), Poly(multiple)


def _shift_down(poly: Poly, k: int) -> Poly:
    """Every coefficient divided by 2^k, the constant rounded down."""
    return Poly({monomial: c >> k for monomial, c in poly.terms.items() if c >> k})


def _nearest(value: int, m: int) -> int:
    """The residue of a value modulo m that is nearest to zero."""
    rest = value % m
    return rest - m if 2 * rest > m else rest


def _is_point(interval: Interval) -> Interval:
    """The view in which it matters whether there is more than one value."""
    return interval if interval.width == 0 else below(1)


def _interval_text(interval: Interval) -> str:
    return f"[{integer_text(interval.low)}, {integer_text(interval.high)}]"
