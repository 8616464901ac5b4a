"""Calling conventions: the tables agree with themselves, the targets, and the places their documents give."""

from __future__ import annotations

import pytest

from asmgen.errors import UsageError
from asmgen.passes.machine import machine
from asmgen.targets.conventions import CONVENTIONS, Convention, convention


@pytest.mark.parametrize("rules", CONVENTIONS.values(), ids=lambda rules: rules.name)
def test_every_register_has_one_part_to_play(rules: Convention) -> None:
    target = machine(rules.target)
    pool = rules.pool()
    assert len(set(pool)) == len(pool)
    assert set(pool) <= set(target.registers)
    assert set(rules.arguments) <= set(rules.changed)
    assert rules.result in rules.changed
    reserved = {"rsp"} if rules.target == "amd64" else {"sp", "xzr", "x18", "x29"}
    assert set(target.registers) - set(pool) == reserved
    assert rules.frame_pointer not in rules.pool(keep_frame_pointer=True)


def test_preserved_registers_are_those_of_the_documents() -> None:
    assert set(CONVENTIONS["sysv"].preserved) == {"rbx", "rbp", "r12", "r13", "r14", "r15"}
    assert set(CONVENTIONS["win64"].preserved) == {"rbx", "rbp", "rdi", "rsi", "r12", "r13", "r14", "r15"}
    assert set(CONVENTIONS["aapcs64"].preserved) == {f"x{number}" for number in (*range(19, 29), 30)}


@pytest.mark.parametrize(
    ("name", "index", "place"),
    [("sysv", 6, 8), ("sysv", 7, 16), ("win64", 4, 40), ("aapcs64", 8, 0), ("apple64", 9, 8)],
)
def test_where_arguments_lie_on_the_stack(name: str, index: int, place: int) -> None:
    rules = CONVENTIONS[name]
    assert len(rules.arguments) <= index
    assert rules.stack_argument(index) == place


def test_names() -> None:
    assert convention(None, "amd64").name == "sysv"
    assert convention(None, "arm64").name == "aapcs64"
    assert convention("win64", "amd64").shadow == 32
    with pytest.raises(UsageError, match="amd64 has no calling convention win46") as caught:
        convention("win46", "amd64")
    assert "win64" in caught.value.hint
    with pytest.raises(UsageError, match="arm64 has no calling convention sysv"):
        convention("sysv", "arm64")
    with pytest.raises(UsageError, match="no target riscv"):
        convention(None, "riscv")
