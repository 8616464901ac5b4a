"""AMD Zen 2 (Rome, Ryzen 3000): as LLVM 19 models it where the model tells units apart, else as Zen 3.

A 64-bit product with two result words holds the multiplier for two cycles.
"""

from __future__ import annotations

from asmgen.targets.cores._amd64 import table
from asmgen.targets.cores.amd64_zen3 import ANY, MULTIPLY, SELECT, SHIFT

CORE = table(
    "zen2",
    issue_width=5,
    costs={
        "alu": (1, (ANY,)), "adc": (1, (ANY,)), "adx": (1, (ANY,)), "flag": (1, (ANY,)), "lea": (1, (ANY,)),
        "imul": (3, (MULTIPLY,)), "mul": (4, (MULTIPLY,)), "mulx": (4, (MULTIPLY,)),
        "shift": (1, (SHIFT,)), "shld": (3, (SHIFT,)), "bzhi": (1, (SHIFT,)), "bswap": (1, (ANY,)),
        "cmov": (1, (SELECT,)), "cmov_two": (1, (SELECT,)), "setcc": (1, (SELECT,)),
        "mov": (0, ()), "xchg": (0, ()), "zero": (0, ()), "nop": (0, ()),
        "branch": (1, (SELECT,)), "jump": (1, (("alu3",),)),
    },
    load=(4, (("load0", "load1"),)),
    store=(("store",),),
    busy={"mul": 2, "mulx": 2, "shld": 4},
)  # fmt: skip
