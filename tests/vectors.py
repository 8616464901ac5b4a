"""Vectors with a reason, tests/vectors/<script>.json: operands where field arithmetic is known to go wrong.

Each gives an operation, its inputs and the result modulo p. Inputs are residues; with `raw` they and the result are
words as they stand, in Montgomery form; `limbs` are given where it matters how the value is spread over limbs.

    python tests/vectors.py COLLECTION FIELD SCRIPT REPRESENTATION...

takes those of a field out of a larger collection, with limbs where they are those of the given representations.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from asmgen.contracts import CountContract, Element, Parameter
from asmgen.function import Function
from asmgen.passes import Options
from asmgen.scripts import load
from emulate.aliasing import cases
from emulate.campaign import job
from emulate.compare import judge
from emulate.inputs import Input
from emulate.machine import Machine, Outputs

FOLDER = Path(__file__).parent / "vectors"
#: The kernel that does an operation, where it has another name; in a field without Montgomery form nothing is raw.
KERNELS = {"mont_mul": "mul", "mont_sqr": "sqr", "mont_invert": "invert"}
#: Operations between residues and their Montgomery form, or on values as they stand.
AS_THEY_STAND = ("to_mont", "from_mont", "canon")


@dataclass(frozen=True)
class Vector:
    """`op` of `inputs` is `expected` modulo p; `n` is the count of square_n."""

    id: str
    op: str
    inputs: tuple[int, ...]
    expected: int
    limbs: tuple[tuple[int, ...], ...] = ()
    n: int | None = None
    raw: bool = False


@dataclass(frozen=True)
class Call:
    """A vector as a call of a kernel: `inputs` in script order; the value of the output is `wanted` modulo p."""

    vector: Vector
    kernel: Function
    inputs: tuple[Input, ...]
    wanted: int

    def faults(self, outputs: Outputs) -> list[str]:
        """What is wrong with what the kernel gave."""
        contract, out = self.kernel.signature.outputs[0].contract, outputs[0]
        assert isinstance(contract, Element) and isinstance(out, tuple)
        found = judge(self.kernel, self.inputs, outputs)
        p = contract.field.modulus
        value = contract.value(out) if contract.value_max < p else contract.value(out) % p
        return found if value == self.wanted % p else [*found, f"the value is {value:#x}, wanted is {self.wanted:#x}"]


def vectors(script: str) -> list[Vector]:
    """The vectors of a script's field."""
    found = []
    for entry in json.loads((FOLDER / f"{script}.json").read_text()):
        inputs, expected = tuple(int(text, 16) for text in entry["inputs"]), int(entry["expected"], 16)
        limbs = tuple(tuple(int(text, 16) for text in words) for words in entry.get("limbs", ()))
        found.append(Vector(entry["id"], entry["op"], inputs, expected, limbs, entry.get("n"), entry.get("raw", False)))
    return found


def calls(script: str) -> Iterator[Call]:
    """Those vectors whose operation the script has and whose inputs keep its contract."""
    kernels = load(script).kernels
    for vector in vectors(script):
        kernel = kernels.get(KERNELS.get(vector.op, vector.op))
        made = None if kernel is None else _call(vector, kernel)
        if made is not None:
            yield made


def _call(vector: Vector, kernel: Function) -> Call | None:
    given: list[Input] = []
    for index, parameter in enumerate(kernel.signature.inputs):
        if isinstance(parameter.contract, CountContract):
            given.append(vector.n or 0)
            continue
        limbs = _limbs(vector, index, parameter)
        if limbs is None:
            return None
        given.append(limbs)
    out = kernel.signature.outputs[0].contract
    assert isinstance(out, Element)
    return Call(vector, kernel, tuple(given), vector.expected * _scale(vector, out) % out.field.modulus)


def _limbs(vector: Vector, index: int, parameter: Parameter) -> tuple[int, ...] | None:
    """The limbs of an input, None where they break the contract."""
    contract = parameter.contract
    assert isinstance(contract, Element)
    field, scale, value = contract.field, _scale(vector, contract), vector.inputs[index]
    if vector.limbs:
        limbs = list(vector.limbs[index])
    elif value >= 1 << field.positions[-1] + 64 or (scale != 1 and value >= field.modulus):
        return None
    else:
        limbs = [int(limb) for limb in field.limbs_of(value if scale == 1 else value * scale % field.modulus)]
    fits = len(limbs) == contract.words and contract.fault(limbs) is None
    return tuple(limbs) if fits else None


def _scale(vector: Vector, contract: Element) -> int:
    """What leads from the vector's numbers to values of an element."""
    return 1 if vector.raw or vector.op in AS_THEY_STAND else contract.field.montgomery or 1


@cache
def machine(kernel: Function, target: str, features: str = "default") -> Machine:
    """The kernel's routine in an emulator."""
    made = job(kernel, Options(target, features))
    return Machine(target, made.code, made.entry, kernel.signature, made.features, stack=made.stack)


def emulated(
    kernel: Function, inputs: tuple[Input, ...], target: str, features: str = "default"
) -> Iterator[tuple[str, Outputs]]:
    """A call's outputs in every way to share buffers that these inputs allow, with the way in words."""
    signature = kernel.signature
    outputs = sum(parameter.by_pointer for parameter in signature.outputs)
    pointed = [value for parameter, value in zip(signature.inputs, inputs, strict=True) if parameter.by_pointer]
    for number, case in enumerate(cases(signature)):
        slots = case.mode.slots[outputs:]
        if all(pointed[slots.index(slot)] == value for slot, value in zip(slots, pointed, strict=True)):
            yield case.name, machine(kernel, target, features).call(inputs, number)


def _taken(
    collection: list[dict[str, Any]], field: str, representations: list[str], montgomery: bool
) -> Iterator[dict[str, Any]]:
    """The entries about a field in the form of our files; those in Montgomery form for scripts in that form alone."""
    for entry in collection:
        limbs = entry["input_limbs"] if entry["repr"] in representations else None
        if entry["field"] != field or (entry["mont_R_hex"] and not montgomery):
            continue
        made = {"id": entry["id"], "op": entry["op"], "inputs": entry["inputs"], "expected": entry["expected_hex"]}
        made |= {} if limbs is None else {"limbs": limbs}
        made |= {} if entry["n"] is None else {"n": entry["n"]}
        made |= {"raw": True} if entry["domain"] == "montgomery" else {}
        yield made


if __name__ == "__main__":
    source, name, script, *forms = sys.argv[1:]
    element = load(script).kernels["mul"].signature.outputs[0].contract
    assert isinstance(element, Element)
    in_form = element.field.montgomery is not None
    entries = _taken(json.loads(Path(source).read_text())["vectors"], name, forms, in_form)
    lines = ",\n".join(f"  {json.dumps(entry)}" for entry in entries)
    (FOLDER / f"{script}.json").write_text(f"[\n{lines}\n]\n")
