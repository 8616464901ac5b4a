"""Elements as lists of limbs, and what chooses and keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, overload

from asmgen.errors import here
from asmgen.polynomial import below
from asmgen.promises import size
from asmgen.trace import Trace
from asmgen.values import Exact, Number, Value

if TYPE_CHECKING:
    from asmgen.field import Field


class Limbs(Sequence[Any]):
    """The limbs of an element, or the 64-bit words of a byte string, least significant first."""

    __slots__ = ("numbers", "field")

    def __init__(self, numbers: Sequence[Value], field: Field | None) -> None:
        self.numbers = tuple(numbers)
        self.field = field

    @property
    def value(self) -> Any:
        """The whole integer."""
        positions = self.field.positions if self.field else range(0, 64 * len(self), 64)
        return sum((limb << at for limb, at in zip(self.numbers, positions, strict=True)), Exact(0))

    def words(self, count: int | None = None) -> list[Any]:
        """The whole integer's 64-bit words."""
        if self.field is None and count in (None, len(self)):
            return list(self.numbers)
        return self.value.words(count)  # type: ignore[no-any-return]

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, int) and not -len(self) <= index < len(self):
            raise here(
                f"there is no limb {index}: the limbs are 0 to {len(self) - 1}",
                "limbs are counted from 0, least significant first",
            )
        return list(self.numbers[index]) if isinstance(index, slice) else self.numbers[index]

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.numbers)

    def __repr__(self) -> str:
        return f"<limbs {', '.join(map(repr, self.numbers))}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Limbs, list, tuple)):
            return False
        for number in (*self, *other):
            if isinstance(number, Number):
                number._branch()
        return list(self) == list(other)

    __hash__ = object.__hash__

    def _whole(self, *_: object) -> NoReturn:
        raise here(
            "an element is a list of limbs here, not one number",
            "take limbs, as in a[0] * b[0], or the whole integer, as in a.value * b.value; "
            "to use a kernel, call it: mul(a, b)",
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __lshift__ = __neg__ = _whole


def select(bit: Any, x: Any, y: Any) -> Any:
    """x if the bit is 1, else y, without a branch; of lists and elements, limb by limb."""
    if isinstance(x, (Limbs, list, tuple)):
        if not isinstance(y, (Limbs, list, tuple)) or len(x) != len(y):
            raise here(
                "select chooses between two of the same length",
                "give two elements, or two lists of as many numbers",
            )
        chosen = [select(bit, one, other) for one, other in zip(x, y, strict=True)]
        return Limbs(chosen, x.field) if isinstance(x, Limbs) else chosen
    if not isinstance(bit, Number):
        if bit not in (0, 1):
            raise here(f"select needs a bit, not {bit}", _BITS)
        chosen = x if bit else y
        return Exact(chosen) if isinstance(chosen, int) else chosen
    trace = bit.trace
    low, high = trace.proven(bit.node, below(1))
    if low < 0 or high > 1:
        raise here(f"select needs a bit, this value may lie anywhere between {size(low)} and {size(high)}", _BITS)
    one, other = as_number(trace, x), as_number(trace, y)
    return Number(trace, trace.select(bit.node, one.node, other.node), one.common(other))


_BITS = "bits come from x.at_least(m), x.is_zero(), a Bit parameter, or split() where one bit is left"


def keep(x: Any) -> Any:
    """x, made as one number at this place."""
    if isinstance(x, (Limbs, list, tuple)):
        kept = [keep(each) for each in x]
        return Limbs(kept, x.field) if isinstance(x, Limbs) else kept
    return Number(x.trace, x.trace.keep(x.node), x.field) if isinstance(x, Number) else x


def as_number(trace: Trace, value: object) -> Number:
    """A number of this trace; plain integers become constants."""
    if isinstance(value, Number):
        if value.trace is not trace:
            value.common(Number(trace, trace.const(0)))
        return value
    if isinstance(value, int):
        return Number(trace, trace.const(value))
    raise here(
        f"a number is needed here, not {describe(value)}",
        "numbers are limbs, integers, and what + - * << make of them",
    )


def describe(value: object) -> str:
    """What a wrong value is, for messages."""
    if isinstance(value, Limbs):
        return f"an element of {len(value)} limbs"
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of {len(value)}"
    return "None" if value is None else f"a {type(value).__name__}"
