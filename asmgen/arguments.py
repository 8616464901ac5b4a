"""What goes into a kernel and comes out of it: limbs, integers and bytes, in the form that the contract says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from asmgen.contracts import Bytes, Contract, Element, Table
from asmgen.elements import Limbs, describe
from asmgen.errors import AsmgenError, Source
from asmgen.promises import size
from asmgen.values import Exact, Number

if TYPE_CHECKING:
    from asmgen.field import Field


def most(contract: Contract) -> int:
    """The largest integer that the contract allows; of a table, in each entry."""
    if isinstance(contract, Bytes):
        return (1 << 8 * contract.length) - 1
    return contract.element.value_max if isinstance(contract, Table) else contract.value_max


def numbers_of(contract: Contract, value: Any, name: str, source: Source | None) -> list[Any]:
    """The limbs of an element, those of all entries of a table, or the one integer that anything else is.

    An element may be given as limbs or as one integer, which is cut; a byte string as bytes, words or one integer.
    """
    if isinstance(contract, Element):
        return _limbs(contract, value, name, source)
    if isinstance(contract, Table):
        entries = _entries(contract, value, name, source)
        return [x for i, entry in enumerate(entries) for x in _limbs(contract.element, entry, f"{name}[{i}]", source)]
    if isinstance(contract, Bytes):
        if isinstance(value, (bytes, bytearray)):
            value = _integer(contract, bytes(value), name, source)
        elif isinstance(value, (Limbs, list, tuple)):
            value = Limbs(list(value), None).value
    if isinstance(value, (Number, int)):
        return [value if isinstance(value, Number) else Exact(value)]
    raise AsmgenError(f"{name} is {describe(value)}, a number is needed", source=source, hint="give one integer")


def _entries(contract: Table, value: Any, name: str, source: Source | None) -> Sequence[Any]:
    if isinstance(value, (list, tuple)) and len(value) == contract.count:
        return value
    raise AsmgenError(
        f"{name} is {describe(value)}, a table of {contract.count} elements is needed",
        source=source,
        hint="give a list with one element an entry",
    )


def _integer(contract: Bytes, value: bytes, name: str, source: Source | None) -> int:
    if len(value) != contract.length:
        raise AsmgenError(
            f"{name} is {len(value)} bytes long, not {contract.length}", source=source, hint="pad it or cut it"
        )
    return int.from_bytes(value, contract.order)


def _limbs(contract: Element, value: Any, name: str, source: Source | None) -> list[Any]:
    field = contract.field
    if isinstance(value, (Number, int)):
        return list(field.limbs_of(value))
    if isinstance(value, Limbs) and value.field not in (None, field):
        raise AsmgenError(
            f"different fields are mixed: {name} is of {form(field)}, this is an element of {form(value.field)}",
            source=source,
            hint="limbs_of(x.value) cuts an integer into the limbs of another field, to_mont and from_mont change form",
        )
    if not isinstance(value, Sequence):
        raise AsmgenError(
            f"{name} is {describe(value)}, but limbs of {field.name} are needed",
            source=source,
            hint="give a list of limbs, an element or one integer",
        )
    numbers = list(value)
    if len(numbers) != len(contract.limb_max):
        raise AsmgenError(
            f"{name} has {len(numbers)} limbs, an element of {field.name} has {len(contract.limb_max)}",
            source=source,
            hint="give one number a limb, or one integer, which is cut at the limb positions",
        )
    return numbers


def form(field: Field | None) -> str:
    """A field as its elements are held, for messages."""
    if field is None:
        return "no field"
    form = "" if field.montgomery is None else ", in Montgomery form"
    return f"{field.name} (limbs of {', '.join(map(str, field.limbs))} bits{form})"


def same_field(contract: Element, numbers: Sequence[Number], name: str, source: Source | None) -> None:
    """An error when a limb comes from an element of another field."""
    for index, number in enumerate(numbers):
        if number.field is not None and number.field.modulus != contract.field.modulus:
            raise AsmgenError(
                f"limbs of different fields are mixed: limb {index} of {name} is of {number.field.name}, "
                f"an element of {contract.field.name} is needed",
                source=source,
                hint=f"where a value is meant to change fields, cut it anew: {contract.field.name} has limbs_of(x)",
            )


def wrapped(contract: Contract, numbers: Sequence[Any]) -> Any:
    """Numbers as a script sees them: limbs of an element, words of a byte string, or the number itself."""
    if isinstance(contract, Element):
        field = contract.field
        return Limbs([Number(x.trace, x.node, field) if isinstance(x, Number) else x for x in numbers], field)
    if isinstance(contract, Table):
        return [wrapped(contract.element, entry) for entry in entries_of(contract, numbers)]
    if isinstance(contract, Bytes):
        return Limbs(numbers[0].words(-(-contract.length // 8)), None)
    return numbers[0]


def entries_of(contract: Table, numbers: Sequence[Any]) -> list[Sequence[Any]]:
    """The numbers of each entry of a table."""
    width = contract.element.words
    return [numbers[at : at + width] for at in range(0, contract.words, width)]


def checked(contract: Contract, value: Any, name: str, source: Source | None, hint: str) -> Any:
    """A plain value as a script sees it, held against its contract."""
    numbers = [Exact(number) for number in numbers_of(contract, value, name, source)]
    if isinstance(contract, Element):
        fault = contract.fault(numbers)
    elif isinstance(contract, Table):
        faults = [contract.element.fault(entry) for entry in entries_of(contract, numbers)]
        fault = next((f"entry {index}: {each}" for index, each in enumerate(faults) if each), None)
    else:
        good = 0 <= numbers[0] <= most(contract)
        fault = None if good else f"the value is {int(numbers[0]):#x}, allowed are 0..{size(most(contract))}"
    if fault is not None:
        raise AsmgenError(f"{name}: {fault}", source=source, hint=hint)
    return wrapped(contract, numbers)
