"""The shipped script of P-521: values, bounds, both ways to sum a product, and how long the routines are."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from language import agrees, check
from plain import wanted
from sizes import products, sizes
from vectors import emulated

from asmgen.contracts import Element
from asmgen.kernel import Kernel
from asmgen.nodes import evaluate, ordered
from asmgen.passes import Options
from asmgen.program import Program
from asmgen.scripts import load
from emulate.campaign import job
from emulate.compare import judge
from emulate.report import run_job

P = 2**521 - 1
WIDTHS = [58] * 8 + [57]
AT = range(0, 522, 58)
ALL = load("p521_9x58").kernels
KERNELS = {name: each for name, each in ALL.items() if isinstance(each, Kernel)}
PRODUCTS = ("mul", "sqr", "square_n")
TARGETS = ("amd64", "arm64")
SEED = 20260401

#: What each kernel must give for residues of its inputs.
WANTED = {name: each for name, each in wanted(P).items() if name not in ("swap", "absolute")}
WANTED["carry"] = lambda a: (a,)

#: Instructions without the mark for indirect branches: below the fewest known on arm64, 384 and 239, and below what
#: compilers make of the same C on amd64.
MOST = {
    ("mul", "arm64"): 345, ("sqr", "arm64"): 230, ("square_n", "arm64"): 270,
    ("mul", "amd64"): 410, ("sqr", "amd64"): 270, ("square_n", "amd64"): 330,
}  # fmt: skip


def cut(value: int) -> list[int]:
    """A value below 2^521 in limbs."""
    return [value >> at & (1 << width) - 1 for at, width in zip(AT, WIDTHS, strict=True)]


def value(limbs: list[int]) -> int:
    return sum(limb << at for limb, at in zip(limbs, AT, strict=True))


def taken(name: str) -> Element:
    """What the first element may be that a kernel takes."""
    return next(p.contract for p in KERNELS[name].signature.inputs if isinstance(p.contract, Element))


def given(name: str) -> Element:
    contract = KERNELS[name].signature.outputs[0].contract
    assert isinstance(contract, Element)
    return contract


def test_every_kernel_is_here() -> None:
    assert set(KERNELS) == set(WANTED)
    assert {name for name, each in ALL.items() if isinstance(each, Program)} == {"invert", "sqrt"}


@pytest.mark.parametrize("name", WANTED)
def test_plain_integers(name: str) -> None:
    agrees(KERNELS[name], WANTED[name], 100 if name == "lookup" else 800, SEED)


@pytest.mark.parametrize("name", WANTED)
def test_trace(name: str) -> None:
    check(KERNELS[name], 10 if name == "lookup" else 100, SEED + 1)


@pytest.mark.parametrize("name", PRODUCTS)
def test_the_other_way_to_sum(name: str) -> None:
    assert KERNELS[name].choices == {"product": 2}
    check(KERNELS[name], 150, SEED + 2, choices={"product": 1})


def test_promises() -> None:
    """Products take what sums give, and the kernels that do not carry take what products give."""
    wide, tight = taken("mul"), given("mul")
    assert wide.limb_max == tuple(13 * 2 ** (width - 2) - 1 for width in WIDTHS)
    assert tight.limb_max == tuple(2**width + 2**9 - 1 for width in WIDTHS)
    for name in ("sqr", "square_n", "mul_small"):
        assert (taken(name), given(name)) == (wide, tight), name
    for name in ("add", "sub", "neg"):
        assert (taken(name), given(name)) == (tight, wide), name
    for name in ("carry", "canon", "to_bytes", "is_zero"):
        assert taken(name).limb_max == (2**64 - 1,) * 9, name
    assert given("canon").value_max == given("from_bytes").value_max == P - 1


@pytest.mark.parametrize("choice", [0, 1])
@pytest.mark.parametrize("name", ["mul", "sqr"])
def test_largest_limbs_everywhere(name: str, choice: int) -> None:
    """All limbs at their bounds, through the trace: every number within what was proved of it, sums within a word."""
    nodes = list(ordered(KERNELS[name].trace({"product": choice}).outputs[0]))
    most = {node: node.interval.high for node in nodes if node.op == "limb"}
    for node, found in zip(nodes, evaluate(nodes, most), strict=True):
        assert node.interval.holds(found), node
    for node in nodes:
        if node.op == "mul":
            assert all(0 <= arg.interval.low and arg.interval.high < 2**64 for arg in node.args), node


def test_results_are_proved_far_below_their_promise() -> None:
    for name in ("mul", "sqr"):
        for choice in (0, 1):
            outputs = KERNELS[name].trace({"product": choice}).outputs[0]
            slack = [node.interval.high - (1 << width) for node, width in zip(outputs, WIDTHS, strict=True)]
            assert all(-1 <= each < 2**9 for each in slack)


def test_sizes() -> None:
    for (name, target), most in MOST.items():
        assert sizes(KERNELS[name], target).instructions <= most, (name, target)


def test_each_target_has_the_way_that_is_shorter_there() -> None:
    """81 and 45 products: amd64 has both halves by one instruction, arm64 by two anyway, which then need no carry."""
    for name, count in (("mul", 81), ("sqr", 45)):
        amd64, arm64 = sizes(KERNELS[name], "amd64").names, sizes(KERNELS[name], "arm64").names
        assert products(KERNELS[name], "amd64") == amd64["mulx"] == count
        assert products(KERNELS[name], "arm64") == 2 * count and arm64["umulh"] == count
        assert amd64["adc"] + amd64["adcx"] + amd64["adox"] >= count - 9
        assert arm64["adc"] == arm64["adcs"] == arm64["extr"] == 0


@pytest.mark.parametrize(("target", "features"), [("amd64", "default"), ("amd64", "base"), ("arm64", "default")])
def test_limbs_at_their_ends(target: str, features: str) -> None:
    """Zeros, ones, whole widths and the largest limbs, each by itself, emulated with buffers shared."""
    rng = Random(SEED)
    for name in ("mul", "sqr", "mul_small", "canon", "equal", "to_bytes"):
        kernel = KERNELS[name]
        for _ in range(60):
            limbs = [
                tuple(rng.choice([0, 1, (1 << width) - 1, 1 << width, most, most - 1]) % (most + 1)
                      for width, most in zip(WIDTHS, p.contract.limb_max, strict=True))
                if isinstance(p.contract, Element) else 2**32 - 1
                for p in kernel.signature.inputs
            ]  # fmt: skip
            for way, outputs in emulated(kernel, tuple(limbs), target, features):
                assert not judge(kernel, tuple(limbs), outputs), (name, way, SEED, limbs)


EDGES = [0, 1, 2, P - 1, P, P + 1, 2 * P - 1, 2 * P, 2**464, 2**464 - 1, 2**521, 2**58 - 1]


def test_canonical_values() -> None:
    """Values about the modulus, as digits and as limbs that are too long."""
    canon, is_zero, to_bytes = KERNELS["canon"], KERNELS["is_zero"], KERNELS["to_bytes"]
    many = [
        [2**64 - 1] * 9,
        [2**58 - 2] + [2**58 - 1] * 8,
        [0] * 8 + [2**64 - 1],
        [2**58] + [2**58 - 1] * 7 + [2**57 - 1],
    ]
    for limbs in [*([*cut(edge)[:8], edge >> 464] for edge in EDGES), *many]:
        assert canon(limbs).value == value(limbs) % P, limbs
        assert is_zero(limbs) == (value(limbs) % P == 0), limbs
        assert int(to_bytes(limbs).value) == value(limbs) % P, limbs


def test_bytes() -> None:
    """66 bytes, of which the first one has one bit: what is not below the modulus is refused."""
    for x in (*EDGES, 2**528 - 1, 2**527, SEED):
        out, good = KERNELS["from_bytes"](x.to_bytes(66, "big"))
        assert (out.value, good) == ((x, 1) if x < P else (0, 0)), x


def test_differences_of_equals() -> None:
    """x - y for the same residue, written differently: equal, and canonical zero."""
    kernels = KERNELS
    longer = [limb + (1 << width) - 1 for limb, width in zip(cut(SEED), WIDTHS, strict=True)]
    for x, y in product([cut(SEED), longer], repeat=2):
        assert kernels["equal"](x, y) == 1 and kernels["is_zero"](kernels["sub"](cut(SEED), cut(SEED))) == 1
        assert kernels["equal"](x, [y[0] ^ 1, *y[1:]]) == 0


@pytest.mark.parametrize("target", TARGETS)
def test_programs(target: str) -> None:
    for name in ("invert", "sqrt"):
        result = run_job(job(ALL[name], Options(target)), 20, SEED)
        assert result.failure is None, result.failure


def test_inverses_and_roots() -> None:
    for x in (0, 1, 2, 3, 5, P - 1, P - 2, 2**520, SEED):
        assert ALL["invert"](cut(x)).value % P == pow(x, P - 2, P), x
        root, found = ALL["sqrt"](cut(x))
        assert found == (pow(x, (P - 1) // 2, P) in (0, 1)), x
        assert root.value % P == pow(x, 2**519, P), x


def test_many_squarings() -> None:
    square_n = KERNELS["square_n"]
    for n in (0, 1, 2, 10, 250):
        assert square_n(cut(3), n).value % P == pow(3, 2**n, P)
    most = list(taken("square_n").limb_max)
    assert square_n(most, 0) == KERNELS["carry"](most)
