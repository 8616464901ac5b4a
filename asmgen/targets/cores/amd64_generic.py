"""The core that amd64 code is scheduled for when none is named: Zen 4, with one multiplier like most others."""

from __future__ import annotations

from dataclasses import replace

from asmgen.targets.cores.amd64_zen4 import CORE as ZEN4

CORE = replace(ZEN4, name="generic")
