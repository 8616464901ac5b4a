"""Intel Skylake and its server parts: as LLVM 19 models them; lea of three parts takes 3 cycles, not 1."""

from __future__ import annotations

from asmgen.targets.cores._amd64 import table

ANY = ("p0", "p1", "p5", "p6")
CARRY, LEA, P1, P5, P6 = ("p0", "p6"), ("p1", "p5"), ("p1",), ("p5",), ("p6",)

#: What Ice Lake has kept.
COSTS = {
    "alu": (1, (ANY,)), "adc": (1, (CARRY,)), "adx": (1, (CARRY,)), "flag": (1, (ANY,)), "lea": (1, (LEA,)),
    "imul": (3, (P1,)), "mul": (4, (P1, P5)), "mulx": (4, (P1, P5)),
    "shift": (1, (CARRY,)), "shld": (3, (P1,)), "bzhi": (1, (LEA,)), "bswap": (2, (CARRY, LEA)),
    "cmov": (1, (CARRY,)), "cmov_two": (2, (CARRY, CARRY)), "setcc": (1, (CARRY,)),
    "mov": (0, ()), "xchg": (2, (ANY, ANY, ANY)), "zero": (0, ()), "nop": (0, ()),
    "branch": (1, (CARRY,)), "jump": (1, (P6,)),
}  # fmt: skip

CORE = table(
    "skylake",
    issue_width=4,
    costs=COSTS,
    load=(5, (("p2", "p3"),)),
    store=(("p2", "p3", "p7"), ("p4",)),
)
