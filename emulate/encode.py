"""The few instructions that the driver loop is made of, for each target.

Encoded here rather than by the tables of `asmgen.targets`: what checks those tables must not lean on them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

AMD64_REGISTERS = tuple("rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15".split())
ARM64_REGISTERS = tuple(f"x{number}" for number in range(31))


class Encoder(ABC):
    """Emits code that will stand at `origin`. Registers go by name, targets of jumps by address.

    The roles are registers that are free before the arguments are set up and after a call returns.
    """

    arguments: Sequence[str]  #: argument registers in order
    result: str  #: where a returned bit is
    reach: int  #: bytes that offsets may reach
    saved: Sequence[str]  #: registers that a routine must leave as they were
    general: Sequence[str]  #: all that get a random word at entry; the junk base is the last
    state: str
    record: str  #: base of the vector's inputs
    junk: str  #: base of the random words
    out: str  #: base of the vector's results
    buffer: str
    temp: str
    other: str
    wrong: str  #: nonzero when a check fails

    def __init__(self, origin: int) -> None:
        self.origin = origin
        self.code = bytearray()

    @property
    def here(self) -> int:
        """The address of the next instruction."""
        return self.origin + len(self.code)

    @abstractmethod
    def point(self, register: str, address: int) -> None:
        """register = address, below 2^31."""

    @abstractmethod
    def load(self, register: str, base: str, offset: int) -> None:
        """The 64-bit word at base + offset, offset a multiple of 8 below 2^15."""

    @abstractmethod
    def store(self, register: str, base: str, offset: int) -> None:
        """Store a 64-bit word, offset as for load."""

    @abstractmethod
    def load_byte(self, register: str, base: str, offset: int) -> None:
        """One byte, offset below 2^12."""

    @abstractmethod
    def store_byte(self, register: str, base: str, offset: int) -> None:
        """The low byte, offset below 2^12."""

    @abstractmethod
    def xor(self, register: str, other: str) -> None:
        """register ^= other."""

    @abstractmethod
    def unite(self, register: str, other: str) -> None:
        """register |= other."""

    @abstractmethod
    def add(self, register: str, number: int) -> None:
        """register += number, which is in -4095..2^24 - 1."""

    @abstractmethod
    def flags(self, base: str) -> None:
        """Random flags from the word at base; `temp` is lost."""

    @abstractmethod
    def vectors(self, base: str, offset: int) -> None:
        """Words from base + offset on into the vector registers whose low halves are callee-saved."""

    @abstractmethod
    def call(self, address: int) -> None:
        """Call a routine."""

    @abstractmethod
    def stack(self, register: str, expected: int) -> None:
        """register = stack pointer - expected."""

    @abstractmethod
    def special(self, base: str, offset: int) -> None:
        """Unite `wrong` with what else must be left alone: the direction flag; d8 to d15 as in `vectors`."""

    @abstractmethod
    def jump_unless_zero(self, register: str, address: int) -> None:
        """Jump when the register is not 0."""

    @abstractmethod
    def jump_if_zero(self, register: str, address: int) -> None:
        """Jump when the register is 0."""

    @abstractmethod
    def jump(self, address: int) -> None:
        """Jump."""

    @abstractmethod
    def stop(self) -> None:
        """The place where emulation ends."""


class Amd64(Encoder):
    """System V: arguments in rdi rsi rdx rcx r8 r9."""

    arguments = ("rdi", "rsi", "rdx", "rcx", "r8", "r9")
    result = "rax"
    reach = 1 << 20
    saved = ("rbx", "rbp", "r12", "r13", "r14", "r15")
    general = ("rax", "rcx", "rdx", "rbx", "rbp", "rsi", "rdi", "r8", "r9", "r12", "r13", "r14", "r15", "r10", "r11")
    state, record, junk, out, buffer, temp, other, wrong = "rdi", "r10", "r11", "r8", "r9", "rcx", "rsi", "rdx"

    def _pair(self, opcode: int, register: str, base: str, *, memory: int | None = None, prefix: bytes = b"") -> None:
        """REX.W opcode /r with a register operand, or with memory at base + disp32 (base not rsp or r12)."""
        reg, rm = AMD64_REGISTERS.index(register), AMD64_REGISTERS.index(base)
        mode = 0xC0 if memory is None else 0x80
        self.code += bytes((0x48 | reg >> 3 << 2 | rm >> 3,)) + prefix + bytes((opcode, mode | (reg & 7) << 3 | rm & 7))
        if memory is not None:
            self.code += memory.to_bytes(4, "little", signed=True)

    def _relative(self, opcode: bytes, address: int) -> None:
        self.code += opcode
        self.code += (address - self.here - 4).to_bytes(4, "little", signed=True)

    def point(self, register: str, address: int) -> None:
        number = AMD64_REGISTERS.index(register)  # mov r32, imm32
        self.code += (b"\x41" if number > 7 else b"") + bytes((0xB8 | number & 7,)) + address.to_bytes(4, "little")

    def load(self, register: str, base: str, offset: int) -> None:
        self._pair(0x8B, register, base, memory=offset)  # mov r64, m64

    def store(self, register: str, base: str, offset: int) -> None:
        self._pair(0x89, register, base, memory=offset)  # mov m64, r64

    def load_byte(self, register: str, base: str, offset: int) -> None:
        self._pair(0xB6, register, base, memory=offset, prefix=b"\x0f")  # movzx r64, m8

    def store_byte(self, register: str, base: str, offset: int) -> None:
        self._pair(0x88, register, base, memory=offset)  # mov m8, r8

    def xor(self, register: str, other: str) -> None:
        self._pair(0x31, other, register)

    def unite(self, register: str, other: str) -> None:
        self._pair(0x09, other, register)

    def add(self, register: str, number: int) -> None:
        rm = AMD64_REGISTERS.index(register)  # add r64, imm32
        self.code += bytes((0x48 | rm >> 3, 0x81, 0xC0 | rm & 7)) + number.to_bytes(4, "little", signed=True)

    def flags(self, base: str) -> None:
        self.load("rax", base, 0)
        self.code += b"\x04\x7f"  # add al, 127: overflow for al in 1..127
        self.code += b"\x9e"  # sahf: SF ZF AF PF CF = ah

    def vectors(self, base: str, offset: int) -> None:
        pass  # none is callee-saved

    def call(self, address: int) -> None:
        self._relative(b"\xe8", address)

    def stack(self, register: str, expected: int) -> None:
        self._pair(0x89, "rsp", register)  # mov register, rsp
        rm = AMD64_REGISTERS.index(register)  # sub r64, imm32
        self.code += bytes((0x48 | rm >> 3, 0x81, 0xE8 | rm & 7)) + expected.to_bytes(4, "little")

    def special(self, base: str, offset: int) -> None:
        self.code += b"\x9c\x59"  # pushfq; pop rcx
        self.code += b"\x81\xe1\x00\x04\x00\x00"  # and ecx, 0x400: the direction flag
        self.unite(self.wrong, "rcx")

    def jump_unless_zero(self, register: str, address: int) -> None:
        self._pair(0x85, register, register)  # test
        self._relative(b"\x0f\x85", address)

    def jump_if_zero(self, register: str, address: int) -> None:
        self._pair(0x85, register, register)  # test
        self._relative(b"\x0f\x84", address)

    def jump(self, address: int) -> None:
        self._relative(b"\xe9", address)

    def stop(self) -> None:
        self.code += b"\xf4"  # hlt


class Arm64(Encoder):
    """AAPCS64: arguments in x0 to x7; x18 is the platform's and left alone."""

    arguments = tuple(f"x{number}" for number in range(8))
    result = "x0"
    reach = 1 << 15
    saved = tuple(f"x{number}" for number in range(18, 30))
    general = tuple(f"x{number}" for number in range(31) if number not in (16, 17)) + ("x16", "x17")
    wrong, state, out, temp, other, buffer, record, junk = "x1", "x2", "x3", "x4", "x5", "x8", "x16", "x17"

    def _word(self, word: int) -> None:
        self.code += word.to_bytes(4, "little")

    def _number(self, register: str) -> int:
        return ARM64_REGISTERS.index(register)

    def _memory(self, opcode: int, register: int, base: str, offset: int, scale: int) -> None:
        if offset % scale or not 0 <= offset // scale < 4096:
            raise ValueError(f"offset {offset} does not fit a load or store of {scale} bytes")
        self._word(opcode | offset // scale << 10 | self._number(base) << 5 | register)

    def _three(self, opcode: int, to: str, one: str, other: str) -> None:
        self._word(opcode | self._number(other) << 16 | self._number(one) << 5 | self._number(to))

    def _branch(self, opcode: int, address: int, *, bits: int, at: int) -> None:
        distance = (address - self.here) // 4
        if not -(1 << bits - 1) <= distance < 1 << bits - 1:
            raise ValueError(f"{address:#x} is too far for a branch at {self.here:#x}")
        self._word(opcode | (distance & (1 << bits) - 1) << at)

    def point(self, register: str, address: int) -> None:
        self._word(0xD2800000 | (address & 0xFFFF) << 5 | self._number(register))  # movz
        self._word(0xF2A00000 | (address >> 16) << 5 | self._number(register))  # movk, lsl 16

    def load(self, register: str, base: str, offset: int) -> None:
        self._memory(0xF9400000, self._number(register), base, offset, 8)  # ldr x

    def store(self, register: str, base: str, offset: int) -> None:
        self._memory(0xF9000000, self._number(register), base, offset, 8)  # str x

    def load_byte(self, register: str, base: str, offset: int) -> None:
        self._memory(0x39400000, self._number(register), base, offset, 1)  # ldrb

    def store_byte(self, register: str, base: str, offset: int) -> None:
        self._memory(0x39000000, self._number(register), base, offset, 1)  # strb

    def xor(self, register: str, other: str) -> None:
        self._three(0xCA000000, register, register, other)  # eor

    def unite(self, register: str, other: str) -> None:
        self._three(0xAA000000, register, register, other)  # orr

    def add(self, register: str, number: int) -> None:
        opcode = 0x91000000 if number >= 0 else 0xD1000000  # add, sub
        high, low = divmod(abs(number), 4096)
        if high:
            self._word(opcode | 1 << 22 | high << 10 | self._number(register) * 33)  # lsl 12
        self._word(opcode | low << 10 | self._number(register) * 33)

    def flags(self, base: str) -> None:
        self.load(self.temp, base, 0)
        self._word(0xD51B4200 | self._number(self.temp))  # msr nzcv, temp

    def vectors(self, base: str, offset: int) -> None:
        for index in range(8):
            self._memory(0xFD400000, 8 + index, base, offset + 8 * index, 8)  # ldr d

    def call(self, address: int) -> None:
        self._branch(0x94000000, address, bits=26, at=0)  # bl

    def stack(self, register: str, expected: int) -> None:
        self.point(self.temp, expected)
        self._word(0x910003E0 | self._number(register))  # mov register, sp
        self._three(0xCB000000, register, register, self.temp)  # sub

    def special(self, base: str, offset: int) -> None:
        for index in range(8):
            self._word(0x9E660000 | (8 + index) << 5 | self._number(self.temp))  # fmov temp, d
            self.load(self.other, base, offset + 8 * index)
            self.xor(self.temp, self.other)
            self.unite(self.wrong, self.temp)

    def jump_unless_zero(self, register: str, address: int) -> None:
        self._branch(0xB5000000 | self._number(register), address, bits=19, at=5)  # cbnz

    def jump_if_zero(self, register: str, address: int) -> None:
        self._branch(0xB4000000 | self._number(register), address, bits=19, at=5)  # cbz

    def jump(self, address: int) -> None:
        self._branch(0x14000000, address, bits=26, at=0)  # b

    def stop(self) -> None:
        self._word(0xD503201F)  # nop
