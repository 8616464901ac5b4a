"""amd64 by its public names: rows, `ins` and its refusals, builders, mnemonics as functions; no row without tests."""

from __future__ import annotations

import re

import pytest
from amd64_forms import R9, R12, R13, RAX, RBP, RCX, RSP, all_cases, cases_of, encode
from test_amd64_encoding import golden_cases
from test_amd64_meaning import STATES, all_runs

from asmgen.errors import AsmgenError
from asmgen.targets import amd64, explicit
from asmgen.targets.amd64 import MNEMONICS, REGISTERS, ROWS, constant, ins, load, load_constant, move, store
from asmgen.targets.row import FRAME, Instruction, Label, Memory, Register, Role, Tied, Virtual

RDX, RSI = REGISTERS["rdx"], REGISTERS["rsi"]
X, Y, Z, T = (Virtual(number, name) for number, name in enumerate("xyzt", 1))


def test_every_row_was_exercised() -> None:
    """Bytes, and meanings on enough states, of every row: none can be added that no test sees."""
    assert {case.instruction.row.name for case in all_cases()} == set(ROWS)
    assert {case.instruction.row.name for case in golden_cases()} == set(ROWS)
    for name, row in ROWS.items():
        runs = all_runs()[name]
        assert all(run.instruction.row is row for run in runs)
        assert sum(len(run.before) for run in runs) >= STATES >= 200
        for position, slot in enumerate(row.slots):
            if slot.kind.startswith("r") and slot.fixed is None:
                used = {case.instruction.operands[position] for case in cases_of(name)}
                assert len(used) == (16 if slot.kind.endswith("s") else 15), f"{name}, operand {position}"


def text(instruction: Instruction) -> str:
    return instruction.row.text(instruction.operands)


def refused(name: str, *operands: object) -> str:
    with pytest.raises(AsmgenError) as error:
        ins(name, *operands)  # type: ignore[arg-type]
    return str(error.value)


def test_registers() -> None:
    assert list(REGISTERS) == [
        "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
    ]  # fmt: skip
    assert [register.number for register in REGISTERS.values()] == list(range(16))


def test_texts() -> None:
    indexed = Memory(RAX, -8, R12, 8)
    assert text(ins("mulx_rrr", RAX, R9, RSI)) == "mulxq %rsi, %r9, %rax"
    assert text(ins("mul_m", indexed)) == "mulq -8(%rax,%r12,8)"
    assert text(ins("zero_r", R9)) == "xorl %r9d, %r9d"
    assert text(ins("mask_r", RBP)) == "sbbq %rbp, %rbp"
    assert text(ins("movzbl_rr", RBP, RSI)) == "movzbl %sil, %ebp"
    assert text(ins("movw_mr", Memory(RCX), R13)) == "movw %r13w, (%rcx)"
    assert text(ins("setnc_r", RAX)) == "setnc %al"
    assert text(ins("shrd_rri", RAX, RCX, 51)) == "shrdq $51, %rcx, %rax"
    assert text(ins("movabs_ri", RAX, 2**64 - 19)) == "movabsq $0xffffffffffffffed, %rax"
    assert text(ins("jnz_l", Label(".Lloop"))) == "jnz .Lloop"
    assert text(ins("push_r", R12)) == "pushq %r12"


def test_texts_before_allocation() -> None:
    assert text(ins("add_rm", Tied(X, Y), Memory(Z, 16))) == "addq 16(%z3), %x1->%y2"
    assert text(ins("mov_rm", X, Memory(FRAME, 8))) == "movq 8(%frame), %x1"


def test_what_has_no_bytes_yet() -> None:
    with pytest.raises(AsmgenError, match="before the frame is laid out"):
        encode(ins("mov_rm", RAX, Memory(FRAME, 8)))
    with pytest.raises(AsmgenError, match="%x1 has no bytes before registers are allocated"):
        encode(ins("mov_rr", X, RAX))
    jump = ins("jmp_l", Label("again"))
    with pytest.raises(AsmgenError, match="before labels are resolved"):
        jump.row.encode(jump.operands)


def test_fixed_operands_stand_in_the_instruction() -> None:
    short, full = ins("mul_r", RSI), ins("mul_r", RDX, RAX, RSI, RAX)
    assert short == full and text(full) == "mulq %rsi"
    assert short.read == (RSI, RAX) and short.written == (RDX, RAX)
    product = ins("mulx_rrr", X, Y, Z, T)
    assert product.read == (Z, T) and product.written == (X, Y)
    assert [slot.fixed for slot in product.row.slots] == [None, None, None, "rdx"]
    push = ins("push_r", RAX)
    assert push.operands == (RAX, Memory(RSP, -8), RSP) and push.read == (RAX, RSP, RSP) and push.written == (RSP,)


def test_tied_operands() -> None:
    assert ins("adc_rr", Tied(X, Y), Z).read == (X, Z)
    assert ins("adc_rr", Tied(X, Y), Z).written == (Y,)
    assert "changed by no instruction" in refused("mov_rr", Tied(X, Y), Z)


@pytest.mark.parametrize(
    ("reason", "name", "operands"),
    [
        ("no instruction adx_rr", "adx_rr", (RAX, RAX)),
        ("try: one of adox_rr", "adx_rr", (RAX, RAX)),
        ("takes 2 operands, not 1", "add_rr", (RAX,)),
        ("takes 4 operands, not 2", "mulx_rrr", (RAX, RCX)),
        ("5 is not a register", "add_rr", (RAX, 5)),
        ("is not a register", "add_rr", (RAX, Memory(RAX))),
        ("rax is not memory", "add_rm", (RAX, RAX)),
        ("rax is not a number", "add_ri", (RAX, RAX)),
        ("True is not a number", "add_ri", (RAX, True)),
        ("0x80000000 is not a number from -2147483648 to 2147483647", "add_ri", (RAX, 2**31)),
        ("64 is not a number from 1 to 63", "shl_ri", (RAX, 64)),
        ("0 is not a number from 1 to 31", "shrl_ri", (RAX, 0)),
        ("rcx stands where only rdx may", "mulx_rrr", (RAX, R9, RSI, RCX)),
        ("rsi stands where only rdx may", "mul_r", (RSI, RAX, RSI, RAX)),
        ("would get two results", "mulx_rrr", (RAX, RAX, RSI)),
        ("would get two results", "mulx_rrr", (X, X, Y, Z)),
        ("would get two results", "xchg_rr", (RAX, RAX)),
        ("rsp cannot stand here", "imul_rr", (RSP, RAX)),
        ("rsp cannot stand here", "pop_r", (RSP,)),
        ("rsp as its index", "mov_rm", (RAX, Memory(RAX, 0, RSP))),
        ("scale other than", "mov_rm", (RAX, Memory(RAX, 0, RCX, 3))),
        ("more than 32 bits", "lea_rm", (RAX, Memory(RAX, 2**31))),
        ("where only (rsp) may", "pop_r", (RAX, Memory(RCX), RSP)),
        ("not a label", "jc_l", (5,)),
        ("no form of add takes memory [rax + 0], memory [rcx + 0]", "add", (Memory(RAX), Memory(RCX))),
        ("add_ri(r64s, imm)", "add", (RAX, 2**31)),
    ],
)
def test_refusals(reason: str, name: str, operands: tuple[object, ...]) -> None:
    message = refused(name, *operands)
    assert reason in message
    assert "test_amd64.py:" in message and "  try: " in message


def test_memory_to_memory_does_not_exist() -> None:
    for row in ROWS.values():
        printed = [slot.kind[0] for slot in row.slots if not slot.implicit]
        assert printed.count("m") + printed.count("a") <= 1


def test_ins_by_mnemonic_takes_the_form_that_fits() -> None:
    memory = Memory(RSI, 8)
    chosen = [
        ("add", (RAX, RCX), "add_rr"), ("add", (RAX, memory), "add_rm"), ("add", (memory, RAX), "add_mr"),
        ("add", (RAX, 5), "add_ri"), ("add", (memory, 5), "add_mi"), ("mulx", (RAX, RCX, memory), "mulx_rrm"),
        ("imul", (RAX, RCX), "imul_rr"), ("imul", (RAX, RCX, 38), "imul_rri"), ("imul", (RAX, memory, 38), "imul_rmi"),
        ("mul", (RCX,), "mul_r"), ("mul", (X, Y, Z, T), "mul_r"), ("ret", (), "ret"),
        ("bzhi", (X, memory, Y), "bzhi_rmr"),
    ]  # fmt: skip
    assert [ins(name, *operands).row.name for name, operands, _ in chosen] == [name for *_, name in chosen]


def test_builders() -> None:
    assert text(move(RAX, RSP)) == "movq %rsp, %rax"
    assert text(load(R9, Memory(RSI, 8))) == "movq 8(%rsi), %r9"
    assert text(store(R9, Memory(RSI, 8))) == "movq %r9, 8(%rsi)"
    assert move(X, Y, note="copy").note == "copy"
    for built in (move(X, Y), load(X, Memory(Y)), store(X, Memory(Y)), constant(X, 0)):
        assert not built.row.flags_touched and not built.row.reads


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "movl $0, %ecx"),
        (19, "movl $19, %ecx"),
        (2**32 - 1, "movl $0xffffffff, %ecx"),
        (2**32, "movabsq $0x100000000, %rcx"),
        (2**64 - 2**31 - 1, "movabsq $0xffffffff7fffffff, %rcx"),
        (2**64 - 2**31, "movq $-0x80000000, %rcx"),
        (-1, "movq $-1, %rcx"),
        (2**64 - 19, "movq $-19, %rcx"),
        (-(2**63), "movabsq $0x8000000000000000, %rcx"),
    ],
)
def test_constants(value: int, expected: str) -> None:
    instruction = constant(RCX, value)
    assert load_constant(RCX, value) == (instruction,)
    assert text(instruction) == expected
    assert instruction.row.meaning(None, (instruction.operands[1],), {}).values == (value % 2**64,)


def test_a_constant_too_large() -> None:
    for value in (2**64, -(2**63) - 1):
        with pytest.raises(AsmgenError, match="does not fit a 64-bit register"):
            constant(RAX, value)


def test_mnemonics_are_functions() -> None:
    with explicit.record() as written:
        amd64.mulx(X, Y, Z)
        amd64.add(X, 5, note="five")
        amd64.and_(X, Memory(Y, 8))
        amd64.cmovae(X, Y)
        amd64.jne(Label("again"))
        amd64.setb(X)
        amd64.mov_ri(X, 5)
    names = ["mulx_rrr", "add_ri", "and_rm", "cmovnc_rr", "jnz_l", "setc_r", "mov_ri"]
    assert [instruction.row.name for instruction in written] == names
    assert written[0].operands[3] == RDX and written[1].note == "five"
    source = written[0].source
    assert source is not None and source.text == "amd64.mulx(X, Y, Z)"


def test_every_mnemonic_has_its_function() -> None:
    for mnemonic in MNEMONICS:
        function = getattr(amd64, mnemonic)
        assert function.__module__ == "asmgen.targets.amd64" and function.__name__ == mnemonic
        assert mnemonic in dir(amd64)
    with pytest.raises(AttributeError, match="no instruction mulxx; near are mulx"):
        amd64.mulxx  # noqa: B018


def test_mnemonics_name_place_and_reason() -> None:
    with explicit.record(), pytest.raises(AsmgenError, match=re.escape("amd64.add(X, 2**31)")):
        amd64.add(X, 2**31)
    with pytest.raises(AsmgenError, match="where no kernel is being traced"):
        amd64.clc()


def test_features_and_control() -> None:
    features = {"bmi1": {"andn"}, "bmi2": {"mulx", "rorx", "shlx", "shrx", "sarx", "bzhi"}, "adx": {"adcx", "adox"}}
    for feature, mnemonics in (features | {"movbe": {"movbe"}}).items():
        assert {row.mnemonic for row in ROWS.values() if row.feature == feature} == mnemonics
    control = {row.mnemonic: row.control for row in ROWS.values() if row.control not in (None, "branch")}
    assert control == {"jmp": "jump", "call": "call", "ret": "ret"}
    assert sum(row.control == "branch" for row in ROWS.values()) == 16


def test_results_come_first() -> None:
    """Destinations first, as `ins` and its readers expect; what is changed in place is printed."""
    for row in ROWS.values():
        roles = [slot.role for slot in row.slots]
        if row.mnemonic != "push" and row.mnemonic != "pop":
            assert roles == sorted(roles, key=lambda role: role is Role.IN)
        assert all(isinstance(amd64.FIXED[slot.fixed], (Register, Memory)) for slot in row.slots if slot.fixed)
