"""What governs a script's course: decisions left to the search, and loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from asmgen.contracts import Element, Range, Small
from asmgen.elements import Limbs, as_number, describe
from asmgen.errors import caller, here
from asmgen.function import Function
from asmgen.nodes import LoopNode, Node
from asmgen.polynomial import Interval, Poly
from asmgen.promises import any_element, any_number, fault_of, value_of
from asmgen.steps import Recording
from asmgen.trace import Trace, running
from asmgen.values import Exact, Number


class Choice:
    """Alternatives for one computation; which is called is decided by the plan, or is the first."""

    def __init__(self, name: str, alternatives: Sequence[Callable[..., Any]]) -> None:
        self.name = name
        self.alternatives = tuple(alternatives)

    def __call__(self, *args: Any, **named: Any) -> Any:
        run = running.get()
        index = 0
        if isinstance(run, Trace):
            index = run.choices.get(self.name, 0)
            known = run.decisions.setdefault(self.name, len(self.alternatives))
            if known != len(self.alternatives):
                raise here(
                    f'"{self.name}" names two decisions, one of {known} alternatives and one of '
                    f"{len(self.alternatives)}",
                    "give each decision a name of its own",
                )
        if not 0 <= index < len(self.alternatives):
            raise here(
                f'"{self.name}" has {len(self.alternatives)} alternatives, there is no number {index}',
                f"they are numbered 0 to {len(self.alternatives) - 1}",
            )
        return self.alternatives[index](*args, **named)


def choose(name: str, *alternatives: Callable[..., Any]) -> Choice:
    """A function that is one of the alternatives, the first unless a plan says otherwise.

    All compute the same modulo p; the kernel's contract must hold with each.
    """
    if not isinstance(name, str) or not alternatives or not all(map(callable, alternatives)):
        raise here(
            "choose takes the decision's name and the functions to choose from",
            'write choose("fold", early, late)(columns)',
        )
    return Choice(name, alternatives)


Invariant = Element | Range | Sequence[Any]
"""What holds of a loop's state before each pass, in the state's own structure."""


def repeat(
    n: Any,
    body: Callable[[Any], Any],
    state: Any,
    *,
    empty: Callable[[Any], Any] | None = None,
    invariant: Invariant | None = None,
) -> Any:
    """`body` applied `n` times to `state`; `n` is public. For n = 0 the value is `empty(state)`, by default the state.

    A kernel as body brings its contract along: the state is an element that it takes, the result one that it gives. Any
    other function needs an `invariant` (an Element, a Range, or a list of them as the state is one), which every pass
    must keep.
    """
    run = running.get()
    if isinstance(run, Recording):
        return run.repeat(n, body, state, empty)
    holds, promised = _invariant(body, invariant)
    if not isinstance(run, Trace):
        return _repeat_plainly(int(n), body, state, empty, holds)
    count = _count(run, n)
    if count.op == "const" and count.data == 0:
        return empty(state) if empty else state
    return _Loop(run, count, holds).run(body, state, empty, promised)


def _invariant(body: Callable[[Any], Any], invariant: Invariant | None) -> tuple[Invariant, Invariant | None]:
    """What holds before each pass, and what a kernel promises after it."""
    if isinstance(body, Function):
        takes, gives = body.signature.inputs, body.signature.outputs
        if len(takes) != 1 or len(gives) != 1:
            raise here(
                f"{body.name} takes {len(takes)} and gives {len(gives)} values; a loop's body takes and gives one",
                f"write a function of the state alone: repeat(n, lambda x: {body.name}(x, b), a, invariant=loose)",
            )
        entry = takes[0].contract
        if isinstance(entry, Small):
            return invariant or Range(entry.below), None
        if isinstance(entry, Element) and isinstance(gives[0].contract, Element):
            return invariant or entry, gives[0].contract
    if invariant is None:
        raise here(
            "this loop says nothing of its state",
            "give invariant=, such as fe.limbs_below(2**54) or Range(below=2**64), which every pass must keep; "
            "a kernel as the body brings its contract along",
        )
    return invariant, None


def _count(trace: Trace, n: Any) -> Node:
    if isinstance(n, int) and n < 0:
        raise here(f"a loop cannot run {n} times", "the least is 0")
    node = as_number(trace, n).node
    if node.op != "const" and node not in trace.public:
        raise here(
            "how often a loop runs must be public: a Count parameter or an integer",
            "annotate the parameter with Count",
        )
    if trace.in_loop:
        raise here("a loop inside a loop's body", "a kernel has one level of loops; repeat outside, in the caller")
    return node


class _Loop:
    """One loop that is being traced."""

    def __init__(self, trace: Trace, count: Node, holds: Invariant) -> None:
        self.trace = trace
        self.count = count
        self.holds = holds
        self.source = caller()
        trace.loops += 1
        self.id = trace.loops

    def run(
        self, body: Callable[[Any], Any], state: Any, empty: Callable[[Any], Any] | None, promised: Invariant | None
    ) -> Any:
        """Trace the body once, for any state that the invariant allows, and the case of no pass: the state after it."""
        initial = self.checked(
            self.holds,
            state,
            "the loop starts outside of its invariant:",
            "carry before the loop, or widen the invariant",
        )
        entered = self.any_state()
        self.trace.in_loop = True
        with self.trace.scope():
            after = self.checked(
                self.holds,
                body(self.shaped(self.holds, iter(entered))),
                "the loop's bounds grow: after a pass",
                "carry in the body, so that a pass gives what the next one takes",
            )
        self.trace.in_loop = False
        with self.trace.scope():
            none = self.checked(
                promised or self.holds,
                empty(state) if empty else state,
                f"for n = 0 the loop gives {'empty(state)' if empty else 'the state as it came'}:",
                "give an empty= that makes of the state what a pass promises",
            )
        loop = LoopNode(self.id, self.count, tuple(entered), tuple(initial), tuple(after), tuple(none), self.source)
        return self.shaped(self.holds, iter(self.results(loop)))

    def any_state(self) -> list[Node]:
        """The state at the start of a pass: anything that the invariant allows."""
        nodes: list[Node] = []

        def make(_: int, poly: Poly, interval: Interval) -> Node:
            node = self.trace.new("state", (), (self.id, len(nodes)), poly, interval, f"s{len(nodes)}")
            nodes.append(node)
            return node

        for contract in _parts(self.holds):
            name = f"loop{self.id}s{len(nodes)}"
            if isinstance(contract, Element):
                any_element(self.trace, name, contract, make)
            else:
                any_number(self.trace, name, contract, make)
        return nodes

    def results(self, loop: LoopNode) -> list[Node]:
        """The state after the loop: what a pass gives, or what there is for no pass."""
        nodes: list[Node] = []
        space = self.trace.space
        for contract in _parts(self.holds):
            words = contract.words if isinstance(contract, Element) else 1
            both = [part[len(nodes) : len(nodes) + words] for part in (loop.next, loop.empty)]
            polys = []
            for after, none in zip(*both, strict=True):
                index = len(nodes)
                interval: Interval = after.interval.join(none.interval)
                polys.append(space.atom(f"loop{self.id}r{index}", *interval, contract.multiple_of))
                nodes.append(self.trace.new("result", (), (loop, index), polys[-1], interval, f"r{index}"))
            if isinstance(contract, Element):
                values = [space.interval(value_of([node.poly for node in part], contract)) for part in both]
                space.learn(value_of(polys, contract), values[0].join(values[1]))
        return nodes

    def checked(self, holds: Invariant, state: Any, what: str, hint: str) -> list[Node]:
        """The state's nodes, held against the invariant."""
        nodes: list[Node] = []
        for contract, numbers in _matched(holds, state):
            part = [as_number(self.trace, number).node for number in numbers]
            fault = fault_of(self.trace, part, contract, "allowed")
            if fault is not None:
                raise here(f"{what} {fault.text}", hint)
            nodes += part
        return nodes

    def shaped(self, holds: Invariant, nodes: Iterator[Node]) -> Any:
        """Nodes as numbers and elements, in the structure of the invariant."""
        if isinstance(holds, Element):
            return Limbs([Number(self.trace, next(nodes), holds.field) for _ in holds.limb_max], holds.field)
        if isinstance(holds, Range):
            return Number(self.trace, next(nodes))
        return [self.shaped(each, nodes) for each in holds]


def _parts(holds: Invariant) -> list[Element | Range]:
    """The invariant's parts in order."""
    return [holds] if isinstance(holds, (Element, Range)) else [part for each in holds for part in _parts(each)]


def _matched(holds: Invariant, state: Any) -> list[tuple[Element | Range, list[Any]]]:
    """The invariant's parts, each with the numbers that it is about."""
    if isinstance(holds, Range):
        return [(holds, [state])]
    count = holds.words if isinstance(holds, Element) else len(holds)
    if not isinstance(state, Sequence) or len(state) != count:
        raise here(
            f"the loop's state is {describe(state)}, its invariant is about {count} numbers",
            "state, invariant and what the body returns have one structure",
        )
    if isinstance(holds, Element):
        return [(holds, list(state))]
    return [pair for each, part in zip(holds, state, strict=True) for pair in _matched(each, part)]


def _repeat_plainly(
    n: int, body: Callable[[Any], Any], state: Any, empty: Callable[[Any], Any] | None, holds: Invariant
) -> Any:
    """The loop on plain integers, its invariant checked before each pass."""
    if n == 0:
        return empty(state) if empty else state
    for done in range(n):
        for contract, numbers in _matched(holds, state):
            fault = contract.fault(numbers) if isinstance(contract, Element) else _out_of(contract, numbers[0])
            if fault is not None:
                raise here(
                    f"the loop's invariant does not hold after {done} passes: {fault}",
                    "carry in the body, or widen the invariant",
                )
        state = body(_plain(holds, state))
    return state


def _out_of(contract: Range, value: int) -> str | None:
    if 0 <= value < contract.below and value % contract.multiple_of == 0:
        return None
    return f"the value is {int(value):#x}, not a multiple of {contract.multiple_of} below {contract.below:#x}"


def _plain(holds: Invariant, state: Any) -> Any:
    """The state as the body sees it, in the structure of the invariant."""
    if isinstance(holds, Element):
        return Limbs([Exact(x) for x in state], holds.field)
    if isinstance(holds, Range):
        return Exact(state)
    return [_plain(each, part) for each, part in zip(holds, state, strict=True)]
