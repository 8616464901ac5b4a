"""Scripts full of random programs over a small field, for what becomes of calls: places, registers, stack, C."""

from __future__ import annotations

from random import Random

KERNELS = '''"""Integers modulo 2^127 - 1 in two words, and random programs over them."""

import asmgen
from asmgen import Bit, Bytes, Count, Field, Small, Table, kernel, power, program, repeat

P = 2**127 - 1
fe = Field("mersenne127", P, limbs=[64, 64])
words = fe.below(2**128)
tight = fe.below(2**127 + 8)
table_of_3 = Table(tight, 3)


def folded(x):
    low, high = x.split(127)
    return low + high


@kernel
def mul(a: words, b: words) -> tight:
    return folded(folded(a.value * b.value))


@kernel
def sqr(a: words) -> tight:
    return folded(folded(a.value * a.value))


@kernel
def square_n(a: words, n: Count) -> tight:
    return repeat(n, sqr, a, empty=lambda a: fe.limbs_of(folded(a.value)))


@kernel
def sub(a: tight, b: tight) -> tight:
    return folded(folded(a.value - b.value + 2 * P))


@kernel
def mul_small(a: words, c: Small(2**16)) -> tight:
    return folded(folded(c * a.value))


@kernel
def is_zero(a: words) -> Bit:
    return folded(folded(a.value)).reduce_once(P).is_zero()


@kernel
def select(bit: Bit, a: tight, b: tight) -> tight:
    return asmgen.select(bit, a, b)


@kernel
def swap(bit: Bit, a: tight, b: tight) -> tuple[tight, tight]:
    return asmgen.select(bit, b, a), asmgen.select(bit, a, b)


@kernel
def lookup(table: table_of_3, index: Small(3)) -> tight:
    return asmgen.select(index.at_least(2), table[2], asmgen.select(index.at_least(1), table[1], table[0]))


@kernel
def to_bytes(a: words) -> Bytes(16, "big"):
    return folded(folded(a.value)).reduce_once(P)


@kernel
def from_bytes(s: Bytes(16, "big")) -> tuple[tight, Bit]:
    good = 1 - s.value.at_least(P)
    return asmgen.select(good, s.value, 0), good


@kernel(computes=lambda a, b, c, d, e, f, g: a * b + c * d + e * f - g)
def many(a: tight, b: tight, c: tight, d: tight, e: tight, f: tight, g: tight) -> tight:
    total = a.value * b.value + c.value * d.value + e.value * f.value - g.value + 2 * P
    return folded(folded(total))
'''


class _Writer:
    """One program as it is written: lines of it, and of the Python function that says what it computes."""

    def __init__(self, rng: Random, number: int, wipe: bool, known: list[str]) -> None:
        self.rng = rng
        self.name = f"p{number}"
        self.wipe = wipe
        self.known = known  #: earlier programs from two elements to one
        self.elements = [f"a{i}" for i in range(rng.randint(1, 5))]
        self.inputs = {name: "tight" for name in self.elements}
        self.bits: list[str] = []
        self.bytes: list[str] = []
        self.counts: list[str] = []
        self.smalls: list[str] = []
        self.tables: list[str] = []
        for name, contract, kind in (
            ("bit", "Bit", self.bits), ("n", "Count", self.counts), ("c", "Small(2**16)", self.smalls),
            ("s", 'Bytes(16, "big")', self.bytes), ("table", "table_of_3", self.tables),
        ):  # fmt: skip
            if rng.random() < 0.3:
                self.inputs[name] = contract
                kind.append(name)
        self.lines: list[str] = []
        self.meant: list[str] = []
        self.serial = 0

    def new(self, kind: list[str]) -> str:
        self.serial += 1
        kind.append(f"v{self.serial}")
        return kind[-1]

    def element(self) -> str:
        if self.rng.random() < 0.06:
            return str(self.rng.choice([0, 1, 2**127 - 2, self.rng.getrandbits(126)]))
        recent = self.elements[-4:] if self.rng.random() < 0.7 else self.elements
        return self.rng.choice(recent)

    def call(self) -> None:
        """One line of the program, and what it means."""
        x, y = self.element(), self.element()
        choices = ["mul", "mul", "sub", "sqr", "repeat", "square_n", "many", "is_zero", "to_bytes", "power"]
        choices += ["select", "swap"] * bool(self.bits) + ["from_bytes"] * bool(self.bytes)
        choices += ["lookup"] * bool(self.tables) + ["mul_small"] + [f"program {each}" for each in self.known[-2:]]
        kind = self.rng.choice(choices)
        if kind in ("mul", "sub"):
            out = self.new(self.elements)
            self.add(f"{out} = {kind}({x}, {y})", f"{out} = {x} {'*' if kind == 'mul' else '-'} {y}")
        elif kind == "sqr":
            out = self.new(self.elements)
            self.add(f"{out} = sqr({x})", f"{out} = {x} * {x}")
        elif kind == "repeat":
            out, times = self.new(self.elements), self.rng.randint(1, 5)
            self.add(f"{out} = repeat({times}, sqr, {x})", f"{out} = pow({x}, 2**{times}, P)")
        elif kind == "square_n":
            out, times = self.new(self.elements), self.rng.choice([*self.counts, "3", "0"])
            self.add(f"{out} = square_n({x}, {times})", f"{out} = pow({x}, 2**{times}, P)")
        elif kind == "power":
            out, exponent = self.new(self.elements), self.rng.randint(2, 70)
            value = self.rng.choice([each for each in self.elements[:-1]])
            self.add(f"{out} = power({value}, {exponent})", f"{out} = pow({value}, {exponent}, P)")
        elif kind == "many":
            given = [self.element() for _ in range(7)]
            out = self.new(self.elements)
            a, b, c, d, e, f, g = given
            self.add(f"{out} = many({', '.join(given)})", f"{out} = {a} * {b} + {c} * {d} + {e} * {f} - {g}")
        elif kind == "mul_small":
            out, factor = self.new(self.elements), self.rng.choice([*self.smalls, *self.bits, "65535"])
            self.add(f"{out} = mul_small({x}, {factor})", f"{out} = {x} * {factor}")
        elif kind == "is_zero":
            out = self.new(self.bits)
            self.add(f"{out} = is_zero({x})", f"{out} = int({x} % P == 0)")
        elif kind == "select":
            out, bit = self.new(self.elements), self.rng.choice(self.bits)
            self.add(f"{out} = select({bit}, {x}, {y})", f"{out} = {x} if {bit} else {y}")
        elif kind == "swap":
            bit = self.rng.choice(self.bits)
            one, other = self.new(self.elements), self.new(self.elements)
            self.add(
                f"{one}, {other} = swap({bit}, {x}, {y})", f"{one}, {other} = ({y}, {x}) if {bit} else ({x}, {y})"
            )
        elif kind == "lookup":
            out, index = self.new(self.elements), self.rng.choice([*self.bits, "2"])
            self.add(f"{out} = lookup(table, {index})", f"{out} = table[{index}]")
        elif kind == "to_bytes":
            out = self.new(self.bytes)
            self.add(f"{out} = to_bytes({x})", f"{out} = {x} % P")
        elif kind == "from_bytes":
            text = self.rng.choice(self.bytes)
            out, bit = self.new(self.elements), self.new(self.bits)
            self.add(f"{out}, {bit} = from_bytes({text})", f"{out}, {bit} = ({text}, 1) if {text} < P else (0, 0)")
        else:
            out, name = self.new(self.elements), kind.split()[1]
            self.add(f"{out} = {name}({x}, {y})", f"{out} = meaning_{name}({x}, {y})")

    def add(self, line: str, meant: str) -> None:
        self.lines.append(line)
        self.meant.append(meant)

    def text(self) -> str:
        for _ in range(self.rng.randint(1, 9)):
            self.call()
        outputs = [self.rng.choice(self.elements[-3:]) for _ in range(self.rng.choice([1, 1, 1, 2, 3, 4]))]
        contracts = ["tight"] * len(outputs)
        if self.bytes and self.rng.random() < 0.4:
            outputs.append(self.rng.choice(self.bytes))
            contracts.append('Bytes(16, "big")')
        if self.bits and self.rng.random() < 0.5:
            place = self.rng.randint(0, len(outputs))
            outputs.insert(place, self.rng.choice(self.bits))
            contracts.insert(place, "Bit")
        contract = contracts[0] if len(contracts) == 1 else f"tuple[{', '.join(contracts)}]"
        returned = ", ".join(outputs)
        names = ", ".join(self.inputs)
        if len(self.inputs) == 2 and names == "a0, a1" and contract == "tight":
            self.known.append(self.name)
        inputs = ", ".join(f"{name}: {contract}" for name, contract in self.inputs.items())
        lines = "".join(f"    {line}\n" for line in self.lines)
        meant = "".join(f"    {line}\n" for line in self.meant)
        return (
            f"\n\ndef meaning_{self.name}({names}):\n{meant}    return {returned}\n\n\n"
            f"@program(computes=meaning_{self.name}, wipe={self.wipe})\n"
            f"def {self.name}({inputs}) -> {contract}:\n{lines}    return {returned}\n"
        )


def script(seed: int, count: int) -> str:
    """A script with `count` random programs p0, p1, …, every other one of which wipes the stack."""
    rng = Random(seed)
    known: list[str] = []
    return KERNELS + "".join(_Writer(rng, number, number % 2 == 1, known).text() for number in range(count))
