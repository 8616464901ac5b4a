"""What instructions cost on a core: one small file a core, named by target and core, such as `arm64_neoverse_n1`."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path

from asmgen.errors import AsmgenError, UsageError

#: The ports that can each take a micro-operation.
Choice = tuple[str, ...]


@dataclass(frozen=True)
class Early:
    """How many cycles earlier an operand is there when one of these classes makes it, or any where none is named."""

    cycles: int
    after: frozenset[str]


@dataclass(frozen=True)
class Llvm:
    """What the scheduling model of a core in LLVM 19 (`llvm/lib/Target/AArch64/AArch64Sched*.td`) has beyond the
    tables of `Core`, or otherwise: all that `asmgen.optimize.model` needs to count cycles as llvm-mca does.

    `width` micro-operations enter a cycle, into a buffer of `buffer` of them; 0 where the core is in order. `units`
    are the ports of one name together, in the model's order, which decides which of several free ones is taken.
    `micro_ops` are those of classes that have more than one. `latency` has, for classes where it is not as in `Core`,
    the cycles that one takes in all and then those to each register that it writes, the last figure for all further
    ones; forwarding is left out here: it is in `early`, by what an operand is for (`_arm64.READS`). Results of
    `any_order` classes need not come after those of instructions before them. `variants` are the opcodes
    (`_arm64.opcode`) that cost by their operands: llvm-mca makes a description of each such instruction, and of others
    one for all with that opcode.
    """

    width: int
    buffer: int
    units: tuple[Choice, ...]
    micro_ops: Mapping[str, int]
    latency: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    busy: Mapping[str, int] = field(default_factory=dict)
    early: Mapping[str, Early] = field(default_factory=dict)
    any_order: frozenset[str] = frozenset()
    variants: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Core:
    """A core's tables, by the rows' cost classes.

    `latency` is in cycles, from the usual operands to the result: from flags to flags for those that chain on them.
    `addend` holds that from the addend of a multiply-add where it may arrive late, `flag_latency` that from any writer
    of flags to a reader. `ports` gives an instruction's micro-operations, each as the ports of which it takes one; none
    where renaming does the work. `busy` tells for how many cycles a port is taken where it is more than one. At most
    `issue_width` instructions are issued a cycle. `llvm` is what llvm-mca goes by, for cores that it has a model of.
    """

    name: str
    target: str
    issue_width: int
    latency: Mapping[str, int]
    ports: Mapping[str, tuple[Choice, ...]]
    busy: Mapping[str, int] = field(default_factory=dict)
    addend: Mapping[str, int] = field(default_factory=dict)
    flag_latency: int = 1
    in_order: bool = False
    llvm: Llvm | None = None

    def throughput(self, cost: str) -> float:
        """Cycles an instruction of this class takes when nothing but such instructions run; 0 where it takes no port.

        Micro-operations of one class that share ports are taken to use all of them evenly.
        """
        choices = self.ports[cost]
        times = [
            self.busy.get(cost, 1) * sum(set(other) <= set(one) for other in choices) / len(one) for one in choices
        ]
        return max([*times, 1 / self.issue_width] if times else [0.0])


@cache
def names(target: str) -> tuple[str, ...]:
    """The cores of a target that have tables, sorted."""
    found = (module.name for module in pkgutil.iter_modules(__path__))
    return tuple(
        sorted(name.removeprefix(f"{target}_").replace("_", "-") for name in found if name.startswith(f"{target}_"))
    )


@cache
def core(name: str, target: str) -> Core:
    """The core's tables; every target has `generic`. AsmgenError, with the nearest name, where there are none."""
    known = names(target)
    if name not in known:
        near = get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(known)}" if known else "amd64 or arm64"
        raise AsmgenError(f"there is no table of costs for the {target} core {name}", hint=hint)
    found = import_module(f"{__name__}.{target}_{name.replace('-', '_')}").CORE
    assert isinstance(found, Core)
    return found


#: AMD's cores with tables, by family and range of models.
_MODELS = {
    (23, range(0x30, 0x100)): "zen2",
    (25, range(0x00, 0x10)): "zen3",
    (25, range(0x10, 0x20)): "zen4",
    (25, range(0x20, 0x60)): "zen3",
    (25, range(0x60, 0x100)): "zen4",
    (26, range(0x100)): "zen5",
}


def of_model(family: int, model: int) -> str:
    """The core of an AMD CPU by the numbers that it gives itself; its numbers, where there is no table of it."""
    known = (name for (of, models), name in _MODELS.items() if of == family and model in models)
    return next(known, f"family-{family}-model-{model}")


def named(wish: str, targets: Sequence[str]) -> str:
    """The core that a user names, who may say `auto` for this machine's; UsageError for what no target has."""
    if wish == "auto":
        return at_hand()
    known = sorted({name for target in targets for name in names(target)})
    if wish not in known and not wish.startswith("family-"):
        near = get_close_matches(wish, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"auto, or one of {', '.join(known)}"
        raise UsageError(f"{' and '.join(targets)} have no core {wish}", hint=hint)
    return wish


def at_hand() -> str:
    """The core of this machine; the generic one where it cannot be told."""
    numbers = []
    with suppress(OSError):
        about = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
        numbers = [
            int(said[1]) for key in ("cpu family", "model") if (said := re.search(rf"^{key}\s*: (\d+)$", about, re.M))
        ]
    return of_model(*numbers) if len(numbers) == 2 else "generic"
