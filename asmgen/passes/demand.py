"""How many words each node of a traced kernel needs, and which nodes belong to a region."""

from __future__ import annotations

from collections.abc import Iterable

from asmgen.bounds import Interval
from asmgen.nodes import LoopNode, Node, inputs_of, ordered


def words_for(interval: Interval) -> int:
    """64-bit words that hold every integer of the interval, in two's complement if some are negative."""
    low, high = interval
    if low >= 0:
        return max(1, -(-high.bit_length() // 64))
    return max((-low - 1).bit_length(), max(high, 0).bit_length()) // 64 + 1


def demand(roots: Iterable[tuple[Node, int]]) -> dict[Node, int]:
    """How many low words of each node are needed, from those of the roots."""
    need: dict[Node, int] = {}
    pending = list(roots)
    order = sorted(reach(node for node, _ in pending), key=lambda node: node.serial, reverse=True)

    def want(node: Node, count: int) -> None:
        need[node] = max(need.get(node, 0), min(words_for(node.interval), max(count, 0)))

    for node, count in pending:
        want(node, count)
    for node in order:
        count = need.get(node, 0)
        if node.op in ("add", "sub", "mul", "keep"):
            for arg in node.args:
                want(arg, count)
        elif node.op == "select":
            want(node.args[0], 1)
            want(node.args[1], count)
            want(node.args[2], count)
        elif node.op == "shl":
            want(node.args[0], count - node.data // 64)
        elif node.op == "low":
            want(node.args[0], min(count, -(-node.data // 64)))
        elif node.op in ("high", "divide"):
            words, bits = divmod(node.data, 64)
            want(node.args[0], count + words + (bits > 0))
        elif node.op in ("reduce", "at_least", "is_zero"):
            want(node.args[0], words_for(node.args[0].interval))
        elif node.op == "result":
            loop: LoopNode = node.data[0]
            for each in (loop.count, *loop.initial, *invariant(loop)):
                want(each, words_for(each.interval))
    return need


def reach(roots: Iterable[Node]) -> list[Node]:
    """What a region lowers, in the order of the script.

    A loop brings what its body takes from outside, not what its empty case computes.
    """
    found: dict[Node, None] = {}
    pending = list(roots)
    while pending:
        node = pending.pop()
        if node in found:
            continue
        found[node] = None
        if node.op == "result":
            loop: LoopNode = node.data[0]
            pending += [loop.count, *loop.initial, *invariant(loop)]
        else:
            pending += node.args
    return sorted(found, key=lambda node: node.serial)


def invariant(loop: LoopNode) -> list[Node]:
    """What the body takes from outside: nodes that do not rest on the state, used by nodes that do."""
    depends: set[Node] = set(loop.state)
    outside: dict[Node, None] = {}
    for node in ordered(loop.next):
        if any(arg in depends for arg in inputs_of(node)):
            depends.add(node)
    for node in ordered(loop.next):
        if node in depends:
            for arg in inputs_of(node):
                if arg not in depends and arg.op != "const":
                    outside[arg] = None
        elif node in loop.next and node.op != "const":
            outside[node] = None
    return list(outside)
