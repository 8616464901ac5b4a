"""A reader of ELF64 objects, shared objects and `ar` archives: sections, symbols, relocations, functions, their bytes.

Files come from assemblers, compilers and strangers, so every offset and size is checked before it is used; whatever
does not add up is an `AsmgenError` that names the file. Written from the System V ABI's ELF chapters and its
supplements for AMD64 and AArch64.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from asmgen.errors import AsmgenError

_MACHINES = {62: "amd64", 183: "arm64"}
_KINDS = {1: "relocatable", 2: "executable", 3: "shared"}
_BINDINGS = {0: "local", 1: "global", 2: "weak"}
_SYMTAB, _STRTAB, _RELA, _NOBITS, _REL, _DYNSYM = 2, 3, 4, 8, 9, 11
_SPECIAL_SECTIONS = 0xFF00  # section numbers from here on have a meaning of their own
_EXECUTABLE = 4
_FUNCTION, _NO_TYPE = 2, 0
_LARGEST = 1 << 30

#: Relocation types by machine and number; those not named here are shown by number.
RELOCATIONS = {
    "amd64": {1: "64", 2: "PC32", 4: "PLT32", 9: "GOTPCREL", 10: "32", 11: "32S", 24: "PC64", 41: "GOTPCRELX",
              42: "REX_GOTPCRELX"},
    "arm64": {257: "ABS64", 258: "ABS32", 260: "PREL64", 261: "PREL32", 274: "ADR_PREL_LO21", 275: "ADR_PREL_PG_HI21",
              277: "ADD_ABS_LO12_NC", 278: "LDST8_ABS_LO12_NC", 280: "CONDBR19", 282: "JUMP26", 283: "CALL26",
              286: "LDST64_ABS_LO12_NC", 299: "LDST128_ABS_LO12_NC", 311: "ADR_GOT_PAGE", 312: "LD64_GOT_LO12_NC"},
}


@dataclass(frozen=True)
class Section:
    """A section: `data` is empty for those that take no room in the file."""

    name: str
    kind: int  #: sh_type
    flags: int
    address: int
    data: bytes
    link: int
    info: int


@dataclass(frozen=True)
class Symbol:
    """A name for a place: `value` is an offset in its section in relocatable files, an address in others.

    `section` is the index of the section, None when the symbol is not defined here.
    """

    name: str
    value: int
    size: int
    binding: str
    kind: int  #: the ELF type: 1 an object, 2 a function, 3 a section
    hidden: bool
    section: int | None


@dataclass(frozen=True)
class Relocation:
    """What the linker is to put at `offset`, counted from the start of the function or section that this belongs to."""

    offset: int
    kind: str
    symbol: str
    addend: int


@dataclass(frozen=True)
class Function:
    """A function's machine code as it stands in the file, with what the linker has yet to fill in."""

    name: str
    code: bytes
    address: int
    section: str
    binding: str
    hidden: bool
    relocations: tuple[Relocation, ...] = ()


@dataclass(frozen=True)
class Object:
    """A parsed file: `machine` is `amd64` or `arm64`, `kind` is `relocatable`, `executable` or `shared`."""

    file: str
    machine: str
    kind: str
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]

    def section(self, name: str) -> Section | None:
        """The first section of this name."""
        return next((section for section in self.sections if section.name == name), None)

    def functions(self) -> dict[str, Function]:
        """Functions by name, in the order of their places; of equal local names the first.

        A function is a symbol of that type, or a global one without a type, in an executable section. It ends after the
        symbol's size; without one, at the next function of the section or with the section.
        """
        found: dict[str, Function] = {}
        for number, section in enumerate(self.sections):
            if not section.flags & _EXECUTABLE:
                continue
            here = sorted((s for s in self.symbols if _is_function(s, number)), key=lambda s: (s.value, s.name))
            starts = sorted({symbol.value - section.address for symbol in here}) + [len(section.data)]
            relocations = sorted(self.relocations(number), key=lambda relocation: relocation.offset)
            places = [relocation.offset for relocation in relocations]
            for symbol in here:
                start = symbol.value - section.address
                end = start + symbol.size if symbol.size else starts[bisect_right(starts, start, hi=len(starts) - 1)]
                if not 0 <= start <= end <= len(section.data):
                    raise _malformed(self.file, f"with {symbol.name} outside of its section {section.name}")
                inside = relocations[bisect_left(places, start) : bisect_left(places, end)]
                function = Function(
                    name=symbol.name,
                    code=section.data[start:end],
                    address=symbol.value,
                    section=section.name,
                    binding=symbol.binding,
                    hidden=symbol.hidden,
                    relocations=tuple(replace(r, offset=r.offset - start) for r in inside),
                )
                found.setdefault(symbol.name, function)
        return found

    def relocations(self, number: int) -> Iterator[Relocation]:
        """Relocations that apply to a section, with offsets in it."""
        for table in self.sections:
            if table.kind not in (_RELA, _REL) or table.info != number or self.kind != "relocatable":
                continue
            for entry in _entries(self, table, "<QQq" if table.kind == _RELA else "<QQ"):
                index, kind = entry[1] >> 32, entry[1] & 0xFFFFFFFF
                if index >= len(self.symbols):
                    raise _malformed(self.file, f"with a relocation to symbol {index} of {len(self.symbols)}")
                name = RELOCATIONS[self.machine].get(kind, str(kind))
                addend = entry[2] if table.kind == _RELA else 0
                yield Relocation(entry[0], name, self._symbol_name(self.symbols[index]), addend)

    def _symbol_name(self, symbol: Symbol) -> str:
        """The symbol's name; a section's own symbol has none and goes by the section's."""
        return symbol.name or (self.sections[symbol.section].name if symbol.section is not None else "")


def _is_function(symbol: Symbol, section: int) -> bool:
    """Whether the symbol is a function of this section. Local ones without a type are marks, such as arm64's `$x`."""
    typed = symbol.kind == _FUNCTION or (symbol.kind == _NO_TYPE and symbol.binding != "local")
    return typed and symbol.section == section and symbol.name != ""


def read(data: bytes, file: str) -> Object:
    """Parse an ELF64 little-endian file for amd64 or arm64; `file` is its name for messages."""
    if data[:4] != b"\x7fELF":
        raise _malformed(file, _what_else(data))
    if len(data) < 64 or data[4] != 2 or data[5] != 1:
        raise _malformed(file, "not a 64-bit little-endian file" if len(data) >= 64 else "cut off in its header")
    kind, machine = struct.unpack_from("<HH", data, 16)
    if machine not in _MACHINES or kind not in _KINDS:
        raise _malformed(file, f"of machine {machine} and type {kind}, neither amd64 nor arm64 code")
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    if table == 0 or count == 0:
        raise _malformed(file, "without a section table (stripped of it, or of more than 65,279 sections)")
    if size != 64 or table + 64 * count > len(data) or names >= count:
        raise _malformed(file, "cut off: its section table lies outside of it")
    heads = [struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * number) for number in range(count)]
    bodies = [_body(data, head, file) for head in heads]
    sections = tuple(
        Section(_string(bodies[names], head[0], file), head[1], head[2], head[3], body, head[6], head[7])
        for head, body in zip(heads, bodies, strict=True)
    )
    bare = Object(file, _MACHINES[machine], _KINDS[kind], sections, ())
    tables = [s for s in sections if s.kind == _SYMTAB] or [s for s in sections if s.kind == _DYNSYM]
    return Object(file, bare.machine, bare.kind, sections, tuple(_symbols(bare, tables[0])) if tables else ())


def read_file(path: Path) -> list[Object]:
    """The objects in a file: one, or the ELF members of a `.a` archive (others in it are passed over)."""
    try:
        if path.stat().st_size > _LARGEST:
            raise AsmgenError(f"{path}: larger than 1 GiB", hint="take the object with the function out of it first")
        data = path.read_bytes()
    except OSError as error:
        raise AsmgenError(f"{path}: {error.strerror}") from error
    if data.startswith(b"!<arch>\n"):
        return [read(body, f"{path}({name})") for name, body in members(data, str(path)) if body[:4] == b"\x7fELF"]
    return [read(data, str(path))]


def members(data: bytes, file: str) -> Iterator[tuple[str, bytes]]:
    """(name, content) of an archive's members, with the long names of GNU and BSD; the symbol index is left out."""
    if data.startswith(b"!<thin>\n"):
        raise _malformed(file, "a thin archive, which holds no code")
    if not data.startswith(b"!<arch>\n"):
        raise _malformed(file, "not an archive")
    place, long_names = 8, b""
    while place < len(data):
        head = data[place : place + 60]
        if len(head) < 60 or head[58:] != b"`\n" or not head[48:58].strip().isdigit():
            raise _malformed(file, f"an archive with a broken member header at byte {place}")
        name, size = head[:16].rstrip(), int(head[48:58])
        body = data[place + 60 : place + 60 + size]
        if len(body) != size:
            raise _malformed(file, f"an archive cut off in member {name.decode(errors='replace')}")
        place += 60 + size + size % 2
        if name == b"//":
            long_names = body
        elif name.startswith(b"#1/") and name[3:].isdigit():
            length = int(name[3:])
            name, body = body[:length].rstrip(b"\0"), body[length:]
        elif name[:1] == b"/" and name[1:].isdigit():
            name = long_names[int(name[1:]) :].split(b"/\n")[0]
        if name not in (b"/", b"//", b"/SYM64/", b"__.SYMDEF", b"__.SYMDEF SORTED"):
            yield name.rstrip(b"/").decode(errors="replace"), body


def _malformed(file: str, what: str) -> AsmgenError:
    return AsmgenError(f"{file}: {what}", hint="give an ELF object, shared object or archive for amd64 or arm64")


_OTHERS = {
    b"\xcf\xfa\xed\xfe": "a Mach-O file",
    b"!<arch>\n": "an archive",
    b"MZ": "a Windows program",
    b"BC\xc0\xde": "LLVM bitcode",
    b"\x64\x86": "a COFF object",
    b"\x64\xaa": "a COFF object",
}


def _what_else(data: bytes) -> str:
    """What a file without the ELF mark seems to be."""
    other = next((f"{name}, " for mark, name in _OTHERS.items() if data.startswith(mark)), "")
    return f"{other}not an ELF file"


def _body(data: bytes, head: tuple[int, ...], file: str) -> bytes:
    """A section's content, checked to lie in the file."""
    kind, offset, size = head[1], head[4], head[5]
    if kind in (0, _NOBITS):
        return b""
    if offset + size > len(data):
        raise _malformed(file, "cut off: a section lies outside of it")
    return data[offset : offset + size]


def _string(table: bytes, offset: int, file: str) -> str:
    """The zero-terminated string at an offset of a string table."""
    end = table.find(b"\0", offset)
    if end < 0:
        raise _malformed(file, "with a name that lies outside of its string table")
    return table[offset:end].decode(errors="replace")


def _entries(where: Object, table: Section, layout: str) -> Iterator[tuple[int, ...]]:
    """The records of a table section."""
    if len(table.data) % struct.calcsize(layout):
        raise _malformed(where.file, f"with a broken table {table.name}")
    return struct.iter_unpack(layout, table.data)


def _symbols(where: Object, table: Section) -> Iterator[Symbol]:
    if table.link >= len(where.sections) or where.sections[table.link].kind != _STRTAB:
        raise _malformed(where.file, "with a symbol table that has no names")
    strings = where.sections[table.link].data
    for name, info, other, section, value, size in _entries(where, table, "<IBBHQQ"):
        defined = 0 < section < _SPECIAL_SECTIONS
        if defined and section >= len(where.sections):
            raise _malformed(where.file, f"with a symbol in section {section} of {len(where.sections)}")
        yield Symbol(
            name=_string(strings, name, where.file) if name else "",
            value=value,
            size=size,
            binding=_BINDINGS.get(info >> 4, str(info >> 4)),
            kind=info & 15,
            hidden=other & 3 in (1, 2),
            section=section if defined else None,
        )
