"""Faults in finished code: none that emulation refutes is proved.

The longer run, 25 mutants of every shipped routine, is `python -m pytest tests/test_prove_mutants.py
--all-proof-mutants`; it takes hours of one core.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path

import measure_proof_mutants
import pytest
from click.testing import CliRunner

from asmgen.function import Function
from asmgen.link import routines
from asmgen.passes import Options
from asmgen.prove import Proved, prove
from asmgen.prove.command import code_routine
from asmgen.routine import Code
from asmgen.scripts import find
from emulate.mutants import Mutant, mutants
from emulate.mutation import Routine, judged

SEED = 20260401
TARGETS = ("amd64", "arm64")
VECTORS = 2000  #: for each mutant that is proved

#: Routines with 16 mutants each, 512 in all.
KERNELS = {
    "curve25519_5x51": ("add", "mul", "mul_small", "neg", "select", "sub"),
    "p256": ("add", "canon", "select"),
    "secp256k1_4x64": ("add", "canon", "neg"),
    "curve25519_4x64": ("either", "select", "swap"),
    "p448_8x56": ("add",),
}
COUNT = 16
BUDGET = 0.5  #: seconds of the processor a mutant
NAMES = [f"{script}.{kernel}" for script, kernels in KERNELS.items() for kernel in kernels]


@cache
def codes(name: str, target: str) -> tuple[Function, tuple[Code, ...]]:
    (kernel,) = find([name])
    return kernel, tuple(routines(kernel, Options(target)))


def refused(name: str, target: str, mutant: Mutant) -> None:
    """The mutant is not proved, or does what the routine does."""
    kernel, (code, *others) = codes(name, target)
    answer = prove(code_routine(kernel, replace(code, items=mutant.items), others), budget=BUDGET)
    if isinstance(answer, Proved):
        _, reason = judged(Routine(kernel, (code, *others)), mutant, VECTORS, SEED)
        assert reason is None, f"{name} on {target} is proved with {mutant.description}, but: {reason} (seed {SEED})"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", NAMES)
def test_no_wrong_mutant_is_proved(name: str, target: str) -> None:
    _, (code, *_) = codes(name, target)
    for mutant in islice(mutants(code, random.Random(f"{SEED} {name} {target}")), COUNT):
        refused(name, target, mutant)


def test_the_measure_counts_and_does_nothing_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = tmp_path / "mutants.jsonl"
    words = ["p256.neg", "p256.is_zero", "--each", "7", "--vectors", "2000", "--state", str(state), "--processes", "1"]
    first = CliRunner().invoke(measure_proof_mutants.main, words)
    assert first.exit_code == 0, first.output
    assert "42 mutants, 0 wrong ones proved" in first.output
    assert "same term for term: p256.is_zero " in first.output
    lines = [json.loads(line) for line in state.read_text().splitlines()]
    assert len(lines) == 42 and {line["answer"] for line in lines} <= set(measure_proof_mutants.ANSWERS)
    monkeypatch.setattr(measure_proof_mutants, "tried", lambda *given: pytest.fail("it was done already"))
    again = CliRunner().invoke(measure_proof_mutants.main, words)
    assert (again.exit_code, again.output) == (0, first.output) and len(state.read_text().splitlines()) == 42
    wrong = json.dumps(lines[0] | {"answer": "wrong and proved"})
    state.write_text("\n".join([wrong, *state.read_text().splitlines()[1:]]) + "\n")
    assert CliRunner().invoke(measure_proof_mutants.main, words).exit_code == 1


@pytest.mark.parametrize("target", TARGETS)
def test_no_wrong_mutant_of_any_shipped_routine_is_proved(target: str, request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--all-proof-mutants"):
        pytest.skip("--all-proof-mutants runs it")
    for kernel in find([]):
        name = f"{kernel.signature.script}.{kernel.name}"
        _, (code, *_) = codes(name, target)
        for mutant in islice(mutants(code, random.Random(f"{SEED} {name} {target}")), 25):
            refused(name, target, mutant)
