"""Kernels: functions of a script with contracts; traced, run on plain integers, and asked what they compute."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any, overload

from asmgen.annotations import definition
from asmgen.arguments import entries_of, most, numbers_of, same_field, wrapped
from asmgen.contracts import BitContract, Bytes, Contract, CountContract, Element, Parameter, Table
from asmgen.elements import Limbs, as_number
from asmgen.errors import AsmgenError, Source, caller, here, nearest, script_errors
from asmgen.function import PROMISE, REQUIRE, TARGETS, Function, joined
from asmgen.nodes import Node, Traced
from asmgen.promises import Fault, enter, fault_of, forget
from asmgen.trace import Plain, Trace, run, running
from asmgen.values import POSITIVE, Number

__all__ = ["TARGETS", "Kernel", "kernel"]


class Kernel(Function):
    """A function of a script that becomes one routine.

    Called outside of any kernel it runs on plain integers (an element as a list of limbs, or as one integer, which is
    cut) and checks its contracts on the way. Called inside a kernel it becomes part of that one.
    """

    noun = "kernel"

    def __init__(
        self, function: Callable[..., Any], computes: Callable[..., Any] | None, scope: Mapping[str, Any]
    ) -> None:
        super().__init__(function, computes, scope)
        self._traces: dict[tuple[tuple[str, int], ...], tuple[dict[str, int], Traced]] = {}
        self._explicit: dict[str, Callable[..., None]] = {}

    # Tracing.

    def trace(self, choices: Mapping[str, int] | None = None) -> Traced:
        """The kernel as exact integers; `choices` gives decisions other alternatives than their first, by number."""
        decisions, traced = self._decided(choices or {})
        unknown = [name for name in choices or {} if name not in decisions]
        if unknown and unknown[0] not in self.choices:
            raise AsmgenError(
                f'{self.name} has no decision "{unknown[0]}"',
                source=self.source,
                hint=f"its decisions are: {', '.join(self.choices) or 'none'}",
            )
        return traced

    def _decided(self, choices: Mapping[str, int]) -> tuple[dict[str, int], Traced]:
        """The decisions met on the way, each with its number of alternatives, and the kernel as exact integers."""
        key = tuple(sorted(choices.items()))
        if key not in self._traces:
            trace, traced = self._traced(choices)
            self._traces[key] = trace.decisions, traced
        return self._traces[key]

    @cached_property
    def choices(self) -> dict[str, int]:
        """The decisions that the script leaves open, each with its number of alternatives."""
        found: dict[str, int] = {}
        pending: list[dict[str, int]] = [{}]
        while pending:
            taken = pending.pop(0)
            for name, count in self._decided(taken)[0].items():
                if name not in found:
                    found[name] = count
                    pending += [{**taken, name: index} for index in range(1, count)]
        return found

    def alternatives(self) -> Iterator[tuple[dict[str, int], Traced]]:
        """The kernel with every combination of its decisions' alternatives, the default first.

        An alternative that breaks the contract is an error.
        """
        for indices in product(*map(range, self.choices.values())):
            choices = {name: index for name, index in zip(self.choices, indices, strict=True) if index}
            yield choices, self.trace(choices)

    def _traced(self, choices: Mapping[str, int]) -> tuple[Trace, Traced]:
        trace = Trace(choices)
        with run(trace), script_errors(self.file, self.source):
            results = self._body(trace, [self._entered(trace, parameter) for parameter in self.signature.inputs])
        both = list(zip(results, self.results, strict=True))
        outputs = tuple(nodes for nodes, contract in both if not isinstance(contract, BitContract))
        bits = [nodes[0] for nodes, contract in both if isinstance(contract, BitContract)]
        return trace, Traced(self.signature, outputs, bits[0] if bits else None)

    def _entered(self, trace: Trace, parameter: Parameter) -> Any:
        """An argument as the script sees it: anything that its contract allows."""
        nodes, contract = enter(trace, parameter), parameter.contract
        if isinstance(contract, CountContract):
            trace.public.add(nodes[0])
        if isinstance(contract, Bytes):
            return Limbs([Number(trace, node) for node in nodes], None)
        return wrapped(contract, [Number(trace, node) for node in nodes])

    def _body(self, trace: Trace, args: Sequence[Any]) -> tuple[tuple[Node, ...], ...]:
        """The results' nodes, held against what is promised."""
        if self in trace.calls:
            raise here(f"{self.name} calls itself", "write the repetition with repeat()")
        trace.calls.append(self)
        returned = self.function(*args)
        trace.calls.pop()
        results = []
        for name, contract, value in self._split(returned):
            nodes = tuple(as_number(trace, x).node for x in numbers_of(contract, value, name, self.source))
            if fault := _fault(trace, nodes, contract, "promised"):
                hint = POSITIVE if fault.negative else PROMISE
                raise AsmgenError(f"{name}: {fault.text}", source=fault.source or self.source, hint=hint)
            results.append(nodes)
        return tuple(results)

    def _inline(self, trace: Trace, given: Mapping[str, Any]) -> Any:
        """The body as a part of the kernel that is being traced."""
        args: list[Any] = []
        for parameter in self.signature.inputs:
            contract, name = parameter.contract, f"{parameter.name} of {self.name}"
            numbers = [as_number(trace, x) for x in numbers_of(contract, given[parameter.name], name, caller())]
            if isinstance(contract, (Element, Table)):
                element = contract.element if isinstance(contract, Table) else contract
                same_field(element, numbers, name, caller())
            if fault := _fault(trace, [number.node for number in numbers], contract, "allowed"):
                raise here(f"{name}: {fault.text}", POSITIVE if fault.negative else REQUIRE)
            args.append(wrapped(contract, numbers))
        results = self._body(trace, args)
        for contract, nodes in zip(self.results, results, strict=True):
            if isinstance(contract, Element):
                forget(trace, self.name, nodes, contract)
        return joined(
            wrapped(contract, [Number(trace, node) for node in nodes])
            for contract, nodes in zip(self.results, results, strict=True)
        )

    # Calls.

    def _called(self, given: Mapping[str, Any]) -> Any:
        current = running.get()
        if isinstance(current, Trace):
            return self._inline(current, given)
        if isinstance(current, Plain):
            return self._run(given)
        if current is not None:
            return current.call(self, given)
        with run(Plain(lambda: self._word_counts)):
            return self._run(given)

    @cached_property
    def _word_counts(self) -> Mapping[Source | None, set[int]]:
        return self._traced({})[0].word_counts

    # The explicit layer.

    @property
    def explicit(self) -> Mapping[str, Callable[..., None]]:
        """Bodies written in the instructions of a target, by target."""
        return self._explicit

    def on(self, target: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """A decorator: this function writes the routine for `target` in its instructions.

        It is called with one virtual register for each argument of the C function, outputs first. The kernel's own body
        stays the description, the C output and what the routine is tested against.
        """
        if target not in TARGETS:
            close = nearest(target, TARGETS)
            raise here(
                f'there is no target "{target}"', f"did you mean {close}?" if close else f"one of {', '.join(TARGETS)}"
            )

        def register(function: Callable[..., None]) -> Callable[..., None]:
            names = [p.name for p in self.signature.parameters]
            count = len(inspect.signature(function).parameters)
            if count != len(names):
                raise AsmgenError(
                    f"the body of {self.name} on {target} takes {count} registers for {len(names)} arguments in C",
                    source=definition(function),
                    hint=f"write def {function.__name__}({', '.join(names)})",
                )
            self._explicit[target] = function
            return function

        return register


@overload
def kernel(function: Callable[..., Any], /) -> Kernel: ...
@overload
def kernel(*, computes: Callable[..., Any] | None = None) -> Callable[[Callable[..., Any]], Kernel]: ...
def kernel(
    function: Callable[..., Any] | None = None, /, *, computes: Callable[..., Any] | None = None
) -> Kernel | Callable[[Callable[..., Any]], Kernel]:
    """Make a function of a script a kernel: annotations are contracts, its name or `computes` says what it computes.

    `computes` is a function of residues (an element's value modulo p, out of Montgomery form), and of counts, small
    numbers, bits and byte strings as integers; what it gives for an element may be any integer of the right residue.
    """
    scope = sys._getframe(1).f_locals
    if function is not None:
        return Kernel(function, computes, scope)
    return lambda function: Kernel(function, computes, scope)


def _fault(trace: Trace, nodes: Sequence[Node], contract: Contract, verb: str) -> Fault | None:
    if isinstance(contract, Table):
        faults = (fault_of(trace, entry, contract.element, verb) for entry in entries_of(contract, nodes))
        return next(filter(None, faults), None)
    return fault_of(trace, nodes, contract if isinstance(contract, Element) else most(contract), verb)
