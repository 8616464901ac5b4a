"""The shipped script of curve25519 in four words: values, bounds, products, and how long its routines are."""

from __future__ import annotations

from random import Random

import pytest
from language import agrees, check
from plain import wanted
from sizes import products, sizes

from asmgen.contracts import Element
from asmgen.kernel import Kernel
from asmgen.program import Program
from asmgen.scripts import load
from emulate.campaign import job
from emulate.compare import judge
from emulate.report import run_job

P = 2**255 - 19
SCRIPT = load("curve25519_4x64")
KERNELS = {name: each for name, each in SCRIPT.kernels.items() if isinstance(each, Kernel)}
PROGRAMS = {name: each for name, each in SCRIPT.kernels.items() if isinstance(each, Program)}
SEED = 20260401
ROOT = pow(2, (P - 1) // 4, P)


def even(x: int) -> int:
    return x % P if x % P % 2 == 0 else -x % P


#: What each kernel must give for residues of its inputs.
WANTED = wanted(P) | {
    "mul_canon": lambda a, b: (a * b,),
    "sqr_canon": lambda a: (a * a,),
    "absolute": lambda a: (even(a),),
    "either": lambda x, y: (x | y,),
}

#: The value that a kernel may give at the most; 2^256 - 1 for all others.
CANONICAL = ("mul_canon", "sqr_canon", "canon", "from_bytes", "absolute")


def test_every_kernel_is_here() -> None:
    assert set(KERNELS) == set(WANTED)
    assert set(PROGRAMS) == {"invert", "pow22523", "sqrt_ratio", "ladder_step"}


@pytest.mark.parametrize("name", KERNELS)
def test_plain_integers(name: str) -> None:
    agrees(KERNELS[name], WANTED[name], 150 if name == "lookup" else 1500, SEED)


@pytest.mark.parametrize("name", KERNELS)
def test_trace(name: str) -> None:
    check(KERNELS[name], 20 if name == "lookup" else 150, SEED + 1)


def test_promises() -> None:
    for name, kernel in KERNELS.items():
        signature = kernel.signature
        taken = {p.contract.value_max for p in signature.inputs if isinstance(p.contract, Element)}
        given = {p.contract.value_max for p in signature.outputs if isinstance(p.contract, Element)}
        assert taken <= {2**256 - 1}, f"{name} takes any four words"
        assert given <= {P - 1 if name in CANONICAL else 2**256 - 1}, name


EDGES = sorted({k * P + d for k in range(3) for d in range(-40, 41)} | {2**255 + d for d in range(-20, 21)}
               | {2**256 - d for d in range(1, 60)})  # fmt: skip


def test_canonical_values() -> None:
    """Everything around multiples of the modulus, and all that is near 2^255 and 2^256."""
    for value in (each for each in EDGES if 0 <= each < 2**256):
        assert KERNELS["canon"](value).value == value % P, value
        assert KERNELS["mul_canon"](value, 1).value == value % P, value
        assert KERNELS["mul_canon"](value, value).value == value * value % P == KERNELS["sqr_canon"](value).value, value
        assert KERNELS["is_zero"](value) == (value % P == 0), value
        assert KERNELS["equal"](value, value % P) == 1 and KERNELS["equal"](value, (value + 1) % P) == 0, value


@pytest.mark.parametrize("target", ["amd64", "arm64"])
def test_products_of_edges(target: str) -> None:
    """Products with 1, with themselves and with their inverses, so that sums end next to 0, P and 2^255."""
    from vectors import emulated

    rng = Random(SEED)
    for name in ("mul", "mul_canon"):
        kernel = KERNELS[name]
        for value in rng.sample([each for each in EDGES if 0 < each < 2**256 and each % P], 60):
            for other in (1, value, pow(value, -1, P), -pow(value, -1, P) % P, 2 * P - pow(value, -1, P)):
                limbs = tuple(tuple(x >> at & 2**64 - 1 for at in range(0, 256, 64)) for x in (value, other))
                _, outputs = next(emulated(kernel, limbs, target))
                assert not judge(kernel, limbs, outputs), (name, value, other)


def test_many_squarings() -> None:
    square_n, a = KERNELS["square_n"], 2**256 - 1
    for n in (0, 1, 2, 10, 250):
        assert square_n(a, n).value % P == pow(a, 2**n, P)
    assert square_n(a, 0).value == a


def test_products() -> None:
    """16 and 10 products of words and four by 38, the least that schoolbook takes; 19 is put on the quotient."""
    for target, factor in (("amd64", 1), ("arm64", 2)):
        assert products(KERNELS["mul"], target) == factor * (16 + 4) + (target == "amd64")
        assert products(KERNELS["sqr"], target) == factor * (10 + 4) + (target == "amd64")


#: Instructions without the mark for indirect branches: at most the fewest known on arm64, fully reduced ones too, and
#: well below what compilers make of C on amd64.
MOST = {
    ("mul", "arm64"): 94, ("mul_canon", "arm64"): 101, ("sqr", "arm64"): 72, ("sqr_canon", "arm64"): 79,
    ("square_n", "arm64"): 76, ("mul", "amd64"): 90, ("sqr", "amd64"): 76, ("square_n", "amd64"): 96,
}  # fmt: skip


def test_sizes() -> None:
    for (name, target), most in MOST.items():
        assert sizes(KERNELS[name], target).instructions <= most, (name, target)


@pytest.mark.parametrize("target", ["amd64", "arm64"])
def test_the_loop_keeps_its_state_in_registers(target: str) -> None:
    """Only the counter may be in memory."""
    assert sizes(KERNELS["square_n"], target).carried <= 1
    assert sizes(KERNELS["sqr"], target).slots == sizes(KERNELS["mul"], target).slots == 0


def test_the_row_chains_have_a_flag_each() -> None:
    used = sizes(KERNELS["mul"], "amd64").names
    assert used["adcx"] == used["adox"] + 3 == 15 and used["mulx"] == 20
    assert not {"adcx", "adox", "mulx"} & set(sizes(KERNELS["mul"], "amd64", "base").names)


@pytest.mark.parametrize("target", ["amd64", "arm64"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, target: str) -> None:
    """Emulated, against the meaning that the name has."""
    from asmgen.passes import Options

    result = run_job(job(PROGRAMS[name], Options(target)), 40 if name != "ladder_step" else 400, SEED)
    assert result.failure is None, result.failure


def test_roots() -> None:
    """The four cases of RFC 9496, and zeros."""
    sqrt_ratio = PROGRAMS["sqrt_ratio"]
    for u, v in ((4, 1), (-4, 1), (2, 1), (-2, 1), (0, 1), (0, 0), (1, 0), (9, 4), (3, 5)):
        root, square = sqrt_ratio(u % P, v % P)
        ratio = u * pow(v, P - 2, P) % P
        wanted = ratio if square else ROOT * ratio % P
        assert root.value % 2 == 0 and root.value**2 % P == wanted, (u, v)
        assert square == (ratio == 0 and u == 0 or (ratio != 0 and pow(ratio, (P - 1) // 2, P) == 1)), (u, v)


def test_the_chain_of_inversion() -> None:
    from asmgen.chains import best

    assert best(P - 2).counts == "254 squarings, 11 multiplications"
