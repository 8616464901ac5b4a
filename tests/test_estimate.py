"""asmgen.passes.estimate: chains wait, independent work does not, and no core issues more than it can."""

from __future__ import annotations

import pytest

from asmgen.contracts import Signature
from asmgen.passes.estimate import cycles
from asmgen.routine import Code, Item
from asmgen.targets import arm64
from asmgen.targets.cores import core
from asmgen.targets.row import Label

R = arm64.REGISTERS
NOTHING = Signature("s", "f", (), ())


def time(*items: Item, name: str = "generic") -> int:
    return cycles(Code(NOTHING, "arm64", items), core(name, "arm64"))


def mul(into: int, x: int, y: int) -> Item:
    return arm64.ins("mul", R[f"x{into}"], R[f"x{x}"], R[f"x{y}"])


@pytest.mark.parametrize("name", ["generic", "cortex-a53", "neoverse-v2"])
def test_a_chain_takes_its_latencies(name: str) -> None:
    one = time(mul(0, 1, 2), name=name)
    assert one == core(name, "arm64").latency["mul"]
    assert [time(*[mul(0, 0, 2)] * count, name=name) for count in (2, 5)] == [2 * one, 5 * one]


def test_independent_work_is_done_side_by_side() -> None:
    chosen = core("generic", "arm64")
    items = [mul(at, 20, 21) for at in range(8)]
    assert time(*items) == chosen.latency["mul"] + (len(items) - 1) // chosen.issue_width
    assert time(*items) < time(*[mul(0, 0, 2)] * 8)


def test_flags_are_waited_for() -> None:
    adds = arm64.ins("adds", R["x0"], R["x1"], R["x2"])
    alone, reader = (arm64.ins(name, R["x3"], R["x4"], R["x5"]) for name in ("add", "adc"))
    assert time(adds, reader) > time(adds, alone)


def test_labels_cost_nothing_and_nothing_costs_nothing() -> None:
    assert time() == time(Label("here")) == 0
    assert time(mul(0, 1, 2), Label("here")) == time(mul(0, 1, 2))
