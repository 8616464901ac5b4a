"""R19: two instructions on one line, joined by a semicolon: on Apple's arm64 the second one was a comment."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from compilers import apple, compiler, must
from shipped import KERNELS, SCRIPTS, VARIANTS, codes, instructions

from asmgen import elf
from asmgen.emit import gnu
from asmgen.emit.origin import Origin


def text(script: str, target: str, features: str) -> str:
    origin = Origin(script=script, file=f"{script}.py", about="", command="", target=target, stem=script)
    return gnu.emit(origin, [made for made in codes(target, features) if made.signature.script == script])


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("target, features", VARIANTS)
def test_one_instruction_a_line_and_no_semicolon(script: str, target: str, features: str) -> None:
    written = text(script, target, features)
    plain = re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment[0].count("\n"), written, flags=re.S)
    assert ";" not in plain
    chosen = [made for made in codes(target, features) if made.signature.script == script]
    lines = [line for line in plain.splitlines() if re.match(r"\s+[a-z]", line)]
    assert len(lines) == sum(len(instructions(made)) for made in chosen)


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("target", ["amd64", "arm64"])
def test_every_format_has_all_of_the_instructions(target: str, script: str, tmp_path: Path) -> None:
    """The bytes that are in the ELF object are in the Mach-O object."""
    (tmp_path / "all.S").write_text(text(script, target, "default"))
    must([*compiler("clang", target), "-c", "all.S", "-o", "elf.o"], tmp_path)
    must([*apple(target), "-c", "all.S", "-o", "macho.o"], tmp_path)
    whole = (tmp_path / "macho.o").read_bytes()
    functions = elf.read((tmp_path / "elf.o").read_bytes(), "elf.o").functions()
    assert len(functions) == len(KERNELS)
    for name, function in functions.items():
        assert function.code in whole, name
