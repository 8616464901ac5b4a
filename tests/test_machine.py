"""emulate.machine: right routines pass in every way to call them, and each way to be wrong is found and named."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import capstone
import pytest
from emulated import ADD, ADD_N, BOTH, COPY, EQUAL, FEATURES, FIELD, LOOK_UP, SUM, TARGETS, TINY, TURN, Described
from hand_assembled import ROUTINES, code

from asmgen.contracts import Parameter, Signature, Small, Table
from asmgen.errors import AsmgenError
from emulate.aliasing import cases, modes
from emulate.compare import check
from emulate.driver import DRIVER, ENCODERS
from emulate.inputs import BLOCK, Generator
from emulate.machine import EmulationError, Machine, call

SEED = 20260401


def machine(kernel: Described, name: str, target: str, features: frozenset[str] | None = None, **more: int) -> Machine:
    features = FEATURES[target] if features is None else features
    return Machine(target, code(name, target), 0, kernel.signature, features, **more)


@pytest.mark.parametrize("target", TARGETS)
def test_bytes_are_those_of_gnu_as(target: str, tmp_path: Path) -> None:
    prefix = "" if target == "amd64" else "aarch64-linux-gnu-"
    if not shutil.which(f"{prefix}as") or not shutil.which(f"{prefix}objcopy"):
        pytest.skip(f"no {prefix}as")
    if target == "amd64" and "x86_64" not in subprocess.run(["as", "--version"], capture_output=True, text=True).stdout:
        pytest.skip("as is for another machine")
    for name, sources in ROUTINES.items():
        if target not in sources:
            continue
        (tmp_path / "r.s").write_text(".text\n" + sources[target][0])
        subprocess.run([f"{prefix}as", "r.s", "-o", "r.o"], cwd=tmp_path, check=True)
        subprocess.run([f"{prefix}objcopy", "-O", "binary", "-j", ".text", "r.o", "r"], cwd=tmp_path, check=True)
        assert (tmp_path / "r").read_bytes().hex() == sources[target][1], name


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("kernel", "name"),
    [(ADD, "add"), (ADD, "add_saving"), (ADD_N, "add_n"), (COPY, "copy33"), (TURN, "copy33"), (EQUAL, "equal"),
     (SUM, "sum9"), (BOTH, "swap_add"), (LOOK_UP, "look_up")],
    ids=lambda value: value if isinstance(value, str) else value.signature.kernel,
)  # fmt: skip
def test_right_routines_pass(kernel: Described, name: str, target: str) -> None:
    count = BLOCK + 100
    result = check(kernel, machine(kernel, name, target), count, SEED)
    assert result.failure is None
    assert result.vectors == count


WRONG = {
    "missing_store": "out is wrong modulo p|out breaks its promise",
    "carry_in": "out is wrong modulo p",
    "stale_register": "out (is wrong modulo p|breaks its promise)",
    "sp_low": "stack pointer is 16 bytes too low",
    "sp_high": "stack pointer is 16 bytes too high",
    "reads_before": r"read 8 bytes in the guard before a, 8 bytes before its start \(offset 0x[0-9a-f]+ of the code\)",
    "reads_after": "read 8 bytes in the guard behind b, 0 bytes past its end",
    "writes_before": "wrote beside a buffer, 8 bytes before the start of out",
    "writes_after": "wrote 8 bytes in the guard behind out, 0 bytes past its end",
    "writes_input": "input a is changed, first at byte 8",
    "red_zone": r"wrote below its stack frame \(red zone\), \d+ bytes below it",
    "callers_stack": "wrote into the caller's stack, 8 bytes up",
    "endless": "the routine does not return",
    "stuck": "the routine halts the processor|the routine does not return",
    "invalid": "is invalid with features .*, or a trap",
    "runs_off": r"outside its code|or a trap",
    "wrong_return": "the routine went to address 0x[0-9a-f]+, outside its code",
    "unbalanced": "the routine went to address 0x[0-9a-f]+, outside its code",
    "writes_code": "wrote [18] bytes in or behind its own code",
    "wild": "wrote 8 bytes at address 0x[0-9a-f]+, which is no memory",
    "direction": "direction flag is left set",
    "vector": "callee-saved register d11 is not as before",
    "platform": "the platform's register x18 is not as before",
    "add_restoring_crosswise": "callee-saved register (rbx|x19) .*callee-saved register (r12|x20) is not as before",
}
SAVED = {
    name: f"callee-saved register {name.removeprefix('clobbers_')} is not as before"
    for name in ROUTINES
    if name.startswith("clobbers_")
}


@pytest.mark.parametrize(
    ("name", "target"), [(name, target) for name in (*WRONG, *SAVED) for target in ROUTINES[name]], ids=str
)
def test_each_canary_is_named(name: str, target: str) -> None:
    failure = check(ADD, machine(ADD, name, target), BLOCK, SEED).failure
    assert failure is not None
    assert re.search((WRONG | SAVED)[name], failure.reason), failure.reason
    again = check(ADD, machine(ADD, name, target), BLOCK, SEED, only=failure.index).failure
    assert again == failure


@pytest.mark.parametrize("target", TARGETS)
def test_the_other_side_of_a_buffer_is_watched_with_the_other_placement(target: str) -> None:
    at_start = len(modes(ADD.signature))
    inputs = ((1, 2, 3, 4), (5, 6, 7, 8))
    with pytest.raises(EmulationError, match="wrote beside a buffer, 0 bytes past the end of out"):
        machine(ADD, "writes_after", target).call(inputs, at_start)
    with pytest.raises(EmulationError, match="wrote 8 bytes in the guard before out, 8 bytes before its start"):
        machine(ADD, "writes_before", target).call(inputs, at_start)
    with pytest.raises(EmulationError, match="read 8 bytes in the guard before a"):
        machine(ADD, "reads_before", target).call(inputs, at_start)
    assert machine(ADD, "reads_after", target).call(inputs, at_start) == ((6, 8, 10, 12),)


@pytest.mark.parametrize("target", TARGETS)
def test_sharing_an_output_with_an_input_is_always_tried(target: str) -> None:
    tested = machine(ADD, "not_for_aliases", target)
    every = cases(ADD.signature)
    inputs = ((1, 2, 3, 4), (1, 2, 3, 4))
    for number, case in enumerate(every):
        shared = case.mode.slots[0] in case.mode.slots[1:]
        assert (tested.call(inputs, number) != ((2, 4, 6, 8),)) == shared, case.name
    failure = check(ADD, tested, len(every), SEED).failure
    assert failure is not None
    assert failure.aliasing.startswith(("out = a", "out = b", "out = a = b"))


@pytest.mark.parametrize("name", ["bmi2", "adx"])
def test_an_instruction_beyond_the_features_is_invalid(name: str) -> None:
    assert check(ADD, machine(ADD, name, "amd64", frozenset({"bmi2", "adx"})), 100, SEED).failure is None
    fewer = frozenset({"bmi2"}) if name == "adx" else frozenset[str]()
    failure = check(ADD, machine(ADD, name, "amd64", fewer), 100, SEED).failure
    assert failure is not None and failure.index == 0
    assert f"is invalid with features {', '.join(fewer) or 'none'}" in failure.reason
    assert failure.got == ()


@pytest.mark.parametrize("target", TARGETS)
def test_all_of_the_returned_register_counts(target: str) -> None:
    failure = check(EQUAL, machine(EQUAL, "equal_upper_garbage", target), 500, SEED).failure
    assert failure is not None
    assert "the returned register is" in failure.reason


@pytest.mark.parametrize("target", TARGETS)
def test_a_routine_may_claim_its_stack_or_a_red_zone(target: str) -> None:
    assert check(ADD, machine(ADD, "red_zone", target, red_zone=8), BLOCK, SEED).failure is None
    assert check(ADD, machine(ADD, "add_saving", target, stack=16), BLOCK, SEED).failure is None
    failure = check(ADD, machine(ADD, "add_saving", target, stack=8), BLOCK, SEED).failure
    assert failure is not None and failure.index == 0
    assert "below its stack frame" in failure.reason


@pytest.mark.parametrize("target", TARGETS)
def test_a_rare_fault_is_found_at_its_vector(target: str) -> None:
    """Only one vector of a block writes beside its buffer: bisection must name that one."""
    tested = machine(ADD_N, "add_n", target)
    block = Generator(ADD_N.signature, SEED).block(0)
    disturb = tested._memory.load

    def load(block: object, count: int) -> None:
        disturb(block, count)  # type: ignore[arg-type]
        if count > 700:
            tested._memory.slots[0][2000] ^= 1

    tested._memory.load = load  # type: ignore[method-assign]
    outcome = tested.run(block)
    assert outcome.fault is not None and outcome.fault.vector == 700
    assert outcome.done == 700


@pytest.mark.parametrize("target", TARGETS)
def test_a_machine_works_on_after_a_fault(target: str) -> None:
    tested = machine(ADD, "wild", target)
    right = machine(ADD, "add", target)
    for _ in range(2):
        with pytest.raises(EmulationError, match="no memory of the routine"):
            tested.call(((1, 2, 3, 4), (5, 6, 7, 8)))
        assert right.call(((1, 2, 3, 4), (5, 6, 7, 8))) == ((6, 8, 10, 12),)


@pytest.mark.parametrize("target", TARGETS)
def test_call(target: str) -> None:
    a, b = (1, 2, 3, 4), (10, 20, 30, 2**52)
    assert call(target, code("add", target), 0, ADD.signature, (a, b)) == ((11, 22, 33, 2**52 + 4),)
    padded = b"\0" * 16 + code("add_n", target)
    assert call(target, padded, 16, ADD_N.signature, (a, b, 3)) == ((31, 62, 93, 3 * 2**52 + 4),)
    text = bytes(range(33))
    assert call(target, code("copy33", target), 0, COPY.signature, (text,)) == (text,)
    assert call(target, code("equal", target), 0, EQUAL.signature, (text[:16], text[:16])) == (1,)


@pytest.mark.parametrize("target", TARGETS)
def test_trace_gives_offsets_and_registers(target: str) -> None:
    tested = machine(ADD, "add", target)
    steps = tested.trace(((1, 2, 3, 4), (5, 6, 7, 8)))
    size = {offset: at for at, (offset, _) in enumerate(steps)}
    assert steps[0][0] == 0 and len(steps) == len(size) == ROUTINES["add"][target][0].count("\n")
    sums = ("rax", "rcx", "r8", "r9") if target == "amd64" else ("x3", "x4", "x5", "x6")
    assert [steps[-1][1][name] for name in sums] == [6, 8, 10, 12]
    assert tested.call(((1, 2, 3, 4), (5, 6, 7, 8))) == ((6, 8, 10, 12),)
    with pytest.raises(EmulationError, match="is invalid"):
        machine(ADD, "invalid", target).trace(((1, 2, 3, 4), (5, 6, 7, 8)))


@pytest.mark.parametrize("target", TARGETS)
def test_a_large_table(target: str) -> None:
    table = Table(TINY.limbs_below(2**32), 600)
    inputs = (Parameter("t", table), Parameter("i", Small(600)))
    signature = Signature("tiny", "look_up", LOOK_UP.signature.outputs, inputs)
    entries = tuple(7 * index for index in range(600))
    tested = Machine(target, code("look_up", target), 0, signature)
    assert [tested.call((entries, index)) for index in (0, 255, 599)] == [((0,),), ((1785,),), ((4193,),)]
    with pytest.raises(EmulationError, match="in the guard behind t, 8 bytes past its end"):
        tested.call((entries, 601))
    large = Signature("tiny", "look_up", LOOK_UP.signature.outputs, (Parameter("t", Table(table.element, 2049)),))
    with pytest.raises(AsmgenError, match="t of tiny_look_up is larger than 16384 bytes"):
        Machine(target, code("look_up", target), 0, large)


def test_faults_of_the_caller_are_explained() -> None:
    tested = machine(ADD, "add", "amd64")
    with pytest.raises(AsmgenError, match="takes 2 inputs, not 1"):
        tested.call(((1, 2, 3, 4),))
    with pytest.raises(AsmgenError, match="is no element"):
        tested.call(((1, 2, 3, 4), 5))
    with pytest.raises(AsmgenError, match="no emulator for target riscv"):
        Machine("riscv", b"\0", 0, ADD.signature)
    with pytest.raises(AsmgenError, match="entry"):
        Machine("amd64", b"\xc3", 1, ADD.signature)


def test_modes() -> None:
    assert [mode.name for mode in modes(ADD.signature)] == ["separate", "out = a", "out = b", "a = b", "out = a = b"]
    names = {mode.name for mode in modes(BOTH.signature)}
    assert {"separate", "high = a, low = b", "high = b, low = a", "low = a = b", "high = a = b", "a = b"} <= names
    assert not any(re.search("high = .*low|high = low", mode.split(",")[0]) for mode in names)
    some = {mode.name for mode in modes(SUM.signature)}
    assert some >= {"separate", "out = a", "out = g", "c = d", "out = a = b = c = d = e = f = g"}
    other = FIELD.limbs_below(2**51)
    scaled = type(other)(FIELD, tuple(8 * limb for limb in other.limb_max), 8 * other.value_max, 8)
    mixed = Signature("toy", "mixed", (Parameter("out", other),), (Parameter("a", other), Parameter("b", scaled)))
    assert {mode.name for mode in modes(mixed)} == {"separate", "out = a", "out = b"}


EXPECTED = {
    "amd64": [
        "mov r9d, 0x5041000", "mov rcx, qword ptr [r10 + 0x18]", "mov qword ptr [rdi + 0x10], rcx",
        "movzx rcx, byte ptr [r9 + 0x20]", "mov byte ptr [r8 + 0x20], cl", "xor rcx, r15", "or rdx, rcx",
        "add r11, 8", "add r11, 0x15f0", "add rcx, -1", "mov rax, qword ptr [r11]", "add al, 0x7f", "sahf",
        "call 0x1000000", "mov rdx, rsp", "sub rdx, 0x4039000", "pushfq", "pop rcx", "and ecx, 0x400", "or rdx, rcx",
        "test rdx, rdx", "jne 0x2050000", "test rcx, rcx", "je 0x2050000", "jmp 0x2050001",
    ],
    "arm64": [
        "mov x8, #0x1000", "movk x8, #0x504, lsl #16", "ldr x4, [x16, #0x18]", "str x4, [x2, #0x10]",
        "ldrb w4, [x8, #0x20]", "strb w4, [x3, #0x20]", "eor x4, x4, x28", "orr x1, x1, x4", "add x17, x17, #8",
        "add x17, x17, #1, lsl #12", "add x17, x17, #0x5f0", "sub x4, x4, #1", "ldr x4, [x17]", "msr nzcv, x4",
        *(f"ldr d{8 + index}, [x17, #{0x100 + 8 * index:#x}]" for index in range(8)),
        "bl #0x1000000", "mov x4, #0x9000", "movk x4, #0x403, lsl #16", "mov x1, sp", "sub x1, x1, x4",
        *(line for index in range(8) for line in (
            f"fmov x4, d{8 + index}", f"ldr x5, [x17, #{0x100 + 8 * index:#x}]", "eor x4, x4, x5", "orr x1, x1, x4")),
        "cbnz x1, #0x2050000", "cbz x4, #0x2050000", "b #0x2050004",
    ],
}  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
def test_driver_encodings(target: str) -> None:
    """What the encoders write, as another disassembler reads it."""
    e = ENCODERS[target](DRIVER)
    e.stop()
    first = e.here
    e.point(e.buffer, 0x5041000)
    e.load(e.temp, e.record, 24)
    e.store(e.temp, e.state, 16)
    e.load_byte(e.temp, e.buffer, 32)
    e.store_byte(e.temp, e.out, 32)
    e.xor(e.temp, "r15" if target == "amd64" else "x28")
    e.unite(e.wrong, e.temp)
    e.add(e.junk, 8)
    e.add(e.junk, 5616)
    e.add(e.temp, -1)
    e.flags(e.junk)
    e.vectors(e.junk, 256)
    e.call(0x1000000)
    e.stack(e.wrong, 0x4039000)
    e.special(e.junk, 256)
    e.jump_unless_zero(e.wrong, DRIVER)
    e.jump_if_zero(e.temp, DRIVER)
    e.jump(first)
    reader = (
        capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
        if target == "amd64"
        else capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM)
    )
    skip = first - DRIVER
    lines = [f"{line.mnemonic} {line.op_str}".strip() for line in reader.disasm(bytes(e.code[skip:]), first)]
    assert lines == EXPECTED[target]
