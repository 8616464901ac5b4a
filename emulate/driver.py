"""The loop inside the emulated memory that calls a routine for thousands of vectors, and the memory it works in.

For each vector the driver copies the inputs into guarded buffers, fills the outputs, the registers and the flags with
random bits, calls the routine, and stops at once when the routine has not left behind what it must. Otherwise it
stores the results and goes on. One piece of straight code for each way to share buffers; each piece falls into the
next.

    page        what
    CODE        the routine, readable and executable, traps behind it
    DRIVER      the loop
    STATE       four words: the next vector, its random words, its results, and how many vectors remain
    STACK       the routine's stack below SP, the caller's above
    slot 0, 1…  pages for each pointer argument, with an unmapped one between
    JUNK        random words; vector k takes those from k on
    RECORDS     the inputs, a record a vector, not writable
    RESULTS     the outputs, a record a vector
    THREAD      what is kept for a thread, for code that may ask for it
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from asmgen.contracts import Parameter, Signature
from asmgen.errors import AsmgenError
from emulate.aliasing import Case, cases, pointers, size
from emulate.encode import Amd64, Arm64, Encoder

PAGE = 0x1000
# The low bits of the page numbers differ, so that the emulator's direct-mapped cache of pages holds all that is in use.
CODE = 0x0100_0000
DRIVER = 0x0205_0000
STATE = 0x0302_0000
STACK = 0x0403_0000
STACK_SIZE = 0xA000
SP = STACK + 0x9000  #: the stack pointer before the call, a multiple of 16
SLOTS = 0x0504_1000
SLOT = 4 * PAGE  #: bytes of the pages for a buffer
SLOT_STRIDE = SLOT + PAGE
JUNK = 0x0606_0000
RECORDS = 0x0708_0000
RESULTS = 0x080C_0000
THREAD = 0x0F07_7000

ENCODERS: dict[str, type[Encoder]] = {"amd64": Amd64, "arm64": Arm64}

#: Where in a vector's random words those of callee-saved vector registers stand: after flags and general registers.
VECTORS = 8 * (1 + 31)


@dataclass(frozen=True)
class Driver:
    """The assembled loop: start at `starts[i]` for a first vector in case i; it ends at DRIVER."""

    code: bytes
    cases: tuple[Case, ...]
    starts: tuple[int, ...]
    record: int  #: bytes of a vector's inputs
    result: int  #: bytes of a vector's outputs


def words(parameter: Parameter) -> int:
    """64-bit words that a parameter takes in a record."""
    return (size(parameter) + 7) // 8 if parameter.by_pointer else 1


def stack_arguments(target: str, signature: Signature) -> int:
    """Bytes of arguments from SP up that the registers do not hold; they are the routine's to change."""
    return 8 * max(0, len(signature.parameters) - len(ENCODERS[target].arguments))


def buffer(slot: int, length: int, at_start: bool) -> int:
    """The address of a buffer in its pages."""
    return SLOTS + slot * SLOT_STRIDE + (0 if at_start else SLOT - length)


@lru_cache(maxsize=16)
def build(target: str, signature: Signature, entry: int) -> Driver:
    """The driver for routines of this signature; `entry` is the routine's address."""
    if target not in ENCODERS:
        raise AsmgenError(f"no emulator for target {target}", hint=f"one of {', '.join(ENCODERS)}")
    encoder = ENCODERS[target](DRIVER)
    for parameter in pointers(signature):
        most = PAGE if parameter in signature.outputs else SLOT
        if size(parameter) > most:
            raise AsmgenError(f"{parameter.name} of {signature.symbol} is larger than {most} bytes")
    record = 8 * sum(words(parameter) for parameter in signature.inputs)
    if record > ENCODERS[target].reach:
        raise AsmgenError(f"the inputs of {signature.symbol} are larger than {ENCODERS[target].reach} bytes in all")
    encoder.stop()
    every = cases(signature)
    starts = []
    for case in every:
        starts.append(encoder.here)
        _piece(encoder, signature, case, entry)
    encoder.jump(starts[0])
    return Driver(bytes(encoder.code), every, tuple(starts), record, _result_size(signature))


def _result_size(signature: Signature) -> int:
    return 8 * (sum(words(parameter) for parameter in signature.outputs) + signature.returns_bit)


def _piece(e: Encoder, signature: Signature, case: Case, entry: int) -> None:
    """One vector in one case."""
    slots = dict(zip((parameter.name for parameter in pointers(signature)), case.mode.slots, strict=True))
    places = {
        parameter.name: buffer(slots[parameter.name], size(parameter), case.at_start)
        for parameter in pointers(signature)
    }
    offsets = {}
    at = 0
    for parameter in signature.inputs:
        offsets[parameter.name] = at
        at += 8 * words(parameter)
    written = {slots[parameter.name] for parameter in signature.outputs}

    e.point(e.state, STATE)
    e.load(e.record, e.state, 0)
    e.load(e.junk, e.state, 8)
    filled: set[int] = set()
    for parameter in signature.inputs:
        if parameter.by_pointer and slots[parameter.name] not in filled:
            filled.add(slots[parameter.name])
            e.point(e.buffer, places[parameter.name])
            _copy(e, size(parameter), (e.record, offsets[parameter.name]), (e.buffer, 0))
    for parameter in signature.outputs:
        if slots[parameter.name] not in filled:
            e.point(e.buffer, places[parameter.name])
            _copy(e, size(parameter), (e.junk, 0), (e.buffer, 0))

    e.flags(e.junk)
    e.vectors(e.junk, VECTORS)

    def argument(register: str, parameter: Parameter) -> None:
        if parameter.by_pointer:
            e.point(register, places[parameter.name])
        else:
            e.load(register, e.record, offsets[parameter.name])

    for index, parameter in enumerate(signature.parameters[len(e.arguments) :]):
        argument(e.temp, parameter)
        e.point(e.buffer, SP + 8 * index)
        e.store(e.temp, e.buffer, 0)
    used = e.arguments[: len(signature.parameters)]
    for register, parameter in zip(used, signature.parameters, strict=False):
        argument(register, parameter)
    for index, register in enumerate(e.general):
        if register not in used:
            e.load(register, e.junk, 8 * (1 + index))
    e.call(entry)

    e.stack(e.wrong, SP)
    e.point(e.state, STATE)
    e.load(e.record, e.state, 0)
    e.load(e.junk, e.state, 8)
    e.load(e.out, e.state, 16)
    if signature.returns_bit:
        e.store(e.result, e.out, _result_size(signature) - 8)
    for register in e.saved:
        e.load(e.temp, e.junk, 8 * (1 + e.general.index(register)))
        e.xor(e.temp, register)
        e.unite(e.wrong, e.temp)
    e.special(e.junk, VECTORS)
    for parameter in signature.inputs:
        if parameter.by_pointer and slots[parameter.name] not in written:
            e.point(e.buffer, places[parameter.name])
            _compare(e, size(parameter), (e.record, offsets[parameter.name]), (e.buffer, 0))
    e.jump_unless_zero(e.wrong, DRIVER)

    at = 0
    for parameter in signature.outputs:
        e.point(e.buffer, places[parameter.name])
        _copy(e, size(parameter), (e.buffer, 0), (e.out, at))
        at += 8 * words(parameter)
    for base, offset, step in (
        (e.record, 0, 8 * sum(words(parameter) for parameter in signature.inputs)),
        (e.junk, 8, 8),
        (e.out, 16, _result_size(signature)),
    ):
        e.add(base, step)
        e.store(base, e.state, offset)
    e.load(e.temp, e.state, 24)
    e.add(e.temp, -1)
    e.store(e.temp, e.state, 24)
    e.jump_if_zero(e.temp, DRIVER)


def _copy(e: Encoder, length: int, source: tuple[str, int], to: tuple[str, int]) -> None:
    for at in range(0, length - 7, 8):
        e.load(e.temp, source[0], source[1] + at)
        e.store(e.temp, to[0], to[1] + at)
    for at in range(length & ~7, length):
        e.load_byte(e.temp, source[0], source[1] + at)
        e.store_byte(e.temp, to[0], to[1] + at)


def _compare(e: Encoder, length: int, one: tuple[str, int], other: tuple[str, int]) -> None:
    for at in range(0, length - 7, 8):
        e.load(e.temp, one[0], one[1] + at)
        e.load(e.other, other[0], other[1] + at)
        e.xor(e.temp, e.other)
        e.unite(e.wrong, e.temp)
    for at in range(length & ~7, length):
        e.load_byte(e.temp, one[0], one[1] + at)
        e.load_byte(e.other, other[0], other[1] + at)
        e.xor(e.temp, e.other)
        e.unite(e.wrong, e.temp)
