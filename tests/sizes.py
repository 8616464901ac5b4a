"""How long a kernel's routine is, for tests."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache

from asmgen.function import Function
from asmgen.passes import Options, compile_kernel
from asmgen.targets.row import Instruction, Label, Memory

MARKS = ("endbr64", "bti_c")
STACK = ("rsp", "sp")


@dataclass(frozen=True)
class Size:
    """`instructions` without the mark that indirect branches need; `names` counts mnemonics; `slots` are 8-byte words
    of the stack beside saved registers; `in_loops` are instructions of loops that read or write the stack."""

    instructions: int
    names: Counter[str]
    slots: int
    in_loops: int


@cache
def sizes(kernel: Function, target: str, features: str = "default") -> Size:
    """The size of a kernel's routine."""
    code = compile_kernel(kernel, Options(target, features))
    made = [item for item in code.items if isinstance(item, Instruction)]
    names = Counter(instruction.row.mnemonic for instruction in made if instruction.row.name not in MARKS)
    saved = 8 * len(code.saved)
    in_loops, inside = 0, False
    for item in code.items:
        if isinstance(item, Label):
            inside = item.name.startswith("loop")
        elif isinstance(item, Instruction):
            bases = [getattr(operand.base, "name", "") for operand in item.operands if isinstance(operand, Memory)]
            in_loops += inside and any(base in STACK for base in bases)
            inside = inside and item.row.control != "branch"
    alignment = 0 if target == "amd64" else saved % 16
    return Size(sum(names.values()), names, (code.stack - saved - alignment) // 8, in_loops)


def products(kernel: Function, target: str) -> int:
    """Multiplications of a kernel's routine."""
    names = sizes(kernel, target).names
    return sum(names[name] for name in ("mul", "umulh", "madd", "msub", "mulx", "imul"))
