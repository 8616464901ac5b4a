"""AMD Zen 4 (Genoa, Ryzen 7000): its integer side is that of Zen 3, in LLVM 19 and as products were measured."""

from __future__ import annotations

from dataclasses import replace

from asmgen.targets.cores.amd64_zen3 import CORE as ZEN3

CORE = replace(ZEN3, name="zen4")
