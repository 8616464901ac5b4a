"""What every proof of a routine has, whichever way it goes about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from asmgen.prove.decode import Decoded
from asmgen.prove.routine import Described
from asmgen.prove.run import Runner, Stuck
from asmgen.targets.conventions import Convention


@dataclass
class Attempt:
    """A routine under proof; `argument` grows as its parts are shown, and has each step where it is `explained`.
    `constants` is its code, where that holds data that it reads."""

    most_cases: ClassVar[int]  #: that its meaning may have

    kernel: Described
    runner: Runner
    convention: Convention
    constant_time: bool = True
    constants: bytes = b""
    explained: bool = False
    argument: list[str] = field(default_factory=list)
    runs: int = 0
    cases: int = 0
    prime: bool = False

    def everything(self) -> None:
        """All ways to share buffers, or Stuck."""
        raise NotImplementedError

    def next_case(self, at: Decoded | None = None) -> None:
        """Count one more case of the meaning; Stuck, at an instruction, when there are too many."""
        self.cases += 1
        if self.cases > self.most_cases:
            raise Stuck(f"the meaning has more than {self.most_cases} cases", at) from None
