"""Random walks: a seeded few in every run of the suite, and faults that they find; `measure_meanings.py` does more."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import amd64_states
import amd64_walks
import arm64_states
import arm64_walks
import measure_meanings
import pytest
from click.testing import CliRunner
from walks import Tally

from asmgen.targets import amd64, arm64
from asmgen.targets.row import Outcome

SEED = 20260401


def clean(tally: Tally, rows: int) -> None:
    """Nothing differs, and every row was run."""
    assert not tally.differences, f"seed {SEED}: " + "\n".join(tally.differences[:5])
    assert len(tally.ran) == rows and min(tally.ran.values()) >= 16
    assert tally.total > 20 * sum(tally.ran.values())


def test_amd64_walks_are_the_same_everywhere() -> None:
    found = measure_meanings.batch("amd64", SEED, 0, 60)
    for name, tally in found.items():
        clean(tally, len(amd64.ROWS) - 2)
        assert tally.left_out == 0 or name == "unicorn" and tally.left_out < sum(tally.ran.values()) // 20


def test_arm64_walks_are_the_same_under_unicorn() -> None:
    clean(measure_meanings.batch("arm64", SEED, 0, 80)["unicorn"], len(arm64.ROWS) - 2)


@pytest.mark.parametrize("name", ["adc_rr", "shrd_rri", "mulx_rrm", "jbe_l"])
def test_a_wrong_meaning_of_amd64_is_found(name: str) -> None:
    def wrong(domain, inputs, flags):  # type: ignore[no-untyped-def]
        """One carry lost, one bit turned, or a branch that is taken otherwise."""
        made = amd64.ROWS[name].meaning(domain, inputs, {flag: 0 for flag in flags} if name == "adc_rr" else flags)
        return made if name == "adc_rr" else replace(made, values=(made.values[0] ^ 1, *made.values[1:]))

    def meaning(instruction, state):  # type: ignore[no-untyped-def]
        row = replace(instruction.row, meaning=wrong) if instruction.row.name == name else instruction.row
        return amd64_states.apply(replace(instruction, row=row), state)

    (tally,) = amd64_walks.compare({"unicorn": amd64_walks.EMULATED}, random.Random(SEED), 40, meaning=meaning).values()
    text = amd64.ROWS[name].mnemonic
    assert tally.differences and all(line.startswith(text) for line in tally.differences)


def test_a_wrong_meaning_of_arm64_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    execute = arm64_states.State.execute

    def wrong(state: arm64_states.State, instruction: arm64.Instruction) -> None:
        execute(state, instruction)
        if instruction.row.name == "sbcs":
            state.flags["C"] ^= state.flags["Z"]

    monkeypatch.setattr(arm64_states.State, "execute", wrong)
    tally = arm64_walks.compare(random.Random(SEED), 60)
    assert tally.differences and all(line.startswith("sbcs") for line in tally.differences)


def test_the_command_counts_and_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure_meanings, "WALKS", {"amd64": 20, "arm64": 25})
    monkeypatch.setattr(measure_meanings, "AT_ONCE", 1)
    result = CliRunner().invoke(measure_meanings.main, ["--comparisons", "1", "--rows"])
    assert result.exit_code == 0, result.output
    assert "amd64, unicorn: " in result.output and "; none different" in result.output
    assert "  madd: " in result.output
    made = Tally(Counter(adc=9), Counter(adc=1), ["x is 1, not 0"])
    monkeypatch.setattr(measure_meanings, "batch", lambda *job: {"unicorn": made})
    result = CliRunner().invoke(measure_meanings.main, ["--comparisons", "1"])
    assert result.exit_code == 1 and "DIFFERENT: x is 1, not 0" in result.output


def test_outcomes_are_compared_flag_by_flag() -> None:
    """A flag that is wrong alone is found: neither registers nor memory say anything of it."""

    def meaning(instruction, state):  # type: ignore[no-untyped-def]
        after, outcome = amd64_states.apply(instruction, state)
        if instruction.row.name == "neg_r":
            after.flags["OF"] ^= 1
        return after, Outcome(outcome.values)

    (tally,) = amd64_walks.compare({"unicorn": amd64_walks.EMULATED}, random.Random(SEED), 40, meaning=meaning).values()
    assert tally.differences and all(line.startswith("neg") and ": OF is" in line for line in tally.differences)
