"""The ELF reader on objects made here byte by byte, on those of compilers, and on damaged ones."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from asmgen import assemblers, elf, tools
from asmgen.errors import AsmgenError

SEED = 20260401
TEXT, EXECUTABLE = bytes(range(1, 49)), 6
CALL_26 = 283


def strings(*names: str) -> tuple[bytes, dict[str, int]]:
    table, places = b"\0", {}
    for name in names:
        places[name] = len(table)
        table += name.encode() + b"\0"
    return table, places


def tiny(kind: int = 1, machine: int = 183, address: int = 0) -> bytes:
    """48 bytes of code: `first` with a size, `second` and `third` without, a mark, a relocation in `second`."""
    names, name = strings("", ".text", ".rela.text", ".symtab", ".strtab")
    symbol_names, at = strings("first", "second", "$x", "third", "away")
    symbols = [
        (0, 0, 0, 0, 0, 0),
        (at["$x"], 0, 0, 1, address, 0),
        (at["second"], 1 << 4, 0, 1, address + 16, 0),
        (at["first"], 1 << 4 | 2, 2, 1, address, 12),
        (at["third"], 2, 0, 1, address + 40, 0),
        (at["away"], 1 << 4, 0, 0, 0, 0),
    ]
    bodies = [
        (0, 0, 0, b"", 0, 0, 0),
        (name[".text"], 1, EXECUTABLE, TEXT, 0, 0, 0),
        (name[".rela.text"], 4, 0, struct.pack("<QQq", 20, 5 << 32 | CALL_26, -4), 3, 1, 24),
        (name[".symtab"], 2, 0, b"".join(struct.pack("<IBBHQQ", *symbol) for symbol in symbols), 4, 0, 24),
        (name[".strtab"], 3, 0, symbol_names + names, 0, 0, 0),
    ]
    # Section names and symbol names share one table: the former come after the latter.
    shift = len(symbol_names)
    place, heads, data = 64, b"", b""
    for title, type_, flags, body, link, info, entry in bodies:
        here = address if type_ == 1 else 0
        heads += struct.pack("<IIQQQQIIQQ", title + shift, type_, flags, here, place, len(body), link, info, 1, entry)
        data += body
        place += len(body)
    head = struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, 0, 0, place, 0, 64, 0, 0, 64, 5, 4)
    return b"\x7fELF\2\1\1" + bytes(9) + head + data + heads


def archive(*members: tuple[bytes, bytes]) -> bytes:
    out = b"!<arch>\n"
    for name, body in members:
        out += name.ljust(16) + b"0".ljust(12) + b"0".ljust(6) * 2 + b"644".ljust(8) + str(len(body)).encode().ljust(10)
        out += b"`\n" + body + b"\n" * (len(body) % 2)
    return out


@pytest.mark.parametrize("kind, address", [(1, 0), (2, 0x400000), (3, 0x1000)])
def test_functions_have_their_bytes_and_relocations(kind: int, address: int) -> None:
    found = elf.read(tiny(kind, address=address), "tiny.o")
    assert (found.machine, found.kind) == ("arm64", {1: "relocatable", 2: "executable", 3: "shared"}[kind])
    functions = found.functions()
    assert list(functions) == ["first", "second", "third"]
    assert functions["first"].code == TEXT[:12] and functions["first"].hidden
    assert functions["second"].code == TEXT[16:40], "no size: to the next function"
    assert functions["third"].code == TEXT[40:], "no size: to the section's end"
    assert functions["third"].binding == "local" and functions["first"].binding == "global"
    assert functions["second"].address == address + 16
    wanted = (elf.Relocation(4, "CALL26", "away", -4),) if kind == 1 else ()
    assert functions["second"].relocations == wanted
    assert functions["first"].relocations == ()
    section = found.section(".text")
    assert section is not None and section.data == TEXT and found.section(".data") is None


def test_archives_have_members_with_long_names() -> None:
    long_names = b"a_very_long_member_name.o/\n"
    data = archive((b"/", b"index"), (b"//", long_names), (b"one.o/", tiny()), (b"/0", tiny(machine=62)),
                   (b"#1/8", b"bsd.o\0\0\0" + b"text"))  # fmt: skip
    names = [name for name, _ in elf.members(data, "lib.a")]
    assert names == ["one.o", "a_very_long_member_name.o", "bsd.o"]


def test_a_file_is_one_object_or_the_objects_of_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "lib.a"
    path.write_bytes(archive((b"one.o/", tiny()), (b"note.txt/", b"no object")))
    assert [each.file for each in elf.read_file(path)] == [f"{path}(one.o)"]
    path.write_bytes(tiny())
    assert [each.file for each in elf.read_file(path)] == [str(path)]
    with pytest.raises(AsmgenError, match="No such file"):
        elf.read_file(tmp_path / "none.o")


RELOCATION = struct.pack("<QQq", 20, 5 << 32 | CALL_26, -4)
FIRST = struct.pack("<BBHQQ", 18, 2, 1, 0, 12)


@pytest.mark.parametrize(
    "data, said",
    [
        (b"", "not an ELF file"),
        (b"\x7fELF", "cut off"),
        (b"\xcf\xfa\xed\xfe" + bytes(100), "a Mach-O file"),
        (b"MZ" + bytes(100), "a Windows program"),
        (tiny()[:4] + b"\1" + tiny()[5:], "not a 64-bit"),
        (tiny(machine=3), "machine 3"),
        (tiny()[:-1], "section table lies outside"),
        (tiny()[:40] + bytes(8) + tiny()[48:], "without a section table"),
        (tiny().replace(RELOCATION, struct.pack("<QQq", 20, 9 << 32, 0)), "symbol 9 of 6"),
        (tiny().replace(FIRST, struct.pack("<BBHQQ", 18, 2, 1, 0, 99)), "first outside"),
        (tiny().replace(FIRST, struct.pack("<BBHQQ", 18, 2, 77, 0, 12)), "section 77 of 5"),
    ],
)
def test_what_does_not_add_up_is_said(data: bytes, said: str) -> None:
    with pytest.raises(AsmgenError, match=said) as caught:
        elf.read(data, "file.o").functions()
    assert caught.value.what.startswith("file.o: ")


@pytest.mark.parametrize(
    "data, said",
    [
        (b"!<thin>\n", "thin archive"),
        (b"!<arch>\n" + bytes(60), "broken member header at byte 8"),
        (archive((b"a.o/", bytes(10)))[:-3], "cut off in member a.o"),
    ],
)
def test_broken_archives_are_said(data: bytes, said: str) -> None:
    with pytest.raises(AsmgenError, match=said):
        list(elf.members(data, "lib.a"))


def test_damage_never_ends_in_anything_but_our_error() -> None:
    whole = tiny()
    random_ = random.Random(SEED)
    refused = 0
    for trial in range(20000):
        damaged = bytearray(whole[: random_.randrange(len(whole))] if trial % 4 == 0 else whole)
        for _ in range(random_.randrange(1, 5)):
            if damaged:
                damaged[random_.randrange(len(damaged))] = random_.choice([0, 1, 0x7F, 0xFF, random_.randrange(256)])
        try:
            elf.read(bytes(damaged), "damaged.o").functions()
        except AsmgenError:
            refused += 1
    assert 5000 < refused < 20000, SEED


C = "extern int away(int);\nint outer(int x) { return away(2 * x) + 1; }\n"


@pytest.mark.parametrize("target", assemblers.TARGETS)
def test_objects_of_compilers(target: str, tmp_path: Path) -> None:
    compilers = [each for each in assemblers.available(target) if isinstance(each, assemblers.Driver)]
    if not compilers:
        pytest.skip("; ".join(assemblers.missing(target)))
    (tmp_path / "source.c").write_text(C)
    for compiler in compilers:
        if len(compiler.commands) > 1:
            continue  # an assembler alone
        command = [word.replace("source.S", "source.c") for word in compiler.commands[0]]
        assert tools.run([*command, "-O1", "-ffunction-sections"], tmp_path).status == 0
        functions = elf.read_file(tmp_path / "out.o")[0].functions()
        outer = functions["outer"]
        assert outer.section == ".text.outer" and len(outer.code) >= 12
        assert [(r.kind, r.symbol) for r in outer.relocations] == [
            ("PLT32" if target == "amd64" else "CALL26", "away")
        ], compiler.name
