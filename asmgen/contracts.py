"""What a kernel promises and requires of each argument: the types that annotate a script's functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from asmgen.errors import here

if TYPE_CHECKING:
    from asmgen.field import Field


@dataclass(frozen=True)
class Element:
    """An element of a field as limbs: limb i is at most `limb_max[i]`, the whole value at most `value_max`.

    With `multiple_of` = m every limb is a multiple of m and the residue is that of value / m.
    """

    field: Field
    limb_max: tuple[int, ...]
    value_max: int
    multiple_of: int = 1

    kind = "element"

    @property
    def words(self) -> int:
        """64-bit words in memory: one a limb."""
        return len(self.limb_max)

    def value(self, limbs: Sequence[int]) -> int:
        """The integer that the limbs stand for."""
        return sum(limb << position for limb, position in zip(limbs, self.field.positions, strict=True))

    def residue(self, limbs: Sequence[int]) -> int:
        """The residue modulo p that the limbs stand for, out of Montgomery form when the field has one."""
        value = self.value(limbs)
        if self.multiple_of != 1:
            value //= self.multiple_of
        return value * self.field.unscale % self.field.modulus

    def fault(self, limbs: Sequence[int]) -> str | None:
        """What breaks the contract, in words; None when it holds."""
        for index, (limb, most) in enumerate(zip(limbs, self.limb_max, strict=True)):
            if not 0 <= limb <= most:
                return f"limb {index} is {limb:#x}, allowed are 0..{most:#x}"
            if limb % self.multiple_of:
                return f"limb {index} is {limb:#x}, not a multiple of {self.multiple_of}"
        if self.value(limbs) > self.value_max:
            return f"the value is {self.value(limbs):#x}, allowed are 0..{self.value_max:#x}"
        return None


@dataclass(frozen=True)
class CountContract:
    """A public number of repetitions, 0..2^64 - 1; it may decide branches."""

    kind: Literal["count"] = field(default="count", init=False)
    words = 1
    value_max = 2**64 - 1


@dataclass(frozen=True)
class Small:
    """A secret number below `below` (at most 2^64), passed by value."""

    below: int
    kind: Literal["small"] = field(default="small", init=False)
    words = 1

    @property
    def value_max(self) -> int:
        return self.below - 1


@dataclass(frozen=True)
class BitContract:
    """A secret bit, 0 or 1, passed by value in a 64-bit argument."""

    kind: Literal["bit"] = field(default="bit", init=False)
    words = 1
    value_max = 1


@dataclass(frozen=True)
class Bytes:
    """`length` bytes in memory that stand for one integer, `order` is "little" or "big"."""

    length: int
    order: Literal["little", "big"]
    kind: Literal["bytes"] = field(default="bytes", init=False)


@dataclass(frozen=True)
class Table:
    """`count` elements, one after another in memory, each within the bounds of `element`."""

    element: Element
    count: int
    kind: Literal["table"] = field(default="table", init=False)

    def __post_init__(self) -> None:
        if self.count < 1:
            raise here(f"a table of {self.count} entries", "a table has one entry at least")

    @property
    def words(self) -> int:
        """64-bit words in memory: those of all entries."""
        return self.count * self.element.words


@dataclass(frozen=True)
class Range:
    """Bounds of a loop's state or of a single number: 0 <= x < below, x a multiple of `multiple_of`."""

    below: int
    multiple_of: int = 1


Count = CountContract()
Bit = BitContract()

Contract = Element | CountContract | Small | BitContract | Bytes | Table


@dataclass(frozen=True)
class Parameter:
    """A named argument of the C function."""

    name: str
    contract: Contract

    @property
    def by_pointer(self) -> bool:
        """Whether C passes a pointer to words or bytes rather than a 64-bit value."""
        return isinstance(self.contract, (Element, Bytes, Table))


def elements(parameters: Iterable[Parameter]) -> Iterator[Element]:
    """The elements among the arguments, and those that tables hold."""
    for parameter in parameters:
        contract = parameter.contract
        if isinstance(contract, (Element, Table)):
            yield contract.element if isinstance(contract, Table) else contract


@dataclass(frozen=True)
class Signature:
    """The C function of a kernel: outputs first, then inputs in script order."""

    script: str
    kernel: str
    outputs: tuple[Parameter, ...]
    inputs: tuple[Parameter, ...]
    returns_bit: bool = False
    doc: str = ""

    @property
    def symbol(self) -> str:
        """The name the linker sees, before any prefix."""
        return f"{self.script}_{self.kernel}"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All arguments in C order."""
        return self.outputs + self.inputs
