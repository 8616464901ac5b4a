"""The `.S`: every assembler takes it as it is, its bytes are ours, and its marks are those that linkers look for."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import hand_codes
import pytest
from compilers import apple, compiler, must, readelf, runner

from asmgen import elf
from asmgen.emit import gnu, header
from asmgen.emit.formats import MACHINES
from asmgen.errors import AsmgenError
from asmgen.routine import Code
from asmgen.targets import amd64, arm64
from asmgen.targets.assemble import assemble
from asmgen.targets.row import Label

TARGETS = ("amd64", "arm64")
WARNINGS = ["-Wall", "-Wextra", "-Werror"]


def built(
    kind: str, target: str, directory: Path, *flags: str, prefix: str = "", codes: list[Code] | None = None
) -> Path:
    """The object that a compiler makes of the hand-written routines."""
    source = directory / f"{prefix}hand.S"
    source.write_text(gnu.emit(hand_codes.origin(target, prefix=prefix), codes or hand_codes.codes(target)))
    made = directory / f"{prefix}{kind}.o"
    assert must([*compiler(kind, target), *WARNINGS, *flags, "-c", source.name, "-o", made.name], directory) == ""
    return made


@pytest.mark.parametrize("target", TARGETS)
def test_golden(target: str, golden) -> None:  # type: ignore[no-untyped-def]
    golden(f"emit/mersenne127_{target}.S", gnu.emit(hand_codes.origin(target), hand_codes.codes(target)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", ("gcc", "clang"))
def test_assemblers_agree_with_our_tables(kind: str, target: str, tmp_path: Path) -> None:
    made = built(kind, target, tmp_path)
    functions = elf.read(made.read_bytes(), made.name).functions()
    for code in hand_codes.codes(target):
        assert functions[code.signature.symbol].code == assemble(code.items).code, code.signature.symbol


@pytest.mark.parametrize("target", TARGETS)
def test_apple_takes_the_same_text(target: str, tmp_path: Path) -> None:
    source = tmp_path / "hand.S"
    source.write_text(gnu.emit(hand_codes.origin(target, prefix="my_"), hand_codes.codes(target)))
    assert must([*apple(target), *WARNINGS, "-c", source.name, "-o", "hand.o"], tmp_path) == ""
    names = (tmp_path / "hand.o").read_bytes()
    assert b"_my_mersenne127_add\0" in names
    assert b"loop" not in names, "local labels must stay out of the symbol table"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("other", TARGETS)
def test_other_machines_get_an_empty_object(target: str, other: str, tmp_path: Path) -> None:
    """Builds hand all files to all compilers: universal binaries, cgo."""
    source = tmp_path / "hand.S"
    source.write_text(gnu.emit(hand_codes.origin(target), hand_codes.codes(target)))
    must([*compiler("clang", other), *WARNINGS, "-c", source.name, "-o", "hand.o"], tmp_path)
    found = elf.read((tmp_path / "hand.o").read_bytes(), "hand.o").functions()
    assert len(found) == (3 if target == other else 0)
    assert ".note.GNU-stack" in readelf("-S", "hand.o", directory=tmp_path)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", ("gcc", "clang"))
def test_symbols_are_sized_functions_and_hidden(kind: str, target: str, tmp_path: Path) -> None:
    made = built(kind, target, tmp_path, prefix="my_")
    for code in hand_codes.codes(target):
        size = len(assemble(code.items).code)
        pattern = rf"\s{size} FUNC\s+GLOBAL\s+HIDDEN\s+\d+ my_{code.signature.symbol}\n"
        assert re.search(pattern, readelf("-s", made.name, directory=tmp_path))
    assert "loop" not in readelf("-s", made.name, directory=tmp_path)
    origin = hand_codes.origin(target, visible=True)
    assert "HIDDEN" not in gnu.emit(origin, hand_codes.codes(target))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", ("gcc", "clang"))
@pytest.mark.parametrize("protection", ("none", "full"))
def test_properties_stand_in_every_object(kind: str, target: str, protection: str, tmp_path: Path) -> None:
    """With and without the compiler's own branch protection; no executable stack, nothing to relocate."""
    names = {"amd64": ("-fcf-protection", "IBT, SHSTK"), "arm64": ("-mbranch-protection", "BTI, PAC")}
    flag, wanted = names[target]
    value = {"full": "standard"}.get(protection, protection) if target == "arm64" else protection
    made = built(kind, target, tmp_path, f"{flag}={value}")
    assert wanted in readelf("-n", made.name, directory=tmp_path)
    sections = readelf("-S", made.name, directory=tmp_path)
    stack = next(line for line in sections.splitlines() if ".note.GNU-stack" in line)
    assert " X" not in stack
    relocations = readelf("-r", made.name, directory=tmp_path)
    assert set(re.findall(r"section '([^']*)'", relocations)) <= {".rela.eh_frame"}
    strict = {"amd64": "-Wl,-z,cet-report=error", "arm64": "-Wl,-z,force-bti"}[target]
    link = [
        *compiler("gcc", target),
        "-nostdlib",
        "-shared",
        strict,
        "-Wl,--fatal-warnings",
        made.name,
        "-o",
        "hand.so",
    ]
    assert must(link, tmp_path) == ""
    assert wanted in readelf("-n", "hand.so", directory=tmp_path)


@pytest.mark.parametrize("target", TARGETS)
def test_a_property_that_does_not_hold_is_not_claimed(target: str) -> None:
    add, *rest = hand_codes.codes(target)
    landing, leaf = MACHINES[target].landing_bit, MACHINES[target].return_bit
    assert gnu.property_bits(target, [add, *rest]) == landing | leaf
    unmarked = replace(add, items=add.items[1:])
    assert gnu.property_bits(target, [unmarked, *rest]) == leaf
    assert f".long\t{leaf}" in gnu.emit(hand_codes.origin(target), [unmarked])
    if target == "arm64":
        call = arm64.ins("bl", Label("mersenne127_add"))
        calling = replace(add, items=(*add.items[:-1], call, add.items[-1]))
        assert gnu.property_bits(target, [calling]) == landing
        signing = (arm64.ins("paciasp"), *calling.items[1:-1], arm64.ins("autiasp"), add.items[-1])
        assert gnu.property_bits(target, [replace(add, items=signing)]) == landing | leaf


def test_calls_go_to_the_prefixed_symbol(tmp_path: Path) -> None:
    add = hand_codes.codes("amd64")[0]
    call = amd64.ins("call_l", Label("mersenne127_add"))
    calling = replace(add, signature=replace(add.signature, kernel="twice"), items=(add.items[0], call, add.items[-1]))
    assert "call\tSYMBOL(mersenne127_add)" in gnu.emit(hand_codes.origin("amd64"), [add, calling])
    for kind in ("gcc", "clang"):
        made = built(kind, "amd64", tmp_path, prefix="my_", codes=[add, calling])
        assert not re.search(r"\sUND my?_?m", readelf("-s", made.name, directory=tmp_path))


@pytest.mark.parametrize("target", TARGETS)
def test_no_character_means_something_else_to_another_assembler(target: str) -> None:
    text = gnu.emit(hand_codes.origin(target), hand_codes.codes(target))
    assert ";" not in text and "//" not in text and text.isascii()
    bare = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for each in bare.splitlines():
        if re.match(r"#(if|elif|else|endif|define|error)\b", each):
            continue
        assert re.fullmatch(r"[^#]*(#-?\w+[^#]*)*", each), each
        assert not each.lstrip().startswith("#"), each
    for comment in re.findall(r"/\*.*?\*/", text, flags=re.S):
        assert "#" not in comment and "/*" not in comment[2:]


@pytest.mark.parametrize("target", TARGETS)
def test_one_instruction_a_line(target: str) -> None:
    codes = hand_codes.codes(target)
    text = gnu.emit(hand_codes.origin(target), codes)
    for code in codes:
        start = text.index(f"SYMBOL({code.signature.symbol}):\n")
        body = text[start : text.index("\t.cfi_endproc", start)].splitlines()[1:]
        lines = [each for each in body if not each.startswith("\t.cfi") and not each.endswith(":")]
        assert len(lines) == sum(hasattr(item, "row") for item in code.items)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", ("gcc", "clang"))
def test_call_frames_add_up(kind: str, target: str, tmp_path: Path) -> None:
    """Unwinders see the stack move by what the routine pushes, and come back to where it was."""
    made = built(kind, target, tmp_path)
    frames = readelf("--debug-dump=frames-interp", made.name, directory=tmp_path)
    stack, size = ("rsp", 8) if target == "amd64" else ("sp", 16)
    base = 8 if target == "amd64" else 0
    add = frames[frames.index("FDE") :].split("\n\n")[0]
    offsets = [int(found) for found in re.findall(rf"{stack}\+(\d+)", add)]
    assert offsets == [base, base + size, base]
    assert frames.count("FDE") == 3


def test_prefixes_that_start_no_name_are_refused() -> None:
    for prefix in ("9x", "a-b", "x y", "é", "a.b"):
        with pytest.raises(AsmgenError, match="cannot start the name of a C function"):
            gnu.emit(hand_codes.origin("amd64", prefix=prefix), hand_codes.codes("amd64"))


_MAIN = """
#include <stdio.h>
#include "one.h"
#include "two.h"
int main(void)
{
    uint64_t a[2] = {UINT64_C(0xfedcba9876543210), UINT64_C(0x7123456789abcdef)}, b[2] = {UINT64_MAX, 5}, c[2];
    one_mersenne127_add(c, a, b);
    printf("%llx %llx\\n", (unsigned long long)c[0], (unsigned long long)c[1]);
    two_mersenne127_double_n(a, a, 1000);
    printf("%llx %llx\\n", (unsigned long long)a[0], (unsigned long long)a[1]);
    one_mersenne127_double_n(b, b, 0);
    printf("%llx %llx\\n", (unsigned long long)b[0], (unsigned long long)b[1]);
    return 0;
}
"""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", ("gcc", "clang"))
def test_two_prefixes_in_one_program(kind: str, target: str, tmp_path: Path) -> None:
    """Linked without a word from the linker, no executable stack, and the routines do what they say."""
    gcc = compiler("gcc", target)  # links: clang does not know where a cross gcc has its files
    start = runner(target)
    for prefix in ("one", "two"):
        built(kind, target, tmp_path, prefix=f"{prefix}_")
        origin = hand_codes.origin(target, prefix=f"{prefix}_")
        signatures = [code.signature for code in hand_codes.codes(target)]
        text = header.emit(replace(origin, stem=prefix), signatures)
        (tmp_path / f"{prefix}.h").write_text(text)
    (tmp_path / "main.c").write_text(_MAIN)
    objects = [f"one_{kind}.o", f"two_{kind}.o"]
    command = [*gcc, "-std=c99", *WARNINGS, "-static", "-Wl,--fatal-warnings", "main.c", *objects, "-o", "main"]
    assert must(command, tmp_path) == ""
    stack = next(each for each in readelf("-l", "main", directory=tmp_path).splitlines() if "GNU_STACK" in each)
    assert " RW " in stack and "RWE" not in stack
    a, b, p = 0x7123456789ABCDEFFEDCBA9876543210, (5 << 64) + 2**64 - 1, 2**127 - 1
    printed = must([*start, "./main"], tmp_path).splitlines()
    found = [int(low, 16) + (int(high, 16) << 64) for low, high in map(str.split, printed)]
    assert found == [a + b, a * 2**1000 % p, b]
