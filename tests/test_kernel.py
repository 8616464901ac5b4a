"""Kernels: contracts, meanings, loops and decisions; trace, plain integers and meaning agree."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from language import arguments, check, meant, plain_run, residues, traced_run, vectors

from asmgen import Bit, Bytes, Count, Field, Range, Small, choose, keep, kernel, repeat, select
from asmgen.contracts import Element
from asmgen.errors import AsmgenError
from asmgen.kernel import Kernel
from asmgen.meanings import MEANINGS
from asmgen.nodes import LoopNode, ordered

SEED = 20260401

# P-256 in Montgomery form: four full words, canonical.

P256 = 2**256 - 2**224 + 2**192 + 2**96 - 1
p256 = Field("p256", P256, limbs=[64] * 4, montgomery=2**256)
canonical = p256.below(P256)
plain = p256.plain.below(P256)


def reduced(total: Any) -> Any:
    """(total + q * p) / 2^64 with the q that makes the division exact; -1 / p is 1 modulo 2^64."""
    q = total.split(64)[0]
    return (total + q * P256).divide_exact(2**64)


@kernel
def mul(a: canonical, b: canonical) -> canonical:
    total = 0
    for limb in a:
        total = reduced(total + limb * b.value)
    return total.reduce_once(P256)


@kernel
def square_n(a: canonical, n: Count) -> canonical:
    return repeat(n, lambda x: mul(x, x), a, invariant=canonical)


@kernel
def add(a: canonical, b: canonical) -> canonical:
    return (a.value + b.value).reduce_once(P256)


@kernel
def sub(a: canonical, b: canonical) -> canonical:
    difference = a.value - b.value
    return select(difference.at_least(0), difference, difference + P256)


@kernel
def neg(a: canonical) -> canonical:
    return select(a.value.is_zero(), 0, P256 - a.value)


@kernel
def halve(a: canonical) -> canonical:
    odd = a.value.split(1)[0]
    return select(odd, a.value + P256, a.value).divide_exact(2)


@kernel
def to_mont(a: plain) -> canonical:
    return mul(p256.element(a.value), p256.element(2**512 % P256))


@kernel
def from_mont(a: canonical) -> plain:
    total = a.value
    for _ in range(4):
        total = reduced(total)
    return total.reduce_once(P256)


@kernel
def from_bytes(s: Bytes(32, "big")) -> canonical:
    return mul(s.value.reduce_once(P256), 2**512 % P256)


@kernel
def to_bytes(a: canonical) -> Bytes(32, "big"):
    return from_mont(a).value


@kernel
def is_zero(a: canonical) -> Bit:
    return a.value.is_zero()


@kernel
def equal(a: canonical, b: canonical) -> Bit:
    return (a.value - b.value).is_zero()


@kernel(computes=lambda a, b: (a + b, (a + b) % P256 == 0, a - b))
def butterfly(a: canonical, b: canonical) -> tuple[canonical, Bit, canonical]:
    total = add(a, b)
    return total, is_zero(total), sub(a, b)


# curve25519 in four full words, never corrected, by either of two folds.

P = 2**255 - 19
saturated = Field("curve25519_4x64", P, limbs=[64] * 4)
full = saturated.limbs_below(2**64)


def early(product: Any) -> Any:
    """The quotient by 2^255 taken before the high part of 38 * high is there."""
    words = product.words()
    low, high = (sum(word << 64 * i for i, word in enumerate(part)) for part in (words[:4], words[4:]))
    q = (38 * words[7] + words[3]).split(63)[1]
    return low + 38 * high + 19 * q - (q << 255)


def late(product: Any) -> Any:
    """Folded at 2^256 twice, and the carry out of the second fold once more."""
    for _ in range(3):
        low, high = product.split(256)
        product = low + 38 * high
    return product


@kernel(computes=lambda a, b: a * b)
def mul_4x64(a: full, b: full) -> full:
    return choose("fold", early, late)(a.value * b.value)


# curve25519 in five limbs: products without carries, a state kept scaled.

fe = Field("curve25519", P, limbs=[51] * 5)
loose = fe.limbs_below(2**54)
tight = fe.limbs_below(2**52)
scaled = fe.limbs_below(2**60, multiple_of=2**6)


def carried(columns: Any) -> Any:
    low, high = zip(*(column.split(51) for column in columns), strict=True)
    return [low[0] + 19 * high[4]] + [low[k] + high[k - 1] for k in range(1, 5)]


def squared(a: Any) -> Any:
    columns: list[Any] = [0] * 5
    for i in range(5):
        for j in range(5):
            columns[(i + j) % 5] += a[i] * a[j] if i + j < 5 else 19 * a[i] * a[j]
    return carried(carried(columns))


@kernel(computes=lambda a, b: a * b)
def carry_free(a: tight, b: tight) -> tight:
    """floor(a b / 2^52) is the upper word of (a 2^12) b; the low part follows from the whole modulo 2^64."""
    low, high = [0] * 5, [0] * 5
    for i in range(5):
        for j in range(5):
            k = (i + j) % 5
            h = keep(((a[i] << 12) * b[j]).split(64)[1])
            factor = 1 if i + j < 5 else 19
            low[k] += factor * (a[i] * b[j] - (h << 52))
            high[k] += factor * h
    return carried(carried([low[0] + 38 * high[4]] + [low[k] + 2 * high[k - 1] for k in range(1, 5)]))


@kernel(computes=lambda a, n: pow(a, 2**n, P))
def square_scaled(a: tight, n: Count) -> scaled:
    """The loop's state is 2^6 times the element: so is what it gives."""

    def body(state: Any) -> Any:
        return [limb << 6 for limb in squared([limb.divide_exact(2**6) for limb in state])]

    return repeat(n, body, [limb << 6 for limb in a], invariant=fe.limbs_below(2**58, multiple_of=2**6))


@kernel(computes=lambda a, n: 3**n)
def powers_of_three(a: tight, n: Count) -> tight:
    """A state of two parts, one of them a lone number below 3 * 2^n times nothing: it is kept in range by a split."""

    def body(state: Any) -> Any:
        element, flag = state
        return [carried([3 * limb for limb in element]), (flag + 1).split(1)[0]]

    element, _ = repeat(n, body, [[1, 0, 0, 0, 0], a[0].split(1)[0]], invariant=[tight, Range(below=2)])
    return element


@kernel(computes=lambda a: pow(a, 32, P))
def five_times(a: loose) -> tight:
    return repeat(5, squared, a, invariant=loose, empty=carried)


@kernel(computes=lambda a, n: pow(a, 2**n, P) if n else a)
def no_pass_is_carried(a: loose, n: Count) -> tight:
    return repeat(n, squared, a, invariant=loose, empty=carried)


@kernel(computes=lambda n: 2**n)
def counted(n: Count) -> fe.limbs_below(2**51 + 60):
    """The loop's bound is that of the body, not that of the invariant."""
    return repeat(n, lambda x: carried([2 * limb for limb in x]), fe.element(1), invariant=tight)


KERNELS = {
    kernel.name: kernel
    for kernel in (
        mul, square_n, add, sub, neg, halve, to_mont, from_mont, from_bytes, to_bytes, is_zero, equal, butterfly,
        mul_4x64, carry_free, square_scaled, powers_of_three, five_times, no_pass_is_carried, counted,
    )
}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_trace_plain_run_and_meaning_agree(name: str) -> None:
    for choices, _ in KERNELS[name].alternatives():
        check(KERNELS[name], 120, SEED, choices=choices)


def test_montgomery_result_is_proved_below_p() -> None:
    traced = mul.trace()
    assert [node.interval.high for node in traced.outputs[0][:3]] == [2**64 - 1] * 3
    assert traced.outputs[0][3].interval.high == P256 >> 192


def test_early_quotient_is_proved_within_four_words() -> None:
    """As tight as it is: 2^255 + 2^199 and little more."""
    assert mul_4x64.trace().outputs[0][3].interval.high == 2**63 + 38
    (node,) = [node for node in ordered(mul_4x64.trace().outputs[0]) if node.op == "sub"]
    assert 0 == node.interval.low and node.interval.high <= 2**255 + 2**199


def test_decisions() -> None:
    assert mul_4x64.choices == {"fold": 2} and mul.choices == {}
    default, other = mul_4x64.trace(), mul_4x64.trace({"fold": 1})
    assert [choices for choices, _ in mul_4x64.alternatives()] == [{}, {"fold": 1}]
    names = [{node.source.text for node in ordered(traced.outputs[0]) if node.source} for traced in (default, other)]
    assert "q = (38 * words[7] + words[3]).split(63)[1]" in names[0] - names[1]
    assert "product = low + 38 * high" in names[1] - names[0]


def test_decisions_are_combined() -> None:
    @kernel
    def carry(a: tight) -> tight:
        return choose("second", list, tuple, list)(choose("first", list, tuple)(a))

    found = [choices for choices, _ in carry.alternatives()]
    assert found[0] == {} and {"first": 1, "second": 2} in found and len(found) == 6


def test_decisions_inside_of_alternatives() -> None:
    def inner(a: Any) -> Any:
        return choose("inner", list, tuple)(a)

    @kernel
    def carry(a: tight) -> tight:
        return choose("outer", list, inner)(a)

    assert carry.choices == {"outer": 2, "inner": 2}
    carry.trace({"inner": 1})  # of no effect here, but known
    with pytest.raises(AsmgenError, match="no decision"):
        carry.trace({"middle": 1})


def test_signatures() -> None:
    signature = butterfly.signature
    assert signature.symbol == "test_kernel_butterfly" and signature.returns_bit
    assert [parameter.name for parameter in signature.parameters] == ["out0", "out1", "a", "b"]
    assert [parameter.name for parameter in mul.signature.outputs] == ["out"] and not mul.signature.returns_bit
    assert square_n.signature.inputs[1].contract is Count
    assert square_scaled.signature.doc == "The loop's state is 2^6 times the element: so is what it gives."
    assert is_zero.signature.outputs == () and is_zero.trace().returns is not None
    assert to_bytes.signature.outputs[0].contract == Bytes(32, "big") and len(to_bytes.trace().outputs[0]) == 1


def test_traces_are_repeatable() -> None:
    """Two traces of one kernel are the same graph, node for node."""
    again = Kernel(mul.function, None, globals())
    first, second = (list(ordered([n for out in each.trace().outputs for n in out])) for each in (mul, again))
    places = [{node: index for index, node in enumerate(graph)} for graph in (first, second)]
    rows = [
        [(n.op, n.data, n.interval, n.serial, n.source, n.name, [place[arg] for arg in n.args]) for n in graph]
        for graph, place in zip((first, second), places, strict=True)
    ]
    assert rows[0] == rows[1]


def test_every_node_has_a_line_of_the_script() -> None:
    for each in KERNELS.values():
        for outputs in each.trace().outputs:
            for node in ordered(outputs):
                assert node.source is not None and node.source.file == __file__, (each, node)


def loop_of(each: Kernel) -> LoopNode:
    (node, *_) = [node for node in ordered(each.trace().outputs[0]) if node.op == "result"]
    loop: LoopNode = node.data[0]
    return loop


def test_loops() -> None:
    loop = loop_of(square_n)
    assert (loop.count.op, loop.count.data) == ("scalar", "n") and loop.empty == loop.initial
    assert [node.data for node in loop.state] == [(loop.id, i) for i in range(4)]
    five = loop_of(five_times)
    assert (five.count.op, five.count.data) == ("const", 5) and five.empty != five.initial
    assert [node.interval.high for node in five.state] == [2**54 - 1] * 5
    assert all(node.interval.high < 2**51 + 2**18 for node in five_times.trace().outputs[0])
    assert len(loop_of(powers_of_three).state) == 6
    assert all(node.poly.exact_quotient(2**6) is not None for node in loop_of(square_scaled).state)


def test_what_a_loop_makes_is_not_used_after_it() -> None:
    """The same product inside and after the loop: two nodes, since for no pass the first is never made."""

    @kernel(computes=lambda a, n: a)
    def twice(a: tight, n: Count) -> fe.limbs_below(2**64):
        first = repeat(n, lambda x: carried([x[0] + (a[0] * a[1]).split(51)[0]] + x[1:]), list(a), invariant=tight)
        return [first[0] + (a[0] * a[1]).split(51)[0]] + [0] * 4

    outside = {node for node in ordered(twice.trace().outputs[0]) if node.op == "mul"}
    inside = {node for node in ordered(loop_of(twice).next) if node.op == "mul"}
    assert len(outside) == 1 and not outside & inside


def test_no_pass_at_all() -> None:
    @kernel(computes=lambda a: a)
    def nothing(a: tight) -> tight:
        return repeat(0, lambda x: x, a, invariant=tight)

    assert [node.op for node in nothing.trace().outputs[0]] == ["limb"] * 5
    assert nothing([1, 2, 3, 4, 5]) == [1, 2, 3, 4, 5]


def test_plain_calls() -> None:
    assert five_times(3).value % P == pow(3, 32, P)
    assert five_times(a=[3, 0, 0, 0, 0]) == five_times(fe.element(3))
    assert from_bytes((7).to_bytes(32, "big")).value == 7 * 2**256 % P256
    assert to_bytes(7 * 2**256 % P256).value == 7
    total, zero, difference = butterfly(5, P256 - 5)
    assert (total.value, zero, difference.value) == (0, 1, 10)
    assert is_zero(0) == 1 and is_zero(1) == 0


def test_words_on_plain_integers_are_as_many_as_in_the_trace() -> None:
    """early() unpacks the words of a product that may be small: eight of them even of 1 * 1."""
    assert mul_4x64(1, 1).value == 1

    def unclear(number: Any) -> Any:
        return number.words()

    @kernel(computes=lambda a: 0)
    def two_sizes(a: full) -> full:
        return unclear(a.value)[:2] + unclear(a[0] * a[1])

    two_sizes.trace()
    with pytest.raises(AsmgenError, match="on plain integers the number of words is not clear here") as caught:
        two_sizes(1)
    assert caught.value.hint == "say how many words there are: x.words(8)"


def test_kernels_inside_kernels_check_their_contracts() -> None:
    @kernel(computes=lambda a: a**3)
    def passes(a: full) -> full:
        return mul_4x64(mul_4x64(a, a), [limb + 0 for limb in a])

    check(passes, 50, SEED)

    @kernel(computes=lambda a: a)
    def fails(a: full) -> canonical:
        return mul(p256.element(list(a)), p256.element(1))

    with pytest.raises(AsmgenError, match=r"a of mul: limb 3 may reach 2\^64 - 1; allowed is at most just below 2\^64"):
        fails.trace()


def test_annotations_as_text_of_local_names() -> None:
    narrow = fe.limbs_below(2**40)

    @kernel(computes=lambda a: a)
    def same(a: narrow) -> narrow:
        return a

    assert same.signature.inputs[0].contract == narrow  # annotations are text here: see the first import
    assert same.trace().outputs[0][0].interval.high == 2**40 - 1


def roots(p: int, a: int) -> list[int]:
    """The square roots of a modulo p, for p = 3 modulo 4 or 5 modulo 8: what the powers that can be one come to."""
    candidates = {pow(a, (p + 1) // 4, p)} if p % 4 == 3 else {
        pow(a, (p + 3) // 8, p) * pow(2, k * (p - 1) // 4, p) % p for k in range(4)
    }  # fmt: skip
    found = {root for root in candidates if root * root % p == a % p}
    return sorted(found | {(p - root) % p for root in found})


def even_root(p: int, a: int) -> int | None:
    return next((root for root in roots(p, a) if root % 2 == 0), None)


def ratio(p: int, u: int, v: int) -> tuple[int, int]:
    """RFC 9496, 4.2, word by word."""
    i = p - 1 if p % 4 == 3 else next(root for root in roots(p, p - 1) if root % 2 == 0)
    if u % p == 0:
        return 0, 1
    if v % p == 0:
        return 0, 0
    quotient = u * pow(v, -1, p) % p
    root = even_root(p, quotient)
    if root is not None:
        return root, 1
    other = even_root(p, i * quotient)
    assert other is not None
    return other, 0


def ladder(p: int, x1: int, x2: int, z2: int, x3: int, z3: int) -> tuple[int, ...]:
    """RFC 7748, 5, line by line."""
    a24 = {2**255 - 19: 121665, 2**448 - 2**224 - 1: 39081}[p]
    a, b = (x2 + z2) % p, (x2 - z2) % p
    aa, bb = a * a % p, b * b % p
    e = (aa - bb) % p
    c, d = (x3 + z3) % p, (x3 - z3) % p
    da, cb = d * a % p, c * b % p
    return aa * bb % p, e * (aa + a24 * e) % p, (da + cb) ** 2 % p, x1 * (da - cb) ** 2 % p


#: By name and the number of arguments: what each meaning must give, written down once more.
WANTED: dict[str, Any] = {
    "mul": lambda p, a, b: a * b, "sqr": lambda p, a: a * a, "square_n": lambda p, a, n: pow(a, 2**n, p),
    "add": lambda p, a, b: a + b, "sub": lambda p, a, b: a - b, "neg": lambda p, a: -a, "negate": lambda p, a: -a,
    "double": lambda p, a: 2 * a, "halve": lambda p, a: a * ((p + 1) // 2), "half": lambda p, a: a * ((p + 1) // 2),
    "mul_small": lambda p, a, c: a * c, "mul_int": lambda p, a, c: a * c,
    "carry": lambda p, a: a, "reduce": lambda p, a: a, "canon": lambda p, a: a, "normalize": lambda p, a: a,
    "normalize_weak": lambda p, a: a, "to_storage": lambda p, a: a, "from_storage": lambda p, a: a,
    "to_mont": lambda p, a: a, "from_mont": lambda p, a: a,
    "absolute": lambda p, a: min((a, (p - a) % p), key=lambda x: x % 2),
    "select": lambda p, bit, a, b: [b, a][bit], "swap": lambda p, bit, a, b: [(a, b), (b, a)][bit],
    "is_zero": lambda p, a: int(a == 0), "is_odd": lambda p, a: a & 1, "equal": lambda p, a, b: int(a == b),
    "to_bytes": lambda p, a: a, "invert": lambda p, a: pow(a, -1, p) if a else 0,
    "pow22523": lambda p, a: pow(a, (p - 5) // 8, p), "sqrt_ratio": ratio,
    "from_bytes": {1: lambda p, s: s % p, 2: lambda p, s: (s, 1) if s < p else (0, 0)},
    "sqrt": {1: lambda p, a: pow(a, (p + 1) // 4, p), 2: lambda p, a: (pow(a, (p + 1) // 4, p), bool(roots(p, a)))},
    "inv_sqrt": {1: lambda p, a: pow(a, (p - 3) // 4, p), 2: lambda p, a: ratio(p, 1, a)},
    "lookup": lambda p, *given: given[0][given[1]] if isinstance(given[0], tuple)
    else given[1:][given[0]] if given[0] < len(given) - 1 else 0,
    "ladder_step": lambda p, *given: ladder(p, *given) if len(given) == 5
    else ladder(p, given[1], *(given[4:] + given[2:4] if given[0] else given[2:])),
}  # fmt: skip


@pytest.mark.parametrize("name", MEANINGS)
def test_meanings(name: str) -> None:
    rng = Random(SEED)
    moduli = (P256, 2**255 - 19, 2**448 - 2**224 - 1, 2**61 - 1)
    assert set(WANTED) == set(MEANINGS)
    for meaning in MEANINGS[name]:
        wanted = WANTED[name] if callable(WANTED[name]) else WANTED[name][len(meaning.gives)]
        kinds = meaning.takes + meaning.takes[-1:] * 3 if meaning.many else meaning.takes
        fitting = [p for p in moduli if meaning.primes is None or meaning.primes[1](p)]
        assert fitting
        for _ in range(40):
            p = rng.choice(fitting)
            element = [0, 1, p - 1, rng.randrange(p), rng.randrange(p)]
            of = {"count": rng.randrange(12), "bit": rng.randrange(2), "small": rng.randrange(6),
                  "bytes": rng.choice([0, p - 1, p, 2**512 - 1]),
                  "table": tuple(rng.randrange(p) for _ in range(6))}  # fmt: skip
            inputs = [rng.choice(element) if kind == "element" else of[kind] for kind in kinds]
            made, right = meaning.function(p, *inputs), wanted(p, *inputs)
            both = [each if isinstance(each, tuple) else (each,) for each in (made, right)]
            assert [int(x) % p for x in both[0]] == [int(x) % p for x in both[1]], (name, p, inputs)
            assert len(both[0]) == len(meaning.gives)
        assert len(meaning.texts) in (1, len(meaning.gives)) and all(meaning.texts)
        assert meaning.form.endswith(", ".join(meaning.gives))


def test_long_exponents() -> None:
    square_n = MEANINGS["square_n"][0].function
    assert square_n(P256, 3, 5000) == pow(3, pow(2, 5000, P256 - 1), P256)
    assert square_n(P256, 0, 2**64 - 1) == 0


def test_meanings_that_hold_for_some_moduli() -> None:
    with pytest.raises(AsmgenError, match="pow22523 has a known meaning for 2\\^255 - 19 only"):

        @kernel
        def pow22523(a: canonical) -> canonical:
            return a

    with pytest.raises(AsmgenError, match="its form is \\(element\\) -> element or \\(element\\) -> element, bit"):

        @kernel
        def sqrt(a: canonical, b: canonical) -> canonical:
            return a

    with pytest.raises(AsmgenError, match="to_storage has a known meaning within one field"):

        @kernel
        def to_storage(a: canonical) -> fe.limbs_below(2**52):
            return list(a) + [0]

    with pytest.raises(AsmgenError, match="normalize gives the one value below the modulus"):

        @kernel
        def normalize(a: canonical) -> p256.below(2**256):
            return a


def test_expected_is_the_meaning_not_the_body() -> None:
    @kernel(computes=lambda a, b: a * b + 1)
    def wrong(a: canonical, b: canonical) -> canonical:
        return mul(a, b)

    given = next(vectors(wrong, 1, SEED))
    assert residues(wrong, plain_run(wrong, given)) != meant(wrong, given)
    assert residues(wrong, traced_run(wrong, wrong.trace(), given)) == residues(wrong, plain_run(wrong, given))
    assert wrong.expected([2, 3]) == (7,) and arguments(wrong, given)[0] == given["a"]
    assert butterfly.expected([3, P256 - 3]) == (0, 6, 1)  # the bit, second in the script, is returned

    @kernel(computes=lambda a: (a, a))
    def lone(a: canonical) -> canonical:
        return a

    with pytest.raises(AsmgenError, match="computes of lone gives 2 values for 1 results"):
        lone.expected([1])


def test_small_numbers_and_bits_as_arguments() -> None:
    @kernel(computes=lambda a, c, bit: a * c if bit else a)
    def scale(a: loose, c: Small(2**10), bit: Bit) -> fe.limbs_below(2**64):
        return select(bit, [c * limb for limb in a], list(a))

    check(scale, 100, SEED)
    traced = scale.trace()
    ops = {(node.op, node.data) for node in ordered(traced.outputs[0])}
    assert {("scalar", "c"), ("scalar", "bit")} <= ops


def test_odd_byte_strings() -> None:
    """66 bytes are nine words, the last of them two bytes."""
    p521 = Field("p521", 2**521 - 1, limbs=[58] * 9)

    @kernel
    def from_bytes(s: Bytes(66, "little")) -> p521.limbs_below([2**58] * 8 + [2**64]):
        return s.value

    @kernel
    def to_bytes(a: p521.below(p521.modulus)) -> Bytes(66, "little"):
        return a.value

    assert [node.interval.high for node in ordered(from_bytes.trace().outputs[0]) if node.op == "limb"][-1] == 2**16 - 1
    check(from_bytes, 60, SEED)
    check(to_bytes, 60, SEED)


def test_explicit_bodies() -> None:
    @kernel(computes=lambda a: a)
    def same(a: tight) -> tight:
        return a

    @same.on("amd64")
    def body(out: object, a: object) -> None:
        """Never called here."""

    assert dict(same.explicit) == {"amd64": body} and dict(mul.explicit) == {}
    assert isinstance(same.signature.outputs[0].contract, Element)
