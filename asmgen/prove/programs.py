"""Programs: routines that call others, each with a proof of its own, by the contracts and meanings of these.

The bytes are followed as any others; a call's results are words of which nothing is known but that they are its
results. What was called on what is thus read off the bytes. That it makes what the program means is shown on residues.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from asmgen.bounds import Poly
from asmgen.contracts import Bytes, Contract, Element, Table
from asmgen.meanings import square_n
from asmgen.prove import goal
from asmgen.prove.attempt import Attempt
from asmgen.prove.calls import Called
from asmgen.prove.entry import Entry, enter
from asmgen.prove.powers import Case, NeedsParity, NeedsUnknowns, Residue
from asmgen.prove.residues import NotPolynomial
from asmgen.prove.routine import Described
from asmgen.prove.run import Path, Stuck
from asmgen.prove.taint import leaks
from asmgen.steps import unmet
from emulate.aliasing import Mode, modes


@dataclass(frozen=True)
class Node:
    """A value of the program: an input's, a result's of a call (by numbers), or one that is written down."""

    contract: Contract
    name: str = ""
    call: int = -1
    result: int = 0
    constant: int | None = None


@dataclass(frozen=True)
class Step:
    """A call, and the values that it was handed."""

    callee: Described
    args: tuple[Node, ...]


@dataclass(frozen=True)
class Graph:
    """What a path computes: calls in order, and the values that it gives, in the order of the program's results."""

    steps: tuple[Step, ...]
    results: tuple[Node, ...]


class Composition(Attempt):
    """A program under proof."""

    most_cases = 20_000

    def everything(self) -> None:
        """All ways to share buffers, or Stuck."""
        every = modes(self.kernel.signature)
        if self.constant_time:
            for mode in every:
                entry = enter(self.kernel.signature, self.convention, mode, {})
                for leak in leaks(self.runner.flow, entry):
                    raise Stuck(leak.what, leak.decoded, final=True)
            self.argument.append("no branch, no address and no number of repetitions depends on data")
        for mode in every:
            self._mode(mode)

    def _mode(self, mode: Mode) -> None:
        entry = enter(self.kernel.signature, self.convention, mode, {})
        for path in self.runner.follow(Path(entry, self.runner.flow.entry), unroll=True):
            self.runs += 1
            changed = goal.kept(path.entry)
            if changed:
                raise Stuck(changed, path.done[-1])
            graph, names = _graph(path, self.kernel)
            self._shown(graph, names, path)
            if self.runs == 1:
                self.argument += [_told(step) for step in graph.steps]

    # What it computes.

    def _shown(self, graph: Graph, names: dict[str, str], path: Path) -> None:
        """That the calls make what the program means; `names` says which inputs are the same value."""
        bits = [each.name for each in self.kernel.signature.inputs if each.contract.kind == "bit"]
        unknowns = sorted({names[each.name] for each in self.kernel.signature.inputs} - set(bits))
        for values in product((0, 1), repeat=len(bits)):
            pending = [Case(self.kernel.modulus)]
            while pending:
                case = pending.pop()
                self.next_case(path.done[-1])
                try:
                    self._holds(graph, case, names, dict(zip(bits, values, strict=True)), path)
                except NeedsParity as needs:
                    self.prime = True
                    pending += [replace(case, odd={**case.odd, needs.residue: odd}) for odd in (True, False)]
                except NeedsUnknowns:
                    self.prime = True
                    if case.known:
                        what = "whether two residues are equal does not follow from powers of the inputs"
                        raise Stuck(what, path.done[-1]) from None
                    pending += case.splits(unknowns)

    def _holds(self, graph: Graph, case: Case, names: dict[str, str], bits: dict[str, int], path: Path) -> None:
        def given(name: str) -> Any:
            return bits[name] if name in bits else Residue.unknown(case, names[name])

        made: list[tuple[Any, ...]] = []

        def value(node: Node) -> Any:
            if node.constant is not None:
                return Residue(case, {(): node.constant}) if isinstance(node.contract, Element) else node.constant
            return given(node.name) if node.call < 0 else made[node.call][node.result]

        for step in graph.steps:
            made.append(_run(step.callee, [value(arg) for arg in step.args]))
        wanted = _run(self.kernel, [given(each.name) for each in self.kernel.signature.inputs])
        for number, (node, want) in enumerate(zip(graph.results, wanted, strict=True)):
            got = value(node)
            same = got == want if isinstance(got, int) else isinstance(want, (Residue, int)) and got.same(want)
            if not same:
                raise Stuck(f"result {number} is not what the program means", path.done[-1])


def _run(function: Described, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """The meaning on residues and numbers: its results."""
    if any(isinstance(each.contract, (Bytes, Table)) for each in function.signature.inputs):
        raise NotPolynomial(f"{function.signature.kernel} takes what is no residue")
    if function.meaning.function is square_n:
        base, times = inputs
        if not isinstance(times, int):
            raise NotPolynomial("the number of squarings is not known")
        made: Any = pow(base, 1 << times, function.modulus)
    else:
        try:
            made = function.meaning.function(function.modulus, *inputs)
        except (TypeError, AttributeError, ValueError) as fault:
            raise NotPolynomial(f"the meaning cannot be run on unknowns: {fault}") from None
    values = made if isinstance(made, (tuple, list)) else (made,)
    if len(values) != len(function.results):
        raise NotPolynomial(f"the meaning gives {len(values)} values for {len(function.results)} results")
    return tuple(_number(contract, value) for contract, value in zip(function.results, values, strict=True))


def _number(contract: Contract, value: Any) -> Any:
    """A bit as an integer."""
    if contract.kind != "bit":
        return value
    if not isinstance(value, int):
        raise NotPolynomial("the meaning gives an element for a bit")
    return int(value)


# From the path to the graph.


def _graph(path: Path, kernel: Described) -> tuple[Graph, dict[str, str]]:
    """What the path computes, and by the name of each input the first one that is the same value."""
    entry = path.entry
    known: dict[tuple[Poly, ...], list[Node]] = {}
    names: dict[str, str] = {}
    for name, given in entry.inputs.items():
        nodes = known.setdefault(given.words, [])
        names[name] = nodes[0].name if nodes else name
        nodes.append(Node(given.contract, name))
    steps = []
    for number, called in enumerate(path.calls):
        steps.append(_step(path, known, called))
        for index, (contract, made) in enumerate(zip(called.callee.results, called.results, strict=True)):
            known[_norms(entry, made)] = [Node(contract, call=number, result=index)]
    outputs = iter(kernel.signature.outputs)
    results = []
    for contract in kernel.results:
        if contract.kind == "bit":
            words: Sequence[Any] = [entry.state.register(entry.convention.result)]
            what = "the returned bit"
        else:
            output = next(outputs)
            words, what = entry.output(output), output.name
        results.append(_node(path, known, words, contract, what, "promised"))
    return Graph(tuple(steps), tuple(results)), names


def _step(path: Path, known: dict[tuple[Poly, ...], list[Node]], called: Called) -> Step:
    args = [
        _node(
            path, known, words, parameter.contract, f"{parameter.name} of {called.callee.signature.kernel}", "allowed"
        )
        for parameter, words in zip(called.callee.signature.inputs, called.inputs, strict=True)
    ]
    return Step(called.callee, tuple(args))


def _norms(entry: Entry, words: Sequence[Any]) -> tuple[Poly, ...]:
    return tuple(entry.domain.norm(word) for word in words)


def _node(
    path: Path, known: dict[tuple[Poly, ...], list[Node]], words: Sequence[Any], wanted: Contract, what: str, verb: str
) -> Node:
    """The value that words in memory or a register are; Stuck where it is none, or not within the contract."""
    norms = _norms(path.entry, words)
    numbers = [norm.constant for norm in norms]
    constants = [number for number in numbers if number is not None]
    if len(constants) == len(numbers) and norms not in known:
        return _constant(path, constants, wanted, what)
    nodes = known.get(norms)
    if nodes is None:
        raise Stuck(f"{what} is no input and no result of a call", path.done[-1])
    faults = [unmet(node.contract, wanted, verb) for node in nodes]
    for node, fault in zip(nodes, faults, strict=True):
        if fault is None:
            return node
    raise Stuck(f"{what}: {faults[0]}", path.done[-1])


def _constant(path: Path, words: Sequence[int], wanted: Contract, what: str) -> Node:
    if isinstance(wanted, Element):
        fault = wanted.fault(words)
        if fault is not None:
            raise Stuck(f"{what}: {fault}", path.done[-1])
        return Node(wanted, constant=wanted.residue(words))
    if isinstance(wanted, (Bytes, Table)) or not 0 <= words[0] <= wanted.value_max:
        raise Stuck(f"{what} is a constant that is not allowed there", path.done[-1])
    return Node(wanted, constant=words[0])


def _told(step: Step) -> str:
    """A call in words."""

    def name(node: Node) -> str:
        if node.constant is not None:
            return hex(node.constant) if node.constant > 99 else str(node.constant)
        return node.name or f"v{node.call}" + (f".{node.result}" if node.result else "")

    return f"{step.callee.signature.kernel}({', '.join(map(name, step.args))})"
