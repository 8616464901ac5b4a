"""A concrete input for which a routine is wrong: searched where proofs of its kind break, checked by emulation.

Edge-biased vectors come first. What they miss are carries that almost never happen. The inputs that bring them about
are solved for: limbs at their corners, where unsaturated columns are largest; and products with a residue chosen so
that the reduced value lies at a multiple of what 2^(bits) is modulo p, where saturated folds carry once more.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence

from asmgen.contracts import Bytes, Contract, CountContract, Element, Table
from asmgen.errors import AsmgenError
from asmgen.prove.answers import NotProved, Refuted
from asmgen.prove.routine import Routine
from emulate.compare import check, judge, meaning
from emulate.inputs import BLOCK, Input
from emulate.machine import EmulationError, Machine

#: Seconds for one search.
SECONDS = 3.0

#: Edge-biased vectors tried first.
VECTORS = 16 * BLOCK

SEED = 20260401


def counterexample(
    routine: Routine, failed: NotProved, *, seconds: float = SECONDS, vectors: int = VECTORS, seed: int = SEED
) -> Refuted | None:
    """An input for which the routine is wrong; None when none was found in time."""
    began = time.perf_counter()
    try:
        machine = machine_of(routine)
        found = _at_edges(routine, machine, vectors, seed) or _solved(routine, machine, began + seconds, seed)
    except AsmgenError:
        return None  # what cannot even be emulated
    if found is None:
        return None
    reason, inputs, got = found
    names = [parameter.name for parameter in routine.kernel.signature.inputs]
    outputs = [parameter.name for parameter in routine.kernel.signature.outputs]
    outputs += ["returned bit"] * routine.kernel.signature.returns_bit
    contracts = [parameter.contract for parameter in routine.kernel.signature.inputs]
    meant = [meaning(contract, value) for contract, value in zip(contracts, inputs, strict=True)]
    wanted = routine.kernel.expected(meant)
    return Refuted(
        failed.seconds + time.perf_counter() - began,
        f"{reason} (the proof: {failed.reason})",
        tuple((name, text(value)) for name, value in zip(names, inputs, strict=True)),
        tuple((name, hex(value)) for name, value in zip(outputs, wanted, strict=True)),
        tuple((name, text(value)) for name, value in zip(outputs, got, strict=False)),
        failed.place,
    )


def machine_of(routine: Routine) -> Machine:
    """The emulator with the routine; amd64 code for the System V convention may use the red zone."""
    red_zone = 128 if routine.convention.name == "sysv" else 0
    signature = routine.kernel.signature
    code = routine.linked or routine.code
    return Machine(routine.target, code, routine.entry, signature, routine.features, red_zone=red_zone)


Found = tuple[str, tuple[Input, ...], tuple[Input, ...]]
"""What is wrong, the inputs, the outputs."""


def _at_edges(routine: Routine, machine: Machine, vectors: int, seed: int) -> Found | None:
    failure = check(routine.kernel, machine, vectors, seed).failure
    if failure is None:
        return None
    inputs, got = (tuple(value for _, value in pairs) for pairs in (failure.inputs, failure.got))
    return f"{failure.reason} ({failure.aliasing})", inputs, got


def _solved(routine: Routine, machine: Machine, deadline: float, seed: int) -> Found | None:
    for inputs in directed(routine, random.Random(seed)):
        if time.perf_counter() > deadline:
            return None
        try:
            got = machine.call(inputs)
        except EmulationError as error:
            return error.what, inputs, ()
        faults = judge(routine.kernel, inputs, got)
        if faults:
            return "; ".join(faults), inputs, got
    return None


def directed(routine: Routine, rng: random.Random) -> Iterator[tuple[Input, ...]]:
    """Inputs at which folds and carries are at their worst, in turns, without end."""
    contracts = [parameter.contract for parameter in routine.kernel.signature.inputs]
    elements = [contract for contract in contracts if isinstance(contract, Element)]
    if not elements:
        return
    goals = residues(elements[0])
    while True:
        for goal in goals:
            yield tuple(_corner(contract, rng) for contract in contracts)
            solved = _product(elements, goal, rng)
            if solved is not None:
                rest = iter(solved)
                yield tuple(next(rest) if isinstance(each, Element) else _corner(each, rng) for each in contracts)


def _corner(contract: Contract, rng: random.Random) -> Input:
    """A value of which every limb is at one of its ends or near it."""
    if isinstance(contract, Element):
        unit, most = contract.multiple_of, contract.limb_max
        limbs = [rng.choice((0, high, high, high, high - unit if high else 0, unit * (high > 0))) for high in most]
        while contract.value(limbs) > contract.value_max:
            index = max(i for i, limb in enumerate(limbs) if limb)
            excess = contract.value(limbs) - contract.value_max
            at = contract.field.positions[index]
            limbs[index] = max(0, limbs[index] - max(unit, (excess + (1 << at) - 1) >> at))
        return tuple(limbs)
    if isinstance(contract, Table):
        entries = [_corner(contract.element, rng) for _ in range(contract.count)]
        return tuple(limb for entry in entries if isinstance(entry, tuple) for limb in entry)
    if isinstance(contract, Bytes):
        return bytes(rng.choice((0, 255, 255, rng.randrange(256))) for _ in range(contract.length))
    if isinstance(contract, CountContract):
        return rng.randrange(4)
    return rng.choice((0, 1, contract.value_max, contract.value_max >> 1, rng.randrange(contract.value_max + 1)))


def residues(contract: Element) -> list[int]:
    """Residues at which a value that was reduced lies near an end of its range: small multiples and powers of two of
    what the limbs' capacity is modulo p, and of 1."""
    field = contract.field
    p = field.modulus
    capacities = {1 << sum(field.limbs), 1 << 64 * len(field.limbs), 1 << p.bit_length()}
    units = [1, *sorted(capacity % p for capacity in capacities)]
    powers = sorted({*range(3, p.bit_length(), 4), *range(32, p.bit_length(), 32), *range(63, p.bit_length(), 64)})
    factors = [*range(1, 5), *(1 << k for k in powers)]
    near = (0, 1, -1)
    found = {(unit * factor + less) % p: None for factor in factors for unit in units for less in near}
    found.update({-residue % p: None for residue in list(found)})
    return list(found)


def _product(elements: Sequence[Element], goal: int, rng: random.Random) -> list[Input] | None:
    """Elements whose values have a product of the residue `goal`; None where there are none."""
    first, p = elements[0], elements[0].field.modulus
    if len(elements) == 1:
        root = square_root(goal, p)
        return None if root is None else _all_or_none([_limbs(first, root, rng)])
    value = rng.choice((first.value_max - rng.randrange(1 << 64), rng.randrange(first.value_max + 1)))
    one = _limbs(first, value % p, rng)
    if one is None or value % p == 0:
        return None
    other = _limbs(elements[1], goal * pow(value, -1, p) % p, rng)
    return _all_or_none([one, other, *(_limbs(each, rng.randrange(p), rng) for each in elements[2:])])


def _all_or_none(found: list[Input | None]) -> list[Input] | None:
    known = [each for each in found if each is not None]
    return known if len(known) == len(found) else None


def _limbs(contract: Element, residue: int, rng: random.Random) -> Input | None:
    """Limbs within the contract of a value with the residue, as large as the contract lets it be or anywhere."""
    p, field = contract.field.modulus, contract.field
    most = contract.value_max // contract.multiple_of
    room = (most - residue) // p
    if room < 0:
        return None
    value = residue + p * rng.choice((room, rng.randrange(room + 1)))
    widths = [*field.limbs[:-1], 64]
    limbs = [value >> at & ((1 << width) - 1) for at, width in zip(field.positions, widths, strict=True)]
    made = tuple(limb * contract.multiple_of for limb in limbs)
    return made if contract.fault(made) is None else None


def square_root(value: int, p: int) -> int | None:
    """A root modulo the prime p by Tonelli and Shanks; None where there is none."""
    value %= p
    if value == 0:
        return 0
    if pow(value, (p - 1) // 2, p) != 1:
        return None
    twos = (p - 1 & 1 - p).bit_length() - 1
    odd = p - 1 >> twos
    other = next(z for z in range(2, p) if pow(z, (p - 1) // 2, p) == p - 1)
    step, root, rest = pow(other, odd, p), pow(value, (odd + 1) // 2, p), pow(value, odd, p)
    while rest != 1:
        order = next(i for i in range(1, twos) if pow(rest, 1 << i, p) == 1)
        by = pow(step, 1 << (twos - order - 1), p)
        root, step, twos = root * by % p, by * by % p, order
        rest = rest * step % p
    return root


def text(value: Input) -> str:
    """An argument for people."""
    if isinstance(value, tuple):
        return "[" + ", ".join(f"{limb:#x}" for limb in value) + "]"
    return value.hex() if isinstance(value, bytes) else hex(value)
