"""What registers and slots hold at one point of a routine, and the moves, loads and stores that change it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from asmgen.errors import AsmgenError, Source
from asmgen.passes.hints import Hints, Plain
from asmgen.passes.liveness import NEVER, Lives
from asmgen.passes.machine import Machine
from asmgen.passes.pairs import neighbor
from asmgen.targets.row import FRAME, Instruction, Label, Memory, Register, Virtual


@dataclass(frozen=True)
class Policy:
    """How to choose what leaves a register: the value with the largest distance^`reach` / (cost + 1).

    The distance is that to its next use, the cost how many instructions it takes to have it there then. Belady's rule
    is a large `reach`.
    """

    reach: float = 0.5
    keep_pointers: bool = False  #: hold a pointer as long as its words are needed, so that they can be read again


@dataclass(frozen=True)
class Context:
    """What does not change during allocation."""

    machine: Machine
    pool: tuple[Register, ...]  #: registers to give out, cheapest first
    lives: Lives
    homes: Mapping[Virtual, Memory]
    constants: Mapping[Virtual, int]
    prices: Mapping[Virtual, int]  #: instructions to make each constant
    policy: Policy
    plain: Plain  #: hints that are known of earlier attempts


@dataclass
class Registers:
    """A register holds at most one value; a value may be in several registers and in a slot as well.

    `now` is the position being placed. While `open`, homes may be read. `skip` is the other side of a branch, whose
    uses do not count.
    """

    context: Context
    held: dict[Register, Virtual] = field(default_factory=dict)
    where: dict[Virtual, list[Register]] = field(default_factory=dict)
    slots: dict[Virtual, int] = field(default_factory=dict)
    open: bool = True
    now: int = 0
    skip: tuple[int, int] | None = None
    hints: Hints = field(default_factory=Hints)
    source: Source | None = None
    items: list[Instruction | Label] = field(default_factory=list)
    snapshots: list[dict[Register, Virtual]] = field(default_factory=list)
    fresh: dict[Register, Virtual] = field(default_factory=dict)  #: what the last item has made
    reserved: frozenset[int] = frozenset()  #: slots that a loop's state is kept in between passes
    pledged: dict[Virtual, int] = field(default_factory=dict)  #: pointers to keep up to a position, used or not
    busy: frozenset[int] = frozenset()  #: slots that the instruction being placed reads or changes
    evicted: dict[Virtual, int] = field(default_factory=dict)  #: how often values lost their register while needed

    def fork(self) -> Registers:
        """The same state with nothing written yet."""
        where = {value: list(places) for value, places in self.where.items()}
        return replace(
            self,
            held=dict(self.held),
            where=where,
            slots=dict(self.slots),
            pledged=dict(self.pledged),
            items=[],
            snapshots=[],
            fresh={},
            evicted={},
        )

    def adopt(self, other: Registers) -> None:
        """Go on from a fork, with what it wrote."""
        self.settle()
        other.settle()
        self.held, self.where, self.slots = other.held, other.where, other.slots
        self.open, self.now, self.fresh = other.open, other.now, {}
        for value, times in other.evicted.items():
            self.evicted[value] = self.evicted.get(value, 0) + times
        self.items += other.items
        self.snapshots += other.snapshots

    # ---- writing ----

    def emit(self, item: Instruction | Label) -> None:
        """Append an item; the state still is the one before it."""
        self.settle()
        self.items.append(item)
        self.snapshots.append({})
        self.fresh = {}

    def settle(self) -> None:
        """Let the last item's listing be what it made and what is held now: the next one may have dropped it since."""
        if self.snapshots:
            self.snapshots[-1] = {**self.fresh, **self.held}

    # ---- what is known ----

    def uses_from(self, value: Virtual, position: int) -> int:
        """The first use at `position` or later; NEVER when there is none."""
        places = self.context.lives.uses.get(value)
        if places is None:
            return NEVER
        index = bisect_left(places, position)
        if self.skip is not None and index < len(places) and self.skip[0] <= places[index] <= self.skip[1]:
            index = bisect_left(places, self.skip[1] + 1)
        return places[index] if index < len(places) else NEVER

    def alive(self, value: Virtual, position: int) -> bool:
        """Whether the value is needed at `position` or later, see `needed`."""
        lives = self.context.lives
        last, skip = lives.ends.get(value, -1), self.skip
        if last >= position:
            if skip is None or not skip[0] <= last <= skip[1] or self.uses_from(value, position) != NEVER:
                return True
        homes = lives.bases.get(value)
        if homes is None:
            return False
        if self.pledged.get(value, -1) >= position:
            return True
        keep = self.context.policy.keep_pointers
        return self.open and any(
            (keep or (home not in self.where and home not in self.slots)) and self.alive(home, position)
            for home in homes
        )

    def closing(self, position: int) -> int:
        """The first store at `position` or later after which homes may have changed."""
        closings = self.context.lives.closings
        index = bisect_left(closings, position)
        if self.skip is not None and index < len(closings) and self.skip[0] <= closings[index] <= self.skip[1]:
            index = bisect_left(closings, self.skip[1] + 1)
        return closings[index] if index < len(closings) else NEVER

    def needed(self, value: Virtual, position: int) -> int:
        """When the value is next needed, at `position` or later.

        That is when it is used, when it must be saved before its home may change, or when words are read through it.
        """
        first = self.uses_from(value, position)
        homes = self.context.lives.bases.get(value)
        if homes is None:
            if self.open and first != NEVER and value in self.context.homes:
                return min(first, self.closing(position))
            return first
        pledged = self.pledged.get(value, -1)
        if pledged >= position:
            first = min(first, pledged)
        if self.open:
            keep = self.context.policy.keep_pointers
            for home in homes:
                if keep or (home not in self.where and home not in self.slots):
                    first = min(first, self.needed(home, position))
        return first

    def recoverable(self, value: Virtual) -> bool:
        """Whether the value can be had again without a store now."""
        if value in self.slots:
            return True
        price = self.context.prices.get(value)
        if price is not None:
            return price <= 2
        return self.readable(value)

    def readable(self, value: Virtual) -> bool:
        """Whether the value can be read from its home."""
        if not self.open or value not in self.context.homes:
            return False
        base = self.context.homes[value].base
        return base in self.where or base in self.slots

    def in_memory(self, value: Virtual) -> bool:
        """Whether an instruction could read it from memory."""
        return value in self.slots or self.readable(value)

    def soft_from(self, value: Virtual, position: int) -> bool:
        """Whether every use from `position` on can be of memory."""
        lives = self.context.lives
        if value not in self.slots and value in self.context.homes and self.closing(position) < lives.last(value):
            return False
        return lives.last_hard(value) < position

    def cheap(self, value: Virtual, position: int) -> bool:
        """Whether fetching the value again for a use from `position` on costs no more than a move now."""
        return self.recoverable(value) and self.loss(value, position) <= 1

    def loss(self, value: Virtual, position: int) -> int:
        """Instructions that it costs to take the value out of its only register before `position`."""
        price = self.context.prices.get(value)
        if price is not None and value not in self.slots:
            return min(price, 2)
        return (not self.recoverable(value)) + (not self.soft_from(value, position))

    # ---- changing ----

    def put(self, register: Register, value: Virtual) -> None:
        """The register, which is empty, now holds the value."""
        self.held[register] = self.fresh[register] = value
        self.where.setdefault(value, []).append(register)

    def clear(self, register: Register) -> None:
        """Forget what the register holds."""
        value = self.held.pop(register, None)
        if value is not None:
            places = self.where[value]
            places.remove(register)
            if not places:
                del self.where[value]

    def forget(self, value: Virtual) -> None:
        """The value is not needed any more."""
        for register in self.where.pop(value, ()):
            del self.held[register]
        self.slots.pop(value, None)

    def drop_dead(self, values: Iterable[Virtual], position: int) -> None:
        """Forget those that nothing needs from `position` on; pointers to homes are left to `drop_pointers`."""
        bases = self.context.lives.bases
        for value in values:
            if value not in bases and not self.alive(value, position):
                self.forget(value)

    def drop_pointers(self, pointers: Iterable[Virtual], position: int) -> None:
        """Forget those through which nothing need be read: all words still needed are in registers or slots."""
        for pointer in pointers:
            if not self.alive(pointer, position):
                self.forget(pointer)

    def sweep(self, position: int) -> None:
        """Forget everything that nothing needs from `position` on."""
        for value in [*self.where, *(each for each in self.slots if each not in self.where)]:
            if not self.alive(value, position):
                self.forget(value)

    def close(self) -> None:
        """Bring every home that is needed from now on to where a store to an output cannot change it."""
        needed = [home for home in self.context.homes if self.uses_from(home, self.now) != NEVER]
        while missing := [home for home in needed if home not in self.where and home not in self.slots]:
            # Loading one may drop another, which can be read again; what is loaded when none is free is saved.
            full = not self.free(())
            self.fetch(missing[0], self.take(missing[0], ()))
            if full:
                self.spill(missing[0])
        self.open = False
        self.sweep(self.now)

    def free(self, avoid: Collection[Register]) -> list[Register]:
        """Registers that hold nothing, cheapest first."""
        return [register for register in self.context.pool if register not in self.held and register not in avoid]

    def choose(self, value: Virtual, free: Iterable[Register]) -> Register | None:
        """Of these registers the best for a value that lives from now on: the one it wishes for, or the first that
        nothing else claims meanwhile, or the one that is claimed last. None when there is none.
        """
        hints, now = self.hints, self.now
        if not hints.claims and not hints.wishes:
            return next(iter(free), None)
        chain = hints.chain.get(value, value)
        wanted = hints.wanted(chain, now)
        best, latest = None, -1
        if wanted is not None:
            free = list(free)
            if wanted in free:
                if hints.suits(wanted, chain, now):
                    return wanted
                best, latest = wanted, hints.clash(wanted, chain, now)
        for register in free:
            clash = hints.clash(register, chain, now)
            if clash > latest:
                best, latest = register, clash
                if clash == NEVER:
                    break
        return best

    def find(self, value: Virtual, avoid: Collection[Register]) -> Register | None:
        """The best empty register for the value, if there is one."""
        held = self.held
        return self.choose(value, (each for each in self.context.pool if each not in held and each not in avoid))

    def take(self, value: Virtual, avoid: Collection[Register], since: int | None = None) -> Register:
        """A register for the value, emptied if none is free; `avoid` keeps what it holds. What is needed from `since`
        on is saved.
        """
        register = self.find(value, avoid)
        if register is None:
            since = self.now if since is None else since
            register = self.victim(avoid, since)
            self.evict(register, since)
        return register

    def victim(self, avoid: Collection[Register], since: int) -> Register:
        """The register whose value is best done without."""
        best, best_score = None, -1.0
        for register in self.context.pool:
            if register in avoid or register not in self.held:
                continue
            score = self.score(self.held[register], since)
            if score > best_score:
                best, best_score = register, score
        if best is None:
            raise self.too_few()
        return best

    def score(self, value: Virtual, since: int) -> float:
        """How well a register can do without the value: the distance to its next use, over what that costs."""
        next_use = self.needed(value, since)
        loss = 0 if next_use == NEVER or len(self.where[value]) > 1 else self.loss(value, since)
        return float(min(next_use - self.now + 1, 1 << 20) ** self.context.policy.reach / (loss + 1))

    def too_few(self) -> AsmgenError:
        """The error for an instruction that needs more registers than there are."""
        held = ", ".join(
            f"{register.name} {self.held[register].name or self.held[register]}"
            for register in self.context.pool
            if register in self.held
        )
        return AsmgenError(
            f"more registers are needed at once than the {len(self.context.pool)} there are: {held or 'none is free'}",
            source=self.source,
            hint="use fewer values at a time, or allow more registers",
        )

    def evict(self, register: Register, since: int) -> None:
        """Empty the register; what is needed from `since` on stays somewhere."""
        value = self.held[register]
        if len(self.where[value]) == 1 and self.alive(value, since):
            self.evicted[value] = self.evicted.get(value, 0) + 1
            if not self.recoverable(value):
                self.spill(value)
        self.clear(register)

    def spill(self, value: Virtual) -> None:
        """Store the value, which is in a register, in a slot of its own."""
        slot = self.new_slot()
        self.emit(
            self.context.machine.store(
                self.where[value][0], Memory(FRAME, 8 * slot), note=f"spill {value.name or value}"
            )
        )
        self.slots[value] = slot

    def new_slot(self) -> int:
        """The lowest slot that holds nothing needed."""
        for value in [each for each in self.slots if not self.alive(each, self.now)]:
            del self.slots[value]
        taken = {*self.slots.values(), *self.reserved, *self.busy}
        return next(slot for slot in range(len(taken) + 1) if slot not in taken)

    def move(self, value: Virtual, into: Register) -> None:
        """Copy a value that is in a register to another one, which is empty."""
        self.emit(self.context.machine.move(into, self.where[value][0], note=value.name))
        self.put(into, value)

    def fetch(self, value: Virtual, into: Register, *, alone: bool = False) -> None:
        """Bring a value into an empty register, from another register or from wherever it is; its neighbor too unless
        `alone`.
        """
        machine, slot = self.context.machine, self.slots.get(value)
        number = self.context.constants.get(value)
        if value in self.where:
            self.move(value, into)
        elif number is not None and (slot is None or self.context.prices[value] == 1):
            for instruction in machine.constant(into, number):
                self.emit(instruction)
            self.put(into, value)
        elif slot is not None:
            self.emit(machine.load(into, Memory(FRAME, 8 * slot), note=f"reload {value.name or value}"))
            self.put(into, value)
        else:
            self.load_home(value, into, alone)

    def load_home(self, value: Virtual, into: Register, alone: bool) -> None:
        """Load a word of an input buffer, and its neighbor with it when that saves an instruction."""
        machine, home = self.context.machine, self.context.homes.get(value)
        if home is None or not self.readable(value):
            raise AsmgenError(f"{value} is read before it has a value", source=self.source)
        assert isinstance(home.base, Virtual)
        if home.base in self.where:
            base = self.where[home.base][0]
        else:
            base = into  # the pointer passes through the register that the word goes to
            self.emit(machine.load(into, Memory(FRAME, 8 * self.slots[home.base]), note=f"reload {home.base.name}"))
        other = None if alone or base == into else neighbor(self, value)
        beside = None if other is None else self.find(other, (into,))
        if other is None or beside is None:
            self.emit(machine.load(into, Memory(base, home.offset), note=value.name))
            self.put(into, value)
            return
        below = self.context.homes[other].offset < home.offset
        pair = (beside, into) if below else (into, beside)
        place = Memory(base, min(home.offset, self.context.homes[other].offset))
        self.emit(
            machine.load_pair(
                *pair, place, note=f"{other.name} {value.name}" if below else f"{value.name} {other.name}"
            )
        )
        self.put(into, value)
        self.put(beside, other)
