"""Finished routines of the shipped kernels, for tests that read them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from asmgen.function import Function
from asmgen.passes import Options, compile_kernel
from asmgen.routine import Code
from asmgen.scripts import load
from asmgen.targets.row import Instruction, Memory, Register, Role

VARIANTS = [("amd64", "default"), ("amd64", "base"), ("arm64", "default")]
STACK = ("rsp", "sp")
#: One field in five limbs and two in four words, one of them in Montgomery form: every kind of carry there is.
SCRIPTS = ("curve25519_5x51", "curve25519_4x64", "p256")
KERNELS = ("mul", "sqr", "square_n", "add", "sub", "neg", "mul_small", "canon")


@cache
def kernel(script: str, name: str) -> Function:
    return load(script).kernels[name]


@cache
def code(script: str, name: str, target: str, features: str = "default") -> Code:
    """The finished routine of a shipped kernel."""
    return compile_kernel(kernel(script, name), Options(target, features))


def codes(target: str, features: str = "default") -> Iterator[Code]:
    """Those of all chosen kernels."""
    for script in SCRIPTS:
        for name in KERNELS:
            yield code(script, name, target, features)


def instructions(made: Code) -> list[Instruction]:
    return [item for item in made.items if isinstance(item, Instruction)]


def accesses(instruction: Instruction) -> Iterator[tuple[Memory, bool]]:
    """The memory that an instruction touches, each with whether it is written."""
    for slot, operand in zip(instruction.row.slots, instruction.operands, strict=True):
        if isinstance(operand, Memory) and slot.kind != "addr":
            yield operand, slot.role is not Role.IN


def on_stack(memory: Memory) -> bool:
    return isinstance(memory.base, Register) and memory.base.name in STACK
