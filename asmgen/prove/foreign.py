"""Code that asmgen did not make, held against a kernel's contract: objects, archives, assembly and C of anybody."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from asmgen.diff import image
from asmgen.errors import AsmgenError, UsageError
from asmgen.function import Function
from asmgen.prove.routine import Routine
from emulate.compilers import chosen, missing

#: What is compiled or assembled first.
SOURCES = (".c", ".s", ".S")

#: CPUID bits that foreign code is granted.
GRANTED = {"amd64": frozenset({"adx", "bmi2"}), "arm64": frozenset[str]()}


def foreign(
    kernel: Function, path: Path, symbol: str, targets: Sequence[str], *, assume: Sequence[str] = (), flags: str = ""
) -> Routine:
    """The routine `symbol` of a file, to be held against a kernel.

    `assume` are texts SYMBOL=VALUE: four words of 32 bits or any number, little endian, that data of other libraries
    is taken to hold. Raises UsageError for a file that is not there, or is for another target than asked for.
    """
    if not path.is_file():
        raise UsageError(f"there is no file {path}", hint="--object FILE.o, FILE.a, FILE.S or FILE.c")
    known = _assumed(assume)
    if path.suffix in SOURCES:
        made = _compiled(path, symbol, targets[0], flags, known)
    else:
        made = image.load(path, symbol, (), known)
    if made.target not in targets:
        raise UsageError(f"{path} is {made.target} code", hint=f"--target {made.target}")
    return Routine(kernel, made.target, made.code, made.entry, features=GRANTED[made.target], data=True)


def _compiled(path: Path, symbol: str, target: str, flags: str, known: Mapping[str, bytes]) -> image.Image:
    every = chosen((), target)
    if not every:
        raise AsmgenError(f"{path} has to be compiled first, and no compiler is here", hint="; ".join(missing(target)))
    return image.from_bytes(every[0].compile_file(path, shlex.split(flags)), path.name, symbol, (), known)


def _assumed(texts: Sequence[str]) -> dict[str, bytes]:
    """SYMBOL=VALUE[,VALUE…], each value a 32-bit word or, alone, a number as long as it needs to be."""
    found: dict[str, bytes] = {}
    for text in texts:
        name, _, values = text.partition("=")
        try:
            numbers = [int(value, 0) for value in values.split(",")]
        except ValueError:
            numbers = []
        if not name or not numbers or min(numbers) < 0:
            raise UsageError(f"--assume {text} is no SYMBOL=VALUE", hint="--assume OPENSSL_ia32cap_P=0,0,0x80100,0")
        if len(numbers) == 1:
            found[name] = numbers[0].to_bytes(max(16, -(-numbers[0].bit_length() // 8)), "little")
        else:
            found[name] = b"".join((number & 0xFFFFFFFF).to_bytes(4, "little") for number in numbers)
    return found
