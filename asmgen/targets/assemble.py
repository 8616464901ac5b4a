"""From instructions to bytes by the rows' own tables, for any target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from asmgen.errors import AsmgenError
from asmgen.routine import Item
from asmgen.targets.row import Instruction, Label, Operand


@dataclass(frozen=True)
class Assembled:
    """Machine code of one routine.

    `offsets` gives each item's place in bytes from the start (labels and directives have that of what follows them),
    `labels` the place of each label, `relocations` the calls that a linker completes: (offset of the instruction,
    symbol, row name).
    """

    code: bytes
    offsets: tuple[int, ...]
    labels: Mapping[str, int]
    relocations: tuple[tuple[int, str, str], ...] = ()


def assemble(items: Sequence[Item]) -> Assembled:
    """Encode the items, with jumps as short as their distances allow.

    Jumps start short and only grow, so the lengths come to rest. A call to a symbol that is no label here is encoded
    with distance 0 and listed in `relocations`; any other unknown label is an error, and so is a label that stands
    twice.
    """
    labels: dict[str, int] = {}
    for item in items:
        if isinstance(item, Label):
            if item.name in labels:
                raise AsmgenError(f"label {item.name} stands twice in one routine")
            labels[item.name] = 0
    relocations = [(i, symbol) for i, item in enumerate(items) for symbol in _outside(item, labels)]
    pieces = [_encode(item, 0, labels) for item in items]
    while True:
        offsets = list(accumulate((len(piece) for piece in pieces[:-1]), initial=0))[: len(items)]
        labels = {item.name: offset for item, offset in zip(items, offsets, strict=True) if isinstance(item, Label)}
        placed = [_encode(item, offset, labels) for item, offset in zip(items, offsets, strict=True)]
        growth = [len(new) - len(old) for new, old in zip(placed, pieces, strict=True)]
        if not any(growth):
            break
        if min(growth) < 0:
            raise AsmgenError(f"item {growth.index(min(growth))} has a shorter encoding for a longer distance")
        pieces = placed
    listed = tuple((offsets[i], symbol, _row(items[i])) for i, symbol in relocations)
    return Assembled(b"".join(placed), tuple(offsets), labels, listed)


def _outside(item: Item, labels: Mapping[str, int]) -> list[str]:
    """Symbols of a call that are no labels of this routine."""
    if not isinstance(item, Instruction):
        return []
    names = [operand.name for operand in item.operands if isinstance(operand, Label) and operand.name not in labels]
    if names and item.row.control != "call":
        raise AsmgenError(
            f"{item.row.mnemonic} goes to {names[0]}, which is no label of this routine", source=item.source
        )
    return names


def _row(item: Item) -> str:
    return item.row.name if isinstance(item, Instruction) else ""


def _encode(item: Item, offset: int, labels: Mapping[str, int]) -> bytes:
    """The item's bytes at this offset."""
    if not isinstance(item, Instruction):
        return b""

    def resolved(operand: Operand) -> Operand:
        return labels.get(operand.name, offset) - offset if isinstance(operand, Label) else operand

    try:
        return item.row.encode([resolved(operand) for operand in item.operands])
    except AsmgenError as error:
        raise AsmgenError(error.what, source=error.source or item.source, hint=error.hint) from error
