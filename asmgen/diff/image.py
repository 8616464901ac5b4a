"""Other people's object code, laid out so that it can be called: the sections a function needs, relocations applied.

The image is read and executed at a fixed address; nothing in it can be written. Symbols that no file given here
defines may be called, but whoever gets there is stopped at a trap; their data cannot be had.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from asmgen import elf
from asmgen.errors import AsmgenError, nearest
from emulate.driver import CODE

#: Sections start at multiples of so many bytes, which no alignment inside of them exceeds.
_ALIGNMENT = 64
_TRAP = {"amd64": b"\x0f\x0b\x90\x90", "arm64": b"\0\0\0\0"}  # ud2, udf
_CALLS = ("PLT32", "CALL26", "JUMP26")
_GOT = ("GOTPCREL", "GOTPCRELX", "REX_GOTPCRELX", "ADR_GOT_PAGE", "LD64_GOT_LO12_NC")
#: Bytes of addresses as such, by relocation.
_ABSOLUTE = {"64": 8, "32": 4, "32S": 4, "ABS64": 8, "ABS32": 4}
#: Log2 of the unit in which the low twelve bits of an address stand in a load or store.
_SCALES = {
    "ADD_ABS_LO12_NC": 0, "LDST8_ABS_LO12_NC": 0, "284": 1, "285": 2, "LDST64_ABS_LO12_NC": 3, "286": 3,
    "LDST128_ABS_LO12_NC": 4, "LD64_GOT_LO12_NC": 3,
}  # fmt: skip
_MOST_LISTED = 12


@dataclass(frozen=True)
class Image:
    """Machine code with what it reads. `functions` are (start, end, name) in order; `absent` the traps by place;
    `fixups` are (place, bytes) of the addresses in it, which change when it is put elsewhere."""

    target: str
    code: bytes
    entry: int
    functions: tuple[tuple[int, int, str], ...]
    absent: dict[int, str]
    fixups: tuple[tuple[int, int], ...] = ()


def load(
    path: Path, symbol: str, features: Collection[str] = (), known: Mapping[str, bytes] = MappingProxyType({})
) -> Image:
    """A function in an object, a shared object or an archive, with everything that it can reach there.

    `features` answer what code asks of the CPU, `known` is what data of other libraries holds. Raises AsmgenError for a
    symbol that is not there, with those that are, and for relocations that nothing here can fill.
    """
    objects = _Objects(path)
    return link(objects, symbol, str(path), features, known)


class _Objects:
    """The objects of a file; those of an archive are parsed when a name is looked for in them."""

    def __init__(self, path: Path | None, parsed: Sequence[elf.Object] = ()) -> None:
        self._parsed = {each.file: each for each in parsed}
        self._bodies: list[tuple[str, bytes]] = []
        if path is not None:
            try:
                data = path.read_bytes()
            except OSError as error:
                raise AsmgenError(f"{path}: {error.strerror}", hint="FILE:symbol names a file that is there") from error
            if data.startswith(b"!<arch>\n"):
                self._bodies = [
                    (f"{path}({n})", body) for n, body in elf.members(data, str(path)) if body[:4] == b"\x7fELF"
                ]
            else:
                self._bodies = [(str(path), data)]

    def with_name(self, name: str) -> Iterator[elf.Object]:
        """Objects in which the name occurs."""
        yield from self._parsed.values() if not self._bodies else ()
        mark = name.encode() + b"\0"
        for file, body in self._bodies:
            if mark in body:
                yield self._object(file, body)

    def function_names(self) -> list[str]:
        """All functions that can be named."""
        every = [self._object(file, body) for file, body in self._bodies] or list(self._parsed.values())
        return sorted({name for each in every for name in each.functions()})

    def _object(self, file: str, body: bytes) -> elf.Object:
        if file not in self._parsed:
            self._parsed[file] = elf.read(body, file)
        return self._parsed[file]


def from_bytes(
    data: bytes,
    file: str,
    symbol: str,
    features: Collection[str] = (),
    known: Mapping[str, bytes] = MappingProxyType({}),
) -> Image:
    """The same of an object in memory; `file` is its name for messages."""
    return link(_Objects(None, [elf.read(data, file)]), symbol, file, features, known)


def link(
    objects: _Objects,
    symbol: str,
    file: str,
    features: Collection[str],
    known: Mapping[str, bytes] = MappingProxyType({}),
) -> Image:
    """Lay out what the function can reach and fill in its relocations."""
    for where in objects.with_name(symbol):
        function = where.functions().get(symbol)
        if function is not None:
            return _Linker(objects, features, known).link(where, symbol)
    names = objects.function_names()
    close = nearest(symbol, names)
    listed = ", ".join(names[:_MOST_LISTED]) + (
        f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    )
    raise AsmgenError(
        f"{file} has no function {symbol}",
        hint=(f"did you mean {close}? " if close else "") + f"there are: {listed or 'none'}",
    )


class _Linker:
    def __init__(self, objects: _Objects, features: Collection[str], known: Mapping[str, bytes]) -> None:
        self.objects = objects
        self.known_data = {**_cpu_words(features), **known}
        self.code = bytearray()
        self.places: dict[tuple[str, int], int] = {}  # of sections
        self.extra: dict[str, int] = {}  # of what is made here: traps, data that is known, table entries
        self.absent: dict[int, str] = {}
        self.functions: list[tuple[int, int, str]] = []
        self.pending: list[tuple[elf.Object, int]] = []
        self.fixups: list[tuple[int, int]] = []
        self.target = ""

    def link(self, where: elf.Object, symbol: str) -> Image:
        self.target = where.machine
        entry = next(s for s in where.symbols if s.name == symbol and s.section is not None)
        start = self._address(where, entry) - CODE
        while self.pending:
            place, number = self.pending.pop(0)
            self._fill(place, number)
        functions, fixups = tuple(sorted(self.functions)), tuple(sorted(self.fixups))
        return Image(self.target, bytes(self.code), start, functions, self.absent, fixups)

    def _append(self, data: bytes, alignment: int = _ALIGNMENT) -> int:
        self.code += bytes(-len(self.code) % alignment)
        start = len(self.code)
        self.code += data
        return start

    def _address(self, where: elf.Object, symbol: elf.Symbol) -> int:
        """The address of a symbol that its object defines; its section comes along."""
        assert symbol.section is not None
        key = (where.file, symbol.section)
        section = where.sections[symbol.section]
        if where.kind != "relocatable":
            raise AsmgenError(
                f"{where.file} is {'a shared object' if where.kind == 'shared' else 'a program'}",
                hint="give the object or the static library it was linked from",
            )
        if key not in self.places:
            if not section.data:
                raise AsmgenError(
                    f"{where.file}: {symbol.name or section.name} lies in {section.name}, which is filled at run time",
                    hint="take a function that does not use variables",
                )
            self.places[key] = start = self._append(section.data)
            self.pending.append((where, symbol.section))
            for name, function in where.functions().items():
                if function.section == section.name and self._same_section(where, name, symbol.section):
                    self.functions.append(
                        (start + function.address, start + function.address + len(function.code), name)
                    )
        return CODE + self.places[key] + symbol.value

    @staticmethod
    def _same_section(where: elf.Object, name: str, number: int) -> bool:
        return any(symbol.name == name and symbol.section == number for symbol in where.symbols)

    def _fill(self, where: elf.Object, number: int) -> None:
        start = self.places[where.file, number]
        for relocation in where.relocations(number):
            apply = {"amd64": _amd64, "arm64": _arm64}[self.target]
            address = self._resolve(where, relocation, called=self._is_call(start + relocation.offset, relocation.kind))
            if relocation.kind in _GOT:
                address = self._entry(address)
            if not apply(self.code, start + relocation.offset, relocation.kind, address, relocation.addend):
                raise AsmgenError(
                    f"{where.file}: relocation {relocation.kind} against {relocation.symbol} is not known here",
                    hint="compile it without -fPIC, thread-local variables and -mcmodel",
                )
            if relocation.kind in _ABSOLUTE:
                self.fixups.append((start + relocation.offset, _ABSOLUTE[relocation.kind]))

    def _is_call(self, place: int, kind: str) -> bool:
        """Whether a relocation is for a call or a jump; amd64's PC32 is for data as well."""
        if kind == "PC32":
            return self.code[place - 1] in (0xE8, 0xE9)  # call, jmp
        return kind in _CALLS

    def _resolve(self, where: elf.Object, relocation: elf.Relocation, *, called: bool) -> int:
        """The address that a relocation's symbol has."""
        name = relocation.symbol
        here = [symbol for symbol in where.symbols if symbol.section is not None and _name(where, symbol) == name]
        if here:
            return self._address(where, here[0])
        if name in self.known_data:
            if name not in self.extra:
                self.extra[name] = self._append(self.known_data[name])
            return CODE + self.extra[name]
        for other in self.objects.with_name(name):
            for symbol in other.symbols:
                if symbol.name == name and symbol.section is not None and symbol.binding != "local":
                    return self._address(other, symbol)
        if not called:
            raise AsmgenError(
                f"{where.file} needs {name}, which is data of another library ({relocation.kind})",
                hint="give the archive that defines it, or an object linked with it by ld -r",
            )
        if name not in self.extra:
            self.extra[name] = self._append(_TRAP[self.target])
            self.absent[self.extra[name]] = name
        return CODE + self.extra[name]

    def _entry(self, address: int) -> int:
        """The address of a word that holds an address."""
        name = f"&{address}"
        if name not in self.extra:
            self.extra[name] = self._append(address.to_bytes(8, "little"), 8)
            self.fixups.append((self.extra[name], 8))
        return CODE + self.extra[name]


def _name(where: elf.Object, symbol: elf.Symbol) -> str:
    return symbol.name or (where.sections[symbol.section].name if symbol.section is not None else "")


def _cpu_words(features: Collection[str]) -> dict[str, bytes]:
    """What libraries keep of CPUID: OpenSSL's words, of which the third has leaf 7's EBX (BMI2 bit 8, ADX bit 19)."""
    leaf7 = ("bmi2" in features) << 8 | ("adx" in features) << 19
    return {"OPENSSL_ia32cap_P": struct.pack("<IIII", 0, 0, leaf7, 0), "OPENSSL_armcap_P": bytes(16)}


def _amd64(code: bytearray, place: int, kind: str, symbol: int, addend: int) -> bool:
    """Put the value of a relocation at a place of the image."""
    here = CODE + place
    if kind in ("PC32", "PLT32", "GOTPCREL", "GOTPCRELX", "REX_GOTPCRELX"):
        code[place : place + 4] = (symbol + addend - here).to_bytes(4, "little", signed=True)
    elif kind in ("32", "32S"):
        code[place : place + 4] = (symbol + addend).to_bytes(4, "little")
    elif kind in ("64", "PC64"):
        value = symbol + addend - (here if kind == "PC64" else 0)
        code[place : place + 8] = (value % 2**64).to_bytes(8, "little")
    else:
        return False
    return True


def _arm64(code: bytearray, place: int, kind: str, symbol: int, addend: int) -> bool:
    """Put the value of a relocation at a place of the image."""
    here, value = CODE + place, symbol + addend
    word = int.from_bytes(code[place : place + 4], "little")
    if kind in ("CALL26", "JUMP26"):
        word = word & 0xFC000000 | (value - here) // 4 & 0x3FFFFFF
    elif kind in ("ADR_PREL_PG_HI21", "ADR_GOT_PAGE", "ADR_PREL_LO21"):
        distance = value - here if kind == "ADR_PREL_LO21" else (value >> 12) - (here >> 12)
        word = word & 0x9F00001F | (distance & 3) << 29 | (distance >> 2 & 0x7FFFF) << 5
    elif kind in _SCALES:
        word = word & 0xFFC003FF | ((value & 0xFFF) >> _SCALES[kind]) << 10
    elif kind in ("ABS64", "PREL64", "ABS32", "PREL32"):
        size = 8 if kind.endswith("64") else 4
        value -= here if kind.startswith("PREL") else 0
        code[place : place + size] = (value % 2 ** (8 * size)).to_bytes(size, "little")
        return True
    else:
        return False
    code[place : place + 4] = word.to_bytes(4, "little")
    return True
