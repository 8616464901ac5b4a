"""The finished routine: entry, saved registers, slots on the stack, return.

Only preserved registers that the routine writes are saved; a leaf with neither saves nor slots has no prologue at
all. Slots lie at or above the stack pointer, nothing below it is used. Of the registers that the platform keeps, x18
is never touched, x29 only by routines that call others, to point to their frame record. Call frame directives stand
after each instruction that changes how the frame is found; where a routine starts and ends is for emission.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from asmgen.errors import AsmgenError
from asmgen.passes.machine import Machine, machine
from asmgen.routine import Allocated, Cfi, Code, Item
from asmgen.targets.conventions import Convention
from asmgen.targets.conventions import convention as convention_named
from asmgen.targets.row import FRAME, Instruction, Memory, Operand, Register

_PAIR_REACH = 504  #: the farthest that stp and ldp move sp, and reach from it
_SINGLE_REACH = 248  #: the same for str and ldr that move sp


@dataclass(frozen=True)
class _Layout:
    """How the stack lies inside the routine, and what makes and unmakes it."""

    size: int  #: bytes below the stack pointer at entry
    slots: int  #: where slot 0 lies, above the stack pointer
    before: tuple[Item, ...]
    after: tuple[Item, ...]


def frame(
    allocated: Allocated, *, convention: str | None = None, wipe: bool = False, outgoing: int = 0, below: int = 0
) -> Code:
    """The routine from its entry to its return, under a calling convention (the target's usual one by default).

    With `wipe`, slots are overwritten with zeros before they are given back: they may have held secrets. A routine that
    calls others leaves `outgoing` words at the stack pointer for arguments that go there; those others use up to
    `below` bytes of stack, which are wiped too.
    """
    target = machine(allocated.routine.target)
    rules = convention_named(convention, allocated.routine.target)
    body = [item for item in allocated.items if isinstance(item, Instruction)]
    written = {register for instruction in body for register in instruction.written if isinstance(register, Register)}
    saved = tuple(target.registers[name] for name in rules.preserved if target.registers[name] in written)
    calls = any(instruction.row.control == "call" for instruction in body)
    if calls and target.name == "arm64":
        record = (target.registers["x29"], target.registers["x30"])
        saved = (*record, *(register for register in saved if register not in record))
    layout = (_amd64 if target.name == "amd64" else _arm64)(target, rules, saved, allocated.slots, calls, outgoing)
    below = _rounded(below, rules.stack_alignment)
    wiping = _wiped(target, layout, allocated.slots, below) if wipe else []
    before, after = layout.before, (*wiping, *layout.after)
    arriving = {
        target.registers[name]: value.name or str(value)
        for name, value in zip(rules.arguments, allocated.routine.arguments, strict=False)
    }
    holds: tuple[dict[Register, str], ...] = ()
    if allocated.holds:
        holds = (*[arriving] * len(before), *allocated.holds, *[allocated.holds[-1]] * len(after))
    return Code(
        signature=allocated.routine.signature,
        target=target.name,
        items=(*before, *_with_addresses(allocated, target, rules, layout), *after),
        features=frozenset(instruction.row.feature for instruction in body if instruction.row.feature),
        holds=holds,
        saved=tuple(register.name for register in saved),
        stack=layout.size + below,
        body=len(before),
    )


def _with_addresses(allocated: Allocated, target: Machine, rules: Convention, layout: _Layout) -> list[Item]:
    """The items with slots, and arguments on the stack (slots -1, -2, …), addressed from the stack pointer."""

    def address(operand: Operand) -> Operand:
        if not isinstance(operand, Memory) or operand.base != FRAME:
            return operand
        if operand.offset >= 0:
            return replace(operand, base=target.stack, offset=layout.slots + operand.offset)
        index = len(rules.arguments) - 1 - operand.offset // 8
        return replace(operand, base=target.stack, offset=layout.size + rules.stack_argument(index))

    def placed(item: Item) -> Item:
        if not isinstance(item, Instruction):
            return item
        if FRAME in item.operands:  # an address that is computed
            into, _, offset = item.operands
            assert isinstance(offset, int)
            return replace(item, operands=(into, target.stack, layout.slots + offset))
        placed = replace(item, operands=tuple(map(address, item.operands)))
        if item.row.name == "lea_rm" and placed.operands[1] == Memory(target.stack):
            return replace(placed, row=target.rows["mov_rr"], operands=(placed.operands[0], target.stack))
        return placed

    return [placed(item) for item in allocated.items]


def _rounded(size: int, unit: int) -> int:
    return -(-size // unit) * unit


# amd64


def _amd64(
    target: Machine, rules: Convention, saved: Sequence[Register], slots: int, calls: bool, outgoing: int
) -> _Layout:
    """Pushes, then one step down to the slots. Where calls are made the stack pointer is a multiple of 16."""
    pushed = 8 * len(saved)
    if calls:
        outgoing += rules.shadow // 8
    size = pushed + 8 * (slots + outgoing)
    if calls:
        size = _rounded(size + rules.return_address, rules.stack_alignment) - rules.return_address
    before: list[Item] = [target.make("endbr64")]
    after: list[Item] = []
    depth = rules.return_address
    stack, below = target.stack, Memory(target.stack, -8)
    for register in saved:
        depth += 8
        before += [
            target.make("push_r", register, below, stack, note="save"),
            Cfi(f".cfi_def_cfa_offset {depth}"),
            Cfi(f".cfi_offset %{register.name}, {-depth}"),
        ]
    if size > pushed:
        step = size - pushed
        before += [target.make("sub_ri", stack, step, note="slots"), Cfi(f".cfi_def_cfa_offset {depth + step}")]
        after += [target.make("add_ri", stack, step), Cfi(f".cfi_def_cfa_offset {depth}")]
    for register in reversed(saved):
        depth -= 8
        after += [
            target.make("pop_r", register, Memory(stack), stack, note="restore"),
            Cfi(f".cfi_def_cfa_offset {depth}"),
            Cfi(f".cfi_restore %{register.name}"),
        ]
    return _Layout(size, 8 * outgoing, tuple(before), (*after, target.make("ret")))


# arm64


def _arm64(
    target: Machine, rules: Convention, saved: Sequence[Register], slots: int, calls: bool, outgoing: int
) -> _Layout:
    """Saved registers lowest, in pairs, slots above them; the first save makes room for all. A saved return address is
    signed, and a routine that calls others keeps a frame record, to which x29 points.
    """
    stack, link = target.stack, target.registers["x30"]
    signed = link in saved
    size = _rounded(8 * (outgoing + len(saved) + slots), rules.stack_alignment)
    pairs = [tuple(saved[start : start + 2]) for start in range(0, len(saved), 2)]
    reach = _PAIR_REACH if pairs and len(pairs[0]) == 2 else _SINGLE_REACH
    before: list[Item] = (
        [target.make("paciasp", link), Cfi(".cfi_negate_ra_state")] if signed else [target.make("bti_c")]
    )
    after: list[Item] = []
    moved = [Cfi(f".cfi_def_cfa_offset {size}")]
    back = [Cfi(".cfi_def_cfa_offset 0")]
    apart = size > 0 and (outgoing > 0 or not (pairs and size <= reach))
    if apart:
        if size >= 4096:
            raise AsmgenError(f"the routine needs {size} bytes of stack, more than the 4095 that one step makes")
        before += [target.make("sub_imm", stack, stack, size, note="slots"), *moved]
    for index, pair in enumerate(pairs):
        single = "" if len(pair) == 2 else "r"
        verb, restored = single or "p", [Cfi(f".cfi_restore {register.name}") for register in pair]
        at = 8 * outgoing + 16 * index
        places = [Cfi(f".cfi_offset {register.name}, {at + 8 * half - size}") for half, register in enumerate(pair)]
        if index == 0 and not apart:
            before += [
                target.make(f"st{verb}_pre", *pair, stack, Memory(stack, -size), -size, note="save"),
                *moved,
                *places,
            ]
            after = [target.make(f"ld{verb}_post", *pair, stack, Memory(stack), size, note="restore"), *restored, *back]
        else:
            before += [target.make(f"st{verb}", *pair, Memory(stack, at), note="save"), *places]
            after = [target.make(f"ld{verb}", *pair, Memory(stack, at), note="restore"), *restored, *after]
    if calls:
        before.append(target.make("add_imm", target.registers["x29"], stack, 8 * outgoing, note="frame record"))
    if apart:
        after += [target.make("add_imm", stack, stack, size), *back]
    if signed:
        after += [target.make("autiasp", link), Cfi(".cfi_negate_ra_state")]
    return _Layout(size, 8 * (outgoing + len(saved)), tuple(before), (*after, target.make("ret", link)))


def _wiped(target: Machine, layout: _Layout, slots: int, below: int) -> list[Item]:
    """Zeros over all slots, and over `below` bytes under the stack pointer, which is lowered for that time."""
    if not below:
        return _zeros(target, [Memory(target.stack, layout.slots + 8 * slot) for slot in range(slots)])
    down, up = ("sub_ri", "add_ri") if target.name == "amd64" else ("sub_imm", "add_imm")
    stack = (target.stack,) if target.name == "amd64" else (target.stack, target.stack)
    places = [*range(0, below, 8), *(below + layout.slots + 8 * slot for slot in range(slots))]
    return [
        target.make(down, *stack, below, note="what was called used this"),
        Cfi(f".cfi_adjust_cfa_offset {below}"),
        *_zeros(target, [Memory(target.stack, place) for place in places]),
        target.make(up, *stack, below),
        Cfi(f".cfi_adjust_cfa_offset {-below}"),
    ]


def _zeros(target: Machine, places: list[Memory]) -> list[Item]:
    if target.name == "amd64":
        return [target.make("mov_mi", place, 0, note="wipe") for place in places]
    zero, made = target.registers["xzr"], list[Item]()
    while places:
        if target.can_pair(places[0].offset) and Memory(target.stack, places[0].offset + 8) in places[1:2]:
            made.append(target.make("stp", zero, zero, places.pop(0), note="wipe"))
            places.pop(0)
        else:
            made.append(target.make("str", zero, places.pop(0), note="wipe"))
    return made
