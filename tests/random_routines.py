"""Random routines over real rows of both targets: flags, ties, fixed registers, loops and branches."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from asmgen.contracts import Signature
from asmgen.errors import Source
from asmgen.routine import Branch, Loop, Part, Routine, Straight
from asmgen.targets import amd64, arm64
from asmgen.targets.row import Instruction, Memory, Operand, Tied, Virtual

WORDS = 5


def signature(returns_bit: bool = False) -> Signature:
    """Routines here have no C prototype: their arguments are passed by hand."""
    return Signature("random", "routine", (), (), returns_bit=returns_bit)


CONSTANTS = (0, 19, 2**51 - 1, 2**64 - 38, 0x1234_5678_9ABC_DEF0)


class Writer:
    """Writes instructions whose operands are random values known so far."""

    def __init__(self, rng: Random, target: str) -> None:
        self.rng = rng
        self.target = target
        self.serial = self.line = 0
        self.out = self.fresh("out")
        self.a, self.b = self.fresh("a"), self.fresh("b")
        self.count, self.small = self.fresh("n"), self.fresh("small")
        self.homes = {
            self.fresh(f"{pointer.name}{word}w"): Memory(pointer, 8 * word)
            for pointer in (self.a, self.b)
            for word in range(WORDS)
        }
        self.constants = {self.fresh(f"const{index}k"): value for index, value in enumerate(CONSTANTS)}
        self.values = [*self.homes, *self.constants, self.small]
        self.code: list[Instruction] = []
        self.recent = rng.choice((3, 8, 1000))  #: how far back operands are taken from
        self.closed = False

    def fresh(self, name: str = "v") -> Virtual:
        """A new virtual register; its name is unique, so that listings can be checked."""
        self.serial += 1
        return Virtual(self.serial, f"{name}_{self.serial}")

    def pick(self) -> Virtual:
        rng = self.rng
        values = self.values if rng.random() < 0.4 else self.values[-self.recent :]
        return rng.choice(values)

    def new(self, name: str = "v") -> Virtual:
        value = self.fresh(name)
        self.values.append(value)
        return value

    def tied(self) -> Tied:
        source = self.pick()
        return Tied(source, self.new())

    def write(self, name: str, *operands: Operand) -> None:
        """Append the instruction, with a source line of its own."""
        ins = amd64.ins if self.target == "amd64" else arm64.ins
        self.line += 1
        self.code.append(ins(name, *operands, source=Source("random", self.line)))

    def step(self) -> None:
        """One random instruction, or a few that hand flags on."""
        steps = _AMD64 if self.target == "amd64" else _ARM64
        self.rng.choice(steps)(self)

    def store(self) -> None:
        """A word of the output; buffers that may be the same do not count as known any more."""
        place = Memory(self.out, 8 * self.rng.randrange(WORDS))
        value = self.pick()
        if self.target == "amd64":
            self.write("mov_mr", place, value)
        else:
            self.write("str", value, place)

    def straight(self, length: int) -> Straight:
        """About `length` instructions."""
        outer, self.code = self.code, []
        while len(self.code) < length:
            self.step()
        made, self.code = Straight(tuple(self.code)), outer
        return made

    def loop(self, length: int) -> Loop:
        """A loop over some state; what its body makes is not known outside."""
        size = self.rng.randrange(1, 6)
        initial = tuple(self.pick() for _ in range(size))
        outer = list(self.values)
        state = tuple(self.new("s") for _ in range(size))
        body = self.straight(length)
        after = tuple(self.pick() for _ in range(size))
        self.values = outer
        result = tuple(self.new("r") for _ in range(size))
        return Loop(self.count, state, initial, after, result, body)

    def branch(self, length: int) -> Branch:
        """A loop or straight code, or other straight code for no pass."""
        size = self.rng.randrange(1, 5)
        outer = list(self.values)
        then: list[Straight | Loop] = [self.loop(length)]
        if self.rng.random() < 0.5:
            then.insert(self.rng.randrange(2), self.straight(length // 2))
        then_values = tuple(self.rng.choice(self.values[-8:]) for _ in range(size))
        self.values = list(outer)
        otherwise = (self.straight(self.rng.randrange(length)),)
        otherwise_values = tuple(self.pick() for _ in range(size))
        self.values = outer
        result = tuple(self.new("j") for _ in range(size))
        # The first part may use what the second defines only in this order.
        then = sorted(then, key=lambda part: _first(part))
        return Branch(self.count, tuple(then), otherwise, result, then_values, otherwise_values)

    def routine(self, parts: list[Part], returns: bool) -> Routine:
        arguments = (self.out, self.a, self.b, self.count, self.small)
        returned = self.pick() if returns else None
        return Routine(signature(returns), self.target, arguments, tuple(parts), self.homes, self.constants, returned)


def _first(part: Straight | Loop) -> int:
    """The number of the first value that a part defines: values are numbered as they are made."""
    if isinstance(part, Loop):
        return part.state[0].id
    return min(
        (value.id for instruction in part.instructions for value in instruction.written if isinstance(value, Virtual)),
        default=0,
    )


def routine(seed: int, target: str, *, length: int = 40, shape: str = "straight", stores: float = 0.5) -> Routine:
    """A random routine; `shape` is straight, loop or branch, `stores` how likely stores are before the last
    instructions.
    """
    writer = Writer(Random(seed), target)
    parts: list[Part] = [writer.straight(length // 2)]
    if shape == "loop":
        parts.append(writer.loop(length))
    elif shape == "branch":
        parts.append(writer.branch(length))
    if writer.rng.random() < stores:
        writer.store()
    for _ in range(length // 2):
        writer.step()
    for _ in range(WORDS):
        writer.store()
    parts.append(Straight(tuple(writer.code)))
    return writer.routine(parts, writer.rng.random() < 0.5)


# amd64


def _two_operands(name: str) -> Callable[[Writer], None]:
    def step(writer: Writer) -> None:
        other = writer.pick()
        writer.write(name, writer.tied(), other)

    return step


def _chain(writer: Writer) -> None:
    """add, adc, adc, …"""
    names = writer.rng.choice((("add_rr", "adc_rr"), ("sub_rr", "sbb_rr")))
    for index in range(writer.rng.randrange(2, 6)):
        other = writer.pick()
        writer.write(names[index > 0], writer.tied(), other)


def _two_chains(writer: Writer) -> None:
    """Carries in CF and OF side by side, products between."""
    start = writer.pick()
    writer.write("test_rr", start, start)
    for _ in range(writer.rng.randrange(2, 4)):
        _mulx(writer)
        for name in ("adcx_rr", "adox_rr"):
            other = writer.pick()
            writer.write(name, writer.tied(), other)


def _mulx(writer: Writer) -> None:
    x, y = writer.pick(), writer.pick()
    high = writer.new()
    writer.write("mulx_rrr", high, writer.new(), x, y)


def _mul(writer: Writer) -> None:
    x, y = writer.pick(), writer.pick()
    high = writer.new()
    writer.write("mul_r", high, writer.new(), x, y)


def _lea(writer: Writer) -> None:
    x, y = writer.pick(), writer.pick()
    writer.write("lea_rm", writer.new(), Memory(x, writer.rng.randrange(-99, 99), y, writer.rng.choice((1, 2, 4, 8))))


def _imul(writer: Writer) -> None:
    x = writer.pick()
    writer.write("imul_rri", writer.new(), x, writer.rng.choice((19, 38, -7)))


def _double_shift(writer: Writer) -> None:
    other = writer.pick()
    writer.write(writer.rng.choice(("shld_rri", "shrd_rri")), writer.tied(), other, writer.rng.randrange(1, 64))


def _shift(writer: Writer) -> None:
    if writer.rng.random() < 0.5:
        x, y = writer.pick(), writer.pick()
        writer.write(writer.rng.choice(("shlx_rrr", "shrx_rrr")), writer.new(), x, y)
    else:
        writer.write(writer.rng.choice(("shl_ri", "shr_ri")), writer.tied(), writer.rng.randrange(1, 64))


def _choose(writer: Writer) -> None:
    x, y = writer.pick(), writer.pick()
    writer.write("cmp_rr", x, y)
    other = writer.pick()
    writer.write("cmovc_rr", writer.tied(), other)
    if writer.rng.random() < 0.5:
        byte = writer.tied()
        writer.write("setc_r", byte)
        writer.write("movzbl_rr", writer.new(), byte.target)


def _copy(writer: Writer) -> None:
    x = writer.pick()
    writer.write("mov_rr", writer.new(), x)


_AMD64: tuple[Callable[[Writer], None], ...] = (
    _chain, _chain, _two_chains, _mulx, _mulx, _mulx, _mul, _lea, _imul, _double_shift, _shift, _choose, _copy,
    *map(_two_operands, ("and_rr", "xor_rr", "imul_rr", "sub_rr", "add_rr")),
)  # fmt: skip


# arm64


def _three_operands(name: str) -> Callable[[Writer], None]:
    def step(writer: Writer) -> None:
        x, y = writer.pick(), writer.pick()
        writer.write(name, writer.new(), x, y)

    return step


def _carries(writer: Writer) -> None:
    names = writer.rng.choice((("adds", "adcs"), ("subs", "sbcs")))
    for index in range(writer.rng.randrange(2, 6)):
        x, y = writer.pick(), writer.pick()
        writer.write(names[index > 0], writer.new(), x, y)


def _product(writer: Writer) -> None:
    x, y = writer.pick(), writer.pick()
    writer.write("mul", writer.new(), x, y)
    writer.write("umulh", writer.new(), x, y)


def _four_operands(writer: Writer) -> None:
    x, y, z = writer.pick(), writer.pick(), writer.pick()
    if writer.rng.random() < 0.5:
        writer.write("madd", writer.new(), x, y, z)
    else:
        writer.write("extr", writer.new(), x, y, writer.rng.randrange(1, 64))


def _insert(writer: Writer) -> None:
    if writer.rng.random() < 0.5:
        writer.write("movk", writer.tied(), writer.rng.randrange(1 << 16), 16)
    else:
        other = writer.pick()
        writer.write("bfi", writer.tied(), other, 8, 20)


def _select(writer: Writer) -> None:
    x, y = writer.pick(), writer.pick()
    writer.write("cmp", x, y)
    x, y = writer.pick(), writer.pick()
    writer.write("csel_cc", writer.new(), x, y)


def _masked(writer: Writer) -> None:
    x = writer.pick()
    writer.write("and", writer.new(), x, 2**51 - 1)


def _same(writer: Writer) -> None:
    x = writer.pick()
    writer.write("mov", writer.new(), x)


_ARM64: tuple[Callable[[Writer], None], ...] = (
    _carries, _carries, _product, _product, _four_operands, _insert, _select, _masked, _same,
    *map(_three_operands, ("add", "sub", "eor")),
)  # fmt: skip
