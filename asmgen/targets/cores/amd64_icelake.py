"""Intel Ice Lake and its server parts: as LLVM 19 models them. A copy takes a unit, since an update of microcode."""

from __future__ import annotations

from asmgen.targets.cores._amd64 import table
from asmgen.targets.cores.amd64_skylake import ANY, COSTS

CORE = table(
    "icelake",
    issue_width=5,
    costs={**COSTS, "mov": (1, (ANY,))},
    load=(5, (("p2", "p3"),)),
    store=(("p7", "p8"), ("p4", "p9")),
)
