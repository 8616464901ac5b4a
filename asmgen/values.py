"""The numbers of a script: traced ones with proven bounds, and plain ones that are exact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from asmgen.errors import caller, here
from asmgen.nodes import Node
from asmgen.polynomial import Interval
from asmgen.promises import size
from asmgen.trace import Plain, Trace, running

if TYPE_CHECKING:
    from asmgen.field import Field

POSITIVE = "add a multiple of the modulus first, so that it cannot be negative"


class Number:
    """An exact integer of a routine that is being traced: unknown, but with proven bounds.

    `+`, `-`, `*` with numbers and integers and `<<` by an integer are exact; nothing wraps. Python cannot branch on it.
    `field` is that of the limbs it was made from, None where there are none.
    """

    __slots__ = ("trace", "node", "field")

    def __init__(self, trace: Trace, node: Node, field: Field | None = None) -> None:
        self.trace = trace
        self.node = node
        self.field = field

    @property
    def interval(self) -> Interval:
        """The proven bounds, both included."""
        return self.node.interval

    def split(self, k: int) -> tuple[Number, Number]:
        """(low, high) with self = low + 2^k * high and 0 <= low < 2^k; high is the floor, also of negative numbers."""
        _shift(k)
        return self._like(self.trace.low(self.node, k)), self._like(self.trace.high(self.node, k))

    def divide_exact(self, divisor: int, assume: bool = False) -> Number:
        """self / divisor, a power of two, which must be proven to leave no rest.

        With `assume` it is taken on trust here, checked whenever the script runs on plain integers.
        """
        node = self.trace.divide(self.node, _exponent(divisor), assume)
        if node is None:
            raise here(
                f"this is not proven to be a multiple of {size(divisor)}, so it cannot be divided exactly",
                "add the multiple of the modulus that makes the low bits zero, split() to drop them, "
                "or say assume=True to have it checked on integers and left to `prove`",
            )
        return self._like(node)

    def reduce_once(self, m: int) -> Number:
        """self - m if self >= m, else self; needs 0 <= self < 2m."""
        allowed = Interval(0, 2 * m - 1)
        low, high = self.trace.proven(self.node, allowed)
        if low < 0 or high >= 2 * m:
            raise here(
                f"one subtraction of {size(m)} does not reduce a value that lies between {size(low)} and {size(high)}: "
                f"it must be at least 0 and below {size(2 * m)}",
                "reduce it further before, or subtract a larger multiple of the modulus first",
            )
        return self._like(self.trace.reduce(self.node, m))

    def at_least(self, m: Number | int) -> Number:
        """The bit [self >= m]."""
        if isinstance(m, Number):
            return (self - m).at_least(0)
        return Number(self.trace, self.trace.at_least(self.node, m))

    def is_zero(self) -> Number:
        """The bit [self = 0]."""
        return Number(self.trace, self.trace.is_zero(self.node))

    def words(self, count: int | None = None) -> list[Number]:
        """The 64-bit words, least significant first: `count`, or as many as the bounds need."""
        most = self.interval.high if count is None else (1 << 64 * count) - 1
        low, high = self.trace.proven(self.node, Interval(0, most))
        if low < 0:
            raise here(f"a value that may be negative, as low as {size(low)}, has no words", POSITIVE)
        needed = max(1, -(-high.bit_length() // 64))
        if count is None:
            count = needed
            self.trace.word_counts.setdefault(caller(), set()).add(count)
        if count < needed:
            raise here(
                f"the value may reach {size(high)}, too much for {count} word{'s' * (count != 1)}",
                f"take {needed} words, or reduce it before",
            )
        return self.cut([64] * count)

    def cut(self, widths: Sequence[int]) -> list[Number]:
        """Digits of the given widths in bits, lowest first; the last one is all the rest."""
        digits, at = [], 0
        for width in widths[:-1]:
            digits.append(self._like(self.trace.low(self.trace.high(self.node, at), width)))
            at += width
        return [*digits, self._like(self.trace.high(self.node, at))]

    def _like(self, node: Node) -> Number:
        return Number(self.trace, node, self.field)

    def _with(self, other: object, make: Callable[[Node, Node], Node], swap: bool = False) -> Any:
        if isinstance(other, Number):
            node, field = other.node, self.common(other)
        elif isinstance(other, int):
            node, field = self.trace.const(other), self.field
        else:
            return NotImplemented
        return Number(self.trace, make(node, self.node) if swap else make(self.node, node), field)

    def common(self, other: Number) -> Field | None:
        """The field of what both make."""
        if other.trace is not self.trace:
            raise here(
                "this uses a value of another kernel, whose routine is finished",
                "pass it as an argument; values live only inside the kernel that made them",
            )
        mine, theirs = self.field, other.field
        if mine is not None and theirs is not None and mine.modulus != theirs.modulus:
            raise here(
                f"limbs of different fields are mixed: {mine.name} and {theirs.name}",
                "a value of one field means nothing in the other; take both operands from one of them",
            )
        return mine or theirs

    def __add__(self, other: Number | int) -> Number:
        return self._with(other, self.trace.add)  # type: ignore[no-any-return]

    def __radd__(self, other: int) -> Number:
        return self._with(other, self.trace.add, swap=True)  # type: ignore[no-any-return]

    def __sub__(self, other: Number | int) -> Number:
        return self._with(other, self.trace.sub)  # type: ignore[no-any-return]

    def __rsub__(self, other: int) -> Number:
        return self._with(other, self.trace.sub, swap=True)  # type: ignore[no-any-return]

    def __mul__(self, other: Number | int) -> Number:
        return self._with(other, self.trace.mul)  # type: ignore[no-any-return]

    def __rmul__(self, other: int) -> Number:
        return self._with(other, self.trace.mul, swap=True)  # type: ignore[no-any-return]

    def __lshift__(self, k: int) -> Number:
        return self._like(self.trace.shl(self.node, _shift(k)))

    def __neg__(self) -> Number:
        return 0 - self

    def __pos__(self) -> Number:
        return self

    def __repr__(self) -> str:
        return f"<{self.node.name or self.node.op} in {size(self.interval.low)}..{size(self.interval.high)}>"

    __hash__ = object.__hash__

    def _branch(self, *_: object) -> NoReturn:
        raise here(
            "Python cannot decide by this value: it is known only when the finished routine runs",
            "x.at_least(m) and x.is_zero() give a bit, select(bit, x, y) chooses by it without a branch",
        )

    def _position(self) -> NoReturn:
        raise here(
            "this value is known only when the finished routine runs: it is no index and no Python int",
            "choose among all entries with select(bit, x, y), for an address must not depend on a secret; "
            "a Count repeats with repeat(n, body, state)",
        )

    def _no_bits(self, *_: object) -> NoReturn:
        raise here(
            "values are exact integers: they have no bit operations, division or powers",
            "low, high = x.split(k) gives the low k bits and the rest; x.divide_exact(2**k) divides; x * x squares",
        )

    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _branch
    __int__ = __index__ = __float__ = _position
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = _no_bits
    __rshift__ = __rrshift__ = __rlshift__ = _no_bits
    __floordiv__ = __rfloordiv__ = __truediv__ = __rtruediv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _no_bits


class Exact(int):
    """A plain integer with the same methods as a traced number: a script runs on these to say what it computes."""

    __slots__ = ()

    def split(self, k: int) -> tuple[Exact, Exact]:
        _shift(k)
        return Exact(int(self) & ((1 << k) - 1)), Exact(int(self) >> k)

    def divide_exact(self, divisor: int, assume: bool = False) -> Exact:
        quotient, rest = divmod(int(self), 1 << _exponent(divisor))
        if rest:
            raise here(
                f"{int(self):#x} is no multiple of {size(divisor)}",
                "the low bits must be zero before an exact division",
            )
        return Exact(quotient)

    def reduce_once(self, m: int) -> Exact:
        if not 0 <= self < 2 * m:
            raise here(
                f"one subtraction of {m:#x} does not reduce {int(self):#x}",
                f"the value must be at least 0 and below {2 * m:#x}",
            )
        return Exact(int(self) - m if self >= m else self)

    def at_least(self, m: int) -> Exact:
        return Exact(self >= m)

    def is_zero(self) -> Exact:
        return Exact(self == 0)

    def words(self, count: int | None = None) -> list[Exact]:
        if self < 0:
            raise here(f"{int(self):#x} is negative and has no words", POSITIVE)
        needed = max(1, -(-self.bit_length() // 64))
        if count is None:
            count = _traced_count() or needed
        if count < needed:
            raise here(
                f"{int(self):#x} is too much for {count} word{'s' * (count != 1)}",
                "take more words, or reduce it before",
            )
        return self.cut([64] * count)

    def cut(self, widths: Sequence[int]) -> list[Exact]:
        digits, rest = [], self
        for width in widths[:-1]:
            digit, rest = rest.split(width)
            digits.append(digit)
        return [*digits, rest]

    def __add__(self, other: int) -> Exact:
        return Exact(int.__add__(self, other)) if isinstance(other, int) else NotImplemented

    def __sub__(self, other: int) -> Exact:
        return Exact(int.__sub__(self, other)) if isinstance(other, int) else NotImplemented

    def __rsub__(self, other: int) -> Exact:
        return Exact(int.__rsub__(self, other)) if isinstance(other, int) else NotImplemented

    def __mul__(self, other: int) -> Exact:
        return Exact(int.__mul__(self, other)) if isinstance(other, int) else NotImplemented

    def __lshift__(self, k: int) -> Exact:
        return Exact(int(self) << _shift(k))

    def __neg__(self) -> Exact:
        return Exact(-int(self))

    __radd__, __rmul__ = __add__, __mul__


def _traced_count() -> int | None:
    """How many words the traced kernel takes at this line, None outside of a kernel."""
    run = running.get()
    if not isinstance(run, Plain):
        return None
    counts = run.word_counts().get(caller(), set())
    if len(counts) != 1:
        raise here(
            "on plain integers the number of words is not clear here",
            "say how many words there are: x.words(8)",
        )
    return next(iter(counts))


def _shift(k: int) -> int:
    if isinstance(k, Number) or not isinstance(k, int) or k < 0:
        raise here(
            f"shifts and splits take a fixed number of bits, at least 0, not {k!r}",
            "write the number of bits as an integer",
        )
    return int(k)


def _exponent(divisor: int) -> int:
    if isinstance(divisor, Number) or divisor < 1 or divisor & (divisor - 1):
        raise here(f"divide_exact takes a power of two, not {divisor!r}", "write divide_exact(2**k)")
    return divisor.bit_length() - 1


Value = Number | Exact
