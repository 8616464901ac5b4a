"""The core that arm64 code is scheduled for when none is named: Neoverse N1, whose slow products suit others too."""

from __future__ import annotations

from dataclasses import replace

from asmgen.targets.cores.arm64_neoverse_n1 import CORE as N1

CORE = replace(N1, name="generic")
