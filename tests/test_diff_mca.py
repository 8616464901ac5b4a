"""Many routines in one run of llvm-mca: figures as one by one, and one that it refuses costs no other its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from asmgen import tools
from asmgen.diff import mca

CORES = {"amd64": "znver3", "arm64": "neoverse-n1"}
CHAINS = {"amd64": "imulq %rax, %rax", "arm64": "mul x0, x0, x0"}

pytestmark = pytest.mark.skipif(mca.found()[0] is None, reason=mca.found()[1])


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """The commands that are run."""
    seen: list[Sequence[str]] = []
    real = tools.run

    def run(command: Sequence[str], *rest: Any, **named: Any) -> tools.Finished:
        seen.append(command)
        return real(command, *rest, **named)

    monkeypatch.setattr(tools, "run", run)
    return seen


def _texts(target: str) -> list[str]:
    return ["\n".join([CHAINS[target]] * length) for length in (1, 5, 9, 30)]


@pytest.mark.parametrize("target", CORES)
def test_one_run_for_all(target: str, runs: list[Sequence[str]]) -> None:
    texts = _texts(target)
    together = mca.cycles(target, CORES[target], texts)
    assert len(runs) == 1
    assert together == [mca.cycles(target, CORES[target], [text])[0] for text in texts]
    assert together == sorted(together, key=lambda each: each or 0)
    assert len(set(together)) == len(texts)


@pytest.mark.parametrize("target", CORES)
def test_one_refused(target: str) -> None:
    texts = _texts(target)
    known = mca.cycles(target, CORES[target], texts)
    assert mca.cycles(target, CORES[target], [*texts[:2], "no such instruction", *texts[2:]]) == [
        *known[:2], None, *known[2:],
    ]  # fmt: skip


def test_long_ones_are_called_less_often(runs: list[Sequence[str]]) -> None:
    text = CHAINS["amd64"]
    made = mca.cycles("amd64", "znver3", ["\n".join([text] * length) for length in (3, 300, 3000, 6000)])
    assert [each is None for each in made] == [False, False, False, True]
    assert [next(word for word in command if "iterations" in word) for command in runs] == [
        "-iterations=50", "-iterations=20", "-iterations=10",
    ]  # fmt: skip
