"""AMD Zen 5 (Turin, Ryzen 9000): six integer units of which three multiply; the rest is Zen 4's, spread wider.

Measured were mulx at 0.67 cycles, imul at 0.33, six independent lea a cycle and shld by a number at 1 to 2.
"""

from __future__ import annotations

from asmgen.targets.cores._amd64 import table

ANY = ("alu0", "alu1", "alu2", "alu3", "alu4", "alu5")
MULTIPLY, OTHER = ANY[:3], ANY[3:]

CORE = table(
    "zen5",
    issue_width=8,
    costs={
        "alu": (1, (ANY,)), "adc": (1, (ANY,)), "adx": (1, (ANY,)), "flag": (1, (ANY,)), "lea": (1, (ANY,)),
        "imul": (3, (MULTIPLY,)), "mul": (4, (MULTIPLY, MULTIPLY)), "mulx": (4, (MULTIPLY, MULTIPLY)),
        "shift": (1, (OTHER,)), "shld": (2, (OTHER,)), "bzhi": (1, (OTHER,)), "bswap": (1, (ANY,)),
        "cmov": (1, (OTHER,)), "cmov_two": (1, (OTHER,)), "setcc": (1, (OTHER,)),
        "mov": (0, ()), "xchg": (0, ()), "zero": (0, ()), "nop": (0, ()),
        "branch": (1, (OTHER,)), "jump": (1, (OTHER,)),
    },
    load=(4, (("load0", "load1", "load2", "load3"),)),
    store=(("store0", "store1"),),
    busy={"shld": 3},
)  # fmt: skip
