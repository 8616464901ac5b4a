"""The numbers of a proof: exact polynomials over what is unknown, in place of machine words.

Rows compute on them through `split`, `bitwise`, `is_zero` and `select`. An address is a number like any other, the
unknown place of a buffer plus an offset. What was never written is `space.Undefined`: it may be moved about, not used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from asmgen.bounds import Interval, Poly, lengths
from asmgen.knowledge import Atom
from asmgen.polynomial import ZERO, add_term, below, point
from asmgen.prove import leaves
from asmgen.prove.cells import Equation, Fact, Form, Ledger
from asmgen.prove.space import CaseSpace, Undefined

#: Terms of a quantity that is looked into by bounds before a solver is asked.
FEW = 40


class Polynomials:
    """The domain of a proof: values are forms over cells, as `cells` has them.

    `masks` are the bits that masks and choices were made of, in order; `others` has for a word that was chosen in this
    case the one that was not; `zeros` for a bit the words of which it says that one is not zero. While it `asks`, z3
    decides carries out of words that nothing else does, in so many tries.
    """

    def __init__(self, space: CaseSpace) -> None:
        self.space = space
        self.ledger = Ledger()
        self.asks = 0
        self.masks: dict[int, None] = {}
        self.others: dict[Poly, Form] = {}
        self._ands: dict[tuple[Poly, Poly], Poly] = {}
        self._ors: dict[Poly, tuple[Poly, Poly]] = {}
        self._xors: dict[Poly, tuple[Poly, Poly]] = {}
        self._dropped: dict[Poly, Poly] = {}
        self.zeros: dict[Poly, tuple[Poly, ...]] = {}

    def fork(self, space: CaseSpace) -> Polynomials:
        """The same domain over a copy of its space."""
        other = Polynomials(space)
        other.ledger = self.ledger.fork()
        other.masks, other.others = dict(self.masks), dict(self.others)
        other._ands, other._ors, other._xors = dict(self._ands), dict(self._ors), dict(self._xors)
        other._dropped = dict(self._dropped)
        other.zeros = dict(self.zeros)
        return other

    # Norms and forms.

    def norm(self, value: Any) -> Poly:
        """A value in terms of the inputs and of floors."""
        if isinstance(value, Undefined):
            value + 0
        return Poly.of(value) if isinstance(value, int) else self.ledger.norm(self._tidy(value))

    def _tidy(self, form: Form) -> Form:
        """A cell of two values, l and l + 1, has no higher powers: c * c = (2 l + 1) c - l (l + 1)."""
        for monomial, coefficient in form.terms.items():
            for cell, next_one in pairwise(monomial):
                if cell == next_one:
                    low, high = self.space.interval(self.ledger.norms[cell], view=lengths)
                    if high - low == 1:
                        rest = list(monomial)
                        rest.remove(cell)
                        total = dict(form.terms)
                        add_term(total, monomial, -coefficient)
                        add_term(total, tuple(rest), coefficient * (2 * low + 1))
                        rest.remove(cell)
                        add_term(total, tuple(rest), -coefficient * low * high)
                        return self._tidy(Poly(total))
        return form

    def form(self, norm: Poly) -> Form:
        """The value with this norm."""
        return self.ledger.form(norm)

    def value(self, value: Any) -> Any:
        """A value as registers and memory hold it."""
        return Poly.of(value) if isinstance(value, int) else value

    def operand(self, value: Any) -> Any:
        """A value as rows take it: what is known is an integer."""
        known = value.constant if isinstance(value, Poly) else None
        return value if known is None else known

    def entered(self, norm: Poly) -> Form:
        """A value that comes from outside."""
        return self.ledger.form(norm, entered=True)

    def anything(self, name: str) -> Form:
        """A word of which nothing is known."""
        return self.entered(self.space.atom(name, 0, 2**64 - 1))

    def holds(self, form: Form, allowed: Interval, tries: int = len(leaves.TRIES)) -> bool:
        """Whether a value is proven to lie within an interval, by all means there are or by short questions only."""
        norm, space = self.norm(form), self.space
        if space._quick(norm).within(allowed):
            return True
        if len(norm) <= FEW and space.interval(norm, enough=allowed).within(allowed):
            return True
        if leaves.within(self.ledger, space, form, allowed, space.deadline, min(tries, space.tries)):
            return True
        return tries > leaves.SHORT and space.interval(norm, enough=allowed).within(allowed)

    def remembered(self, norm: Poly, *, grow: bool = False) -> Form | None:
        """A quantity by cells: its own, or those of its atoms; None where one has none. With `grow` an atom that rounds
        something gets a cell for it."""
        core, factor, constant = norm.normal
        number = self.ledger._by_norm.get(core)
        if number is not None:
            return Poly({(number,): factor, (): constant}) if constant else Poly({(number,): factor})
        terms: dict[tuple[int, ...], int] = {}
        for monomial, coefficient in norm.terms.items():
            cells = [self._cell_of(atom, grow) for atom in monomial]
            known = [cell for cell in cells if cell is not None]
            if len(known) < len(cells):
                return None
            add_term(terms, tuple(sorted(known)), coefficient)
        return Poly(terms)

    def _cell_of(self, atom: int, grow: bool) -> int | None:
        found = self.ledger._by_norm.get(Poly.atom(atom))
        numerator, shift = self.space._atoms[atom].numerator, self.space._atoms[atom].shift
        if found is not None or numerator is None or not grow:
            return found
        form = self.remembered(numerator, grow=True)
        if form is None:
            return None
        low = self.ledger.form(numerator - (Poly.atom(atom) << shift))
        made = self.ledger.form(Poly.atom(atom))
        self.ledger.equations.append(Equation(form, shift, low, made, (None, None)))
        return made.atoms[0]

    # What rows compute with.

    def split(self, value: Any, k: int) -> tuple[Any, Any]:
        """(low, high) with value = low + 2^k * high, 0 <= low < 2^k."""
        if isinstance(value, int):
            return value & ((1 << k) - 1), value >> k
        if isinstance(value, Undefined):
            value + 0
        if value.constant is not None:
            return self.split(value.constant, k)
        value = self._tidy(value)
        pieces = self._laid_out(value, k)
        if pieces is not None:
            return pieces
        norm = self.ledger.norm(value)
        self.space.note(norm, self._by_parts(value))
        parts = self._tested(norm, k)
        if parts is None and self.asks and k == 64 and len(value) > 1:
            self._settle_carry(value, norm)
        if parts is None:
            self.space.simple = len(value) == 1
            parts = self.space.split(norm, k)
            self.space.simple = False
        low, high = parts
        if high.constant is not None:
            self.space.note(norm, below(k).plus(point(high.constant << k)))
        if len(low) == 1 and low.coefficients[0] == (1 << k) - 1:
            self._mark(low)
        return self.ledger.split(value, k, *parts)

    def _settle_carry(self, form: Form, norm: Poly) -> None:
        """Ask whether the carry out of a word is always the same, where all that is known leaves two and what is
        carried along shows one."""
        space = self.space
        known = space._quick(norm).shifted(64)
        core, factor, constant = norm.normal
        shown = space._shown(core)
        if known.width != 1 or shown is None:
            return
        seen = shown.scaled(factor, constant).shifted(64)
        if seen.width == 0:
            allowed = below(64).plus(point(seen.low << 64))
            if leaves.within(self.ledger, space, form, allowed, space.deadline, self.asks):
                space.note(norm, allowed)

    def _laid_out(self, form: Form, k: int) -> tuple[Form, Form] | None:
        """The split of a sum of cells that lie side by side, none of them across bit k; a constant goes where it keeps
        the low part within k bits."""
        if len(form) < 2:
            return None
        above = {monomial: c for monomial, c in form.terms.items() if monomial and not c & ((1 << k) - 1)}
        if not above:
            return None
        low = Poly({monomial: c for monomial, c in form.terms.items() if monomial and monomial not in above})
        part, constant = self._by_parts(low), form.terms.get((), 0)
        constant -= (part.low + constant) >> k << k
        if not part.plus(point(constant)).within(below(k)):
            return None
        low = low + constant
        return low, Poly({m: c >> k for m, c in (form - low).terms.items()})

    def _tested(self, norm: Poly, k: int) -> tuple[Poly, Poly] | None:
        """The split of t - 1 or of -t where t was made by `or` or `xor`: the borrow says whether it is zero."""
        for more in (0, 1):
            for value, borrow in ((norm + 1 - (more << k), False), ((more << k) - norm, True)):
                made = value in self._ors or value in self._xors or self._sum(value)
                if made and self.space._quick(value).within(below(k)):
                    zero = self._is_zero(value)
                    high = (zero - 1 if borrow else -zero) + more
                    return norm - (high << k), high
        return None

    def _by_parts(self, form: Form) -> Interval:
        """Bounds of a form, each cell by itself."""
        low = high = 0
        for monomial, coefficient in form.terms.items():
            part = Interval(1, 1)
            for cell in monomial:
                part = part.times(self.space._quick(self.ledger.norms[cell]))
            part = part.scaled(coefficient)
            low, high = low + part.low, high + part.high
        return Interval(low, high)

    def is_zero(self, value: Any) -> Any:
        """The bit [value == 0]."""
        return int(value == 0) if isinstance(value, int) else self.form(self._is_zero(self.norm(value)))

    def _is_zero(self, norm: Poly) -> Poly:
        bit = self._zero_bit(norm)
        interval = self.space._quick(norm)
        if bit.constant is None and interval.low >= 0:
            z, x = self.form(bit), self.form(norm)
            about = next(iter(z.atoms), None)
            self._fact(x + z * interval.high, None, interval.high, about)
            self._fact(x + z, 1, None, about)
        return bit

    def _zero_bit(self, norm: Poly) -> Poly:
        space = self.space
        interval = space.interval(norm, enough=below(4096))
        if interval.low < 0 < interval.high:
            return self._both(space.at_least(norm, 0), space.at_least(-norm, 0))
        if interval.low < 0:
            return space.at_least(norm, 0)
        some = space.at_least(norm, 1)
        leaves = list(self._leaves(norm))
        if some.constant is None:
            self.zeros[some] = tuple(leaves)
        elif len(leaves) > 1:
            self._know(leaves, bool(some.constant))
        return 1 - some

    def _leaves(self, norm: Poly, above: frozenset[Poly] = frozenset()) -> Iterator[Poly]:
        """The words that a value is made of by `or`, and of words compared by `xor` their difference."""
        parts = self._ors.get(norm)
        if parts is None and norm in self._xors:
            x, y = self._xors[norm]
            yield x - y
            return
        made_of = parts or self._sum(norm)
        if not made_of or norm in above:  # a value may be what it is made of: x or 0
            yield norm
            return
        for each in made_of:
            yield from self._leaves(each, above | {norm})

    def _sum(self, norm: Poly) -> list[Poly]:
        """What a value is the sum of, times positive numbers, where none of it is negative."""
        form = self.ledger.sums.get(self.ledger._by_norm.get(norm, -1), ZERO)
        cells = [monomial[0] for monomial, c in form.terms.items() if len(monomial) == 1 and c > 0]
        norms = [self.ledger.norms[cell] for cell in cells]
        if len(cells) < max(2, len(form)) or any(self.space._quick(each).low < 0 for each in norms):
            return []
        return norms

    def _know(self, leaves: Sequence[Poly], some: bool) -> None:
        """All of these words are zero, or some are not: so are sums of multiples of those that are not negative."""
        space = self.space
        if not some:
            for leaf in leaves:
                space.learn(leaf, point(0))
                self._fact(self.form(leaf), 0, 0)
        elif all(space._quick(leaf).low >= 0 for leaf in leaves):
            self._fact(Poly.sum(self.form(leaf) for leaf in leaves), 1, None)
        if not some or all(space._quick(leaf).low >= 0 for leaf in leaves):
            up = range(0, 64 * len(leaves), 64)
            for places in ([0] * len(leaves), up, reversed(up)):
                total = Poly.sum(leaf << at for leaf, at in zip(leaves, places, strict=True))
                space.learn(total, Interval(1, max(1, space._quick(total).high)) if some else point(0))
        space.look_again()

    def _both(self, x: Poly, y: Poly) -> Poly:
        """x and y, of bits."""
        return self.space.as_bit(x * y)

    def select(self, bit: Any, x: Any, y: Any) -> Any:
        """x when the bit is 1, else y."""
        if isinstance(bit, int):
            return x if bit else y
        chosen = self.space.as_bit(self.norm(bit))
        if chosen.constant is not None:
            taken, other = (x, y) if chosen.constant else (y, x)
            if not isinstance(taken, Undefined) and not isinstance(other, Undefined):
                self.others[self.norm(taken)] = self.value(other)
            return taken
        one, zero = self.norm(x), self.norm(y)
        if one == zero:
            return x
        self._mark(chosen)
        return self._chosen(chosen, one, zero)

    def _chosen(self, bit: Poly, x: Poly, y: Poly) -> Form:
        """x where the bit is 1, y where it is 0."""
        made = self.form(self.space.select(bit, x, y))
        low, high = self.space._quick(x - y)
        (b, z), (one, zero) = (self.form(bit), made), (self.form(x), self.form(y))
        about = next(iter(z.atoms), None)
        if about is not None:
            self._fact(z - zero - b * high, None, 0, about)
            self._fact(z - zero - b * low, 0, None, about)
            self._fact(z - one + (1 - b) * low, None, 0, about)
            self._fact(z - one + (1 - b) * high, 0, None, about)
        return made

    def _fact(self, form: Form, low: int | None, high: int | None, about: int | None = None) -> None:
        """Note what is known of cells for goals; a side that is None is not known."""
        known = self._by_parts(form)
        interval = Interval(known.low if low is None else low, known.high if high is None else high)
        self.ledger.facts.append(Fact(form, interval, about))

    def _mark(self, bit: Poly) -> None:
        self.masks.update(dict.fromkeys(bit.atoms))

    def bitwise(self, op: str, x: Any, y: Any, width: int) -> Any:
        """`and`, `or` or `xor` of two values in [0, 2^width)."""
        if isinstance(x, int) and isinstance(y, int):
            return {"and": x & y, "or": x | y, "xor": x ^ y}[op]
        one, other = self.norm(x), self.norm(y)
        if one == other:
            return x if op != "xor" else 0
        known = self._back(one, other) if op == "xor" else self._top_bit(one, other, width) if op == "or" else None
        if known is not None:
            return known
        if other.constant is None and (one.constant is not None or self._mask_of(one, width) is not None):
            x, y, one, other = y, x, other, one
        if other.constant is not None and one.constant is None:
            both = self._masked(x, other.constant)
        else:
            both = self.form(self._and(one, other, width))
        if op == "and":
            if other.constant == 0 and one in self._xors:
                a, b = self._xors[one]
                self._dropped |= {a: b, b: a}
            return both
        result = self.value(x + y - both * (1 if op == "or" else 2))
        norm = self.norm(result)
        self.space.learn(norm, below(width))
        if norm.constant is None and op != "and":
            (self._ors if op == "or" else self._xors)[norm] = one, other
        return result

    def _back(self, x: Poly, y: Poly) -> Form | None:
        """x xor y where that is known without a look at bits: of (a xor b) and a mask with b, which is a or b. The one
        that is not chosen is noted, as it is of other choices."""
        for changed, kept in ((x, y), (y, x)):
            pair = self._xors.get(changed, ())
            if kept in pair:
                chosen = pair[1 - pair.index(kept)]
                self.others[chosen] = self.form(kept)
                return self.form(chosen)
            if changed.constant == 0:
                if kept in self._dropped:
                    self.others[kept] = self.form(self._dropped[kept])
                return self.form(kept)
        return None

    def _top_bit(self, x: Poly, y: Poly, width: int) -> Form | None:
        """x or y where y is -x modulo 2^width: its highest bit is [x != 0]; of the others nothing is said."""
        some = (x + y).exact_quotient(1 << width)
        if some is None or some.constant is not None or not self.space._quick(some).within(below(1)):
            return None
        top = width - 1
        rest = self.unknown(f"or{len(self._ors)}", below(top), lambda a, b: (a | b) & (1 << top) - 1, x, y)
        return self.form((self.space.as_bit(some) << top) + rest)

    def _and(self, x: Poly, y: Poly, width: int) -> Poly:
        """x and y, of words."""
        if x.constant is not None and y.constant is not None:
            return Poly.of(x.constant & y.constant)
        bit = self._mask_of(y, width)
        if bit is not None:
            if bit.constant is None:
                self._mark(bit)
            return self.norm(self._chosen(bit, x, ZERO))
        if self._apart(x, y) or self._apart(y, x):
            return ZERO
        if self.space.interval(x).within(below(1)) and self.space.interval(y).within(below(1)):
            return self.space.as_bit(x * y)
        return self._opaque(x, y)

    def _mask_of(self, norm: Poly, width: int) -> Poly | None:
        """The bit m when the value is m times 2^width - 1, so proven by its coefficients; None otherwise."""
        bit = norm.exact_quotient((1 << width) - 1)
        if bit is None or not self.space.interval(bit).within(below(1)):
            return None
        return self.space.as_bit(bit)

    def _masked(self, x: Form, mask: int) -> Form:
        """x and a constant: a split for each run of its ones."""
        total, first = ZERO, 0
        while mask >> first:
            first += (mask >> first & -(mask >> first)).bit_length() - 1
            run = ~(mask >> first)
            width = (run & -run).bit_length() - 1
            above = self.split(x, first)[1] if first else x
            total = total + self.split(above, width)[0] * (1 << first)
            first += width
        return total

    def _apart(self, x: Poly, y: Poly) -> bool:
        """Whether all bits of x are below those of y."""
        factors = y.coefficients
        twos = min((factor & -factor).bit_length() - 1 for factor in factors) if factors else 0
        return twos > 0 and self.space.interval(x, enough=below(twos)).within(below(twos))

    def _opaque(self, x: Poly, y: Poly) -> Poly:
        """An unknown that is x and y."""
        key = (x, y)
        found = self._ands.get(key) or self._ands.get((y, x))
        if found is None:
            most = min(self.space.interval(x).high, self.space.interval(y).high)
            found = self._ands[key] = self.unknown(f"and{len(self._ands)}", Interval(0, most), lambda a, b: a & b, x, y)
            self.space.learn(x - found, Interval(0, self.space.interval(x).high))
            self.space.learn(y - found, Interval(0, self.space.interval(y).high))
            both = self.form(found)
            for each in (x, y):
                self._fact(self.form(each) - both, 0, None, self.ledger.cell(found))
        return found

    def unknown(self, name: str, interval: Interval, function: Callable[..., int], *of: Poly) -> Poly:
        """An atom that stands for an integer function of values."""
        space = self.space
        witnesses = [function(*(each.evaluate(values) for each in of)) for values in space._witnesses]
        return space._add_atom(Atom(name, None, 0), interval, witnesses)
