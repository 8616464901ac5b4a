"""Arm Cortex-A53, in order: as LLVM 19 models it; like Cortex-A55 but for loads, fields, and one port for memory."""

from __future__ import annotations

from dataclasses import replace

from asmgen.targets.cores.arm64_cortex_a55 import ALU, MAC, B
from asmgen.targets.cores.arm64_cortex_a55 import CORE as A55

assert A55.llvm is not None
LS = ("ls",)

CORE = replace(
    A55,
    name="cortex-a53",
    latency={**A55.latency, "load": 4, "load_pair": 4, "load_moving": 4, "load_pair_moving": 4},
    ports={
        cost: (LS,) if cost.startswith(("load", "store")) else choices for cost, choices in A55.ports.items()
    },
    llvm=replace(
        A55.llvm,
        units=(ALU, B, LS, MAC),
        latency={
            **A55.llvm.latency, "shift": (2,), "insert": (2,), "load_pair": (4,), "load_moving": (4, 4, 0),
            "load_pair_moving": (4, 4, 4, 0), "store": (4,), "store_pair": (4,), "store_moving": (4, 0),
            "store_pair_moving": (4, 0),
        },
        early={purpose: early for purpose, early in A55.llvm.early.items() if purpose != "high"},
        any_order=frozenset(),
    ),
)  # fmt: skip
