"""What arm64 instructions compute, on integers or on polynomials: sums and products followed by splits.

Every function takes the domain first. None branches on a value; immediates are Python integers and may be branched on.
Registers hold [0, 2^64), 32-bit operands come as [0, 2^32) and go out zero-extended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from asmgen.targets.row import Domain, Meaning, Outcome

ONES = (1 << 64) - 1
ALL_FLAGS = frozenset("NZCV")

#: Conditions with the flags they read. The carry is set when a subtraction does not borrow.
CONDITIONS: Mapping[str, str] = {
    "eq": "Z", "ne": "Z", "cs": "C", "cc": "C", "mi": "N", "pl": "N", "vs": "V", "vc": "V",
    "hi": "CZ", "ls": "CZ", "ge": "NV", "lt": "NV", "gt": "NZV", "le": "NZV",
}  # fmt: skip


def condition(name: str, flags: Mapping[str, Any]) -> Any:
    """The bit that says whether the condition holds. Each odd condition is the opposite of the one before it."""
    names = list(CONDITIONS)
    place = names.index(name)
    if place % 2:
        return 1 - condition(names[place - 1], flags)
    if name == "hi":
        return flags["C"] * (1 - flags["Z"])
    if name == "ge":
        return 1 - flags["N"] - flags["V"] + 2 * flags["N"] * flags["V"]
    if name == "gt":
        return (1 - flags["Z"]) * condition("ge", flags)
    return flags[CONDITIONS[name]]


def low(domain: Domain, value: Any, k: int = 64) -> Any:
    """value mod 2^k."""
    return domain.split(value, k)[0]


def high(domain: Domain, value: Any, k: int) -> Any:
    """floor(value / 2^k)."""
    return domain.split(value, k)[1]


def signed(domain: Domain, value: Any, width: int = 64) -> Any:
    """The value read as two's complement."""
    return value - (1 << width) * high(domain, value, width - 1)


def just(compute: Callable[..., Any]) -> Meaning:
    """The meaning that gives the one value compute(domain, *inputs) and no flags."""
    return lambda domain, inputs, flags: Outcome((compute(domain, *inputs),))


# Sums with flags


def _sum(domain: Domain, total: Any, borrow: int, signs: Callable[[], Any]) -> Outcome:
    """The outcome of a total of two words: its low word, and NZCV.

    `borrow` is 1 where the carry means no borrow. `signs` gives what the operands' sign bits add up to, so that total
    - 2^64 * signs is the sum of the signed operands; it overflows when it is not the signed value of the low word.
    """
    value, carry = domain.split(total, 64)

    def overflow() -> Any:
        excess = carry - signs() + high(domain, value, 63)
        return excess * excess

    flags = {
        "N": lambda: high(domain, value, 63),
        "Z": lambda: domain.is_zero(value),
        "C": carry + borrow,
        "V": overflow,
    }
    return Outcome((value,), flags)


def plus(domain: Domain, x: Any, y: Any, carry: Any = 0) -> Outcome:
    """x + y + carry."""
    return _sum(domain, x + y + carry, 0, lambda: high(domain, x, 63) + high(domain, y, 63))


def minus(domain: Domain, x: Any, y: Any, carry: Any = 1) -> Outcome:
    """x - y - (1 - carry)."""
    return _sum(domain, x - y - 1 + carry, 1, lambda: high(domain, x, 63) - high(domain, y, 63))


def logical(compute: Callable[..., Any]) -> Meaning:
    """compute(domain, *inputs) with the flags of ands, bics and tst."""

    def logic(domain: Any, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
        value = compute(domain, *inputs)
        written = {"N": lambda: high(domain, value, 63), "Z": lambda: domain.is_zero(value), "C": 0, "V": 0}
        return Outcome((value,), written)

    return logic


def flagging(compute: Callable[..., Outcome], *, carry: bool = False) -> Meaning:
    """The meaning of an instruction that sets flags; with `carry` it reads C too."""
    if carry:
        return lambda domain, inputs, flags: compute(domain, *inputs, flags["C"])
    return lambda domain, inputs, flags: compute(domain, *inputs)


def quiet(meaning: Meaning) -> Meaning:
    """The same values without flags."""
    return lambda domain, inputs, flags: Outcome(meaning(domain, inputs, flags).values)


def comparing(meaning: Meaning) -> Meaning:
    """The same flags without values."""
    return lambda domain, inputs, flags: Outcome((), meaning(domain, inputs, flags).flags)


def of_zero(meaning: Meaning) -> Meaning:
    """The meaning with 0 as the first of its inputs."""
    return lambda domain, inputs, flags: meaning(domain, (0, *inputs), flags)


def shifted(kind: str, meaning: Meaning) -> Meaning:
    """The meaning with its second input shifted by its third."""

    def shifting(domain: Any, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
        x, y, amount = inputs
        return meaning(domain, (x, SHIFTS[kind](domain, y, amount)), flags)

    return shifting


def compare_if(name: str) -> Meaning:
    """ccmp: the flags of x - y where the condition holds, else the four bits N Z C V of the immediate."""

    def compare(domain: Any, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
        x, y, otherwise = inputs
        holds, compared = condition(name, flags), minus(domain, x, y).flags

        def flag(letter: str, bit: int) -> Callable[[], Any]:
            value = compared[letter]
            return lambda: domain.select(holds, value() if callable(value) else value, bit)

        return Outcome((), {letter: flag(letter, otherwise >> 3 - i & 1) for i, letter in enumerate("NZCV")})

    return compare


# Shifts and fields


def lsl(domain: Domain, x: Any, k: int) -> Any:
    """x shifted left by k, 0..63."""
    return low(domain, x * (1 << k)) if k else x


def lsr(domain: Domain, x: Any, k: int) -> Any:
    """x shifted right by k, 0..63."""
    return high(domain, x, k) if k else x


def asr(domain: Domain, x: Any, k: int) -> Any:
    """x shifted right by k, 0..63, the sign copied in."""
    return low(domain, high(domain, signed(domain, x), k)) if k else x


def ror(domain: Domain, x: Any, k: int) -> Any:
    """x turned right by k, 0..63."""
    return extr(domain, x, x, k)


SHIFTS: Mapping[str, Callable[[Any, Any, int], Any]] = {"lsl": lsl, "lsr": lsr, "asr": asr, "ror": ror}


def extr(domain: Domain, upper: Any, lower: Any, k: int) -> Any:
    """64 bits from position k, 0..63, of upper * 2^64 + lower."""
    return high(domain, lower, k) + (1 << 64 - k) * low(domain, upper, k) if k else lower


def shift_by(kind: str) -> Callable[[Any, Any, Any], Any]:
    """A shift by the low six bits of a register, one bit of the amount after the other."""

    def shift(domain: Domain, x: Any, amount: Any) -> Any:
        if isinstance(amount, int):
            return SHIFTS[kind](domain, x, amount % 64)
        for i in range(6):
            bit, amount = domain.split(amount, 1)
            x = domain.select(bit, SHIFTS[kind](domain, x, 1 << i), x)
        return x

    return shift


def ubfx(domain: Domain, x: Any, first: int, width: int) -> Any:
    """`width` bits of x from bit `first`."""
    return low(domain, lsr(domain, x, first), width)


def sbfx(domain: Domain, x: Any, first: int, width: int) -> Any:
    """The same with the field's sign copied upward."""
    return low(domain, signed(domain, ubfx(domain, x, first, width), width))


def ubfiz(domain: Domain, x: Any, first: int, width: int) -> Any:
    """The low `width` bits of x, placed at bit `first`."""
    return low(domain, x, width) * (1 << first)


def bfi(domain: Domain, old: Any, x: Any, first: int, width: int) -> Any:
    """old with its `width` bits from bit `first` replaced by the low bits of x."""
    below, above = low(domain, old, first) if first else 0, high(domain, old, first + width)
    return below + ubfiz(domain, x, first, width) + (1 << first + width) * above


def bfxil(domain: Domain, old: Any, x: Any, first: int, width: int) -> Any:
    """old with its low `width` bits replaced by those of x from bit `first`."""
    return bfi(domain, old, lsr(domain, x, first), 0, width)


def parts(domain: Domain, x: Any, size: int) -> list[Any]:
    """The 64-bit x cut into pieces of `size` bits, lowest first."""
    found = []
    for _ in range(64 // size - 1):
        piece, x = domain.split(x, size)
        found.append(piece)
    return [*found, x]


def reverse(size: int) -> Callable[[Any, Any], Any]:
    """The pieces of `size` bits in the opposite order."""
    return lambda domain, x: sum(piece * (1 << 64 - size - size * i) for i, piece in enumerate(parts(domain, x, size)))


def clz(domain: Domain, x: Any) -> Any:
    """The number of zero bits above the highest one; 64 for 0."""
    count: Any = 0
    for half in (32, 16, 8, 4, 2, 1):
        lower, upper = domain.split(x, half)
        empty = domain.is_zero(upper)
        count = count + half * empty
        x = domain.select(empty, lower, upper)
    return count + 1 - x


# Bitwise


def masked(domain: Domain, x: Any, mask: int) -> Any:
    """x & mask for a constant, run by run of its ones, so that masks are splits."""
    total: Any = 0
    first = 0
    while mask >> first:
        first += (mask >> first & -(mask >> first)).bit_length() - 1
        run = ~(mask >> first)
        width = (run & -run).bit_length() - 1
        total = total + ubfx(domain, x, first, width) * (1 << first)
        first += width
    return total


def bitwise(op: str, *, inverted: bool = False) -> Callable[[Any, Any, Any], Any]:
    """and, or, xor of two words, the second one inverted for bic, orn, eon."""
    return lambda domain, x, y: domain.bitwise(op, x, ONES - y if inverted else y, 64)


def with_mask(op: str) -> Callable[[Any, Any, int], Any]:
    """and, or, xor of a word with a constant."""
    factor = {"or": 1, "xor": 2}.get(op)
    if factor is None:
        return masked
    return lambda domain, x, mask: x + mask - factor * masked(domain, x, mask)


# Products


def smulh(domain: Domain, x: Any, y: Any) -> Any:
    """The upper word of the signed product."""
    return low(domain, high(domain, signed(domain, x) * signed(domain, y), 64))


def smull(domain: Domain, x: Any, y: Any) -> Any:
    """The signed product of two 32-bit operands."""
    return low(domain, signed(domain, x, 32) * signed(domain, y, 32))


# Choices


def choosing(name: str, otherwise: Callable[[Any, Any], Any]) -> Meaning:
    """x where the condition holds, else `otherwise` of y: csel and its kin."""

    def choose(domain: Any, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
        x, y = inputs
        return Outcome((domain.select(condition(name, flags), x, otherwise(domain, y)),))

    return choose


def increment_if(name: str) -> Meaning:
    """cinc: x + 1 where the condition holds, else x."""
    return lambda domain, inputs, flags: Outcome((low(domain, inputs[0] + condition(name, flags)),))


def bit_of(name: str, factor: int) -> Meaning:
    """cset and csetm: the condition's bit times 1 or 2^64 - 1."""
    return lambda domain, inputs, flags: Outcome((factor * condition(name, flags),))


def taken_if(name: str) -> Meaning:
    """A conditional branch: the bit that says whether it is taken."""
    return lambda domain, inputs, flags: Outcome((condition(name, flags),))
