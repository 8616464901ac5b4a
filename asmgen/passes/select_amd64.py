"""Word operations to amd64: MULX and shifts of BMI2 where allowed, otherwise the plain forms.

Carries and borrows live in CF. A two-operand instruction overwrites the operand that has no other reader; `lea` adds
without touching flags or operands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from asmgen.passes.fuse import regions, taken_in
from asmgen.passes.select import Held, Selector, signed
from asmgen.passes.weave import Rows, two_flag_rows, weave
from asmgen.targets import amd64
from asmgen.targets.row import Instruction, Memory, Operand, Tied, Virtual
from asmgen.words import MASK, Bit, LoopOp, Op, Program, Term, Word

_LEA_FACTORS = {3: 2, 5: 4, 9: 8}


def _fits(value: int) -> bool:
    return -(2**31) <= signed(value) < 2**31


def takes(reader: Op, op: Op, word: Word) -> bool:
    """Whether the reader can take the operation in: a test a shift that leaves one bit."""
    return reader.kind == "nonzero" and op.kind == "shr" and word.most <= 1


class Amd64(Selector):
    """Selection for amd64 with or without `bmi2`."""

    current: Term | None = None  #: what rdx holds for mulx
    following: Sequence[Op | LoopOp] = ()

    def __init__(self, program: Program, features: frozenset[str], saved: frozenset[Bit]) -> None:
        super().__init__(program, features, saved)
        self.counts = Counter((op.kind, op.k) for ops, _ in regions(program) for op in ops)

        self.rows = two_flag_rows(program, saved) if "adx" in features else Rows()
        tested = self.rows.tests.values()
        #: Shifts that are part of what reads them.
        self.merged = {word: op for word, op in taken_in(program, takes).items() if word not in tested}

    def arranged(self, ops: Sequence[Op | LoopOp]) -> list[Op | LoopOp]:
        return weave(super().arranged(ops), self.rows.numbers) if self.bmi2 else super().arranged(ops)

    @property
    def bmi2(self) -> bool:
        return "bmi2" in self.features

    def make(self, name: str, operands: Sequence[Operand]) -> Instruction:
        return amd64.ins(name, *operands, source=self.source, note=self.note)

    # ---- operands ----

    def tied(self, term: Term | Bit, out: Virtual) -> Tied:
        """The operand that is overwritten by the result."""
        return Tied(self.register(term), out)

    def right(self, name: str, left: Operand, term: Term | Bit) -> None:
        """A two-operand instruction with a register, a constant that fits, or an input word on the right."""
        if isinstance(term, int) and _fits(term):
            self.emit(f"{name}_ri", left, signed(term))
        else:
            self.emit(f"{name}_rr", left, self.register(term))

    def order(self, x: Term | Bit, y: Term | Bit) -> tuple[Term | Bit, Term | Bit]:
        """Operands of a commutative operation with the one to be overwritten first."""

        def rank(term: Term | Bit) -> int:
            if isinstance(term, int):
                return 4
            if self.is_home(term):
                return 2  # loading it is the copy
            return 0 if self.last_use(term) else 3

        return (x, y) if rank(x) <= rank(y) else (y, x)

    # ---- sums ----

    def op_add(self, op: Op) -> None:
        total, carry = op.outs
        x, y = self.order(op.ins[0], op.ins[1])
        if op in self.rows.second:
            return self.row_add(op, x, y)
        if len(op.ins) == 3:
            if self.fetch(op.ins[2]):
                self.emit("cmc")
            self.right("adc", self.tied(x, self.result(total)), y)
        elif carry is None and (self.busy() or self.copied(x)) and self.lea(op, x, y):
            return
        else:
            self.right("add", self.tied(x, self.result(total)), y)
        self.defines(carry, "CF")

    def row_add(self, op: Op, x: Term | Bit, y: Term | Bit) -> None:
        """A sum of a row whose low halves carry in CF and whose high halves carry in OF."""
        flag, name = ("OF", "adox_rr") if self.rows.second[op] else ("CF", "adcx_rr")
        total, carry = op.outs
        if op in self.rows.begins:
            self.zero = self.fresh("0")
            self.emit("zero_r", self.zero)
            test = self.rows.begins[op]
            if test is not None:
                # A word less 1, in two's complement, carries just when it is not 0; OF stays 0.
                self.emit(name, self.tied(test[1], self.fresh("unused")), self.constant(MASK))
                self.defines(test[0], flag)
        if len(op.ins) == 3:
            self.fetch(op.ins[2], flag)
        self.emit(name, self.tied(x, self.result(total)), self.zero if y == 0 else self.register(y))
        self.defines(carry, flag)

    def copied(self, term: Term | Bit) -> bool:
        """Whether overwriting the word would take a copy first."""
        return not self.last_use(term) and not self.is_home(term)

    def lea(self, op: Op, x: Term | Bit, y: Term | Bit) -> bool:
        """x + y without flags; False when the constant does not fit."""
        if isinstance(y, int):
            if not _fits(y):
                return False
            self.emit("lea_rm", self.result(op.outs[0]), Memory(self.register(x), signed(y)))
            return True
        if self.is_home(x) and self.is_home(y):
            return False
        self.emit("lea_rm", self.result(op.outs[0]), Memory(self.register(x), 0, self.register(y), 1))
        return True

    def op_sub(self, op: Op) -> None:
        x, y = op.ins[0], op.ins[1]
        difference, borrow = op.outs
        if len(op.ins) == 3:
            if self.fetch(op.ins[2]):
                self.emit("cmc")
            self.right("sbb", self.tied(x, self.result(difference)), y)
        elif difference is None:
            if isinstance(y, int) and _fits(y):
                self.emit("cmp_ri", self.register(x), signed(y))
            else:
                self.emit("cmp_rr", self.register(x), self.register(y))
        elif x == 0:
            self.emit("neg_r", self.tied(y, self.result(difference)))
        elif borrow is None and isinstance(y, int) and (self.busy() or self.copied(x)) and _fits(-y & MASK):
            self.emit("lea_rm", self.result(difference), Memory(self.register(x), signed(-y & MASK)))
        else:
            self.right("sub", self.tied(x, self.result(difference)), y)
        self.defines(borrow, "CF")

    # ---- products ----

    def op_mul(self, op: Op) -> None:
        low, high = op.outs
        x, y = op.ins
        if high is None and isinstance(y, int):
            return self.multiple(op, x, y)
        if high is None and not (self.bmi2 and self.busy()):
            x, y = self.order(x, y)
            self.emit("imul_rr", self.tied(x, self.result(low)), self.register(y))
        elif self.bmi2:
            held, other = self.multiplier(op)
            self.current = held if not isinstance(held, Bit) else None
            if low is None:
                out = self.result(high)
                self.emit("mulx_rrr", out, self.fresh("unused"), self.register(other), self.register(held))
            else:
                first = self.result(low)
                self.emit("mulx_rrr", self.result(high), first, self.register(other), self.register(held))
        else:
            x, y = self.order(x, y)
            first = self.result(low)
            self.emit("mul_r", self.result(high), first, self.register(y), self.register(x))

    def multiple(self, op: Op, x: Term | Bit, factor: int) -> None:
        """A word times a constant that fits a word."""
        out = self.result(op.outs[0])
        if factor in _LEA_FACTORS:
            source = self.register(x)
            self.emit("lea_rm", out, Memory(source, 0, source, _LEA_FACTORS[factor]))
        elif _fits(factor):
            self.emit("imul_rri", out, self.register(x), signed(factor))
        else:
            self.emit("imul_rr", self.tied(factor, out), self.register(x))

    def multiplier(self, op: Op) -> tuple[Term | Bit, Term | Bit]:
        """(the factor for rdx, the other one): rdx keeps what it has, or takes what the next products share."""
        x, y = op.ins
        if self.current in (x, y) and self.current is not None:
            return (x, y) if self.current is x or self.current == x else (y, x)
        runs = [self.run(x, op), self.run(y, op)]
        if runs[0] == runs[1]:
            # The one with fewer readers ahead: the other one may stay in a register or in memory.
            return (x, y) if self.left.get(x, 0) <= self.left.get(y, 0) else (y, x)
        return (x, y) if runs[0] > runs[1] else (y, x)

    def run(self, factor: Term | Bit, op: Op) -> int:
        """How many products in a row have this factor."""
        muls = [
            each for each in self.following if isinstance(each, Op) and each.kind == "mul" and each.outs[1] is not None
        ]
        start = next((index for index, each in enumerate(muls) if each is op), len(muls))
        length = 0
        for each in muls[start:]:
            if factor not in each.ins:
                break
            length += 1
        return length

    # ---- shifts and masks ----

    def shift(self, op: Op, name: str) -> None:
        x = op.ins[0]
        out = self.result(op.outs[0])
        # From memory the three-operand form saves the load, which pays for the count's register from two on.
        near = name != "shl" and self.is_home(x) and self.counts[op.kind, op.k] > 1
        if self.bmi2 and (self.busy() or self.copied(x) or near):
            self.emit(f"{name}x_rrr", out, self.register(x), self.constant(op.k))
        else:
            self.emit(f"{name}_ri", self.tied(x, out), op.k)

    def op_shl(self, op: Op) -> None:
        x = op.ins[0]
        if op.k <= 3 and (self.busy() or self.copied(x)):
            source = self.register(x)
            if op.k == 1:
                self.emit("lea_rm", self.result(op.outs[0]), Memory(source, 0, source, 1))
            else:
                self.shift(op, "shl")
        else:
            self.shift(op, "shl")

    def op_shr(self, op: Op) -> None:
        if op.outs[0] not in self.merged:
            self.shift(op, "shr")

    def op_sar(self, op: Op) -> None:
        self.shift(op, "sar")

    def op_funnel(self, op: Op) -> None:
        high, low = op.ins
        out = self.result(op.outs[0])
        if self.last_use(low) and not self.last_use(high):
            self.emit("shrd_rri", self.tied(low, out), self.register(high), op.k)
        else:
            self.emit("shld_rri", self.tied(high, out), self.register(low), 64 - op.k)

    def op_and(self, op: Op) -> None:
        x, y = op.ins
        if isinstance(y, int) and y & (y + 1) == 0:
            k = y.bit_length()
            if k == 32:
                self.emit("movl_rr", self.result(op.outs[0]), self.register(x))
                return
            if self.bmi2 and k > 31 and (self.copied(x) or self.is_home(x)):
                self.emit("bzhi_rrr", self.result(op.outs[0]), self.register(x), self.constant(k))
                return
            if k == 63:
                self.emit("btr_ri", self.tied(x, self.result(op.outs[0])), k)
                return
        self.logic("and", op)

    def op_or(self, op: Op) -> None:
        self.logic("or", op)

    def op_xor(self, op: Op) -> None:
        self.logic("xor", op)

    def logic(self, name: str, op: Op) -> None:
        x, y = self.order(op.ins[0], op.ins[1])
        self.right(name, self.tied(x, self.result(op.outs[0])), y)

    def op_swap(self, op: Op) -> None:
        self.emit("bswap_r", self.tied(op.ins[0], self.result(op.outs[0])))

    # ---- bits ----

    def op_select(self, op: Op) -> None:
        bit, x, y = op.ins
        inverted = self.fetch(bit)
        if self.last_use(x) and not self.last_use(y):
            x, y, inverted = y, x, not inverted
        self.emit("cmovnc_rr" if inverted else "cmovc_rr", self.tied(y, self.result(op.outs[0])), self.register(x))

    def op_word(self, op: Op) -> None:
        if self.known_word(op):
            return
        inverted = self.fetch(op.ins[0])
        out = self.result(op.outs[0])
        held = self.flags["CF"]
        self.bit_word(inverted, out)
        self.flags["CF"] = None if held is None else self.flags["CF"]

    def bit_word(self, inverted: bool, out: Virtual) -> None:
        """CF, or its complement, as a word."""
        start = self.fresh("start")
        if inverted:
            self.emit("mov_ri", start, 1)
            self.emit("sbb_ri", Tied(start, out), 0)
        else:
            self.emit("mov_ri", start, 0)
            self.emit("adc_ri", Tied(start, out), 0)

    def op_mask(self, op: Op) -> None:
        if self.fetch(op.ins[0]):
            self.emit("cmc")
        bit = self.resolve(op.ins[0])
        self.emit("mask_r", self.result(op.outs[0]))
        self.flags["CF"] = bit  # sbb of a register with itself leaves the borrow as it was

    def op_nonzero(self, op: Op) -> None:
        x = op.ins[0]
        part = self.merged.get(x) if isinstance(x, Word) else None
        if op.outs[0] in self.rows.tests:
            return  # the row that begins with it tests it
        if part is not None:
            self.emit("bt_ri", self.register(part.ins[0]), part.k)
            self.defines(op.outs[0], "CF")
        elif self.last_use(x) and not self.is_home(x):
            self.emit("neg_r", self.tied(x, self.fresh("unused")))
            self.defines(op.outs[0], "CF")
        else:
            self.emit("cmp_ri", self.register(x), 1)
            self.defines(op.outs[0], "CF", inverted=True)

    def save_bit(self, held: Held) -> Virtual:
        out = self.fresh("carry")
        self.bit_word(held.inverted, out)
        return out

    def recall_bit(self, bit: Bit, saved: Virtual) -> None:
        self.emit("cmp_ri", saved, 1)
        self.flags["CF"] = Held(bit, True)

    def op_store(self, op: Op) -> None:
        memory, size = self.place(op)
        value = op.ins[0]
        if size < 8:
            self.store_bytes(memory, size, self.register(value))
        elif isinstance(value, int) and _fits(value):
            self.emit("mov_mi", memory, signed(value))
        else:
            self.emit("mov_mr", memory, self.register(value))

    def store_bytes(self, memory: Memory, size: int, value: Virtual) -> None:
        """The low bytes of a word, one by one."""
        for at in range(size):
            self.emit("movb_mr", replace(memory, offset=memory.offset + at), value)
            if at + 1 < size:
                shifted = self.fresh()
                self.emit("shr_ri", Tied(value, shifted), 8)
                value = shifted

    def join_byte(self, out: Virtual, total: Virtual | None, memory: Memory) -> None:
        if total is None:
            self.emit("movzbl_rm", out, memory)
            return
        byte, moved = self.fresh(), self.fresh()
        self.emit("movzbl_rm", byte, memory)
        self.emit("shl_ri", Tied(total, moved), 8)
        self.emit("or_rr", Tied(moved, out), byte)
