"""Which instruction of one routine is which of the other: by the values they make, in order where that decides."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from asmgen.diff.steps import COMPUTING, Step, Value

#: Of more occurrences of one value than this the nearest are not looked for: they are taken in order.
_MANY = 40


@dataclass(frozen=True)
class Made:
    """A value that step `step` makes, as one of `kind`."""

    step: int
    kind: str
    value: Value

    @property
    def group(self) -> str:
        """Kinds that may make the same step of a computation."""
        return "computing" if self.kind in COMPUTING else self.kind


def made(steps: Sequence[Step]) -> list[Made]:
    """All values in order. What makes none is known by its kind: returns, marks, branches."""
    found = []
    for index, step in enumerate(steps):
        values = step.values
        if not values and step.kind in ("branches", "marks", "frame"):
            values = ((hash_of(step.line.control or step.line.mnemonic),),)
        found += [Made(index, step.kind, value) for value in values]
    return found


def hash_of(name: str) -> int:
    """A number for a name, the same on every machine."""
    return int.from_bytes(name.encode(), "little")


def pairs(ours: Sequence[Step], theirs: Sequence[Step]) -> list[tuple[int, int]]:
    """Steps that make the same value, each value once; sorted, without repetitions."""
    one, other = made(ours), made(theirs)
    matched: list[tuple[int, int]] = []
    left, right = set(range(len(one))), set(range(len(other)))
    skeleton: list[tuple[int, int]] = []
    for key in (_by_kind, _by_group):
        mine, yours = _places(one, left, key), _places(other, right, key)
        fresh = [(mine[value][0], yours[value][0]) for value in mine
                 if len(mine[value]) == 1 and len(yours.get(value, ())) == 1]  # fmt: skip
        if not skeleton:
            skeleton = increasing(fresh)
        for value, places in mine.items():
            if value in yours and (len(places) > 1 or len(yours[value]) > 1):
                fresh += nearest_pairs(places, yours[value], skeleton)
        left -= {a for a, _ in fresh}
        right -= {b for _, b in fresh}
        matched += fresh
    return sorted({(one[a].step, other[b].step) for a, b in matched})


def _by_kind(item: Made) -> object:
    return item.kind, item.value


def _by_group(item: Made) -> object:
    return item.group, item.value


def _places(items: Sequence[Made], still: set[int], key: object) -> dict[object, list[int]]:
    found: dict[object, list[int]] = {}
    for index in sorted(still):
        found.setdefault(key(items[index]), []).append(index)  # type: ignore[operator]
    return found


def increasing(found: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of the pairs that keeps both orders (patience sorting)."""
    tails: list[int] = []
    piles: list[int] = []
    before: list[int] = []
    ordered = sorted(found)
    for index, (_, place) in enumerate(ordered):
        pile = bisect_left(tails, place)
        before.append(piles[pile - 1] if pile else -1)
        if pile == len(tails):
            tails.append(place)
            piles.append(index)
        else:
            tails[pile], piles[pile] = place, index
    chosen = []
    index = piles[-1] if piles else -1
    while index >= 0:
        chosen.append(ordered[index])
        index = before[index]
    return chosen[::-1]


def nearest_pairs(
    mine: Sequence[int], yours: Sequence[int], skeleton: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Pairs of occurrences of one value, in order, the nearest to each other by the skeleton of what is certain."""
    if len(mine) == len(yours) or max(len(mine), len(yours)) > _MANY:
        return list(zip(mine, yours, strict=False))
    if len(mine) > len(yours):
        turned = sorted((b, a) for a, b in skeleton)
        return [(a, b) for b, a in nearest_pairs(yours, mine, turned)]
    # The cheapest way to give each of the fewer one of the more, keeping their order.
    costs: list[list[tuple[float, int]]] = []
    for index, place in enumerate(mine):
        wanted = _expected(place, skeleton)
        row: list[tuple[float, int]] = []
        for choice in range(index, len(yours) - len(mine) + index + 1):
            before = min((cost for cost, at in costs[-1] if at < choice), default=None) if costs else 0.0
            if before is not None:
                row.append((before + abs(yours[choice] - wanted), choice))
        costs.append(row)
    chosen: list[tuple[int, int]] = []
    limit = len(yours)
    for index in range(len(mine) - 1, -1, -1):
        _, at = min((cost, at) for cost, at in costs[index] if at < limit)
        chosen.append((mine[index], yours[at]))
        limit = at
    return chosen[::-1]


def _expected(place: int, skeleton: Sequence[tuple[int, int]]) -> float:
    """Where in the other sequence something at a place is to be looked for."""
    if not skeleton:
        return float(place)
    at = bisect_left(skeleton, (place, -1))
    if at == 0:
        return float(skeleton[0][1] - (skeleton[0][0] - place))
    if at == len(skeleton):
        return float(skeleton[-1][1] + place - skeleton[-1][0])
    (a0, b0), (a1, b1) = skeleton[at - 1], skeleton[at]
    return b0 + (b1 - b0) * (place - a0) / (a1 - a0)


@dataclass
class Matches:
    """Lines matched over all runs: for each line (by offset) how often it was executed, and its partners by count."""

    executed: list[Counter[int]] = field(default_factory=lambda: [Counter(), Counter()])
    partners: list[dict[int, Counter[int]]] = field(default_factory=lambda: [{}, {}])
    matched: list[Counter[int]] = field(default_factory=lambda: [Counter(), Counter()])

    def add(self, ours: Sequence[Step], theirs: Sequence[Step]) -> list[tuple[int, int]]:
        """Match the steps of one path of each."""
        found = pairs(ours, theirs)
        sides = (ours, theirs)
        for side, steps in enumerate(sides):
            self.executed[side].update(step.line.offset for step in steps)
            self.matched[side].update(steps[index].line.offset for index in {pair[side] for pair in found})
        for a, b in found:
            mine, yours = ours[a].line.offset, theirs[b].line.offset
            self.partners[0].setdefault(mine, Counter())[yours] += 1
            self.partners[1].setdefault(yours, Counter())[mine] += 1
        return found

    def is_matched(self, side: int, offset: int) -> bool:
        """Whether a line has a counterpart more often than not."""
        return 2 * self.matched[side][offset] >= max(1, self.executed[side][offset])

    def of(self, side: int, offset: int) -> list[int]:
        """A line's partners, the most frequent first; none for what is mostly unmatched."""
        if not self.is_matched(side, offset):
            return []
        counted = self.partners[side].get(offset, Counter())
        return [place for place, _ in sorted(counted.items(), key=lambda each: (-each[1], each[0]))]


def rows(
    ours: Sequence[int], theirs: Sequence[int], partner: Mapping[int, int]
) -> Iterator[tuple[int | None, int | None]]:
    """The two listings side by side: partners that keep both orders share a row, every line has one row.

    `ours` and `theirs` are offsets in order, `partner` gives the best partner of each of ours.
    """
    places = {offset: index for index, offset in enumerate(theirs)}
    found = [(index, places[partner[offset]]) for index, offset in enumerate(ours) if partner.get(offset) in places]
    a = b = 0
    for i, j in [*increasing(found), (len(ours), len(theirs))]:
        yield from ((offset, None) for offset in ours[a:i])
        yield from ((None, offset) for offset in theirs[b:j])
        if i < len(ours) and j < len(theirs):
            yield ours[i], theirs[j]
        a, b = i + 1, j + 1
