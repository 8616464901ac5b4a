"""What amd64 instructions compute: results and flags, over any `Domain`.

Every result is a sum of products put through `split`, so that the same function runs on Python integers and on the
prover's polynomials. A domain takes Python ints as constants. The carries of chains are values, other flags functions
of no argument. Source: Intel's Software Developer's Manual, volume 2; a flag that the manual leaves undefined is not in
the outcome (rows list it under `destroys`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from asmgen.targets.row import Domain, Meaning, Outcome


def either(x: Any, y: Any) -> Any:
    """x or y, of bits."""
    return x + y - x * y


def differ(x: Any, y: Any) -> Any:
    """x xor y, of bits."""
    return x + y - 2 * (x * y)


def low(domain: Domain, value: Any, k: int) -> Any:
    """value mod 2^k."""
    return domain.split(value, k)[0]


def high(domain: Domain, value: Any, k: int) -> Any:
    """floor(value / 2^k)."""
    return domain.split(value, k)[1]


def even_parity(domain: Domain, value: Any) -> Any:
    """PF: 1 when the low byte has an even number of ones."""
    folded = low(domain, value, 8)
    for k in (4, 2, 1):
        bottom, top = domain.split(folded, k)
        folded = domain.bitwise("xor", bottom, top, k)
    return 1 - folded


def of_result(domain: Domain, result: Any, width: int) -> dict[str, Any]:
    """ZF, SF and PF of a result."""
    return {
        "ZF": lambda: domain.is_zero(result),
        "SF": lambda: high(domain, result, width - 1),
        "PF": lambda: even_parity(domain, result),
    }


def addition(domain: Domain, x: Any, y: Any, carry: Any, width: int) -> tuple[Any, dict[str, Any]]:
    """x + y + carry modulo 2^width, with all flags."""

    def carry_into(k: int) -> Any:
        return high(domain, low(domain, x, k) + low(domain, y, k) + carry, k)

    result, out = domain.split(x + y + carry, width)
    flags = {"CF": out, "OF": lambda: differ(out, carry_into(width - 1)), "AF": lambda: carry_into(4)}
    return result, flags | of_result(domain, result, width)


def subtraction(domain: Domain, x: Any, y: Any, borrow: Any, width: int) -> tuple[Any, dict[str, Any]]:
    """x - y - borrow modulo 2^width, with all flags."""

    def borrow_from(k: int) -> Any:
        return 0 - high(domain, low(domain, x, k) - low(domain, y, k) - borrow, k)

    result, floor = domain.split(x - y - borrow, width)
    out = 0 - floor
    flags = {"CF": out, "OF": lambda: differ(out, borrow_from(width - 1)), "AF": lambda: borrow_from(4)}
    return result, flags | of_result(domain, result, width)


def _unsigned(inputs: Sequence[Any], width: int) -> list[Any]:
    """The inputs with negative immediates taken modulo 2^width; an int here is known while assembling."""
    return [value & ((1 << width) - 1) if isinstance(value, int) else value for value in inputs]


def add(width: int, *, carry: bool = False) -> Meaning:
    """add, or adc with `carry`."""

    def meaning(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
        x, y = _unsigned(inputs, width)
        result, written = addition(domain, x, y, flags["CF"] if carry else 0, width)
        return Outcome((result,), written)

    return meaning


def subtract(width: int, *, borrow: bool = False, keep: bool = True) -> Meaning:
    """sub, sbb with `borrow`, cmp without `keep`."""

    def meaning(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
        x, y = _unsigned(inputs, width)
        result, written = subtraction(domain, x, y, flags["CF"] if borrow else 0, width)
        return Outcome((result,) if keep else (), written)

    return meaning


def step(width: int, *, up: bool) -> Meaning:
    """inc and dec: CF stays as it was."""

    def meaning(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
        make = addition if up else subtraction
        result, written = make(domain, inputs[0], 1, 0, width)
        return Outcome((result,), {name: value for name, value in written.items() if name != "CF"})

    return meaning


def negate(width: int) -> Meaning:
    """neg."""

    def meaning(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
        result, written = subtraction(domain, 0, inputs[0], 0, width)
        return Outcome((result,), written)

    return meaning


def invert(width: int) -> Meaning:
    """not."""
    return lambda domain, inputs, flags: Outcome(((1 << width) - 1 - inputs[0],))


def logic(op: str, width: int, *, keep: bool = True) -> Meaning:
    """and, or, xor; test is and without `keep`."""

    def meaning(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
        x, y = _unsigned(inputs, width)
        result = domain.bitwise(op, x, y, width)
        return Outcome((result,) if keep else (), {"CF": 0, "OF": 0} | of_result(domain, result, width))

    return meaning


def and_not(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """andn: second operand and not the first source."""
    result = domain.bitwise("and", 2**64 - 1 - inputs[0], inputs[1], 64)
    written = of_result(domain, result, 64)
    return Outcome((result,), {"CF": 0, "OF": 0, "ZF": written["ZF"], "SF": written["SF"]})


def multiply(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """mul: (high, low); CF = OF = the high word is not zero."""
    bottom, top = domain.split(inputs[0] * inputs[1], 64)

    def large() -> Any:
        return 1 - domain.is_zero(top)

    return Outcome((top, bottom), {"CF": large, "OF": large})


def multiply_flagless(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """mulx: (high, low)."""
    return Outcome(multiply(domain, inputs, flags).values)


def multiply_signed(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """imul with two or three operands: the low word; CF = OF = the signed product does not fit it."""
    x, y = _unsigned(inputs, 64)
    result = low(domain, x * y, 64)

    def as_signed(value: Any) -> Any:
        return value - 2**64 * high(domain, value, 63)

    def lost() -> Any:
        return 1 - domain.is_zero(as_signed(x) * as_signed(y) - as_signed(result))

    return Outcome((result,), {"CF": lost, "OF": lost})


def add_on(flag: str) -> Meaning:
    """adcx and adox: x + y + flag, that flag alone is written."""

    def meaning(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
        result, out = domain.split(inputs[0] + inputs[1] + flags[flag], 64)
        return Outcome((result,), {flag: out})

    return meaning


def shift_left(width: int) -> Meaning:
    """shl by 1 to width - 1; OF counts as undefined (it is defined for 1 only)."""

    def meaning(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
        x, k = inputs
        result, out = domain.split(x * (1 << k), width)
        return Outcome((result,), {"CF": lambda: low(domain, out, 1)} | of_result(domain, result, width))

    return meaning


def shift_right(width: int, *, arithmetic: bool = False) -> Meaning:
    """shr, or sar with `arithmetic`, by 1 to width - 1; OF counts as undefined."""

    def meaning(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
        x, k = inputs
        result = _signed_shift(domain, x, k, width) if arithmetic else high(domain, x, k)
        last = {"CF": lambda: high(domain, low(domain, x, k), k - 1)}
        return Outcome((result,), last | of_result(domain, result, width))

    return meaning


def _signed_shift(domain: Domain, x: Any, k: int, width: int) -> Any:
    sign = high(domain, x, width - 1)
    return high(domain, x - (1 << width) * sign, k) + (1 << width) * sign


def double_left(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """shld by 1 to 63: the first operand shifted up, filled from the top of the second."""
    x, y, k = inputs
    bottom, out = domain.split(x * (1 << k), 64)
    result = bottom + high(domain, y, 64 - k)
    return Outcome((result,), {"CF": lambda: low(domain, out, 1)} | of_result(domain, result, 64))


def double_right(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """shrd by 1 to 63: the first operand shifted down, filled from the bottom of the second."""
    x, y, k = inputs
    out, bottom = domain.split(x, k)
    result = bottom + low(domain, y, k) * (1 << 64 - k)
    return Outcome((result,), {"CF": lambda: high(domain, out, k - 1)} | of_result(domain, result, 64))


def _rotated_right(domain: Domain, x: Any, k: int) -> Any:
    bottom, top = domain.split(x, k)
    return top + bottom * (1 << 64 - k)


def rotate_left(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """rol by 1 to 63; CF is the bit that came in at the bottom."""
    result = _rotated_right(domain, inputs[0], 64 - inputs[1])
    return Outcome((result,), {"CF": lambda: low(domain, result, 1)})


def rotate_right(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """ror by 1 to 63; CF is the bit that came in at the top."""
    result = _rotated_right(domain, inputs[0], inputs[1])
    return Outcome((result,), {"CF": lambda: high(domain, result, 63)})


def rotate_flagless(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """rorx by 1 to 63."""
    return Outcome((_rotated_right(domain, inputs[0], inputs[1]),))


def _by_stages(domain: Domain, value: Any, count: Any, shifted: Callable[[Any, int], Any]) -> Any:
    """`shifted(value, count mod 64)` for a count that is a value: one selected step for each of its six bits."""
    if isinstance(count, int):
        return shifted(value, count % 64) if count % 64 else value
    for k in range(6):
        bit, count = domain.split(count, 1)
        value = domain.select(bit, shifted(value, 1 << k), value)
    return value


def variable_left(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """shlx."""
    return Outcome((_by_stages(domain, inputs[0], inputs[1], lambda x, k: low(domain, x * (1 << k), 64)),))


def variable_right(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """shrx."""
    return Outcome((_by_stages(domain, inputs[0], inputs[1], lambda x, k: high(domain, x, k)),))


def variable_right_signed(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """sarx."""
    return Outcome((_by_stages(domain, inputs[0], inputs[1], lambda x, k: _signed_shift(domain, x, k, 64)),))


def zero_high(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """bzhi: the bits of x below n, the low byte of the second source; all of x and CF = 1 when n is above 63."""
    x, index = inputs
    n = low(domain, index, 8)
    large = 1 - domain.is_zero(high(domain, n, 6))
    above = _by_stages(domain, x, n, lambda value, k: high(domain, value, k))
    result = domain.select(large, x, x - _by_stages(domain, above, n, lambda value, k: value * (1 << k)))
    written = of_result(domain, result, 64)
    return Outcome((result,), {"CF": large, "OF": 0, "ZF": written["ZF"], "SF": written["SF"]})


def bit_test(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """bt by an immediate below 64."""
    return Outcome((), {"CF": low(domain, high(domain, inputs[0], inputs[1]), 1)})


def bit_reset(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """btr by an immediate below 64."""
    below, above = domain.split(inputs[0], inputs[1])
    bit, rest = domain.split(above, 1)
    return Outcome((below + rest * (2 << inputs[1]),), {"CF": bit})


def swap_bytes(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """bswap and movbe."""
    rest, swapped = inputs[0], 0
    for _ in range(8):
        byte, rest = domain.split(rest, 8)
        swapped = swapped * 256 + byte
    return Outcome((swapped,))


def copy(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """mov and movzx: the value as it is; lea's address, as it comes below 2^64."""
    return Outcome((inputs[0],))


def number(width: int) -> Meaning:
    """mov of a number, taken modulo 2^width."""
    return lambda domain, inputs, flags: Outcome((inputs[0] & ((1 << width) - 1),))


def exchange(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """xchg."""
    return Outcome((inputs[1], inputs[0]))


def push(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """push: (the word stored below the old rsp, the new rsp)."""
    return Outcome((inputs[0], low(domain, inputs[1] - 8, 64)))


def pop(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """pop: (the word at the old rsp, the new rsp)."""
    return Outcome((inputs[0], low(domain, inputs[1] + 8, 64)))


def zero(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """xor of a register with itself, whatever it held."""
    return Outcome((0,), {"CF": 0, "OF": 0, "ZF": 1, "SF": 0, "PF": 1})


def mask(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """sbb of a register with itself, whatever it held: all ones when CF was 1, else zero."""
    carry = flags["CF"]
    return Outcome(((2**64 - 1) * carry,), {"CF": carry, "OF": 0, "ZF": 1 - carry, "SF": carry, "PF": 1, "AF": carry})


def set_carry(value: Callable[[Any], Any]) -> Meaning:
    """clc, stc and cmc: CF as a function of the old CF (None where it is not read)."""
    return lambda domain, inputs, flags: Outcome((), {"CF": value(flags.get("CF"))})


def nothing(domain: Domain, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """nop, endbr64; jmp, call and ret, whose effect is where control goes."""
    return Outcome()


def _negated(condition: Callable[[Mapping[str, Any]], Any]) -> Callable[[Mapping[str, Any]], Any]:
    return lambda flags: 1 - condition(flags)


_CONDITIONS: tuple[tuple[str, str, frozenset[str], Callable[[Mapping[str, Any]], Any]], ...] = (
    ("o", "no", frozenset({"OF"}), lambda f: f["OF"]),
    ("c", "nc", frozenset({"CF"}), lambda f: f["CF"]),
    ("z", "nz", frozenset({"ZF"}), lambda f: f["ZF"]),
    ("be", "a", frozenset({"CF", "ZF"}), lambda f: either(f["CF"], f["ZF"])),
    ("s", "ns", frozenset({"SF"}), lambda f: f["SF"]),
    ("p", "np", frozenset({"PF"}), lambda f: f["PF"]),
    ("l", "ge", frozenset({"SF", "OF"}), lambda f: differ(f["SF"], f["OF"])),
    ("le", "g", frozenset({"ZF", "SF", "OF"}), lambda f: either(f["ZF"], differ(f["SF"], f["OF"]))),
)

#: name -> (flags read, the bit), in the order of the condition codes 0 to 15.
CONDITIONS: Mapping[str, tuple[frozenset[str], Callable[[Mapping[str, Any]], Any]]] = {
    name: (reads, bit)
    for holds, fails, reads, condition in _CONDITIONS
    for name, bit in ((holds, condition), (fails, _negated(condition)))
}


def bit(condition: str) -> Meaning:
    """setcc: the bit; also jcc, whose outcome's value says whether the branch is taken."""
    holds = CONDITIONS[condition][1]
    return lambda domain, inputs, flags: Outcome((holds(flags),))


def move_if(condition: str) -> Meaning:
    """cmovcc."""
    holds = CONDITIONS[condition][1]
    return lambda domain, inputs, flags: Outcome((domain.select(holds(flags), inputs[1], inputs[0]),))
