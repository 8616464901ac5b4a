"""Emulated results against Python integers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from asmgen.contracts import Bit, Bytes, Contract, Element, Signature, Table
from asmgen.errors import UsageError
from emulate.columns import Column
from emulate.inputs import BLOCK, Block, Generator, Input, values
from emulate.machine import Machine, Outcome, Outputs, outputs

T = TypeVar("T")


class Described(Protocol):
    """A kernel, as far as tests need it."""

    @property
    def signature(self) -> Signature:
        """The C function."""

    def expected(self, inputs: Sequence[Any]) -> tuple[int, ...]:
        """What the outputs must be, then the returned bit: residues for elements, integers for byte strings.

        `inputs` are residues of elements, tuples of them for tables, the integers of byte strings, and numbers.
        """


@dataclass(frozen=True)
class Failure:
    """The first vector that fails, with everything needed to see it again."""

    symbol: str
    target: str
    seed: int
    index: int
    reason: str
    aliasing: str
    inputs: tuple[tuple[str, Input], ...]
    wanted: tuple[tuple[str, int], ...]  #: residues or numbers by output
    got: tuple[tuple[str, Input], ...]  #: what stands in memory; empty when the call did not come to its end
    meant: tuple[tuple[str, int], ...]  #: residues or numbers of `got`
    command: str


@dataclass(frozen=True)
class Result:
    """What a test of one kernel on one target came to. Rates are vectors a second."""

    vectors: int
    seconds: float
    emulation_rate: float
    failure: Failure | None

    @property
    def rate(self) -> float:
        """Vectors a second with generating and comparing."""
        return self.vectors / self.seconds if self.seconds else 0.0


def check(
    kernel: Described, machine: Machine, count: int, seed: int, *, only: int | None = None, command: str = ""
) -> Result:
    """Run vectors 0 to `count - 1` of a seed, or `only` the one of that index, and compare.

    Outputs must equal what the kernel says modulo p and keep their bounds, byte strings and the returned bit be
    exact. The run ends with the first vector that fails. A single vector is run after those before it in its block,
    as in the full run, so that it meets the same memory. `command` is what the user repeats, without seed and index.
    """
    if count < 1 or only is not None and only < 0:
        raise UsageError("the number of vectors must be positive and an index cannot be negative")
    generator = Generator(kernel.signature, seed)
    began = time.perf_counter()
    emulated, done = 0.0, 0
    failed: tuple[Block, Outcome, int] | None = None
    first, last = (0, count) if only is None else (only // BLOCK * BLOCK, only + 1)
    for start in range(first, last, BLOCK):
        block = generator.block(start // BLOCK, min(BLOCK, last - start))
        outcome = machine.run(block)
        emulated += outcome.seconds
        skip = 0 if only is None else min(only - start, outcome.done)
        found = _first_wrong(kernel, block, outcome, skip)
        done += outcome.done - skip
        if found is None and outcome.fault is not None:
            found = outcome.fault.vector
        if found is not None:
            failed = block, outcome, found
            done = start + found + 1 if only is None else 1
            break
    seconds = time.perf_counter() - began
    executed = done if only is None else only - first + 1
    return Result(
        done,
        seconds,
        executed / emulated if emulated else 0.0,
        None if failed is None else _failure(kernel, machine, *failed, command),
    )


def judge(kernel: Described, inputs: Sequence[Input], got: Outputs) -> list[str]:
    """Everything that is wrong with the outputs of one call, in words; inputs and outputs as in `Machine.call`."""
    signature = kernel.signature
    meant = [meaning(parameter.contract, value) for parameter, value in zip(signature.inputs, inputs, strict=True)]
    wanted = kernel.expected(meant)
    faults = []
    for parameter, value, want in zip(signature.outputs, got, wanted, strict=False):
        contract = parameter.contract
        if isinstance(contract, Element) and isinstance(value, tuple):
            fault = contract.fault(value)
            if fault is not None:
                faults.append(f"{parameter.name} breaks its promise, {fault}")
            if (contract.residue(value) - want) % contract.field.modulus:
                faults.append(f"{parameter.name} is wrong modulo p")
        elif meaning(contract, value) != want:
            faults.append(f"{parameter.name} is wrong")
    if signature.returns_bit and got[-1] != wanted[-1]:
        faults.append(f"the returned register is {got[-1]!r}, not {wanted[-1]}")
    return faults


def meaning(contract: Contract, value: Input) -> Any:
    """What an argument stands for: residues of elements, tuples of them for tables, integers of the rest."""
    if isinstance(contract, Element) and isinstance(value, tuple):
        return contract.residue(value)
    if isinstance(contract, Table) and isinstance(value, tuple):
        return tuple(contract.element.residue(entry) for entry in _entries(contract, value))
    if isinstance(contract, Bytes) and isinstance(value, bytes):
        return int.from_bytes(value, contract.order)
    if isinstance(value, int):
        return value
    raise TypeError(f"this is no {contract.kind}: {value!r}")


def _entries(contract: Table, words: Sequence[T]) -> list[Sequence[T]]:
    """A table's words, or columns of words, by entry."""
    width = contract.element.words
    return [words[at : at + width] for at in range(0, contract.words, width)]


def _meanings(contract: Contract, columns: Sequence[Column]) -> list[Any]:
    """`meaning` of each vector."""
    if isinstance(contract, Table):
        return list(zip(*(_meanings(contract.element, entry) for entry in _entries(contract, columns)), strict=True))
    numbers = values(contract, columns)
    if not isinstance(contract, Element):
        return numbers
    p, unscale, unit = contract.field.modulus, contract.field.unscale, contract.multiple_of
    if unit != 1:
        numbers = [number // unit for number in numbers]
    if unscale != 1:
        return [number * unscale % p for number in numbers]
    return [number % p for number in numbers]


def _first_wrong(kernel: Described, block: Block, outcome: Outcome, skip: int) -> int | None:
    """The first vector of a block, from `skip` on, whose outputs are wrong."""
    if outcome.done <= skip:
        return None
    rows = slice(skip, outcome.done)
    signature = kernel.signature
    meant = [
        _meanings(parameter.contract, [column[rows] for column in columns])
        for parameter, columns in zip(signature.inputs, block.columns, strict=True)
    ]
    rows_meant = zip(*meant, strict=True) if meant else [()] * (outcome.done - skip)
    wanted = list(zip(*map(kernel.expected, rows_meant), strict=True))
    wrong: list[int] = []
    for parameter, columns, want in zip(signature.outputs, outcome.columns, wanted, strict=False):
        wrong += _wrong(parameter.contract, [column[rows] for column in columns], want)
    if outcome.returned is not None:
        wrong += _unequal(outcome.returned[rows].tolist(), wanted[-1])
    return min(wrong) + skip if wrong else None


def _wrong(contract: Contract, columns: Sequence[Column], wanted: Sequence[int]) -> list[int]:
    """The first row where an output is not as wanted, and the first beyond each bound."""
    if isinstance(contract, Table):
        raise TypeError("no kernel gives a table")
    if not isinstance(contract, Element):
        return _unequal(values(contract, columns), wanted)
    wrong = []
    for column, most in zip(columns, contract.limb_max, strict=True):
        if max(column) > most:
            wrong.append(next(index for index, limb in enumerate(column) if limb > most))
        if contract.multiple_of != 1 and any(limb % contract.multiple_of for limb in column):
            wrong.append(next(index for index, limb in enumerate(column) if limb % contract.multiple_of))
    numbers = values(contract, columns)
    if max(numbers) > contract.value_max:
        wrong.append(next(index for index, number in enumerate(numbers) if number > contract.value_max))
    p, unscale, unit = contract.field.modulus, contract.field.unscale, contract.multiple_of
    if unit != 1:
        numbers = [number // unit for number in numbers]
    if unscale != 1:
        numbers = [number * unscale for number in numbers]
    differences = [(number - want) % p for number, want in zip(numbers, wanted, strict=True)]
    if any(differences):
        wrong.append(next(index for index, difference in enumerate(differences) if difference))
    return wrong


def _unequal(got: Sequence[int], wanted: Sequence[int]) -> list[int]:
    if list(got) == list(wanted):
        return []
    return [next(index for index, (value, want) in enumerate(zip(got, wanted, strict=True)) if value != want)]


def _failure(kernel: Described, machine: Machine, block: Block, outcome: Outcome, index: int, command: str) -> Failure:
    signature = kernel.signature
    inputs = block.vector(index)
    got: Outputs = ()
    if index < outcome.done:
        got = outputs(signature, outcome, index)
        reasons = judge(kernel, inputs, got)
        if not reasons:
            raise RuntimeError(f"{signature.symbol}: vector {block.start + index} fails in bulk and passes alone")
        reason = "; ".join(reasons)
    else:
        reason = str(outcome.fault)
    meant = [meaning(parameter.contract, value) for parameter, value in zip(signature.inputs, inputs, strict=True)]
    contracts: list[Contract] = [parameter.contract for parameter in signature.outputs] + [Bit] * signature.returns_bit
    names = [parameter.name for parameter in signature.outputs] + ["returned bit"] * signature.returns_bit
    return Failure(
        signature.symbol,
        machine.target,
        block.seed,
        block.start + index,
        reason,
        block.case(index).name,
        tuple(zip((parameter.name for parameter in signature.inputs), inputs, strict=True)),
        tuple(zip(names, kernel.expected(meant), strict=True)),
        tuple(zip(names, got, strict=False)),
        tuple(zip(names, map(meaning, contracts, got), strict=False)),
        f"{command or default_command(machine)} --seed {block.seed} --only {block.start + index}",
    )


def default_command(machine: Machine) -> str:
    """The command that tests this kernel on this target again."""
    signature = machine.signature
    return f"asmgen test {signature.script}.{signature.kernel} --target {machine.target}"
