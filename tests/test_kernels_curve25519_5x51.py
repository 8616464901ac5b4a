"""The shipped script of curve25519 in five limbs: values, bounds, and how many products it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from language import agrees, check

from asmgen.chain_text import raised
from asmgen.contracts import Element, Table
from asmgen.kernel import Kernel
from asmgen.nodes import LoopNode, Node, evaluate, ordered
from asmgen.passes import Options
from asmgen.program import Program
from asmgen.scripts import load
from asmgen.targets import explicit
from asmgen.targets.row import Instruction, Integers, Memory, Role, Virtual
from emulate.campaign import job
from emulate.report import run_job

P = 2**255 - 19
SCRIPT = load("curve25519_5x51").kernels
KERNELS = {name: each for name, each in SCRIPT.items() if isinstance(each, Kernel)}
PROGRAMS = {name: each for name, each in SCRIPT.items() if isinstance(each, Program)}
SEED = 20260401

#: What each kernel must give for residues of its inputs, written down here once more.
WANTED: dict[str, Callable[..., tuple[int, ...]]] = {
    "carry": lambda a: (a,),
    "mul": lambda a, b: (a * b,),
    "sqr": lambda a: (a * a,),
    "square_n": lambda a, n: (pow(a, 2**n, P),),
    "mul_small": lambda a, c: (a * c,),
    "add": lambda a, b: (a + b,),
    "sub": lambda a, b: (a - b,),
    "neg": lambda a: (-a,),
    "canon": lambda a: (a,),
    "is_zero": lambda a: (int(a == 0),),
    "equal": lambda a, b: (int(a == b),),
    "is_odd": lambda a: (a % 2,),
    "absolute": lambda a: (even(a),),
    "to_bytes": lambda a: (a,),
    "from_bytes": lambda s: (s, 1) if s < P else (0, 0),
    "from_bytes_255": lambda s: (s % 2**255,),
    "select": lambda bit, a, b: (a if bit else b,),
    "lookup": lambda table, index: (table[index],),
    "swap": lambda bit, a, b: (b, a) if bit else (a, b),
}


def even(x: int) -> int:
    return x % P if x % P % 2 == 0 else -x % P


def value(limbs: list[int]) -> int:
    return sum(limb << 51 * index for index, limb in enumerate(limbs))


def test_every_kernel_is_here() -> None:
    assert set(KERNELS) == set(WANTED)
    assert set(PROGRAMS) == {"invert", "pow22523", "sqrt_ratio", "ladder_step"}


@pytest.mark.parametrize("name", KERNELS)
def test_plain_integers(name: str) -> None:
    """2,000 edge-biased inputs against Python, contracts checked on the way by the run itself."""
    agrees(KERNELS[name], WANTED[name], 200 if name == "lookup" else 2000, SEED)


@pytest.mark.parametrize("name", KERNELS)
def test_trace(name: str) -> None:
    check(KERNELS[name], 20 if name == "lookup" else 300, SEED + 1)


def contracts(name: str) -> tuple[set[int], set[int]]:
    """Bit lengths of the limbs that a kernel takes and gives."""
    signature = KERNELS[name].signature
    taken, given = (
        {most.bit_length() for p in parameters if isinstance(p.contract, Element) for most in p.contract.limb_max}
        for parameters in (signature.inputs, signature.outputs)
    )
    return taken, given


def test_promises() -> None:
    for name in ("mul", "sqr", "square_n", "mul_small"):
        assert contracts(name) == ({54}, {52}), name
    for name in ("add", "sub", "neg"):
        assert contracts(name) == ({52}, {54}), name
    assert contracts("carry") == ({64}, {52}) and contracts("canon") == ({64}, {51})
    for name in ("swap", "select"):
        assert contracts(name) == ({52}, {52}), name
    for name in ("absolute", "from_bytes"):
        given = KERNELS[name].signature.outputs[0].contract
        assert isinstance(given, Element) and given.value_max == P - 1
    table = KERNELS["lookup"].signature.inputs[0].contract
    assert isinstance(table, Table) and table.count == 16 and table.element.limb_max == (2**52 - 1,) * 5
    canonical = KERNELS["canon"].signature.outputs[0].contract
    assert isinstance(canonical, Element) and canonical.value_max == P - 1


@pytest.mark.parametrize("name", ["mul", "sqr", "square_n"])
def test_results_are_proved_far_below_their_promise(name: str) -> None:
    for node in KERNELS[name].trace().outputs[0]:
        assert 0 <= node.interval.low and node.interval.high < 2**51 + 2**18


def test_canonical_values() -> None:
    canon = KERNELS["canon"]
    edges = [0, 1, 18, 19, P - 1, P, P + 1, 2 * P - 1, 2 * P, 2**255 - 1, 2**255, 2**255 + 18]
    for limbs in [*([edge >> at & 2**51 - 1 for at in range(0, 204, 51)] + [edge >> 204] for edge in edges),
                  [2**64 - 1] * 5, [2**51 - 19] + [2**51 - 1] * 4, [0, 0, 0, 0, 2**64 - 1]]:  # fmt: skip
        assert canon(limbs).value == value(limbs) % P, limbs
    rng = Random(SEED)
    for _ in range(500):
        limbs = [rng.choice([2**64 - 1, 2**51 - 1, 2**51 - 20, 2**51, rng.getrandbits(64)]) for _ in range(5)]
        assert canon(limbs).value == value(limbs) % P, (SEED, limbs)
        assert KERNELS["is_zero"](limbs) == (value(limbs) % P == 0), (SEED, limbs)


def test_many_squarings() -> None:
    square_n, a = KERNELS["square_n"], [2**54 - 1] * 5
    for n in (0, 1, 2, 10, 250):
        assert square_n(a, n).value % P == pow(value(a), 2**n, P)
    assert square_n(a, 0) == KERNELS["carry"](a)
    assert square_n.expected([3, 2**64 - 1]) == (pow(3, pow(2, 2**64 - 1, P - 1), P),)


def products(nodes: tuple[Node, ...]) -> Counter[str]:
    """Products of two unknowns, products by a constant, and sums."""
    kinds = Counter({"words": 0, "constants": 0})
    for node in ordered(nodes):
        if node.op == "mul":
            kinds["constants" if any(arg.op == "const" for arg in node.args) else "words"] += 1
    return kinds


def test_products() -> None:
    """25 and 15, the least that schoolbook takes; 19 and 2 are put on single limbs, besides one 19 in each carry."""
    assert products(KERNELS["mul"].trace().outputs[0]) == {"words": 25, "constants": 4 + 2}
    assert products(KERNELS["sqr"].trace().outputs[0]) == {"words": 15, "constants": 4 + 2 + 2}
    node = KERNELS["square_n"].trace().outputs[0][0]
    loop: LoopNode = node.data[0]
    assert products(loop.next)["words"] == 15


def test_operands_of_products_are_words() -> None:
    for name in ("mul", "sqr"):
        for node in ordered(KERNELS[name].trace().outputs[0]):
            if node.op == "mul":
                assert all(arg.interval.low >= 0 and arg.interval.high < 2**64 for arg in node.args)


def test_rows() -> None:
    """Products come row by row: one operand stays while the other runs over the limbs."""
    rows = [
        [node.args[0] for node in sorted(ordered(KERNELS[name].trace().outputs[0]), key=lambda node: node.serial)
         if node.op == "mul" and all(arg.op != "const" for arg in node.args)]
        for name in ("mul", "sqr")
    ]  # fmt: skip
    changes = [sum(left is not right for left, right in zip(row, row[1:], strict=False)) for row in rows]
    assert changes == [8, 8]


def test_largest_limbs_everywhere() -> None:
    """All limbs at their bounds, through the trace: every number within what was proved of it."""
    for kernel in KERNELS.values():
        traced = kernel.trace()
        roots = [node for out in traced.outputs for node in out] + ([traced.returns] if traced.returns else [])
        nodes = list(ordered(roots))
        given = {node: node.interval.high for node in nodes if node.op in ("limb", "scalar")}
        if kernel.name == "square_n":
            given = {node: 3 if node.op == "scalar" else most for node, most in given.items()}
        for node, found in zip(nodes, evaluate(nodes, given), strict=True):
            assert node.interval.holds(found), (kernel, node)


def test_byte_strings() -> None:
    """The one encoding of each element is taken, and nothing else; RFC 7748 takes all."""
    from_bytes, to_bytes, loosely = (KERNELS[name] for name in ("from_bytes", "to_bytes", "from_bytes_255"))
    for number in [0, 1, P - 1, P, P + 1, 2**255 - 1, 2**255, 2**255 + P - 1, 2**256 - 1]:
        text = number.to_bytes(32, "little")
        element, good = from_bytes(text)
        assert good == (number < P) and element.value == (number if good else 0)
        assert loosely(text).value == number % 2**255
        if good:
            assert to_bytes(element).value == number


@pytest.mark.parametrize("name", ["invert", "pow22523"])
def test_powers(name: str) -> None:
    exponent = {"invert": P - 2, "pow22523": (P - 5) // 8}[name]
    rng = Random(SEED)
    for x in (0, 1, 2, P - 1, P - 2, 2**254, rng.randrange(P)):
        assert PROGRAMS[name](x).value % P == pow(x, exponent, P) == PROGRAMS[name].expected([x])[0]


def test_chains() -> None:
    """254 squarings and 11 multiplications, and 251 and 11: no published chain is shorter."""
    assert raised(PROGRAMS["invert"]) == (P - 2, 254, 11)
    assert raised(PROGRAMS["pow22523"]) == ((P - 5) // 8, 251, 11)


def test_square_roots() -> None:
    """RFC 9496, 4.2: all four kinds of u / v, zeros among them, and the root is even."""
    rng = Random(SEED)
    i = pow(2, (P - 1) // 4, P)
    i = i if i % 2 == 0 else P - i
    kinds = set()
    pairs = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (i, 1)]
    for u, v in [*pairs, *((rng.randrange(P), rng.randrange(P)) for _ in range(8))]:
        root, good = PROGRAMS["sqrt_ratio"](u, v)
        r = root.value
        assert r % 2 == 0 and r < P
        square = pow(u * v, (P - 1) // 2, P) != P - 1 and (u == 0 or v != 0)
        assert good == square
        assert (r * r * v - (u if square else i * u)) % P == 0 or v == 0 == r
        kinds.add((int(good), r == 0))
    assert kinds == {(0, False), (0, True), (1, False), (1, True)}


def x25519(scalar: bytes, point: bytes) -> bytes:
    """RFC 7748, 5, by the script's own programs on plain integers."""
    k = bytearray(scalar)
    k[0] &= 248
    k[31] = k[31] & 127 | 64
    number = int.from_bytes(k, "little")
    x1 = KERNELS["from_bytes_255"](point)
    state, before = (1, 0, x1, 1), 0
    for t in range(254, -1, -1):
        bit = number >> t & 1
        state = PROGRAMS["ladder_step"](bit ^ before, x1, *state)
        before = bit
    x2, _, x3, _ = state
    z2, z3 = state[1], state[3]
    x, z = (x3, z3) if before else (x2, z2)
    result = KERNELS["to_bytes"](KERNELS["mul"](x, PROGRAMS["invert"](z)))
    return int(result.value).to_bytes(32, "little")


def test_x25519() -> None:
    """The first vector of RFC 7748, 5.2."""
    scalar = bytes.fromhex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4")
    point = bytes.fromhex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c")
    wanted = bytes.fromhex("c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552")
    assert x25519(scalar, point) == wanted


@pytest.mark.parametrize("target", ["amd64", "arm64"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_emulated(name: str, target: str) -> None:
    result = run_job(job(PROGRAMS[name], Options(target)), 48, SEED)
    assert result.failure is None, result.failure


@pytest.mark.parametrize("target", ["amd64", "arm64"])
@pytest.mark.parametrize("bit", [0, 1])
def test_swap_by_hand(target: str, bit: int) -> None:
    """The instructions of the handwritten bodies by their own meanings, outputs in place of either input too."""
    swap = KERNELS["swap"]
    names = [parameter.name for parameter in swap.signature.parameters]
    registers = [Virtual(-1 - index, name) for index, name in enumerate(names)]
    with explicit.record() as written:
        swap.explicit[target](*registers)
    left, right = [2**64 - 1, 2, 3, 4, 5], [7, 0, 2**63, 9, 10]
    for places in ({"out0": 100, "out1": 200}, {"out0": 300, "out1": 400}, {"out0": 400, "out1": 300}):
        pointers = {"a": 300, "b": 400, **places}
        memory = {start + 8 * i: word for start, words in ((300, left), (400, right)) for i, word in enumerate(words)}
        values: dict[object, int] = {r: bit if r.name == "bit" else pointers[r.name] for r in registers}
        flags: dict[str, int] = {}
        for instruction in written:
            assert instruction.row.control is None
            run(instruction, values, memory, flags)
        found = [[memory[pointers[name] + 8 * i] for i in range(5)] for name in ("out0", "out1")]
        assert found == ([right, left] if bit else [left, right]), places


def run(
    instruction: Instruction, values: dict[object, int], memory: dict[int, int], flags: dict[str, int]
) -> None:
    """One instruction on integers."""

    def address(operand: Memory) -> int:
        return values[operand.base] + operand.offset

    def read(operand: object) -> int:
        if isinstance(operand, Memory):
            return memory[address(operand)]
        return operand if isinstance(operand, int) else values[operand]

    pairs = list(zip(instruction.row.slots, instruction.operands, strict=True))
    inputs = [read(operand) for slot, operand in pairs if slot.role is not Role.OUT]
    outcome = instruction.row.meaning(Integers(), inputs, flags)
    outputs = [operand for slot, operand in pairs if slot.role is not Role.IN]
    for operand, result in zip(outputs, outcome.values, strict=True):
        if isinstance(operand, Memory):
            memory[address(operand)] = result
        else:
            values[operand] = result
    flags.update({name: flag() if callable(flag) else flag for name, flag in outcome.flags.items()})
