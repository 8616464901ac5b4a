"""Arm Cortex-A55, in order: as LLVM 19 models it, results taken from the forwarding paths.

LLVM charges three cycles from a writer of flags to a reader, probably because its model names no forwarding for them;
scheduling for three costs little where the truth is one. A shifted operand is wanted a cycle earlier: that cycle is
in its own class's latency.
"""

from __future__ import annotations

from asmgen.targets.cores import Core, Early, Llvm, _arm64

ALU, MAC, LD, ST, B = ("alu0", "alu1"), ("mac",), ("ld",), ("st",), ("b",)
SUMS = (
    "alu", "flags", "carry", "carry_flags", "shifted", "logic_shifted", "logic_flags", "select", "ccmp", "move",
    "constant", "shift", "insert", "count",
)  # fmt: skip
PRODUCTS = ("mul", "mulh", "madd", "mull", "maddl")
FORWARDED = frozenset({*SUMS, *PRODUCTS})

CORE = Core(
    name="cortex-a55",
    target="arm64",
    issue_width=2,
    latency={
        "alu": 1, "flags": 1, "carry": 1, "carry_flags": 3, "shifted": 2, "logic_shifted": 2, "logic_flags": 1,
        "select": 1, "ccmp": 3, "move": 1, "constant": 1,
        "shift": 1, "insert": 1, "ror": 3, "extract": 3, "count": 1,
        "mul": 3, "mulh": 3, "madd": 3, "mull": 3, "maddl": 3,
        "load": 3, "load_pair": 4, "store": 1, "store_pair": 1,
        "load_moving": 3, "load_pair_moving": 4, "store_moving": 1, "store_pair_moving": 1,
        "branch": 1, "call": 1, "ret": 1, "nop": 1, "pac": 1,
    },
    ports={
        "alu": (ALU,), "flags": (ALU,), "carry": (ALU,), "carry_flags": (ALU,), "shifted": (ALU,),
        "logic_shifted": (ALU,), "logic_flags": (ALU,), "select": (ALU,), "ccmp": (ALU,), "move": (ALU,),
        "constant": (ALU,), "shift": (ALU,), "insert": (ALU,), "ror": (ALU,), "extract": (ALU,), "count": (ALU,),
        "mul": (MAC,), "mulh": (MAC,), "madd": (MAC,), "mull": (MAC,), "maddl": (MAC,),
        "load": (LD,), "load_pair": (LD,), "store": (ST,), "store_pair": (ST,),
        "load_moving": (LD,), "load_pair_moving": (LD,), "store_moving": (ST,), "store_pair_moving": (ST,),
        "branch": (B,), "call": (B,), "ret": (B,), "nop": (B,), "pac": (B,),
    },
    busy={"load_pair": 2, "load_pair_moving": 2},
    addend={"madd": 2, "maddl": 2},
    flag_latency=3,
    in_order=True,
    llvm=Llvm(
        width=2,
        buffer=0,
        units=(ALU, B, LD, MAC, ST),
        micro_ops={
            "load_pair": 2, "load_moving": 2, "load_pair_moving": 3, "store_moving": 2, "store_pair_moving": 2,
        },
        latency={
            **dict.fromkeys((*SUMS, "ror", "extract"), (3,)), **dict.fromkeys(PRODUCTS, (4,)),
            "load_pair": (5, 4, 5), "load_moving": (3, 3, 0), "load_pair_moving": (5, 4, 5, 0),
            "store_moving": (1, 0), "store_pair_moving": (1, 0),
        },
        early={
            "sum": Early(2, FORWARDED), "shifted": Early(1, FORWARDED), "product": Early(1, FORWARDED),
            "addend": Early(2, FORWARDED), "high": Early(1, frozenset()),
        },
        any_order=frozenset({"store", "store_pair", "store_moving", "store_pair_moving"}),
        variants=_arm64.SUMS | _arm64.LOGIC,
    ),
)  # fmt: skip
