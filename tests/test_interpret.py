"""Running routines on integers: right results, and errors for everything that a machine would let pass."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from random_routines import signature

from asmgen.errors import AsmgenError, Source
from asmgen.interpret import Machine, run
from asmgen.routine import Allocated, Branch, Code, Loop, Routine, Straight
from asmgen.targets import amd64, arm64
from asmgen.targets.row import FRAME, Instruction, Label, Memory, Tied, Virtual

RAX, RBX, RCX, RDI, RSI, RSP = (amd64.REGISTERS[name] for name in ("rax", "rbx", "rcx", "rdi", "rsi", "rsp"))
X0, X1, X9, XZR = (arm64.REGISTERS[name] for name in ("x0", "x1", "x9", "xzr"))


def code(target: str, *items: Instruction | Label, returns_bit: bool = False) -> Code:
    return Code(signature(returns_bit), target, items)


def machine(*instructions: Instruction, **registers: int) -> Machine:
    """Registers by name, then the instructions."""
    made = Machine({})
    made.registers = {amd64.REGISTERS[name]: value for name, value in registers.items()}
    for instruction in instructions:
        made.step(instruction)
    return made


def test_carries_go_from_instruction_to_instruction() -> None:
    made = machine(amd64.ins("add_rr", RAX, RBX), amd64.ins("adc_ri", RCX, 5), rax=2**64 - 1, rbx=2, rcx=10)
    assert (made.registers[RAX], made.registers[RCX]) == (1, 16)


def test_narrow_writes() -> None:
    """A byte keeps the rest of its register, 32 bits clear it."""
    compare = amd64.ins("cmp_rr", RAX, RBX)
    assert machine(compare, amd64.ins("setc_r", RCX), rax=1, rbx=2, rcx=0xABCD).registers[RCX] == 0xAB01
    assert machine(amd64.ins("movl_rr", RAX, RBX), rax=2**63, rbx=2**40 + 7).registers[RAX] == 7


def test_the_zero_register_reads_as_zero_and_takes_nothing() -> None:
    made = Machine({}, {X1: 5})
    made.step(arm64.ins("adds", XZR, X1, X1))
    made.step(arm64.ins("add", X0, XZR, X1))
    assert made.registers == {X1: 5, X0: 5}


def test_memory_is_little_endian_bytes() -> None:
    made = Machine({0x100: 0x8877665544332211, 0x108: 0xFFEEDDCCBBAA9988}, {RSI: 0x100})
    made.step(amd64.ins("mov_rm", RAX, Memory(RSI, 3)))
    assert made.registers[RAX] == 0xAA99888877665544
    made.registers[RBX] = 0x0102030405060708
    made.step(amd64.ins("mov_mr", Memory(RSI, 6), RBX))
    assert made.memory == {0x100: 0x0708665544332211, 0x108: 0xFFEE010203040506}
    made.step(amd64.ins("movzbl_rm", RCX, Memory(RSI, 7)))
    assert made.registers[RCX] == 7


def test_pairs() -> None:
    made = Machine({0x100: 1, 0x108: 2}, {X9: 0x100})
    made.step(arm64.ins("ldp", X0, X1, Memory(X9)))
    made.step(arm64.ins("stp", X1, X0, Memory(X9, 16)))
    assert made.memory == {0x100: 1, 0x108: 2, 0x110: 2, 0x118: 1}


@pytest.mark.parametrize(
    ("instructions", "message"),
    [
        ([amd64.ins("add_rr", RDI, RBX)], "add_rr reads rbx, which was never written"),
        ([amd64.ins("adc_rr", RDI, RDI)], "adc_rr reads flag CF, which is undefined here"),
        ([amd64.ins("shl_ri", RDI, 3), amd64.ins("seto_r", RDI)], "seto_r reads flag OF, which is undefined here"),
        ([amd64.ins("mov_rm", RAX, Memory(RDI, 8))], "mov_rm reads memory at 0x1008, where nothing was stored"),
        ([amd64.ins("mov_rm", RAX, Memory(FRAME, 0))], "reads memory at .*, where nothing was stored"),
        ([amd64.ins("mov_rm", RAX, Memory(RDI, 1))], "where nothing was stored"),
    ],
)
def test_reading_what_was_never_written_is_an_error(instructions: Sequence[Instruction], message: str) -> None:
    routine = Routine(signature(), "amd64", (Virtual(1),), ())
    with pytest.raises(AsmgenError, match=message):
        run(Allocated(routine, tuple(instructions), 1), (0x1000,), {0x1000: 4})


def test_errors_name_the_source_line() -> None:
    source = Source("kernel.py", 12)
    with pytest.raises(AsmgenError) as caught:
        machine(amd64.ins("inc_r", RAX, source=source))
    assert caught.value.source == source


def test_a_preserved_register_or_stack_pointer_that_changed_is_an_error() -> None:
    back = amd64.ins("ret")
    with pytest.raises(AsmgenError, match="rbx is 0x5 at the return"):
        run(code("amd64", amd64.ins("mov_ri", RBX, 5), back), (), {})
    push, pop = amd64.ins("push_r", RBX), amd64.ins("pop_r", RBX)
    run(code("amd64", push, amd64.ins("mov_ri", RBX, 5), pop, back), (), {})
    with pytest.raises(AsmgenError, match="rsp is .* at the return"):
        run(code("amd64", push, back), (), {})
    x19 = arm64.REGISTERS["x19"]
    with pytest.raises(AsmgenError, match="x19 is 0x0 at the return"):
        run(code("arm64", arm64.ins("movz", x19, 0, 0), arm64.ins("ret")), (), {})


def test_loops_end_or_are_stopped() -> None:
    loop = Label("loop")
    counting = code("amd64", loop, amd64.ins("dec_r", RDI), amd64.ins("jnz_l", loop), amd64.ins("ret"))
    assert run(counting, (5,), {}).steps == 11
    with pytest.raises(AsmgenError, match="no end after 100 instructions"):
        run(counting, (2**40,), {}, limit=100)


def test_a_call_has_no_meaning_here() -> None:
    with pytest.raises(AsmgenError, match="calls another routine"):
        run(code("amd64", amd64.ins("call_l", Label("elsewhere")), amd64.ins("ret")), (), {})


def test_what_is_returned_is_in_the_result_register() -> None:
    made = code("amd64", amd64.ins("mov_rr", RAX, RDI), amd64.ins("ret"), returns_bit=True)
    assert run(made, (1,), {}).returned == 1


def routine_with_loop() -> Routine:
    """x, y = y, x + y, n times; for no pass x alone counts."""
    n, x, y, out, s, t, total, r, q, result = (Virtual(index + 1) for index in range(10))
    body = Straight((amd64.ins("add_rr", Tied(s, total), t),))
    loop = Loop(n, (s, t), (x, y), (t, total), (r, q), body)
    branch = Branch(n, (loop,), (Straight(()),), (result,), (q,), (x,))
    store = Straight((amd64.ins("mov_mr", Memory(out), result),))
    return Routine(signature(), "amd64", (n, out, x, y), (branch, store))


@pytest.mark.parametrize(("count", "wanted"), [(0, 3), (1, 8), (2, 13), (5, 55)])
def test_virtual_loops_and_branches(count: int, wanted: int) -> None:
    assert run(routine_with_loop(), (count, 0x100, 3, 5), {}).memory == {0x100: wanted}


def test_homes_are_the_words_at_entry_even_when_the_output_lies_over_them() -> None:
    out, a, low, high = (Virtual(index + 1) for index in range(4))
    stores = (amd64.ins("mov_mr", Memory(out, 8), low), amd64.ins("mov_mr", Memory(out), high))
    routine = Routine(signature(), "amd64", (out, a), (Straight(stores),), homes={low: Memory(a), high: Memory(a, 8)})
    assert run(routine, (0x100, 0x100), {0x100: 1, 0x108: 2}).memory == {0x100: 2, 0x108: 1}


def test_words_of_buffers_need_not_be_aligned_but_must_be_there() -> None:
    out, a, word = (Virtual(index + 1) for index in range(3))
    store = amd64.ins("mov_mr", Memory(out), word)
    routine = Routine(signature(), "amd64", (out, a), (Straight((store,)),), homes={word: Memory(a, 2)})
    memory = {0x200: 0x8877665544332211, 0x208: 0xBBAA}
    assert run(routine, (0x100, 0x200), memory).memory[0x100] == 0xBBAA887766554433
    with pytest.raises(AsmgenError, match="the routine reads memory at 0x208, where nothing was stored"):
        run(routine, (0x100, 0x200), {0x200: 1})
