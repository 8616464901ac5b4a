"""The ports of an out-of-order core: which are free, and which of several free ones is taken, as llvm-mca has it."""

from __future__ import annotations

from asmgen.optimize.described import Class, Machine


class Ports:
    """Which are free, and which of a group's is next: `free[unit]` has a bit for each of its ports, `open` one for each
    unit that has any left."""

    def __init__(self, core: Machine) -> None:
        self.core = core
        self.free = [(1 << count) - 1 for count in core.units]
        self.open = (1 << len(core.units)) - 1
        self.all = [*self.free, *core.groups]
        self.turn = list(self.all)
        self.skipped = [0] * len(self.all)
        self.busy: dict[tuple[int, int], int] = {}

    def ready(self, number: int) -> int:
        """The parts of a unit or group that are free."""
        units = len(self.core.units)
        return self.free[number] if number < units else self.core.groups[number - units] & self.open

    def can(self, kind: Class) -> bool:
        """Whether an instruction may take its ports now."""
        if any(self.ready(number).bit_count() < need for number, _, need in kind.takes):
            return False
        if not kind.overlap:
            return True
        left: dict[int, int] = {}
        used = 0
        for number, _, _ in kind.takes:
            units = len(self.core.units)
            if number < units:
                left[number] = self.free[number].bit_count() - 1
                used |= 0 if left[number] else 1 << number
        for number, _, _ in kind.takes:
            if number >= units:
                parts = self.ready(number) & ~used
                if not parts:
                    return False
                top = parts.bit_length() - 1
                left.setdefault(top, self.free[top].bit_count())
                if not left[top]:
                    return False
                left[top] -= 1
                used |= 0 if left[top] else 1 << top
        return True

    def take(self, kind: Class, cycle: int) -> None:
        """Give an instruction its ports; of overlapping groups those with the fewest parts left choose first."""
        if not kind.overlap:
            for number, cycles, _ in kind.takes:
                self._use(number, cycle + cycles)
            return
        units = len(self.core.units)
        waiting = []
        for number, cycles, _ in kind.takes:
            if number >= units and self.ready(number).bit_count() > 1:
                waiting.append((number, cycles))
            else:
                self._use(number, cycle + cycles)
        while waiting:
            waiting.sort(key=lambda each: self.ready(each[0]).bit_count())
            later = []
            for at, (number, cycles) in enumerate(waiting):
                if at == 0 or self.ready(number).bit_count() == 1:
                    self._use(number, cycle + cycles)
                else:
                    later.append((number, cycles))
            waiting = later

    def release(self, cycle: int) -> None:
        """Free the ports whose time is over."""
        for (unit, port), until in list(self.busy.items()):
            if until == cycle:
                del self.busy[unit, port]
                self.free[unit] |= port
                self.open |= 1 << unit

    def _use(self, number: int, until: int) -> None:
        units = len(self.core.units)
        unit = number
        if number >= units:
            unit = self._next(number, self.ready(number)).bit_length() - 1
        port = self._next(unit, self.free[unit]) if self.core.units[unit] > 1 else 1
        self.busy[unit, port] = until
        self.free[unit] &= ~port
        if self.core.units[unit] > 1:
            self._used(unit, port)
        if not self.free[unit]:
            self.open &= ~(1 << unit)
            for group, parts in enumerate(self.core.groups, units):
                if parts >> unit & 1:
                    self._used(group, 1 << unit)

    def _next(self, number: int, ready: int) -> int:
        """The part whose turn it is; where none of those left in a round is free the next round begins."""
        if not ready & self.turn[number]:
            self.turn[number] = self.all[number] ^ self.skipped[number]
            self.skipped[number] = 0
        if not ready & self.turn[number]:
            self.turn[number] = self.all[number]
        part: int = 1 << (ready & self.turn[number]).bit_length() - 1
        self.turn[number] &= part | part - 1
        return part

    def _used(self, number: int, part: int) -> None:
        """A part was taken, by whomever: it has had its turn, in this round or in the next one."""
        if part > self.turn[number]:
            self.skipped[number] |= part
            return
        self.turn[number] &= ~part
        if not self.turn[number]:
            self.turn[number] = self.all[number] ^ self.skipped[number]
            self.skipped[number] = 0
