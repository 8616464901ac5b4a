"""The rows of arm64 that compute in registers: sums, bitwise operations, moves, products, shifts and choices.

Opcodes are those of the 64-bit forms in the Arm Architecture Reference Manual, C4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from asmgen.targets import arm64_meaning as means
from asmgen.targets.arm64_encoding import (
    ARITHMETIC,
    BITMASK,
    HALFWORD,
    POSITION,
    Piece,
    counted,
    immediate,
    is_bitmask,
    register,
    shift_amount,
)
from asmgen.targets.arm64_forms import (
    CHANGED,
    D_SP,
    D_W,
    D_Z,
    IN,
    M_W,
    N_AND_M,
    N_SP,
    N_W,
    NO_A,
    NO_D,
    NO_M,
    NO_N,
    A,
    D,
    Form,
    M,
    N,
    form,
)
from asmgen.targets.arm64_meaning import CONDITIONS, just
from asmgen.targets.row import Meaning, Operand

SET_FLAGS = 1 << 29
HALF = (1 << 32) - 1

#: The operands of instructions on 32 bits. They are here for other people's code: ours is on 64 bits.
HALVES = register("r32", IN, 5), register("r32", IN, 16)


def sums() -> Iterator[Form]:
    """add, sub, adc, sbc, their flag-setting forms, and the names of these with the zero register."""
    for name, compare, carried, opcode, compute in (
        ("add", "cmn", "adc", 0x8B000000, means.plus),
        ("sub", "cmp", "sbc", 0xCB000000, means.minus),
    ):
        setting, code = means.flagging(compute), opcode + SET_FLAGS
        yield from _sum(name, opcode, (D, N, M), (D_SP, N_SP), means.quiet(setting))
        yield from _sum(f"{name}s", code, (D_Z, N, M), (D_Z, N_SP), setting, flags=True)
        yield from _sum(compare, code + NO_D, (N, M), (N_SP,), means.comparing(setting), flags=True)
        narrow = just(partial(_low_half, 1 if name == "add" else -1))
        yield form(f"{name}_w", opcode - 0x80000000, (D_W, *HALVES), narrow)
        setting, opcode = means.flagging(compute, carry=True), opcode + 0x0F000000
        code, swap = opcode + SET_FLAGS, (1, 2) if name == "add" else None
        yield form(carried, opcode, (D, N, M), means.quiet(setting), reads="C", cost="carry", commutes=swap)
        carrying = partial(form, reads="C", cost="carry_flags", flags=True)
        yield carrying(f"{carried}s", code, (D_Z, N, M), setting, commutes=swap)
        if name == "sub":
            setting = means.of_zero(setting)
            yield form("ngc", opcode + NO_N, (D, M), means.quiet(setting), reads="C", cost="carry")
            yield carrying("ngcs", code + NO_N, (D_Z, M), setting)
    negate = means.of_zero(means.flagging(means.minus))
    yield form("neg", 0xCB000000 + NO_N, (D, M), means.quiet(negate))
    yield form("negs", 0xEB000000 + NO_N, (D_Z, M), negate, flags=True, cost="flags")


def _sum(
    name: str,
    opcode: int,
    pieces: Sequence[Piece],
    pieces_imm: Sequence[Piece],
    meaning: Meaning,
    *,
    flags: bool = False,
) -> Iterator[Form]:
    """The second operand a register, a number, or a shifted register; short left shifts are cheaper than others."""
    made = partial(form, meaning=meaning, flags=flags, cost="flags" if flags else "alu")
    last = len(pieces) - 1
    yield made(name, opcode, pieces, commutes=(last - 1, last) if name in ("add", "adds", "cmn") else None)
    yield made(f"{name}_imm", opcode + 0x06000000, (*pieces_imm, ARITHMETIC), family=name)
    made = partial(form, meaning=means.shifted("lsl", meaning), family=f"{name}_lsl", flags=flags)
    yield made(f"{name}_lsl", opcode, (*pieces, shift_amount("lsl", 0, 4)), cost="flags" if flags else "alu")
    yield made(f"{name}_lsl_far", opcode, (*pieces, shift_amount("lsl", 5, 63)), cost="shifted")
    yield from _shifted(name, opcode, pieces, meaning, ("lsr", "asr"), flags=flags, cost="shifted")


def _shifted(
    name: str, opcode: int, pieces: Sequence[Piece], meaning: Meaning, kinds: Sequence[str], *, flags: bool, cost: str
) -> Iterator[Form]:
    """The last operand shifted, a row for each kind of shift."""
    for kind in kinds:
        code, shifted = opcode + (list(means.SHIFTS).index(kind) << 22), means.shifted(kind, meaning)
        yield form(f"{name}_{kind}", code, (*pieces, shift_amount(kind)), shifted, flags=flags, cost=cost)


def bitwise() -> Iterator[Form]:
    """and, orr, eor, ands with their inverted, shifted and immediate forms, tst, mvn."""
    for name, inverse, op, opcode in (
        ("and", "bic", "and", 0x8A000000),
        ("orr", "orn", "or", 0xAA000000),
        ("eor", "eon", "xor", 0xCA000000),
    ):
        plain, inverted = means.bitwise(op), means.bitwise(op, inverted=True)
        yield from _bitwise(name, opcode, (D, N, M), just(plain))
        yield from _bitwise(inverse, opcode + (1 << 21), (D, N, M), just(inverted))
        yield form(f"{name}_imm", opcode + 0x08000000, (D_SP, N, BITMASK), just(means.with_mask(op)), family=name)
    both, one = means.logical(means.bitwise("and")), means.logical(means.bitwise("and", inverted=True))
    masked = means.logical(means.with_mask("and"))
    test, test_mask = means.comparing(both), means.comparing(masked)
    yield from _bitwise("ands", 0xEA000000, (D_Z, N, M), both, flags=True)
    yield from _bitwise("bics", 0xEA200000, (D_Z, N, M), one, flags=True)
    yield from _bitwise("tst", 0xEA000000 + NO_D, (N, M), test, flags=True)
    yield form("ands_imm", 0xF2000000, (D_Z, N, BITMASK), masked, family="ands", flags=True, cost="flags")
    yield form("tst_imm", 0xF2000000 + NO_D, (N, BITMASK), test_mask, family="tst", flags=True, cost="flags")
    for op, narrow in (("and", 0x0A000000), ("orr", 0x2A000000), ("eor", 0x4A000000)):
        halves = just(partial(_on_halves, {"orr": "or", "eor": "xor"}.get(op, op)))
        yield form(f"{op}_w", narrow, (D_W, *HALVES), halves, commutes=(1, 2))
    yield form("bic_w", 0x0A200000, (D_W, *HALVES), just(lambda domain, x, y: _on_halves("and", domain, x, HALF - y)))
    yield form("mvn", 0xAA200000 + NO_N, (D, M), just(lambda domain, x: means.ONES - x))


def _low_half(sign: int, domain: Any, x: Any, y: Any) -> Any:
    """x + y or x - y modulo 2^32."""
    return means.low(domain, x + y * sign, 32)


def _on_halves(op: str, domain: Any, x: Any, y: Any) -> Any:
    return domain.bitwise(op, x, y, 32)


def _bitwise(
    name: str, opcode: int, pieces: Sequence[Piece], meaning: Meaning, *, flags: bool = False
) -> Iterator[Form]:
    last, inverted = len(pieces) - 1, bool(opcode & 1 << 21)
    cost, cost_shifted = ("logic_flags", "logic_flags") if flags else ("alu", "logic_shifted")
    yield form(name, opcode, pieces, meaning, flags=flags, cost=cost, commutes=None if inverted else (last - 1, last))
    yield from _shifted(name, opcode, pieces, meaning, tuple(means.SHIFTS), flags=flags, cost=cost_shifted)


def moves() -> Iterator[Form]:
    """mov and the constants."""

    def is_mask_only(value: int) -> bool:
        """A bitmask that GNU as would not rather make by movz or movn."""
        halves = [value >> place & 0xFFFF for place in (0, 16, 32, 48)]
        return is_bitmask(value) and max(halves.count(0), halves.count(0xFFFF)) < 3

    mask, pieces, made = immediate(is_mask_only, BITMASK.bits), (HALFWORD, POSITION), partial(form, cost="constant")
    yield form("mov", 0xAA000000 + NO_N, (D, M), just(lambda domain, x: x), cost="move")
    yield made("mov_bitmask", 0xB2000000 + NO_N, (D, mask), just(lambda domain, value: value), family="mov")
    yield made("movz", 0xD2800000, (D, *pieces), just(lambda domain, value, place: value << place))
    yield made("movn", 0x92800000, (D, *pieces), just(lambda domain, value, place: means.ONES - (value << place)))
    yield form("mov_w", 0x2A000000 + NO_N, (D_W, HALVES[1]), just(lambda domain, x: x), cost="move")
    half = counted(0, 0xFFFE, lambda value: value << 5)
    yield made("movn_w", 0x12800000, (D_W, half), just(lambda domain, value: HALF - value))
    patch = just(lambda domain, old, value, place: means.bfi(domain, old, value, place, 16))
    yield made("movk", 0xF2800000, (CHANGED, *pieces), patch)


def products() -> Iterator[Form]:
    """Multiplications, low, high and 32 by 32 bits, with and without an addend."""

    def product(name: str, opcode: int, pieces: Sequence[Piece], cost: str, compute: Callable[..., Any]) -> Form:
        return form(name, opcode, pieces, just(compute), cost=cost, commutes=(1, 2))

    low, full, wide = means.low, (D, N, M), (D, N_W, M_W)
    yield product("mul", 0x9B000000 + NO_A, full, "mul", lambda domain, x, y: low(domain, x * y))
    yield product("mneg", 0x9B008000 + NO_A, full, "mul", lambda domain, x, y: low(domain, -(x * y)))
    yield product("madd", 0x9B000000, (*full, A), "madd", lambda domain, x, y, z: low(domain, z + x * y))
    yield product("msub", 0x9B008000, (*full, A), "madd", lambda domain, x, y, z: low(domain, z - x * y))
    yield product("umulh", 0x9BC00000 + NO_A, full, "mulh", lambda domain, x, y: means.high(domain, x * y, 64))
    yield product("smulh", 0x9B400000 + NO_A, full, "mulh", means.smulh)
    yield product("umull", 0x9BA00000 + NO_A, wide, "mull", lambda domain, x, y: x * y)
    yield product("smull", 0x9B200000 + NO_A, wide, "mull", means.smull)
    yield product("umaddl", 0x9BA00000, (*wide, A), "maddl", lambda domain, x, y, z: low(domain, z + x * y))
    yield product("umsubl", 0x9BA08000, (*wide, A), "maddl", lambda domain, x, y, z: low(domain, z - x * y))


def _within(operands: Sequence[Operand]) -> str:
    """A field's first bit and width must stay below 64."""
    first, width = operands[-2:]
    fits = isinstance(first, int) and isinstance(width, int) and first + width <= 64
    return "" if fits else f"{width} bits from bit {first} reach past bit 63"


def shifts() -> Iterator[Form]:
    """Shifts, turns and bit fields; clz, rev, rbit."""
    made = partial(form, cost="shift")
    by = partial(counted, 0, 63)
    left, right, turn = by(lambda k: (-k % 64 << 16) + (63 - k << 10)), by(lambda k: (k << 16) + (63 << 10)), by(_imms)
    yield made("lsl_imm", 0xD3400000, (D, N, left), just(means.lsl), family="lsl")
    yield made("lsr_imm", 0xD3400000, (D, N, right), just(means.lsr), family="lsr")
    yield made("asr_imm", 0x93400000, (D, N, right), just(means.asr), family="asr")
    yield made("lslv", 0x9AC02000, (D, N, M), just(means.shift_by("lsl")), mnemonic="lsl", family="lsl")
    yield made("lsrv", 0x9AC02400, (D, N, M), just(means.shift_by("lsr")), mnemonic="lsr", family="lsr")
    yield form("ror_imm", 0x93C00000, (D, N_AND_M, turn), just(means.ror), family="ror", cost="ror")
    yield form("extr", 0x93C00000, (D, N, M, turn), just(means.extr), cost="extract")
    # A field that is read has its first bit in immr and its last in imms; one that is placed has the turn that brings
    # bit 0 there in immr and its width less one in imms.
    width = counted(1, 64, lambda width: _imms(width - 1))
    read, place = (by(lambda first: (first << 16) + _imms(first)), width), (by(lambda first: -first % 64 << 16), width)
    field = partial(form, rule=_within, cost="shift")
    yield field("ubfx", 0xD3400000, (D, N, *read), just(means.ubfx))
    yield field("sbfx", 0x93400000, (D, N, *read), just(means.sbfx))
    yield field("ubfiz", 0xD3400000, (D, N, *place), just(means.ubfiz))
    yield field("bfi", 0xB3400000, (CHANGED, N, *place), just(means.bfi), cost="insert")
    yield field("bfxil", 0xB3400000, (CHANGED, N, *read), just(means.bfxil), cost="insert")
    yield form("clz", 0xDAC01000, (D, N), just(means.clz), cost="count")
    yield form("rev", 0xDAC00C00, (D, N), just(means.reverse(8)), cost="count")
    yield form("rbit", 0xDAC00000, (D, N), just(means.reverse(1)), cost="count")


def _imms(value: int) -> int:
    return value << 10


def choices() -> Iterator[Form]:
    """csel and its kin, and ccmp, for each condition; `al` and `nv`, which always hold, are left out."""
    kin: tuple[tuple[str, int, Callable[[Any, Any], Any]], ...] = (
        ("csel", 0x9A800000, lambda domain, y: y),
        ("csinc", 0x9A800400, lambda domain, y: means.low(domain, y + 1)),
        ("csinv", 0xDA800000, lambda domain, y: means.ONES - y),
        ("csneg", 0xDA800400, lambda domain, y: means.low(domain, -y)),
    )
    otherwise, five_bits = counted(0, 15, lambda flags: flags), counted(0, 31, lambda value: value << 16)
    for code, (name, reads) in enumerate(CONDITIONS.items()):
        made = partial(form, tail=name, reads=reads, cost="select")
        holds, opposite = code << 12, (code ^ 1) << 12
        for kind, opcode, other in kin:
            yield made(f"{kind}_{name}", opcode + holds, (D, N, M), means.choosing(name, other))
        # These are csinc and csinv under the opposite condition.
        yield made(f"cset_{name}", 0x9A800400 + opposite + NO_N + NO_M, (D,), means.bit_of(name, 1))
        yield made(f"csetm_{name}", 0xDA800000 + opposite + NO_N + NO_M, (D,), means.bit_of(name, means.ONES))
        yield made(f"cinc_{name}", 0x9A800400 + opposite, (D, N_AND_M), means.increment_if(name))
        made = partial(form, tail=name, reads=reads, cost="ccmp", family=f"ccmp_{name}", flags=True)
        yield made(f"ccmp_{name}", 0xFA400000 + holds, (N, M, otherwise), means.compare_if(name))
        yield made(f"ccmp_imm_{name}", 0xFA400800 + holds, (N, five_bits, otherwise), means.compare_if(name))


def forms() -> Iterator[Form]:
    """All of these."""
    for room in (sums, bitwise, moves, products, shifts, choices):
        yield from room()
