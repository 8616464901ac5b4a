"""From machine code to instructions of rows.

capstone says where instructions begin and end, what they are called and what their operands are; a row that has this
name and takes these operands gives the meaning. Where the row's own encoding of the operands is the same bytes again
the reading is confirmed twice; where it is not (an assembler may choose another encoding) capstone is believed.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import capstone

from asmgen.errors import AsmgenError
from asmgen.prove import decode_amd64, decode_arm64
from asmgen.targets.row import Instruction, Operand, Row

_MODES = {
    "amd64": (capstone.CS_ARCH_X86, capstone.CS_MODE_64),
    "arm64": (capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM),
}
_READERS = {"amd64": decode_amd64.readings, "arm64": decode_arm64.readings}

Reading = tuple[Row, tuple[Operand, ...]]


@dataclass(frozen=True)
class Decoded:
    """An instruction of the code, `offset` bytes from its start.

    `target` is the place a jump, branch or call goes to. `confirmed` says whether the row's encoding is these bytes.
    """

    offset: int
    size: int
    instruction: Instruction
    text: str
    confirmed: bool
    target: int | None = None

    @property
    def row(self) -> Row:
        return self.instruction.row

    @property
    def end(self) -> int:
        """The offset of what follows."""
        return self.offset + self.size

    @property
    def place(self) -> str:
        """Offset and text, for messages."""
        return f"{self.offset:#x}: {self.text}"


class Unknown(AsmgenError):
    """Bytes that are no instruction of which the meaning is known."""

    def __init__(self, offset: int, text: str) -> None:
        super().__init__(f"offset {offset:#x} holds {text}, an instruction whose meaning is not known")
        self.offset = offset
        self.text = text


@dataclass(frozen=True)
class Program:
    """The instructions of a routine by offset, and its bytes."""

    target: str
    code: bytes
    instructions: dict[int, Decoded]

    def at(self, offset: int) -> Decoded:
        """The instruction at an offset; an error where none begins."""
        found = self.instructions.get(offset)
        if found is None:
            raise AsmgenError(f"control goes to offset {offset:#x}, where no instruction begins")
        return found


def decode(target: str, code: bytes, entry: int | None = None, calls: Container[int] = ()) -> Program:
    """All instructions, one after the other from the start; with an `entry` those that can be reached from there,
    through calls but for those at the places `calls`.

    Raises Unknown for the first one that no row describes.
    """
    instructions: dict[int, Decoded] = {}
    pending = [entry or 0]
    while pending:
        place = pending.pop()
        for read in _reader(target).disasm(code[place:], place):
            if place in instructions:
                break
            found = instructions[place] = _decoded(target, read)
            place += read.size
            if entry is None:
                continue
            if found.target is not None and (found.row.control != "call" or found.offset not in calls):
                pending.append(found.target)
            if found.row.control in ("ret", "jump"):
                break
        else:
            if place < len(code) or entry is not None:
                raise Unknown(place, f"the bytes {code[place : place + 8].hex(' ')}")
    return Program(target, code, dict(sorted(instructions.items())))


@cache
def _reader(target: str) -> Any:
    reader = capstone.Cs(*_MODES[target])
    reader.detail = True
    return reader


_known: dict[tuple[str, bytes], tuple[Reading, bool]] = {}


def _decoded(target: str, read: Any) -> Decoded:
    text = f"{read.mnemonic} {read.op_str}".strip()
    code = bytes(read.bytes)
    found = _known.get((target, code))
    if found is None:
        found = _chosen(code, _READERS[target](read))
        wide = decode_arm64.widened(code) if found is None and target == "arm64" else None
        if wide is not None:
            found = _chosen(wide, _READERS[target](next(_reader(target).disasm(wide, read.address))))
        if found is None:
            raise Unknown(read.address, text)
        _known[target, code] = found
    (row, operands), confirmed = found
    goes = None
    if row.control in ("jump", "branch", "call"):
        goes = read.address + next(o for s, o in zip(row.slots, operands, strict=True) if s.kind == "label")
    return Decoded(read.address, read.size, Instruction(row, operands), text, confirmed, goes)


def _chosen(code: bytes, readings: Iterator[Reading]) -> tuple[Reading, bool] | None:
    """The first reading whose encoding is the code; otherwise the first one that is allowed to differ."""
    first: Reading | None = None
    for row, operands in readings:
        if _encoding(row, operands) == code:
            return (row, operands), True
        first = first or (row, operands)
    return (first, False) if first is not None else None


def _encoding(row: Row, operands: Sequence[Operand]) -> bytes:
    try:
        return row.encode(operands)
    except (AsmgenError, ValueError):  # no encoding, or one relative to the instruction pointer
        return b""
