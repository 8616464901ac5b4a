"""Physical registers for virtual ones: one pass over each straight line, farthest next use first out.

What is needed again but has no register goes to a slot, unless it can be had more cheaply: words of input buffers are
read again until a store to an output may have changed them, constants are made again. On amd64 an operand may stay in
memory. A loop's state has the same registers and slots at both ends of the body; which values wait in slots is
decided by trial. The method is Belady's rule with costs (L. A. Belady, IBM Systems Journal 5(2), 1966), as in
linear-scan allocators for single-assignment code.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from asmgen.errors import AsmgenError
from asmgen.passes.early import load_early
from asmgen.passes.hints import Plain
from asmgen.passes.liveness import Fork, Line, Lives, Ring, number
from asmgen.passes.loops import Plan
from asmgen.passes.machine import Machine, machine
from asmgen.passes.pairs import pair_neighbors, pair_stores
from asmgen.passes.parts import Tally, place_parts
from asmgen.passes.registers import Context, Policy, Registers
from asmgen.routine import Allocated, Routine, Way
from asmgen.targets.conventions import Convention
from asmgen.targets.conventions import convention as convention_named
from asmgen.targets.row import FRAME, Instruction, Memory, Operand, Register

#: Tried one after the other when values had to leave registers, and the best one kept.
_POLICIES = (Policy(), Policy(reach=3.0), Policy(keep_pointers=True))


def allocate(
    routine: Routine, *, registers: int | None = None, keep_frame_pointer: bool = False, convention: str | None = None,
    way: Way | None = None,
) -> Allocated:  # fmt: skip
    """The routine with physical registers, spilled values in slots `Memory(FRAME, 8 * slot)`, labels for its loops
    and branches.

    Arguments arrive where the calling convention puts them (those on the stack in slots -1, -2, …); the returned bit
    is left in the convention's result register. `registers` limits how many registers are given out. Several policies
    are tried and the result with the fewest instructions, saves and restores included, is taken; with a `way` that one
    alone. Raises AsmgenError when an instruction needs more registers at once than there are.
    """
    problem = _problem(routine, registers, keep_frame_pointer, convention)
    if way is not None:
        return _finished(routine, problem, _attempt(problem, problem.having(way.saved), _POLICIES[way.policy]))
    best = _attempt(problem, problem.order, _POLICIES[0])
    if sum(best.registers.evicted.values()) > 1:
        for policy in _POLICIES[1:]:
            best = min(best, _attempt(problem, problem.order, policy), key=lambda each: each.price)
    while (smaller := _without_saves(problem, best)) is not None:
        try:
            made = _attempt(problem, smaller, best.policy)
        except AsmgenError:
            break
        if made.price >= best.price:
            break
        best = made
    return _finished(routine, problem, best)


def _finished(routine: Routine, problem: _Problem, best: _Solution) -> Allocated:
    items, holds = load_early(best.registers.items, best.registers.snapshots, problem.machine)
    items, holds = pair_neighbors(items, holds, problem.machine)
    named = tuple({register: value.name or str(value) for register, value in held.items()} for held in holds)
    pool = best.registers.context.pool
    saved = None if pool == problem.order else tuple(register.name for register in problem.saved(pool))
    return Allocated(routine, tuple(items), best.slots, named, Way(_POLICIES.index(best.policy), saved))


@dataclass(frozen=True)
class _Problem:
    """A routine with positions, on one machine under one convention."""

    routine: Routine
    machine: Machine
    convention: Convention
    parts: tuple[Line | Ring | Fork, ...]
    lives: Lives
    end: int
    order: tuple[Register, ...]  #: registers to give out, cheapest first
    plans: dict[int, Plan] = field(default_factory=dict)  #: the best way found so far to begin each loop
    plain: Plain = field(default_factory=dict)  #: hints that hold for every attempt

    def saved(self, used: Sequence[Register]) -> list[Register]:
        """Those of these registers that must be saved."""
        return [register for register in used if register.name in self.convention.preserved]

    def having(self, saved: Collection[str] | None) -> tuple[Register, ...]:
        """The registers to give out when of those that must be saved there are only these, by name."""
        preserved = self.convention.preserved
        return tuple(each for each in self.order if saved is None or each.name in saved or each.name not in preserved)

    def frame_price(self, used: Sequence[Register], slots: int) -> int:
        """Instructions to save and restore registers, and to make room for slots."""
        saves = len(self.saved(used))
        if self.machine.pairs:
            signed = any(register.name == "x30" for register in used)  # a return address on the stack is signed
            return 2 * max((saves + 1) // 2, slots > 0) + signed
        return 2 * (saves + (slots > 0))


@dataclass(frozen=True)
class _Solution:
    registers: Registers
    policy: Policy
    used: tuple[Register, ...]
    price: int
    slots: int


def _problem(routine: Routine, limit: int | None, keep_frame_pointer: bool, name: str | None) -> _Problem:
    target = machine(routine.target)
    rules = convention_named(name, routine.target)
    paired = pair_stores(routine, target)
    parts, lives, end = number(paired, target)
    pool = tuple(target.registers[each] for each in rules.pool(keep_frame_pointer=keep_frame_pointer))
    fixed = _fixed(parts)
    missing = [register.name for register in fixed if register not in pool]
    if missing:
        raise AsmgenError(f"an instruction needs {missing[0]}, which this calling convention keeps for others")
    if limit is not None:
        used = {*lives.uses, *(base for base, homes in lives.bases.items() if not lives.uses.keys().isdisjoint(homes))}
        places = zip(rules.arguments, routine.arguments, strict=False)
        arriving = [target.registers[name] for name, value in places if value in used]
        first = dict.fromkeys([*fixed, *arriving, *pool])
        names = ", ".join(register.name for register in fixed)
        if limit < max(1, len(fixed)):
            raise AsmgenError(
                f"{limit} registers are too few: the instructions use {names or 'one at least'}",
                hint=f"allow at least {max(1, len(fixed))} registers",
            )
        allowed = set([each for each in first if each in pool][:limit])
        pool = tuple(each for each in pool if each in allowed)
    return _Problem(paired, target, rules, parts, lives, end, pool)


def _fixed(parts: Sequence[Line | Ring | Fork]) -> list[Register]:
    """Registers that instructions insist on, in the order met."""
    found: dict[Register, None] = {}
    for line in _lines(parts):
        for ways in line.shapes:
            found.update((register, None) for _, _, register in (*ways[0].fixed_reads, *ways[0].fixed_outs))
            found.update((register, None) for _, _, register in ways[0].ties if register is not None)
    return list(found)


def _lines(parts: Sequence[Line | Ring | Fork]) -> Iterator[Line]:
    for part in parts:
        if isinstance(part, Line):
            yield part
        elif isinstance(part, Ring):
            yield part.body
        else:
            yield from _lines((*part.then, *part.otherwise))


def _attempt(problem: _Problem, pool: tuple[Register, ...], policy: Policy) -> _Solution:
    """The whole routine with these registers."""
    routine, target = problem.routine, problem.machine
    prices = {value: len(target.constant(pool[0], number)) for value, number in routine.constants.items()}
    homes, constants = routine.homes, routine.constants
    registers = Registers(Context(target, pool, problem.lives, homes, constants, prices, policy, problem.plain))
    _arrive(registers, problem)
    result = target.registers[problem.convention.result]
    tally = Tally(plans=problem.plans)
    place_parts(registers, problem.parts, {} if routine.returns is None else {routine.returns: result}, tally)
    registers.now, registers.source = problem.end, None
    if routine.returns is not None and registers.held.get(result) != routine.returns:
        registers.clear(result)
        registers.fetch(routine.returns, result, alone=True)
    registers.settle()
    named = {operand for operand in _operands(registers) if isinstance(operand, Register)}
    used = tuple(register for register in pool if register in named)
    offsets = [each.offset for each in _operands(registers) if isinstance(each, Memory) and each.base == FRAME]
    slots = 1 + max(offsets, default=-8) // 8
    price = len(registers.items) + tally.extra + problem.frame_price(used, slots)
    return _Solution(registers, policy, used, price, slots)


def _operands(registers: Registers) -> Iterator[Operand]:
    """All operands of what was written."""
    for item in registers.items:
        if isinstance(item, Instruction):
            yield from item.operands


def _arrive(registers: Registers, problem: _Problem) -> None:
    """The arguments where the caller left them; those in registers that may not be given out go elsewhere."""
    convention, machine = problem.convention, problem.machine
    for index, value in enumerate(problem.routine.arguments):
        if index < len(convention.arguments):
            registers.put(machine.registers[convention.arguments[index]], value)
        else:
            registers.slots[value] = len(convention.arguments) - index - 1
    registers.sweep(0)
    for register in [each for each in registers.held if each not in registers.context.pool]:
        value = registers.held[register]
        free = registers.free(())
        if free:
            registers.move(value, free[0])
        else:
            registers.spill(value)
        registers.clear(register)


def _without_saves(problem: _Problem, best: _Solution) -> tuple[Register, ...] | None:
    """The registers to give out without the last used one that must be saved (two where they are saved in pairs)."""
    saved = problem.saved(best.used)
    if not saved:
        return None
    kept = saved[: -(2 - len(saved) % 2 if problem.machine.pairs else 1)]
    return problem.having({register.name for register in kept})
