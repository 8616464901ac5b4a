"""The graph of exact integers that a script describes; tracing makes it, lowering reads it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asmgen.bounds import Interval, Poly
from asmgen.contracts import Signature
from asmgen.errors import Source


@dataclass(frozen=True, eq=False, repr=False)
class Node:
    """One exact integer. Equal nodes are one object: the tracer shares them.

    | op       | arguments      | data            | value |
    |----------|----------------|-----------------|-------|
    | limb     |                | (parameter, i)  | 64-bit word i of an element, or of a byte string read in its order |
    | scalar   |                | parameter       | a count, small number or bit |
    | const    |                | integer         | the integer |
    | add, sub, mul | x, y      |                 | x + y, x - y, x * y |
    | shl      | x              | k               | x * 2^k |
    | low      | x              | k               | x mod 2^k |
    | high     | x              | k               | floor(x / 2^k) |
    | divide   | x              | k               | x / 2^k, which is exact |
    | select   | bit, x, y      |                 | x if bit else y |
    | reduce   | x              | m               | x - m if x >= m else x |
    | at_least | x              | m               | the bit [x >= m] |
    | is_zero  | x              |                 | the bit [x = 0] |
    | keep     | x              |                 | x, made as one number here |
    | state    |                | (loop id, i)    | a loop's state at the start of a pass |
    | result   |                | (LoopNode, i)   | a loop's state after the last pass, or the value for no pass |
    """

    op: str
    args: tuple[Node, ...]
    data: Any
    poly: Poly
    interval: Interval
    serial: int  #: order of creation, which lowering follows
    source: Source | None = None
    name: str = ""

    def __repr__(self) -> str:
        return f"<{self.op} {self.name or self.serial}>"


@dataclass(frozen=True, eq=False)
class LoopNode:
    """`count` times the body; `state` nodes start as `initial`, and take the values of `next` after each pass.

    `empty` are the values when count is 0.
    """

    id: int
    count: Node
    state: tuple[Node, ...]
    initial: tuple[Node, ...]
    next: tuple[Node, ...]
    empty: tuple[Node, ...]
    source: Source | None = None


@dataclass(frozen=True)
class Traced:
    """A kernel as exact integers: the words of each output, and the returned bit if there is one.

    A byte string among the outputs is one number in `outputs` (a tuple of one node).
    """

    signature: Signature
    outputs: tuple[tuple[Node, ...], ...]
    returns: Node | None = None


def ordered(roots: Iterable[Node]) -> Iterator[Node]:
    """Every node that the roots rest on, arguments first, each once, in the order the script wrote them.

    The inside of a loop is not entered.
    """
    seen: set[int] = set()
    for root in roots:
        stack: list[tuple[Node, bool]] = [(root, False)]
        while stack:
            node, done = stack.pop()
            if done:
                yield node
            elif id(node) not in seen:
                seen.add(id(node))
                stack.append((node, True))
                stack.extend((arg, False) for arg in reversed(inputs_of(node)))


def inputs_of(node: Node) -> tuple[Node, ...]:
    """The nodes that a node needs, a loop's initial and empty values among them."""
    if node.op == "result":
        loop: LoopNode = node.data[0]
        return (loop.count, *loop.initial, *loop.empty)
    return node.args


def evaluate(roots: Sequence[Node], given: Mapping[Node, int]) -> list[int]:
    """The roots' values; `given` has those of limb, scalar and state nodes."""
    known: dict[Node, int] = dict(given)
    loops: dict[int, list[int]] = {}
    for node in ordered(roots):
        if node not in known:
            known[node] = _value(node, known, loops)
    return [known[root] for root in roots]


def _value(node: Node, known: Mapping[Node, int], loops: dict[int, list[int]]) -> int:
    args = [known[arg] for arg in node.args]
    match node.op:
        case "const":
            return int(node.data)
        case "add":
            return args[0] + args[1]
        case "sub":
            return args[0] - args[1]
        case "mul":
            return args[0] * args[1]
        case "shl":
            return args[0] << int(node.data)
        case "low":
            return args[0] & ((1 << int(node.data)) - 1)
        case "high" | "divide":
            return args[0] >> int(node.data)
        case "select":
            return args[1] if args[0] else args[2]
        case "reduce":
            return args[0] - int(node.data) if args[0] >= node.data else args[0]
        case "at_least":
            return int(args[0] >= node.data)
        case "is_zero":
            return int(args[0] == 0)
        case "keep":
            return args[0]
        case "result":
            loop: LoopNode = node.data[0]
            if loop.id not in loops:
                loops[loop.id] = _passes(loop, known)
            return loops[loop.id][int(node.data[1])]
    raise KeyError(f"no value for {node.op} {node.data}")


def _passes(loop: LoopNode, known: Mapping[Node, int]) -> list[int]:
    count = known[loop.count]
    if count == 0:
        return [known[node] for node in loop.empty]
    values = [known[node] for node in loop.initial]
    outer = dict(known)
    for _ in range(count):
        values = evaluate(loop.next, {**outer, **dict(zip(loop.state, values, strict=True))})
    return values
