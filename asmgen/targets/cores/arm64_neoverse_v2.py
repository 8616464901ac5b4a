"""Arm Neoverse V2 (Graviton 4, Grace): as LLVM 19 models it."""

from __future__ import annotations

from asmgen.targets.cores import Core, Early, Llvm
from asmgen.targets.cores._arm64 import PRODUCTS, SUMS

M0, M, S, S01 = ("m0",), ("m0", "m1"), ("s0", "s1", "s2", "s3"), ("s0", "s1")
L, L01, D, B = ("l0", "l1", "l2"), ("l0", "l1"), ("d0", "d1"), ("b0", "b1")
ANY, FLAGS = (*M, *S), (*M, *S01)

CORE = Core(
    name="neoverse-v2",
    target="arm64",
    issue_width=8,
    latency={
        "alu": 1, "flags": 1, "carry": 1, "carry_flags": 1, "shifted": 2, "logic_shifted": 1, "logic_flags": 1,
        "select": 1, "ccmp": 1, "move": 0, "constant": 1,
        "shift": 1, "insert": 2, "ror": 1, "extract": 3, "count": 1,
        "mul": 2, "mulh": 3, "madd": 2, "mull": 2, "maddl": 2,
        "load": 4, "load_pair": 4, "store": 1, "store_pair": 1,
        "load_moving": 4, "load_pair_moving": 4, "store_moving": 1, "store_pair_moving": 1,
        "branch": 1, "call": 1, "ret": 1, "nop": 1, "pac": 5,
    },
    ports={
        "alu": (ANY,), "flags": (FLAGS,), "carry": (ANY,), "carry_flags": (FLAGS,), "shifted": (M,),
        "logic_shifted": (ANY,), "logic_flags": (FLAGS,), "select": (ANY,), "ccmp": (FLAGS,), "move": (),
        "constant": (ANY,), "shift": (ANY,), "insert": (M,), "ror": (ANY,), "extract": (M, ANY), "count": (ANY,),
        "mul": (M,), "mulh": (M,), "madd": (M0,), "mull": (M,), "maddl": (M0,),
        "load": (L,), "load_pair": (L,), "store": (L01, D), "store_pair": (L01, D),
        "load_moving": (L, ANY), "load_pair_moving": (L, ANY), "store_moving": (L01, D, ANY),
        "store_pair_moving": (L01, D, ANY),
        "branch": (B,), "call": (B, S01), "ret": (B,), "nop": (), "pac": (M0,),
    },
    addend={"madd": 1, "maddl": 1},
    llvm=Llvm(
        width=16,
        buffer=320,
        units=(B, D, ("l2",), L01, M0, ("m1",), ("s0",), ("s1",), ("s2",), ("s3",)),
        micro_ops={
            "extract": 2, "load_pair": 2, "store": 2, "store_pair": 2, "call": 2,
            "load_moving": 2, "load_pair_moving": 3, "store_moving": 3, "store_pair_moving": 3,
        },
        latency={"load_moving": (4, 4, 1), "load_pair_moving": (4, 4, 4, 1)},
        early={"addend": Early(1, frozenset({"madd", "maddl"}))},
        variants=SUMS | PRODUCTS | {"orr", "ands", "bics", "extr"},
    ),
)  # fmt: skip
