"""The shipped script of curve25519 in five limbs: values, bounds, and how many products it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from language import arguments, check, plain_run, vectors

from asmgen.contracts import Element
from asmgen.nodes import LoopNode, Node, evaluate, ordered
from asmgen.scripts import load
from asmgen.targets import explicit
from asmgen.targets.row import Instruction, Integers, Memory, Role, Virtual

P = 2**255 - 19
KERNELS = load("curve25519_5x51").kernels
SEED = 20260401

#: What each kernel must give for values of its inputs, written down here once more.
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
    "swap": lambda bit, a, b: (b, a) if bit else (a, b),
}


def value(limbs: list[int]) -> int:
    return sum(limb << 51 * index for index, limb in enumerate(limbs))


def test_every_kernel_is_here() -> None:
    assert set(KERNELS) == set(WANTED)


@pytest.mark.parametrize("name", KERNELS)
def test_plain_integers(name: str) -> None:
    """2,000 edge-biased inputs against Python, contracts checked on the way by the run itself."""
    kernel = KERNELS[name]
    for given in vectors(kernel, 2000, SEED):
        inputs = [value(limbs) if isinstance(limbs, list) else limbs for limbs in arguments(kernel, given)]
        found = tuple(value(limbs) % P for limbs in plain_run(kernel, given))
        assert found == tuple(each % P for each in WANTED[name](*inputs)), (SEED, given)


@pytest.mark.parametrize("name", KERNELS)
def test_trace(name: str) -> None:
    check(KERNELS[name], 300, SEED + 1)


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
    assert contracts("swap") == ({64}, {64})
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
        roots = [node for out in kernel.trace().outputs for node in out]
        nodes = list(ordered(roots))
        given = {node: node.interval.high for node in nodes if node.op in ("limb", "scalar")}
        if kernel.name == "square_n":
            given = {node: 3 if node.op == "scalar" else most for node, most in given.items()}
        for node, found in zip(nodes, evaluate(nodes, given), strict=True):
            assert node.interval.holds(found), (kernel, node)


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
