"""Programs are proved by the contracts of what they call; residues with powers of any size."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from asmgen.link import routines
from asmgen.passes import Options
from asmgen.prove import NotProved, Proved, Refuted, prove
from asmgen.prove.command import Wish, answer, answers, code_routine, composed, routine
from asmgen.prove.powers import Case, NeedsParity, NeedsUnknowns, Residue
from asmgen.scripts import find
from asmgen.targets.row import Instruction

CALLS = Path(__file__).parent / "proofs" / "calls.py"
TARGETS = ("amd64", "arm64")
SEED = 20260401


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["invert", "sqrt"])
def test_programs_are_proved(name: str, target: str) -> None:
    (kernel,) = find([f"{CALLS}:{name}"])
    found = prove(routine(kernel, Options(target)))
    assert isinstance(found, Proved), found
    assert any("keeps its contract: calls_" in line for line in found.assumptions)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["wrong_power", "wrong_bit"])
def test_programs_that_do_something_else_are_refuted(name: str, target: str) -> None:
    (kernel,) = find([f"{CALLS}:{name}"])
    found = answer(routine(kernel, Options(target)), Wish())
    assert isinstance(found, Refuted), found
    assert found.inputs and found.got != found.wanted


@pytest.mark.parametrize("name", ["sqrt_ratio", "ladder_step"])
def test_shipped_programs_are_proved(name: str) -> None:
    (kernel,) = find([f"curve25519_5x51.{name}"])
    assert isinstance(prove(routine(kernel, Options("arm64"))), Proved)


def test_what_calls_the_unproved_is_not_proved() -> None:
    program, callee = (routine(*find([f"{CALLS}:{name}"]), Options("amd64")) for name in ("invert", "mul"))
    wish = Wish(counterexamples=False)
    ((_, alone),) = composed(list(zip([program], answers([program], wish), strict=True)))
    assert isinstance(alone, NotProved) and "is not proved" in alone.reason
    assert callee.kernel.signature.symbol in alone.reason or "calls_" in alone.reason


def test_residues_are_what_integers_are() -> None:
    """Random expressions with long exponents against integers, in the case that the values are in."""
    rng, p = random.Random(SEED), 2**255 - 19
    for _ in range(60):
        values = {name: rng.choice((0, 1, p - 1, rng.randrange(p))) for name in "xy"}
        known = {name: pow(value, (p - 1) // 4, p) for name, value in values.items()}
        for case in (Case(p), Case(p, known)):
            made: Residue = Residue(case, {(): 1})
            wanted = 1
            for _ in range(5):
                name, exponent = rng.choice("xy"), rng.choice((1, 2, (p - 1) // 4, (p + 3) // 8, p - 2))
                made, wanted = (
                    made * Residue.unknown(case, name) ** exponent,
                    wanted * pow(values[name], exponent, p) % p,
                )
            made, wanted = made * made - 3 * made + 5, (wanted * wanted - 3 * wanted + 5) % p
            got = sum(c * _product([pow(values[name], e, p) for name, e in powers]) for powers, c in made.terms.items())
            assert got % p == wanted, f"seed {SEED}"


def _product(values: list[int]) -> int:
    made = 1
    for value in values:
        made *= value
    return made


def test_residues_do_not_guess() -> None:
    case = Case(2**61 - 1)
    x = Residue.unknown(case, "x")
    with pytest.raises(NeedsUnknowns):
        bool(x == 0)
    known = Residue.unknown(Case(2**61 - 1, {"x": 1}), "x")
    assert known != 0
    with pytest.raises(NeedsParity):
        known % 2
    assert not x.same(-x) and x.same(x * 1)


def test_a_signature_is_taken_off_where_it_was_put_on() -> None:
    (kernel,) = find([f"{CALLS}:invert"])
    code, *others = routines(kernel, Options("arm64"))
    rows = {at: item.row for at, item in enumerate(code.items) if isinstance(item, Instruction)}
    place = next(at for at, row in rows.items() if row.name == "autiasp")
    load = max(at for at, row in rows.items() if row.mnemonic == "ldp")
    items = list(code.items)
    items.insert(load, items.pop(place))
    found = prove(code_routine(kernel, replace(code, items=tuple(items)), others))
    assert isinstance(found, NotProved) and "to check" in found.reason
