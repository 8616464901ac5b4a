"""Arm Neoverse V1 (Graviton 3): as LLVM 19 models it, but late addends, which are Arm's."""

from __future__ import annotations

from asmgen.targets.cores import Core, Llvm
from asmgen.targets.cores._arm64 import PRODUCTS, SUMS

M0, M, S, L, L01, D, B = (
    ("m0",),
    ("m0", "m1"),
    ("s0", "s1"),
    ("l0", "l1", "l2"),
    ("l0", "l1"),
    ("d0", "d1"),
    ("b0", "b1"),
)
ANY, FLAGS = (*M, *S), (*M0, *S)

CORE = Core(
    name="neoverse-v1",
    target="arm64",
    issue_width=8,
    latency={
        "alu": 1, "flags": 1, "carry": 1, "carry_flags": 1, "shifted": 2, "logic_shifted": 1, "logic_flags": 2,
        "select": 1, "ccmp": 1, "move": 1, "constant": 1,
        "shift": 1, "insert": 2, "ror": 1, "extract": 3, "count": 1,
        "mul": 2, "mulh": 3, "madd": 2, "mull": 2, "maddl": 2,
        "load": 4, "load_pair": 4, "store": 1, "store_pair": 1,
        "load_moving": 4, "load_pair_moving": 4, "store_moving": 1, "store_pair_moving": 1,
        "branch": 1, "call": 1, "ret": 1, "nop": 1, "pac": 5,
    },
    ports={
        "alu": (ANY,), "flags": (FLAGS,), "carry": (ANY,), "carry_flags": (FLAGS,), "shifted": (M,),
        "logic_shifted": (ANY,), "logic_flags": (M,), "select": (ANY,), "ccmp": (ANY,), "move": (ANY,),
        "constant": (ANY,), "shift": (ANY,), "insert": (M,), "ror": (ANY,), "extract": (M, ANY), "count": (ANY,),
        "mul": (M,), "mulh": (M,), "madd": (M0,), "mull": (M,), "maddl": (M0,),
        "load": (L,), "load_pair": (L, L), "store": (L01, D), "store_pair": (L01, D),
        "load_moving": (L, ANY), "load_pair_moving": (L, L, ANY), "store_moving": (L01, D, ANY),
        "store_pair_moving": (L01, D, ANY),
        "branch": (B,), "call": (B, S), "ret": (B,), "nop": (), "pac": (M0,),
    },
    addend={"madd": 1, "maddl": 1},
    llvm=Llvm(
        width=15,
        buffer=256,
        units=(B, D, ("l2",), L01, M0, ("m1",), S),
        micro_ops={
            "extract": 2, "load_pair": 2, "store": 2, "store_pair": 2, "call": 2,
            "load_moving": 2, "load_pair_moving": 3, "store_moving": 3, "store_pair_moving": 3,
        },
        latency={"load_moving": (4, 4, 1), "load_pair_moving": (4, 4, 4, 1)},
        variants=SUMS | PRODUCTS | {"extr"},
    ),
)  # fmt: skip
