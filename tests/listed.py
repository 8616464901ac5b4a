"""The routines of committed listings, read back from their bytes: quickly there, and what ships."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from asmgen.contracts import Signature
from asmgen.prove.decode import decode
from asmgen.routine import Code, Item
from asmgen.targets.row import Instruction, Label

OUT = Path(__file__).parents[1] / "out"
_HEAD = re.compile(r"^(\w+)\n=+$", re.M)
_LINE = re.compile(r"^[0-9a-f]{4} +((?:[0-9a-f]{2} )+)", re.M)


def codes(target: str, script: str) -> Iterator[Code]:
    """Those of a script, named `Code.signature.kernel`; no contracts, no stack."""
    _, *parts = _HEAD.split((OUT / target / f"{script}.lst").read_text())
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        bits = bytes.fromhex("".join(_LINE.findall(text)))
        decoded = decode(target, bits).instructions
        goes = {each.target for each in decoded.values() if each.target is not None}
        items: list[Item] = []
        for at, each in decoded.items():
            if at in goes:
                items.append(Label(f"at{at}"))
            made = each.instruction
            if each.target is not None:
                made = Instruction(made.row, (*made.operands[:-1], Label(f"at{each.target}")))
            items.append(made)
        yield Code(Signature(script, name.removeprefix(f"{script}_"), (), ()), target, tuple(items))
