"""The code of windows: a time stamp, a loop of calls, another time stamp. Written for the System V convention.

Each takes (table, loops, stamps). The table has a row a call: its arguments, the first six for registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from asmgen.bench.child import BLOCK

#: Arguments in registers, each with its `mov reg, [rbx + disp32]`: rdi, rsi, rdx, rcx, r8, r9.
_LOADS = ("48 8b bb", "48 8b b3", "48 8b 93", "48 8b 8b", "4c 8b 83", "4c 8b 8b")
_SPARE = "48 8b 83"  # rax
_STACKED = 8
ARGUMENTS = len(_LOADS) + _STACKED  #: at most
#: Bytes of a row.
ROW = 8 * ARGUMENTS

_ENTER = bytes.fromhex("53 55 41 54 41 55 41 56 41 57 48 89 fb 49 89 f4 49 89 d5")  # push; mov rbx, r12, r13
_FIRST = bytes.fromhex("0f ae e8 0f 31 0f ae e8 48 c1 e2 20 48 09 d0 49 89 45 00")  # lfence rdtsc lfence; to [r13]
_SECOND = bytes.fromhex("0f 01 f9 0f ae e8 48 c1 e2 20 48 09 d0 49 89 45 08")  # rdtscp lfence; to [r13 + 8]
_LEAVE = bytes.fromhex("41 5f 41 5e 41 5d 41 5c 5d 5b c3")
_NOP = b"\x90"


@dataclass(frozen=True)
class Context:
    """How a routine is called: what stands around it, and where everything lies.

    `code` is the distance of the routine from the start of a page, `loop` bytes before the loop, `stack` and `data`
    how far the stack and buffers are moved; `calls` stand in the loop one after another. With `apart` a result goes
    to another buffer than the one it came from.
    """

    code: int
    loop: int
    stack: int
    data: int
    calls: int
    apart: bool


#: Positions are multiples of 32, which is where emitted routines are aligned.
CONTEXTS = (
    Context(code=0, loop=0, stack=0, data=0, calls=2, apart=True),
    Context(code=32, loop=5, stack=16, data=32, calls=1, apart=False),
    Context(code=64 * 9, loop=16, stack=64, data=16, calls=4, apart=True),
    Context(code=64 * 14 + 32, loop=27, stack=112, data=8, calls=2, apart=False),
    Context(code=64 * 23, loop=40, stack=176, data=48, calls=1, apart=False),
    Context(code=64 * 37 + 32, loop=51, stack=240, data=0, calls=8, apart=True),
    Context(code=64 * 46, loop=9, stack=48, data=24, calls=4, apart=False),
    Context(code=64 * 59 + 32, loop=34, stack=400, data=40, calls=2, apart=True),
    Context(code=64 * 5, loop=21, stack=32, data=56, calls=1, apart=False),
    Context(code=64 * 18 + 32, loop=60, stack=320, data=16, calls=4, apart=True),
    Context(code=64 * 30, loop=13, stack=144, data=32, calls=2, apart=False),
    Context(code=64 * 51 + 32, loop=46, stack=208, data=8, calls=2, apart=True),
)


def window(start: int, routine: int, arguments: int, context: Context) -> bytes:
    """Code that will stand at `start` and calls what stands at `routine`."""
    code = bytearray(_ENTER)
    room = context.stack + 8 * _STACKED + 8  # six registers and the return address: 8 more align it
    code += b"\x48\x81\xec" + room.to_bytes(4, "little")  # sub rsp, room
    code += _FIRST + _NOP * context.loop
    loop = len(code)
    for call in range(context.calls):
        for index in reversed(range(arguments)):
            place = ROW * call + 8 * index
            code += bytes.fromhex(_LOADS[index] if index < len(_LOADS) else _SPARE) + place.to_bytes(4, "little")
            if index >= len(_LOADS):
                code += b"\x48\x89\x44\x24" + bytes((8 * (index - len(_LOADS)),))  # mov [rsp + disp8], rax
        code += b"\xe8" + _distance(start + len(code) + 5, routine)  # call
    code += b"\x49\xff\xcc\x0f\x85" + _distance(len(code) + 9, loop)  # dec r12; jnz
    code += _SECOND
    code += b"\x48\x81\xc4" + room.to_bytes(4, "little") + _LEAVE
    return bytes(code)


def chain() -> bytes:
    """A window of dependent additions, BLOCK a loop: one cycle each. Of a register, for some cores add small constants
    without any time."""
    return _additions([b"\x48\x01\xc8"])  # add rax, rcx


def wide() -> bytes:
    """A window of as many additions, of which eight at a time do not wait for each other."""
    return _additions([prefix + b"\x01" + bytes((0xC8 | number,)) for prefix, some in _WIDE for number in some])


#: rax, rdx, rsi, rdi, then r8 to r11.
_WIDE = ((b"\x48", (0, 2, 6, 7)), (b"\x49", (0, 1, 2, 3)))


def _additions(some: Sequence[bytes]) -> bytes:
    code = _ENTER + _FIRST + b"".join(some) * (BLOCK // len(some)) + b"\x49\xff\xcc\x0f\x85"
    return code + _distance(len(code) + 4, len(_ENTER) + len(_FIRST)) + _SECOND + _LEAVE


def _distance(after: int, to: int) -> bytes:
    return (to - after).to_bytes(4, "little", signed=True)
