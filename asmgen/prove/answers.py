"""The three answers of a proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from asmgen.errors import Source
from asmgen.prove.decode import Decoded


@dataclass(frozen=True)
class Place:
    """An instruction of the routine: its offset, its text, and the script line it comes from if that is known."""

    offset: int
    text: str
    source: Source | None = None

    def __str__(self) -> str:
        line = f" ({self.source.place}: {self.source.text})" if self.source is not None else ""
        return f"{self.offset:#x}: {self.text}{line}"


def place_of(decoded: Decoded | None, sources: Mapping[int, Source | None]) -> Place | None:
    """An instruction's place, None for none."""
    return None if decoded is None else Place(decoded.offset, decoded.text, sources.get(decoded.offset))


@dataclass(frozen=True)
class Proved:
    """Right for all inputs within the contract, under the assumptions.

    `argument` is how it was shown, a line a step; `runs` is how often the routine was followed.
    """

    seconds: float
    assumptions: tuple[str, ...]
    argument: tuple[str, ...]
    runs: int = 1

    word = "proved"


@dataclass(frozen=True)
class Refuted:
    """Wrong: an input within the contract for which the emulated routine gives something else.

    `inputs`, `wanted` and `got` are names with values as text; `place` is where the argument breaks, if it is known.
    """

    seconds: float
    reason: str
    inputs: tuple[tuple[str, str], ...]
    wanted: tuple[tuple[str, str], ...]
    got: tuple[tuple[str, str], ...]
    place: Place | None = None

    word = "WRONG"


@dataclass(frozen=True)
class NotProved:
    """Neither proved nor refuted: why, and where the argument breaks."""

    seconds: float
    reason: str
    place: Place | None = None

    word = "could not prove"


Answer = Proved | Refuted | NotProved
