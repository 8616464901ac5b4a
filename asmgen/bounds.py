"""What is proven of exact integers: polynomials over inputs, floors and bits, and intervals that always hold.

A `Space` owns the atoms. An atom is an input, or floor(P / 2^k) of a polynomial P over older atoms; a bit [P >= 0] is such
a floor too. Everything known is a *fact*: a polynomial and an interval that it never leaves. The low part of every
split is one: 0 <= P - 2^k * floor(P / 2^k) < 2^k.

One idea bounds a polynomial: subtract multiples of facts so that its largest terms cancel, and take plain intervals of
what is left. Cancelling a floor by the fact that defines it is back-substitution; cancelling a term by a fact that has it
among others is a forward chain. `_search` tries both, best first. Where an atom takes few values, `_by_cases` adds
what holds under each value as facts of a `Case`, and joins what follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count, pairwise
from math import gcd
from random import Random
from typing import NamedTuple

from asmgen.errors import AsmgenError
from asmgen.polynomial import ZERO, Interval, Monomial, Poly, add_product, add_term, below, integer_text, point

__all__ = ["Case", "Impossible", "Interval", "Monomial", "Poly", "Space"]

PATIENCE = 10
"""Polynomials looked at without a better bound before a search gives up."""
WORK = 3000
"""Terms of polynomials looked at for one bound at the most, case analysis included."""
PIVOTS = 3
"""Terms, largest first, that a step of the search tries to cancel."""
FEW = 4
"""Values that an atom may take for a case analysis."""
HEAVIER = 32
"""How much further another term of a fact may range than the one that is to be cancelled."""
THOROUGH = 4
"""How much longer a search goes on for a bound that the caller says is not enough."""
WITNESSES = 6
"""Assignments carried along: a bound that a witness attains need not be looked into."""


class Atom(NamedTuple):
    """An input, or floor(numerator / 2^shift)."""

    name: str
    numerator: Poly | None
    shift: int
    witnesses: tuple[int, ...]


class _Witness(Mapping[int, int]):
    """One of the assignments carried along, as a mapping from atom to value."""

    def __init__(self, atoms: list[Atom], index: int) -> None:
        self._atoms = atoms
        self._index = index

    def __getitem__(self, atom: int) -> int:
        return self._atoms[atom].witnesses[self._index]

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self._atoms)))

    def __len__(self) -> int:
        return len(self._atoms)


class _State(NamedTuple):
    """A step of a search: scale * (what is to be bounded) lies in terms + offset; the terms have no constant."""

    terms: Mapping[Monomial, int]
    offset: Interval
    scale: int


class Impossible(Exception):
    """The facts contradict each other: the case cannot happen."""


class Knowledge:
    """Facts, and the bounds that follow from them."""

    def __init__(self, atoms: list[Atom]) -> None:
        self._atoms = atoms
        self._ranges: dict[int, Interval] = {}
        self._products: dict[Monomial, Interval] = {(): point(1)}
        self._known: dict[Poly, Interval] = {ZERO: point(0)}
        self._facts: dict[Monomial, dict[Poly, None]] = {}
        self._effort: dict[Poly, int] = {}
        self._weights: dict[Poly, int] = {}
        self._alive = list(range(WITNESSES))
        self._depth = 0
        self._work = [0]

    def learn(self, poly: Poly, interval: Interval) -> None:
        """Take it as known that `poly` lies in `interval`: a fact that other bounds may rest on. It must be true."""
        core, factor, constant = poly.normal
        if core:
            self._note(core, interval.divided(factor, constant))
            for monomial in core.terms:
                self._facts.setdefault(monomial, {})[core] = None
        elif not interval.holds(constant):
            raise Impossible

    def interval(self, poly: Poly, enough: Interval | None = None, known: Interval | None = None) -> Interval:
        """The best interval proven of `poly`.

        `known` is one that the caller has proven already, from the parts that `poly` was made of say. With `enough` the
        search ends as soon as the bound lies inside it, and tries harder as long as it does not.
        """
        core, factor, constant = self._simplify(poly).normal
        if not core:
            return point(constant)
        if known:
            self._note(core, known.divided(factor, constant))
        target = enough.divided(factor, constant) if enough else None
        if not self._depth:
            self._work[0] = WORK * (1 if enough is None else THOROUGH)
        return self._best(core, target).scaled(factor, constant)

    def _best(self, core: Poly, target: Interval | None) -> Interval:
        effort = 1 if target is None else THOROUGH
        best = self._known_of(core)
        if best and (self._effort.get(core, 0) >= effort or target and best.within(target)):
            return best
        plain = self._plain(core.terms)
        best = self._note(core, plain.meet(best) if best else plain)
        shown = self._shown(core)
        if best == shown:
            self._effort[core] = THOROUGH
            return best
        self._effort[core] = effort
        for side in (1, 0):
            if not shown or best[side] != shown[side]:
                best = self._note(core, self._search(core, side, best, shown, target, effort))
        if best != shown and not (target and best.within(target)) and self._depth < 2:
            best = self._note(core, self._by_cases(core, best, target))
        return best

    # What is known.

    def _note(self, core: Poly, interval: Interval) -> Interval:
        """Meet what is known of a normalized polynomial with one more proven interval."""
        old = self._known_of(core)
        new = interval.meet(old) if old else interval
        if new.empty:
            raise Impossible
        if new != old:
            self._known[core] = new
            if len(core.terms) == 1:
                (monomial,) = core.terms
                if len(monomial) == 1:
                    self._ranges[monomial[0]] = self._range(monomial[0]).meet(new)
                self._products = {(): point(1)}
        return new

    def _range(self, atom: int) -> Interval:
        return self._ranges[atom]

    def _known_of(self, core: Poly) -> Interval | None:
        return self._known.get(core)

    def _facts_with(self, monomial: Monomial) -> Sequence[Poly]:
        return list(self._facts.get(monomial, ()))

    def _facts_on(self, atoms: Mapping[int, int]) -> dict[Poly, None]:
        """The facts in which one of the atoms occurs."""
        found: dict[Poly, None] = {}
        for monomial, facts in self._facts.items():
            if any(atom in atoms for atom in monomial):
                found.update(facts)
        return found

    def _simplify(self, poly: Poly) -> Poly:
        """Powers of a bit are the bit itself."""
        if not any(len(m) > 1 and self._repeats_bit(m) for m in poly.terms):
            return poly
        result: dict[Monomial, int] = {}
        for monomial, coefficient in poly.terms.items():
            if self._repeats_bit(monomial):
                once = [a for a, before in zip(monomial, (None, *monomial)) if a != before or not self._is_bit(a)]
                monomial = tuple(once)
            add_term(result, monomial, coefficient)
        return Poly(result)

    def _is_bit(self, atom: int) -> bool:
        return self._range(atom).within(Interval(0, 1))

    def _repeats_bit(self, monomial: Monomial) -> bool:
        return any(a == b and self._is_bit(a) for a, b in pairwise(monomial))

    def _shown(self, core: Poly) -> Interval | None:
        """From the least to the greatest value that the witnesses show; None when none is left."""
        values = [core.evaluate(_Witness(self._atoms, index)) for index in self._alive]
        return Interval(min(values), max(values)) if values else None

    # Plain intervals.

    def _product(self, monomial: Monomial) -> Interval:
        """The interval of a product of atoms."""
        found = self._products.get(monomial)
        if found is None:
            found = point(1)
            for atom in dict.fromkeys(monomial):
                found = found.times(_power(self._range(atom), monomial.count(atom)))
            if len(monomial) > 1 and (known := self._known_of(Poly({monomial: 1}))):
                found = found.meet(known)
            self._products[monomial] = found
        return found

    def _plain(self, terms: Mapping[Monomial, int]) -> Interval:
        """Each term on its own."""
        low = high = 0
        for monomial, coefficient in terms.items():
            least, most = self._products.get(monomial) or self._product(monomial)
            if coefficient > 0:
                low += coefficient * least
                high += coefficient * most
            else:
                low += coefficient * most
                high += coefficient * least
        return Interval(low, high)

    def _quick(self, poly: Poly) -> Interval:
        """Each term on its own, or what is known of the whole."""
        plain = self._plain(poly.terms)
        core, factor, constant = poly.normal
        known = self._known_of(core)
        return plain.meet(known.scaled(factor, constant)) if known else plain

    # The search.

    def _search(
        self, core: Poly, side: int, best: Interval, shown: Interval | None, target: Interval | None, effort: int
    ) -> Interval:
        """Improve the lower (side 0) or upper (side 1) bound: best first over what remains of `core` after multiples
        of facts are taken away, largest terms first."""
        sign = 1 if side else -1
        hopeless = sign * best[side] + 8 * best.width
        order = count()
        queue = [(0, 0, 0, _State(core.terms, point(0), 1))]
        seen = {core}
        patience = PATIENCE * effort
        while queue:
            for remainder, offset, scale in self._successors(heappop(queue)[3]):
                rest, factor, constant = remainder.normal
                if rest in seen:
                    continue
                seen.add(rest)
                found = self._quick(remainder).plus(offset).divided(scale)
                patience -= 1
                self._work[0] -= len(remainder) * (1 + scale.bit_length() // 256)
                gain = sign * (best[side] - found[side])
                if gain > 0:
                    patience = PATIENCE * effort if gain > best.width >> 6 else patience + 1
                best = best.meet(found)
                if best.empty:
                    raise Impossible
                reached = shown and best[side] == shown[side] or target and sign * best[side] <= sign * target[side]
                if reached or patience <= 0 or self._work[0] <= 0:
                    return best
                if sign * found[side] <= hopeless:
                    common = gcd(factor, scale)
                    offset = offset.divided(common, -constant)
                    state = _State((rest * (factor // common)).terms, offset, scale // common)
                    heappush(queue, (sign * found[side], len(rest), next(order), state))
        return best

    def _successors(self, state: _State) -> Iterator[tuple[Poly, Interval, int]]:
        """What remains when one of the largest terms is cancelled, in every way that facts offer."""
        heaviest = sorted(((abs(c) * self._product(m).width, m) for m, c in state.terms.items()), reverse=True)
        pivots = 0
        for weight, monomial in heaviest:
            helped = False
            for part in _parts(monomial):
                for fact in self._facts_with(part):
                    if self._weight(fact) <= abs(fact.terms[part]) * self._product(part).width * HEAVIER:
                        helped = True
                        yield self._cancel(state, part, fact)
            pivots += helped
            if pivots == PIVOTS or not weight:
                return

    def _weight(self, fact: Poly) -> int:
        """How far the heaviest term of a fact ranges."""
        found = self._weights.get(fact)
        if found is None:
            found = self._weights[fact] = max(abs(c) * self._product(m).width for m, c in fact.terms.items())
        return found

    def _cancel(self, state: _State, part: Monomial, fact: Poly) -> tuple[Poly, Interval, int]:
        """Take a multiple of `fact` away so that its term `part` cancels wherever it divides a term."""
        cofactor: dict[Monomial, int] = {}
        for monomial, coefficient in state.terms.items():
            rest = _without(monomial, part)
            if rest is not None:
                cofactor[rest] = coefficient
        lead = fact.terms[part]
        common = gcd(lead, *cofactor.values())
        scale = abs(lead) // common
        terms = dict(state.terms) if scale == 1 else {m: c * scale for m, c in state.terms.items()}
        multiplier = Poly({m: c // common if lead > 0 else -c // common for m, c in cofactor.items()})
        for monomial, coefficient in multiplier.terms.items():
            add_product(terms, fact.terms, monomial, -coefficient)
        known = self._known_of(fact)
        assert known is not None
        offset = state.offset.scaled(scale).plus(self._quick(multiplier).times(known))
        return Poly(terms), offset, state.scale * scale

    # Case analysis.

    def _by_cases(self, core: Poly, best: Interval, target: Interval | None) -> Interval:
        """Split on each atom of few values; what holds under each of them joins to what always holds."""
        for atom in core.atoms:
            values = self._range(atom)
            if not 1 <= values.width < FEW or self._work[0] <= 0:
                continue
            joined: Interval | None = None
            for value in range(values.low, values.high + 1):
                try:
                    found = Case(self, {atom: value}).interval(core, target)
                except Impossible:
                    continue
                joined = joined.join(found) if joined else found
                if best.within(joined):
                    break
            if joined is None:
                raise Impossible
            best = best.meet(joined)
        return best


class Case(Knowledge):
    """What is known where some atoms have given values, on top of what is known anyway."""

    def __init__(
        self, outside: Knowledge, values: Mapping[int, int], facts: Sequence[tuple[Poly, Interval]] = ()
    ) -> None:
        """`facts` hold in this case too. Raises Impossible when what is known shows that it cannot happen."""
        super().__init__(outside._atoms)
        self._outside = outside
        self._values = dict(values)
        self._depth = outside._depth + 1
        self._work = outside._work
        self._alive = [i for i in outside._alive if all(self._atoms[a].witnesses[i] == v for a, v in values.items())]
        for atom, value in values.items():
            if not outside._range(atom).holds(value):
                raise Impossible
            self._ranges[atom] = point(value)
            numerator, shift = self._atoms[atom].numerator, self._atoms[atom].shift
            if numerator is not None:
                self.learn(numerator.substitute(self._values), below(shift).plus(point(value << shift)))
        for fact in outside._facts_on(self._values):
            known = outside._known_of(fact)
            assert known is not None
            self.learn(fact.substitute(self._values), known)
        for poly, interval in facts:
            poly = self._simplify(poly)
            self.learn(poly, interval)
            self._alive = [i for i in self._alive if interval.holds(poly.evaluate(_Witness(self._atoms, i)))]

    def _simplify(self, poly: Poly) -> Poly:
        return super()._simplify(poly.substitute(self._values))

    def _range(self, atom: int) -> Interval:
        return self._ranges.get(atom) or self._outside._range(atom)

    def _known_of(self, core: Poly) -> Interval | None:
        here, there = self._known.get(core), self._outside._known_of(core)
        return here.meet(there) if here and there else here or there

    def _facts_with(self, monomial: Monomial) -> Sequence[Poly]:
        outside = [f for f in self._outside._facts_with(monomial) if not any(a in self._values for a in f.atoms)]
        return [*self._facts.get(monomial, ()), *outside]

    def _facts_on(self, atoms: Mapping[int, int]) -> dict[Poly, None]:
        outside = {f: None for f in self._outside._facts_on(atoms) if not any(a in self._values for a in f.atoms)}
        return super()._facts_on(atoms) | outside


class Space(Knowledge):
    """The atoms of one computation and everything known of them.

    Inputs enter by `atom` and `word_atoms`; `split`, `divide`, `at_least` and `select` make polynomials over them that
    are exact for all inputs; `interval` bounds any polynomial.
    """

    def __init__(self) -> None:
        super().__init__([])
        self._floors: dict[tuple[Poly, int], Poly] = {}
        self._bits: dict[Poly, Poly] = {}
        self._two_valued: dict[Monomial, dict[Poly, None]] = {}
        self._random = Random(20260401)

    # Inputs.

    def atom(self, name: str, low: int, high: int, multiple_of: int = 1) -> Poly:
        """An input: any multiple of `multiple_of` in [low, high]."""
        interval = Interval(low, high).divided(multiple_of)
        if interval.empty:
            raise AsmgenError(f"{name} has no possible value in [{low}, {high}]")
        middle = [self._random.randint(*interval) for _ in range(WITNESSES - 2)]
        return self._add_atom(Atom(name, None, 0, (*interval, *middle)), interval) * multiple_of

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
        super().learn(poly, interval)
        self._alive = [i for i in self._alive if interval.holds(poly.evaluate(_Witness(self._atoms, i)))]

    def _add_atom(self, atom: Atom, interval: Interval) -> Poly:
        self._atoms.append(atom)
        self._ranges[len(self._atoms) - 1] = interval
        return Poly.atom(len(self._atoms) - 1)

    # Floors.

    def split(self, poly: Poly, k: int) -> tuple[Poly, Poly]:
        """(low, high) with poly = low + 2^k * high and 0 <= low < 2^k, exactly."""
        poly = self._simplify(poly)
        high = self.floor(poly, k)
        low = poly - (high << k)
        if low.constant is None:
            super().learn(low, below(k))
        return low, high

    def floor(self, poly: Poly, k: int) -> Poly:
        """floor(poly / 2^k): constant or affine in one bit where bounds allow, otherwise a sum of floors."""
        interval = self.interval(poly)
        if interval.low >> k == interval.high >> k:
            return Poly.of(interval.low >> k)
        core, factor, constant = poly.normal
        two = self.interval(core)
        if two.width == 1:
            least, most = ((factor * value + constant) >> k for value in two)
            return (core - two.low) * (most - least) + least
        high = self._floor(poly, k)
        super().learn(high, interval.shifted(k))
        if interval.shifted(k).width == 1 and _affine(high) is None:
            self._two_valued.setdefault(max(high.terms), {})[high] = None
        return high

    def _floor(self, poly: Poly, k: int) -> Poly:
        """Canonical form: coefficients modulo 2^k, no common power of two, no floor inside, leading sign positive."""
        whole = ZERO
        while True:
            residue, multiple = _reduce(poly, k)
            whole += multiple
            if residue.constant is not None:
                return whole + (residue.constant >> k)
            twos = min((abs(factor) & -abs(factor)).bit_length() - 1 for factor in [residue.normal.factor])
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
            return whole - 1 - self._floor_atom(-residue - 1, k)
        return whole + self._floor_atom(residue, k)

    def _floor_atom(self, poly: Poly, k: int) -> Poly:
        interval = self.interval(poly).shifted(k)
        if interval.width == 0:
            return Poly.of(interval.low)
        if interval.width == 1:
            return interval.low + self._bit(poly - (interval.low << k), k)
        found = self._floors.get((poly, k))
        if found is None:
            found = self._floors[poly, k] = self._new_floor(poly, k, interval)
        return found

    def _new_floor(self, poly: Poly, k: int, interval: Interval) -> Poly:
        witnesses = tuple(poly.evaluate(_Witness(self._atoms, index)) >> k for index in range(WITNESSES))
        atom = self._add_atom(Atom(f"h{len(self._atoms)}", poly, k, witnesses), interval)
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
        interval = self.interval(poly)
        if interval.low >= 0 or interval.high < 0:
            return Poly.of(int(interval.low >= 0))
        k = max(interval.high + 1, -interval.low).bit_length()
        if interval.high < 1 << (k - 1) and -interval.low <= 1 << (k - 1):
            k -= 1
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

    def _by_cases(self, core: Poly, best: Interval, target: Interval | None) -> Interval:
        """Also split on carries that are sums of floors, by a bit in place of the newest floor."""
        best = super()._by_cases(core, best, target)
        work = self._work[0]
        for newest in list(core.terms):
            for carry in self._two_valued.get(newest, ()):
                least = self.interval(carry).low
                bit = self.as_bit(carry - least)
                factor, rest = divmod(core.terms[newest], carry.terms[newest])
                if not rest and len(bit) <= 2:
                    self._work[0] = work
                    best = super()._by_cases(core - (carry - least - bit) * factor, best, target)
                    work = self._work[0]
        return best

    # Exact division.

    def divide(self, poly: Poly, m: int) -> Poly | None:
        """poly / m when it is proven to be an integer for all inputs, otherwise None."""
        poly = self._simplify(poly)
        quotient = poly.exact_quotient(m)
        if quotient is None and m & (m - 1) == 0:
            low, high = self.split(poly, m.bit_length() - 1)
            if self.interval(low) == (0, 0):
                return high
        return quotient

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

    def define(self, atom: Poly) -> str:
        """What an atom stands for."""
        affine = _affine(atom)
        if affine is None:
            return self.explain(atom)
        number = affine[0]
        name, numerator, shift, _ = self._atoms[number]
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
    modulus, half = 1 << k, (1 << k) >> 1
    residue: dict[Monomial, int] = {}
    multiple: dict[Monomial, int] = {}
    for monomial, coefficient in poly.terms.items():
        rest = coefficient & (modulus - 1)
        if monomial and rest > half:
            rest -= modulus
        if rest:
            residue[monomial] = rest
        if rest != coefficient:
            multiple[monomial] = (coefficient - rest) >> k
    return Poly(residue), Poly(multiple)


def _shift_down(poly: Poly, k: int) -> Poly:
    """Every coefficient divided by 2^k, the constant rounded down."""
    return Poly({monomial: c >> k for monomial, c in poly.terms.items() if c >> k})


def _power(interval: Interval, exponent: int) -> Interval:
    low, high = interval.low**exponent, interval.high**exponent
    if exponent % 2 or interval.low >= 0:
        return Interval(low, high)
    return Interval(high, low) if interval.high <= 0 else Interval(0, max(low, high))


def _parts(monomial: Monomial) -> list[Monomial]:
    """The monomials that divide this one: itself and its single atoms."""
    return [monomial] if len(monomial) == 1 else [monomial, *((atom,) for atom in dict.fromkeys(monomial))]


def _without(monomial: Monomial, part: Monomial) -> Monomial | None:
    """monomial / part, or None when it does not divide."""
    if monomial == part:
        return ()
    if len(monomial) <= len(part):
        return None
    rest = list(monomial)
    for atom in part:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def _interval_text(interval: Interval) -> str:
    return f"[{integer_text(interval.low)}, {integer_text(interval.high)}]"
