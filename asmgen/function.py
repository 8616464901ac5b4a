"""Functions of a script that become routines: their contracts, what they compute, and how they run on plain integers.

A `Kernel` (asmgen.kernel) is such a function made of exact integers, a `Program` (asmgen.program) one made of calls.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from asmgen import meanings
from asmgen.annotations import contracts_of, definition
from asmgen.arguments import checked
from asmgen.contracts import BitContract, Contract, Element, Parameter, Signature, Table
from asmgen.errors import AsmgenError, caller, here, script_errors

TARGETS = ("amd64", "arm64")

PROMISE = "carry or reduce once more before it is returned, or promise more"
REQUIRE = "carry or reduce it before the call"


class Function:
    """A function of a script with contracts."""

    noun = "function"
    #: Of the script that it was found in: `asmgen.scripts` sets it on what a run of the script makes by itself.
    version = ""

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
            else meanings.known(self.signature, tuple(c.kind for c in self.results), self.source, self.noun)
        )

    def __repr__(self) -> str:
        return f"<{self.noun} {self.signature.script}.{self.name}>"

    @cached_property
    def modulus(self) -> int:
        """The modulus of the field of its first result, or else of its first argument; 0 when it knows of no field."""
        contracts = [*self.results, *(p.contract for p in self.signature.inputs)]
        elements = [c.element if isinstance(c, Table) else c for c in contracts]
        return next((c.field.modulus for c in elements if isinstance(c, Element)), 0)

    def expected(self, inputs: Sequence[Any]) -> tuple[int, ...]:
        """What the outputs must be, in order, then the returned bit: elements as residues, byte strings as integers.

        `inputs` likewise are residues, integers and bits, in script order; a table is a tuple of residues.
        """
        made = self.meaning.function(self.modulus, *inputs)
        places = self._places
        if len(places) == 1 and type(made) is int:  # most functions, and the inner loop of every test
            modulus = places[0][1]
            return (made % modulus if modulus else made,)
        values = made if isinstance(made, (tuple, list)) else (made,)
        if len(values) != len(self.results):
            raise AsmgenError(
                f"computes of {self.name} gives {len(values)} values for {len(self.results)} results",
                source=self.source,
                hint="give one value a result, in their order",
            )
        return tuple([values[at] % modulus if modulus else int(values[at]) for at, modulus in places])

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        """Where each output and then the bit stands among the results, with the modulus if it is an element."""
        numbered = sorted(enumerate(self.results), key=lambda each: isinstance(each[1], BitContract))
        return [(at, c.field.modulus if isinstance(c, Element) else 0) for at, c in numbered]

    @property
    def explicit(self) -> Mapping[str, Callable[..., None]]:
        """Bodies written in the instructions of a target, by target."""
        return {}

    # Calls.

    def __call__(self, *args: Any, **named: Any) -> Any:
        """What it is called for depends on what is running: see the classes."""
        names = [p.name for p in self.signature.inputs]
        given = {**dict(zip(names, args, strict=False)), **named}
        if len(args) + len(named) != len(names) or set(given) != set(names):
            raise here(
                f"{self.name} takes {', '.join(names) or 'nothing'}; {len(args) + len(named)} given",
                "give each argument once",
            )
        return self._called(given)

    def _called(self, given: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    def _run(self, given: Mapping[str, Any]) -> Any:
        """The body on plain integers, its contracts checked on the way."""
        args = [
            checked(p.contract, given[p.name], f"{p.name} of {self.name}", caller(), REQUIRE)
            for p in self.signature.inputs
        ]
        with script_errors(self.file, self.source):
            returned = self.function(*args)
            return joined(
                checked(contract, value, name, self.source, PROMISE) for name, contract, value in self._split(returned)
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


def joined(results: Iterable[Any]) -> Any:
    """Several results as a tuple, a lone one as itself."""
    found = tuple(results)
    return found[0] if len(found) == 1 else found
