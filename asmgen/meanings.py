"""What kernels compute, on residues: known names have their meaning here, others say `computes`; never their bodies."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from asmgen.contracts import Element, Signature, elements
from asmgen.errors import AsmgenError, Source, nearest
from asmgen.promises import size


@dataclass(frozen=True)
class Meaning:
    """A function of the modulus and of a kernel's inputs: residues of elements (of a table, a tuple of them), and
    integers for everything else.

    `takes` and `gives` are the kinds of contract that it is about; with `many` the last argument may be repeated. It
    returns one value, or a tuple with one a result; for an element that may be any integer of the right residue.
    `primes` says for which moduli it is known, in words and as a condition.
    """

    texts: tuple[str, ...]  #: formulas for headers and listings, one a result or one for all; none with `computes`
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    function: Callable[..., Any]
    many: bool = False
    primes: tuple[str, Callable[[int], bool]] | None = None

    def fits(self, takes: tuple[str, ...], gives: tuple[str, ...]) -> bool:
        """Whether a kernel of these kinds of arguments and results can have this meaning."""
        more = len(takes) - len(self.takes) if self.many else 0
        return takes == self.takes + self.takes[-1:] * more and gives == self.gives

    @property
    def form(self) -> str:
        """Kinds of arguments and result, for messages."""
        return f"({', '.join(self.takes)}{', …' if self.many else ''}) -> {', '.join(self.gives)}"


def square_n(p: int, a: int, n: int) -> int:
    """a^(2^n) modulo the prime p; a long exponent is reduced by Fermat's theorem."""
    if a % p == 0:
        return 0
    return pow(a, 1 << n if n < 4096 else pow(2, n, p - 1), p)


def even_root(p: int, a: int) -> int | None:
    """The square root of a that is even in 0..p - 1, None where a has none; p is 3 modulo 4 or 5 modulo 8."""
    root = pow(a, (p + 1) // 4 if p % 4 == 3 else (p + 3) // 8, p)
    if p % 4 == 1 and (root * root - a) % p:
        root = root * pow(2, (p - 1) // 4, p) % p  # 2 has no root, so this power is one of -1
    if (root * root - a) % p:
        return None
    return root if root % 2 == 0 else p - root


def sqrt_ratio(p: int, u: int, v: int) -> tuple[int, int]:
    """The even root of u / v and 1 where there is one, else the even root of i * u / v and 0; 0 for v = 0.

    i is -1 for p = 3 modulo 4, and the even root of -1 for p = 5 modulo 8, as in RFC 9496, 4.2.
    """
    ratio = u * pow(v, p - 2, p) % p
    root = even_root(p, ratio)
    if root is not None:
        return root, int(ratio != 0 or u % p == 0)
    turn = even_root(p, p - 1) if p % 4 == 1 else -1
    other = even_root(p, ratio * (turn or 0))
    assert other is not None
    return other, 0


#: (A - 2) / 4 of the Montgomery curves of RFC 7748, by their fields.
LADDERS = {2**255 - 19: 121665, 2**448 - 2**224 - 1: 39081}


def ladder_step(p: int, x1: int, x2: int, z2: int, x3: int, z3: int) -> tuple[int, int, int, int]:
    """(x2, z2, x3, z3) after one step of the Montgomery ladder: RFC 7748, 5."""
    plus, minus = (x2 + z2) ** 2, (x2 - z2) ** 2
    difference = plus - minus
    one, other = (x3 - z3) * (x2 + z2), (x3 + z3) * (x2 - z2)
    return (
        plus * minus % p,
        difference * (plus + LADDERS[p] * difference) % p,
        (one + other) ** 2 % p,
        x1 * (one - other) ** 2 % p,
    )


def _swapped_step(p: int, bit: int, x1: int, x2: int, z2: int, x3: int, z3: int) -> tuple[int, int, int, int]:
    return ladder_step(p, x1, x3, z3, x2, z2) if bit else ladder_step(p, x1, x2, z2, x3, z3)


def _lookup(p: int, index: int, *table: int) -> int:
    return table[index] if index < len(table) else 0


def _checked(p: int, s: int) -> tuple[int, int]:
    return (s, 1) if s < p else (0, 0)


def _one(text: str, takes: tuple[str, ...], gives: str, function: Callable[..., Any], **more: Any) -> Meaning:
    return Meaning((text,), takes, (gives,), function, **more)


def _same(text: str) -> tuple[Meaning, ...]:
    """What only changes how an element is held."""
    return (_one(text, (E,), E, lambda p, a: a),)


E = "element"

_CUBIC = ("moduli that are 3 modulo 4", lambda p: p % 4 == 3)
_ROOTS = ("moduli that are 3 modulo 4 or 5 modulo 8", lambda p: p % 4 == 3 or p % 8 == 5)
_EDWARDS = ("2^255 - 19", lambda p: p == 2**255 - 19)
_CURVES = ("2^255 - 19 and 2^448 - 2^224 - 1", lambda p: p in LADDERS)

_SQUARES = (
    "even root of u / v, or of i * u / v where that has none",
    "1 if u / v is a square and v is not 0 (or u is), else 0",
)
_STEP = "x2, z2, x3, z3 after one step of the ladder of RFC 7748, 5"

#: By the name of a kernel: what it may mean, for each form of arguments and results.
MEANINGS: Mapping[str, tuple[Meaning, ...]] = {
    "mul": (_one("a * b", (E, E), E, lambda p, a, b: a * b),),
    "sqr": (_one("a * a", (E,), E, lambda p, a: a * a),),
    "square_n": (_one("a^(2^n)", (E, "count"), E, square_n),),
    "add": (_one("a + b", (E, E), E, lambda p, a, b: a + b),),
    "sub": (_one("a - b", (E, E), E, lambda p, a, b: a - b),),
    "neg": (_one("-a", (E,), E, lambda p, a: -a),),
    "double": (_one("2 * a", (E,), E, lambda p, a: 2 * a),),
    "halve": (_one("a / 2", (E,), E, lambda p, a: a * pow(2, -1, p)),),
    "mul_small": (_one("a * c", (E, "small"), E, lambda p, a, c: a * c),),
    "carry": _same("a, the limbs carried"),
    "reduce": _same("a, the value reduced"),
    "normalize": _same("the one value of a in 0..p - 1"),
    "normalize_weak": _same("a, the limbs carried"),
    "canon": _same("the one value of a in 0..p - 1"),
    "to_storage": _same("a, as it is stored"),
    "from_storage": _same("a, out of storage"),
    "to_mont": _same("a, into Montgomery form"),
    "from_mont": _same("a, out of Montgomery form"),
    "absolute": (_one("a or -a, of which one is even in 0..p - 1", (E,), E, lambda p, a: p - a if a % 2 else a),),
    "select": (_one("a if bit else b", ("bit", E, E), E, lambda p, bit, a, b: a if bit else b),),
    "swap": (
        Meaning(
            ("b if bit else a", "a if bit else b"), ("bit", E, E), (E, E),
            lambda p, bit, a, b: (b, a) if bit else (a, b),
        ),
    ),
    "lookup": (
        _one("table[index]", ("table", "small"), E, lambda p, table, index: _lookup(p, index, *table)),
        _one("the entry of that index, 0 when there is none", ("small", E), E, _lookup, many=True),
    ),
    "is_zero": (_one("1 if a = 0, else 0", (E,), "bit", lambda p, a: a % p == 0),),
    "is_odd": (_one("the lowest bit of the value of a in 0..p - 1", (E,), "bit", lambda p, a: a % p % 2),),
    "equal": (_one("1 if a = b, else 0", (E, E), "bit", lambda p, a, b: (a - b) % p == 0),),
    "to_bytes": (_one("the one value of a in 0..p - 1", (E,), "bytes", lambda p, a: a % p),),
    "from_bytes": (
        _one("the integer s modulo p", ("bytes",), E, lambda p, s: s),
        Meaning(("the integer s, 0 unless s < p", "1 if s < p, else 0"), ("bytes",), (E, "bit"), _checked),
    ),
    "invert": (_one("1 / a, 0 if a = 0", (E,), E, lambda p, a: pow(a, p - 2, p)),),
    "pow22523": (_one("a^(2^252 - 3)", (E,), E, lambda p, a: pow(a, 2**252 - 3, p), primes=_EDWARDS),),
    "sqrt": (
        _one("a^((p + 1) / 4)", (E,), E, lambda p, a: pow(a, (p + 1) // 4, p), primes=_CUBIC),
        Meaning(
            ("a^((p + 1) / 4)", "1 if that is a square root of a, else 0"), (E,), (E, "bit"),
            lambda p, a: (pow(a, (p + 1) // 4, p), int(even_root(p, a) is not None)), primes=_CUBIC,
        ),
    ),
    "inv_sqrt": (
        _one("a^((p - 3) / 4)", (E,), E, lambda p, a: pow(a, (p - 3) // 4, p), primes=_CUBIC),
        Meaning(
            ("even root of 1 / a, or of i / a where that has none", "1 if a is a square other than 0, else 0"),
            (E,), (E, "bit"), lambda p, a: sqrt_ratio(p, 1, a), primes=_ROOTS,
        ),
    ),
    "sqrt_ratio": (Meaning(_SQUARES, (E, E), (E, "bit"), sqrt_ratio, primes=_ROOTS),),
    "ladder_step": (
        Meaning((_STEP,), (E,) * 5, (E,) * 4, ladder_step, primes=_CURVES),
        Meaning((f"{_STEP}, before which (x2, z2) and (x3, z3) are swapped if bit",), ("bit",) + (E,) * 5, (E,) * 4,
                _swapped_step, primes=_CURVES),
    ),
}  # fmt: skip

MEANINGS = {
    **MEANINGS,
    **{new: MEANINGS[name] for new, name in (("negate", "neg"), ("half", "halve"), ("mul_int", "mul_small"))},
}


def meaning_of(name: str, takes: tuple[str, ...], gives: tuple[str, ...]) -> Meaning | None:
    """The known meaning of a name, for these kinds of arguments and results; None when there is none."""
    return next((meaning for meaning in MEANINGS.get(name, ()) if meaning.fits(takes, gives)), None)


def known(signature: Signature, gives: tuple[str, ...], source: Source, noun: str) -> Meaning:
    """The meaning that a kernel or program (`noun`) has by its name; `gives` are the kinds of its results."""
    name = signature.kernel
    hint = f"say it on residues: @{noun}(computes=lambda {', '.join(p.name for p in signature.inputs)}: …)"
    if name not in MEANINGS:
        raise AsmgenError(
            f"the {noun} {name} does not say what it computes",
            source=source,
            hint=f"{hint}, or use a known name, such as {nearest(name, MEANINGS) or 'mul or sqr'}",
        )
    takes = tuple(p.contract.kind for p in signature.inputs)
    meaning = meaning_of(name, takes, gives)
    if meaning is None:
        forms = " or ".join(each.form for each in MEANINGS[name])
        raise AsmgenError(
            f"a {noun} named {name} gives {', '.join(MEANINGS[name][0].texts)}: its form is {forms}, "
            f"this one's ({', '.join(takes)}) -> {', '.join(gives)}",
            source=source,
            hint=f"{hint}, or choose another name",
        )
    _check_fields(signature, meaning, source)
    return meaning


def _check_fields(signature: Signature, meaning: Meaning, source: Source) -> None:
    """Names that say more than residues do: moduli of a kind, one canonical value, a change of form."""
    name = signature.kernel
    all_elements = list(elements(signature.inputs + signature.outputs))
    modulus = all_elements[-1].field.modulus if all_elements else 0
    if any(element.field.modulus != modulus for element in all_elements):
        raise AsmgenError(
            f"{name} has a known meaning within one field, this one's elements have different moduli",
            source=source,
            hint="say what it computes: computes=lambda …, or choose another name",
        )
    if meaning.primes is not None and not meaning.primes[1](modulus):
        raise AsmgenError(
            f"{name} has a known meaning for {meaning.primes[0]} only, this modulus is {modulus:#x}",
            source=source,
            hint="say what it computes: computes=lambda …, or choose another name",
        )
    given = [p.contract for p in signature.outputs if isinstance(p.contract, Element)]
    if name in ("canon", "normalize") and (most := given[-1].value_max) >= given[-1].field.modulus:
        raise AsmgenError(
            f"{name} gives the one value below the modulus, but this one promises values up to {size(most)}",
            source=source,
            hint="annotate the result with fe.below(fe.modulus)",
        )
    scaled = [element.field.montgomery is not None for element in all_elements]
    if name in ("to_mont", "from_mont") and scaled != [name == "from_mont", name == "to_mont"]:
        raise AsmgenError(
            f"{name} leads {'into' if name == 'to_mont' else 'out of'} Montgomery form, these contracts do not",
            source=source,
            hint="fe.plain is the same field out of Montgomery form: fe.plain.below(p) is such a contract",
        )


def own(computes: Callable[..., Any], signature: Signature, source: Source) -> Meaning:
    """The meaning that a script gives to a kernel by `computes`."""
    names = [p.name for p in signature.inputs]
    count = len(inspect.signature(computes).parameters)
    if count != len(names):
        raise AsmgenError(
            f"computes of {signature.kernel} takes {count} arguments, the kernel {len(names)}",
            source=source,
            hint=f"write computes=lambda {', '.join(names)}: …",
        )
    kinds = tuple(p.contract.kind for p in signature.inputs)
    return Meaning((), kinds, (), lambda p, *inputs: computes(*inputs))
