"""What random walks through instructions come to: rows in turn, and how much was compared."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

Made = TypeVar("Made")


@dataclass
class Tally:
    """Comparisons of one register or flag after one instruction, by row; what differed, in words."""

    compared: Counter[str] = field(default_factory=Counter)
    ran: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)
    left_out: int = 0  #: instructions that an engine is known to get wrong, and those after them in their walk

    def add(self, other: Tally) -> None:
        """Count another's too."""
        self.compared.update(other.compared)
        self.ran.update(other.ran)
        self.differences += other.differences
        self.left_out += other.left_out

    @property
    def total(self) -> int:
        """All comparisons."""
        return self.compared.total()


class Turns:
    """Rows one after the other, each as often as every other: those that do not fit come up again."""

    def __init__(self, names: Iterable[str], rng: random.Random) -> None:
        self.names, self.rng = list(names), rng
        self.waiting: deque[str] = deque()

    def first(self, made: Callable[[str], Made | None]) -> Made:
        """What is made of the first row of which something can be made."""
        while True:
            for name in self.waiting:
                found = made(name)
                if found is not None:
                    self.waiting.remove(name)
                    return found
            self.waiting.extend(self.rng.sample(self.names, len(self.names)))


def told(wanted: Mapping[str, int], got: Mapping[str, int]) -> str:
    """The values that differ."""
    return ", ".join(f"{name} is {got[name]:#x}, not {wanted[name]:#x}" for name in wanted if wanted[name] != got[name])
