"""Runs machine code for amd64 or arm64 in an emulator, and watches that it keeps to its contract with the caller.

Every vector is checked in full: stack pointer, callee-saved registers (x18 among them), the low halves of d8 to d15,
direction flag and unchanged inputs right after the call, inside the emulated memory; guard pages around every buffer
all the time; the bytes of the buffers' pages, of the caller's stack and below the routine's frame (the red zone) at
the end of each block, with the guilty vector then found by bisection.
"""

from __future__ import annotations

import ctypes
import random
import time
from array import array
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import unicorn as _unicorn
from unicorn import arm64_const, x86_const

from asmgen.contracts import Bytes, Contract, Element, Signature, Table
from asmgen.errors import AsmgenError
from emulate import driver as layout
from emulate.columns import Column
from emulate.driver import build
from emulate.encode import AMD64_REGISTERS, ARM64_REGISTERS
from emulate.inputs import JUNK_WORDS, Block, Input, unpack
from emulate.memory import Memory, whole_pages
from emulate.watchdog import Watchdog

unicorn: Any = _unicorn  # its annotations leave out much of what it has

Outputs = tuple[Input, ...]

#: Seconds after which a block is looked at: when no vector was done meanwhile, the routine may never return.
PATIENCE = 0.3
#: Instructions that such a routine may then still execute.
LIMIT = 2_000_000
#: Instructions that a trace follows.
TRACE_LIMIT = 200_000

_WATCHDOG = Watchdog(PATIENCE)
_TRAPS = {"amd64": b"\xcc", "arm64": b"\0\0\0\0"}  # int3, udf
_REGISTERS = {
    "amd64": {name: getattr(x86_const, f"UC_X86_REG_{name.upper()}") for name in (*AMD64_REGISTERS, "rflags")},
    "arm64": {name: getattr(arm64_const, f"UC_ARM64_REG_{name.upper()}") for name in (*ARM64_REGISTERS, "sp", "nzcv")},
}
_PC = {"amd64": x86_const.UC_X86_REG_RIP, "arm64": arm64_const.UC_ARM64_REG_PC}
_SP = {"amd64": "rsp", "arm64": "sp"}
_VECTORS = {
    "amd64": [getattr(x86_const, f"UC_X86_REG_XMM{number}") for number in range(16)],
    "arm64": [getattr(arm64_const, f"UC_ARM64_REG_V{number}") for number in range(32)],
}
_ACCESS = {
    unicorn.UC_MEM_READ_UNMAPPED: "read",
    unicorn.UC_MEM_READ_PROT: "read",
    unicorn.UC_MEM_WRITE_UNMAPPED: "wrote",
    unicorn.UC_MEM_WRITE_PROT: "wrote",
}
_DIRECTION = 0x400


class EmulationError(AsmgenError):
    """A routine broke its contract with the caller."""


@dataclass(frozen=True)
class Fault:
    """What went wrong in vector `vector` of a block, in words.

    `offset` is the place in the code, in bytes from its start, when one instruction is to blame.
    """

    vector: int
    reason: str
    offset: int | None = None

    def __str__(self) -> str:
        return self.reason if self.offset is None else f"{self.reason} (offset {self.offset:#x} of the code)"


@dataclass(frozen=True)
class Outcome:
    """The results of the first `done` vectors of a block.

    `columns[i]` holds one array of words for each word of output i, as in `Block`; `returned` the whole result
    register. `seconds` is the time of emulation alone.
    """

    done: int
    columns: tuple[tuple[Column, ...], ...]
    returned: Column | None
    seconds: float
    fault: Fault | None


@dataclass(frozen=True)
class _Engine:
    """An emulator and the registers it starts with."""

    uc: Any
    start: Any


class Machine:
    """`code` loaded for a target (`amd64`, `arm64`), to be called at `entry` bytes from its start.

    `features` are the CPUID bits that the code may use beyond the base (`bmi2`, `adx`); what needs others is invalid.
    `stack` is how many bytes of stack the routine says it uses; without it the depth that one call reaches is taken.
    Below that it may write `red_zone` bytes: none for what asmgen makes, 128 for what compilers make for amd64. With
    `thread` it may read what C libraries keep for each thread at FS, as compilers do that guard the stack.
    """

    def __init__(
        self,
        target: str,
        code: bytes,
        entry: int,
        signature: Signature,
        features: Collection[str] = (),
        *,
        stack: int | None = None,
        red_zone: int = 0,
        thread: bool = False,
    ) -> None:
        self.driver = build(target, signature, layout.CODE + entry)
        if not 0 <= entry < len(code) <= layout.DRIVER - layout.CODE:
            raise AsmgenError(f"the entry of {signature.symbol} is at {entry}, its code has {len(code)} bytes")
        self.target = target
        self.code = code
        self.entry = entry
        self.signature = signature
        self.features = frozenset(features)
        self._memory = Memory(target, signature, self.driver)
        self._stack = stack
        self._red_zone = red_zone
        self._thread = thread
        self._access: tuple[str, int, int, int] | None = None

    def run(self, block: Block, count: int | None = None) -> Outcome:
        """Call the routine for the first `count` vectors of a block (all by default), each in its own case."""
        outcome = self._attempt(block, block.count if count is None else count)
        if outcome.done and self._disturbed(block, outcome.done):
            good, bad = 0, outcome.done
            while bad - good > 1:
                middle = (good + bad) // 2
                self._attempt(block, middle)
                good, bad = (good, middle) if self._disturbed(block, middle) else (middle, bad)
            outcome = self._attempt(block, bad)
            reason = self._disturbed(block, bad) or "wrote outside the buffers"
            outcome = replace(outcome, done=bad - 1, fault=Fault(bad - 1, reason))
        return outcome

    def call(self, inputs: Sequence[Input], case: int = 0) -> Outputs:
        """One call: the outputs in order, limbs as a tuple, bytes, then the returned bit.

        `case` is the number of a way to share buffers (`emulate.aliasing.cases`); inputs in one buffer must be equal.
        Raises EmulationError when the contract with the caller is broken.
        """
        outcome = self.run(self._single(inputs, case))
        if outcome.fault is not None:
            raise self._error(outcome.fault)
        return outputs(self.signature, outcome, 0)

    def trace(self, inputs: Sequence[Input], case: int = 0) -> list[tuple[int, dict[str, int]]]:
        """One call, instruction by instruction: (offset in the code, registers before it).

        Registers go by their 64-bit names, with `rflags`, or `nzcv` and `sp`. Some 20 microseconds an instruction; ends
        after TRACE_LIMIT of them.
        """
        names = list(_REGISTERS[self.target])
        return [(at, dict(zip(names, row, strict=True))) for at, row in self._steps(names, inputs, case)]

    @cached_property
    def frame(self) -> int:
        """Bytes of stack below the caller's stack pointer that the routine takes, the return address included."""
        address = 8 if self.target == "amd64" else 0
        if self._stack is not None:
            return self._stack + address
        machine = Machine(self.target, self.code, self.entry, self.signature, self.features)
        inputs = [smallest(parameter.contract) for parameter in self.signature.inputs]
        try:
            depths = [layout.SP - sp for _, (sp,) in machine._steps([_SP[self.target]], inputs, 0)]
        except EmulationError:
            return layout.STACK_SIZE  # what is wrong shows by itself
        return max(depths, default=address)

    def _steps(self, names: Sequence[str], inputs: Sequence[Input], case: int) -> list[tuple[int, tuple[int, ...]]]:
        """One call: the offset of each instruction, and some registers before it."""
        ids = [_REGISTERS[self.target][name] for name in names]
        steps: list[tuple[int, tuple[int, ...]]] = []

        def step(uc: Any, address: int, length: int, user: object) -> None:
            steps.append((address - layout.CODE, uc.reg_read_batch(ids)))
            if len(steps) >= TRACE_LIMIT:
                uc.emu_stop()

        engine = self._make_engine()
        engine.uc.hook_add(unicorn.UC_HOOK_CODE, step, None, layout.CODE, layout.CODE + len(self.code) - 1)
        block = self._single(inputs, case)
        self._load(engine, block, 1)
        try:
            engine.uc.emu_start(self.driver.starts[case], layout.DRIVER)
        except unicorn.UcError as error:
            raise self._error(self._explain(engine.uc, error, block, 0)) from None
        return steps

    def _error(self, fault: Fault) -> EmulationError:
        return EmulationError(f"{self.signature.symbol} on {self.target}: {fault}")

    # One attempt at a block.

    def _attempt(self, block: Block, count: int) -> Outcome:
        engine = self._engine
        self._load(engine, block, count)
        began = time.perf_counter()
        fault = self._drive(engine, block, count)
        seconds = time.perf_counter() - began
        done = count if fault is None else fault.vector
        return Outcome(done, *self._memory.collect(done), seconds, fault)

    def _load(self, engine: _Engine, block: Block, count: int) -> None:
        self._memory.load(block, count)
        self._access = None
        engine.uc.context_restore(engine.start)

    def _drive(self, engine: _Engine, block: Block, count: int) -> Fault | None:
        """Let the driver run to its end; what stopped it before.

        After a stop from outside the vector at hand is begun anew: where the emulator says it stands may be wrong.
        """
        while self._memory.remaining:
            vector = count - self._memory.remaining
            try:
                with _WATCHDOG.watch(engine.uc) as watch:
                    address = self._go(engine, block, vector)
                if address == layout.DRIVER and self._memory.remaining:
                    vector = count - self._memory.remaining
                    faults = "; ".join(self._broken(engine.uc, block, vector))
                    return Fault(vector, faults or "a canary changed and changed back")
                if not watch.stopped and address not in (layout.DRIVER, *self.driver.starts):
                    return Fault(
                        count - self._memory.remaining, "the routine halts the processor", self._offset(address)
                    )
                if watch.stopped and vector == count - self._memory.remaining:
                    # The clock does not tell a loop without end from a busy machine, instructions do.
                    address = self._go(engine, block, vector, limit=LIMIT)
                    if vector == count - self._memory.remaining and address != layout.DRIVER:
                        reason = f"the routine does not return, not even after {LIMIT:,} instructions"
                        return Fault(vector, reason, self._offset(address))
            except unicorn.UcError as error:
                return self._explain(engine.uc, error, block, count - self._memory.remaining)
        return None

    def _go(self, engine: _Engine, block: Block, vector: int, limit: int = 0) -> int:
        """Start the driver with a vector, for `limit` instructions when that is not 0; where it stopped."""
        self._memory.place_driver(vector)
        engine.uc.context_restore(engine.start)
        if limit:
            engine.uc.ctl_flush_tb()  # only what is translated from here on is counted
        start = self.driver.starts[(block.start + vector) % len(self.driver.starts)]
        engine.uc.emu_start(start, layout.DRIVER, count=limit)
        return int(engine.uc.reg_read(_PC[self.target]))

    def _disturbed(self, block: Block, done: int) -> str | None:
        return self._memory.disturbed(self.frame + self._red_zone, block.case(done - 1))

    def _single(self, inputs: Sequence[Input], case: int) -> Block:
        if len(inputs) != len(self.signature.inputs):
            raise AsmgenError(f"{self.signature.symbol} takes {len(self.signature.inputs)} inputs, not {len(inputs)}")
        columns = tuple(
            tuple(array("Q", [word]) for word in _words(parameter.contract, value))
            for parameter, value in zip(self.signature.inputs, inputs, strict=True)
        )
        junk = array("Q", random.Random("junk").randbytes(8 * JUNK_WORDS))
        return Block(self.signature, 0, case, 1, columns, junk)

    # The emulator.

    @cached_property
    def _engine(self) -> _Engine:
        return self._make_engine()

    def _make_engine(self) -> _Engine:
        """A fresh emulator over the same memory."""
        if self.target == "amd64":
            uc = unicorn.Uc(unicorn.UC_ARCH_X86, unicorn.UC_MODE_64)
            uc.ctl_set_cpu_model(_amd64_model(self.features))
        else:
            uc = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
            uc.ctl_set_cpu_model(arm64_const.UC_CPU_ARM64_A57)
        # Told by us that data is never executed, the emulator takes the quick way for stores: ten times the rate.
        uc.ctl_set_tlb_mode(unicorn.UC_TLB_VIRTUAL)
        uc.hook_add(unicorn.UC_HOOK_TLB_FILL, _page)
        trap = _TRAPS[self.target]
        for address, code in ((layout.CODE, self.code), (layout.DRIVER, self.driver.code)):
            length = whole_pages(len(code) + len(trap))
            uc.mem_map(address, length, unicorn.UC_PROT_READ | unicorn.UC_PROT_EXEC)
            uc.mem_write(address, code + trap * ((length - len(code)) // len(trap)))
        if self._thread and self.target == "amd64":
            uc.mem_map(layout.THREAD, layout.PAGE, unicorn.UC_PROT_READ)
            uc.mem_write(layout.THREAD, random.Random("thread").randbytes(layout.PAGE))
            uc.reg_write(x86_const.UC_X86_REG_FS_BASE, layout.THREAD)
        for address, memory in self._memory.readable:
            _share(uc, address, memory, unicorn.UC_PROT_READ)
        gap = 0
        for address, memory in self._memory.writable:
            _share(uc, address, memory, unicorn.UC_PROT_READ | unicorn.UC_PROT_WRITE)
            # Around the writable pages only: a hook on them would make every store slow.
            uc.hook_add(unicorn.UC_HOOK_MEM_INVALID, self._invalid, None, gap, address - 1)
            gap = address + len(memory)
        uc.hook_add(unicorn.UC_HOOK_MEM_INVALID, self._invalid, None, gap, 2**64 - 1)
        rng = random.Random("vector registers")
        for register in _VECTORS[self.target]:
            uc.reg_write(register, rng.getrandbits(128))
        uc.reg_write(_REGISTERS[self.target][_SP[self.target]], layout.SP)
        return _Engine(uc, uc.context_save())

    def _invalid(self, uc: Any, access: int, address: int, length: int, value: int, user: object) -> bool:
        if access in _ACCESS:
            self._access = (_ACCESS[access], address, length, uc.reg_read(_PC[self.target]))
        return False

    # Faults in words.

    def _offset(self, address: int) -> int | None:
        return address - layout.CODE if 0 <= address - layout.CODE < len(self.code) else None

    def _explain(self, uc: Any, error: Any, block: Block, vector: int) -> Fault:
        """An exception of the emulator."""
        if self._access is not None:
            verb, address, length, at = self._access
            place = self._memory.place(address, block.case(vector))
            return Fault(vector, f"the routine {verb} {length} bytes {place}", self._offset(at))
        at = uc.reg_read(_PC[self.target])
        if self._offset(at) is None:
            return Fault(vector, f"the routine went to address {at:#x}, outside its code (a wrong return address?)")
        if error.errno in (unicorn.UC_ERR_INSN_INVALID, unicorn.UC_ERR_EXCEPTION):
            features = ", ".join(sorted(self.features)) or "none"
            return Fault(vector, f"an instruction is invalid with features {features}, or a trap", self._offset(at))
        return Fault(vector, f"the emulator stopped: {error}", self._offset(at))

    def _broken(self, uc: Any, block: Block, vector: int) -> Iterator[str]:
        """What the driver found wrong after a call."""
        registers = _REGISTERS[self.target]
        sp = uc.reg_read(registers[_SP[self.target]])
        if sp != layout.SP:
            yield f"the stack pointer is {abs(sp - layout.SP)} bytes too {'high' if sp > layout.SP else 'low'}"
        encoder = layout.ENCODERS[self.target]
        for register in encoder.saved:
            wanted = block.junk[vector + 1 + encoder.general.index(register)]
            got = uc.reg_read(registers[register])
            if got != wanted:
                kind = "the platform's register" if register == "x18" else "callee-saved register"
                yield f"{kind} {register} is not as before: {got:#x}, it was {wanted:#x}"
        if self.target == "amd64" and uc.reg_read(registers["rflags"]) & _DIRECTION:
            yield "the direction flag is left set"
        if self.target == "arm64":
            for index in range(8):
                wanted = block.junk[vector + layout.VECTORS // 8 + index]
                got = uc.reg_read(arm64_const.UC_ARM64_REG_D8 + index)
                if got != wanted:
                    yield f"callee-saved register d{8 + index} is not as before: {got:#x}, it was {wanted:#x}"
        yield from self._memory.changed_inputs(block, vector)


def call(
    target: str,
    code: bytes,
    entry: int,
    signature: Signature,
    inputs: Sequence[Input],
    features: Collection[str] = ("bmi2", "adx"),
) -> Outputs:
    """One call of a routine, see `Machine.call`."""
    return Machine(target, code, entry, signature, features).call(inputs)


def outputs(signature: Signature, outcome: Outcome, index: int) -> Outputs:
    """The outputs of one vector: limbs as a tuple, bytes, then the returned bit."""
    made = [
        unpack(parameter.contract, [column[index] for column in columns])
        for parameter, columns in zip(signature.outputs, outcome.columns, strict=True)
    ]
    return (*made, outcome.returned[index]) if outcome.returned is not None else tuple(made)


def _amd64_model(features: Collection[str]) -> int:
    """The oldest model that has the features."""
    if "adx" in features:
        return int(x86_const.UC_CPU_X86_BROADWELL)
    if "bmi2" in features:
        return int(x86_const.UC_CPU_X86_HASWELL)
    return int(x86_const.UC_CPU_X86_NEHALEM)


def _page(uc: Any, address: int, access: int, entry: Any, user: object) -> bool:
    """Data is never executed and code never written here; what else is allowed the mapped regions say."""
    fetch = access == unicorn.UC_MEM_FETCH
    entry.paddr = address
    entry.perms = unicorn.UC_PROT_READ | (unicorn.UC_PROT_EXEC if fetch else unicorn.UC_PROT_WRITE)
    return True


def _share(uc: Any, address: int, memory: Any, permissions: int) -> None:
    uc.mem_map_ptr(address, len(memory), permissions, ctypes.addressof(ctypes.c_char.from_buffer(memory)))


def _words(contract: Contract, value: Input) -> Sequence[int]:
    """An input as it stands in a record."""
    if isinstance(contract, (Element, Table)) and isinstance(value, tuple) and len(value) == contract.words:
        return value
    if isinstance(contract, Bytes) and isinstance(value, bytes) and len(value) == contract.length:
        return array("Q", value.ljust(-(-len(value) // 8) * 8, b"\0"))
    if not isinstance(contract, (Element, Table, Bytes)) and isinstance(value, int):
        return (value,)
    raise AsmgenError(f"{value!r} is no {contract.kind} of this kernel")


def smallest(contract: Contract) -> Input:
    """An input for which a routine does as little as it can, loops apart."""
    if isinstance(contract, (Element, Table)):
        return (0,) * contract.words
    if isinstance(contract, Bytes):
        return bytes(contract.length)
    return 2 if contract.kind == "count" else 0
