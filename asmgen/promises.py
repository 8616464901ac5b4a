"""Contracts and traced values: inputs that may be anything their contract allows, and results held against theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import log2

from asmgen.contracts import Bytes, Element, Parameter, Range, Table
from asmgen.errors import Source
from asmgen.nodes import Node
from asmgen.polynomial import Interval, Poly, below, integer_text
from asmgen.trace import Trace

SHORT = 12
"""Terms of a sum up to which the result of a kernel inside another keeps its polynomials."""

Maker = Callable[[int, Poly, Interval], Node]
"""Makes the node of limb i, of which polynomial and interval are known."""


def enter(trace: Trace, parameter: Parameter) -> list[Node]:
    """The words of an input: any that its contract allows."""
    name, contract = parameter.name, parameter.contract

    def limb(index: int, poly: Poly, interval: Interval) -> Node:
        return trace.new("limb", (), (name, index), poly, interval, f"{name}{index}")

    if isinstance(contract, Element):
        return any_element(trace, name, contract, limb)
    if isinstance(contract, Table):
        return [node for entry in range(contract.count) for node in _entry(trace, name, entry, contract.element)]
    if isinstance(contract, Bytes):
        sizes = [min(64, 8 * contract.length - at) for at in range(0, 8 * contract.length, 64)]
        return [limb(i, trace.space.atom(f"{name}{i}", *below(size)), below(size)) for i, size in enumerate(sizes)]
    interval = Interval(0, contract.value_max)
    return [trace.new("scalar", (), name, trace.space.atom(name, *interval), interval, name)]


def _entry(trace: Trace, table: str, index: int, element: Element) -> list[Node]:
    """The limbs of one entry of a table: words of the table from the entry's first one on."""
    name = f"{table}{index}_"

    def limb(i: int, poly: Poly, interval: Interval) -> Node:
        return trace.new("limb", (), (table, index * element.words + i), poly, interval, f"{name}{i}")

    return any_element(trace, name, element, limb)


def any_element(trace: Trace, name: str, contract: Element, make: Maker) -> list[Node]:
    """The limbs of an element of which only the contract is known."""
    widths, unit = contract.field.limbs, contract.multiple_of
    digits = not any(most >> width for most, width in zip(contract.limb_max[:-1], widths, strict=False))
    bounded = contract.value_max < contract.value(contract.limb_max)
    if bounded and digits and unit == 1:
        top = contract.limb_max[-1].bit_length()
        polys = trace.space.word_atoms(name, contract.value_max, [*widths[:-1], top])[1]
    else:
        polys = [
            trace.space.atom(f"{name}{i}", 0, most - most % unit, unit) for i, most in enumerate(contract.limb_max)
        ]
        if bounded:
            trace.space.learn(value_of(polys, contract), Interval(0, contract.value_max))
    intervals = [Interval(0, most) for most in contract.limb_max]
    return [make(i, poly, interval) for i, (poly, interval) in enumerate(zip(polys, intervals, strict=True))]


def forget(trace: Trace, name: str, nodes: Sequence[Node], contract: Element) -> None:
    """Keep only the bounds of an element, unless its limbs are short sums of inputs: what follows starts from unknowns
    again."""
    if all(len(node.poly) <= SHORT and trace.space.linear(node.poly) for node in nodes):
        return
    value = trace.space.interval(value_of([node.poly for node in nodes], contract))
    most = tuple(node.interval.high for node in nodes)
    proven = replace(contract, limb_max=most, value_max=min(value.high, contract.value(most)))

    def renew(index: int, poly: Poly, _: Interval) -> Node:
        node = nodes[index]
        if node.op != "const":
            object.__setattr__(node, "poly", poly)  # true of the same integer; what was made of the old one stays true
        return node

    any_element(trace, name, proven, renew)


def any_number(trace: Trace, name: str, contract: Range, make: Maker) -> list[Node]:
    """A number of which only the range is known."""
    interval = Interval(0, contract.below - 1 - (contract.below - 1) % contract.multiple_of)
    return [make(0, trace.space.atom(name, *interval, contract.multiple_of), interval)]


def value_of(polys: Sequence[Poly], contract: Element) -> Poly:
    """The whole value of an element's limbs."""
    return Poly.sum(poly << at for poly, at in zip(polys, contract.field.positions, strict=True))


@dataclass(frozen=True)
class Fault:
    """What breaks a contract, and the line of the value that does."""

    text: str
    source: Source | None
    negative: bool = False


def fault_of(trace: Trace, nodes: Sequence[Node], contract: Element | Range | int, verb: str) -> Fault | None:
    """What in the nodes may break the contract, None when it is proven to hold.

    An integer as contract is the largest value; `verb` says what the contract does with it: "promised" or "allowed".
    """
    if isinstance(contract, Element):
        return _element_fault(trace, nodes, contract, verb)
    if isinstance(contract, Range):
        return _number_fault(trace, nodes[0], contract.below - 1, contract.multiple_of, "the value", verb)
    return _number_fault(trace, nodes[0], contract, 1, "the value", verb)


def _element_fault(trace: Trace, nodes: Sequence[Node], contract: Element, verb: str) -> Fault | None:
    for index, (node, most) in enumerate(zip(nodes, contract.limb_max, strict=True)):
        fault = _number_fault(trace, node, most, contract.multiple_of, f"limb {index}", verb)
        if fault is not None:
            return fault
    if contract.value_max < contract.value(contract.limb_max):
        allowed = Interval(0, contract.value_max)
        reached = trace.space.interval(value_of([node.poly for node in nodes], contract), allowed)
        if not reached.within(allowed):
            high, allowed_most = sizes(reached.high, contract.value_max)
            return Fault(f"the value may reach {high}, {verb} is at most {allowed_most}", nodes[-1].source)
    return None


def _number_fault(trace: Trace, node: Node, most: int, unit: int, what: str, verb: str) -> Fault | None:
    allowed = Interval(0, most)
    reached = trace.proven(node, allowed)
    if reached.low < 0:
        return Fault(f"{what} may be negative, as low as {size(reached.low)}{origin(node)}", node.source, negative=True)
    if reached.high > most:
        word = ", more than a 64-bit word holds" if most < 2**64 <= reached.high else ""
        high, allowed_most = sizes(reached.high, most)
        text = f"{what} may reach {high}{word}; {verb} is at most {allowed_most}{origin(node)}"
        return Fault(text, node.source)
    if unit != 1 and trace.space.divide(node.poly, unit) is None:
        return Fault(f"{what} is not proven to be a multiple of {integer_text(unit)}", node.source)
    return None


def size(value: int) -> str:
    """A bound for people: exact where that is short, else as a power of two with two decimals."""
    text = integer_text(value)
    if "0x" not in text:
        return text
    sign, power = "-" if value < 0 else "", log2(abs(value))
    if abs(power - round(power)) >= 0.005:
        return f"{sign}2^{power:.2f}"
    side = "above" if value > (1 << round(power)) * (-1 if value < 0 else 1) else "below"
    return f"just {side} {sign}2^{round(power)}"


def sizes(reached: int, most: int) -> tuple[str, str]:
    """Two bounds for people, of which one is too large: in full where they would read the same."""
    texts = size(reached), size(most)
    return texts if texts[0] != texts[1] else (f"{reached:#x}", f"{most:#x}")


def origin(node: Node) -> str:
    """Where most of a value comes from: the largest part of a sum, before it was shifted, cut or scaled."""
    largest = max(_parts(node), key=lambda part: max(map(abs, part.interval)))
    while (inner := _within(largest)) is not None:
        largest = inner
    if largest is node:
        return ""
    if largest.op == "limb":
        name, index = largest.data
        return f"; most of it comes from {name}[{index}], which reaches {size(largest.interval.high)}"
    if largest.source in (None, node.source):
        return ""
    assert largest.source is not None
    return f"; most of it comes from {largest.source.place}: {largest.source.text}"


def _parts(node: Node) -> list[Node]:
    """The terms of a sum."""
    parts, pending = [], [node]
    while pending:
        each = pending.pop()
        if each.op in ("add", "sub"):
            pending += each.args[::-1]
        else:
            parts.append(each)
    return parts


def _within(node: Node) -> Node | None:
    """What a node is a multiple or a piece of."""
    if node.op in ("shl", "high", "low", "keep", "divide"):
        return node.args[0]
    if node.op == "mul" and any(arg.op == "const" for arg in node.args):
        return next(arg for arg in node.args if arg.op != "const")
    return None
