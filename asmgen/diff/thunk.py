"""A few instructions between the caller and somebody's routine: its arguments in its order, x18 kept for us."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from asmgen.diff.body import Body
from asmgen.errors import UsageError
from asmgen.targets.conventions import convention
from emulate.encode import AMD64_REGISTERS

#: An argument of the routine: the number of the caller's argument, or a constant in a tuple.
Argument = int | tuple[int]

_SCRATCH = range(9, 16)  # arm64 registers that pass nothing


def wrapped(body: Body, arguments: Sequence[Argument] | None = None) -> Body:
    """The body called through a thunk, where it needs one: for another order of arguments, or because it uses x18.

    Our own code leaves x18 to the platform; compilers for Linux do not, and are compared all the same.
    """
    count = len(body.signature.parameters)
    order = list(range(count)) if arguments is None else list(arguments)
    foreign = body.target == "arm64" and any("x18" in line.writes for line in body.lines.values())
    moved = order != list(range(count))
    if not moved and not foreign:
        return body
    registers = convention(None, body.target).arguments
    if moved and max(len(order), count) > (6 if body.target == "amd64" else len(_SCRATCH)):
        raise UsageError("--layout is for functions whose arguments are all in registers", hint="leave it out")
    place = -(-len(body.code) // 16) * 16
    if body.target == "amd64":
        code = _amd64(order, registers, place, body.entry)
    else:
        code = _arm64(order if moved else [], max(0, count - len(registers)), place, body.entry)
    made = replace(body, code=body.code.ljust(place, b"\0") + code, entry=place, start=body.entry, thunk=place)
    made.__dict__["lines"] = body.lines  # the same, and dear
    return made


def _amd64(order: Sequence[Argument], registers: Sequence[str], place: int, entry: int) -> bytes:
    """Push what moves, pop it where it goes, and jump."""
    code = bytearray()
    moved = [(to, given) for to, given in enumerate(order) if isinstance(given, int)]
    for _, source in moved:
        code += _short(0x50, registers[source])
    for to, _ in reversed(moved):
        code += _short(0x58, registers[to])
    for to, given in enumerate(order):
        if isinstance(given, tuple):
            code += _short(0xB8, registers[to]) + given[0].to_bytes(4, "little")  # mov r32, imm32
    return bytes(code) + b"\xe9" + (entry - place - len(code) - 5).to_bytes(4, "little", signed=True)


def _short(opcode: int, register: str) -> bytes:
    number = AMD64_REGISTERS.index(register)
    return (b"\x41" if number > 7 else b"") + bytes((opcode | number & 7,))


def _arm64(order: Sequence[Argument], stacked: int, place: int, entry: int) -> bytes:
    """Keep x18 and x30, copy arguments aside and back in their new order, those on the stack below, and call."""
    words = [0xA9BF7BF2]  # stp x18, x30, [sp, #-16]!
    for scratch, given in zip(_SCRATCH, order, strict=False):
        if isinstance(given, int):
            words.append(0xAA0003E0 | given << 16 | scratch)  # mov
    for to, (scratch, given) in enumerate(zip(_SCRATCH, order, strict=False)):
        if isinstance(given, int):
            words.append(0xAA0003E0 | scratch << 16 | to)
        else:
            words += [0xD2800000 | (given[0] & 0xFFFF) << 5 | to, 0xF2A00000 | (given[0] >> 16) << 5 | to]  # movz, movk
    room = -(-stacked // 2) * 16
    if room:
        words.append(0xD10003FF | room << 10)  # sub sp, sp, #room
        for index in range(stacked):
            words.append(0xF94003E9 | (room + 16 + 8 * index) // 8 << 10)  # ldr x9, [sp, #...]
            words.append(0xF90003E9 | index << 10)  # str x9, [sp, #8 * index]
    distance = (entry - place) // 4 - len(words)
    words.append(0x94000000 | distance & 0x3FFFFFF)  # bl
    if room:
        words.append(0x910003FF | room << 10)  # add sp, sp, #room
    words += [0xA8C17BF2, 0xD65F03C0]  # ldp x18, x30, [sp], #16; ret
    return b"".join(word.to_bytes(4, "little") for word in words)
