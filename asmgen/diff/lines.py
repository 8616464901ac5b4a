"""Machine code as lines: what each instruction is called, which registers and flags it reads and writes, its class.

Where one of our rows describes an instruction the row says so; for others (vectors, odd forms) capstone does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import capstone

from asmgen.emit.census import kind as class_of
from asmgen.errors import AsmgenError
from asmgen.prove import decode_amd64, decode_arm64
from asmgen.targets.row import Instruction, Register, Row
from emulate.encode import AMD64_REGISTERS, ARM64_REGISTERS
from emulate.listing import disassembler

_READINGS = {"amd64": decode_amd64.readings, "arm64": decode_arm64.readings}
_MODES = {
    "amd64": (capstone.CS_ARCH_X86, capstone.CS_MODE_64),
    "arm64": (capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM),
}
VECTORS = {"amd64": tuple(f"xmm{n}" for n in range(16)), "arm64": tuple(f"v{n}" for n in range(32))}
STACK_POINTER = {"amd64": "rsp", "arm64": "sp"}
FLAGS = frozenset({"cf", "of", "zf", "sf", "pf", "af", "n", "z", "c", "v"})

_PRODUCTS = ("mul", "imul", "mulx", "madd", "msub", "umul", "smul", "umadd", "smadd", "pmul", "umull", "mla", "pclmul")
_CARRIED = ("adc", "sbb", "sbc", "adcx", "adox", "ngc", "rcl", "rcr", "set", "cset", "cinc")
_JUMPS = ("j", "b.", "cb", "tb", "loop", "call", "bl", "br", "b")


@dataclass(frozen=True)
class Line:
    """An instruction of the code at `offset`; registers by their 64-bit (or vector's) names, flags by theirs.

    `kind` is the class that it has whatever it works on: of `asmgen.emit.census.CLASSES`.
    """

    offset: int
    size: int
    code: bytes
    mnemonic: str
    text: str
    kind: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    flags_read: frozenset[str]
    flags_written: frozenset[str]
    memory: bool  #: has a memory operand that is not only an address
    numbers_only: bool  #: reads no register: a constant
    goes: int | None  #: where a jump, branch or call leads
    control: str | None  #: `jump`, `branch`, `call`, `ret`
    row: Row | None

    @property
    def end(self) -> int:
        return self.offset + self.size


def lines(target: str, code: bytes, start: int, end: int) -> Iterator[Line]:
    """The instructions from `start` to `end`, one after the other; what capstone cannot read is one line a byte or
    word."""
    place = start
    while place < end:
        for read in _reader(target).disasm(code[place:end], place):
            yield _line(target, read)
            place = read.address + read.size
        if place < end:
            size = 1 if target == "amd64" else 4
            yield _data(place, code[place : place + size])
            place += size


@cache
def _reader(target: str) -> Any:
    reader = capstone.Cs(*_MODES[target])
    reader.detail = True
    return reader


@cache
def _writer(target: str) -> Any:
    return disassembler(target)


@cache
def _full_names(target: str) -> dict[str, str]:
    """The 64-bit register, or the vector register, that each name is a part of."""
    if target == "amd64":
        names = {name: whole[0].name for name, whole in decode_amd64._REGISTERS.items() if whole[0].name != "rip"}
        names.update({f"{letter}mm{n}": f"xmm{n}" for letter in "xyz" for n in range(16)})
        names.update({"ah": "rax", "bh": "rbx", "ch": "rcx", "dh": "rdx"})
        return names
    names = {name: name for name in (*ARM64_REGISTERS, "sp")}
    names.update({f"w{n}": f"x{n}" for n in range(31)} | {"wsp": "sp", "fp": "x29", "lr": "x30"})
    names.update({f"{letter}{n}": f"v{n}" for letter in "vqdshb" for n in range(32)})
    return names


def _text(target: str, code: bytes, address: int) -> tuple[str, str]:
    for _, _, mnemonic, operands in _writer(target).disasm_lite(code, address):
        return mnemonic, operands
    return "?", ""


_known: dict[tuple[str, bytes], tuple[Row, tuple[Any, ...]] | None] = {}


def _reading(target: str, read: Any) -> tuple[Row, tuple[Any, ...]] | None:
    """The row and operands that an instruction is, if any row describes it."""
    key = (target, bytes(read.bytes))
    if key not in _known:
        _known[key] = None
        for found in _READINGS[target](read):
            _known[key] = _known[key] or found
            if _encoded(found) == key[1]:  # of several the one that is encoded so
                _known[key] = found
                break
    return _known[key]


def _encoded(reading: tuple[Row, tuple[Any, ...]]) -> bytes:
    try:
        return reading[0].encode(reading[1])
    except (
        AsmgenError,
        ArithmeticError,
        LookupError,
        ValueError,
    ):  # capstone's operands may be none that the row encodes
        return b""


_anywhere: dict[tuple[str, bytes], Line] = {}
"""Instructions whose line is the same at every place but for its offset."""


def _line(target: str, read: Any) -> Line:
    code = bytes(read.bytes)
    known = _anywhere.get((target, code))
    if known is not None:
        return replace(known, offset=read.address)
    made = _described(target, read, code)
    if not _tells_place(made):
        _anywhere[target, code] = made
    return made


def _tells_place(line: Line) -> bool:
    """Whether it goes somewhere, or its text holds an address that is reckoned from its own."""
    literal = line.mnemonic.startswith(("ld", "prfm")) and "[" not in line.text
    return line.control is not None or line.mnemonic.startswith("adr") or "rip" in line.text or literal


def _described(target: str, read: Any, code: bytes) -> Line:
    mnemonic, operands = _text(target, code, read.address)
    reading = _reading(target, read)
    if reading is None:
        return _by_capstone(target, read, code, mnemonic, f"{mnemonic} {operands}".rstrip())
    row, given = reading
    instruction = Instruction(row, given)
    goes = None
    if row.control in ("jump", "branch", "call"):
        goes = read.address + next(o for s, o in zip(row.slots, given, strict=True) if s.kind == "label")
    reads = tuple(r.name for r in instruction.read if isinstance(r, Register) and r.number >= 0)
    memory = any(s.kind[0] == "m" for s in row.slots) or "push" in row.mnemonic or "pop" in row.mnemonic
    return Line(
        read.address, read.size, code, mnemonic, f"{mnemonic} {operands}".rstrip(), class_of(row),
        reads, tuple(r.name for r in instruction.written if isinstance(r, Register) and r.number >= 0),
        row.reads, row.flags_touched, memory,
        not reads and not memory and not row.reads, goes, row.control, row,
    )  # fmt: skip


def _by_capstone(target: str, read: Any, code: bytes, mnemonic: str, text: str) -> Line:
    full = _full_names(target)
    touched = [[read.reg_name(each) for each in group] for group in read.regs_access()]
    reads, writes = (tuple(dict.fromkeys(full[name] for name in group if name in full)) for group in touched)
    flags = [
        frozenset({"flags"}) if {"rflags", "eflags", "nzcv"} & set(group) else frozenset[str]() for group in touched
    ]
    kind = capstone.x86.X86_OP_MEM if target == "amd64" else capstone.arm64.ARM64_OP_MEM
    immediate = capstone.x86.X86_OP_IMM if target == "amd64" else capstone.arm64.ARM64_OP_IMM
    memory = any(operand.type == kind for operand in read.operands) and not mnemonic.startswith(("lea", "nop", "prfm"))
    control = _control(mnemonic)
    goes = None
    if control in ("jump", "branch", "call"):
        goes = next((o.imm for o in read.operands if o.type == immediate), None)
    return Line(
        read.address, read.size, code, mnemonic, text, _class(mnemonic, read, control, memory, kind),
        reads, writes, flags[0], flags[1], memory,
        not reads and not memory and not flags[0] and not control, goes, control, None,
    )  # fmt: skip


def _control(mnemonic: str) -> str | None:
    name = mnemonic.removesuffix("q")
    if name.startswith("ret"):
        return "ret"
    if name in ("call", "bl", "blr"):
        return "call"
    if name in ("jmp", "b", "br"):
        return "jump"
    if name.startswith(("j", "b.", "cbz", "cbnz", "tbz", "tbnz", "loop")):
        return "branch"
    return None


def _class(mnemonic: str, read: Any, control: str | None, memory: bool, kind: int) -> str:
    """The class of an instruction that no row describes."""
    if control:
        return "branches"
    if mnemonic.startswith(("nop", "endbr", "bti", "hint", "xchg")):
        return "marks"
    if mnemonic.startswith(_PRODUCTS):
        return "products"
    if mnemonic.startswith(_CARRIED):
        return "with carry"
    if memory and mnemonic.startswith(("mov", "ld", "st", "lda", "pop", "push")):
        place = next(index for index, operand in enumerate(read.operands) if operand.type == kind)
        stores = mnemonic.startswith("st") or (place == 0 and not mnemonic.startswith("ld"))
        return "stores" if stores else "loads"
    if mnemonic.startswith(("mov", "fmov", "dup", "ins", "umov")):
        return "moves"
    return "other"


def _data(place: int, code: bytes) -> Line:
    """Bytes that are no instruction."""
    none = frozenset[str]()
    return Line(place, len(code), code, "?", f".byte {code.hex(' ')}", "marks", (), (), none, none, False, False, None,
                None, None)  # fmt: skip


def register_names(target: str) -> tuple[str, ...]:
    """All registers whose values lines read and write, the stack pointer among them, without vectors."""
    return AMD64_REGISTERS if target == "amd64" else (*ARM64_REGISTERS, "sp")


def is_padding(line: Line) -> bool:
    """Whether the line only fills up to an alignment."""
    return line.mnemonic.startswith(("nop", "xchg", "int3", "udf", "?")) or line.text in ("data16 nop",)
