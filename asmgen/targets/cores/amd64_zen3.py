"""AMD Zen 3 (Milan, Ryzen 5000): units as LLVM 19 models them, latencies and rates as measured on an EPYC of this kind.

mulx takes 3 cycles to its low word, 4 to its high one; here it is 4. shld and shrd by a number are six micro-operations
in two units; lea of three parts takes 2 cycles, not 1.
"""

from __future__ import annotations

from asmgen.targets.cores._amd64 import table

ANY = ("alu0", "alu1", "alu2", "alu3")
SHIFT, SELECT, MULTIPLY, BRANCH = ("alu1", "alu2"), ("alu0", "alu3"), ("alu1",), ("alu0", "branch")

CORE = table(
    "zen3",
    issue_width=6,
    costs={
        "alu": (1, (ANY,)), "adc": (1, (ANY,)), "adx": (1, (ANY,)), "flag": (1, (ANY,)), "lea": (1, (ANY,)),
        "imul": (3, (MULTIPLY,)), "mul": (4, (MULTIPLY, ANY)), "mulx": (4, (MULTIPLY, ANY)),
        "shift": (1, (SHIFT,)), "shld": (2, (SHIFT,)), "bzhi": (1, (SHIFT,)), "bswap": (1, (ANY,)),
        "cmov": (1, (SELECT,)), "cmov_two": (1, (SELECT,)), "setcc": (1, (SELECT,)),
        "mov": (0, ()), "xchg": (0, ()), "zero": (0, ()), "nop": (0, ()),
        "branch": (1, (BRANCH,)), "jump": (1, (("branch",),)),
    },
    load=(4, (("load0", "load1", "load2"),)),
    store=(("store0", "store1"),),
    busy={"shld": 3},
)  # fmt: skip
