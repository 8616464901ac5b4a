"""What is to be made of a kernel, and for what."""

from __future__ import annotations

from dataclasses import dataclass

from asmgen.errors import UsageError
from asmgen.passes.plans import GENERIC
from asmgen.targets.cores import Core, core, names

#: What routines may use beyond the base instruction set, by the name that `--features` takes.
FEATURES: dict[str, dict[str, frozenset[str]]] = {
    "amd64": {"default": frozenset({"bmi2", "adx"}), "base": frozenset()},
    "arm64": {"default": frozenset()},
}


@dataclass(frozen=True)
class Options:
    """What to make: the target, the feature set by name, for tests a number of registers, and the core whose plans and
    table of costs are taken; with `planned` off no plan is, and with `recorded` off every way is tried even if it is
    known which one wins."""

    target: str
    features: str = "default"
    registers: int | None = None
    core: str = GENERIC
    planned: bool = True
    recorded: bool = True

    @property
    def instruction_sets(self) -> frozenset[str]:
        """The feature set's members."""
        known = FEATURES[self.target]
        if self.features not in known:
            raise UsageError(f"{self.target} has no feature set {self.features}", hint=" or ".join(known))
        return known[self.features]

    @property
    def table(self) -> Core:
        """The core's costs; those of the generic one for a core that has plans only."""
        return core(self.core if self.core in names(self.target) else GENERIC, self.target)
