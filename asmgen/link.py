"""A program's routine with all that it calls, in one piece of code with its calls filled in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from asmgen.errors import AsmgenError
from asmgen.function import Function
from asmgen.passes import Options, compile_kernel
from asmgen.program import closure
from asmgen.routine import Code
from asmgen.targets.assemble import assemble

#: Routines start at multiples of so many bytes, as in the emitted files.
_ALIGNMENT = 32


@dataclass(frozen=True)
class Image:
    """Machine code of several routines; `entries` are their places in bytes from the start, by symbol."""

    code: bytes
    entries: Mapping[str, int]


def routines(function: Function, options: Options) -> list[Code]:
    """The routine of a kernel or program, then those that it calls, directly or not."""
    return [compile_kernel(each, options) for each in closure([function])]


def link(codes: Sequence[Code], pieces: Mapping[str, bytes] | None = None) -> Image:
    """The routines one after another in their order.

    `pieces` are their bytes by symbol from another assembler, with calls still open; ours by default. Raises
    AsmgenError for a call of a routine that is not among them.
    """
    entries: dict[str, int] = {}
    image = bytearray()
    made = [assemble(code.items) for code in codes]
    for code, assembled in zip(codes, made, strict=True):
        image += bytes(-len(image) % _ALIGNMENT)
        symbol = code.signature.symbol
        entries[symbol] = len(image)
        image += assembled.code if pieces is None else pieces[symbol]
    for code, assembled in zip(codes, made, strict=True):
        for offset, symbol, _ in assembled.relocations:
            if symbol not in entries:
                raise AsmgenError(f"{code.signature.symbol} calls {symbol}, which is not there")
            place = entries[code.signature.symbol] + offset
            _CALLS[code.target](image, place, entries[symbol] - place)
    return Image(bytes(image), entries)


def _amd64(image: bytearray, place: int, distance: int) -> None:
    """call: an opcode, then the distance from behind the instruction."""
    image[place + 1 : place + 5] = (distance - 5).to_bytes(4, "little", signed=True)


def _arm64(image: bytearray, place: int, distance: int) -> None:
    """bl: the distance in words in the low 26 bits."""
    word = int.from_bytes(image[place : place + 4], "little") & 0xFC000000
    image[place : place + 4] = (word | distance // 4 & 0x3FFFFFF).to_bytes(4, "little")


_CALLS: Mapping[str, Callable[[bytearray, int, int], None]] = {"amd64": _amd64, "arm64": _arm64}
