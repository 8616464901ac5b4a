"""R23: a note that began with "if", or had an apostrophe, was read by the preprocessor; // and # mean other things."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from compilers import compiler, must
from shipped import code

from asmgen import elf
from asmgen.emit import gnu
from asmgen.emit.origin import Origin
from asmgen.routine import Code
from asmgen.targets.assemble import assemble
from asmgen.targets.row import Instruction, Register

NOTES = (
    "if carry", "don't", "# if 0", "#define x", "*/ ret", "/* open", "// gone", "; ret", "\\", "else", 'a "quote',
    "%rax $1", "é", "line\nret", "@nop", "'", "include <x>",
)  # fmt: skip
SEED = 20260401


def noted(made: Code, rng: random.Random) -> Code:
    """The routine with such notes on its instructions, in what registers hold, and in its description."""
    items = tuple(
        replace(each, note=rng.choice(NOTES)) if isinstance(each, Instruction) else each for each in made.items
    )
    holds: tuple[dict[Register, str], ...] = tuple({place: rng.choice(NOTES) for place in held} for held in made.holds)
    signature = replace(made.signature, doc=" ".join(rng.sample(NOTES, 6)))
    return replace(made, items=items, holds=holds, signature=signature)


@pytest.mark.parametrize("kind", ["gcc", "clang"])
@pytest.mark.parametrize("target", ["amd64", "arm64"])
def test_notes_change_nothing(target: str, kind: str, tmp_path: Path) -> None:
    rng = random.Random(SEED)
    plain = code("curve25519_4x64", "mul", target)
    for _ in range(4):
        about = " ".join(rng.sample(NOTES, 8))
        origin = Origin(script="x", file="if.py", about=about, command="#if", target=target, stem="x")
        (tmp_path / "x.S").write_text(gnu.emit(origin, [noted(plain, rng)]))
        flags = ["-Wall", "-Wextra", "-Werror", "-c", "x.S", "-o", "x.o"]
        assert must([*compiler(kind, target), *flags], tmp_path) == ""
        (function,) = elf.read((tmp_path / "x.o").read_bytes(), "x.o").functions().values()
        assert function.code == assemble(plain.items).code


@pytest.mark.parametrize("target", ["amd64", "arm64"])
def test_comments_are_of_one_kind(target: str) -> None:
    origin = Origin(script="x", file="x.py", about="", command="", target=target, stem="x")
    rest = re.sub(r"/\*.*?\*/", "", gnu.emit(origin, [code("p256", "mul", target)]), flags=re.S)
    assert "//" not in rest and "*/" not in rest
    for line in rest.splitlines():
        mark = line.find("#")
        directive = re.match(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif|define|undef|include|error)\b", line)
        immediate = target == "arm64" and re.search(r"#-?\d", line)
        assert mark < 0 or directive or immediate, line
