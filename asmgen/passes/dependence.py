"""What must come before what in a straight line: values, flags, memory; and what had better."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from asmgen.targets.row import Instruction, Memory, Register, Role, Tied, Virtual


@dataclass
class FlagValue:
    """A flag as one instruction writes it, for those that read it."""

    flag: str
    writer: int
    readers: list[int] = field(default_factory=list)


@dataclass
class Graph:
    """Instructions by position. Sets of positions are bit masks.

    `before[i]` must be done before i. `values` are the flags that someone reads; `blocks[w, flag]` must be done
    before w opens its chain on the flag, or a later member of the chain would wait for an instruction that the chain
    keeps out.
    """

    instructions: Sequence[Instruction]
    before: list[int]
    values: dict[tuple[int, str], FlagValue]
    reads: list[list[tuple[int, str]]]
    blocks: dict[tuple[int, str], int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.instructions)

    @cached_property
    def after(self) -> list[list[int]]:
        """Those that wait for each instruction, lowest first."""
        found: list[list[int]] = [[] for _ in self.before]
        for index, mask in enumerate(self.before):
            for earlier in bits(mask):
                found[earlier].append(index)
        return found


def bits(mask: int) -> Iterable[int]:
    """The positions in a mask, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def graph(instructions: Sequence[Instruction], homes: Iterable[Virtual], *, preferences: bool = True) -> Graph:
    """The dependences of a straight line whose order is legal as it stands.

    With `preferences` an instruction that overwrites a value also waits for the value's other readers, and
    instructions that want different values in one fixed register come group by group.
    """
    before = [0] * len(instructions)
    _values(instructions, before)
    _memory(instructions, before, frozenset(homes))
    values, reads = _flags(instructions, before)
    ancestors = closure(before)
    if preferences:
        for first, then in [*_overwriting(instructions), *_fixed(instructions)]:
            if first != then and not ancestors[first] >> then & 1 and not before[then] >> first & 1:
                before[then] |= 1 << first
                _extend(ancestors, first, then)
    made = Graph(instructions, before, values, reads)
    _chains(made, ancestors)
    return made


def closure(before: Sequence[int]) -> list[int]:
    """All ancestors of each instruction; `before` may point forward where preferences do."""
    ancestors = list(before)
    changed = True
    while changed:
        changed = False
        for index, direct in enumerate(before):
            mask = direct
            for each in bits(direct):
                mask |= ancestors[each]
            if mask != ancestors[index]:
                ancestors[index] = mask
                changed = True
    return ancestors


def _extend(ancestors: list[int], first: int, then: int) -> None:
    more = ancestors[first] | 1 << first
    for index in range(len(ancestors)):
        if index == then or ancestors[index] >> then & 1:
            ancestors[index] |= more


def _values(instructions: Sequence[Instruction], before: list[int]) -> None:
    """Readers after writers; physical registers, which may be written again, in order."""
    writer: dict[Register | Virtual, int] = {}
    readers: dict[Register, int] = {}
    for index, instruction in enumerate(instructions):
        for register in instruction.read:
            if register in writer:
                before[index] |= 1 << writer[register]
            if isinstance(register, Register):
                readers[register] = readers.get(register, 0) | 1 << index
        for register in instruction.written:
            if isinstance(register, Register):
                before[index] |= readers.pop(register, 0) & ~(1 << index)
                if register in writer:
                    before[index] |= 1 << writer[register]
            writer[register] = index


def _memory(instructions: Sequence[Instruction], before: list[int], homes: frozenset[Virtual]) -> None:
    """Outputs may be the inputs' buffers: what is loaded before a store stays before it, and what comes after,
    after."""
    loads = stores = 0
    for index, instruction in enumerate(instructions):
        load = any(isinstance(each, Virtual) and each in homes for each in instruction.read)
        store = False
        for slot, operand in zip(instruction.row.slots, instruction.operands, strict=True):
            if isinstance(operand, Memory) and slot.kind != "addr":
                load |= slot.role is not Role.OUT
                store |= slot.role is not Role.IN
        if load:
            before[index] |= stores
            loads |= 1 << index
        if store:
            before[index] |= loads & ~(1 << index)
            stores |= 1 << index


def _flags(
    instructions: Sequence[Instruction], before: list[int]
) -> tuple[dict[tuple[int, str], FlagValue], list[list[tuple[int, str]]]]:
    """Who reads whose flags."""
    last: dict[str, int] = {}
    values: dict[tuple[int, str], FlagValue] = {}
    reads: list[list[tuple[int, str]]] = []
    for index, instruction in enumerate(instructions):
        reads.append([])
        for flag in sorted(instruction.row.reads):
            if flag in last:
                writer = last[flag]
                before[index] |= 1 << writer
                values.setdefault((writer, flag), FlagValue(flag, writer)).readers.append(index)
                reads[index].append((writer, flag))
        for flag in instruction.row.flags_touched:
            last[flag] = index
    return values, reads


def _overwriting(instructions: Sequence[Instruction]) -> Iterable[tuple[int, int]]:
    """(another reader, the last one that overwrites the value): in this order no copy is needed."""
    readers: dict[Virtual, list[int]] = {}
    overwriters: dict[Virtual, int] = {}
    for index, instruction in enumerate(instructions):
        for register in instruction.read:
            if isinstance(register, Virtual):
                readers.setdefault(register, []).append(index)
        for operand in instruction.operands:
            if isinstance(operand, Tied) and isinstance(operand.source, Virtual):
                overwriters[operand.source] = index
    for value, index in overwriters.items():
        for reader in readers[value]:
            yield reader, index


def _fixed(instructions: Sequence[Instruction]) -> Iterable[tuple[int, int]]:
    """Groups of instructions with the same value in a fixed register, one after the other; what fixed registers give
    is read before the next instruction that writes them."""
    groups: dict[str, tuple[object, list[int], list[int]]] = {}
    given: dict[str, list[Virtual]] = {}
    readers: dict[Virtual, list[int]] = {}
    for index, instruction in enumerate(instructions):
        for register in instruction.read:
            if isinstance(register, Virtual):
                readers.setdefault(register, []).append(index)
    for index, instruction in enumerate(instructions):
        written: dict[str, list[Virtual]] = {}
        for slot, operand in zip(instruction.row.slots, instruction.operands, strict=True):
            if slot.fixed is None or not isinstance(operand, Virtual):
                continue
            if slot.role is Role.IN:
                value, members, earlier = groups.get(slot.fixed, (None, [], []))
                if value != operand:
                    members, earlier = [], members
                groups[slot.fixed] = (operand, [*members, index], earlier)
                yield from ((each, index) for each in earlier)
            else:
                written.setdefault(slot.fixed, []).append(operand)
        for register_name, values in written.items():
            for value in given.get(register_name, []):
                yield from ((each, index) for each in readers.get(value, []))
            given[register_name] = values


def _chains(made: Graph, ancestors: Sequence[int]) -> None:
    """Join the values of a flag that follow each other through instructions that read and write it."""
    touching: dict[str, int] = {}
    for index, instruction in enumerate(made.instructions):
        for flag in instruction.row.flags_touched:
            touching[flag] = touching.get(flag, 0) | 1 << index
    head: dict[tuple[int, str], tuple[int, str]] = {}
    members: dict[tuple[int, str], int] = {}
    for (writer, flag), value in sorted(made.values.items()):
        link = next((head[key] for key in made.reads[writer] if key[1] == flag), (writer, flag))
        head[writer, flag] = link
        members[link] = members.get(link, 0) | 1 << writer
        for reader in value.readers:
            members[link] |= 1 << reader
    for (writer, flag), mask in members.items():
        needed = 0
        for each in bits(mask):
            needed |= ancestors[each]
        made.blocks[writer, flag] = needed & touching[flag] & ~mask
