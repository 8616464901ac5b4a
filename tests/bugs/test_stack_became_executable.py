"""R31: one object without the note made the program's whole stack executable; landing pads or their mark were lost."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from compilers import compiler, must, readelf
from shipped import VARIANTS, code, codes, instructions

from asmgen.emit import gnu
from asmgen.emit.origin import Origin
from asmgen.routine import Code


def build(made: list[Code], target: str, kind: str, directory: Path) -> None:
    origin = Origin(script="x", file="x.py", about="", command="", target=target, stem="x", visible=True)
    (directory / "x.S").write_text(gnu.emit(origin, made))
    must([*compiler(kind, target), "-c", "x.S", "-o", "x.o"], directory)


@pytest.mark.parametrize("kind", ["gcc", "clang"])
@pytest.mark.parametrize("target", ["amd64", "arm64"])
def test_the_object_asks_for_no_executable_stack(target: str, kind: str, tmp_path: Path) -> None:
    build([made for made in codes(target) if made.signature.script == "p256"], target, kind, tmp_path)
    sections = readelf("-S", "x.o", directory=tmp_path)
    (note,) = re.findall(r"\.note\.GNU-stack\s+\S+\s+.*", sections)
    assert " X " not in note and not re.search(r"\.note\.GNU-stac[^k]", sections)
    wanted = r"IBT" if target == "amd64" else r"BTI"
    assert re.search(wanted, readelf("-n", "x.o", directory=tmp_path))


def test_a_program_of_it_has_a_plain_stack(tmp_path: Path) -> None:
    build([code("curve25519_4x64", "mul", "amd64")], "amd64", "gcc", tmp_path)
    (tmp_path / "main.c").write_text(
        "#include <stdint.h>\nvoid curve25519_4x64_mul(uint64_t *, const uint64_t *, const uint64_t *);\n"
        "int main(void) { uint64_t a[4] = {3, 0, 0, 0}; curve25519_4x64_mul(a, a, a); return a[0] != 9; }\n"
    )
    command = [*compiler("gcc"), "-fcf-protection=full"]
    assert must([*command, "-Wl,--fatal-warnings", "main.c", "x.o", "-o", "main"], tmp_path) == ""
    # Parts of the system's own may be without the mark; ours is not among those that the linker names.
    assert "x.o" not in must([*command, "-Wl,-z,cet-report=warning", "main.c", "x.o", "-o", "main"], tmp_path)
    (stack,) = re.findall(r"GNU_STACK.*", readelf("-l", "main", directory=tmp_path))
    assert "RW " in stack and "RWE" not in stack


@pytest.mark.parametrize("target, features", VARIANTS)
def test_every_routine_begins_where_branches_may_land(target: str, features: str) -> None:
    for made in codes(target, features):
        assert instructions(made)[0].row.name == ("endbr64" if target == "amd64" else "bti_c")
