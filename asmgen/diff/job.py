"""Kernels on one target against everything that the user names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from asmgen.diff.body import ours
from asmgen.diff.comparison import Comparison, Side, compare, follow, modelled, timed
from asmgen.diff.layout import Layout
from asmgen.diff.same import Expected, Sameness, same
from asmgen.diff.sources import Source, Wishes, layout_of
from asmgen.diff.verdict import LOOK, SHIP, TAKE, Verdict, verdict
from asmgen.errors import AsmgenError, UsageError
from asmgen.function import Function
from asmgen.passes import Options
from emulate.follow import LIMIT


@dataclass(frozen=True)
class How:
    """How to compare: with which others, on how many vectors of which seed, modelled on which cores."""

    wishes: Wishes = field(default_factory=Wishes)
    vectors: int = 2048
    seed: int = 1
    cores: tuple[str, ...] = ()
    model: bool = True
    measure: bool = False  #: run what is the same function on this machine's CPU, too
    limit: int = LIMIT  #: instructions of a call that are followed


@dataclass(frozen=True)
class Failed:
    """Something that could not be compared, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Case:
    """What came of it, in the order of the sources."""

    function: Function
    target: str
    ours: Side
    comparisons: tuple[Comparison, ...]
    verdicts: tuple[Verdict, ...]
    failed: tuple[Failed, ...]
    equal: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  #: other sources of the very same code, by name

    def also(self, made: Comparison) -> str:
        """What else is this very code, in words."""
        return "".join(f" = {name}" for name in self.equal.get(made.theirs.body.name, ()))

    @property
    def same(self) -> bool:
        """Whether everything could be compared and is the same function."""
        return not self.failed and all(each.same is None or each.same.holds for each in self.comparisons)

    @property
    def best(self) -> int | None:
        """The other one that does best: by modelled cycles where there are any, else by instructions executed."""
        order = sorted(range(len(self.comparisons)), key=lambda index: (_cost(self.comparisons[index]), index))
        return order[0] if order else None


def _cost(made: Comparison) -> float:
    figures = made.theirs.figures
    mine = made.ours.figures
    shared = [each for each in mine.cycles if each in figures.cycles]
    return sum(figures.cycles[each] / mine.cycles[each] for each in shared) / len(shared) if shared else figures.cost


def case(function: Function, target: str, sources: Sequence[Source], how: How) -> Case:
    """Compare a kernel's routine with each source."""
    (made,) = cases([(function, how)], target, sources)
    if isinstance(made, Exception):
        raise made
    return made


def cases(
    asked: Sequence[tuple[Function, How]], target: str, sources: Sequence[Source]
) -> Iterator[Case | Exception]:
    """Compare each kernel's routine with each source; in its place what it failed by. Raises UsageError.

    Everything is modelled by few runs of llvm-mca, which is another process: emulation goes on meanwhile.
    """
    followed = [_tried(partial(_followed, function, target, sources, how)) for function, how in asked]
    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(_modelled, [each for each in followed if isinstance(each, _Followed)])
        judged = [each if isinstance(each, Exception) else _tried(each.judged) for each in followed]
        sides = iter(pending.result())
    for one, holds in zip(followed, judged, strict=True):
        if isinstance(one, Exception):
            yield one
            continue
        mine = next(sides)
        yield holds if isinstance(holds, Exception) else _tried(partial(one.concluded, mine, holds))


Made = TypeVar("Made")


def _tried(make: Callable[[], Made]) -> Made | Exception:
    """What is made, or what that failed by: one kernel's fault is not to hide what comes of the others."""
    try:
        return make()
    except UsageError:
        raise
    except Exception as error:
        return error


@dataclass(frozen=True)
class _Followed:
    """A kernel's routine, first of the sides, and those of the sources, each followed on the same calls."""

    function: Function
    how: How
    layout: Layout | None
    sides: tuple[Side, ...]
    failed: tuple[Failed, ...]
    equal: Mapping[str, tuple[str, ...]]

    def judged(self) -> list[Sameness]:
        """Whether each source's is the same function."""
        expected = _once(self.function)
        return [same(self.function, side.body, self.how.vectors, self.how.seed, expected) for side in self.sides[1:]]

    def concluded(self, sides: Sequence[Side], judged: Sequence[Sameness]) -> Case:
        """The comparison of these sides, which may have cycles, with what was judged of them."""
        if self.how.measure:
            sides = timed(self.function, sides, [True, *(each.holds for each in judged)], self.layout)
        advice = TAKE if self.how.wishes.against else LOOK if self.how.wishes.since else SHIP
        made = [compare(sides[0], side, sameness) for side, sameness in zip(sides[1:], judged, strict=True)]
        verdicts = tuple(verdict(each, advice) for each in made)
        target = sides[0].body.target
        return Case(self.function, target, sides[0], tuple(made), verdicts, self.failed, self.equal)


def _followed(function: Function, target: str, sources: Sequence[Source], how: How) -> _Followed:
    mine = follow(function, ours(function, Options(target, how.wishes.features)), limit=how.limit)
    layout = layout_of(function.signature, how.wishes)
    sides: list[Side] = [mine]
    failed = []
    known: dict[bytes, str] = {}
    equal: dict[str, tuple[str, ...]] = {}
    for source in sources:
        try:
            body = source.body(function)
            if body is None:
                continue
            first = known.setdefault(body.text, body.name)
            if first != body.name:
                equal[first] = (*equal.get(first, ()), body.name)
                continue
            sides.append(follow(function, body, layout, how.limit, mine.calls))
        except UsageError:
            raise
        except AsmgenError as error:
            failed.append(Failed(source.name, str(error)))
    return _Followed(function, how, layout, tuple(sides), tuple(failed), equal)


def _modelled(followed: Sequence[_Followed]) -> list[Sequence[Side]]:
    """The sides of each, with their modelled cycles where these are wanted; all are modelled on the same cores."""
    wanted = [each for each in followed if each.how.model]
    every = [side for each in wanted for side in each.sides]
    found = iter(modelled(every, wanted[0].how.cores if wanted else ()))
    return [[next(found) for _ in each.sides] if each.how.model else each.sides for each in followed]


def _once(function: Function) -> Expected:
    """What the function must give, worked out once for the same arguments: all sources get the same."""
    known: dict[tuple[Any, ...], tuple[int, ...]] = {}

    def expected(meant: Sequence[Any]) -> tuple[int, ...]:
        key = tuple(meant)
        if key not in known:
            known[key] = function.expected(meant)
        return known[key]

    return expected


#: Kernels of one script, and a target.
Job = tuple[tuple[Function, ...], str]


def by_script(functions: Sequence[Function]) -> Iterator[list[Function]]:
    """The functions of each script, in order."""
    groups: dict[str, list[Function]] = {}
    for function in functions:
        groups.setdefault(function.file, []).append(function)
    yield from groups.values()
