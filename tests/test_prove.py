"""Proofs of kernels that asmgen makes, and refusals of what is wrong or claims too much."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from asmgen.contracts import Contract, Element, Parameter, Signature
from asmgen.function import Function
from asmgen.kernel import Kernel
from asmgen.passes import Options
from asmgen.prove import NotProved, Proved, Refuted, Routine, prove
from asmgen.prove.command import Wish, answer, routine
from asmgen.prove.counterexample import machine_of
from asmgen.prove.decode import decode
from asmgen.prove.entry import Entry, enter
from asmgen.prove.flow import Flow
from asmgen.prove.run import Path as Path_
from asmgen.prove.run import Runner
from asmgen.scripts import find
from emulate.aliasing import modes

HERE = Path(__file__).parent / "proofs"
TARGETS = ("amd64", "arm64")


def kernels(name: str) -> list[Function]:
    return [kernel for kernel in find([str(HERE / f"{name}.py")]) if isinstance(kernel, Kernel)]


@pytest.mark.parametrize(("script", "target"), [("montgomery", "amd64"), ("folded", "arm64")])
def test_kernels_are_proved(script: str, target: str) -> None:
    for kernel in kernels(script):
        answer = prove(routine(kernel, Options(target)), budget=30)
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
    answer = prove(claimed(kernel, target, change), budget=1)
    assert isinstance(answer, NotProved), answer
    assert isinstance(prove(claimed(kernel, target, lambda contract, output: contract)), Proved)


@pytest.mark.parametrize("target", TARGETS)
def test_a_carry_that_is_almost_never_lost_is_found(target: str) -> None:
    """The second fold's carry of secp256k1: no random and no edge vector shows it, an input solved for does."""
    (kernel,) = kernels("dropped")
    found = answer(routine(kernel, Options(target)), Wish())
    assert isinstance(found, Refuted), found
    assert "modulo p" in found.reason and len(found.inputs) == 2


@pytest.mark.parametrize("target", TARGETS)
def test_polynomials_are_what_the_emulator_computes(target: str) -> None:
    """Every output word of a followed path, evaluated on random inputs, beside the emulated code's."""
    seed = 20260401
    rng = random.Random(seed)
    for name in ("curve25519_5x51.mul", "p256.add", "p448_8x56.mul_small", "curve25519_4x64.sub"):
        (kernel,) = find([name])
        made = routine(kernel, Options(target))
        entry = enter(kernel.signature, made.convention, modes(kernel.signature)[0], {})
        runner = Runner(Flow(decode(target, made.code)), float("inf"), patient=True)
        (path,) = runner.follow(Path_(entry, 0), unroll=True)
        machine = machine_of(made)
        for _ in range(50):
            inputs = tuple(_random(each.contract, rng) for each in kernel.signature.inputs)
            assert list(machine.call(inputs)[0]) == _evaluated(path.entry, inputs), f"{name}, seed {seed}"


def _random(contract: Contract, rng: random.Random) -> tuple[int, ...] | int:
    if not isinstance(contract, Element):
        return rng.randrange(contract.value_max + 1)  # type: ignore[union-attr]
    while True:
        limbs = tuple(rng.choice((0, most, rng.randrange(most + 1))) for most in contract.limb_max)
        if contract.fault(limbs) is None:
            return limbs


def _evaluated(entry: Entry, inputs: Sequence[tuple[int, ...] | int]) -> list[int]:
    """The words of the output when the inputs have these values."""
    values: dict[int, int] = {}
    for given, value in zip(entry.inputs.values(), inputs, strict=True):
        words = value if isinstance(value, tuple) else (value,)
        total = given.contract.value(words) if isinstance(given.contract, Element) else value
        for word, number in zip(given.words, words, strict=True):
            if len(word) == 1 and word.coefficients == (1,):
                values.setdefault(word.atoms[0], number)
        first = given.value.atoms[0]
        if len(given.value) == 1:
            assert isinstance(total, int)
            values[first] = total
    atoms = dict.fromkeys(range(len(entry.space._atoms)), 0) | values
    known = entry.space.assignment(atoms)
    output = entry.signature.outputs[0]
    return [entry.domain.norm(word).evaluate(known) for word in entry.output(output)]


def test_an_argument_names_equations_lost_carries_and_what_cancels() -> None:
    (kernel,) = find(["curve25519_4x64.mul"])
    answer = prove(routine(kernel, Options("arm64")), explained=True)
    assert isinstance(answer, Proved)
    text = "\n".join(answer.argument)
    assert "umulh x13, x8, x10" in text and "a0*b0 = t" in text
    assert "nothing above 2^64, it lies in [0, 2^64 - 2]" in text
    assert "out less what is wanted is p times" in text and "all cancel" in text
    plain = prove(routine(kernel, Options("arm64")))
    assert isinstance(plain, Proved) and len(plain.argument) < 10
