"""What must hold at the end of a path: the value modulo p, bounds, and what the caller finds as it was.

Each goal is tried by norms first, then by the equations of the cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from asmgen.bounds import Interval, Poly
from asmgen.contracts import Bytes, Contract, Element, Table
from asmgen.polynomial import integer_text
from asmgen.promises import size
from asmgen.prove import leaves
from asmgen.prove.cells import Form, bounds, pin
from asmgen.prove.entry import Entry, Input
from asmgen.prove.residues import Context, EvenOf, NotPolynomial, Symbolic, Wanted
from asmgen.prove.state import STACK, STACK_POINTERS

#: Ways to write a rest by cells that are tried, shortest first.
TRIES = 3

#: Multiples of the modulus that are told apart, and terms of what is wanted for that or looked into by bounds.
FEW, LINEAR = 4, 16


@dataclass(frozen=True)
class Open:
    """Something that could not be shown: what, and the polynomial that is left. `false` says that values which are
    carried along show the contrary."""

    what: str
    left: Poly
    false: bool = False


def congruent(entry: Entry, form: Form, wanted: Poly, factor: int, modulus: int, what: str) -> Iterator[Open]:
    """form * factor = wanted modulo the modulus."""
    left = balanced(entry.domain.norm(form) * factor - wanted, modulus)
    if not left:
        return
    if _differs(entry, left, modulus):
        yield Open(what, left, false=True)
        return
    for tries in () if entry.undecided else dict.fromkeys((min(leaves.SHORT, entry.space.tries), entry.space.tries)):
        if (
            _multiple(entry, left, modulus, tries)
            or _telescopes(entry, form, wanted, factor, modulus, tries)
            or factor == 1
            and _apart_by_few(entry, form, wanted, modulus, tries)
            or _multiple(entry, left, modulus, tries, grow=True)
        ):
            return
    yield Open(what, left)


def _differs(entry: Entry, left: Poly, modulus: int) -> bool:
    """Whether values that are carried along show that what is left is no multiple of the modulus."""
    return any(left.evaluate(entry.space._witnesses[index]) % modulus for index in entry.space._alive)


def _multiple(entry: Entry, left: Poly, modulus: int, tries: int, *, grow: bool = False) -> bool:
    """Whether what is left is constant after all, by its bounds."""
    if len(left) <= LINEAR and not grow and entry.space.interval(left, enough=Interval(0, 0)) == (0, 0):
        return True
    form = entry.domain.remembered(left, grow=grow)
    if form is not None and entry.domain.holds(form, Interval(0, 0), tries):
        return True
    known = entry.space._quick(left)
    return known.width == 0 and known.low % modulus == 0


def _telescopes(entry: Entry, form: Form, wanted: Poly, factor: int, modulus: int, tries: int) -> bool:
    """By the equations of the cells: what is left of the form and the inputs are what is wanted, the rest is zero."""
    ledger = entry.domain.ledger
    rests: dict[Form, None] = {}
    for keep in keeps(entry):
        for reduced, scale in ledger.reductions(form, keep):
            made = balanced(reduced * factor, modulus)
            rest = {m: c for m, c in made.terms.items() if m and not all(cell in ledger.inputs for cell in m)}
            given = Poly({m: c for m, c in made.terms.items() if m not in rest})
            more = balanced(ledger.norm(given) - wanted * scale, modulus).constant
            if more is not None:
                rests[Poly(rest) + more] = None
        left = balanced(ledger.norm(made) - wanted * scale, modulus)
        if not left or _multiple(entry, left, modulus, tries):
            return True
    shortest = sorted(rests, key=len)[:TRIES]
    return any(entry.domain.holds(rest, Interval(0, 0), tries) for rest in shortest)


def _apart_by_few(entry: Entry, form: Form, wanted: Poly, modulus: int, tries: int) -> bool:
    """Whether the form is what is wanted plus one of a few multiples of the modulus."""
    space, target = entry.space, entry.domain.remembered(wanted)
    if target is None or len(target) > LINEAR:
        return False
    norm = entry.domain.norm(form) - wanted
    times = {norm.evaluate(space._witnesses[index]) // modulus for index in space._alive}
    known = space._quick(norm)
    low, high = -(-known.low // modulus), known.high // modulus
    if high - low < FEW:
        times = set(range(low, high + 1))
    if not 0 < len(times) <= FEW:
        return False
    values = [each * modulus for each in sorted(times)]
    return leaves.among(entry.domain.ledger, space, form - target, values, space.deadline, min(tries, space.tries))


def keeps(entry: Entry) -> list[frozenset[int]]:
    """Which cells to keep when equations are used: none, or those that are multiplied."""
    return [frozenset(), frozenset(entry.domain.ledger.scaled)]


def balanced(poly: Poly, modulus: int) -> Poly:
    """The coefficients modulo the modulus, nearest to zero."""
    half = modulus // 2
    rests = {monomial: (c + half) % modulus - half for monomial, c in poly.terms.items()}
    return Poly({monomial: c for monomial, c in rests.items() if c})


Bounded = tuple[Form, Interval]


def at_most(entry: Entry, form: Form, most: int, what: str, other: Bounded | None = None) -> Iterator[Open]:
    """0 <= form <= most; `other` is what was not chosen in its place, and its bounds."""
    allowed, norm = Interval(0, most), entry.domain.norm(form)
    reached = entry.space._quick(norm)
    if reached.within(allowed):
        return
    core, factor, constant = norm.normal
    shown = entry.space._shown(core)
    false = shown is not None and not shown.scaled(factor, constant).within(allowed)
    if not entry.undecided and not false:
        reached = reached.meet(_by_cells(entry, form, allowed, other))
        if reached.within(allowed) or entry.domain.holds(form, allowed):
            entry.space.note(norm, allowed)
            return
        reached = reached.meet(entry.space.interval(norm))
    bound = size(reached.high) if reached.high > most else size(reached.low)
    yield Open(f"{what} may be {bound} as far as is known, allowed are 0 to {size(most)}", norm, false)


def _by_cells(entry: Entry, form: Form, allowed: Interval, other: Bounded | None) -> Interval:
    """Bounds of a form by the equations: of itself, and of itself less the other with the other's own bounds."""
    ledger, space = entry.domain.ledger, entry.space
    best = space._quick(entry.domain.norm(form))
    ways = [(form - other[0], other[1])] if other is not None else []
    for keep in keeps(entry):
        for start, rest in (*ways, (form, Interval(0, 0))):
            for reduced, scale in ledger.reductions(start, keep):
                so_far = best

                def helps(found: Interval, rest: Interval = rest, so_far: Interval = so_far) -> bool:
                    return so_far.meet(found.plus(rest)).within(allowed)

                best = best.meet(bounds(ledger, space, reduced, scale, helps).plus(rest))
                if best.within(allowed):
                    return best
    return best


def _not_chosen(entry: Entry, words: Sequence[Form], positions: Sequence[int]) -> Bounded | None:
    """The value of the words that were not chosen in the place of these; None where there was no choice."""
    found = [entry.domain.others.get(entry.domain.norm(word)) for word in words]
    others = [other << at for other, at in zip(found, positions, strict=True) if other is not None]
    if len(others) < len(words):
        return None
    return Poly.sum(others), Interval(0, sum((2**64 - 1) << at for at in positions))


def value_of(entry: Entry, contract: Element, words: Sequence[Form], what: str) -> tuple[Form | None, Iterator[Open]]:
    """The value that limbs stand for, its scale taken out; what is open of their bounds and divisibility."""
    positions, unit = contract.field.positions, contract.multiple_of
    limbs: list[Form] = []
    for index, word in enumerate(words):
        if unit != 1:
            norm = entry.domain.norm(word)
            divided = entry.space.divide(norm, unit)
            if divided is None:
                text = f"limb {index} of {what} is not known to be a multiple of {integer_text(unit)}"
                return None, iter([Open(text, norm)])
            word = entry.domain.form(divided)
        limbs.append(word)
    value = Poly.sum(limb << at for limb, at in zip(limbs, positions, strict=True))
    if not entry.undecided:
        own = Interval(0, sum((2**64 - 1) << at for at in positions))
        for keep in keeps(entry):
            pin(entry.domain.ledger, entry.space, value, keep, own)
    return value, _bounded(entry, contract, value, words, what)


def _bounded(entry: Entry, contract: Element, value: Form, words: Sequence[Form], what: str) -> Iterator[Open]:
    """The value and the limbs of an element are within their bounds."""
    positions, unit = contract.field.positions, contract.multiple_of
    bounded = contract.value_max < contract.value(contract.limb_max)
    if bounded:
        other = _not_chosen(entry, words, positions)
        yield from at_most(entry, value, contract.value_max, f"the value of {what}", other)
    for index, (word, most, at) in enumerate(zip(words, contract.limb_max, positions, strict=True)):
        implied = bounded and unit == 1 and contract.value_max >> at <= most  # no limb is negative
        yield from at_most(entry, word, 2**64 - 1 if implied else most, f"limb {index} of {what}")


def same_value(
    entry: Entry, contract: Element, words: Sequence[Form], wanted: Poly, what: str, modulo: str
) -> Iterator[Open]:
    """Limbs are within their contract, and their value, out of Montgomery form, is what is wanted modulo p."""
    value, bounded = value_of(entry, contract, words, what)
    p, unscale = contract.field.modulus, contract.field.unscale
    if value is not None:
        left = balanced(entry.domain.norm(value) * unscale - wanted, p)
        if _differs(entry, left, p):  # soon seen, so that no bound is looked for in vain
            yield Open(modulo, left, false=True)
            return
    yield from bounded
    if value is not None:
        yield from congruent(entry, value, wanted, unscale, p, modulo)


def argument(context: Context, given: Input) -> Any:
    """An input as the meaning takes it: elements out of Montgomery form and without their scale."""
    contract = given.contract
    if isinstance(contract, Element):
        value = given.value.exact_quotient(contract.multiple_of)
        assert value is not None
        return Symbolic(context, value * contract.field.unscale, "least")
    if isinstance(contract, Table):
        return tuple(argument(context, entry) for entry in given.entries)
    return Symbolic(context, given.value, "integer")


def result(entry: Entry, contract: Contract, words: Sequence[Form], wanted: Wanted, what: str) -> Iterator[Open]:
    """That an output keeps its contract and is what the meaning says."""
    if isinstance(wanted, EvenOf) and isinstance(contract, Element):
        value, bounded = value_of(entry, contract, words, what)
        yield from bounded
        if value is not None:
            yield from _even_of(entry, contract, value, wanted.poly, what)
        return
    if not isinstance(wanted, Symbolic):
        raise NotPolynomial(f"{what} is to be a bit")
    if isinstance(contract, Element):
        yield from same_value(entry, contract, words, wanted.plain, what, f"{what} modulo p")
        return
    assert isinstance(contract, Bytes)
    sizes = [8 if contract.order == "big" else min(64, 8 * contract.length - 64 * n) for n in range(len(words))]
    for word, bits in zip(words, sizes, strict=True):
        yield from at_most(entry, word, 2**bits - 1, what)
    places = [8 * (len(words) - 1 - n) if contract.order == "big" else 64 * n for n in range(len(words))]
    value = Poly.sum(word << at for word, at in zip(words, places, strict=True))
    if wanted.kind == "integer":
        difference = value - entry.domain.form(wanted.plain)
        yield from at_most(entry, difference, 0, f"{what} less what it must be")
    else:
        p = wanted.context.modulus
        if wanted.kind == "least":
            yield from at_most(entry, value, p - 1, f"the value of {what}")
        yield from congruent(entry, value, wanted.plain, 1, p, f"{what} modulo p")


def _even_of(entry: Entry, contract: Element, value: Form, wanted: Poly, what: str) -> Iterator[Open]:
    """The value is even, below p, and what is wanted or its negative modulo p."""
    field = contract.field
    yield from at_most(entry, value, field.modulus - 1, f"the value of {what}")
    lowest = entry.domain.split(value, 1)[0]
    if not entry.domain.holds(lowest, Interval(0, 0)):
        yield Open(f"{what} is not known to be even", entry.domain.norm(lowest))
    ways = [list(congruent(entry, value, wanted * sign, field.unscale, field.modulus, what)) for sign in (1, -1)]
    if all(ways):
        yield Open(f"{what} modulo p", ways[0][0].left)


def kept(entry: Entry) -> str:
    """What a return does not leave as it was, in words; empty when all is well."""
    state, convention = entry.state, entry.convention
    pointer = STACK_POINTERS[convention.target]
    if state.registers[pointer] != entry.places.base(STACK):
        return f"{pointer} is not where it was at entry"
    if convention.return_address and state.memory[STACK].cells.get(0) != (8, entry.places.base("return address")):
        return "the return address was overwritten"
    for name, value in entry.kept.items():
        if state.registers[name] != value:
            return f"{name} is not what it was at entry"
    return ""
