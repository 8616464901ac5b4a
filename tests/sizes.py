"""How long a kernel's routine is, for tests."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache

from asmgen.function import Function
from asmgen.passes import Options, compile_kernel
from asmgen.targets.row import Instruction, Label, Memory, Role

MARKS = ("endbr64", "bti_c")
STACK = ("rsp", "sp")


@dataclass(frozen=True)
class Size:
    """`instructions` without the mark that indirect branches need; `names` counts mnemonics; `slots` are 8-byte words
    of the stack beside saved registers; `carried` are words of the stack that a loop's passes hand to each other."""

    instructions: int
    names: Counter[str]
    slots: int
    carried: int


@cache
def sizes(kernel: Function, target: str, features: str = "default") -> Size:
    """The size of a kernel's routine by the default schedule: a plan may take one with more instructions that is
    faster."""
    code = compile_kernel(kernel, Options(target, features, planned=False))
    made = [item for item in code.items if isinstance(item, Instruction)]
    names = Counter(instruction.row.mnemonic for instruction in made if instruction.row.name not in MARKS)
    saved = 8 * len(code.saved)
    read: set[int] = set()
    written: set[int] = set()
    inside = False
    for item in code.items:
        if isinstance(item, Label):
            inside = item.name.startswith("loop")
        elif isinstance(item, Instruction) and inside:
            for slot, operand in zip(item.row.slots, item.operands, strict=True):
                if isinstance(operand, Memory) and getattr(operand.base, "name", "") in STACK and slot.kind != "addr":
                    if slot.role is not Role.OUT and operand.offset not in written:
                        read.add(operand.offset)
                    written |= {operand.offset} if slot.role is not Role.IN else set()
            inside = item.row.control != "branch"
    alignment = 0 if target == "amd64" else saved % 16
    return Size(sum(names.values()), names, (code.stack - saved - alignment) // 8, len(read))


def products(kernel: Function, target: str) -> int:
    """Multiplications of a kernel's routine."""
    names = sizes(kernel, target).names
    return sum(names[name] for name in ("mul", "umulh", "madd", "msub", "mulx", "imul"))
