"""Cells: the numbers that a routine computes, each known twice over.

A *form* is a polynomial over cells, as the code computes it: short, mostly a sum of a few. The *norm* of a cell is what
it is in terms of the inputs and of floors, in the canonical form of `bounds.Space`: equal quantities have one norm. A
split of a form adds an *equation*, form = low + 2^k * high. Norms show that carries cannot be and that words are zero;
where they do not show a goal its form is reduced by the equations, newest first, until the chains of carries cancel:
what is left is about inputs and about the few cells that were kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import gcd
from typing import NamedTuple

from asmgen.bounds import Interval, Poly, Space
from asmgen.polynomial import ZERO, Monomial, add_product, add_scaled, point

Form = Poly


class Equation(NamedTuple):
    """form = low + 2^k * high. `cells` are those that are new in it: of the low part, of the high part, or both."""

    form: Form
    k: int
    low: Form
    high: Form
    cells: tuple[int | None, int | None]


class Fact(NamedTuple):
    """A form that lies in an interval; `about` is a cell that it says how to come by, if there is one."""

    form: Form
    interval: Interval
    about: int | None = None


@dataclass
class Ledger:
    """All cells and equations of a path, and what else is known; `sums` has the sums that nothing carries out of."""

    norms: list[Poly] = field(default_factory=list)
    equations: list[Equation] = field(default_factory=list)
    inputs: set[int] = field(default_factory=set)
    scaled: set[int] = field(default_factory=set)
    facts: list[Fact] = field(default_factory=list)
    sums: dict[int, Form] = field(default_factory=dict)
    _by_norm: dict[Poly, int] = field(default_factory=dict)

    def fork(self) -> Ledger:
        """A copy, to go on another way."""
        inputs, scaled = set(self.inputs), set(self.scaled)
        return Ledger(
            list(self.norms),
            list(self.equations),
            inputs,
            scaled,
            list(self.facts),
            dict(self.sums),
            dict(self._by_norm),
        )

    def form(self, norm: Poly, *, entered: bool = False) -> Form:
        """The form of a quantity: the cell that has it already, or a new one. `entered` makes it an input."""
        core, factor, constant = norm.normal
        if not core:
            return norm
        number = self._by_norm.get(core)
        if number is None:
            number = self._by_norm[core] = len(self.norms)
            self.norms.append(core)
        if entered:
            self.inputs.add(number)
        return Poly({(number,): factor, (): constant} if constant else {(number,): factor})

    def cell(self, norm: Poly) -> int | None:
        """The cell of a quantity; None when it is constant."""
        return next(iter(self.form(norm).atoms), None)

    def norm(self, form: Form) -> Poly:
        """A form in terms of the inputs and of floors."""
        total: dict[Monomial, int] = {}
        for monomial, coefficient in form.terms.items():
            if len(monomial) == 1:
                add_scaled(total, self.norms[monomial[0]].terms, coefficient)
            elif len(monomial) == 2:
                x, y = self.norms[monomial[0]].terms, self.norms[monomial[1]].terms
                for each, factor in x.items():
                    add_product(total, y, each, factor * coefficient)
            else:
                product = Poly.of(coefficient)
                for cell in monomial:
                    product = product * self.norms[cell]
                add_scaled(total, product.terms, 1)
        return Poly(total)

    def split(self, form: Form, k: int, low: Poly, high: Poly) -> tuple[Form, Form]:
        """The forms of the two parts of a form, of which the norms are given."""
        if not high and len(form) == 1:
            return form, ZERO
        before = len(self.norms)
        upper = self.form(high)
        middle = len(self.norms)
        lower = self.form(low)
        after = len(self.norms)
        if lower != form:
            if not upper and lower.terms == {(middle,): 1}:
                self.sums.setdefault(middle, form)
            new = (middle if after > middle else None, before if middle > before else None)
            self.equations.append(Equation(form, k, lower, upper, new))
            for monomial, coefficient in form.terms.items():
                if len(monomial) > 1 or abs(coefficient) != 1:
                    self.scaled.update(monomial)
        return lower, upper

    # Reduction.

    def reductions(self, form: Form, keep: frozenset[int], oldest: int = 0) -> Iterator[tuple[Form, int]]:
        """(F, scale) with scale * form = F, ever further back, down to the equation `oldest`."""
        scale = 1
        yield form, scale
        for equation in reversed(self.equations[oldest:]):
            low, high = equation.cells
            if low is not None and low not in keep and (factor := form.terms.get((low,))):
                form = _without(form, equation, low, factor, equation.low.terms[low,])
            elif high is not None and high not in keep and (factor := form.terms.get((high,))):
                if low is not None and low not in keep:
                    continue
                unit = equation.high.terms[high,] << equation.k
                times = abs(unit) // gcd(factor, unit)
                form, scale = form * times, scale * times
                form = _without(form, equation, high, factor * times, unit)
            else:
                continue
            yield form, scale


def _without(form: Form, equation: Equation, cell: int, factor: int, unit: int) -> Form:
    """The form without a cell that has `factor` in it and `unit` in the equation, exactly divisible."""
    times = factor // unit
    total = dict(form.terms)
    add_scaled(total, equation.form.terms, times)
    add_scaled(total, equation.low.terms, -times)
    add_scaled(total, equation.high.terms, -times << equation.k)
    return Poly(total)


def bounds(ledger: Ledger, space: Space, form: Form, scale: int, helps: Callable[[Interval], bool]) -> Interval:
    """The interval of form / scale: inputs together, carries together, every other cell by itself.

    Carries are looked into only where the best that they can be helps.
    """
    groups: tuple[dict[Monomial, int], dict[Monomial, int]] = {}, {}
    total = Interval(0, 0)
    for monomial, coefficient in form.terms.items():
        if all(cell in ledger.inputs for cell in monomial):
            groups[0][monomial] = coefficient
        elif len(monomial) == 1 and space._quick(ledger.norms[monomial[0]]).width <= 2:
            groups[1][monomial] = coefficient
        else:
            part = Interval(1, 1)
            for cell in monomial:
                part = part.times(space._quick(ledger.norms[cell]))
            total = total.plus(part.scaled(coefficient))
    total = total.plus(space._quick(ledger.norm(Poly(groups[0]))))
    carries = ledger.norm(Poly(groups[1]))
    quick = space._quick(carries)
    core, factor, constant = carries.normal
    shown = space._shown(core) if core else Interval(0, 0)
    least = shown.scaled(factor, constant) if shown else Interval(quick.high, quick.low)  # no better than this
    if not helps(Interval(total.low + least.low, total.high + least.high).divided(scale)):
        return total.plus(quick).divided(scale)
    return total.plus(space.interval(carries)).divided(scale)


def pin(ledger: Ledger, space: Space, form: Form, keep: frozenset[int], own: Interval) -> None:
    """Learn which carries out of a form there are, where its own bounds leave no choice.

    A form that is known to lie in `own` is, reduced, something bounded plus multiples of a power of two that is at
    least as large, for each carry that is lost: where only one multiple fits, that is a fact.
    """
    for reduced, scale in ledger.reductions(form, keep):
        lost: dict[Monomial, int] = {
            monomial: coefficient
            for monomial, coefficient in reduced.terms.items()
            if len(monomial) == 1
            and abs(coefficient) > own.width * scale
            and space._quick(ledger.norms[monomial[0]]).width <= 2
        }
        if not lost:
            continue
        unit = gcd(*lost.values())
        rest = Poly({monomial: c for monomial, c in reduced.terms.items() if monomial not in lost})
        known = bounds(ledger, space, rest, 1, lambda found: False)
        least, most = own.low * scale - known.high, own.high * scale - known.low
        if -(-least // unit) == most // unit:
            space.learn(ledger.norm(Poly(lost)), point(most // unit * unit))
