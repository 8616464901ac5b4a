"""The argument of a proof for people: what each instruction makes, which carries cannot be and why, what cancels."""

from __future__ import annotations

from collections.abc import Iterator

from asmgen.bounds import Interval, Poly
from asmgen.polynomial import integer_text
from asmgen.prove.cells import Equation
from asmgen.prove.entry import Entry
from asmgen.prove.run import Path

#: Terms of a polynomial that are printed.
SHOWN = 12

#: Columns that an instruction takes.
WIDTH = 44


def steps(path: Path) -> Iterator[str]:
    """A line for each equation of a path, beside the instruction that it comes from; of a high part that is always the
    same the bounds that say so."""
    ledger = path.entry.domain.ledger
    ends = [*path.equations[1:], len(ledger.equations)]
    for decoded, first, last in zip(path.done, path.equations, ends, strict=True):
        head = decoded.place
        for equation in ledger.equations[first:last]:
            yield f"{head:{WIDTH}} {_told(path.entry, equation)}"
            head = ""


def _told(entry: Entry, equation: Equation) -> str:
    """x = low + 2^k * high in the names of inputs and quantities."""
    form, high = _text(entry, equation.form), equation.high.constant
    if high is None:
        return f"{form} = {_text(entry, equation.low)} + 2^{equation.k} * {_factor(entry, equation.high)}"
    known = entry.space._quick(entry.domain.norm(equation.form))
    least, most = high << equation.k, ((high + 1) << equation.k) - 1
    why = f"it lies in {_interval(known)}"
    if not known.within(Interval(least, most)):
        why = "by the facts on what it is made of"
    if high == 0:
        return f"{form} = {_text(entry, equation.low)}: nothing above 2^{equation.k}, {why}"
    low = _text(entry, equation.low)
    return f"{form} = {low} + {integer_text(high << equation.k)}: always the same above 2^{equation.k}, {why}"


def cancels(entry: Entry, what: str, norm: Poly, unscale: int, wanted: Poly, modulus: int) -> Iterator[str]:
    """What is left when the wanted residue is taken away from a result."""
    left = norm * unscale - wanted
    quotient = left.exact_quotient(modulus)
    factor = f"{what} * {integer_text(unscale)}" if unscale != 1 else what
    if quotient is not None:
        yield f"{factor} less what is wanted is p times {_norm_text(entry, quotient)}: {len(left)} terms, all cancel"
        return
    rest = Poly({monomial: c % modulus for monomial, c in left.terms.items() if c % modulus})
    yield (
        f"{factor} less what is wanted is p times an integer and a rest of {len(rest)} terms, which bounds, cases or "
        f"the equations above show to be a multiple of p: {_norm_text(entry, rest)}"
    )


def case(entry: Entry) -> Iterator[str]:
    """The choices that were decided where all goals hold."""
    for bit, value in entry.space.decided.items():
        yield f"where this is {value}, all holds: {_cut(entry.space.define(Poly.atom(bit)))}"


def _factor(entry: Entry, form: Poly) -> str:
    text = _text(entry, form)
    return f"({text})" if len(form) > 1 else text


def _text(entry: Entry, form: Poly) -> str:
    """A form with inputs by their names, other quantities by number."""
    ledger = entry.domain.ledger

    def named(cell: int) -> str:
        norm = ledger.norms[cell]
        known = cell in ledger.inputs and len(norm) == 1 and len(norm.atoms) == 1
        return entry.space._name(norm.atoms[0]) if known else f"t{cell}"

    return _cut(form.text(named))


def _norm_text(entry: Entry, poly: Poly) -> str:
    return _cut(poly.text(entry.space._name))


def _cut(text: str) -> str:
    """A text without what is beyond some terms."""
    terms = text.split(" + ")
    return text if len(terms) <= SHOWN else " + ".join(terms[:SHOWN]) + f" + … ({len(terms) - SHOWN} more)"


def _interval(interval: Interval) -> str:
    return f"[{integer_text(interval.low)}, {integer_text(interval.high)}]"
