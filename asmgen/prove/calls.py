"""Calls and returns: into the same code, followed as they are, or of a routine that has a proof of its own.

A routine with a proof of its own is taken by its contract: its arguments are looked up where its convention says,
its outputs become words of which nothing else is known, and everything that it may change is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from asmgen.contracts import Contract
from asmgen.prove.decode import Decoded
from asmgen.prove.entry import cells
from asmgen.prove.routine import Described
from asmgen.prove.space import Rejected, Undefined
from asmgen.prove.state import CODE, STACK, STACK_POINTERS, State
from asmgen.targets.conventions import Convention
from emulate.aliasing import modes, pointers, size

#: The register with the place to return to, where it is not on the stack.
LINK = {"arm64": "x30"}


def enter_local(state: State, decoded: Decoded) -> None:
    """A call of a place in the same code: the address to return to goes where the target puts it."""
    back = state.places.code(decoded.end)
    if state.target in LINK:
        state.registers[LINK[state.target]] = back
        return
    pointer = STACK_POINTERS[state.target]
    offset = state.depth() - 8
    state.registers[pointer] = state.register(pointer) + -8
    state.memory[STACK].store(state.domain, offset, 8, back)


def leave(state: State) -> int | None:
    """Where a return goes to in the same code; None when it goes back to the routine's caller."""
    pointer = STACK_POINTERS[state.target]
    if state.target in LINK:
        value = state.register(LINK[state.target])
    else:
        value = state.memory[STACK].load(state.domain, state.depth(), 8)
    try:
        name, place = state.places.locate(value)
    except Rejected:
        return None  # the caller's own; whether it is what it was is asked at the end
    if name != CODE:
        return None
    if state.target not in LINK:
        state.registers[pointer] = state.register(pointer) + 8
        state.memory[STACK].forget_below(state.depth() - state.red_zone)
    return int(place)


@dataclass(frozen=True)
class Called:
    """A call of a routine by its contract: the words of its inputs in script order, those of its results in the order
    of its contract's results (a bit among them)."""

    callee: Described
    inputs: tuple[tuple[Any, ...], ...]
    results: tuple[tuple[Any, ...], ...]


Fresh = Callable[[str, Contract], Any]
"""Makes a word that is new: its name and the contract of the value that it is a part of."""


def enact(state: State, rules: Convention, callee: Described, decoded: Decoded, fresh: Fresh) -> Called:
    """Do a call. Raises Rejected where the routine may not be called like this."""
    signature, depth = callee.signature, state.depth()
    stack = state.memory[STACK]
    if (depth - rules.return_address) % rules.stack_alignment:
        raise Rejected(f"calls {signature.symbol} with the stack pointer not at a multiple of {rules.stack_alignment}")
    values: dict[str, Any] = {}
    for index, parameter in enumerate(signature.parameters):
        if index < len(rules.arguments):
            values[parameter.name] = state.register(rules.arguments[index])
        else:
            at = depth + rules.stack_argument(index) - rules.return_address
            values[parameter.name] = stack.load(state.domain, at, 8)
    where = _shared(state, callee, values, decoded)
    inputs = []
    for parameter in signature.inputs:
        if parameter.by_pointer:
            region, offset = where[parameter.name]
            words = [
                state.memory[region].load(state.domain, offset + at, length) for at, length in cells(parameter.contract)
            ]
            inputs.append(tuple(words))
        else:
            value = values[parameter.name]
            if isinstance(value, Undefined):
                raise Rejected(f"hands {value.what} to {signature.symbol}, which has no defined value here")
            inputs.append((value,))
    made: dict[str, tuple[Any, ...]] = {}
    for parameter in signature.outputs:
        region, offset = where[parameter.name]
        words = []
        for number, (at, length) in enumerate(cells(parameter.contract)):
            word = fresh(f"{signature.kernel}@{decoded.offset:x}.{parameter.name}{number}", parameter.contract)
            state.memory[region].store(state.domain, offset + at, length, word)
            words.append(word)
        made[parameter.name] = tuple(words)
    _forget(state, rules, len(signature.parameters), depth, signature.symbol)
    outputs = iter(signature.outputs)
    results: list[tuple[Any, ...]] = []
    for contract in callee.results:
        if contract.kind == "bit":
            bit = fresh(f"{signature.kernel}@{decoded.offset:x}", contract)
            state.registers[rules.result] = bit
            results.append((bit,))
        else:
            results.append(made[next(outputs).name])
    return Called(callee, tuple(inputs), tuple(results))


def _shared(state: State, callee: Described, values: Mapping[str, Any], decoded: Decoded) -> dict[str, tuple[str, int]]:
    """The places of the pointer arguments, shared in a way that the routine is proved for."""
    signature = callee.signature
    arguments = pointers(signature)
    outputs = {parameter.name for parameter in signature.outputs}
    where: dict[str, tuple[str, int]] = {}
    slots: list[int] = []
    for index, parameter in enumerate(arguments):
        name, offset = state.places.locate(values[parameter.name])
        if name not in state.memory:
            raise Rejected(f"hands a pointer to {name} to {signature.symbol}, which is no buffer")
        length = size(parameter)
        state.check(state.memory[name], offset, length, decoded, write=parameter.name in outputs)
        slot = index
        for other, earlier in enumerate(arguments[:index]):
            region, start = where[earlier.name]
            if (region, start) == (name, offset) and size(earlier) == length:
                slot = min(slot, other)
            elif region == name and start < offset + length and offset < start + size(earlier):
                raise Rejected(f"{earlier.name} and {parameter.name} of {signature.symbol} overlap in part")
        slots.append(slot)
        where[parameter.name] = name, offset
    if tuple(slots) not in {mode.slots for mode in modes(signature)}:
        raise Rejected(f"{signature.symbol} is not proved for buffers that are shared like this")
    return where


def _forget(state: State, rules: Convention, count: int, depth: int, symbol: str) -> None:
    """Registers, flags and memory that a routine of the convention may change."""
    kept = {*rules.preserved, rules.frame_pointer, STACK_POINTERS[state.target], "x18"} - {LINK.get(state.target, "")}
    for name in list(state.registers):
        if name not in kept:
            state.registers[name] = Undefined(f"{name} after the call of {symbol}")
    state.flags.clear()
    stack = state.memory[STACK]
    stack.forget_below(depth)
    own = rules.shadow + rules.stack_slot * max(0, count - len(rules.arguments))
    if own:
        for start in [start for start, (length, _) in stack.cells.items() if start < depth + own]:
            del stack.cells[start]
