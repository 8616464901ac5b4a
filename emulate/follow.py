"""Calls of a routine, instruction by instruction: every register before each, and every access to memory.

As `Machine.trace`, many times quicker: one emulator for all calls, and registers read by the emulator's own routine
for many at once into memory that is laid out beforehand.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import unicorn as _unicorn
from unicorn import arm64_const, x86_const
from unicorn.unicorn_py3.unicorn import uclib as _library

from asmgen.errors import AsmgenError
from emulate import driver as layout
from emulate.encode import AMD64_REGISTERS, ARM64_REGISTERS
from emulate.inputs import Input
from emulate.machine import EmulationError, Fault, Machine, smallest

unicorn: Any = _unicorn

#: Instructions of one call that are followed unless the caller says otherwise.
LIMIT = 400_000

_WORDS = {
    "amd64": [(name, getattr(x86_const, f"UC_X86_REG_{name.upper()}")) for name in (*AMD64_REGISTERS, "rflags")],
    "arm64": [
        (name, getattr(arm64_const, f"UC_ARM64_REG_{name.upper()}")) for name in (*ARM64_REGISTERS, "sp", "nzcv")
    ],
}
_VECTORS = {
    "amd64": [(f"xmm{n}", getattr(x86_const, f"UC_X86_REG_XMM{n}")) for n in range(16)],
    "arm64": [(f"v{n}", getattr(arm64_const, f"UC_ARM64_REG_Q{n}")) for n in range(32)],
}


class Broken(EmulationError):
    """A call that broke its contract with the caller; `fault` says how and where."""

    def __init__(self, symbol: str, fault: Fault) -> None:
        super().__init__(f"{symbol}: {fault}")
        self.fault = fault


class TooLong(AsmgenError):
    """A call that goes on for more instructions than are to be followed."""

    def __init__(self, symbol: str, limit: int) -> None:
        super().__init__(
            f"{symbol} does not return within {limit:,} instructions",
            hint="a smaller count, or a routine that does less",
        )


@dataclass(frozen=True)
class Access:
    """Bytes of memory that an instruction read or wrote; `value` is what it wrote."""

    write: bool
    address: int
    size: int
    value: int


@dataclass(frozen=True)
class Walk:
    """One call. `offsets[i]` is the place in the code of instruction i, `states[i]` what registers held before it.

    A state has one word for each name in `places`, two for a vector register, which `places` gives the first of.
    `accesses` are those of the instructions that made any.
    """

    offsets: list[int]
    states: list[array[int]]
    accesses: dict[int, list[Access]]
    places: dict[str, int]

    def __len__(self) -> int:
        return len(self.offsets)


def follow(
    machine: Machine,
    calls: Sequence[Sequence[Input]],
    *,
    vectors: bool = False,
    end: int | None = None,
    limit: int = LIMIT,
) -> list[Walk]:
    """Follow calls with buffers of their own; instructions from `end` bytes of the code on are left out.

    With `vectors` the vector registers are read too. Raises Broken for what breaks the contract with the caller,
    TooLong for a call that goes on for more than `limit` instructions.
    """
    registers = [*_WORDS[machine.target], *(_VECTORS[machine.target] if vectors else ())]
    count = len(_WORDS[machine.target])
    words = count + 2 * (len(registers) - count)
    places = {name: at if at < count else 2 * at - count for at, (name, _) in enumerate(registers)}
    buffer = (ctypes.c_uint64 * words)()
    at = ctypes.addressof(buffer)
    ids = (ctypes.c_int * len(registers))(*(number for _, number in registers))
    pointers = (ctypes.c_void_p * len(registers))(*(at + 8 * place for place in places.values()))
    last = len(machine.code) if end is None else end
    read, length = _library.uc_reg_read_batch, len(registers)

    engine = machine._make_engine()
    handle = engine.uc._uch
    offsets: list[int] = []
    seen = bytearray()
    accesses: dict[int, list[Access]] = {}

    def step(uc: Any, address: int, size: int, user: object) -> None:
        nonlocal seen
        read(handle, ids, pointers, length)
        offsets.append(address - layout.CODE)
        seen += buffer
        if len(offsets) > limit:
            uc.emu_stop()

    def touch(uc: Any, access: int, address: int, size: int, value: int, user: object) -> None:
        if offsets:
            write = access == unicorn.UC_MEM_WRITE
            accesses.setdefault(len(offsets) - 1, []).append(Access(write, address, size, value % 2 ** (8 * size)))

    engine.uc.hook_add(unicorn.UC_HOOK_CODE, step, None, layout.CODE, layout.CODE + last - 1)
    engine.uc.hook_add(unicorn.UC_HOOK_MEM_READ | unicorn.UC_HOOK_MEM_WRITE, touch)
    walks = []
    for inputs in calls:
        offsets, seen, accesses = [], bytearray(), {}
        block = machine._single(inputs, 0)
        machine._load(engine, block, 1)
        try:
            engine.uc.emu_start(machine.driver.starts[0], layout.DRIVER)
        except unicorn.UcError as error:
            raise Broken(machine.signature.symbol, machine._explain(engine.uc, error, block, 0)) from None
        if len(offsets) > limit:
            raise TooLong(machine.signature.symbol, limit)
        final = len(offsets) - 1  # the return, after which the driver goes on
        every = array("Q", bytes(seen))
        states = [every[at : at + words] for at in range(0, len(every), words)]
        walks.append(Walk(offsets, states, {i: a for i, a in accesses.items() if i < final}, places))
    return walks


def depth(machine: Machine, places: Iterable[int]) -> int:
    """The most bytes of stack below the caller's stack pointer that a call with small inputs takes, looked at only
    when instructions at `places` (offsets in the code) are reached; all of the stack for a call that breaks its
    contract, which shows by itself."""
    engine = machine._make_engine()
    register = next(number for name, number in _WORDS[machine.target] if name in ("rsp", "sp"))
    lowest = layout.SP

    def look(uc: Any, address: int, size: int, user: object) -> None:
        nonlocal lowest
        lowest = min(lowest, uc.reg_read(register))

    for place in places:
        engine.uc.hook_add(unicorn.UC_HOOK_CODE, look, None, layout.CODE + place, layout.CODE + place)
    block = machine._single([smallest(parameter.contract) for parameter in machine.signature.inputs], 0)
    machine._load(engine, block, 1)
    try:
        engine.uc.emu_start(machine.driver.starts[0], layout.DRIVER, count=LIMIT)
    except unicorn.UcError:
        return layout.STACK_SIZE
    return layout.SP - lowest
