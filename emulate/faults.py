"""The kinds of fault that a routine is seeded with, each with all the places it fits.

Left out is what changes no behavior by the rows alone: operands that commute, flags that nothing reads, and what older
cores take for nop.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations

from asmgen.routine import Item
from asmgen.targets.row import Instruction, Label, Memory, Register, Role
from emulate.subject import Change, Subject, text

#: The costs of instructions that a core without the feature in question takes for nop.
_HINTS = ("nop", "pac")

#: How far apart two instructions that are exchanged may stand.
_NEAR = 8

#: Each condition with its opposite beside it.
_CONDITIONS = {
    "amd64": (("o", "no"), ("c", "nc"), ("z", "nz"), ("be", "a"), ("s", "ns"), ("p", "np"), ("l", "ge"), ("le", "g")),
    "arm64": (("eq", "ne"), ("cs", "cc"), ("mi", "pl"), ("vs", "vc"), ("hi", "ls"), ("ge", "lt"), ("gt", "le")),
}
_CONDITIONAL = {"amd64": ("cmov", "set", "j"), "arm64": ("csel_", "csinc_", "csinv_", "csneg_", "cset_", "csetm_",
                "cinc_", "ccmp_", "ccmp_imm_", "b_")}  # fmt: skip

#: The same instruction without the carry that it reads.
_WITHOUT_CARRY = {
    "amd64": {"adc": "add", "sbb": "sub", "adcx": "add", "adox": "add", "mask": "zero"},
    "arm64": {"adc": "add", "adcs": "adds", "sbc": "sub", "sbcs": "subs", "ngc": "neg", "ngcs": "negs"},
}
#: The same without the carry that it gives.
_WITHOUT_FLAGS = {"arm64": {"adds": "add", "adcs": "adc", "subs": "sub", "sbcs": "sbc", "negs": "neg", "ngcs": "ngc"}}
#: The same by another flag, or with a carry where none belongs.
_WRONG_CARRY = {
    "amd64": {"adcx": "adox", "adox": "adcx", "add": "adc", "sub": "sbb"},
    "arm64": {"add": "adc", "adds": "adcs", "sub": "sbc", "subs": "sbcs"},
}
#: Countings and their opposites.
_OPPOSITE = {"dec": "inc", "inc": "dec", "sub": "add", "add": "sub", "sub_imm": "add_imm", "add_imm": "sub_imm"}


def _renamed(name: str, names: Mapping[str, str]) -> str:
    """A row's name with its mnemonic, up to the first underscore, exchanged; empty when it is not among the names."""
    mnemonic, mark, form = name.partition("_")
    return f"{names[mnemonic]}{mark}{form}" if mnemonic in names else ""


# Operands.


def _operands_swapped(subject: Subject, rng: random.Random) -> Iterator[Change]:
    for at, item in subject.instructions:
        free = [number for number, slot in enumerate(item.row.slots) if slot.fixed is None]
        for one, other in combinations(free, 2):
            inputs = item.row.slots[one].role is Role.IN and item.row.slots[other].role is Role.IN
            if item.row.commutes == (one, other) and inputs:
                continue
            operands = list(item.operands)
            operands[one], operands[other] = operands[other], operands[one]
            yield from subject.replaced(at, subject.instruction(item, item.row.name, operands))


def _register_replaced(subject: Subject, rng: random.Random) -> Iterator[Change]:
    for at, _, number, _, operand in subject.operands():
        if isinstance(operand, Register):
            for other in rng.sample(subject.registers, min(3, len(subject.registers))):
                yield from subject.with_operand(at, number, other)


def _number_changed(subject: Subject, rng: random.Random) -> Iterator[Change]:
    for at, _, number, _, operand in subject.operands():
        if isinstance(operand, int):
            flipped = operand ^ 1 << rng.randrange(max(6, operand.bit_length()))
            for other in (operand - 1, operand + 1, flipped, operand >> 1, 2 * operand + 1):
                yield from subject.with_operand(at, number, other)


def _moved(subject: Subject, role: Role) -> Iterator[Change]:
    for at, _, number, slot, operand in subject.operands():
        if isinstance(operand, Memory) and (slot.role is Role.IN) == (role is Role.IN):
            for step in (-8, 8):
                moved = replace(operand, offset=operand.offset + step)
                yield from subject.with_operand(at, number, moved)


def _offset_changed(subject: Subject, rng: random.Random) -> Iterator[Change]:
    yield from _moved(subject, Role.IN)


def _store_misplaced(subject: Subject, rng: random.Random) -> Iterator[Change]:
    yield from _moved(subject, Role.OUT)


def _other_buffer(subject: Subject, rng: random.Random) -> Iterator[Change]:
    for at, _, number, _, operand in subject.operands():
        if isinstance(operand, Memory) and operand.base in subject.bases:
            for base in subject.bases:
                yield from subject.with_operand(at, number, replace(operand, base=base))


# Order and choice.


def _depends(first: Instruction, second: Instruction) -> bool:
    """Whether the second does not do the same before the first."""
    registers = {*second.read, *second.written} & {*first.written} or {*second.written} & {*first.read}
    flags = second.row.reads & first.row.flags_touched or second.row.flags_touched & first.row.reads
    both = zip((*first.row.slots, *second.row.slots), (*first.operands, *second.operands), strict=True)
    places = [(slot.role, operand) for slot, operand in both if isinstance(operand, Memory)]
    stored = {operand for role, operand in places if role is not Role.IN}
    shared = any(len([operand for _, operand in places if operand == place]) > 1 for place in stored)
    return bool(registers or flags or shared)


def _commute(first: Instruction, second: Instruction) -> bool:
    """Whether both add to the same register or take from it, apart from flags."""
    sums = all(item.row.mnemonic in ("add", "sub") and item.row.slots[0].role is Role.INOUT for item in (first, second))
    return sums and first.operands[0] == second.operands[0]


def _order_swapped(subject: Subject, rng: random.Random) -> Iterator[Change]:
    """Each instruction exchanged with the nearest one before it that it depends on."""
    for index, (at, second) in enumerate(subject.instructions):
        for before, first in reversed(subject.instructions[max(0, index - _NEAR) : index]):
            between = subject.items[before : at + 1]
            if any(isinstance(item, Label) or isinstance(item, Instruction) and item.row.control for item in between):
                break
            if _depends(first, second):
                if first.row.cost in _HINTS:
                    break
                flags = first.row.flags_touched
                if not _commute(first, second) or any(subject.read_later(place, flags) for place in (before, at)):
                    change = f"{text(first)} comes after {text(second)}"
                    yield before, change, subject.edited({before: (second,), at: (first,)})
                break


def _condition_inverted(subject: Subject, rng: random.Random) -> Iterator[Change]:
    for at, item in subject.instructions:
        row = item.row
        mnemonic = row.name if subject.target == "arm64" else row.name.partition("_")[0]
        opposite = {"cbz": "cbnz", "cbnz": "cbz"}.get(mnemonic, "")
        for pair in _CONDITIONS[subject.target]:
            for one, other in (pair, pair[::-1]):
                if mnemonic in [f"{kind}{one}" for kind in _CONDITIONAL[subject.target]]:
                    opposite = mnemonic.removesuffix(one) + other + row.name.removeprefix(mnemonic)
        yield from subject.replaced(at, subject.instruction(item, opposite, item.operands))


def _dropped(subject: Subject, rng: random.Random) -> Iterator[Change]:
    aside = {*subject.saves.values(), *subject.restores.values()}
    for at, item in subject.instructions:
        if at not in aside and item.row.cost not in _HINTS and item.row.control in (None, "branch", "call"):
            yield at, f"{text(item)} is gone", subject.edited({at: ()})


# Carries.


def _carry_dropped(subject: Subject, rng: random.Random) -> Iterator[Change]:
    """Not read, or not given where it would be read."""
    for at, item in subject.instructions:
        name = _renamed(item.row.name, _WITHOUT_CARRY[subject.target])
        yield from subject.replaced(at, subject.instruction(item, name, item.operands))
        if not subject.read_later(at, item.row.writes):
            continue
        name = _renamed(item.row.name, _WITHOUT_FLAGS.get(subject.target, {}))
        yield from subject.replaced(at, subject.instruction(item, name, item.operands))
        if item.row.name == "add_rr":
            into, other = item.operands
            assert isinstance(into, Register) and isinstance(other, Register)
            lea = subject.instruction(item, "lea_rm", (into, Memory(into, 0, other)))
            yield from subject.replaced(at, lea)


def _carry_misread(subject: Subject, rng: random.Random) -> Iterator[Change]:
    """By another flag, or one that is not meant for this instruction."""
    for at, item in subject.instructions:
        name = _renamed(item.row.name, _WRONG_CARRY[subject.target])
        made = subject.instruction(item, name, item.operands)
        if made is not None and (item.row.reads or subject.carry_is_loose(at, made.row.reads)):
            yield from subject.replaced(at, made)


# The frame.


def _missing(subject: Subject, places: Mapping[str, int]) -> Iterator[Change]:
    for at in dict.fromkeys(places.values()):
        yield at, f"{text(subject.items[at])} is gone", subject.edited({at: ()})


def _restore_missing(subject: Subject, rng: random.Random) -> Iterator[Change]:
    yield from _missing(subject, subject.restores)


def _save_missing(subject: Subject, rng: random.Random) -> Iterator[Change]:
    """The save alone, or with its restore."""
    yield from _missing(subject, subject.saves)
    for name, at in subject.saves.items():
        back = subject.restores[name]
        change = f"{text(subject.items[at])} is gone, and {text(subject.items[back])}"
        yield at, change, subject.edited({at: (), back: ()})


def _restore_wrong(subject: Subject, rng: random.Random) -> Iterator[Change]:
    """Two registers exchanged in their restores."""
    for one, other in combinations(subject.restores, 2):
        swap = {one: other, other: one}
        edits: dict[int, tuple[Item, ...]] = {}
        for at in {subject.restores[one], subject.restores[other]}:
            item = subject.items[at]
            assert isinstance(item, Instruction)
            named = {register.name: register for register in subject.registers}
            operands = [
                named[swap[operand.name]] if isinstance(operand, Register) and operand.name in swap else operand
                for operand in item.operands
            ]
            made = subject.instruction(item, item.row.name, operands)
            if made is not None:
                edits[at] = (made,)
        if edits:
            yield min(edits), f"{one} and {other} are exchanged in the restores", subject.edited(edits)


# Loops.


def _loop_counter(subject: Subject, rng: random.Random) -> Iterator[Change]:
    """One pass more or less: the counting instruction, or its opposite, once more before the loop."""
    heads = {item.name: at for at, item in enumerate(subject.items) if isinstance(item, Label)}
    for at, branch in subject.instructions:
        head = next((heads.get(operand.name, at) for operand in branch.operands if isinstance(operand, Label)), at)
        if head >= at or branch.row.control != "branch":
            continue
        for _, step in reversed([each for each in subject.instructions if head < each[0] < at]):
            if step.row.writes & branch.row.reads or {*step.written} & {*branch.read}:
                name = _renamed(step.row.name, _OPPOSITE) or _OPPOSITE.get(step.row.name, "")
                for made in (step, subject.instruction(step, name, step.operands)):
                    if made is not None:
                        change = f"{text(made)} once more before {text(subject.items[head])}"
                        yield head, change, subject.edited({head: (made, subject.items[head])})
                break


#: The kinds of fault, with what makes all those of a kind.
FAULTS: Mapping[str, Callable[[Subject, random.Random], Iterator[Change]]] = {
    "operands swapped": _operands_swapped,
    "register replaced": _register_replaced,
    "number changed": _number_changed,
    "offset changed": _offset_changed,
    "store misplaced": _store_misplaced,
    "other buffer": _other_buffer,
    "order swapped": _order_swapped,
    "condition inverted": _condition_inverted,
    "instruction dropped": _dropped,
    "carry dropped": _carry_dropped,
    "carry misread": _carry_misread,
    "restore missing": _restore_missing,
    "restore wrong": _restore_wrong,
    "save missing": _save_missing,
    "loop counter": _loop_counter,
}
