"""The `.lst` of a script: the bytes of our own tables, capstone's reading of them, and where they come from."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import capstone

from asmgen.assemblers import with_holes
from asmgen.contracts import Signature
from asmgen.emit import prose
from asmgen.emit.census import counted
from asmgen.emit.gnu import facts
from asmgen.emit.origin import Origin
from asmgen.errors import AsmgenError
from asmgen.routine import Code
from asmgen.targets.assemble import assemble
from asmgen.targets.row import Instruction, Label, Register

_COLUMNS = {"amd64": (6, 33, 36, 26), "arm64": (6, 12, 36, 26)}  #: widths of offset, bytes, instruction, result
_MODES = {
    "amd64": (capstone.CS_ARCH_X86, capstone.CS_MODE_64),
    "arm64": (capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM),
}


def disassembler(target: str) -> capstone.Cs:
    """capstone for a target, in the syntax of the `.S` files."""
    reader = capstone.Cs(*_MODES[target])
    if target == "amd64":
        reader.syntax = capstone.CS_OPT_SYNTAX_ATT
    return reader


def listing(origin: Origin, codes: Sequence[Code]) -> str:
    """All routines of a script, in order.

    Raises AsmgenError when capstone reads the bytes of an instruction as anything but one instruction of that length.
    """
    return join(origin, [code.signature for code in codes], [part(origin, code) for code in codes])


def part(origin: Origin, code: Code) -> str:
    """One routine, to be joined with others of its file."""
    return "\n".join([*_heading(origin, code), "", *_lines(code, disassembler(origin.target))])


def join(origin: Origin, signatures: Sequence[Signature], parts: Sequence[str]) -> str:
    """The file of these routines."""
    lines = [f"{origin.stem}, {origin.target}", f"{origin.command}", ""]
    for field in prose.fields_of(signatures):
        lines += [*prose.about_field(field), ""]
    lines.append("Each line: offset, bytes, instruction, what its result is, script line.")
    for each in parts:
        lines += ["", "", *each.splitlines()]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _heading(origin: Origin, code: Code) -> Iterator[str]:
    name = f"{origin.prefix}{code.signature.symbol}"
    yield name
    yield "=" * len(name)
    yield prose.prototype(code.signature, origin.prefix)
    yield from prose.contract(code.signature)
    yield from facts(code)
    yield f"{counted(code.items)}, {len(assemble(code.items).code)} bytes"


def _lines(code: Code, reader: capstone.Cs) -> Iterator[str]:
    assembled = assemble(code.items)
    whole = with_holes(assembled, code.target)
    ends = [*assembled.offsets[1:], len(whole)]
    shown = ""
    for index, item in enumerate(code.items):
        if isinstance(item, Label):
            yield f"{item.name}:"
        elif isinstance(item, Instruction):
            place, text = _source(item)
            start = assembled.offsets[index]
            piece = whole[start : ends[index]]
            text_read = read(item, piece, start, reader)
            row = (f"{start:04x}", piece.hex(" "), text_read, _result(code, index, item))
            line = " ".join(cell.ljust(width) for cell, width in zip(row, _COLUMNS[code.target], strict=True))
            yield f"{line} {place}{'  ' + text if text != shown else ''}" if place else line
            shown = text or shown


def read(item: Instruction, piece: bytes, start: int, reader: capstone.Cs) -> str:
    """capstone's text of an instruction's bytes, labels by name."""
    found = list(reader.disasm_lite(piece, start))
    if len(found) != 1 or found[0][1] != len(piece):
        raise AsmgenError(
            f"{item.row.name} is encoded as {piece.hex(' ')}, which capstone reads as "
            f"{', '.join(f'{each[2]} {each[3]}'.strip() for each in found) or 'nothing'}",
            source=item.source,
        )
    _, _, mnemonic, operands = found[0]
    labels = [operand.name for operand in item.operands if isinstance(operand, Label)]
    if labels:
        operands = ", ".join([*operands.split(", ")[:-1], *labels])
    return f"{mnemonic} {operands}".rstrip()


def _result(code: Code, index: int, item: Instruction) -> str:
    """What the registers written hold now, as far as the allocator or a note says."""
    held = code.holds[index] if index < len(code.holds) else {}
    texts = [
        f"{register.name}={held[register]}"
        for register in dict.fromkeys(item.written)
        if isinstance(register, Register) and register in held
    ]
    return " ".join(texts) or item.note


def _source(item: Instruction) -> tuple[str, str]:
    if item.source is None:
        return "", ""
    return f"{os.path.basename(item.source.file)}:{item.source.line}", item.source.text
