"""Programs: functions of a script that call kernels, each of them one routine that calls the kernels' routines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import Any, overload

from asmgen.chains import best
from asmgen.contracts import BitContract
from asmgen.control import repeat
from asmgen.errors import AsmgenError, here, script_errors
from asmgen.function import PROMISE, Function
from asmgen.steps import Recording, Steps, Value, needed, unmet
from asmgen.trace import run, running


class Program(Function):
    """A function of a script that composes kernels: straight-line calls over whole elements.

    Called outside it runs on plain integers, as the kernels that it calls do. Called inside another program it is one
    more routine that is called. With `wipe` its routine leaves no element of its own, and nothing that the routines it
    calls spilled, on the stack.
    """

    noun = "program"

    def __init__(
        self,
        function: Callable[..., Any],
        computes: Callable[..., Any] | None,
        scope: Mapping[str, Any],
        wipe: bool = False,
    ) -> None:
        super().__init__(function, computes, scope)
        self.scope = {**function.__globals__, **scope}
        self.wipe = wipe

    @cached_property
    def steps(self) -> Steps:
        """The calls in order."""
        inputs = tuple(Value(p.contract, p.name) for p in self.signature.inputs)
        recording = Recording(inputs, self.file)
        with run(recording), _inside(self), script_errors(self.file, self.source):
            returned = list(self._split(self.function(*inputs)))
        outputs: list[Value] = []
        bit: Value | None = None
        for name, contract, value in returned:
            if not isinstance(value, Value):
                with run(recording), script_errors(self.file, self.source):
                    value = recording.value(value, contract, name)
            if fault := unmet(value.contract, contract, "promised"):
                raise AsmgenError(f"{name}: {fault}", source=self.source, hint=PROMISE)
            if isinstance(contract, BitContract):
                bit = value
            else:
                outputs.append(value)
        wanted = [*outputs, *([] if bit is None else [bit])]
        return Steps(self.signature, inputs, needed(recording.calls, wanted), tuple(outputs), bit)

    @cached_property
    def callees(self) -> tuple[Function, ...]:
        """The functions that it calls, each once, in the order of their first calls."""
        return tuple(dict.fromkeys(call.function for call in self.steps.calls))

    def _called(self, given: Mapping[str, Any]) -> Any:
        if self in _programs.get():
            raise here(f"{self.name} calls itself", "write the repetition with repeat(), or a Python loop")
        current = running.get()
        if isinstance(current, Recording):
            _ = self.steps  # its errors come first
            return current.call(self, given)
        if current is not None:
            raise here(
                f"a kernel cannot call the program {self.name}, which is a routine of its own",
                "call kernels inside a kernel; to compose routines write a @program",
            )
        with _inside(self):
            return self._run(given)


_programs: ContextVar[tuple[Program, ...]] = ContextVar("_programs", default=())
"""The programs whose functions are running, each called by the one before."""


@contextmanager
def _inside(program: Program) -> Iterator[None]:
    token = _programs.set((*_programs.get(), program))
    try:
        yield
    finally:
        _programs.reset(token)


@overload
def program(function: Callable[..., Any], /) -> Program: ...
@overload
def program(
    *, computes: Callable[..., Any] | None = None, wipe: bool = False
) -> Callable[[Callable[..., Any]], Program]: ...
def program(
    function: Callable[..., Any] | None = None,
    /,
    *,
    computes: Callable[..., Any] | None = None,
    wipe: bool = False,
) -> Program | Callable[[Callable[..., Any]], Program]:
    """Make a function of a script a program: annotations are contracts, its name or `computes` says what it computes.

    `wipe` clears the stack that it and the routines it calls have used before it returns.
    """
    scope = sys._getframe(1).f_locals
    if function is not None:
        return Program(function, computes, scope)
    return lambda function: Program(function, computes, scope, wipe)


def power(x: Any, exponent: int, *, squared: Callable[[Any, int], Any] | None = None) -> Any:
    """x^exponent in a program: an addition chain, found by search, of calls of the script's mul, sqr and square_n.

    The exponent is public and at least 1; `asmgen chain EXPONENT` prints the chain. `squared(x, n)` may make x^(2^n)
    otherwise, such as lambda x, n: repeat(n, sqr, x) by as many calls.
    """
    inside = _programs.get()
    if not inside:
        raise here("power() is for programs", "call it inside a function under @program")
    if not isinstance(exponent, int) or exponent < 1:
        raise here(f"power() takes a fixed exponent, at least 1, not {exponent!r}", "write the exponent as an integer")
    multiply, square, square_n = (inside[-1].scope.get(name) for name in ("mul", "sqr", "square_n"))
    if not isinstance(multiply, Function) or not isinstance(square, Function):
        raise here("power() calls the kernels mul and sqr, which this script does not have", "define both above")

    def by_kernels(value: Any, n: int) -> Any:
        if n == 1:
            return square(value)
        return square_n(value, n) if isinstance(square_n, Function) else repeat(n, square, value)

    def named(value: Any, name: str) -> Any:
        if isinstance(value, Value) and name != "y":
            value.name = name
        return value

    return best(exponent).apply(x, multiply, squared or by_kernels, named)


def closure(functions: Sequence[Function]) -> list[Function]:
    """The functions, and those that they call, directly or not, each once; the ones given come first."""
    found = dict.fromkeys(functions)
    pending = list(functions)
    while pending:
        function = pending.pop(0)
        called = [each for each in function.callees if each not in found] if isinstance(function, Program) else []
        found.update(dict.fromkeys(called))
        pending += called
    return list(found)
