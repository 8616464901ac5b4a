"""Instructions by class, for listings and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from asmgen.routine import Item
from asmgen.targets.row import Instruction, Row

CLASSES = ("products", "with carry", "other", "loads", "stores", "moves", "branches", "marks")

#: The class of each cost that a row may have, before `_load`, `_store` and the like; what is not here is "other".
_BY_COST = {
    "products": "mul mulx imul madd mulh smulh mull maddl",
    "with carry": "adc adx carry",
    "loads": "load pop movbe_load",
    "stores": "store push movbe_store",
    "moves": "mov move constant xchg",
    "marks": "nop",
}
_CLASS = {cost: name for name, costs in _BY_COST.items() for cost in costs.split()}


def kind(row: Row) -> str:
    """The class of an instruction; arithmetic on a memory operand counts as arithmetic."""
    if row.control is not None:
        return "branches"
    if row.mnemonic in ("mov", "movl", "movabs") and row.cost == "alu":
        return "moves"
    return _CLASS.get(row.cost) or _CLASS.get(row.cost.split("_")[0]) or "other"


def census(items: Sequence[Item]) -> Mapping[str, int]:
    """How many instructions there are of each class, in the order of CLASSES; classes with none are left out."""
    kinds = [kind(item.row) for item in items if isinstance(item, Instruction)]
    return {name: kinds.count(name) for name in CLASSES if name in kinds}


def counted(items: Sequence[Item]) -> str:
    """The census in words: `10 instructions (loads 3, …)`."""
    found = census(items)
    return f"{sum(found.values())} instructions ({', '.join(f'{name} {count}' for name, count in found.items())})"
