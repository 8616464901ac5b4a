"""Small finished routines, written by hand for both targets: what emission and listing are tried on.

They are three kernels of tests/golden/emit/mersenne127.py: one with a saved register, one with a loop, one with a
product, which needs BMI2 on amd64.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from asmgen.contracts import Count, Parameter, Signature
from asmgen.emit.origin import Origin
from asmgen.errors import Source
from asmgen.field import Field
from asmgen.routine import Cfi, Code, Item
from asmgen.targets import amd64, arm64
from asmgen.targets.row import Instruction, Label, Memory, Register

SCRIPT = Path(__file__).parent / "golden" / "emit" / "mersenne127.py"
FIELD = Field("mersenne127", 2**127 - 1, [64, 63])
FULL = FIELD.below(2**127)

ADD = Signature(
    "mersenne127", "add", (Parameter("out", FIELD.below(2**128)),), (Parameter("a", FULL), Parameter("b", FULL)),
    doc="No carry: the sum has 128 bits.",
)  # fmt: skip
DOUBLE_N = Signature(
    "mersenne127", "double_n", (Parameter("out", FULL),), (Parameter("a", FULL), Parameter("n", Count)),
    doc="a * 2^n, n doublings in registers; /* it says */ so.",
)  # fmt: skip
MUL_LOW = Signature(
    "mersenne127", "mul_low", (Parameter("out", FIELD.limbs_below(2**64)),), ADD.inputs,
    doc="The product of the first words.",
)  # fmt: skip


def line(text: str) -> Source:
    """The line of the script that has this text."""
    lines = SCRIPT.read_text().splitlines()
    return Source(str(SCRIPT), 1 + next(i for i, each in enumerate(lines) if text in each))


SUM = line("return a.value + b.value")
LOOP = line("return repeat")
SPLIT = line("x.split(127)")
FOLD = line("return low + high")
PRODUCT = line("return fold(fold")


def origin(target: str, **more: object) -> Origin:
    """Of the files of these routines."""
    command = f"asmgen build mersenne127 --target {target}"
    about = "mersenne127: integers modulo 2^127 - 1 in two words of 64 and 63 bits."
    return Origin("mersenne127", "mersenne127.py", about, command, target, "mersenne127", **more)  # type: ignore[arg-type]


def codes(target: str) -> list[Code]:
    """The routines for a target."""
    return _amd64() if target == "amd64" else _arm64()


def _holds(items: Sequence[Item], names: dict[str, str]) -> tuple[dict[Register, str], ...]:
    """After each item, what its results are called, by register name."""
    return tuple(
        {r: names[r.name] for r in item.written if isinstance(r, Register) and r.name in names}
        if isinstance(item, Instruction)
        else {}
        for item in items
    )


def _amd64() -> list[Code]:
    ins = amd64.ins
    rax, rbx, rcx, rdx, rsi, rdi, r8 = (amd64.REGISTERS[name] for name in "rax rbx rcx rdx rsi rdi r8".split())
    add: list[Item] = [
        ins("endbr64"),
        ins("push_r", rbx),
        Cfi(".cfi_adjust_cfa_offset 8"),
        Cfi(".cfi_rel_offset %rbx, 0"),
        ins("mov_rm", rax, Memory(rsi), source=SUM),
        ins("mov_rm", rbx, Memory(rsi, 8), source=SUM),
        ins("add_rm", rax, Memory(rdx), source=SUM, note="the low word"),
        ins("adc_rm", rbx, Memory(rdx, 8), source=SUM),
        ins("mov_mr", Memory(rdi), rax),
        ins("mov_mr", Memory(rdi, 8), rbx),
        ins("pop_r", rbx),
        Cfi(".cfi_adjust_cfa_offset -8"),
        Cfi(".cfi_restore %rbx"),
        ins("ret"),
    ]
    double: list[Item] = [
        ins("endbr64"),
        ins("mov_rm", rax, Memory(rsi), source=LOOP),
        ins("mov_rm", rcx, Memory(rsi, 8), source=LOOP),
        ins("test_rr", rdx, rdx, source=LOOP),
        ins("jz_l", Label("done"), source=LOOP),
        Label("loop"),
        ins("add_rr", rax, rax, source=LOOP),
        ins("adc_rr", rcx, rcx, source=LOOP),
        ins("mov_rr", r8, rcx, source=SPLIT),
        ins("shr_ri", r8, 63, source=SPLIT),
        ins("shl_ri", rcx, 1, source=SPLIT),
        ins("shr_ri", rcx, 1, source=SPLIT),
        ins("add_rr", rax, r8, source=FOLD),
        ins("adc_ri", rcx, 0, source=FOLD),
        ins("dec_r", rdx, source=LOOP),
        ins("jnz_l", Label("loop"), source=LOOP),
        Label("done"),
        ins("mov_mr", Memory(rdi), rax),
        ins("mov_mr", Memory(rdi, 8), rcx),
        ins("ret"),
    ]
    product: list[Item] = [
        ins("endbr64"),
        ins("mov_rm", rdx, Memory(rdx), source=PRODUCT),
        ins("mulx_rrm", rcx, rax, Memory(rsi), source=PRODUCT),
        ins("mov_mr", Memory(rdi), rax),
        ins("mov_mr", Memory(rdi, 8), rcx),
        ins("ret"),
    ]
    names = {"rax": "low", "rbx": "high", "rcx": "high", "r8": "top"}
    return [
        Code(ADD, "amd64", tuple(add), frozenset(), _holds(add, names), ("rbx",), 8),
        Code(DOUBLE_N, "amd64", tuple(double), frozenset(), _holds(double, names)),
        Code(MUL_LOW, "amd64", tuple(product), frozenset({"bmi2"}), _holds(product, names)),
    ]


def _arm64() -> list[Code]:
    ins = arm64.ins
    x0, x1, x2, x3, x4, x5, x6, x19 = (arm64.REGISTERS[f"x{i}"] for i in (0, 1, 2, 3, 4, 5, 6, 19))
    add: list[Item] = [
        ins("bti_c"),
        arm64.push(x19, size=16),
        Cfi(".cfi_adjust_cfa_offset 16"),
        Cfi(".cfi_rel_offset x19, 0"),
        ins("ldp", x3, x19, Memory(x1), source=SUM),
        ins("ldp", x5, x6, Memory(x2), source=SUM),
        ins("adds", x3, x3, x5, source=SUM, note="the low word"),
        ins("adc", x19, x19, x6, source=SUM),
        ins("stp", x3, x19, Memory(x0)),
        arm64.pop(x19, size=16),
        Cfi(".cfi_adjust_cfa_offset -16"),
        Cfi(".cfi_restore x19"),
        ins("ret"),
    ]
    double: list[Item] = [
        ins("bti_c"),
        ins("ldp", x3, x4, Memory(x1), source=LOOP),
        ins("cbz", x2, Label("done"), source=LOOP),
        Label("loop"),
        ins("adds", x3, x3, x3, source=LOOP),
        ins("adc", x4, x4, x4, source=LOOP),
        ins("lsr_imm", x5, x4, 63, source=SPLIT),
        ins("and_imm", x4, x4, 2**63 - 1, source=SPLIT),
        ins("adds", x3, x3, x5, source=FOLD),
        ins("adc", x4, x4, arm64.XZR, source=FOLD),
        ins("sub_imm", x2, x2, 1, source=LOOP),
        ins("cbnz", x2, Label("loop"), source=LOOP),
        Label("done"),
        ins("stp", x3, x4, Memory(x0)),
        ins("ret"),
    ]
    product: list[Item] = [
        ins("bti_c"),
        ins("ldr", x3, Memory(x1), source=PRODUCT),
        ins("ldr", x4, Memory(x2), source=PRODUCT),
        ins("umulh", x5, x3, x4, source=PRODUCT),
        ins("mul", x3, x3, x4, source=PRODUCT),
        ins("stp", x3, x5, Memory(x0)),
        ins("ret"),
    ]
    names = {"x3": "low", "x4": "high", "x19": "high", "x5": "top"}
    return [
        Code(ADD, "arm64", tuple(add), frozenset(), _holds(add, names), ("x19",), 16),
        Code(DOUBLE_N, "arm64", tuple(double), frozenset(), _holds(double, names)),
        Code(MUL_LOW, "arm64", tuple(product), frozenset(), _holds(product, names)),
    ]
