"""Cores and instructions of arm64 as the numbers that `simulate.py` and `model.c` read."""

from __future__ import annotations

from array import array

from asmgen.errors import AsmgenError
from asmgen.optimize.described import FLAGS, READS, TAKES, WRITES, ZERO
from asmgen.targets import arm64
from asmgen.targets.cores import Core, Llvm, _arm64
from asmgen.targets.row import Instruction, Register, Virtual

Pair = tuple[int, int]
_FLAGS = Register("flags", -2)
_SUMS = ("alu", "flags", "logic_flags", "shifted", "logic_shifted")


def model_of(core: Core) -> Llvm:
    """The core's model; AsmgenError where it has none."""
    if core.target != "arm64" or core.llvm is None:
        raise AsmgenError(
            f"there is no model of the {core.target} core {core.name}",
            hint="those of asmgen.optimize.model.modelled() have one",
        )
    return core.llvm


def machine(core: Core) -> array[int]:
    """The core as `described.Machine` reads it."""
    model = model_of(core)
    classes = sorted(core.latency)
    groups: list[tuple[int, ...]] = []
    taken = [_takes(cost, core, model, groups) for cost in classes]
    lines: list[int] = []
    for cost, takes in zip(classes, taken, strict=True):
        memory = 1 if cost.startswith("load") else 2 if cost.startswith("store") else 0
        seen = [number for number, _, _ in takes if number >= len(model.units)]
        parts = [unit for number in seen for unit in groups[number - len(model.units)]]
        numbers = [number for triple in takes for number in triple]
        lines += [
            model.micro_ops.get(cost, 1), _own(cost, core, model), memory, int(cost in model.any_order),
            int(len(set(parts)) < len(parts)), len(takes), *numbers, *[0] * (3 * TAKES - len(numbers)),
            taken.index(takes),
        ]  # fmt: skip
    early = [
        each.cycles if not each.after or cost in each.after else 0 for each in model.early.values() for cost in classes
    ]
    return array("i", [
        model.width, model.buffer, len(model.units), len(groups), len(classes), len(model.early),
        *map(len, model.units), *(sum(1 << unit for unit in group) for group in groups), *lines, *early,
    ])  # fmt: skip


def _takes(cost: str, core: Core, model: Llvm, groups: list[tuple[int, ...]]) -> list[tuple[int, int, int]]:
    """The ports of a class: (unit or group, cycles, units that have to be free), the smaller ones first.

    Those that choose among the same ports take one of them for longer. Groups are numbered after the units as they
    come; one has to have as many units free as it and those inside it take.
    """
    unit_of = {port: at for at, unit in enumerate(model.units) for port in unit}
    busy = model.busy.get(cost, core.busy.get(cost, 1))
    cycles: dict[tuple[int, ...], int] = {}
    for choice in core.ports[cost]:
        units = tuple(sorted({unit_of[port] for port in choice}))
        assert set(choice) == {port for unit in units for port in model.units[unit]}, (core.name, cost, choice)
        cycles[units] = cycles.get(units, 0) + busy
    found = []
    for units in sorted(cycles, key=lambda units: (len(units), units)):
        number, need = units[0], 1
        if len(units) > 1:
            if units not in groups:
                groups.append(units)
            number = len(model.units) + groups.index(units)
            need += sum(set(other) < set(units) for other in cycles)
        found.append((number, cycles[units], need))
    return found


class Lines:
    """Instructions by and by: `numbers` has those of each, `registers` how many registers there are so far.

    With `llvm`, opcodes have numbers by which `described.described` knows them again.
    """

    def __init__(self, core: Core, *, llvm: bool) -> None:
        self.core, self.model, self.llvm = core, model_of(core), llvm
        self.numbers = array("i")
        self._classes = {cost: number for number, cost in enumerate(sorted(core.latency))}
        self._purposes = {name: number for number, name in enumerate(self.model.early, 1)}
        self._opcodes: dict[str, int] = {}
        self._known: dict[Register | Virtual, int] = {_FLAGS: FLAGS, arm64.XZR: ZERO}

    @property
    def registers(self) -> int:
        return len(self._known)

    def register(self, register: Register | Virtual) -> int:
        """Its number."""
        return self._known.setdefault(register, len(self._known))

    def add(self, instruction: Instruction) -> None:
        """One more."""
        cost, opcode = _cost(instruction), _arm64.opcode(instruction.row)
        shared = 0
        if self.llvm and opcode not in self.model.variants:
            shared = self._opcodes.setdefault(opcode, len(self._opcodes) + 1)
        own = _own(cost, self.core, self.model)
        reads, writes = self._reads(instruction, cost), self._writes(instruction, cost, own)
        first = min([own, *(latency for register, latency in writes if register != ZERO)])
        line = (self._classes[cost], first, shared, *_filled(reads, READS), *_filled(writes, WRITES))
        self.numbers.extend(line)

    def _reads(self, instruction: Instruction, cost: str) -> list[Pair]:
        """The registers read and what for, in the order of LLVM's operands."""
        row, read = instruction.row, list(instruction.read)
        if cost == "pac":
            read.append(arm64.SP)
        if cost.endswith("_moving"):
            del read[-1]  # the address is the stack pointer, which is an operand too
        _, before, after = _arm64.WITH_ZERO.get(row.mnemonic, ("", 0, 0))
        read = [*[arm64.XZR] * before, *read * (2 if row.mnemonic in _arm64.TWICE else 1), *[arm64.XZR] * after]
        purposes = ("sum", "shifted") if _shifts(instruction) else _arm64.READS.get(cost, ("",))
        found = [
            (self.register(register), self._purposes.get(purposes[min(at, len(purposes) - 1)], 0))
            for at, register in enumerate(read)
        ]
        return [*found, (FLAGS, 0)] if row.reads else found

    def _writes(self, instruction: Instruction, cost: str, own: int) -> list[Pair]:
        """The registers written and when."""
        latencies = self.model.latency.get(cost, ())[1:] or (own,)
        written = sorted(instruction.written, key=lambda register: register == arm64.SP)
        if instruction.row.mnemonic in _arm64.COMPARING:
            written = [arm64.XZR]
        found = [(self.register(each), latencies[min(at, len(latencies) - 1)]) for at, each in enumerate(written)]
        return [*found, (FLAGS, own)] if instruction.row.flags_touched else found


def _own(cost: str, core: Core, model: Llvm) -> int:
    """Cycles that an instruction of a class takes in all."""
    return model.latency.get(cost, (core.latency[cost],))[0]


def _filled(pairs: list[Pair], most: int) -> list[int]:
    assert len(pairs) <= most
    return [len(pairs), *(number for pair in pairs for number in pair), *[0] * (2 * (most - len(pairs)))]


def _shifts(instruction: Instruction) -> bool:
    """Whether the second of two registers is shifted, by more than nothing."""
    last = instruction.operands[-1]
    return instruction.row.cost in _SUMS and isinstance(last, int) and last > 0 and len(instruction.read) == 2


def _cost(instruction: Instruction) -> str:
    """The class by which LLVM's models go where they are finer than ours."""
    row = instruction.row
    if row.name == "movz" and instruction.operands[1] == 0:
        return "move"
    if row.name == "extr" and instruction.operands[1] == instruction.operands[2]:
        return "ror"
    return "shifted" if row.cost == "logic_flags" and _shifts(instruction) else row.cost
