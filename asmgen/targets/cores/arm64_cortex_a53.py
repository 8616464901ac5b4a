"""Arm Cortex-A53, in order: as LLVM 19 models it; like Cortex-A55 but for loads, fields, and one port for memory."""

from __future__ import annotations

from dataclasses import replace

from asmgen.targets.cores.arm64_cortex_a55 import CORE as A55

CORE = replace(
    A55,
    name="cortex-a53",
    latency={**A55.latency, "load": 4, "load_pair": 4, "load_moving": 4, "load_pair_moving": 4},
    ports={
        cost: (("ls",),) if cost.startswith(("load", "store")) else choices for cost, choices in A55.ports.items()
    },
)  # fmt: skip
