"""What kernels compute, on residues: known names have their meaning here, others say `computes`; never their bodies."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from asmgen.contracts import Element, Signature
from asmgen.errors import AsmgenError, Source, nearest
from asmgen.promises import size


@dataclass(frozen=True)
class Meaning:
    """A function of the modulus and of a kernel's inputs: residues of elements, and integers for everything else.

    `takes` and `gives` are the kinds of contract that it is about; with `many` the last argument may be repeated. For
    an element the function may give any integer of the right residue.
    """

    text: str  #: the formula, for headers and listings; empty when the script says `computes`
    takes: tuple[str, ...]
    gives: str
    function: Callable[..., Any]
    many: bool = False

    def fits(self, takes: tuple[str, ...], gives: tuple[str, ...]) -> bool:
        """Whether a kernel of these kinds of arguments and results can have this meaning."""
        more = len(takes) - len(self.takes) if self.many else 0
        return takes == self.takes + self.takes[-1:] * more and gives == (self.gives,)

    @property
    def form(self) -> str:
        """Kinds of arguments and result, for messages."""
        return f"({', '.join(self.takes)}{', …' if self.many else ''}) -> {self.gives}"


def square_n(p: int, a: int, n: int) -> int:
    """a^(2^n) modulo the prime p; a long exponent is reduced by Fermat's theorem."""
    if a % p == 0:
        return 0
    return pow(a, 1 << n if n < 4096 else pow(2, n, p - 1), p)


def _lookup(p: int, index: int, *table: int) -> int:
    return table[index] if index < len(table) else 0


E = "element"

MEANINGS: Mapping[str, Meaning] = {
    "mul": Meaning("a * b", (E, E), E, lambda p, a, b: a * b),
    "sqr": Meaning("a * a", (E,), E, lambda p, a: a * a),
    "square_n": Meaning("a^(2^n)", (E, "count"), E, square_n),
    "add": Meaning("a + b", (E, E), E, lambda p, a, b: a + b),
    "sub": Meaning("a - b", (E, E), E, lambda p, a, b: a - b),
    "neg": Meaning("-a", (E,), E, lambda p, a: -a),
    "double": Meaning("2 * a", (E,), E, lambda p, a: 2 * a),
    "halve": Meaning("a / 2", (E,), E, lambda p, a: a * pow(2, -1, p)),
    "mul_small": Meaning("a * c", (E, "small"), E, lambda p, a, c: a * c),
    "carry": Meaning("a, the limbs carried", (E,), E, lambda p, a: a),
    "reduce": Meaning("a, the value reduced", (E,), E, lambda p, a: a),
    "canon": Meaning("the one value of a in 0..p - 1", (E,), E, lambda p, a: a),
    "select": Meaning("a if bit else b", ("bit", E, E), E, lambda p, bit, a, b: a if bit else b),
    "lookup": Meaning("the entry of that index, 0 when there is none", ("small", E), E, _lookup, many=True),
    "is_zero": Meaning("1 if a = 0, else 0", (E,), "bit", lambda p, a: a % p == 0),
    "equal": Meaning("1 if a = b, else 0", (E, E), "bit", lambda p, a, b: (a - b) % p == 0),
    "to_mont": Meaning("a, into Montgomery form", (E,), E, lambda p, a: a),
    "from_mont": Meaning("a, out of Montgomery form", (E,), E, lambda p, a: a),
    "to_bytes": Meaning("the one value of a in 0..p - 1", (E,), "bytes", lambda p, a: a % p),
    "from_bytes": Meaning("the integer modulo p", ("bytes",), E, lambda p, a: a),
    "invert": Meaning("1 / a, 0 if a = 0", (E,), E, lambda p, a: pow(a, p - 2, p)),
}


def known(signature: Signature, gives: tuple[str, ...], source: Source) -> Meaning:
    """The meaning that a kernel has by its name; `gives` are the kinds of its results."""
    name = signature.kernel
    hint = f"say it on residues: @kernel(computes=lambda {', '.join(p.name for p in signature.inputs)}: …)"
    meaning = MEANINGS.get(name)
    if meaning is None:
        raise AsmgenError(
            f"the kernel {name} does not say what it computes",
            source=source,
            hint=f"{hint}, or use a known name, such as {nearest(name, MEANINGS) or 'mul or sqr'}",
        )
    takes = tuple(p.contract.kind for p in signature.inputs)
    if not meaning.fits(takes, gives):
        raise AsmgenError(
            f"a kernel named {name} gives {meaning.text}: its form is {meaning.form}, "
            f"this one's ({', '.join(takes)}) -> {', '.join(gives)}",
            source=source,
            hint=f"{hint}, or choose another name",
        )
    _check_fields(signature, source)
    return meaning


def _check_fields(signature: Signature, source: Source) -> None:
    """Names that say more than residues do: one canonical value, a change of form."""
    name = signature.kernel
    elements = [p.contract for p in signature.inputs + signature.outputs if isinstance(p.contract, Element)]
    if name == "canon" and (most := elements[-1].value_max) >= elements[-1].field.modulus:
        raise AsmgenError(
            f"canon gives the one value below the modulus, but this one promises values up to {size(most)}",
            source=source,
            hint="annotate the result with fe.below(fe.modulus)",
        )
    scaled = [element.field.montgomery is not None for element in elements]
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
    return Meaning("", kinds, "", lambda p, *inputs: computes(*inputs))
