"""Random kernels over the whole language: exact integers that every later stage must reproduce."""

from __future__ import annotations

import random
from collections.abc import Sequence

from asmgen.contracts import Element, Parameter, Signature, Small
from asmgen.elements import keep, select
from asmgen.field import Field
from asmgen.nodes import LoopNode, Node, Traced, evaluate
from asmgen.promises import enter
from asmgen.trace import Trace, run
from asmgen.values import Number

WORD = 2**64 - 1


def random_traced(rng: random.Random, steps: int, limbs: int = 3, loop: bool = False) -> Traced:
    """A kernel of `steps` random operations on two elements and a small number; every value is cut into output
    words."""
    widths = [rng.choice((20, 32, 51, 52, 56, 60, 64)) for _ in range(limbs)]
    field = Field("random", 2 ** (sum(widths) - 1) + 1, widths)
    most = [min(WORD, 2 ** (width + rng.choice((0, 0, 1, 3)))) for width in widths]
    element = field.limbs_below([bound + (bound == WORD) for bound in most])
    inputs = (Parameter("a", element), Parameter("b", element), Parameter("n", Small(rng.choice((2, 2**32, 2**64)))))
    trace = Trace()
    with run(trace):
        pool = [Number(trace, node, None) for parameter in inputs for node in enter(trace, parameter)]
        if loop:
            pool += looped(trace, rng, pool)
        for _ in range(steps):
            pool.append(step(rng, pool))
        words = [word for value in pool[-6:] for word in output_words(value)][:40]
    out = Field("out", 2 ** (64 * len(words)) - 1, [64] * len(words)).limbs_below(2**64)
    signature = Signature("random", "kernel", (Parameter("out", out),), inputs)
    return Traced(signature, (tuple(word.node for word in words),))


def step(rng: random.Random, pool: list[Number]) -> Number:
    """One random operation on what there is."""
    x, y = rng.choice(pool), rng.choice(pool)
    small = x.interval.high.bit_length() <= 300 and y.interval.high.bit_length() <= 300
    kind = rng.choice(
        (
            "add",
            "sub",
            "mul",
            "mul",
            "shl",
            "low",
            "high",
            "scale",
            "select",
            "at_least",
            "keep",
            "reduce",
            "zero",
            "divide",
        )
    )
    match kind:
        case "add" if small:
            return x + y
        case "sub" if small:
            return x - y
        case "mul" if small:
            return x * y
        case "shl" if small:
            return x << rng.choice((1, 3, 13, 63, 64, 65))
        case "scale" if small:
            return rng.choice((2, 3, 5, 19, 38, 2**32 + 977, 2**64 - 2**32 + 1)) * x
        case "high":
            return x.split(rng.choice((1, 13, 51, 63, 64, 70, 128)))[1]
        case "select":
            m = rng.choice((1, 2**32, 2**51, max(1, y.interval.high // 2)))
            return select(y.at_least(m), x, rng.choice(pool))
        case "at_least":
            return x.at_least(rng.choice((1, 2**20, 2**64, max(1, x.interval.high // 2))))
        case "zero":
            return x.is_zero()
        case "keep":
            return keep(x)  # type: ignore[no-any-return]
        case "reduce" if x.interval.low >= 0 and x.interval.high > 2:
            return x.reduce_once(
                max(x.interval.high // 2 + 1, x.interval.high - rng.choice((0, 1, x.interval.high // 3)))
            )
        case "divide" if small:
            k = rng.choice((1, 13, 64, 70))
            return ((x << k) + (y << k)).divide_exact(2**k)
    return x.split(rng.choice((1, 32, 51, 64, 100)))[0]


def output_words(value: Number) -> list[Number]:
    """The value's words; of a negative one the low three."""
    if value.interval.low < 0:
        value = value.split(192)[0]
    return value.words()


def looped(trace: Trace, rng: random.Random, pool: Sequence[Number]) -> list[Number]:
    """A loop over two words of state."""
    names = [
        trace.new(
            "state",
            (),
            (0, i),
            trace.space.atom(f"s{i}", 0, WORD),
            pool[0].interval.join(type(pool[0].interval)(0, WORD)),
            f"s{i}",
        )
        for i in range(2)
    ]
    state = [Number(trace, node, None) for node in names]
    outside = rng.choice(pool)
    with trace.scope():
        mixed = state[0] * state[1] + outside + state[0]
        after = [mixed.split(64)[0], (state[0] + 7 + (mixed.split(70)[1])).split(64)[0]]
    begin = [pool[0].split(64)[0], pool[1].split(64)[0]]
    empty = [(pool[1] + pool[0]).split(64)[0], pool[2].split(64)[0]]
    loop = LoopNode(
        0,
        pool[-1].node,
        tuple(names),
        tuple(each.node for each in begin),
        tuple(each.node for each in after),
        tuple(each.node for each in empty),
    )
    return [
        Number(
            trace,
            trace.new("result", (), (loop, i), trace.space.atom(f"r{i}", 0, WORD), names[i].interval, f"r{i}"),
            None,
        )
        for i in range(2)
    ]


def random_inputs(rng: random.Random, traced: Traced, loop: bool = False) -> dict[str, list[int]]:
    """Words for every input, edge-biased within the contracts."""
    given: dict[str, list[int]] = {}
    for parameter in traced.signature.inputs:
        contract = parameter.contract
        if isinstance(contract, Element):
            given[parameter.name] = [edge(rng, most) for most in contract.limb_max]
        elif isinstance(contract, Small):
            given[parameter.name] = [rng.randrange(4) % contract.below if loop else edge(rng, contract.value_max)]
    return given


def edge(rng: random.Random, most: int) -> int:
    """A number in 0..most, often near an end or a power of two."""
    choice = rng.randrange(4)
    if choice == 0:
        return rng.choice((0, 1, most, most - 1, most // 2)) % (most + 1)
    if choice == 1:
        return ((1 << rng.randrange(65)) - rng.randrange(2)) % (most + 1)
    return rng.randint(0, most)


def wanted(traced: Traced, given: dict[str, list[int]]) -> list[int]:
    """The output words by exact integers."""
    known: dict[Node, int] = {}
    pending = [node for output in traced.outputs for node in output]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node.op == "limb":
            known[node] = given[node.data[0]][node.data[1]]
        elif node.op == "scalar":
            known[node] = given[node.data][0]
        elif node.op == "result":
            loop: LoopNode = node.data[0]
            pending += [loop.count, *loop.initial, *loop.next, *loop.empty]
        pending += node.args
    return evaluate([node for output in traced.outputs for node in output], known)
