"""R39: a compiler made a branch on a secret of C that chooses by a mask."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from compilers import compiler, must
from shipped import VARIANTS, instructions, kernel

from asmgen import elf, tools
from asmgen.emit import c, header
from asmgen.emit.origin import Origin
from asmgen.passes import Options, compile_kernel, lower_kernel
from asmgen.targets.row import Memory, Register

CHOOSING = [("p256", "select"), ("p256", "lookup"), ("p256", "sub"), ("p256", "canon"), ("curve25519_4x64", "select"),
            ("curve25519_4x64", "lookup"), ("curve25519_4x64", "canon"), ("curve25519_4x64", "from_bytes")]  # fmt: skip
BRANCHES = re.compile(r"\t(j(?!mp\b)\w+|b\.\w+|cbn?z|tbn?z|loop\w*)\b")


@pytest.mark.parametrize("target, features", VARIANTS)
@pytest.mark.parametrize("script, name", CHOOSING)
def test_our_routines_have_none(script: str, name: str, target: str, features: str) -> None:
    """No branch, and no address but those of the buffers and the stack, at fixed distances."""
    for instruction in instructions(compile_kernel(kernel(script, name), Options(target, features))):
        assert instruction.row.control in (None, "ret"), instruction
        for operand in instruction.operands:
            if isinstance(operand, Memory) and instruction.row.mnemonic != "lea":
                assert operand.index is None and isinstance(operand.base, Register)


@pytest.mark.parametrize("optimize", ["-O1", "-O2", "-O3", "-Os"])
@pytest.mark.parametrize("kind, target", [("gcc", "amd64"), ("clang", "amd64"), ("gcc", "arm64"), ("clang", "arm64")])
def test_our_c_has_none_when_it_is_compiled(kind: str, target: str, optimize: str, tmp_path: Path) -> None:
    """Byte strings aside: those are read in loops of fixed length."""
    for script in ("p256", "curve25519_4x64"):
        chosen = [kernel(script, name) for where, name in CHOOSING if where == script and name != "from_bytes"]
        origin = Origin(script=script, file=f"{script}.py", about="", command="", target=target, stem=script)
        programs = [lower_kernel(each) for each in chosen]  # type: ignore[arg-type]
        (tmp_path / f"{script}.h").write_text(header.emit(origin, [each.signature for each in chosen]))
        (tmp_path / f"{script}.c").write_text(c.emit(origin, programs))
        must([*compiler(kind, target), optimize, "-c", f"{script}.c", "-o", f"{script}.o"], tmp_path)
        functions = elf.read((tmp_path / f"{script}.o").read_bytes(), "x").functions()
        assert {each.signature.symbol for each in chosen} <= set(functions)
        listing = disassembled(target, f"{script}.o", tmp_path)
        assert not BRANCHES.findall(listing), (script, set(BRANCHES.findall(listing)))


def disassembled(target: str, name: str, directory: Path) -> str:
    found = tools.find(("aarch64-linux-gnu-objdump",) if target == "arm64" else ("objdump",))
    if not found:
        pytest.skip(f"no objdump for {target}")
    return must([found, "-d", "--no-show-raw-insn", name], directory)


def test_a_branch_would_be_seen(tmp_path: Path) -> None:
    text = "void f(long *, long); void g(long *p, long s) { if (s) f(p, s); else *p = s * 3; }\n"
    (tmp_path / "x.c").write_text(text)
    must([*compiler("gcc"), "-O2", "-c", "x.c", "-o", "x.o"], tmp_path)
    assert BRANCHES.findall(disassembled("amd64", "x.o", tmp_path))
