"""Inputs for following a routine: random within the contract, few, the same for everybody."""

from __future__ import annotations

import random
from collections.abc import Sequence

from asmgen.contracts import Bytes, Contract, Element, Signature, Table
from emulate.inputs import Input

#: Repetitions in calls of a routine that takes a count: the usual path first, then its ends.
COUNTS = (4, 1, 0)


def groups(signature: Signature, calls: int, seed: int = 1) -> list[list[tuple[Input, ...]]]:
    """Groups of calls with the same public arguments each; the first group has `calls` of them, the others half."""
    counted = any(parameter.contract.kind == "count" for parameter in signature.inputs)
    rng = random.Random(f"diff {signature.symbol} {seed}")
    made = []
    for index, count in enumerate(COUNTS if counted else COUNTS[:1]):
        number = calls if index == 0 else max(2, calls // 2)
        made.append([tuple(_input(p.contract, rng, count, turn) for p in signature.inputs) for turn in range(number)])
    return made


def _input(contract: Contract, rng: random.Random, count: int, turn: int) -> Input:
    if isinstance(contract, Table):
        return tuple(limb for _ in range(contract.count) for limb in limbs_of(contract.element, rng))
    if isinstance(contract, Element):
        return limbs_of(contract, rng)
    if isinstance(contract, Bytes):
        return rng.randbytes(contract.length)
    if contract.kind == "count":
        return count
    if contract.kind == "bit":
        return turn & 1
    return rng.randint(0, contract.value_max)


def limbs_of(contract: Element, rng: random.Random) -> tuple[int, ...]:
    """A random element: any limbs that are allowed, or the digits of a value where the value is bounded further."""
    unit = contract.multiple_of
    limbs = tuple(unit * rng.randint(0, most // unit) for most in contract.limb_max)
    if contract.value(limbs) <= contract.value_max:
        return limbs
    return cut(contract, rng.randint(0, contract.value_max // unit), unit)


def cut(contract: Element, value: int, unit: int = 1) -> tuple[int, ...]:
    """The digits of a value, the top one taking what is left."""
    widths: Sequence[int] = contract.field.limbs
    limbs = []
    for width in widths[:-1]:
        limbs.append(unit * (value & (1 << width) - 1))
        value >>= width
    return (*limbs, unit * value)
