"""Assemblers against each other: PeachPy and its guard over all rows of amd64, text through GNU as and clang."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from asmgen import assemblers, peachpy_encoder, tools
from asmgen.assemblers import Driver, PeachPy, Tables, Unit
from asmgen.contracts import Signature
from asmgen.errors import AsmgenError
from asmgen.routine import Code, Item
from asmgen.targets.amd64 import REGISTERS, ROWS
from asmgen.targets.row import Instruction, Label, Memory, Operand, Row, Slot

SEED = 20260401
NUMBERS = [
    0, 1, 2, 19, 31, 32, 62, 63, 64, 127, 128, 200, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 129,
    2**32 - 128, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, -1, -128, -129, -(2**31), -(2**63),
]  # fmt: skip
OFFSETS = [0, 8, 120, 127, 128, -8, -128, -129, 2**31 - 1, -(2**31)]
DISTANCES = [0, 5, -100, 127, 128, 129, 130, 131, 133, 134, -122, -126, -127, 2000, -(2**20)]

needs_peachpy = pytest.mark.skipif(not peachpy_encoder.found(), reason="PeachPy is not installed")


def code(*items: Item, symbol: str = "toy_kernel", target: str = "amd64") -> Code:
    script, _, kernel = symbol.partition("_")
    return Code(Signature(script, kernel, (), ()), target, items)


def row(name: str, *operands: Operand) -> Instruction:
    return Instruction(ROWS[name], operands)


def choices(slot: Slot, random_: random.Random) -> list[Operand]:
    """Operands for a slot: all kinds of registers, addresses and numbers that it admits."""
    registers = [REGISTERS[name] for name in REGISTERS if name != "rsp" or slot.kind.endswith("s")]
    if slot.implicit:
        return [REGISTERS["rax"]]
    if slot.kind == "label":
        return list(DISTANCES)
    if slot.kind == "imm":
        return [number for number in NUMBERS if slot.legal is None or slot.legal(number)]
    if slot.kind.startswith("r"):
        return random_.sample(registers, 6)
    indices = [register for register in REGISTERS.values() if register.name != "rsp"]
    bases = [*REGISTERS.values(), REGISTERS["rsp"], REGISTERS["rbp"], REGISTERS["r12"], REGISTERS["r13"]]
    plain = [Memory(base, offset) for base, offset in zip(random_.sample(bases, 10), OFFSETS, strict=True)]
    pick = random_.choice
    return plain + [Memory(pick(bases), offset, pick(indices), pick([1, 2, 4, 8])) for offset in OFFSETS]


def forms(row: Row, most: int) -> Iterator[tuple[Operand, ...]]:
    random_ = random.Random(f"{SEED} {row.name}")
    every = list(itertools.product(*(choices(slot, random_) for slot in row.slots)))
    yield from every if len(every) <= most else random_.sample(every, most)


@needs_peachpy
def test_peachpy_encodes_every_row_as_our_table_does() -> None:
    refused = set()
    compared = 0
    for each in ROWS.values():
        for operands in forms(each, 150):
            try:
                theirs = peachpy_encoder.encode(each, operands)
            except peachpy_encoder.Refused:
                refused.add(each.name)
                continue
            assert theirs == each.encode(operands), (each.name, operands, SEED)
            compared += 1
    assert refused == {"endbr64"}, "PeachPy knows all our instructions but this one"
    assert compared > 4000


@needs_peachpy
@pytest.mark.parametrize("factor", [127, 128, 200, 255, 256, -128])
def test_multiplication_by_a_byte_without_sign_takes_the_long_form(factor: int) -> None:
    rax = REGISTERS["rax"]
    wanted = ROWS["imul_rri"].encode((rax, rax, factor))
    assert peachpy_encoder.encode(ROWS["imul_rri"], (rax, rax, factor)) == wanted
    assert int.from_bytes(wanted[3:], "little", signed=True) == factor


@needs_peachpy
@pytest.mark.parametrize("number", [2**31, 2**31 + 1, 2**32 - 1])
def test_numbers_that_peachpy_would_extend_with_ones(number: int) -> None:
    rax = REGISTERS["rax"]
    assert peachpy_encoder.encode(ROWS["movabs_ri"], (rax, number))[2:] == number.to_bytes(8, "little")
    for name in ("mov_ri", "add_ri", "and_ri", "cmp_ri", "test_ri", "mov_mi"):
        with pytest.raises(peachpy_encoder.Refused, match=f"takes {number:#x} for -"):
            first = Memory(rax) if name.endswith("mi") else rax
            peachpy_encoder.encode(ROWS[name], (first, number))


@needs_peachpy
def test_a_store_of_a_number_is_of_the_rows_size_not_of_the_numbers() -> None:
    stored = peachpy_encoder.encode(ROWS["mov_mi"], (Memory(REGISTERS["rdi"]), 5))
    assert stored == bytes.fromhex("48 c7 07 05 00 00 00"), "a quadword store, though the number fits a byte"


@needs_peachpy
@pytest.mark.parametrize(
    "name, count", [("shl_ri", 64), ("shr_ri", 200), ("shld_rri", 64), ("rorx_rri", -1), ("shll_ri", 32)]
)
def test_shift_counts_that_the_machine_would_cut_are_refused(name: str, count: int) -> None:
    registers = [REGISTERS["rax"]] * (len(ROWS[name].slots) - 1)
    with pytest.raises(peachpy_encoder.Refused, match=f"shift by {count}"):
        peachpy_encoder.encode(ROWS[name], (*registers, count))


@needs_peachpy
def test_what_has_no_place_yet_is_refused() -> None:
    from asmgen.targets.row import FRAME, Virtual

    for operand in (Virtual(3), Memory(FRAME, 8), Memory(Virtual(1))):
        with pytest.raises(peachpy_encoder.Refused):
            peachpy_encoder.encode(ROWS["mov_rm"], (REGISTERS["rax"], operand))


@needs_peachpy
@pytest.mark.parametrize("far", [False, True])
def test_peachpy_agrees_on_a_loop_and_says_what_our_table_encoded(far: bool) -> None:
    rax, rcx, rdi, rsi = (REGISTERS[name] for name in ("rax", "rcx", "rdi", "rsi"))
    body = [row("add_rm", rax, Memory(rsi, 8 * i)) for i in range(60 if far else 3)]
    routine = code(
        row("endbr64"), row("zero_r", rax), row("test_rr", rcx, rcx), row("jz_l", Label("end")), Label("again"), *body,
        row("dec_r", rcx), row("jnz_l", Label("again")), Label("end"), row("mov_mr", Memory(rdi), rax), row("ret"),
    )  # fmt: skip
    unit = Unit("amd64", "toy.S", {"toy_kernel": routine})
    theirs, ours = PeachPy().assemble(unit), Tables().assemble(unit)
    assert theirs.code == ours.code
    assert len(ours.code["toy_kernel"]) > (256 if far else 20)
    assert theirs.notes == ("endbr64 by our table: PeachPy has no endbr64",)
    assert assemblers.first_difference(routine, theirs.code["toy_kernel"]) is None


def test_first_difference_names_the_instruction() -> None:
    rax = REGISTERS["rax"]
    routine = code(row("add_ri", rax, 5), row("adc_ri", rax, 7), row("ret"))
    whole = bytearray(Tables().assemble(Unit("amd64", "toy.S", {"toy_kernel": routine})).code["toy_kernel"])
    whole[7] ^= 1
    said = assemblers.first_difference(routine, bytes(whole))
    assert said == "adcq $7, %rax at 0x4 is 48 83 d0 06, ours 48 83 d0 07"
    assert assemblers.first_difference(routine, bytes(whole[:7])) == "7 bytes, ours are 9"


def test_calls_are_left_for_the_linker() -> None:
    routine = code(row("call_l", Label("elsewhere")), row("ret"))
    assert Tables().assemble(Unit("amd64", "toy.S", {"toy_kernel": routine})).code["toy_kernel"] == b"\xe8\0\0\0\0\xc3"


TEXT = """
        .text
        .globl f
        .hidden f
        .type f, %function
f:
#ifdef __ELF__
        FIRST
#endif
        ret
        .size f, . - f
local:
        nop
        .globl g
g:
        CALL other
        ret
        .section .note.GNU-stack, "", %progbits
"""
FIRST = {"amd64": "mulxq (%rsi), %rax, %rcx", "arm64": "umulh x0, x1, x2"}
CALL = {"amd64": "call", "arm64": "bl"}
WANTED = {
    "amd64": {"f": bytes.fromhex("c4e2fbf60e c3"), "g": bytes.fromhex("e800000000 c3")},
    "arm64": {"f": bytes.fromhex("207cc29b c0035fd6"), "g": bytes.fromhex("00000094 c0035fd6")},
}


@pytest.mark.parametrize("target", assemblers.TARGETS)
def test_text_goes_through_the_compiler_driver(target: str) -> None:
    readers = [each for each in assemblers.available(target) if each.reads == "text"]
    if not readers:
        pytest.skip("; ".join(assemblers.missing(target)))
    text = TEXT.replace("FIRST", FIRST[target]).replace("CALL", CALL[target])
    for reader in readers:
        assert reader.assemble(Unit(target, "toy.S", text=text)).code == WANTED[target], reader.name


@pytest.mark.parametrize("target", assemblers.TARGETS)
def test_what_an_assembler_refuses_is_told_with_its_line(target: str) -> None:
    readers = [each for each in assemblers.available(target) if each.reads == "text"]
    if not readers:
        pytest.skip("; ".join(assemblers.missing(target)))
    for reader in readers:
        with pytest.raises(AsmgenError) as caught:
            reader.assemble(Unit(target, "toy.S", text="\t.text\n\tno_such_thing x0\n"))
        assert "toy.S:2" in caught.value.what and reader.name in caught.value.what
        assert "/tmp" not in str(caught.value).split("see")[0]
        with pytest.raises(AsmgenError, match="reads text"):
            reader.assemble(Unit(target, "toy.S"))


@pytest.mark.parametrize("target", assemblers.TARGETS)
def test_apple_syntax_is_checked(target: str) -> None:
    apple = assemblers.apple(target)
    if apple is None:
        pytest.skip("no clang on PATH")
    apple.check(Unit(target, "toy.S", text="#ifndef __APPLE__\n#error\n#endif\n\t.text\n\t.globl _f\n_f:\n\tret\n"))
    with pytest.raises(AsmgenError, match="clang for macOS does not take toy.S"):
        apple.check(Unit(target, "toy.S", text="\t.text\n\t.type f, %function\nf:\n\tret\n"))


def test_absent_assemblers_are_named_with_the_way_to_get_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(peachpy_encoder, "found", lambda: False)
    monkeypatch.setattr(assemblers, "find_spec", lambda name: None)
    assemblers._known.cache_clear()
    try:
        for target, package in (("amd64", "gcc"), ("arm64", "gcc-aarch64-linux-gnu")):
            assert [each.name for each in assemblers.available(target)] == ["asmgen"]
            lines = assemblers.missing(target)
            names = ["PeachPy"] * (target == "amd64") + ["GNU as", "clang", "zig"]
            assert [line.split(":")[0] for line in lines] == names
            assert any(package in line for line in lines)
        assert assemblers.apple("arm64") is None
    finally:
        assemblers._known.cache_clear()


def test_an_unknown_target_is_an_error() -> None:
    with pytest.raises(AsmgenError, match="riscv"):
        assemblers.available("riscv")


def test_programs_are_bounded(tmp_path: Path) -> None:
    with pytest.raises(AsmgenError, match="still running after 1 s"):
        tools.run(["sh", "-c", "sleep 600 & sleep 600"], tmp_path, seconds=1)
    assert tools.run(["sh", "-c", "yes | head -c 1000000"], tmp_path).output == "y\n" * 32768
    assert tools.run(["sh", "-c", "echo one; echo an error here >&2; exit 3"], tmp_path).first_error == "an error here"
    assert tools.run(["sh", "-c", "exit 3"], tmp_path).status == 3
    assert tools.run(["no-such-program"], tmp_path).status == 127


def test_drivers_clean_up_after_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    copies = Driver("copies", (("sh", "-c", "cp source.S out.o"),))
    with pytest.raises(AsmgenError, match="toy.S from copies: not an ELF file"):
        copies.assemble(Unit("amd64", "toy.S", text="not an object"))
    assert list(tmp_path.iterdir()) == []
