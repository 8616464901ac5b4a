"""Rows of products woven: values as before, each product just before its sum, and a carry flag for each chain."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from language import sample
from routines import call

from asmgen import Field, kernel
from asmgen.contracts import Element
from asmgen.kernel import Kernel
from asmgen.passes import Options, allocate, compile_kernel, lower_kernel, select
from asmgen.passes.select_amd64 import Amd64
from asmgen.passes.weave import runs_of, two_flag_rows, weave
from asmgen.routine import Allocated, Routine, Straight
from asmgen.targets.row import Instruction
from asmgen.words import Bit, Op, Program, Word, run

SEED = 20260401


def words(count: int) -> Element:
    return Field("any", 3, [64] * count).below(2 ** (64 * count))


def product(n: int, m: int, sign: int) -> Kernel:
    """z + x * y, or z - x * y kept positive, of n and m words."""
    x, y, z = words(n), words(m), words(n)
    out = words(n + m + (sign < 0))

    @kernel(computes=lambda x, y, z: z + sign * x * y)
    def mac(x: x, y: y, z: z) -> out:  # type: ignore[valid-type]
        if sign > 0:
            return z.value + x.value * y.value
        return z.value + 2 ** (64 * (n + m)) - x.value * y.value

    return mac


def reduction(n: int, k: int, modulus: int) -> Kernel:
    """x / 2^(64 k) modulo an odd number of n words, k words of the quotient at once."""
    x, out = words(n), Field("reduced", modulus, [64] * n, montgomery=2 ** (64 * k)).below(2 ** (64 * n))
    inverse = -pow(modulus, -1, 2 ** (64 * k)) % 2 ** (64 * k)

    @kernel(computes=lambda x: x)
    def step(x: x) -> out:  # type: ignore[valid-type]
        low = x.value.split(64 * k)[0]
        q = (low * inverse).split(64 * k)[0]
        return (x.value + q * modulus).divide_exact(2 ** (64 * k))

    return step


def value(limbs: list[int]) -> int:
    return sum(limb << 64 * index for index, limb in enumerate(limbs))


def agree(made: Kernel, wanted: Callable[[list[int]], int], rng: random.Random, tries: int = 40) -> None:
    """Words, and instructions of each kind of amd64 and of arm64, give what `wanted` says of the inputs' values."""
    program = lower_kernel(made)
    variants = (("amd64", "default"), ("amd64", "base"), ("arm64", "default"))
    routines: list[Routine | Allocated] = [select(program, Options(*each)) for each in variants]
    routines += [allocate(select(program, Options("amd64")), registers=count) for count in (7, 15)]
    for _ in range(tries):
        given = {p.name: sample(p.contract, rng) for p in made.signature.inputs}
        expected = wanted([value(given[p.name]) for p in made.signature.inputs])
        assert value(run(program, given)[0]["out"]) == expected, given
        for routine in routines:
            assert value(call(routine, made.signature, given)) == expected, (routine.__class__, given)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("n, m", [(1, 1), (1, 4), (2, 2), (3, 2), (4, 4), (2, 5)])
def test_products(n: int, m: int, sign: int) -> None:
    rng = random.Random(SEED)
    lift = 0 if sign > 0 else 2 ** (64 * (n + m))
    agree(product(n, m, sign), lambda x: x[2] + lift + sign * x[0] * x[1], rng)


@pytest.mark.parametrize("n, k", [(2, 1), (3, 1), (2, 2), (4, 2), (3, 3), (4, 4)])
def test_words_that_vanish(n: int, k: int) -> None:
    """The low k words of the sum are zero by proof: not made, and yet their carries come up."""
    rng = random.Random(SEED + n)
    for modulus in (rng.getrandbits(64 * n) | 1, 2 ** (64 * n) - 2**32 + 1, 2 ** (64 * n - 1) + 2**63 - 1):
        made = reduction(n, k, modulus)
        inverse = -pow(modulus, -1, 2 ** (64 * k))

        def wanted(x: list[int], modulus: int = modulus, inverse: int = inverse) -> int:
            return (x[0] + x[0] * inverse % 2 ** (64 * k) * modulus) >> 64 * k

        agree(made, wanted, rng, 20)
        for x in (0, 1, 2 ** (64 * k) % 2 ** (64 * n), 2 ** (64 * n) - 2 ** (64 * k), 2 ** (64 * n) - 1):
            given = {"x": [x >> 64 * i & 2**64 - 1 for i in range(n)]}
            for target in ("amd64", "arm64"):
                routine = select(lower_kernel(made), Options(target))
                assert value(call(routine, made.signature, given)) == wanted([x]), x


def names(made: Kernel, features: str = "default") -> list[str]:
    return [
        item.row.mnemonic
        for item in compile_kernel(made, Options("amd64", features)).items
        if isinstance(item, Instruction)
    ]


def test_each_chain_has_a_flag() -> None:
    made = names(product(4, 4, 1))
    rows = [index for index, name in enumerate(made) if name == "zero"]
    assert len(rows) == 4
    assert (made.count("adcx"), made.count("adox")) == (4 * 5, 4 * 4)
    assert not {"adcx", "adox", "mulx"} & set(names(product(4, 4, 1), "base"))
    assert not {"adcx", "adox"} & set(names(product(4, 4, -1))), "there is no second borrow"


def test_products_wait_for_their_sums() -> None:
    ops = lower_kernel(product(4, 4, 1)).ops
    woven = weave(ops, two_flag_rows(lower_kernel(product(4, 4, 1)), ()).numbers)
    assert sorted(map(id, woven)) == sorted(map(id, ops)), "nothing is lost, nothing is made twice"
    for op, following in zip(woven, woven[1:], strict=False):
        if isinstance(op, Op) and op.kind == "mul":
            assert isinstance(following, Op) and following.kind in ("mul", "add")
            assert following.kind == "mul" or set(op.outs) & set(following.ins)
    in_a_row = "".join("m" if isinstance(op, Op) and op.kind == "mul" else "-" for op in woven)
    assert "mmm" not in in_a_row


def test_woven_words_compute_the_same() -> None:
    rng = random.Random(SEED)
    for made in (product(4, 4, 1), product(2, 5, -1), reduction(4, 2, rng.getrandbits(256) | 1)):
        program = lower_kernel(made)
        for numbers in ((), two_flag_rows(program, ()).numbers):
            woven = replace(program, ops=tuple(weave(program.ops, numbers)))
            for _ in range(20):
                given = {p.name: sample(p.contract, rng) for p in made.signature.inputs}
                assert run(woven, given) == run(program, given)


def test_a_row_with_a_saved_carry_has_one_flag() -> None:
    program = lower_kernel(product(4, 4, 1))
    every = two_flag_rows(program, ())
    number, runs = next(iter(runs_of(program.ops).items()))
    carry = next(out for out in runs[0][1].outs if isinstance(out, Bit))
    assert number in every.numbers and len(every.numbers) == 4
    assert two_flag_rows(program, {carry}).numbers == every.numbers - {number}
    rng = random.Random(SEED)
    routine = Amd64(program, frozenset({"bmi2", "adx"}), frozenset({carry})).routine("amd64")
    given: dict[str, Any] = {p.name: sample(p.contract, rng) for p in program.signature.inputs}
    assert value(call(routine, program.signature, given)) == value(run(program, given)[0]["out"])


def test_a_row_in_which_something_else_stands_is_left_alone() -> None:
    program: Program = lower_kernel(product(3, 3, 1))
    ops = list(program.ops)
    middle = next(index for index, op in enumerate(ops) if isinstance(op, Op) and op.chain is not None) + 1
    stray = Op("shl", (ops[0].outs[0],), (Word(10_000),), 1)  # type: ignore[union-attr]
    ops.insert(middle, stray)
    woven = weave(ops, ())
    first = runs_of(ops)[min(runs_of(ops))]
    assert [op for op in woven if op in first[0]] == list(first[0])
    assert woven.index(stray) == woven.index(first[0][0]) + 1


@pytest.mark.parametrize("kernel_of", [lambda: product(4, 4, 1), lambda: reduction(4, 2, 2**256 - 2**224 + 1)])
def test_no_spill_where_there_are_registers(kernel_of: Callable[[], Kernel]) -> None:
    """Without weaving both keep sixteen halves of a row at a time."""
    routine = select(lower_kernel(kernel_of()), Options("amd64"))
    live, most = set[object](), 0
    parts = [part for part in routine.parts if isinstance(part, Straight)]
    last = {register: index for part in parts for index, each in enumerate(part.instructions) for register in each.read}
    for part in parts:
        for index, each in enumerate(part.instructions):
            live = {register for register in live | set(each.written) if last.get(register, -1) > index}
            most = max(most, len(live))
    assert most <= 12
