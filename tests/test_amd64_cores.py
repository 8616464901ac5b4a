"""Tables of amd64 cores: every class of the rows has its cost, and the figures are possible."""

from __future__ import annotations

import pytest

from asmgen.targets.amd64 import ROWS
from asmgen.targets.cores import core, names

CLASSES = {row.cost for row in ROWS.values()}


def test_the_cores() -> None:
    assert names("amd64") == ("generic", "icelake", "skylake", "zen2", "zen3", "zen4", "zen5")


@pytest.mark.parametrize("name", names("amd64"))
def test_every_class_has_its_cost(name: str) -> None:
    table = core(name, "amd64")
    assert (table.name, table.target) == (name, "amd64")
    assert set(table.latency) == set(table.ports) == CLASSES
    assert set(table.busy) <= CLASSES
    for cost in sorted(CLASSES):
        assert 0 <= table.latency[cost] <= 12
        assert all(choice and len(set(choice)) == len(choice) for choice in table.ports[cost])
        if cost not in ("nop", "mov", "zero", "xchg"):
            assert table.ports[cost] and table.latency[cost] >= 1


@pytest.mark.parametrize(
    ("name", "rates"),
    [
        ("zen3", {"alu": 0.25, "imul": 1, "mulx": 1, "mulx_load": 1, "shld": 1.5, "cmov": 0.5, "load": 1 / 3}),
        ("zen5", {"alu": 1 / 6, "imul": 1 / 3, "mulx": 2 / 3, "lea": 1 / 6}),
        ("zen2", {"imul": 1, "mulx": 2, "load": 0.5, "store": 1}),
        ("skylake", {"alu": 0.25, "adc": 0.5, "mulx": 1, "shld": 1, "cmov_two": 1, "load": 0.5, "store": 1}),
        ("icelake", {"alu": 0.25, "adc": 0.5, "store": 0.5, "alu_store": 0.5}),
    ],
)
def test_rates_are_those_known_of_the_core(name: str, rates: dict[str, float]) -> None:
    """Cycles an instruction where only such instructions run: measured on Zen 3 and 5, else LLVM's figures."""
    table = core(name, "amd64")
    assert {cost: table.throughput(cost) for cost in rates} == pytest.approx(rates)


def test_memory_operands_take_the_operation_and_a_load() -> None:
    table = core("skylake", "amd64")
    assert table.ports["adc_load"] == (*table.ports["adc"], *table.ports["load"])
    assert table.ports["adc_store"] == (*table.ports["adc_load"], *table.ports["store"])
    assert core("zen2", "amd64").busy["mulx_load"] == 2
