"""Plans: replayed to the same bytes by every build, left out with a warning when stale, refused when broken."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path

import pytest

from asmgen.build import build, check
from asmgen.errors import AsmgenError
from asmgen.function import Function
from asmgen.passes import Options, compile_kernel, compile_stages, plans, seeded
from asmgen.passes.arrange import arranged, arrangement
from asmgen.passes.plans import Seed, StalePlan
from asmgen.passes.schedule import Freedom
from asmgen.scripts import load
from asmgen.targets.assemble import assemble

SCRIPT = '''"""A small field."""
from asmgen import Field, kernel

fe = Field("toy", 2**61 - 1, limbs=[61])
loose = fe.limbs_below(2**62)


@kernel
def mul(a: loose, b: loose) -> fe.limbs_below(2**63):
    low, high = (a[0] * b[0]).split(61)
    low, more = low.split(61)
    return [low + high.split(61)[0] + more + high.split(61)[1]]


@kernel
def add(a: loose, b: loose) -> fe.limbs_below(2**63):
    return [a[0] + b[0]]
'''
SEED = Seed((), plans.GENERIC, Freedom(6, 11))


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "toy.py"
    path.write_text(SCRIPT)
    return path


def mul(script: Path) -> Function:
    return load(script).kernels["mul"]


def planned(script: Path, target: str = "amd64") -> Path:
    """A plan whose order is another one than that of the default schedule."""
    kernel = mul(script)
    made = seeded(kernel, Options(target), SEED).allocate  # type: ignore[arg-type]
    assert made is not None
    before = arrangement(made)
    (line,) = before.lines
    for at in range(len(line) - 1):
        order = list(range(len(line)))
        order[at : at + 2] = order[at + 1], order[at]
        try:
            arranged(before, [order])
        except AsmgenError:
            continue
        file = plans.path(kernel, target, "default", plans.GENERIC)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(plans.text(plans.plan_of(before, [order], SEED, {"by": "a test"})))
        return file
    raise AssertionError("no two instructions can be exchanged")


@pytest.mark.parametrize("target", ["amd64", "arm64"])
def test_the_same_plan_gives_the_same_bytes_which_are_others_than_without(script: Path, target: str) -> None:
    default = compile_stages(mul(script), Options(target))
    planned(script, target)
    first, again = (compile_stages(mul(script), Options(target)) for _ in range(2))
    assert first.frame == again.frame
    assert assemble(first.frame.items).code != assemble(default.frame.items).code
    assert first.arrange != first.allocate and default.arrange == default.allocate
    assert compile_kernel(mul(script), Options(target)).items == first.frame.items, "what was kept was taken"
    assert compile_kernel(mul(script), Options(target, planned=False)).items == default.frame.items


def test_a_plan_reads_as_it_was_written(script: Path) -> None:
    file = planned(script)
    assert plans.text(plans.read(file)) == file.read_text()
    assert plans.read(file).found == {"by": "a test"}


def test_a_core_has_its_own_plan_and_else_the_generic_one(script: Path) -> None:
    file = planned(script)
    kernel = mul(script)
    assert plans.place(kernel, "amd64", "default", "zen4") == file
    own = plans.path(kernel, "amd64", "default", "zen4")
    own.parent.mkdir()
    shutil.copy(file, own)
    assert plans.place(kernel, "amd64", "default", "zen4") == own
    assert plans.place(kernel, "amd64", "base", "zen4") is None
    assert plans.place(kernel, "arm64", "default", "generic") is None


def test_a_plan_of_another_routine_warns_and_the_default_is_used(script: Path) -> None:
    planned(script)
    script.write_text(SCRIPT.replace("low + high", "high.split(61)[1] + high"))
    default = compile_stages(mul(script), Options("amd64", planned=False))
    with pytest.warns(StalePlan, match="toy.mul.json does not fit: it is of another routine"):
        made = compile_stages(mul(script), Options("amd64"))
    assert made.frame == default.frame


def test_build_check_does_not_take_a_plan_that_does_not_fit(script: Path, tmp_path: Path) -> None:
    file = planned(script)
    build([str(script)], ["amd64"], tmp_path / "out")
    assert check([str(script)], ["amd64"], tmp_path / "out") == []
    made = json.loads(file.read_text())
    made["routine"] = "0" * 32
    file.write_text(json.dumps(made))
    with pytest.raises(AsmgenError, match=r"toy\.mul\.json does not fit.*\n  try: asmgen optimize --rebase"):
        check([str(script)], ["amd64"], tmp_path / "out")


def test_a_plan_is_part_of_what_is_built(script: Path, tmp_path: Path) -> None:
    build([str(script)], ["amd64"], tmp_path / "out")
    before = (tmp_path / "out/amd64/toy.S").read_text()
    planned(script)
    build([str(script)], ["amd64"], tmp_path / "out")
    assert (tmp_path / "out/amd64/toy.S").read_text() != before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda made: "{", "is no plan: Expecting property name"),
        (lambda made: "[]", "is no plan"),
        (lambda made: json.dumps({**made, "lines": 3}), "is no plan"),
        (lambda made: json.dumps({name: made[name] for name in made if name != "schedule"}), "it lacks 'schedule'"),
        (lambda made: json.dumps({**made, "choices": {"fold": "late"}}), "is no plan: invalid literal"),
    ],
)
def test_a_file_that_is_no_plan_is_one_clear_error(script: Path, change: object, said: str) -> None:
    file = planned(script)
    file.write_text(change(json.loads(file.read_text())))  # type: ignore[operator]
    with pytest.raises(AsmgenError, match=said) as error:
        compile_stages(mul(script), Options("amd64"))
    assert "asmgen optimize writes a new one" in str(error.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"choices": {"fold": 1}}, "no decision"),
        ({"lines": []}, "does not name each instruction once"),
        ({"lines": [["ab cd"]]}, "does not name each instruction once"),
        ({"schedule": {"core": "z80", "window": 6, "registers": 11}}, "no table of costs"),
    ],
)
def test_a_plan_that_says_what_is_not_there_does_not_fit(script: Path, change: dict[str, object], said: str) -> None:
    file = planned(script)
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.warns(StalePlan, match=said):
        compile_stages(mul(script), Options("amd64"))


def test_an_order_in_a_plan_that_is_not_legal_is_left_out(script: Path) -> None:
    file = planned(script)
    made = json.loads(file.read_text())
    names = " ".join(made["lines"][0]).split()
    file.write_text(json.dumps({**made, "lines": [names[::-1]]}))
    with pytest.warns(StalePlan, match="the order is not legal"):
        compile_stages(mul(script), Options("amd64"))


def test_rebasing_keeps_what_has_a_name_in_both(script: Path) -> None:
    file = planned(script)
    plan = plans.read(file)
    made = seeded(mul(script), Options("amd64"), SEED).allocate  # type: ignore[arg-type]
    assert made is not None
    before = arrangement(made)
    assert plans.rebased(plan, before) == plans.orders_of(plan, before)
    script.write_text(SCRIPT.replace("low + high", "high.split(61)[1] + high"))
    other = seeded(mul(script), Options("amd64"), SEED).allocate  # type: ignore[arg-type]
    assert other is not None
    (order,) = plans.rebased(plan, arrangement(other))
    assert sorted(order) == list(range(len(arrangement(other).lines[0])))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arranged(arrangement(other), [order])
