"""The instructions of amd64, family by family; the module `amd64` says what their names mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from asmgen.targets import amd64_encoding as code
from asmgen.targets import amd64_meaning as means
from asmgen.targets.amd64_encoding import Encode, form, vex_form
from asmgen.targets.amd64_text import att
from asmgen.targets.row import Meaning, Role, Row, Slot

ALL = frozenset({"CF", "OF", "ZF", "SF", "PF", "AF"})
CF, OF, ZF, PF, AF = (frozenset({name}) for name in ("CF", "OF", "ZF", "PF", "AF"))
NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Between:
    """The whole numbers from `least` to `most`: what an immediate may be."""

    least: int
    most: int

    def __str__(self) -> str:
        return f"a number from {self.least} to {self.most}"

    def __call__(self, value: int) -> bool:
        return self.least <= value <= self.most


SIGNED_32 = Between(-(2**31), 2**31 - 1)
ANY_32 = Between(-(2**31), 2**32 - 1)
ANY_64 = Between(-(2**63), 2**64 - 1)
COUNT = Between(1, 63)


def _read(kind: str) -> Slot:
    return Slot(kind)


def _write(kind: str) -> Slot:
    return Slot(kind, Role.OUT)


def _change(kind: str) -> Slot:
    return Slot(kind, Role.INOUT)


def _number(legal: Between) -> Slot:
    return Slot("imm", legal=legal)


def _fixed(place: str, role: Role, kind: str = "r64") -> Slot:
    return Slot(kind, role, fixed=place, implicit=True)


_LETTERS = {"r": "r", "m": "m", "a": "m", "i": "i", "l": "l"}


def _name(mnemonic: str, slots: Sequence[Slot]) -> str:
    letters = "".join(_LETTERS[slot.kind[0]] for slot in slots if not slot.implicit)
    return f"{mnemonic}_{letters}" if letters else mnemonic


def _row(
    mnemonic: str,
    slots: Sequence[Slot],
    meaning: Meaning,
    encode: Encode,
    *,
    op: str = "",
    twice: bool = False,
    **more: Any,
) -> Row:
    """A row named by its mnemonic and printed operands; the text begins with `op`, by default the 64-bit mnemonic."""
    text = att(op or f"{mnemonic}q", slots, twice=twice)
    return Row(_name(mnemonic, slots), mnemonic, tuple(slots), meaning, encode, text, **more)


def _in_memory(row: Row, at: int) -> Row:
    """The row with the operand at `at`, which its encoding has in the rm field, in memory."""
    slots = list(row.slots)
    slots[at] = replace(slots[at], kind="m" + slots[at].kind.strip("rs"))
    cost = f"{row.cost}_{'load' if slots[at].role is Role.IN else 'store'}"
    name = _name(row.mnemonic, slots)
    return replace(row, name=name, slots=tuple(slots), cost=cost, memory_form=(), commutes=None)


def _rows(at: int, *row: Any, **more: Any) -> Iterator[Row]:
    """The row, and the same with the operand at `at` in memory."""
    register = _row(*row, **more)
    memory = _in_memory(register, at)
    yield replace(register, memory_form=(*register.memory_form, (at, memory.name)))
    yield memory


def _moves() -> Iterator[Row]:
    def move(mnemonic: str, slots: Sequence[Slot], encode: Encode, cost: str, **more: Any) -> Row:
        return _row(mnemonic, slots, means.copy, encode, cost=cost, **more)

    def narrow(*opcode: int, **more: Any) -> Encode:
        return form(*opcode, wide=False, **more)

    to_or_from: dict[str, Any] = {"memory_form": ((0, "mov_mr"), (1, "mov_rm"))}
    yield move("mov", (_write("r64s"), _read("r64s")), form(0x89, reg=1, rm=0), "mov", **to_or_from)
    yield move("mov", (_write("r64s"), _read("m64")), form(0x8B, reg=0, rm=1), "load")
    yield move("mov", (_write("m64"), _read("r64s")), form(0x89, reg=1, rm=0), "store")
    to_or_from = {"memory_form": ((0, "movl_mr"), (1, "movl_rm"))}
    yield move("movl", (_write("r32"), _read("r32")), narrow(0x89, reg=1, rm=0), "mov", op="movl", **to_or_from)
    yield move("movl", (_write("r32"), _read("m32")), narrow(0x8B, reg=0, rm=1), "load", op="movl")
    yield move("movl", (_write("m32"), _read("r32")), narrow(0x89, reg=1, rm=0), "store", op="movl")
    yield move("movw", (_write("m16"), _read("r16")), narrow(0x89, reg=1, rm=0, prefix=b"\x66"), "store", op="movw")
    yield move("movb", (_write("m8"), _read("r8")), narrow(0x88, reg=1, rm=0, byte=1), "store", op="movb")
    for mnemonic, bits, opcode in (("movzbl", 8, 0xB6), ("movzwl", 16, 0xB7)):
        encode = narrow(0x0F, opcode, reg=0, rm=1, byte=1 if bits == 8 else None)
        widened = move(mnemonic, (_write("r32"), _read(f"r{bits}")), encode, "alu", op=mnemonic)
        yield replace(widened, memory_form=((1, f"{mnemonic}_rm"),))
        yield replace(_in_memory(widened, 1), cost="load")
    yield move("lea", (_write("r64s"), _read("addr")), form(0x8D, reg=0, rm=1), "lea")

    number = _row("mov", (_write("r64s"), _number(SIGNED_32)), means.number(64), code.move_immediate)
    yield replace(number, memory_form=((0, "mov_mi"),))
    yield replace(_in_memory(number, 0), cost="store")
    yield _row("movl", (_write("r32"), _number(ANY_32)), means.number(32), code.register_form(0xB8, imm=4), op="movl")
    encode = code.register_form(0xB8, wide=True, imm=8)
    yield _row("movabs", (_write("r64"), _number(ANY_64)), means.number(64), encode)

    for letters, opcode, cost in (("rm", 0xF0, "movbe_load"), ("mr", 0xF1, "movbe_store")):
        slots = (_write(f"{letters[0]}64"), _read(f"{letters[1]}64"))
        encode = form(0x0F, 0x38, opcode, reg=letters.index("r"), rm=letters.index("m"))
        yield _row("movbe", slots, means.swap_bytes, encode, cost=cost, feature="movbe")
    yield _row("bswap", (_change("r64"),), means.swap_bytes, code.register_form(0x0F, 0xC8, wide=True), cost="bswap")
    both = (_change("r64"), _change("r64"))
    yield _row("xchg", both, means.exchange, code.exchange, cost="xchg", commutes=(0, 1))


def _stack() -> Iterator[Row]:
    rsp = _fixed("rsp", Role.INOUT)
    slots = (_read("r64s"), _fixed("-8(rsp)", Role.OUT, "m64"), rsp)
    yield _row("push", slots, means.push, code.register_form(0x50), cost="push")
    slots = (_write("r64"), _fixed("(rsp)", Role.IN, "m64"), rsp)
    yield _row("pop", slots, means.pop, code.register_form(0x58), cost="pop")


def _two_operands() -> Iterator[Row]:
    """add to cmp, on 64 bits in all forms, on 32 to registers."""
    for digit, name in enumerate(("add", "or", "adc", "sbb", "and", "sub", "xor", "cmp")):
        chained = name in ("adc", "sbb")
        destroys = AF if name in ("or", "and", "xor") else NONE
        commutes = None if name in ("sub", "sbb", "cmp") else (0, 1)
        for bits, op in ((64, f"{name}q"), (32, f"{name}l")):
            meaning = {
                "add": means.add(bits),
                "adc": means.add(bits, carry=True),
                "sub": means.subtract(bits),
                "sbb": means.subtract(bits, borrow=True),
                "cmp": means.subtract(bits, keep=False),
            }.get(name) or means.logic(name, bits)
            more: dict[str, Any] = {
                "op": op,
                "reads": CF if chained else NONE,
                "writes": ALL - destroys,
                "destroys": destroys,
                "cost": "adc" if chained else "alu",
            }
            wide = bits == 64
            kind, mnemonic, legal = ("r64s", name, SIGNED_32) if wide else ("r32", op, ANY_32)
            left = _read(kind) if name == "cmp" else _change(kind)
            encode, immediate = form(digit << 3 | 1, reg=1, rm=0, wide=wide), code.arithmetic_immediate(digit, wide)
            registers = (mnemonic, (left, _read(kind)), meaning, encode)
            number = (mnemonic, (left, _number(legal)), meaning, immediate)
            if wide:
                yield from _rows(0, *registers, commutes=commutes, memory_form=((1, f"{name}_rm"),), **more)
                yield from _rows(0, *number, **more)
                more["cost"] += "_load"
                yield _row(name, (left, _read("m64")), meaning, form(digit << 3 | 3, reg=0, rm=1), **more)
            else:
                yield _row(*registers, commutes=commutes, **more)
                yield _row(*number, **more)
                more["cost"] += "_load"
                yield _row(op, (left, _read("m32")), meaning, form(digit << 3 | 3, reg=0, rm=1, wide=False), **more)
    byte = (_change("r8"), _number(Between(-128, 255)))
    yield _row("addb", byte, means.add(8), code.add_byte, op="addb", writes=ALL, cost="alu")
    for digit, name in ((0, "add"), (1, "or"), (4, "and"), (6, "xor")):
        meaning, more = (means.add(8), {}) if name == "add" else (means.logic(name, 8), {"destroys": AF})
        more |= {"op": f"{name}b", "writes": ALL - more.get("destroys", NONE), "cost": "alu", "commutes": (0, 1)}
        yield _row(f"{name}b", (_change("r8"), _read("r8")), meaning, code.byte_pair(digit << 3), **more)


def _tests() -> Iterator[Row]:
    flags: dict[str, Any] = {"writes": ALL - AF, "destroys": AF}
    meaning = means.logic("and", 64, keep=False)
    encode = form(0x85, reg=1, rm=0)
    yield from _rows(0, "test", (_read("r64s"), _read("r64s")), meaning, encode, commutes=(0, 1), **flags)
    yield from _rows(0, "test", (_read("r64s"), _number(SIGNED_32)), meaning, code.test_immediate(True), **flags)
    meaning = means.logic("and", 32, keep=False)
    flags["op"] = "testl"
    encode = form(0x85, reg=1, rm=0, wide=False)
    yield _row("testl", (_read("r32"), _read("r32")), meaning, encode, commutes=(0, 1), **flags)
    yield _row("testl", (_read("r32"), _number(ANY_32)), meaning, code.test_immediate(False), **flags)

    slots = (_read("r64"), _number(Between(0, 63)))
    encode = form(0x0F, 0xBA, digit=4, rm=0, imm8=1)
    yield _row("bt", slots, means.bit_test, encode, writes=CF, destroys=ALL - CF - ZF)
    slots, encode = (_change("r64"), slots[1]), form(0x0F, 0xBA, digit=6, rm=0, imm8=1)
    yield _row("btr", slots, means.bit_reset, encode, writes=CF, destroys=ALL - CF - ZF)


def _one_operand() -> Iterator[Row]:
    for mnemonic, opcode, digit, meaning, writes in (
        ("inc", 0xFF, 0, means.step(64, up=True), ALL - CF),
        ("dec", 0xFF, 1, means.step(64, up=False), ALL - CF),
        ("not", 0xF7, 2, means.invert(64), NONE),
        ("neg", 0xF7, 3, means.negate(64), ALL),
    ):
        yield from _rows(0, mnemonic, (_change("r64"),), meaning, form(opcode, digit=digit, rm=0), writes=writes)
    yield _row("notb", (_change("r8"),), means.invert(8), form(0xF6, digit=2, rm=0, wide=False, byte=0), op="notb")


def _multiplications() -> Iterator[Row]:
    flags: dict[str, Any] = {"writes": CF | OF, "destroys": ALL - CF - OF}
    slots = (_fixed("rdx", Role.OUT), _fixed("rax", Role.OUT), _read("r64"), _fixed("rax", Role.IN))
    encode = form(0xF7, digit=4, rm=2)
    yield from _rows(2, "mul", slots, means.multiply, encode, cost="mul", commutes=(2, 3), **flags)
    slots = (_write("r64"), _write("r64"), _read("r64"), _fixed("rdx", Role.IN))
    encode = vex_form(0xF6, reg=0, vvvv=1, rm=2, pp=3)
    more: dict[str, Any] = {"cost": "mulx", "commutes": (2, 3), "feature": "bmi2"}
    yield from _rows(2, "mulx", slots, means.multiply_flagless, encode, **more)
    pair, encode = (_change("r64"), _read("r64")), form(0x0F, 0xAF, reg=0, rm=1)
    yield from _rows(1, "imul", pair, means.multiply_signed, encode, cost="imul", commutes=(0, 1), **flags)
    triple, encode = (_write("r64"), _read("r64"), _number(SIGNED_32)), code.multiply_immediate
    yield from _rows(1, "imul", triple, means.multiply_signed, encode, cost="imul", **flags)


def _chains() -> Iterator[Row]:
    """adcx and adox, each with one flag to itself."""
    for mnemonic, flag, prefix in (("adcx", CF, b"\x66"), ("adox", OF, b"\xf3")):
        encode = form(0x0F, 0x38, 0xF6, reg=0, rm=1, prefix=prefix)
        more: dict[str, Any] = {"reads": flag, "writes": flag, "cost": "adx", "commutes": (0, 1), "feature": "adx"}
        yield from _rows(1, mnemonic, (_change("r64"), _read("r64")), means.add_on(*flag), encode, **more)


def _shifts() -> Iterator[Row]:
    """By immediates from 1 on, so that flags are always written; OF is defined for 1 only and counts as destroyed."""
    flags: dict[str, Any] = {"writes": ALL - OF - AF, "destroys": OF | AF}
    for bits in (64, 32):
        for name, digit, meaning in (
            ("shl", 4, means.shift_left(bits)),
            ("shr", 5, means.shift_right(bits)),
            ("sar", 7, means.shift_right(bits, arithmetic=True)),
        ):
            single = (_change(f"r{bits}"), _number(Between(1, bits - 1)))
            mnemonic, op = (name, f"{name}q") if bits == 64 else (f"{name}l", f"{name}l")
            encode = code.shift_immediate(digit, bits == 64)
            yield _row(mnemonic, single, meaning, encode, op=op, cost="shift", **flags)
    single = (_change("r64"), _number(COUNT))
    for name, digit, meaning in (("rol", 0, means.rotate_left), ("ror", 1, means.rotate_right)):
        yield _row(name, single, meaning, code.shift_immediate(digit, True), cost="shift", writes=CF, destroys=OF)
    double = (_change("r64"), _read("r64"), _number(COUNT))
    for name, opcode, meaning in (("shld", 0xA4, means.double_left), ("shrd", 0xAC, means.double_right)):
        yield _row(name, double, meaning, form(0x0F, opcode, reg=1, rm=0, imm8=2), cost="shld", **flags)


def _bit_manipulation() -> Iterator[Row]:
    """BMI1 and BMI2."""
    shift: dict[str, Any] = {"cost": "shift", "feature": "bmi2"}
    slots = (_write("r64"), _read("r64"), _number(COUNT))
    yield from _rows(1, "rorx", slots, means.rotate_flagless, vex_form(0xF0, reg=0, rm=1, pp=3, imm8=2), **shift)
    slots = (_write("r64"), _read("r64"), _read("r64"))
    for mnemonic, pp, meaning in (
        ("shlx", 1, means.variable_left),
        ("sarx", 2, means.variable_right_signed),
        ("shrx", 3, means.variable_right),
    ):
        yield from _rows(1, mnemonic, slots, meaning, vex_form(0xF7, reg=0, rm=1, vvvv=2, pp=pp), **shift)
    flags: dict[str, Any] = {"writes": ALL - AF - PF, "destroys": AF | PF}
    encode = vex_form(0xF5, reg=0, rm=1, vvvv=2, pp=0)
    yield from _rows(1, "bzhi", slots, means.zero_high, encode, cost="bzhi", feature="bmi2", **flags)
    encode = vex_form(0xF2, reg=0, vvvv=1, rm=2, pp=0)
    yield from _rows(2, "andn", slots, means.and_not, encode, feature="bmi1", **flags)


def _conditions() -> Iterator[Row]:
    for number, (condition, (reads, _)) in enumerate(means.CONDITIONS.items()):
        bit, name = means.bit(condition), f"set{condition}"
        encode = form(0x0F, 0x90 + number, rm=0, wide=False, byte=0)
        yield _row(name, (_change("r8"),), bit, encode, op=name, cost="setcc", reads=reads)  # the other bits stay
        yield _row(name, (_write("m8"),), bit, encode, op=name, cost="store", reads=reads)
        pair, encode = (_change("r64"), _read("r64")), form(0x0F, 0x40 + number, reg=0, rm=1)
        cost = "cmov_two" if {"CF", "ZF"} <= reads else "cmov"  # CF is renamed apart from ZF on some cores
        yield from _rows(1, f"cmov{condition}", pair, means.move_if(condition), encode, cost=cost, reads=reads)
        encode = code.relative(bytes([0x70 + number]), bytes([0x0F, 0x80 + number]))
        more: dict[str, Any] = {"op": f"j{condition}", "reads": reads, "control": "branch", "cost": "branch"}
        yield _row(f"j{condition}", (_read("label"),), bit, encode, **more)


def _others() -> Iterator[Row]:
    idiom: dict[str, Any] = {"op": "xorl", "twice": True, "writes": ALL - AF, "destroys": AF, "cost": "zero"}
    yield _row("zero", (_write("r32"),), means.zero, form(0x31, reg=0, rm=0, wide=False), **idiom)
    idiom = {"op": "sbbq", "twice": True, "reads": CF, "writes": ALL, "cost": "adc"}
    yield _row("mask", (_write("r64"),), means.mask, form(0x19, reg=0, rm=0), **idiom)
    for mnemonic, opcode, meaning, reads in (
        ("clc", 0xF8, means.set_carry(lambda carry: 0), NONE),
        ("stc", 0xF9, means.set_carry(lambda carry: 1), NONE),
        ("cmc", 0xF5, means.set_carry(lambda carry: 1 - carry), CF),
    ):
        yield _row(mnemonic, (), meaning, code.plain(opcode), op=mnemonic, reads=reads, writes=CF, cost="flag")
    for mnemonic, slots, encode, control in (
        ("jmp", (_read("label"),), code.relative(b"\xeb", b"\xe9"), "jump"),
        ("call", (_read("label"),), code.relative(b"", b"\xe8"), "call"),
        ("ret", (), code.plain(0xC3), "ret"),
        ("endbr64", (), code.plain(0xF3, 0x0F, 0x1E, 0xFA), None),
        ("nop", (), code.plain(0x90), None),
    ):
        yield _row(mnemonic, slots, means.nothing, encode, op=mnemonic, control=control, cost=control or "nop")


_FAMILIES = (
    _moves,
    _stack,
    _two_operands,
    _tests,
    _one_operand,
    _multiplications,
    _chains,
    _shifts,
    _bit_manipulation,
    _conditions,
    _others,
)

ROWS: Mapping[str, Row] = {row.name: row for family in _FAMILIES for row in family()}
