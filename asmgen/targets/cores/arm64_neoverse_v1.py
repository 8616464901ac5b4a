"""Arm Neoverse V1 (Graviton 3): as LLVM 19 models it, but late addends, which are Arm's."""

from __future__ import annotations

from asmgen.targets.cores import Core

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
        "alu": (ANY,), "flags": (FLAGS,), "carry": (ANY,), "carry_flags": (S,), "shifted": (M,),
        "logic_shifted": (ANY,), "logic_flags": (M,), "select": (ANY,), "ccmp": (S,), "move": (ANY,),
        "constant": (ANY,), "shift": (ANY,), "insert": (M,), "ror": (ANY,), "extract": (M, S), "count": (ANY,),
        "mul": (M,), "mulh": (M,), "madd": (M0,), "mull": (M,), "maddl": (M0,),
        "load": (L,), "load_pair": (L, L), "store": (L01, D), "store_pair": (L01, D),
        "load_moving": (L01, S), "load_pair_moving": (L, L, S), "store_moving": (L01, D, S),
        "store_pair_moving": (L01, D, S),
        "branch": (B,), "call": (B, S), "ret": (B,), "nop": (), "pac": (M0,),
    },
    addend={"madd": 1, "maddl": 1},
)  # fmt: skip
