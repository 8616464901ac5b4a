"""R11: writing 32 bits of a register defines all of it, a byte leaves the rest; they were taken for the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from asmgen.errors import AsmgenError
from asmgen.kernel import Kernel
from asmgen.passes import Options
from asmgen.scripts import load
from asmgen.targets.amd64 import ROWS
from asmgen.targets.row import Role
from emulate.campaign import job
from emulate.machine import Machine

SCRIPT = """
from asmgen import Field, amd64, kernel
from asmgen.targets.explicit import fresh, word

one = Field("any", 3, limbs=[64]).below(2**64)


@kernel(computes=lambda a, b: 0)
def less(a: one, b: one) -> one:
    return 1 - a.value.at_least(b.value)


@less.on("amd64")
def less_amd64(out, a, b):
    x, y = fresh("x"), fresh("y")
    amd64.mov(x, word(a, 0))
    BEFORE
    amd64.cmp(x, word(b, 0))
    amd64.setc(y)
    amd64.mov(word(out, 0), AFTER)
"""


def less(tmp_path: Path, before: str, after: str) -> Kernel:
    path = tmp_path / "narrow.py"
    path.write_text(SCRIPT.replace("BEFORE", before).replace("AFTER", after))
    made = load(path).kernels["less"]
    assert isinstance(made, Kernel)
    return made


def test_32_bits_define_the_register_and_a_byte_does_not() -> None:
    roles: dict[str, set[Role]] = {}
    for row in ROWS.values():
        for slot in row.slots:
            if slot.role is not Role.IN:
                roles.setdefault(slot.kind, set()).add(slot.role)
    assert Role.OUT in roles["r32"]
    assert roles["r8"] == {Role.INOUT}


@pytest.mark.parametrize("before", ["amd64.mov(y, 0)", "amd64.movl(y, 0)", "amd64.mov(y, x); amd64.zero(y)"])
def test_what_was_there_before_a_byte_is_kept(tmp_path: Path, before: str) -> None:
    """Registers hold junk at entry: the upper bits are zero only if the zero is not thrown away."""
    made = job(less(tmp_path, before, "y"), Options("amd64"))
    machine = Machine(made.target, made.code, made.entry, made.kernel.signature, made.features, stack=made.stack)
    for a, b in ((0, 0), (0, 1), (1, 0), (2**64 - 1, 0), (0, 2**64 - 1), (5, 7)):
        assert machine.call(((a,), (b,))) == ((int(a < b),),)


def test_a_byte_alone_is_no_value(tmp_path: Path) -> None:
    with pytest.raises(AsmgenError, match="is read by setc before it has a value"):
        job(less(tmp_path, "", "y"), Options("amd64"))
