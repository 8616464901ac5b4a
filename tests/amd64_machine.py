"""Single amd64 instructions run on many states, on an emulated CPU and on this one, by the same machine code.

An image holds one driver loop a case: for each record of the case it loads flags and all sixteen registers, runs the
case's code, and stores registers and flags back into the record. A record also has a window of memory for the operands
that are memory. Run as a program (`python amd64_machine.py IMAGE RECORDS`) it does so on this CPU, in a process of its
own.
"""

from __future__ import annotations

import ctypes
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

REGISTERS = 16
WINDOW = 64  #: bytes of memory in a record
FLAGS_AT, WINDOW_AT = 8 * REGISTERS, 8 * REGISTERS + 8
RECORD = WINDOW_AT + WINDOW

CODE = 0x5A00_0000_0000
DATA = CODE + 0x1000_0000
CURRENT, SAVED, STACK = DATA, DATA + 8, DATA + 16
RECORDS = DATA + 0x100
STRIDE = 384  #: bytes between two drivers
HEAD = 64  #: bytes before the first driver

FLAG_BITS = {"CF": 0, "PF": 2, "AF": 4, "ZF": 6, "SF": 7, "OF": 11}
PUSHES = b"\x53\x55\x41\x54\x41\x55\x41\x56\x41\x57"  #: of rbx, rbp, r12 to r15
POPS = b"\x41\x5f\x41\x5e\x41\x5d\x41\x5c\x5d\x5b"
POPFQ, PUSHFQ, RET, NOP = b"\x9d", b"\x9c", b"\xc3", b"\x90"


@dataclass
class State:
    """What an instruction sees: registers by number, flags by name, the window's bytes, and the window's address."""

    registers: list[int]
    flags: dict[str, int]
    window: bytearray
    place: int

    def pack(self) -> bytes:
        flags = 2 | sum(self.flags[name] << bit for name, bit in FLAG_BITS.items())
        return struct.pack("<17Q", *self.registers, flags) + bytes(self.window)


def unpack(record: bytes, place: int) -> State:
    """The state that a record holds."""
    *registers, flags = struct.unpack_from("<17Q", record)
    named = {name: flags >> bit & 1 for name, bit in FLAG_BITS.items()}
    return State(registers, named, bytearray(record[WINDOW_AT:]), place)


def place_of(record: int, size: int = RECORD) -> int:
    """The address of the window of the record with this number."""
    return RECORDS + record * size + WINDOW_AT


def code_address(case: int) -> int:
    """Where the code of the case with this number stands."""
    return CODE + HEAD + case * STRIDE + len(_before(0))


def _move(opcode: bytes, address: int) -> bytes:
    """An instruction with eight bytes at its end: rax from (48 a1) or to (48 a3) memory, a number to a register."""
    return opcode + struct.pack("<Q", address)


def _load_rax(value: int) -> bytes:
    return _move(b"\x48\xb8", value)


def _register_at_rax(opcode: int, register: int, offset: int = 0) -> bytes:
    """mov between a register and its place from an offset of the record at rax on: opcode 8b loads, 89 stores."""
    place = struct.pack("<i", offset + 8 * register)
    return bytes([0x48 | register >> 3 << 2, opcode, 0x80 | (register & 7) << 3]) + place


def _rsp_from_rax(offset: int) -> bytes:
    return b"\x48\x8d\xa0" + struct.pack("<i", offset)


def _before(record: int, size: int = RECORD) -> bytes:
    """Up to the case's code: the record's address to memory, flags and registers from the record, rsp and rax last."""
    order = [r for r in range(REGISTERS) if r not in (0, 4)] + [4, 0]
    loads = b"".join(_register_at_rax(0x8B, register) for register in order)
    start = _load_rax(RECORDS + record * size)
    return start + _move(b"\x48\xa3", CURRENT) + _rsp_from_rax(FLAGS_AT) + POPFQ + loads


def _after(record: int, length: int, size: int = RECORD) -> bytes:
    """From the case's code on: registers and flags to the record, then the next record up to number `record`.

    `length` is that of all code before this one, and `size` that of a record.
    """
    stores = b"".join(_register_at_rax(0x89, register) for register in range(1, REGISTERS))
    code = _move(b"\x48\xa3", SAVED) + _move(b"\x48\xa1", CURRENT) + stores + _rsp_from_rax(FLAGS_AT + 8) + PUSHFQ
    code += b"\x48\x89\xc1" + _move(b"\x48\xa1", SAVED) + b"\x48\x89\x01"  # mov %rax, %rcx; ...; mov %rax, (%rcx)
    code += b"\x48\x8d\x81" + struct.pack("<i", size)  # lea size(%rcx), %rax
    code += _move(b"\x48\xba", RECORDS + record * size) + b"\x48\x39\xd0"  # movabs end, %rdx; cmp %rdx, %rax
    back = len(_load_rax(0)) - (length + len(code) + 6)
    return code + b"\x0f\x85" + struct.pack("<i", back)  # jne to the start, with rax as it is


def image(cases: Sequence[tuple[bytes, int]]) -> bytes:
    """Machine code that runs all cases, each its code and its number of records (1 or more), in order."""
    out = (PUSHES + b"\x48\x89\xe0" + _move(b"\x48\xa3", STACK)).ljust(HEAD, NOP)
    record = 0
    for code, count in cases:
        start = _before(record)
        record += count
        driver = start + code + _after(record, len(start + code))
        assert len(driver) <= STRIDE, "a case's code is too long"
        out += driver.ljust(STRIDE, NOP)
    return out + _move(b"\x48\xa1", STACK) + b"\x48\x89\xc4" + POPS + RET


DUMP = 8 * REGISTERS + 8  #: bytes of registers and flags


def _dump(offset: int) -> bytes:
    """Registers and flags to the record, at an offset, with all of them left as they are."""
    stores = b"".join(_register_at_rax(0x89, register, offset) for register in range(1, REGISTERS))
    code = _move(b"\x48\xa3", SAVED) + _move(b"\x48\xa1", CURRENT) + stores + _rsp_from_rax(offset + DUMP) + PUSHFQ
    code += _register_at_rax(0x8B, 4, offset) + b"\x48\x89\xc1" + _move(b"\x48\xa1", SAVED)  # ...; mov %rax, %rcx; ...
    return code + b"\x48\x89\x81" + struct.pack("<i", offset) + b"\x48\x8b\x89" + struct.pack("<i", offset + 8)


def walk_image(walks: Sequence[tuple[Sequence[bytes], int]], steps: int) -> bytes:
    """Machine code that runs all walks, each the code of its steps and its number of records, in order.

    A record is that of a state, with room for `steps` dumps behind it, one after each step.
    """
    size, stride = RECORD + steps * DUMP, 512 + steps * 256
    out = (PUSHES + b"\x48\x89\xe0" + _move(b"\x48\xa3", STACK)).ljust(HEAD, NOP)
    record = 0
    for codes, count in walks:
        start = _before(record, size)
        record += count
        for step, code in enumerate(codes):
            start += code + _dump(RECORD + step * DUMP)
        driver = start + _after(record, len(start), size)
        assert len(driver) <= stride, "a walk's code is too long"
        out += driver.ljust(stride, NOP)
    return out + _move(b"\x48\xa1", STACK) + b"\x48\x89\xc4" + POPS + RET


def _round_up(size: int) -> int:
    return (size + 0xFFFF) & ~0xFFFF


def run_emulated(code: bytes, records: bytes) -> bytes:
    """The records after a run under unicorn, as a CPU with BMI2 and ADX."""
    import unicorn
    from unicorn.x86_const import UC_CPU_X86_BROADWELL, UC_X86_REG_RSP

    machine = unicorn.Uc(unicorn.UC_ARCH_X86, unicorn.UC_MODE_64)
    machine.ctl_set_cpu_model(UC_CPU_X86_BROADWELL)
    machine.mem_map(CODE, _round_up(len(code)))
    machine.mem_map(DATA, _round_up(len(records) + 0x1100))
    machine.mem_write(CODE, code)
    machine.mem_write(RECORDS, records)
    machine.reg_write(UC_X86_REG_RSP, RECORDS + len(records) + 0x1000)
    machine.emu_start(CODE, CODE + len(code) - len(RET))
    return bytes(machine.mem_read(RECORDS, len(records)))


def run_native(code: bytes, records: bytes) -> bytes:
    """The records after a run on this CPU, in a child process."""
    with tempfile.TemporaryDirectory() as directory:
        paths = [Path(directory) / name for name in ("image", "records")]
        for path, content in zip(paths, (code, records), strict=True):
            path.write_bytes(content)
        subprocess.run([sys.executable, __file__, *map(str, paths)], check=True, timeout=300)
        return paths[1].read_bytes()


def _main(code_path: Path, records_path: Path) -> None:
    code, records = code_path.read_bytes(), records_path.read_bytes()
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    read_write, execute, private_anonymous_fixed = 3, 5, 0x100022
    for address, size in ((CODE, len(code)), (DATA, len(records) + 0x1100)):
        got = libc.mmap(address, _round_up(size), read_write, private_anonymous_fixed, -1, 0)
        if got != address:
            raise OSError(ctypes.get_errno(), f"no memory at {address:#x}")
    ctypes.memmove(CODE, code, len(code))
    ctypes.memmove(RECORDS, records, len(records))
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if libc.mprotect(CODE, _round_up(len(code)), execute) != 0:
        raise OSError(ctypes.get_errno(), "memory cannot be made executable")
    ctypes.CFUNCTYPE(None)(CODE)()
    records_path.write_bytes(ctypes.string_at(RECORDS, len(records)))


if __name__ == "__main__":
    _main(Path(sys.argv[1]), Path(sys.argv[2]))
