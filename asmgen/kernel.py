"""Kernels: functions of a script with contracts; traced, run on plain integers, and asked what they compute."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, overload

from asmgen import meanings
from asmgen.annotations import contracts_of, definition
from asmgen.arguments import checked, most, numbers_of, same_field, wrapped
from asmgen.contracts import BitContract, Bytes, Contract, CountContract, Element, Parameter, Signature
from asmgen.elements import Limbs, as_number
from asmgen.errors import AsmgenError, Source, caller, here, nearest, script_errors
from asmgen.nodes import Node, Traced
from asmgen.promises import Fault, enter, fault_of
from asmgen.trace import Plain, Trace, run, running
from asmgen.values import POSITIVE, Number

TARGETS = ("amd64", "arm64")

_PROMISE = "carry or reduce once more before it is returned, or promise more"
_REQUIRE = "carry or reduce it before the call"


class Kernel:
    """A function of a script that becomes one routine.

    Called outside of any kernel it runs on plain integers (an element as a list of limbs, or as one integer, which is
    cut) and checks its contracts on the way. Called inside a kernel it becomes part of that one.
    """

    def __init__(
        self, function: Callable[..., Any], computes: Callable[..., Any] | None, scope: Mapping[str, Any]
    ) -> None:
        self.function = function
        self.name = function.__name__
        self.file = os.path.abspath(function.__code__.co_filename)
        self.source = definition(function)
        parameters, results = contracts_of(function, scope, self.source)
        self.results: tuple[Contract, ...] = tuple(contract for _, contract in results)
        self.signature = Signature(
            script=os.path.splitext(os.path.basename(self.file))[0],
            kernel=self.name,
            outputs=tuple(Parameter(n, c) for n, c in results if not isinstance(c, BitContract)),
            inputs=tuple(Parameter(n, c) for n, c in parameters),
            returns_bit=any(isinstance(c, BitContract) for c in self.results),
            doc=inspect.cleandoc(function.__doc__ or ""),
        )
        self.meaning = (
            meanings.own(computes, self.signature, self.source)
            if computes
            else meanings.known(self.signature, tuple(c.kind for c in self.results), self.source)
        )
        self._explicit: dict[str, Callable[..., None]] = {}

    def __repr__(self) -> str:
        return f"<kernel {self.signature.script}.{self.name}>"

    @property
    def modulus(self) -> int:
        """The modulus of the field of its first result, or else of its first argument; 0 when it knows of no field."""
        contracts = [*self.results, *(p.contract for p in self.signature.inputs)]
        return next((c.field.modulus for c in contracts if isinstance(c, Element)), 0)

    def expected(self, inputs: Sequence[int]) -> tuple[int, ...]:
        """What the results must be, in script order: an element's residue, the integer of bytes, a bit as 0 or 1.

        `inputs` likewise are residues, integers and bits, in script order.
        """
        made = self.meaning.function(self.modulus, *map(int, inputs))
        values = made if isinstance(made, (tuple, list)) else (made,)
        if len(values) != len(self.results):
            raise AsmgenError(
                f"computes of {self.name} gives {len(values)} values for {len(self.results)} results",
                source=self.source,
                hint="give one value a result, in their order",
            )
        return tuple(
            int(value) % contract.field.modulus if isinstance(contract, Element) else int(value)
            for value, contract in zip(values, self.results, strict=True)
        )

    # Tracing.

    def trace(self, choices: Mapping[str, int] | None = None) -> Traced:
        """The kernel as exact integers; `choices` gives decisions other alternatives than their first, by number."""
        trace, traced = self._traced(choices or {})
        unknown = [name for name in trace.choices if name not in trace.decisions]
        if unknown and unknown[0] not in self.choices:
            raise AsmgenError(
                f'{self.name} has no decision "{unknown[0]}"',
                source=self.source,
                hint=f"its decisions are: {', '.join(self.choices) or 'none'}",
            )
        return traced

    @cached_property
    def choices(self) -> dict[str, int]:
        """The decisions that the script leaves open, each with its number of alternatives."""
        found: dict[str, int] = {}
        pending: list[dict[str, int]] = [{}]
        while pending:
            taken = pending.pop(0)
            for name, count in self._traced(taken)[0].decisions.items():
                if name not in found:
                    found[name] = count
                    pending += [{**taken, name: index} for index in range(1, count)]
        return found

    def alternatives(self) -> Iterator[tuple[dict[str, int], Traced]]:
        """The kernel with each alternative of each decision, one decision at a time, the default first.

        An alternative that breaks the contract is an error.
        """
        yield {}, self.trace()
        for name, count in self.choices.items():
            for index in range(1, count):
                yield {name: index}, self.trace({name: index})

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
                hint = POSITIVE if fault.negative else _PROMISE
                raise AsmgenError(f"{name}: {fault.text}", source=fault.source or self.source, hint=hint)
            results.append(nodes)
        return tuple(results)

    def _inline(self, trace: Trace, given: Mapping[str, Any]) -> Any:
        """The body as a part of the kernel that is being traced."""
        args: list[Any] = []
        for parameter in self.signature.inputs:
            contract, name = parameter.contract, f"{parameter.name} of {self.name}"
            numbers = [as_number(trace, x) for x in numbers_of(contract, given[parameter.name], name, caller())]
            if isinstance(contract, Element):
                same_field(contract, numbers, name, caller())
            if fault := _fault(trace, [number.node for number in numbers], contract, "allowed"):
                raise here(f"{name}: {fault.text}", POSITIVE if fault.negative else _REQUIRE)
            args.append(wrapped(contract, numbers))
        results = self._body(trace, args)
        return _joined(
            wrapped(contract, [Number(trace, node) for node in nodes])
            for contract, nodes in zip(self.results, results, strict=True)
        )

    # Running on plain integers.

    def __call__(self, *args: Any, **named: Any) -> Any:
        names = [p.name for p in self.signature.inputs]
        given = {**dict(zip(names, args, strict=False)), **named}
        if len(args) + len(named) != len(names) or set(given) != set(names):
            raise here(
                f"{self.name} takes {', '.join(names) or 'nothing'}; {len(args) + len(named)} given",
                "give each argument once",
            )
        current = running.get()
        if isinstance(current, Trace):
            return self._inline(current, given)
        if current is not None:
            return self._run(given)
        with run(Plain(lambda: self._word_counts)):
            return self._run(given)

    @cached_property
    def _word_counts(self) -> Mapping[Source | None, set[int]]:
        return self._traced({})[0].word_counts

    def _run(self, given: Mapping[str, Any]) -> Any:
        args = [
            checked(p.contract, given[p.name], f"{p.name} of {self.name}", caller(), _REQUIRE)
            for p in self.signature.inputs
        ]
        with script_errors(self.file, self.source):
            returned = self.function(*args)
            return _joined(
                checked(contract, value, name, self.source, _PROMISE)
                for name, contract, value in self._split(returned)
            )

    def _split(self, returned: Any) -> Iterator[tuple[str, Contract, Any]]:
        """Name for messages, contract and value of each result."""
        if len(self.results) == 1:
            yield f"the result of {self.name}", self.results[0], returned
            return
        values = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        if len(values) != len(self.results):
            raise AsmgenError(
                f"{self.name} returns {len(values)} results, its contract has {len(self.results)}",
                source=self.source,
                hint="return a tuple with one entry a result",
            )
        for index, (contract, value) in enumerate(zip(self.results, values, strict=True)):
            yield f"result {index} of {self.name}", contract, value

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
    return fault_of(trace, nodes, contract if isinstance(contract, Element) else most(contract), verb)


def _joined(results: Iterator[Any]) -> Any:
    found = tuple(results)
    return found[0] if len(found) == 1 else found
