"""Word operations to arm64.

Carries live in C; a borrow is the complement of C, which is how SUBS leaves it and SBCS takes it. A shift or a
product that only one sum reads becomes part of that sum: shifted operands, MADD and MSUB.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from asmgen.passes.fuse import first_readers, taken_in
from asmgen.passes.select import Held, Selector
from asmgen.targets import arm64
from asmgen.targets.row import Instruction, Memory, Operand, Register, Virtual
from asmgen.words import MASK, Bit, Op, Program, Term, Word

_SHIFTS = {"shl": "lsl", "shr": "lsr", "sar": "asr"}


def _immediate(value: int) -> bool:
    return 0 <= value < 4096 or (value % 4096 == 0 and 0 <= value < 1 << 24)


def _ones(mask: Term | Bit) -> int:
    """How many bits a mask of low bits has; 0 of anything else."""
    return mask.bit_length() if isinstance(mask, int) and mask & (mask + 1) == 0 else 0


def takes(reader: Op, op: Op, word: Word) -> bool:
    """Whether the reader can take the operation in: sums a product's low half or a shift, masks a shift right,
    a shift left a mask, a constant that is masked a bit, a test the highest bit."""
    first = reader.ins[0] is word
    if op.kind == "mul":
        low_only = len(op.outs) == 1 or op.outs[1] is None
        plain = reader.kind in ("add", "sub") and len(reader.ins) == 2 and reader.outs[1] is None
        return low_only and plain and not (reader.kind == "sub" and first)
    if reader.kind == "nonzero":
        return op.kind == "shr" and op.k == 63
    if op.kind == "mask":
        return reader.kind == "and" and isinstance(reader.ins[1], int) and not arm64.is_bitmask(reader.ins[1])
    if op.kind == "and":
        return reader.kind == "shl" and 0 < _ones(op.ins[1]) <= 64 - reader.k
    if op.kind not in _SHIFTS or len(reader.ins) != 2:
        return False
    if isinstance(reader.ins[1], int):
        return op.kind == "shr" and reader.kind == "and" and _ones(reader.ins[1]) > 0
    return reader.kind in ("add", "or", "xor", "and") or (reader.kind == "sub" and not first)


def late(op: Op) -> bool:
    """Whether a shift costs more inside a sum than outside: any but a short one to the left takes the multiplier's unit
    and a cycle more on most cores."""
    return op.kind in _SHIFTS and not (op.kind == "shl" and op.k <= 4)


class Arm64(Selector):
    """Selection for arm64."""

    carry_flag = "C"

    def __init__(self, program: Program, features: frozenset[str], saved: frozenset[Bit]) -> None:
        super().__init__(program, features, saved)
        self.merged = taken_in(program, takes, late)  #: shifts and products that are part of what reads them
        self.borrowed = {bit for bit, op in first_readers(program).items() if op.kind == "sub"}

    def make(self, name: str, operands: Sequence[Operand]) -> Instruction:
        return arm64.ins(name, *operands, source=self.source, note=self.note)

    def operand(self, term: Term | Bit) -> Register | Virtual:
        """A word as an operand; zero is a register."""
        return arm64.XZR if term == 0 and isinstance(term, int) else self.register(term)

    def target(self, word: Word | Bit | None) -> Register | Virtual:
        """Where a flag-setting instruction writes."""
        return self.result(word) if isinstance(word, Word) else arm64.XZR

    # ---- sums ----

    def op_add(self, op: Op) -> None:
        total, carry = op.outs
        x, y = op.ins[0], op.ins[1]
        suffix = "s" if carry is not None else ""
        if len(op.ins) == 3:
            self.fetch_as(op.ins[2], inverted=False)
            self.carrying(("adc", "sbc"), suffix, total, x, y)
        elif isinstance(x, Word) and x in self.merged:
            self.sum(f"add{suffix}", total, x, y)
        elif isinstance(y, int) and _immediate(y):
            self.emit(f"add{suffix}", self.target(total), self.operand(x), y)
        elif isinstance(y, int) and _immediate(-y & MASK):
            # x + (2^64 - c) carries just where x - c does not borrow.
            self.emit(f"sub{suffix}", self.target(total), self.operand(x), -y & MASK)
        else:
            self.sum(f"add{suffix}", total, x, y)
        self.defines(carry, "C")

    def op_sub(self, op: Op) -> None:
        difference, borrow = op.outs
        x, y = op.ins[0], op.ins[1]
        suffix = "s" if borrow is not None else ""
        if len(op.ins) == 3:
            self.fetch_as(op.ins[2], inverted=True)
            self.carrying(("sbc", "adc"), suffix, difference, x, y)
        elif isinstance(y, int) and _immediate(y):
            self.emit(f"sub{suffix}", self.target(difference), self.operand(x), y)
        elif isinstance(y, int) and _immediate(-y & MASK):
            self.emit(f"add{suffix}", self.target(difference), self.operand(x), -y & MASK)
        else:
            self.sum(f"sub{suffix}", difference, x, y)
        self.defines(borrow, "C", inverted=True)

    def carrying(
        self, names: tuple[str, str], suffix: str, out: Word | Bit | None, x: Term | Bit, y: Term | Bit
    ) -> None:
        """A sum or difference with C in it; adding all ones is subtracting zero, for SBC adds the complement."""
        name, y = (names[1], 0) if y == MASK else (names[0], y)
        self.emit(f"{name}{suffix}", self.target(out), self.operand(x), self.operand(y))

    def sum(self, name: str, out: Word | Bit | None, x: Term | Bit, y: Term | Bit) -> None:
        """A sum or difference that may take in a shift or product."""
        if isinstance(x, Word) and x in self.merged:
            x, y = y, x
        part = self.merged.get(y) if isinstance(y, Word) else None
        if part is None:
            self.emit(name, self.target(out), self.operand(x), self.operand(y))
        elif part.kind == "mul":
            left, right = part.ins
            self.emit(
                "madd" if name == "add" else "msub",
                self.target(out),
                self.operand(left),
                self.operand(right),
                self.operand(x),
            )
        else:
            self.emit(
                f"{name}_{_SHIFTS[part.kind]}", self.target(out), self.operand(x), self.operand(part.ins[0]), part.k
            )

    # ---- products ----

    def op_mul(self, op: Op) -> None:
        low, high = op.outs
        x, y = op.ins
        if isinstance(low, Word) and low in self.merged:
            return
        if high is None and isinstance(y, int) and self.multiple(low, x, y):
            return
        if low is not None:
            self.emit("mul", self.result(low), self.operand(x), self.operand(y))
        if high is not None:
            self.emit("umulh", self.result(high), self.operand(x), self.operand(y))

    def multiple(self, out: Word | Bit | None, x: Term | Bit, factor: int) -> bool:
        """A word times a constant by one or two shifted adds: cheaper than a product on every core."""
        places = [place for place in range(64) if factor >> place & 1]
        if places[0] != 0 or len(places) > 3:
            return False
        source = total = self.operand(x)
        for index, place in enumerate(places[1:], 2):
            made = self.result(out) if index == len(places) else self.fresh()
            self.emit("add_lsl", made, total, source, place)
            total = made
        return True

    # ---- shifts and masks ----

    def shift(self, op: Op) -> None:
        if isinstance(op.outs[0], Word) and op.outs[0] in self.merged:
            return
        part = self.merged.get(op.ins[0]) if isinstance(op.ins[0], Word) else None
        if part is not None:
            width = _ones(part.ins[1])
            self.emit("ubfiz", self.result(op.outs[0]), self.operand(part.ins[0]), op.k, width)
        else:
            self.emit(f"{_SHIFTS[op.kind]}_imm", self.result(op.outs[0]), self.operand(op.ins[0]), op.k)

    op_shl = op_shr = op_sar = shift

    def op_funnel(self, op: Op) -> None:
        self.emit("extr", self.result(op.outs[0]), self.operand(op.ins[0]), self.operand(op.ins[1]), op.k)

    def op_and(self, op: Op) -> None:
        if op.outs[0] in self.merged:
            return
        x, y = op.ins
        part = self.merged.get(x) if isinstance(x, Word) else None
        if part is not None and part.kind == "mask":
            name = "csel_cc" if self.fetch(part.ins[0]) else "csel_cs"
            self.emit(name, self.result(op.outs[0]), self.operand(y), arm64.XZR)
        elif part is not None and isinstance(y, int):
            width = min(y.bit_length(), 64 - part.k)
            self.emit("ubfx", self.result(op.outs[0]), self.operand(part.ins[0]), part.k, width)
        else:
            self.logic("and", op)

    def op_or(self, op: Op) -> None:
        self.logic("orr", op)

    def op_xor(self, op: Op) -> None:
        self.logic("eor", op)

    def logic(self, name: str, op: Op) -> None:
        x, y = op.ins
        if isinstance(y, int) and arm64.is_bitmask(y):
            self.emit(f"{name}_imm", self.result(op.outs[0]), self.operand(x), y)
        else:
            self.sum(name, op.outs[0], x, y)

    def op_swap(self, op: Op) -> None:
        self.emit("rev", self.result(op.outs[0]), self.operand(op.ins[0]))

    # ---- bits ----

    def fetch_as(self, bit: Term | Bit, inverted: bool) -> None:
        """Bring the bit into C, or its complement."""
        if self.fetch(bit) != inverted:
            held = self.flags["C"]
            assert held is not None
            word = self.fresh("carry")
            self.emit("cset_cc", word)
            self.emit("cmp", word, 1)
            self.flags["C"] = Held(held.bit, not held.inverted)

    def op_select(self, op: Op) -> None:
        bit, x, y = op.ins
        name = "csel_cc" if self.fetch(bit) else "csel_cs"
        self.emit(name, self.result(op.outs[0]), self.operand(x), self.operand(y))

    def op_word(self, op: Op) -> None:
        if self.known_word(op):
            return
        name = "cset_cc" if self.fetch(op.ins[0]) else "cset_cs"
        self.emit(name, self.result(op.outs[0]))

    def op_mask(self, op: Op) -> None:
        if op.outs[0] in self.merged:
            return
        name = "csetm_cc" if self.fetch(op.ins[0]) else "csetm_cs"
        self.emit(name, self.result(op.outs[0]))

    def op_nonzero(self, op: Op) -> None:
        bit, x = op.outs[0], op.ins[0]
        top = self.merged.get(x) if isinstance(x, Word) else None
        if top is not None:
            self.emit("cmn", self.operand(top.ins[0]), self.operand(top.ins[0]))
            self.defines(bit, "C")
        elif bit in self.borrowed:
            self.emit("cmp", arm64.XZR, self.operand(x))
            self.defines(bit, "C", inverted=True)
        else:
            self.emit("cmp", self.operand(x), 1)
            self.defines(bit, "C")

    def save_bit(self, held: Held) -> Virtual:
        out = self.fresh("carry")
        self.emit("cset_cc" if held.inverted else "cset_cs", out)
        return out

    def recall_bit(self, bit: Bit, saved: Virtual) -> None:
        if bit in self.borrowed:
            self.emit("cmp", arm64.XZR, saved)
        else:
            self.emit("cmp", saved, 1)
        self.flags["C"] = Held(bit, bit in self.borrowed)

    def op_store(self, op: Op) -> None:
        memory, size = self.place(op)
        if size == 8:
            self.emit("str", self.operand(op.ins[0]), memory)
            return
        value = self.operand(op.ins[0])
        for at in range(size):
            self.emit("strb", value, replace(memory, offset=memory.offset + at))
            if at + 1 < size and value != arm64.XZR:
                shifted = self.fresh()
                self.emit("lsr_imm", shifted, value, 8)
                value = shifted

    def join_byte(self, out: Virtual, total: Virtual | None, memory: Memory) -> None:
        if total is None:
            self.emit("ldrb", out, memory)
            return
        byte = self.fresh()
        self.emit("ldrb", byte, memory)
        self.emit("orr_lsl", out, byte, total, 8)
