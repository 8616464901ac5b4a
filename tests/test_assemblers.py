"""Assemblers against each other: PeachPy and its guard over all rows of amd64, text through GNU as and clang."""

from __future__ import annotations

import itertools
import os
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from asmgen import assemblers, peachpy_encoder, tools
from asmgen.assemblers import Driver, PeachPy, Tables, Unit
from asmgen.contracts import Signature
from asmgen.errors import AsmgenError
from asmgen.passes import Options, compile_kernel
from asmgen.routine import Code, Item
from asmgen.targets.amd64 import REGISTERS, ROWS
from asmgen.targets.row import Instruction, Label, Memory, Operand, Row, Slot
from asmgen.units import Unit as Built
from asmgen.units import units

ROOT = Path(__file__).parents[1]
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
        for operands in forms(each, 60):
            try:
                theirs = peachpy_encoder.encode(each, operands)
            except peachpy_encoder.Refused:
                refused.add(each.name)
                continue
            assert theirs == each.encode(operands), (each.name, operands, SEED)
            compared += 1
    assert refused == {"endbr64"}, "PeachPy knows all our instructions but this one"
    assert compared > 2500


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
def test_peachpy_agrees_on_a_loop(far: bool) -> None:
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
    assert theirs.notes == ()
    assert assemblers.first_difference(routine, theirs.code["toy_kernel"]) is None


@needs_peachpy
def test_what_peachpy_refuses_is_encoded_by_our_table_and_said() -> None:
    wild = replace(ROWS["mov_ri"], encode=lambda operands: b"ours")
    routine = code(Instruction(wild, (REGISTERS["rax"], 2**31)), row("ret"))
    made = PeachPy().assemble(Unit("amd64", "toy.S", {"toy_kernel": routine}))
    assert made.code == {"toy_kernel": b"ours\xc3"}
    assert made.notes == ("mov by our table: PeachPy takes 0x80000000 for -2147483648 in a 64-bit operation",)


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


def test_bytes_are_agreed_on_by_two_or_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    rax = REGISTERS["rax"]
    routine = code(row("add_ri", rax, 5), row("ret"))
    whole = bytes.fromhex("4883c005c3")

    def other(name: str, reads: str, made: bytes, *notes: str) -> SimpleNamespace:
        result = assemblers.Result({"toy_kernel": made}, notes)
        return SimpleNamespace(name=name, reads=reads, assemble=lambda unit: result)

    def among(*others: SimpleNamespace, missing: list[str] | None = None, text: str = "") -> assemblers.Result:
        monkeypatch.setattr(assemblers, "available", lambda target: [Tables(), *others])
        monkeypatch.setattr(assemblers, "missing", lambda target: missing or [])
        return assemblers.agreed(Unit("amd64", "toy.S", {"toy_kernel": routine}, text))

    gnu = other("GNU as", "text", whole)
    peachpy = other("PeachPy", "routines", whole, "a note")
    assert among(peachpy, gnu) == assemblers.Result({"toy_kernel": whole}, ("a note",))
    without = ["PeachPy: not here", "zig: not here"]
    assert among(gnu, missing=without, text="text").notes == (
        "PeachPy: not here", "amd64 bytes are those of our tables and GNU as"
    )  # fmt: skip
    alone = among(gnu, missing=without)
    assert alone.code == {"toy_kernel": whole} and "our tables alone" in alone.notes[1]
    with pytest.raises(AsmgenError, match=r"PeachPy and our tables differ in toy_kernel: addq \$5, %rax at 0x0"):
        among(other("PeachPy", "routines", whole.replace(b"\5", b"\6")))


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


COMMITTED = units([], assemblers.TARGETS, ROOT / "out")


def bytes_listed(text: str) -> dict[str, bytes]:
    """Machine code by symbol, as a listing prints it."""
    found: dict[str, bytes] = {}
    for part in re.split(r"\n\n\n(?=\w+\n=+\n)", text)[1:]:
        lines = re.findall(r"^[0-9a-f]{4}   ((?:[0-9a-f]{2} )*[0-9a-f]{2})  ", part, flags=re.M)
        found[part.split("\n", 1)[0]] = b"".join(map(bytes.fromhex, lines))
    return found


@pytest.mark.parametrize("unit", COMMITTED, ids=lambda unit: f"{unit.origin.target}-{unit.origin.stem}")
def test_all_agree_on_the_committed_files(unit: Built) -> None:
    """What was emulated (our tables), what is listed, and what each assembler makes of it are the same bytes."""
    target, stem = unit.origin.target, unit.origin.stem
    codes = [compile_kernel(kernel, Options(target, unit.options.features)) for kernel in unit.kernels]
    file = ROOT / "out" / target / f"{stem}.S"
    whole = Unit(target, file.name, {each.signature.symbol: each for each in codes}, file.read_text())
    wanted = Tables().assemble(whole).code
    listed = bytes_listed(file.with_suffix(".lst").read_text())
    assert listed == wanted, "out/ is not what the scripts make now: asmgen build"
    names = [each.name for each in assemblers.available(target)]
    if os.environ.get("ASMGEN_CI"):
        assert target != "amd64" or names[0] == "PeachPy", "CI checks every amd64 kernel by PeachPy"
        assert "GNU as" in names
    for assembler in assemblers.available(target):
        made = assembler.assemble(whole)
        assert set(made.code) == set(wanted), assembler.name
        for each in codes:
            said = assemblers.first_difference(each, made.code[each.signature.symbol])
            assert said is None, f"{assembler.name}, {each.signature.symbol}: {said}"
        assert made.notes == (), "nothing with operands was left to our tables"
    apple = assemblers.apple(target)
    if apple is not None:
        apple.check(whole)
