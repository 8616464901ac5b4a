"""Cost tables: complete for every row, found by name, and as llvm-mca has them where it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from asmgen.errors import AsmgenError
from asmgen.targets import amd64, arm64
from asmgen.targets.cores import core, names

ROWS = {"amd64": amd64.ROWS, "arm64": arm64.ROWS}
CORES = [(target, name) for target in ROWS for name in names(target)]

#: Instructions of each arm64 class: one to copy, where 0 in its first operand is renamed so that copies do not depend
#: on each other, and one that depends on its own result; none where there is no such thing, as with the copies of
#: what moves sp.
SHOWN = {
    "alu": ("add x0, x1, x2", "add x0, x0, x1"), "flags": ("adds x0, x1, x2", "adds x0, x0, x1"),
    "carry": ("adc x0, x1, x2", "adc x0, x0, x1"), "carry_flags": ("", "adcs x0, x1, x2"),
    "shifted": ("add x0, x1, x2, lsl #13", "add x0, x1, x0, lsl #13"),
    "logic_shifted": ("eor x0, x1, x2, lsr #13", "eor x0, x1, x0, lsr #13"),
    "logic_flags": ("ands x0, x1, x2", "ands x0, x0, x1"), "select": ("csel x0, x1, x2, eq", "csel x0, x0, x1, eq"),
    "ccmp": ("", "ccmp x0, x1, #0, eq"), "move": ("mov x0, x1", ""), "constant": ("movz x0, #1", ""),
    "shift": ("lsr x0, x1, #3", "lsr x0, x0, #3"), "insert": ("bfi x0, x1, #3, #4", "bfi x0, x1, #3, #4"),
    "ror": ("ror x0, x1, #3", "ror x0, x0, #3"), "extract": ("extr x0, x1, x2, #3", "extr x0, x1, x0, #3"),
    "count": ("clz x0, x1", "clz x0, x0"), "mul": ("mul x0, x1, x2", "mul x0, x0, x1"),
    "mulh": ("umulh x0, x1, x2", "umulh x0, x0, x1"), "madd": ("madd x0, x1, x2, x3", "madd x0, x0, x1, x2"),
    "mull": ("umull x0, w1, w2", "umull x0, w0, w1"), "maddl": ("umaddl x0, w1, w2, x3", "umaddl x0, w0, w1, x2"),
    "load": ("ldr x0, [x1]", "ldr x0, [x0]"), "load_pair": ("ldp x0, x5, [x1]", "ldp x0, x5, [x0]"),
    "store": ("str x0, [x1]", ""), "store_pair": ("stp x0, x5, [x1]", ""), "branch": ("cbz x0, .", ""),
    "ret": ("ret", ""), "call": ("", ""), "pac": ("", ""), "nop": ("", ""),
    "load_moving": ("", ""), "load_pair_moving": ("", ""), "store_moving": ("", ""), "store_pair_moving": ("", ""),
}  # fmt: skip

#: Where the tables have Arm's figure, or a field's chain is shorter than a cycle in LLVM's model.
APART = {("neoverse-n1", "mulh", 0), ("cortex-a53", "shift", 1), ("cortex-a53", "insert", 1)}

MCA = shutil.which("llvm-mca-19")  # the tables follow this version


@pytest.mark.parametrize(("target", "name"), CORES)
def test_every_cost_class_has_its_figures(target: str, name: str) -> None:
    found = core(name, target)
    classes = {row.cost for row in ROWS[target].values()}
    assert (found.name, found.target) == (name, target)
    assert classes <= set(found.latency) and classes <= set(found.ports)
    assert found.issue_width > 0 and all(cycles >= 0 for cycles in found.latency.values())
    assert set(found.busy) | set(found.addend) <= set(found.latency)


def test_arm64_tables_name_no_class_that_no_row_has() -> None:
    classes = {row.cost for row in arm64.ROWS.values()}
    for name in names("arm64"):
        found = core(name, "arm64")
        assert set(found.latency) == set(found.ports) == classes


def test_unknown_cores_are_answered_with_the_nearest() -> None:
    with pytest.raises(
        AsmgenError, match=r"(?s)no table of costs for the arm64 core neoverse-v3.*did you mean neoverse-v"
    ):
        core("neoverse-v3", "arm64")
    with pytest.raises(AsmgenError, match=r"(?s)core 486.*one of cortex-a53, cortex-a55, generic"):
        core("486", "arm64")
    with pytest.raises(AsmgenError, match="amd64 or arm64"):
        core("generic", "mips")
    assert core("generic", "arm64").target == "arm64"


def test_throughput_counts_shared_ports() -> None:
    n1 = core("neoverse-n1", "arm64")
    assert n1.throughput("mul") == 3 and n1.throughput("load_pair") == 1 and n1.throughput("nop") == 0
    assert n1.throughput("alu") == pytest.approx(1 / 3)


@pytest.mark.skipif(MCA is None, reason="no llvm-mca-19 on this machine")
@pytest.mark.parametrize("name", [name for name in names("arm64") if name != "generic"])
def test_figures_are_those_of_llvm_mca(name: str) -> None:
    """Two regions a class, copies and a chain, all in one call; the first and last cycles of 100 passes are the
    tolerance."""
    found = core(name, "arm64")
    assert set(SHOWN) == set(found.latency)
    regions, wanted = [], []
    for cost, (copied, chained) in SHOWN.items():
        copies = [re.sub(r"(?<=[xw])0\b", str(6 + i), copied) for i in range(12) if copied]
        for i, (lines, cycles) in enumerate(((copies, found.throughput(cost)), ([chained] * 12, found.latency[cost]))):
            if lines and lines[0] and found.ports[cost]:
                regions += ["# LLVM-MCA-BEGIN", *lines, "# LLVM-MCA-END"]
                wanted.append((cost, i, cycles))
    options = ["-mtriple=aarch64", f"-mcpu={name}", "--iterations=100", "--instruction-info=0", "--resource-pressure=0"]
    run = subprocess.run([str(MCA), *options], input="\n".join(regions) + "\n", capture_output=True, text=True)
    measured = [int(cycles) / 1200 for cycles in re.findall(r"Total Cycles:\s+(\d+)", run.stdout)]
    wrong = [
        f"{('throughput', 'latency')[i]} of {cost}: {cycles:.2f}, llvm-mca {theirs:.2f}"
        for (cost, i, cycles), theirs in zip(wanted, measured, strict=True)
        if abs(cycles - theirs) > 0.06 and (name, cost, i) not in APART
    ]
    assert not wrong
