"""Is it the same function? Another routine called on a kernel's contract and judged by what the kernel must equal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from asmgen.contracts import Contract, Element, Parameter, Signature
from asmgen.diff.body import Body
from asmgen.function import Function
from emulate.compare import meaning
from emulate.inputs import BLOCK, Block, Generator, Input
from emulate.machine import Outcome, outputs

Expected = Callable[[Sequence[Any]], tuple[int, ...]]


@dataclass(frozen=True)
class Difference:
    """The first vector for which a routine is not the kernel's function; integers are residues or numbers."""

    index: int
    seed: int
    reason: str
    aliasing: str
    inputs: tuple[tuple[str, Input], ...]
    wanted: tuple[tuple[str, int], ...]
    got: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Sameness:
    """What came of `vectors` calls on edge-biased inputs.

    `wrong` of them gave another residue or number, those with shared buffers among them `shared`. `narrower` says for
    which inputs it is the same all the same. `highest` are the largest limbs of each output that is an element, and
    `beyond` what they exceed of the kernel's promise, in words.
    """

    vectors: int
    wrong: int = 0
    shared: int = 0
    first: Difference | None = None
    narrower: str = ""
    highest: tuple[tuple[str, tuple[int, ...]], ...] = ()
    beyond: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether no vector differs."""
        return self.first is None


def same(kernel: Function, body: Body, vectors: int, seed: int = 1, expected: Expected | None = None) -> Sameness:
    """Call `body` on the kernel's contract; where it differs, on canonical elements too, which any field code takes.

    `expected` stands for the kernel's own, where somebody keeps its results.
    """
    expected = expected or kernel.expected
    found = _judged(expected, body, body.signature, vectors, seed)
    if found.holds:
        return found
    narrow = canonical(body.signature)
    if narrow != body.signature and _judged(expected, body, narrow, vectors, seed).holds:
        return replace(found, narrower="elements below p with proper digits")
    return found


def canonical(signature: Signature) -> Signature:
    """The function on elements below the modulus alone."""

    def narrowed(parameter: Parameter) -> Parameter:
        contract: Contract = parameter.contract
        if isinstance(contract, Element) and contract.multiple_of == 1:
            below = contract.field.below(contract.field.modulus)
            if below.value_max < contract.value_max or below.limb_max != contract.limb_max:
                return Parameter(parameter.name, below)
        return parameter

    return replace(signature, inputs=tuple(map(narrowed, signature.inputs)))


def _judged(expected: Expected, body: Body, signature: Signature, vectors: int, seed: int) -> Sameness:
    machine = replace(body, signature=signature).machine if signature != body.signature else body.machine
    generator = Generator(signature, seed)
    wrong = shared = 0
    first: Difference | None = None
    highest: dict[str, list[int]] = {}
    for start in range(0, vectors, BLOCK):
        block = generator.block(start // BLOCK, min(BLOCK, vectors - start))
        outcome = machine.run(block)
        _raise_highest(highest, signature, outcome)
        for index in range(outcome.done):
            reason, wanted, got = _fault(expected, signature, block, outcome, index)
            if reason:
                wrong += 1
                shared += block.case(index).mode.name != "separate"
                first = first or _difference(signature, block, index, reason, wanted, got)
        if outcome.fault is not None:
            wrong += 1
            shared += block.case(outcome.fault.vector).mode.name != "separate"
            reason = body.explain(outcome.fault)
            first = first or _difference(signature, block, outcome.fault.vector, reason, (), ())
            break
    return Sameness(
        vectors, wrong, shared, first, "",
        tuple((name, tuple(limbs)) for name, limbs in highest.items()), tuple(_beyond(signature, highest)),
    )  # fmt: skip


def _raise_highest(highest: dict[str, list[int]], signature: Signature, outcome: Outcome) -> None:
    for parameter, columns in zip(signature.outputs, outcome.columns, strict=True):
        if isinstance(parameter.contract, Element) and outcome.done:
            most = [max(column) for column in columns]
            old = highest.setdefault(parameter.name, most)
            highest[parameter.name] = [max(pair) for pair in zip(old, most, strict=True)]


def _beyond(signature: Signature, highest: dict[str, list[int]]) -> list[str]:
    """Limbs above the kernel's promise."""
    said = []
    for parameter in signature.outputs:
        contract = parameter.contract
        if not isinstance(contract, Element):
            continue
        for index, (limb, most) in enumerate(zip(highest.get(parameter.name, ()), contract.limb_max, strict=False)):
            if limb > most:
                said.append(
                    f"limb {index} of {parameter.name} reaches {limb:#x}, the kernel promises at most {most:#x}"
                )
    return said


def _fault(
    expected: Expected, signature: Signature, block: Block, outcome: Outcome, index: int
) -> tuple[str, tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]]:
    """What is wrong with a vector, what was wanted, and what came."""
    inputs = block.vector(index)
    values = outputs(signature, outcome, index)
    meant = [meaning(parameter.contract, value) for parameter, value in zip(signature.inputs, inputs, strict=True)]
    wanted = expected(meant)
    names = [parameter.name for parameter in signature.outputs] + ["returned bit"] * signature.returns_bit
    got = [meaning(p.contract, value) for p, value in zip(signature.outputs, values, strict=False)]
    got += [values[-1]] if signature.returns_bit else []
    bad = [name for name, want, have in zip(names, wanted, got, strict=True) if want != have]
    return (
        f"{' and '.join(bad)} differ" if len(bad) > 1 else f"{bad[0]} differs" if bad else "",
        tuple(zip(names, wanted, strict=True)),
        tuple(zip(names, got, strict=True)),
    )


def _difference(
    signature: Signature,
    block: Block,
    index: int,
    reason: str,
    wanted: tuple[tuple[str, int], ...],
    got: tuple[tuple[str, int], ...],
) -> Difference:
    names = [parameter.name for parameter in signature.inputs]
    inputs = tuple(zip(names, block.vector(index), strict=True))
    return Difference(block.start + index, block.seed, reason, block.case(index).name, inputs, wanted, got)
