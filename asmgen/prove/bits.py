"""Returned bits: whether a residue is zero, and the lowest bit of its one value in 0..p - 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, permutations

from asmgen.bounds import Interval, Poly
from asmgen.contracts import Element
from asmgen.polynomial import below
from asmgen.prove.cells import Form
from asmgen.prove.entry import Entry
from asmgen.prove.goal import Open, at_most, balanced, congruent
from asmgen.prove.residues import EvenOf, NotPolynomial, Parity, Wanted, ZeroTest
from asmgen.prove.space import Undefined

#: Orders of words that are tried.
ORDERS = 720


def returned(entry: Entry, wanted: Wanted, modulus: int) -> Iterator[Open]:
    """What is open of the returned register being the bit that is wanted."""
    what, value = "the returned bit", entry.state.registers.get(entry.convention.result)
    if value is None or isinstance(value, Undefined):
        yield Open(f"{what} is not set", Poly({}))
        return
    bit = entry.domain.norm(value)
    if isinstance(wanted, ZeroTest):
        shown = _tells_zero(entry, bit, wanted.poly, modulus)
    elif isinstance(wanted, Parity):
        shown = _is_parity(entry, bit, wanted.poly, modulus)
    elif isinstance(wanted, EvenOf):
        raise NotPolynomial("the meaning gives an element for a bit")
    else:
        yield from at_most(entry, value - entry.domain.form(wanted.plain), 0, what)
        return
    if not shown:
        yield Open(what, bit)


def _tells_zero(entry: Entry, bit: Poly, residue: Poly, modulus: int) -> bool:
    """Whether the bit is 1 exactly where the residue is zero.

    The bit tests words. With W the integer that they are the words of, and V an integer that is the residue modulo p
    and W modulo the power of two that W is below: W = 0 exactly where V = 0 if |V| is less than that power, and V = 0
    exactly where the residue is zero if |V| is less than p.
    """
    for some, words in entry.domain.zeros.items():
        if bit == 1 - some:
            return any(_same_zero(entry, form, len(words), residue, modulus) for form in _values(entry, words))
    word = _one_word(entry, 1 - bit)
    return word is not None and _same_zero(entry, entry.domain.form(word), 1, residue, modulus)


def _one_word(entry: Entry, some: Poly) -> Poly | None:
    """The word of which a carry says that it is not zero: the carry out of adding 2^k - 1; None for other bits."""
    if len(some) != 1 or some.coefficients != (1,) or len(some.atoms) != 1:
        return None
    numerator, shift = entry.space._atoms[some.atoms[0]].numerator, entry.space._atoms[some.atoms[0]].shift
    if numerator is None:
        return None
    word = numerator - (1 << shift) + 1
    return word if entry.space._quick(word).within(below(shift)) else None


def _values(entry: Entry, words: Sequence[Poly]) -> Iterator[Form]:
    """The integers that words may be the words of: in 64 bits or at limb positions, in any order."""
    contracts = [given.contract for given in entry.inputs.values() if isinstance(given.contract, Element)]
    layouts = dict.fromkeys([tuple(64 * n for n in range(len(words)))])
    layouts.update(dict.fromkeys(each.field.positions for each in contracts if len(each.field.positions) == len(words)))
    forms = [entry.domain.form(word) for word in words]
    for order in islice(permutations(forms), ORDERS):
        for places in layouts:
            yield Poly.sum(word << at for word, at in zip(order, places, strict=True))


def _same_zero(entry: Entry, form: Form, words: int, residue: Poly, modulus: int) -> bool:
    capacity = 1 << 64 * words
    less = min(capacity, modulus) - 1
    allowed, value = Interval(-less, less), entry.domain.norm(form)
    factor = _factor(value, residue, modulus)
    if factor is not None and _agrees(entry, value * factor - residue, modulus):
        left = list(congruent(entry, form, residue, factor, modulus, ""))
        if not left and entry.domain.holds(form, allowed):
            return True
    value = balanced(value, capacity)
    factor = _factor(value, residue, modulus)
    if factor is None or balanced(value * factor - residue, modulus):
        return False
    return entry.space.interval(value, enough=allowed).within(allowed)


def _agrees(entry: Entry, difference: Poly, modulus: int) -> bool:
    """Whether the values that are carried along do not say that a difference is no multiple of the modulus."""
    space = entry.space
    return not any(difference.evaluate(space._witnesses[index]) % modulus for index in space._alive)


def _holds(entry: Entry, norm: Poly, allowed: Interval) -> bool:
    """Whether a quantity lies within an interval."""
    for grow in (False, True):
        form = entry.domain.remembered(norm, grow=grow)
        if form is not None and entry.domain.holds(form, allowed):
            return True
    return entry.space.interval(norm, enough=allowed).within(allowed)


def _factor(value: Poly, residue: Poly, modulus: int) -> int | None:
    """The number by which a value would have to be multiplied to be the residue, by one of its terms."""
    for monomial, coefficient in residue.terms.items():
        if monomial and coefficient % modulus:
            own = value.terms.get(monomial, 0) % modulus
            return coefficient * pow(own, -1, modulus) % modulus if own else None
    return None


def _is_parity(entry: Entry, bit: Poly, residue: Poly, modulus: int) -> bool:
    """Whether the bit is the lowest one of what the residue is in 0..p - 1.

    That value is residue - p * q for the integer q that brings it into the range; p is odd, so the bit must be
    residue + q modulo 2. What is odd of bit - residue is tried for q.
    """
    if not _holds(entry, bit, Interval(0, 1)):
        return False
    quotient = Poly({monomial: 1 for monomial, c in (bit - residue).terms.items() if c % 2})
    canonical, allowed = residue - quotient * modulus, Interval(0, modulus - 1)
    return _holds(entry, canonical, allowed)
