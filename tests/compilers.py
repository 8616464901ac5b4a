"""Compilers for tests: found or skipped with a reason, and always with every warning an error."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from asmgen import tools

_TRIPLES = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}
_CLANG = ("clang", *(f"clang-{version}" for version in range(30, 10, -1)))


def compiler(kind: str, target: str = "amd64") -> list[str]:
    """The command that starts gcc or clang for a target (clang needs no cross headers for assembly)."""
    triple = _TRIPLES[target]
    if kind == "gcc":
        found = tools.find((f"{triple}-gcc", *(("gcc",) if target == "amd64" else ())))
        command = [found] if found else []
    else:
        found = tools.find(_CLANG)
        command = [found, f"--target={triple}"] if found else []
    if not command:
        pytest.skip(f"no {kind} for {target} here")
    return command


def apple(target: str) -> list[str]:
    """clang for macOS: makes Mach-O anywhere."""
    found = tools.find(_CLANG)
    if not found:
        pytest.skip("no clang here")
    return [found, f"--target={'x86_64' if target == 'amd64' else 'arm64'}-apple-macos11"]


def must(command: list[str], directory: Path) -> str:
    """Run; the program must succeed and say nothing but what it is asked to print."""
    finished = tools.run(command, directory)
    assert finished.status == 0, f"{' '.join(command)}\n{finished.output}"
    return finished.output


def understands_cpp(kind: str, directory: Path) -> None:
    """Skip where the compiler is there without its C++ half."""
    (directory / "empty.cpp").write_text("int here;\n")
    if tools.run([*compiler(kind), "-c", "empty.cpp", "-o", "empty.o"], directory).status:
        pytest.skip(f"{kind} has no C++ here")


def runner(target: str) -> list[str]:
    """What stands before a program for the target to run it here: nothing on the machine itself."""
    if platform.machine() in {"amd64": ("x86_64", "AMD64"), "arm64": ("aarch64", "arm64")}[target]:
        return []
    found = tools.find({"amd64": ("qemu-x86_64",), "arm64": ("qemu-aarch64", "qemu-aarch64-static")}[target])
    if not found:
        pytest.skip(f"neither an {target} machine nor qemu for it here")
    return [found]


def readelf(*arguments: str, directory: Path) -> str:
    """What readelf prints."""
    found = tools.find(("readelf", "llvm-readelf", "llvm-readelf-19"))
    if not found:
        pytest.skip("no readelf here")
    return must([found, "-W", *arguments], directory)
