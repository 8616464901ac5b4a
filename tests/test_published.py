"""Chains of shipped programs beside the shortest published ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from calculator import lacking
from click.testing import CliRunner
from compilers import runner
from measure_chains import measured

from asmgen.chain_text import raised
from asmgen.chains import best
from asmgen.cli import main
from asmgen.program import Program
from asmgen.published import published
from asmgen.scripts import find

KNOWN = {one.exponent: one for one in published()}


def test_no_shipped_power_is_longer_than_the_best_published() -> None:
    """invert and pow22523 of every script, counted in the program itself."""
    powers = [each for each in find([]) if isinstance(each, Program) and each.name in ("invert", "pow22523")]
    assert len(powers) == 12
    for program in powers:
        exponent, squarings, multiplications = raised(program)
        assert squarings + multiplications <= KNOWN[exponent].length, program.name


def test_nor_are_those_inside_other_programs() -> None:
    for one in published():
        chain = best(one.exponent)
        assert chain.squarings + chain.multiplications <= one.length, one.name
        assert chain.exponents()[-1] == one.exponent


def test_the_command() -> None:
    done = CliRunner().invoke(main, ["chain"])
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert lines[0].split() == ["exponent", "squarings", "multiplications", "in", "all", "published", "by"]
    assert len(lines) == 1 + len(KNOWN)
    order = next(line for line in lines if line.startswith("P-256 order - 2"))
    assert order.split()[4:8] == ["256", "35", "291", "292"]


def test_the_measurement(tmp_path: Path) -> None:
    """tests/measure_chains.py: all four ways give the same inverse, or the program says so."""
    if runner("amd64") or lacking():
        pytest.skip("no amd64 machine with BMI2 and ADX here")
    times = measured("p256", tmp_path, rounds=3)
    assert len(times) == 4 and all(300 < time < 10**7 for time in times)
