"""Proofs of kernels that asmgen makes, and refusals of what is wrong or claims too much."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from asmgen.contracts import Element, Parameter, Signature
from asmgen.function import Function
from asmgen.kernel import Kernel
from asmgen.passes import Options
from asmgen.prove import NotProved, Proved, Routine, prove
from asmgen.prove.command import routine
from asmgen.scripts import find

HERE = Path(__file__).parent / "proofs"
TARGETS = ("amd64", "arm64")


def kernels(name: str) -> list[Function]:
    return [kernel for kernel in find([str(HERE / f"{name}.py")]) if isinstance(kernel, Kernel)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("script", ["montgomery", "folded"])
def test_kernels_are_proved(script: str, target: str) -> None:
    for kernel in kernels(script):
        answer = prove(routine(kernel, Options(target)), budget=60)
        assert isinstance(answer, Proved), (kernel.name, answer)


class Claim:
    """A kernel with another contract than its own."""

    def __init__(self, kernel: Function, signature: Signature) -> None:
        self.signature = signature
        self.meaning = kernel.meaning
        self.results = tuple(parameter.contract for parameter in signature.outputs)
        field = signature.outputs[0].contract.field  # type: ignore[union-attr]
        self.modulus = field.modulus
        self.expected = kernel.expected


def claimed(kernel: Function, target: str, change: object) -> Routine:
    """The kernel's routine under a changed contract: `change` maps each element's contract to another."""

    def changed(parameter: Parameter, output: bool) -> Parameter:
        contract = parameter.contract
        assert isinstance(contract, Element)
        return replace(parameter, contract=change(contract, output))  # type: ignore[operator]

    made, old = routine(kernel, Options(target)), kernel.signature
    signature = replace(
        old,
        outputs=tuple(changed(parameter, True) for parameter in old.outputs),
        inputs=tuple(changed(parameter, False) for parameter in old.inputs),
    )
    return replace(made, kernel=Claim(kernel, signature))


def bound_too_tight(contract: Element, output: bool) -> Element:
    return replace(contract, value_max=contract.value_max - 1) if output else contract


def input_too_wide(contract: Element, output: bool) -> Element:
    return contract if output else contract.field.below(2**256)


def wrong_modulus(contract: Element, output: bool) -> Element:
    return replace(contract, field=replace(contract.field, modulus=contract.field.modulus + 2))


def wrong_scale(contract: Element, output: bool) -> Element:
    return replace(contract, field=replace(contract.field, montgomery=2**255))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("change", [bound_too_tight, input_too_wide, wrong_modulus, wrong_scale])
def test_false_claims_are_not_proved(change: object, target: str) -> None:
    (kernel,) = find([str(HERE / "montgomery.py") + ":sqr_p"])
    answer = prove(claimed(kernel, target, change))
    assert isinstance(answer, NotProved), answer
    assert isinstance(prove(claimed(kernel, target, lambda contract, output: contract)), Proved)
