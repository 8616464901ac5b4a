"""Arm Neoverse N1 (Graviton 2, Ampere Altra): as LLVM 19 models it, but UMULH and late addends, which are Arm's.

Arm's software optimization guide gives one UMULH every four cycles, where LLVM has three.
"""

from __future__ import annotations

from asmgen.targets.cores import Core, Llvm
from asmgen.targets.cores._arm64 import SUMS

M, S, L, D, B = ("m",), ("s0", "s1"), ("l0", "l1"), ("d0", "d1"), ("b",)
ANY = (*M, *S)

CORE = Core(
    name="neoverse-n1",
    target="arm64",
    issue_width=4,
    latency={
        "alu": 1, "flags": 1, "carry": 1, "carry_flags": 1, "shifted": 2, "logic_shifted": 1, "logic_flags": 2,
        "select": 1, "ccmp": 1, "move": 1, "constant": 1,
        "shift": 1, "insert": 2, "ror": 1, "extract": 3, "count": 1,
        "mul": 4, "mulh": 5, "madd": 4, "mull": 2, "maddl": 2,
        "load": 4, "load_pair": 4, "store": 1, "store_pair": 1,
        "load_moving": 4, "load_pair_moving": 4, "store_moving": 1, "store_pair_moving": 1,
        "branch": 1, "call": 1, "ret": 1, "nop": 1, "pac": 1,
    },
    ports={
        "alu": (ANY,), "flags": (ANY,), "carry": (ANY,), "carry_flags": (ANY,), "shifted": (M,),
        "logic_shifted": (ANY,), "logic_flags": (M,), "select": (ANY,), "ccmp": (ANY,), "move": (ANY,),
        "constant": (ANY,),
        "shift": (ANY,), "insert": (M,), "ror": (ANY,), "extract": (M, ANY), "count": (ANY,),
        "mul": (M,), "mulh": (M,), "madd": (M,), "mull": (M,), "maddl": (M,),
        "load": (L,), "load_pair": (L, L), "store": (L, D), "store_pair": (L, L, D),
        "load_moving": (L, ANY), "load_pair_moving": (L, L, ANY), "store_moving": (L, D, ANY),
        "store_pair_moving": (L, L, D, ANY),
        "branch": (B,), "call": (B, S), "ret": (B,), "nop": (), "pac": (),
    },
    busy={"mul": 3, "mulh": 4, "madd": 3},
    addend={"madd": 3, "maddl": 1},
    llvm=Llvm(
        width=8,
        buffer=128,
        units=(B, D, L, M, S),
        micro_ops={
            "extract": 2, "load_pair": 2, "store": 2, "store_pair": 3, "call": 2,
            "load_moving": 2, "load_pair_moving": 3, "store_moving": 3, "store_pair_moving": 4,
        },
        latency={"load_moving": (4, 4, 1), "load_pair_moving": (4, 4, 4, 1)},
        busy={"mul": 3, "mulh": 3, "madd": 3},
        variants=SUMS | {"extr"},
    ),
)  # fmt: skip
