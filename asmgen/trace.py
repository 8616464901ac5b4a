"""The tracer: makes the graph of exact integers while a script runs, each node once, with what is proven of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from asmgen.bounds import Space, lengths
from asmgen.errors import Source, caller
from asmgen.nodes import Node
from asmgen.polynomial import Interval, Poly, below, point

if TYPE_CHECKING:
    from asmgen.steps import Recording

LONG = 600
"""Terms at which a polynomial is cut: from there on the node is an unknown of which only the interval is kept."""

Bounds = tuple[Poly, Interval]


class Trace:
    """The nodes of one kernel. `choices` says which alternative each decision takes; `decisions` collects those met."""

    def __init__(self, choices: Mapping[str, int] | None = None) -> None:
        self.space = Space()
        self.choices = dict(choices or {})
        self.decisions: dict[str, int] = {}
        self.word_counts: dict[Source | None, set[int]] = {}
        self.loops = 0
        self.in_loop = False
        self.public: set[Node] = set()
        self.calls: list[object] = []
        self._scopes: list[dict[object, Node]] = [{}]
        self._floors: dict[tuple[Node, int], Poly] = {}
        self._serial = 0

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is made inside is not found again outside: it belongs to a loop's body."""
        self._scopes.append({})
        try:
            yield
        finally:
            self._scopes.pop()

    # Nodes.

    def new(self, op: str, args: tuple[Node, ...], data: Any, poly: Poly, interval: Interval, name: str = "") -> Node:
        """A node of its own, shared with no other."""
        self._serial += 1
        return Node(op, args, data, poly, interval, self._serial, caller(), name)

    def _shared(
        self, op: str, args: tuple[Node, ...], data: Any, bounds: Callable[[], Bounds], name: str = ""
    ) -> Node:
        """The node of this operation, found or made; `bounds` gives its polynomial and what plain intervals say."""
        commutes = op in ("add", "mul") and args[0].serial > args[1].serial
        key = (op, args[::-1] if commutes else args, data)
        for scope in reversed(self._scopes):
            if key in scope:
                found: Node = scope[key]
                return found
        poly, plain = bounds()
        if len(poly) > LONG:
            interval = plain
            poly = self._unknown(plain)
        else:
            # Of a sum every unit may matter to what follows, of these hardly more than how many bits there are.
            view = lengths if op in ("mul", "low") else None
            interval = self.space.interval(poly, known=plain, view=view)
        if op != "const" and interval.low == interval.high:
            node = self.const(interval.low)
        else:
            node = self.new(op, args, data, poly, interval, name)
        self._scopes[-1][key] = node
        return node

    def _unknown(self, interval: Interval) -> Poly:
        return self.space.atom(f"t{self._serial}", *interval)

    def proven(self, node: Node, enough: Interval) -> Interval:
        """The bounds of a node, looked into harder as long as they are not inside `enough`; the node keeps them."""
        if not node.interval.within(enough):
            better = node.interval.meet(self.space.interval(node.poly, enough))
            object.__setattr__(node, "interval", better)  # lowering is to know of it too
        return node.interval

    def const(self, value: int) -> Node:
        return self._shared("const", (), int(value), lambda: (Poly.of(int(value)), point(int(value))))

    def add(self, x: Node, y: Node) -> Node:
        if x.op == "const" and x.data == 0:
            return y
        if y.op == "const" and y.data == 0:
            return x
        return self._shared("add", (x, y), None, lambda: (x.poly + y.poly, x.interval.plus(y.interval)))

    def sub(self, x: Node, y: Node) -> Node:
        if y.op == "const" and y.data == 0:
            return x
        return self._shared("sub", (x, y), None, lambda: (x.poly - y.poly, x.interval.minus(y.interval)))

    def mul(self, x: Node, y: Node) -> Node:
        for one, other in ((x, y), (y, x)):
            if one.op == "const" and one.data == 1:
                return other

        def bounds() -> Bounds:
            plain = x.interval.times(y.interval)
            if x is y and plain.low < 0:
                plain = Interval(0, plain.high)
            if len(x.poly) * len(y.poly) > 16 * LONG:
                return self._unknown(plain), plain
            return x.poly * y.poly, plain

        return self._shared("mul", (x, y), None, bounds, product_name(x, y))

    def shl(self, x: Node, k: int) -> Node:
        if k == 0:
            return x
        return self._shared("shl", (x,), k, lambda: (x.poly << k, x.interval.scaled(1 << k)))

    def low(self, x: Node, k: int) -> Node:
        if x.op == "low":
            x, k = x.args[0], min(k, x.data)
        if x.interval.within(below(k)):
            return x
        return self._shared("low", (x,), k, lambda: (self._floor(x, 0) - (self._floor(x, k) << k), below(k)))

    def high(self, x: Node, k: int) -> Node:
        if x.op == "high":
            x, k = x.args[0], k + x.data
        if k == 0:
            return x
        return self._shared("high", (x,), k, lambda: (self._floor(x, k), x.interval.shifted(k)))

    def _floor(self, x: Node, k: int) -> Poly:
        """floor(x / 2^k), always by one polynomial, so that digits cut from a number cancel when they are joined."""
        if x.op == "high":
            return self._floor(x.args[0], x.data + k)
        if k == 0:
            return x.poly
        if (x, k) not in self._floors:
            high = self.space.split(x.poly, k)[1]
            least, most = self.space.interval(high).meet(x.interval.shifted(k))
            if most - least == 1 and len(high.normal.core) > 1:  # one bit, so that bounds are found by its two cases
                high = self.space.as_bit(high - least) + least
                self.space.learn(x.poly - (high << k), below(k))
            self._floors[x, k] = high
        return self._floors[x, k]

    def divide(self, x: Node, k: int, assume: bool) -> Node | None:
        """x / 2^k; None when it is not proven to be exact, unless that is assumed."""
        if k == 0:
            return x
        quotient = self.space.divide(x.poly, 1 << k)
        if quotient is None and not assume:
            return None
        inside = Interval(-(-x.interval.low >> k), x.interval.high >> k)

        def bounds() -> Bounds:
            return self._unknown(inside) if quotient is None else quotient, inside

        return self._shared("divide", (x,), k, bounds)

    def select(self, bit: Node, x: Node, y: Node) -> Node:
        if x is y:
            return x
        if bit.op == "const":
            return x if bit.data else y
        self._unite(x)
        self._unite(y)
        return self._shared(
            "select", (bit, x, y), None,
            lambda: (self.space.select(bit.poly, x.poly, y.poly), x.interval.join(y.interval)),
        )  # fmt: skip

    def _unite(self, node: Node) -> None:
        """Forget of a choice among choices all but its bounds: in a table's chain of them every one would be told from
        every other."""
        bits = any(len(monomial) > 1 for monomial in node.poly.terms)
        if bits and node.op == "select" and any(arg.op == "select" for arg in node.args[1:]):
            object.__setattr__(node, "poly", self._unknown(node.interval))  # true of the same integer

    def reduce(self, x: Node, m: int) -> Node:
        if x.interval.high < m:
            return x

        def bounds() -> Bounds:
            reached = self.space.at_least(x.poly, m)
            return self.space.select(reached, x.poly - m, x.poly), Interval(0, max(m - 1, x.interval.high - m))

        return self._shared("reduce", (x,), m, bounds)

    def at_least(self, x: Node, m: int) -> Node:
        return self._shared("at_least", (x,), m, lambda: (self.space.at_least(x.poly, m), below(1)))

    def is_zero(self, x: Node) -> Node:
        def bounds() -> Bounds:
            return self.space.at_least(x.poly, 0) - self.space.at_least(x.poly, 1), below(1)

        return self._shared("is_zero", (x,), None, bounds)

    def keep(self, x: Node) -> Node:
        if x.op in ("keep", "const"):
            return x
        return self._shared("keep", (x,), None, lambda: (x.poly, x.interval), x.name)


def product_name(x: Node, y: Node) -> str:
    """A short name of a product of named values, for listings; empty when there is none."""
    if x.op == "const" and 0 < x.data < 1000 and y.name:
        return f"{y.name}x{x.data}"
    if y.op == "const" and 0 < y.data < 1000 and x.name:
        return f"{x.name}x{y.data}"
    both = f"{x.name}{y.name}"
    return both if x.name and y.name and len(both) <= 12 else ""


@dataclass
class Plain:
    """A run on plain integers. `word_counts` gives what tracing the kernel found for `x.words()`, by script line."""

    word_counts: Callable[[], Mapping[Source | None, set[int]]]


running: ContextVar[Trace | Plain | Recording | None] = ContextVar("running", default=None)
"""What a script's functions are run for at this moment; None outside of any kernel."""


@contextmanager
def run(what: Trace | Plain | Recording) -> Iterator[None]:
    """Make `what` the current run inside the `with` block."""
    token = running.set(what)
    try:
        yield
    finally:
        running.reset(token)
