"""Goals that linear arithmetic over the integers decides: z3 is asked whether known facts leave any other way.

Every product of atoms is an unknown integer of its own; a product with a bit is tied to what it multiplies. All that is
handed over are facts of the space, so an answer "no other way" is a proof as far as z3 is right; any other is none.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from asmgen.bounds import Interval, Poly, Space
from asmgen.polynomial import Monomial

#: (rounds of facts that are taken in, seconds): near ones first.
TRIES = ((1, 0.5), (2, 1.0), (99, 2.0))

#: Facts of one question at the most.
MOST = 1500


def within(space: Space, poly: Poly, allowed: Interval, deadline: float) -> bool:
    """Whether the facts leave a polynomial no value outside of `allowed`."""
    core, factor, constant = poly.normal
    shown = space._shown(core)
    if shown is not None and not shown.scaled(factor, constant).within(allowed):
        return False
    quick = space._quick(poly)
    sides = [f"(< {{}} {_number(allowed.low)})"] if quick.low < allowed.low else []
    sides += [f"(> {{}} {_number(allowed.high)})"] if quick.high > allowed.high else []
    return all(_never(space, poly, side, deadline) for side in sides)


def _never(space: Space, poly: Poly, contrary: str, deadline: float) -> bool:
    """Whether the facts exclude the contrary of a goal, in which {} stands for the polynomial."""
    before = -1
    for rounds, seconds in TRIES:
        monomials, facts = _relevant(space, poly, rounds)
        left = min(seconds, deadline - time.perf_counter())
        if len(facts) == before or len(facts) > MOST or left <= 0:
            return False
        before = len(facts)
        if _ask("\n".join(_question(space, poly, contrary, monomials, facts)), left) == "unsat":
            return True
    return False


def _ask(text: str, seconds: float) -> str:
    import z3

    solver = z3.SolverFor("QF_LIA")
    solver.set("timeout", max(1, int(1000 * seconds)))
    solver.from_string(text)
    return str(solver.check())


def _relevant(space: Space, poly: Poly, rounds: int) -> tuple[list[Monomial], list[Poly]]:
    """The products that matter, and the facts about them; each round adds the facts on what the last one brought in."""
    monomials = {monomial: None for monomial in poly.terms if monomial}
    facts: dict[Poly, None] = {}
    new = list(monomials)
    for _ in range(rounds):
        brought: list[Monomial] = []
        for monomial in new:
            for fact in space._facts_with(monomial):
                facts[fact] = None
                brought += [each for each in fact.terms if each]
            brought += [_without(monomial, bit) for bit in _bits(space, monomial) if len(monomial) > 1]
            brought += [(bit,) for bit in _bits(space, monomial)]
        new = [each for each in dict.fromkeys(brought) if each not in monomials]
        monomials.update(dict.fromkeys(new))
        if not new:
            break
    return sorted(monomials), list(facts)


def _bits(space: Space, monomial: Monomial) -> list[int]:
    return [atom for atom in dict.fromkeys(monomial) if space._is_bit(atom)] if len(monomial) > 1 else []


def _without(monomial: Monomial, atom: int) -> Monomial:
    return tuple(each for each in monomial if each != atom)


def _question(
    space: Space, poly: Poly, contrary: str, monomials: Sequence[Monomial], facts: Sequence[Poly]
) -> Iterator[str]:
    """The facts and the contrary of the goal, in SMT-LIB."""
    names = {monomial: f"x{number}" for number, monomial in enumerate(monomials)}
    for monomial, name in names.items():
        yield f"(declare-const {name} Int)"
        yield from _between(name, space._product(monomial))
        for bit in _bits(space, monomial):
            rest = _without(monomial, bit)
            if rest in names and (bit,) in names:
                yield from _chosen(name, names[(bit,)], names[rest], space._product(rest))
    for fact in facts:
        known = space._known_of(fact)
        if known is not None:
            yield from _between(_sum(fact, names), known)
    yield f"(assert {contrary.format(_sum(poly, names))})"


def _chosen(product: str, bit: str, value: str, known: Interval) -> Iterator[str]:
    """product = bit * value, exactly, for a bit."""
    low, high = _number(known.low), _number(known.high)
    yield f"(assert (<= {product} (* {high} {bit})))"
    yield f"(assert (>= {product} (* {low} {bit})))"
    yield f"(assert (<= (- {product} {value}) (- (* {low} {bit}) {low})))"
    yield f"(assert (>= (- {product} {value}) (- (* {high} {bit}) {high})))"


def _between(text: str, interval: Interval) -> Iterator[str]:
    if interval.width == 0:
        yield f"(assert (= {text} {_number(interval.low)}))"
        return
    yield f"(assert (>= {text} {_number(interval.low)}))"
    yield f"(assert (<= {text} {_number(interval.high)}))"


def _sum(poly: Poly, names: dict[Monomial, str]) -> str:
    terms = [f"(* {_number(c)} {names[m]})" if m else _number(c) for m, c in poly.terms.items()]
    return f"(+ {' '.join(terms)})" if len(terms) > 1 else terms[0] if terms else "0"


def _number(value: int) -> str:
    return str(value) if value >= 0 else f"(- {-value})"
