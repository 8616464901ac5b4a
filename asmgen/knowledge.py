"""Facts about polynomials over inputs and floors, and the bounds that follow from them.

Everything known is a *fact*: a polynomial and an interval that it never leaves. The low part of every split is one:
0 <= P - 2^k * floor(P / 2^k) < 2^k. One idea bounds a polynomial: take multiples of facts away so that its largest
terms cancel, and plain intervals of what is left. Cancelling a floor by the fact that defines it is back-substitution;
cancelling a term by a fact that has it among others is a forward chain. `Knowledge.interval` does the first, newest
floor first, searches for the best of both, and where an atom takes few values adds what holds under each of them as
facts of a `Case`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count, pairwise
from math import gcd
from typing import NamedTuple

from asmgen.errors import AsmgenError
from asmgen.polynomial import ZERO, Interval, Monomial, Poly, add_product, add_term, below, point

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
NESTED = 2
"""Case analyses inside each other."""
WITNESSES = 8
"""Assignments carried along: a bound that a witness attains need not be looked into."""


class Atom(NamedTuple):
    """An input, or floor(numerator / 2^shift)."""

    name: str
    numerator: Poly | None
    shift: int


class State(NamedTuple):
    """A step of a search: scale * (what is to be bounded) lies in terms + offset; the terms have no constant."""

    terms: Mapping[Monomial, int]
    offset: Interval
    scale: int


class Step(NamedTuple):
    """From a state to what remains of `factor` times it when `multiplier` times a fact is taken away.

    `before` is the state's offset, `scale` what the state after it has.
    """

    remainder: Poly
    scale: int
    multiplier: Poly
    fact: Poly
    before: Interval
    factor: int


View = Callable[[Interval], Interval]


@dataclass(frozen=True)
class Question:
    """What is asked of a polynomial, and what is worth knowing."""

    core: Poly
    shown: Interval | None
    target: Interval | None
    view: View
    effort: int

    def answered_by(self, best: Interval) -> bool:
        """Whether nothing better is wanted, or witnesses show that there is nothing better."""
        if self.target and best.within(self.target):
            return True
        return self.shown is not None and self.view(best) == self.view(self.shown)


class Impossible(AsmgenError):
    """The facts contradict each other: the case cannot happen."""

    def __init__(self) -> None:
        super().__init__("the bounds that are promised contradict each other", hint="correct the promised bounds")


class Knowledge:
    """Facts, and the bounds that follow from them."""

    def __init__(self, atoms: list[Atom], witnesses: list[list[int]]) -> None:
        self._atoms = atoms
        self._witnesses = witnesses
        self._ranges: dict[int, Interval] = {}
        self._products: dict[Monomial, Interval] = {(): point(1)}
        self._known: dict[Poly, Interval] = {ZERO: point(0)}
        self._facts: dict[Monomial, dict[Poly, None]] = {}
        self._effort: dict[Poly, int] = {}
        self._weights: dict[Poly, int] = {}
        self._alive = list(range(len(witnesses)))
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

    def _keep_witnesses(self, poly: Poly, interval: Interval) -> None:
        self._alive = [i for i in self._alive if interval.holds(poly.evaluate(self._witnesses[i]))]

    def note(self, poly: Poly, interval: Interval) -> None:
        """Take it as known that `poly` lies in `interval`, without resting other bounds on it. It must be true."""
        core, factor, constant = self._simplify(poly).normal
        if core:
            self._note(core, interval.divided(factor, constant))

    def interval(
        self, poly: Poly, enough: Interval | None = None, known: Interval | None = None, view: View | None = None
    ) -> Interval:
        """The best interval proven of `poly`.

        `known` is one that the caller has proven already, from the parts that `poly` was made of say. `view` says which
        bounds matter: intervals that look the same through it are as good as each other. With `enough` the search ends
        as soon as the bound lies inside it, and tries harder as long as it does not.
        """
        core, factor, constant = self._simplify(poly).normal
        if not core:
            return point(constant)
        if known:
            self._note(core, known.divided(factor, constant))
        if not self._depth:
            self._work[0] = WORK * (1 if enough is None else THOROUGH)
        seen: View = (lambda core_interval: view(core_interval.scaled(factor, constant))) if view else _exactly
        return self._best(core, enough.divided(factor, constant) if enough else None, seen).scaled(factor, constant)

    def _best(self, core: Poly, target: Interval | None, view: View) -> Interval:
        effort = 1 if target is None else THOROUGH
        best = self._known_of(core)
        if best and (self._effort.get(core, 0) >= effort or target and best.within(target)):
            return best
        plain = self._plain(core.terms)
        best = self._note(core, plain.meet(best) if best else plain)
        question = Question(core, self._shown(core), target, view, effort)
        for means in (self._unwind, self._search_above, self._search_below, self._by_cases):
            if question.answered_by(best):
                return best
            best = self._note(core, means(question, best))
        self._effort[core] = effort
        return best

    # What is known.

    def _note(self, core: Poly, interval: Interval) -> Interval:
        """Meet what is known of a normalized polynomial with one more proven interval."""
        old = self._known_of(core)
        new = interval.meet(old) if old else interval
        if new.empty:
            raise Impossible
        if new != old:
            if len(core.terms) == 1:
                self._narrow(min(core.terms), new)
            self._known[core] = new
        return new

    def _narrow(self, monomial: Monomial, interval: Interval) -> None:
        """What is known of an atom or of a product of atoms bounds every product that holds it."""
        if not self._product(monomial).within(interval):
            if len(monomial) == 1:
                self._ranges[monomial[0]] = self._range(monomial[0]).meet(interval)
            self._products = {(): point(1)}

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
                powers = {a: 1 if self._is_bit(a) else monomial.count(a) for a in monomial}
                monomial = tuple(a for a, power in powers.items() for _ in range(power))
            add_term(result, monomial, coefficient)
        return Poly(result)

    def _is_bit(self, atom: int) -> bool:
        return self._range(atom).within(Interval(0, 1))

    def _repeats_bit(self, monomial: Monomial) -> bool:
        return any(a == b and self._is_bit(a) for a, b in pairwise(monomial))

    def _shown(self, core: Poly) -> Interval | None:
        """From the least to the greatest value that the witnesses show; None when none is left."""
        values = [core.evaluate(self._witnesses[index]) for index in self._alive]
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
        products = self._products
        for monomial, coefficient in terms.items():
            least, most = products.get(monomial) or self._product(monomial)
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

    # Back-substitution.

    def _unwind(self, question: Question, best: Interval) -> Interval:
        """Replace floors by what they round, newest first, down to the inputs; each step gives a bound."""
        state = State(question.core.terms, point(0), 1)
        while not question.answered_by(best) and self._work[0] > 0:
            floors = {atom for m in state.terms for atom in m if self._atoms[atom].numerator is not None}
            if not floors:
                break
            newest = max(floors)
            step = _cancel(state, (newest,), self._definition(newest))
            remainder, offset, scale = step.remainder, self._offset(step), step.scale
            self._work[0] -= len(remainder) * (1 + scale.bit_length() // 256)
            best = best.meet(self._quick(remainder).plus(offset).divided(scale))
            if best.empty:
                raise Impossible
            state = _reduced(remainder, offset, scale)
            if any(newest in m for m in state.terms):
                break
        return best

    def _definition(self, floor: int) -> Poly:
        """The fact that says which polynomial a floor rounds."""
        numerator, shift = self._atoms[floor].numerator, self._atoms[floor].shift
        assert numerator is not None
        return (numerator - (Poly.atom(floor) << shift)).normal.core

    # The search.

    def _search_above(self, question: Question, best: Interval) -> Interval:
        return self._search(question, best, 1)

    def _search_below(self, question: Question, best: Interval) -> Interval:
        return self._search(question, best, 0)

    def _search(self, question: Question, best: Interval, side: int) -> Interval:
        """Improve the lower (side 0) or upper (side 1) bound: best first over what remains of the polynomial after
        multiples of facts are taken away, largest terms first."""
        core, shown, target = question.core, question.shown, question.target
        if shown and best[side] == shown[side]:
            return best
        sign = 1 if side else -1
        start = self._plain(core.terms)
        hopeless = sign * start[side] + 8 * start.width
        order = count()
        queue = [(0, 0, 0, State(core.terms, point(0), 1))]
        seen = {core}
        patience = PATIENCE * question.effort
        while queue:
            for step in self._successors(heappop(queue)[3]):
                remainder, scale = step.remainder, step.scale
                rest = remainder.normal.core
                if rest in seen:
                    continue
                seen.add(rest)
                offset = self._offset(step)
                found = self._quick(remainder).plus(offset).divided(scale)
                patience -= 1
                self._work[0] -= len(remainder) * (1 + scale.bit_length() // 256)
                gain = sign * (best[side] - found[side])
                if gain > 0:
                    patience = PATIENCE * question.effort if gain > best.width >> 6 else patience + 1
                if not best.within(found):
                    best = best.meet(found)
                    if best.empty:
                        raise Impossible
                    if question.answered_by(best) or shown and best[side] == shown[side]:
                        return best
                    if target and sign * best[side] <= sign * target[side]:
                        return best
                if patience <= 0 or self._work[0] <= 0:
                    return best
                if sign * found[side] <= hopeless:
                    heappush(queue, (sign * found[side], len(rest), next(order), _reduced(remainder, offset, scale)))
        return best

    def _successors(self, state: State) -> Iterator[Step]:
        """What remains when one of the largest terms is cancelled, in every way that facts offer."""
        heaviest = sorted(((abs(c) * self._product(m).width, m) for m, c in state.terms.items()), reverse=True)
        pivots = 0
        for weight, monomial in heaviest:
            helped = False
            for part in _parts(monomial):
                for fact in self._facts_with(part):
                    if self._weight(fact) <= abs(fact.terms[part]) * self._product(part).width * HEAVIER:
                        helped = True
                        yield _cancel(state, part, fact)
            pivots += helped
            if pivots == PIVOTS or not weight:
                return

    def _weight(self, fact: Poly) -> int:
        """How far the heaviest term of a fact ranges."""
        found = self._weights.get(fact)
        if found is None:
            found = self._weights[fact] = max(abs(c) * self._product(m).width for m, c in fact.terms.items())
        return found

    def _offset(self, step: Step) -> Interval:
        """Where what was taken away lies, all steps together."""
        known = self._known_of(step.fact)
        assert known is not None
        number = step.multiplier.constant
        taken = self._quick(step.multiplier).times(known) if number is None else known.scaled(number)
        return step.before.scaled(step.factor).plus(taken)

    # Case analysis.

    def _by_cases(self, question: Question, best: Interval) -> Interval:
        """Split on each atom of few values; what holds under each of them joins to what always holds."""
        return self._split_on_atoms(question.core, question, best)

    def _split_on_atoms(self, poly: Poly, question: Question, best: Interval) -> Interval:
        """Cases of `poly`, which is written differently but equal to what is asked."""
        if self._depth == (1 if question.target is None else NESTED):
            return best
        for atom in poly.atoms:
            values = self._range(atom)
            if not 1 <= values.width < FEW or self._work[0] <= 0:
                continue
            joined: Interval | None = None
            for value in range(values.low, values.high + 1):
                try:
                    found = Case(self, {atom: value}, inner=True).interval(poly, question.target, view=question.view)
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
        self,
        outside: Knowledge,
        values: Mapping[int, int],
        facts: Sequence[tuple[Poly, Interval]] = (),
        *,
        inner: bool = False,
    ) -> None:
        """`facts` hold in this case too; an `inner` case is part of the work for one bound outside.

        Raises Impossible when what is known shows that it cannot happen.
        """
        super().__init__(outside._atoms, outside._witnesses)
        self._outside = outside
        self._values = dict(values)
        self._visible: dict[Monomial, list[Poly]] = {}
        if inner:
            self._depth = outside._depth + 1
            self._work = outside._work
        self._alive = [i for i in outside._alive if all(self._witnesses[i][a] == v for a, v in values.items())]
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
            self._keep_witnesses(poly, interval)

    def _simplify(self, poly: Poly) -> Poly:
        return super()._simplify(poly.substitute(self._values))

    def _range(self, atom: int) -> Interval:
        return self._ranges.get(atom) or self._outside._range(atom)

    def _known_of(self, core: Poly) -> Interval | None:
        here, there = self._known.get(core), self._outside._known_of(core)
        return here.meet(there) if here and there else here or there

    def _definition(self, floor: int) -> Poly:
        return self._outside._definition(floor).substitute(self._values).normal.core

    def _facts_with(self, monomial: Monomial) -> Sequence[Poly]:
        outside = self._visible.get(monomial)
        if outside is None:
            facts = self._outside._facts_with(monomial)
            outside = self._visible[monomial] = [fact for fact in facts if not fact.mentions(self._values)]
        return [*self._facts.get(monomial, ()), *outside]

    def _facts_on(self, atoms: Mapping[int, int]) -> dict[Poly, None]:
        outside = {fact: None for fact in self._outside._facts_on(atoms) if not fact.mentions(self._values)}
        return super()._facts_on(atoms) | outside


def _exactly(interval: Interval) -> Interval:
    """The view in which every bound matters."""
    return interval


def lengths(interval: Interval) -> Interval:
    """The view in which few values matter exactly, but of many only how long they are in bits."""
    if interval.width <= 2:
        return interval
    return Interval(*(value.bit_length() if value >= 0 else -value.bit_length() for value in interval))


def _cancel(state: State, part: Monomial, fact: Poly) -> Step:
    """Take a multiple of `fact` away so that its term `part` cancels wherever it divides a term."""
    cofactor: dict[Monomial, int] = {}
    for monomial, coefficient in state.terms.items():
        if part[0] in monomial and (rest := _without(monomial, part)) is not None:
            cofactor[rest] = coefficient
    lead = fact.terms[part]
    common = gcd(lead, *cofactor.values())
    factor = abs(lead) // common
    terms = dict(state.terms) if factor == 1 else {m: c * factor for m, c in state.terms.items()}
    multiplier = Poly({m: c // common if lead > 0 else -c // common for m, c in cofactor.items()})
    for monomial, coefficient in multiplier.terms.items():
        add_product(terms, fact.terms, monomial, -coefficient)
    return Step(Poly(terms), state.scale * factor, multiplier, fact, state.offset, factor)


def _reduced(remainder: Poly, offset: Interval, scale: int) -> State:
    """The state without its common factor, its constant moved into the offset."""
    core, factor, constant = remainder.normal
    common = gcd(factor, scale)
    return State((core * (factor // common)).terms, offset.divided(common, -constant), scale // common)


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
