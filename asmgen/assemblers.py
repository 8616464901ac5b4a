"""Everything here that turns a routine into bytes, behind one interface, so that each can be held against the others.

PeachPy (amd64) and the project's own tables encode instructions; GNU as, clang and zig read the emitted text. All of
them must agree byte for byte: where two encodings mean the same, the tables make the one that GNU as picks.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from asmgen import elf, peachpy_encoder, tools
from asmgen.errors import AsmgenError
from asmgen.routine import Code, Item
from asmgen.targets.assemble import Assembled, assemble
from asmgen.targets.row import Instruction, Operand

TARGETS = ("amd64", "arm64")

#: Clangs by the names that distributions give them, newest first.
_CLANGS = ("clang", *(f"clang-{version}" for version in range(30, 10, -1)))

_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


@dataclass(frozen=True)
class Unit:
    """What is to be assembled: the routines of a file, by the symbols in its text, and the text; either one is read."""

    target: str
    name: str  #: the file's name, for messages
    routines: Mapping[str, Code] = field(default_factory=dict)
    text: str = ""


@dataclass(frozen=True)
class Result:
    """Machine code by symbol, zero where a linker has yet to fill in, and what the assembler could not do itself."""

    code: Mapping[str, bytes]
    notes: tuple[str, ...] = ()


class Assembler(Protocol):
    """One way to bytes; `reads` is "routines" or "text"."""

    @property
    def name(self) -> str: ...

    @property
    def reads(self) -> str: ...

    def assemble(self, unit: Unit) -> Result:
        """Bytes of every routine, or of every global function in the text; `AsmgenError` when it refuses."""


@dataclass(frozen=True)
class Tables:
    """The rows' own encodings."""

    name: str = "asmgen"
    reads: str = "routines"

    def assemble(self, unit: Unit) -> Result:
        """Bytes of every routine."""
        made = {symbol: assemble(code.items) for symbol, code in unit.routines.items()}
        return Result({symbol: with_holes(assembled, unit.target) for symbol, assembled in made.items()})


@dataclass(frozen=True)
class PeachPy:
    """PeachPy's encoder; distances of jumps are worked out as for the tables, from PeachPy's own lengths.

    An instruction that the guard refuses is encoded by the tables, and named in the notes if it has operands.
    """

    name: str = "PeachPy"
    reads: str = "routines"

    def assemble(self, unit: Unit) -> Result:
        """Bytes of every routine."""
        refused: dict[str, None] = {}
        found = {}
        for symbol, code in unit.routines.items():
            found[symbol] = with_holes(assemble([_by_peachpy(item, refused) for item in code.items]), unit.target)
        return Result(found, tuple(refused))


@dataclass(frozen=True)
class Driver:
    """An external assembler: `commands` turn `source` (a `.S`) into `out.o`, one after another."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    reads: str = "text"

    def assemble(self, unit: Unit) -> Result:
        """Bytes of every global function in the text."""
        with tempfile.TemporaryDirectory(prefix="asmgen-") as scratch:
            self._run(unit, Path(scratch))
            functions = elf.read((Path(scratch) / "out.o").read_bytes(), f"{unit.name} from {self.name}").functions()
        return Result({name: function.code for name, function in functions.items() if function.binding != "local"})

    def check(self, unit: Unit) -> None:
        """Only see that the text is taken; for formats other than ELF."""
        with tempfile.TemporaryDirectory(prefix="asmgen-") as scratch:
            self._run(unit, Path(scratch))

    def _run(self, unit: Unit, scratch: Path) -> None:
        if not unit.text:
            raise AsmgenError(f"{self.name} reads text, and {unit.name} has none", hint="emit the routines first")
        (scratch / "source.S").write_text(unit.text)
        for command in self.commands:
            finished = tools.run(command, scratch)
            if finished.status or finished.output.strip():
                fault = finished.first_error.replace("source.S", unit.name)
                shown = " ".join(command).replace("source.S", unit.name)
                raise AsmgenError(f"{self.name} does not take {unit.name} as it is: {fault}", hint=f"see {shown}")


def available(target: str) -> list[Assembler]:
    """The assemblers that are here for a target: PeachPy, the tables, GNU as, clang, zig, in this order."""
    return [make for _, make, _ in _known(target) if make is not None]


def missing(target: str) -> list[str]:
    """A line for each assembler that is not here: what was looked for, and how to get it."""
    return [f"{name}: {way_out}" for name, make, way_out in _known(target) if make is None]


def agreed(unit: Unit) -> Result:
    """Bytes of a unit's routines by the first assembler that is here besides our tables, held against those.

    On amd64 that is PeachPy; without it, or on arm64, what reads the unit's text, if it has one. The notes say so where
    PeachPy is missing, and what it could not do. Raises `AsmgenError` at the first difference.
    """
    ours = Tables().assemble(unit)
    others = [each for each in available(unit.target) if each.name != Tables.name]
    others = [each for each in others if each.reads == "routines" or unit.text]
    notes = [line for line in missing(unit.target) if line.startswith("PeachPy")]
    if not others:
        return Result(ours.code, (*notes, f"{unit.target} bytes are those of our tables alone") if notes else ())
    other = others[0]
    theirs = other.assemble(unit)
    if notes:
        notes.append(f"{unit.target} bytes are those of our tables and {other.name}")
    for symbol, code in unit.routines.items():
        if symbol not in theirs.code:
            raise AsmgenError(f"{other.name} finds no {symbol} in {unit.name}")
        if said := first_difference(code, theirs.code[symbol]):
            raise AsmgenError(f"{other.name} and our tables differ in {symbol}: {said}", hint="report it: one is wrong")
    return Result(theirs.code, (*notes, *theirs.notes))


def apple(target: str) -> Driver | None:
    """clang for macOS: takes the text and makes Mach-O, so that syntax can be checked anywhere; None without clang."""
    clang = tools.find(_CLANGS)
    machine = {"amd64": "x86_64", "arm64": "arm64"}[target]
    return _driver("clang for macOS", clang and (clang, f"--target={machine}-apple-macos11"))


def first_difference(code: Code, theirs: bytes) -> str | None:
    """The first instruction that another assembler encodes otherwise than our tables, in words; None when all agree."""
    ours = assemble(code.items)
    whole = with_holes(ours, code.target)
    if whole == theirs:
        return None
    place = next((i for i, (a, b) in enumerate(zip(whole, theirs, strict=False)) if a != b), len(whole))
    item = code.items[bisect_right(ours.offsets, place) - 1]
    if place == len(whole) or place >= len(theirs) or not isinstance(item, Instruction):
        return f"{len(theirs)} bytes, ours are {len(whole)}"
    start = ours.offsets[bisect_right(ours.offsets, place) - 1]
    end = next((offset for offset in ours.offsets if offset > start), len(whole))
    shown = item.row.text(item.operands)
    return f"{shown} at {start:#x} is {theirs[start:end].hex(' ')}, ours {whole[start:end].hex(' ')}"


def with_holes(assembled: Assembled, target: str) -> bytes:
    """The code with zeros where a linker is to fill in, as object files with explicit addends have it."""
    code = bytearray(assembled.code)
    for offset, _, _ in assembled.relocations:
        if target == "amd64":
            code[offset + 1 : offset + 5] = bytes(4)  # call: one byte of opcode; arm64's bl by 0 is zero there already
    return bytes(code)


def _by_peachpy(item: Item, refused: dict[str, None]) -> Item:
    """The same instruction with PeachPy for its encoder; what it refuses is added to `refused`."""
    if not isinstance(item, Instruction):
        return item
    row = item.row

    def encode(operands: Sequence[Operand]) -> bytes:
        try:
            return peachpy_encoder.encode(row, tuple(operands))
        except peachpy_encoder.Refused as reason:
            if row.slots:  # what has no operands has one encoding
                refused[f"{row.mnemonic} by our table: {reason}"] = None
            return row.encode(operands)

    return replace(item, row=replace(row, encode=encode))


@lru_cache(8)
def _known(target: str) -> tuple[tuple[str, Assembler | None, str], ...]:
    """(name, assembler or None, how to get it) of all assemblers for a target."""
    if target not in TARGETS:
        raise AsmgenError(f"no assembler for target {target}", hint=f"one of {', '.join(TARGETS)}")
    machine = _MACHINES[target]
    gcc = "gcc" if target == "amd64" else "gcc-aarch64-linux-gnu"
    clang, zig = tools.find(_CLANGS), _zig()
    known: list[tuple[str, Assembler | None, str]] = [
        ("asmgen", Tables(), ""),
        ("GNU as", _gnu(machine), f"no gcc for {machine}-linux, no {machine}-linux-gnu-as on PATH; in Debian's {gcc}"),
        ("clang", _driver("clang", clang and (clang, f"--target={machine}-linux-gnu")),
         f"no {_CLANGS[0]}, {_CLANGS[1]} … {_CLANGS[-1]} on PATH; in Debian's clang"),
        ("zig", _driver("zig", zig and (*zig, "cc", "-target", f"{machine}-linux-gnu")),
         "no zig on PATH and no Python package ziglang; pip install ziglang"),
    ]  # fmt: skip
    if target == "amd64":
        peachpy = PeachPy() if peachpy_encoder.found() else None
        known.insert(0, ("PeachPy", peachpy, "no Python package peachpy; ./run in asmgen's source tree puts it in"))
    return tuple(known)


def _driver(name: str, compiler: tuple[str, ...] | str | None) -> Driver | None:
    return Driver(name, ((*compiler, "-c", "source.S", "-o", "out.o"),)) if compiler else None


def _gnu(machine: str) -> Driver | None:
    """GNU as behind gcc; without a gcc for the machine, the bare assembler behind any C preprocessor."""
    for gcc in filter(None, map(shutil.which, (f"{machine}-linux-gnu-gcc", "gcc"))):
        makes = tools.run((gcc, "-dumpmachine"), seconds=10).output.strip()
        if makes.startswith(machine) and "linux" in makes:
            return _driver("GNU as", (gcc,))
    bare, preprocessor = tools.find((f"{machine}-linux-gnu-as",)), tools.find(("gcc", *_CLANGS))
    if bare is None or preprocessor is None:
        return None
    defined = ("-undef", f"-D__{machine}__=1", "-D__ELF__=1", "-D__linux__=1", "-D__LP64__=1")
    return Driver("GNU as", ((preprocessor, "-E", *defined, "source.S", "-o", "out.s"), (bare, "out.s", "-o", "out.o")))


def _zig() -> tuple[str, ...] | None:
    """zig from PATH or from the Python package."""
    if path := shutil.which("zig"):
        return (path,)
    return (sys.executable, "-m", "ziglang") if find_spec("ziglang") else None
