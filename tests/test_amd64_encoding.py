"""amd64 bytes: every form against GNU as, clang and the golden file; decoded again by capstone."""

from __future__ import annotations

import os
import platform
import random
import shutil
import subprocess
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import capstone
import pytest
from amd64_forms import LONG, RAX, SEED, Case, all_cases, cases, cases_of, each_row

from asmgen.elf import read_file
from asmgen.targets.amd64 import MNEMONICS, ROWS, ins
from asmgen.targets.assemble import assemble
from asmgen.targets.row import Instruction, Label, Row

GOLDEN = Path(__file__).parent / "golden" / "amd64_encodings.txt"
GOLDEN_A_ROW = 16


def assembled(command: Sequence[str], texts: Sequence[str], directory: Path) -> list[bytes]:
    """The bytes that an assembler makes of each line, by one call."""
    line = '1:\t{}\n2:\t.pushsection .lengths, ""\n\t.byte 2b - 1b\n\t.popsection\n'
    source, target = directory / "forms.s", directory / "forms.o"
    source.write_text("\t.text\n" + "".join(line.format(text) for text in texts))
    subprocess.run([*command, "-o", target, source], check=True, timeout=120)
    (found,) = read_file(target)
    code, lengths = (found.section(name) for name in (".text", ".lengths"))
    assert code is not None and lengths is not None and len(lengths.data) == len(texts)
    ends = accumulate(lengths.data)
    return [code.data[end - length : end] for end, length in zip(ends, lengths.data, strict=True)]


def tool(*names: str) -> str:
    """The first of these programs that exists; the test is skipped when none does."""
    found = next((path for path in map(shutil.which, names) if path), None)
    return found or pytest.skip(f"none of {', '.join(names)} is installed")


def gnu_as() -> list[str]:
    program = tool("x86_64-linux-gnu-as", *(["as"] if platform.machine() in ("x86_64", "AMD64") else []))
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    return [program, "--64"] if version.startswith("GNU assembler") else pytest.skip(f"{program} is not GNU as")


def check(command: Sequence[str], checked: Sequence[Case], directory: Path) -> None:
    theirs = assembled(command, [case.text for case in checked], directory)
    wrong = [
        f"{case.instruction.row.name}: {case.text}: ours {case.code.hex()}, theirs {code.hex()}"
        for case, code in zip(checked, theirs, strict=True)
        if case.code != code
    ]
    assert not wrong, f"{len(wrong)} of {len(checked)} forms differ:\n" + "\n".join(wrong[:20])


def test_bytes_are_those_of_gnu_as(tmp_path: Path) -> None:
    check(gnu_as(), all_cases(), tmp_path)


def test_bytes_are_those_of_clang(tmp_path: Path) -> None:
    """All forms but xchg without rax, where clang puts the operands the other way round."""
    clang = tool("clang", *(f"clang-{version}" for version in range(25, 13, -1)))
    command = [clang, "--target=x86_64-unknown-linux-gnu", "-c", "-x", "assembler"]
    swapped = [case for case in cases_of("xchg_rr") if RAX not in case.instruction.operands]
    check(command, [case for case in all_cases() if case not in swapped], tmp_path)


@pytest.mark.parametrize("seed", range(SEED, SEED + 8))
def test_jumps_are_as_short_as_those_of_gnu_as(seed: int, tmp_path: Path) -> None:
    """Whole routines with jumps whose lengths depend on each other."""
    rng = random.Random(seed)
    names = [f".L{k}" for k in range(6)]
    items: list[Label | Instruction] = [Label(name) for name in names]
    for _ in range(60):
        jump = rng.choice(["jmp_l", "jc_l", "jnz_l", "jle_l"])
        items.append(ins(jump, Label(rng.choice(names))))
    items += [ins("movabs_ri", RAX, rng.getrandbits(64)) for _ in range(25)]
    rng.shuffle(items)
    command = gnu_as()
    lines = [f"{item.name}:" if isinstance(item, Label) else item.row.text(item.operands) for item in items]
    source, target = tmp_path / "jumps.s", tmp_path / "jumps.o"
    source.write_text("\n".join([".text", *lines, ""]))
    subprocess.run([*command, "-o", target, source], check=True, timeout=60)
    text = read_file(target)[0].section(".text")
    assert text is not None
    found = assemble(items)
    assert found.code == text.data
    ends = (*found.offsets[1:], len(found.code))
    lengths = {end - start for start, end in zip(found.offsets, ends, strict=True)}
    assert {0, 2, 5, 6, 10} == lengths, "short and long jumps are both there"


def golden_cases() -> list[Case]:
    """Some forms of each row, evenly spread."""
    chosen = []
    for row in ROWS.values():
        found = cases(row, 0)
        count = min(len(found), GOLDEN_A_ROW)
        chosen += [found[k * len(found) // count] for k in range(count)]
    return chosen


@pytest.mark.skipif(LONG, reason="the golden file has the forms of the short run")
def test_bytes_are_those_of_the_golden_file(tmp_path: Path) -> None:
    """Bytes and text as GNU as gave them; ASMGEN_GOLDEN=1 writes the file anew, by GNU as."""
    chosen = golden_cases()
    if os.environ.get("ASMGEN_GOLDEN"):
        theirs = assembled(gnu_as(), [case.text for case in chosen], tmp_path)
        lines = [f"{code.hex()}\t{case.text}\n" for case, code in zip(chosen, theirs, strict=True)]
        GOLDEN.write_text("# Bytes of amd64 instructions as GNU as makes them.\n" + "".join(lines))
    wanted = [line for line in GOLDEN.read_text().splitlines() if not line.startswith("#")]
    assert [f"{case.code.hex()}\t{case.text}" for case in chosen] == wanted


def intel_name(row: Row) -> str:
    """The mnemonic that a disassembler prints in Intel syntax."""
    names = {"zero": "xor", "mask": "sbb", "movzbl": "movzx", "movzwl": "movzx"}
    spelling = {"c": "b", "nc": "ae", "z": "e", "nz": "ne"}
    name = names.get(row.mnemonic, row.mnemonic)
    for prefix in ("cmov", "set", "j"):
        if name.removeprefix(prefix) in spelling and name.startswith(prefix):
            return prefix + spelling[name.removeprefix(prefix)]
    return name[:-1] if name[-1] in "lwb" and name[:-1] in MNEMONICS else name


@each_row
def test_capstone_reads_back_the_same_instruction(row: Row) -> None:
    disassembler = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    for case in cases_of(row.name):
        decoded = list(disassembler.disasm_lite(case.code, 0))
        assert [(size, name) for _, size, name, _ in decoded] == [(len(case.code), intel_name(row))], case.text


