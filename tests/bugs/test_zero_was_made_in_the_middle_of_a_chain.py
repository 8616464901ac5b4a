"""R05: xor of a register with itself makes a zero and clears the carry that was still to be read."""

from __future__ import annotations

import pytest
from shipped import codes

from asmgen.passes.machine import machine
from asmgen.targets.row import Instruction

CLEARING = ("xor", "and", "or", "test", "cmp", "imul", "shl", "shr", "sub", "neg", "zero")


def test_a_constant_zero_touches_no_flag() -> None:
    for target in ("amd64", "arm64"):
        made = machine(target)
        register = next(iter(made.registers.values()))
        for number in (0, 1, 19, 2**32 - 1, 2**51 - 1, 2**64 - 2**32 + 1, 2**64 - 1):
            assert not [each for each in made.constant(register, number) if each.row.flags_touched]


@pytest.mark.parametrize("features", ["default", "base"])
def test_nothing_that_clears_flags_stands_between_writer_and_reader(features: str) -> None:
    seen = 0
    for made in codes("amd64", features):
        since: dict[str, list[str]] = {}
        for item in made.items:
            if not isinstance(item, Instruction):
                continue
            for flag in item.row.reads:
                between = since.get(flag, [])
                assert not [name for name in between if name in CLEARING], (made.signature.symbol, flag, between)
                seen += bool(between)
            for flag in ("CF", "OF"):
                if flag in item.row.writes:
                    since[flag] = []
                elif flag in since:
                    since[flag].append(item.row.mnemonic)
    assert seen > 20, "there are moves and products between sums, so the test sees something"


def test_rows_that_begin_with_a_zero_begin_with_its_flags() -> None:
    """Before the first adcx and adox of a row both flags are cleared, on purpose."""
    for made in codes("amd64"):
        names = [item.row.mnemonic for item in made.items if isinstance(item, Instruction)]
        if "adox" in names:
            assert "zero" in names[: names.index("adox")] and "zero" in names[: names.index("adcx")]
