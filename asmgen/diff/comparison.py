"""Two routines held against each other: what each is, which lines are the same step, why others are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from asmgen.bench import timer
from asmgen.diff import mca
from asmgen.diff.align import Matches, rows
from asmgen.diff.body import Body
from asmgen.diff.calls import groups
from asmgen.diff.classes import CAUSES, causes
from asmgen.diff.figures import Figures, chain, figures, kinds, live, standing
from asmgen.diff.layout import Layout
from asmgen.diff.lines import Line
from asmgen.diff.same import Sameness, same
from asmgen.diff.steps import Run, runs
from asmgen.function import Function
from emulate.follow import LIMIT, TooLong
from emulate.inputs import Input

#: Calls that differ only in secrets.
Group = Sequence[tuple[Input, ...]]

#: Inputs with which each path is followed: enough that a bit is not taken for another one.
CALLS = 8
#: The same where a call takes more instructions than LONG, and its values are told apart by their number.
FEW, LONG = 4, 1500


@dataclass(frozen=True)
class Side:
    """A routine that was followed: its paths, the class of each line reached (by offset), what was counted, and with
    how many inputs."""

    body: Body
    runs: list[Run]
    kinds: Mapping[int, str]
    figures: Figures
    calls: int = 0

    @cached_property
    def lines(self) -> dict[int, Line]:
        """The lines of every function that was entered, those never reached too."""
        entered = {self.body.function_at(offset)[:2] for offset in self.kinds}
        mine = dict(self.body.lines)
        mine.update((step.line.offset, step.line) for run in self.runs for step in run.steps)
        return {at: mine[at] for at in sorted(mine) if any(start <= at < end for start, end in entered)}

    @cached_property
    def depths(self) -> list[int]:
        """The cycle in which each step of the usual path is done, by dependences alone."""
        return [cycle for cycle, _ in chain(self.body.target, self.runs[0])] if self.runs else []

    @cached_property
    def pressure(self) -> list[int]:
        """Live registers before each step of the usual path."""
        return live(self.body.target, self.runs[0].steps) if self.runs else []

    @property
    def varies(self) -> bool:
        """Whether its path depends on secrets."""
        return any(run.varies for run in self.runs)


def follow(function: Function, body: Body, layout: Layout | None = None, limit: int = LIMIT, count: int = 0) -> Side:
    """Follow a routine on the kernel's inputs, which are the same for every routine.

    `count` is the number of inputs with which another one was followed that it is to be held against. What takes more
    than `limit` instructions a call is not followed: its lines are counted as they stand.
    """
    tries = [(count, limit)] if count else [(CALLS, min(LONG, limit)), (FEW, limit)][: 2 if limit > LONG else 1]
    for calls, most in tries:
        try:
            followed = runs(body, _given(function, groups(function.signature, calls), layout), most)
        except TooLong:
            continue
        return Side(body, followed, kinds(followed), figures(body.target, followed), calls)
    start, end, _ = body.function_at(body.entry if body.start is None else body.start)
    lines = {at: line for at, line in body.lines.items() if start <= at < end}
    return Side(body, [], {at: line.kind for at, line in lines.items()}, standing(list(lines.values())))


def _given(function: Function, made: Sequence[Group], layout: Layout | None) -> list[list[tuple[Input, ...]]]:
    """The calls as a routine of this layout takes them."""
    if layout is None:
        return [list(group) for group in made]
    return [[layout.inputs(function.signature, call) for call in group] for group in made]


@dataclass(frozen=True)
class Comparison:
    """Our side and another one. `partners[side]` gives each line's counterparts, by offset, the best first; `causes`
    why the others have none, `pairs` which offsets share a row of the two listings."""

    ours: Side
    theirs: Side
    same: Sameness | None
    partners: tuple[Mapping[int, list[int]], Mapping[int, list[int]]]
    causes: tuple[Mapping[int, str], Mapping[int, str]]
    rows: tuple[tuple[int | None, int | None], ...]

    def matched(self, side: int, kind: str | None = None) -> tuple[int, int]:
        """(lines that have a counterpart, all lines), of one class or of all."""
        held = self.sides[side]
        wanted = [at for at, each in held.kinds.items() if kind in (None, each)]
        return sum(bool(self.partners[side].get(at)) for at in wanted), len(wanted)

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.ours, self.theirs

    def unmatched(self, side: int) -> dict[str, int]:
        """How many lines of a side have no counterpart, by cause."""
        counted = Counter(self.causes[side].values())
        return {cause: counted[cause] for cause in CAUSES if counted[cause]}


def compare(ours: Side, theirs: Side, sameness: Sameness | None) -> Comparison:
    """Match two routines that were followed on the same calls."""
    if not ours.runs or not theirs.runs:
        apart = tuple(rows(list(ours.lines), list(theirs.lines), {}))
        return Comparison(ours, theirs, sameness, ({}, {}), ({}, {}), apart)
    matches = Matches()
    steps = [matches.add(mine.steps, yours.steps) for mine, yours in zip(ours.runs, theirs.runs, strict=True)]
    partners = tuple({at: found for at in each.kinds if (found := matches.of(side, at))}
                     for side, each in enumerate((ours, theirs)))  # fmt: skip
    why = []
    for side, (mine, yours) in enumerate(((ours, theirs), (theirs, ours))):
        done = [{pair[side] for pair in found} for found in steps]
        every = causes(mine.runs, yours.runs, done)
        why.append({at: every.get(at, "step of its own") for at in mine.kinds if at not in partners[side]})
    best = {at: found[0] for at, found in partners[0].items()}
    aligned = tuple(rows(list(ours.lines), list(theirs.lines), best))
    return Comparison(ours, theirs, sameness, (partners[0], partners[1]), (why[0], why[1]), aligned)


def modelled(sides: Sequence[Side], cores: Sequence[str]) -> list[Side]:
    """The sides, of one target, with their modelled cycles."""
    followed = [side for side in sides if side.runs]
    if not followed:
        return list(sides)
    found = iter(mca.table(sides[0].body.target, cores, [side.runs[0] for side in followed]))
    tables = [next(found) if side.runs else {} for side in sides]
    return [
        replace(side, figures=replace(side.figures, cycles=table)) for side, table in zip(sides, tables, strict=True)
    ]


def timed(function: Function, sides: Sequence[Side], right: Sequence[bool], layout: Layout | None) -> list[Side]:
    """The sides with their measured cycles, of which the first is ours; what is not `right` is not run."""
    usual = [groups(function.signature, 1)[0]]
    ours, theirs = (_given(function, usual, each)[0][0] for each in (None, layout))
    wanted = [index for index, each in enumerate(right) if each]
    found = timer.measured([(sides[index].body, theirs if index else ours) for index in wanted])
    made = list(sides)
    for index, cycles in zip(wanted, found, strict=True):
        made[index] = replace(made[index], figures=replace(made[index].figures, measured=cycles))
    return made


__all__ = ["Comparison", "Side", "compare", "follow", "modelled", "same", "timed"]
