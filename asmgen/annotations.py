"""Reads a kernel's contracts from its function's annotations."""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Mapping
from types import GenericAlias
from typing import Any

from asmgen.contracts import BitContract, Bytes, Contract, CountContract, Element, Small, Table
from asmgen.errors import AsmgenError, Source

_CONTRACTS = (Element, CountContract, Small, BitContract, Bytes, Table)
_INPUTS = (
    "an element such as fe.limbs_below(2**54) or fe.below(p), or Count, Small(below), Bit, Bytes(length, order), "
    "Table(element, count)"
)
_RESULTS = "an element, Bytes or Bit, or several as tuple[tight, Bit]"

Named = list[tuple[str, Contract]]


def definition(function: Callable[..., Any]) -> Source:
    """The line that has the function's `def`, below its decorators."""
    code = function.__code__
    line = code.co_firstlineno
    while (text := linecache.getline(code.co_filename, line).strip()) and not text.startswith(("def ", "lambda ")):
        line += 1
    return Source(code.co_filename, line if text else code.co_firstlineno)


def contracts_of(function: Callable[..., Any], scope: Mapping[str, Any], source: Source) -> tuple[Named, Named]:
    """Names and contracts of parameters and results; `scope` has the local names that annotations in quotes may use."""
    name = function.__name__
    written = _evaluated(function, scope, source)
    inputs: Named = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise AsmgenError(f"{name} takes *{parameter.name}, a kernel has fixed arguments", source=source,
                              hint="name each argument")  # fmt: skip
        if parameter.name not in written:
            raise AsmgenError(f"{name} does not say what it requires of {parameter.name}", source=source,
                              hint=f"annotate it with {_INPUTS}")  # fmt: skip
        what = f"{parameter.name} of {name}"
        inputs.append((parameter.name, _contract(written[parameter.name], what, source, _INPUTS)))
    if "return" not in written:
        raise AsmgenError(f"{name} does not say what it promises of its result", source=source,
                          hint=f"annotate the result with {_RESULTS}")  # fmt: skip
    results = _results(written["return"], name, source)
    taken = {parameter for parameter, _ in inputs}
    for result, _ in results:
        if result in taken:
            raise AsmgenError(f"{name} has an argument named as its output {result}", source=source,
                              hint="choose another name")  # fmt: skip
    return inputs, results


def _evaluated(function: Callable[..., Any], scope: Mapping[str, Any], source: Source) -> dict[str, Any]:
    """The annotations as values, also where they are written as text or under `from __future__ import annotations`."""
    names = {**function.__globals__, **scope}
    found = {}
    for key, value in function.__annotations__.items():
        if isinstance(value, str):
            try:
                value = eval(value, names)
            except Exception as error:
                raise AsmgenError(f"the annotation {value} has no value: {error}", source=source,
                                  hint="define the contract above the kernel") from error  # fmt: skip
        found[key] = value
    return found


def _contract(value: Any, what: str, source: Source, allowed: str) -> Contract:
    if isinstance(value, _CONTRACTS):
        return value
    text = getattr(value, "__name__", None) or repr(value)
    raise AsmgenError(f"{what} is annotated with {text}, which is no contract", source=source, hint=f"use {allowed}")


def _results(value: Any, name: str, source: Source) -> Named:
    several = value.__args__ if isinstance(value, GenericAlias) else value
    if not isinstance(several, tuple):
        several = (value,)
    contracts = [_contract(each, f"the result of {name}", source, _RESULTS) for each in several]
    for contract in contracts:
        if isinstance(contract, (CountContract, Small, Table)):
            raise AsmgenError(f"{name} gives a {contract.kind}, results are elements, Bytes or one Bit", source=source,
                              hint=f"use {_RESULTS}")  # fmt: skip
    stored = [contract for contract in contracts if not isinstance(contract, BitContract)]
    if len(contracts) - len(stored) > 1:
        raise AsmgenError(f"{name} gives {len(contracts) - len(stored)} bits, a C function returns one", source=source,
                          hint="give one Bit at the most")  # fmt: skip
    names = iter(["out"] if len(stored) == 1 else [f"out{index}" for index in range(len(stored))])
    return [("returned" if isinstance(contract, BitContract) else next(names), contract) for contract in contracts]
