"""The search for addition chains (asmgen.chains), the same result each time, in a second or so for an exponent of 500
bits.

The exponent is read as a row of words: runs of ones and short odd numbers, with zeros between. The words are elements,
and so is everything that is made on the way to them. Three steps:

1. Runs: lengths of runs add like exponents (x^(2^a - 1) squared b times, times x^(2^b - 1), is x^(2^(a + b) - 1)), so a
   best-first search finds short addition sequences for the lengths that occur, bounded below by doubling.
2. Short words, in the manner of window methods: from the runs, and from windows of several widths, a climb adds the
   element that helps most or leaves one out, as long as the chain gets cheaper.
3. The small elements that are then needed are made anew with the fewest multiplications.

Sliding windows: Knuth, The Art of Computer Programming 2, 4.6.3; sequences for several targets: J. Bos and M. Coster,
Addition chain heuristics (CRYPTO '89).
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from operator import neg
from typing import NamedTuple

#: What a squaring inside square_n costs when a multiplication costs 1.
SQUARING = 0.75

#: Bits of a short word, at most; and words below this are small: they may be made anew together.
WIDEST, SMALL = 9, 1 << 8

#: Starting points that the climb is tried from, how many coverings it may try from each, and how many words at a place.
STARTS, PATIENCE, BREADTH = 5, 900, 4


class Sum(NamedTuple):
    """(left << left_shift) + (right << right_shift)."""

    left: int
    left_shift: int
    right: int
    right_shift: int


class Term(NamedTuple):
    """A word of the exponent; `end` is the number of bits from the top of the exponent to the word's end."""

    word: int
    end: int


Pool = Mapping[int, Sum]
"""Elements beside 1, each with how it is made of others."""


def search(exponent: int) -> tuple[Pool, list[Term]]:
    """Elements, and the exponent as a row of them, for the cheapest chain that is found."""
    task = _Task(exponent)
    starts = {tuple(sorted(pool)): pool for pool in _starts(task)}
    ranked = sorted(starts.values(), key=lambda pool: (task.cost(pool), tuple(sorted(pool))))
    climbed = [task.climb(pool) for pool in ranked[:STARTS]]
    best = min(climbed, key=lambda pool: (task.cost(pool), tuple(sorted(pool))))
    return best, task.cover(best)


# Where the climb starts.


def _starts(task: _Task) -> Iterator[Pool]:
    """Pools of runs, and of all odd words up to some width."""
    for width in range(1, 6):
        yield {word: Sum(1, 1, word - 2, 0) for word in range(3, 1 << width, 2)}
    lengths = [length for length in task.runs if length >= 6]
    cut = {a - b for a in lengths for b in lengths if a > b} | {a % b for a in lengths for b in lengths if a > b}
    wishes = sorted({length for length in (*lengths, *cut) if length >= 4})
    sets = [frozenset(each) for count in (1, 2, 3) for each in combinations(wishes, count)]
    sets.sort(key=lambda each: (task.estimate(each), sorted(each)))
    for wanted in sets[:6]:
        for small in ((), (2,), (3,), (3, 5)):
            for found in sequences(wanted | frozenset(small)):
                yield task.pruned(_of_runs(found))


def growth(lengths: Sequence[int]) -> int:
    """The fewest elements of an addition sequence with these lengths, rising: none is above twice the one before."""
    total, before = 0, 1
    for length in lengths:
        total += max(1, (-(-length // before) - 1).bit_length())
        before = length
    return total


@cache
def sequences(wanted: frozenset[int], most: int = 400, several: int = 4) -> tuple[tuple[int, ...], ...]:
    """Short addition sequences (without 1) for some numbers, each a number and those that it is the sum of.

    Best first, from the largest number down; up to `several` of the least length that `most` expansions find.
    """
    start = tuple(sorted(wanted - {1}))
    heap: list[tuple[int, int, tuple[int, ...], tuple[int, ...]]] = [(growth(start), 0, start, ())]
    seen: set[tuple[tuple[int, ...], object]] = set()
    found: dict[tuple[int, ...], None] = {}
    least, expansions = len(start) + max(start, default=1), 0
    while heap and expansions < most and len(found) < several:
        bound, _, needed, done = heapq.heappop(heap)
        if bound > least:
            break
        if not needed:
            least = bound
            found[tuple(sorted(done))] = None
            continue
        expansions += 1
        *rest, largest = needed
        have = {1, *rest}
        larger = {(largest + 1) // 2, *(largest - small for small in (1, 2, 3))}
        for each in have:
            larger |= {k * each for k in (1, 2, 4)} | {largest - k * each for k in (1, 2, 4)}
        for part in sorted(each for each in larger if largest <= 2 * each < 2 * largest):
            needed_now = tuple(sorted((have | {part, largest - part}) - {1}))
            now_done = (*done, largest)
            key = (needed_now, len(now_done) if len(needed_now) > 1 else now_done)
            new_bound = len(now_done) + growth(needed_now)
            if new_bound <= least and key not in seen:
                seen.add(key)
                heapq.heappush(heap, (new_bound, -len(now_done), needed_now, now_done))
    return tuple(found)


def _of_runs(lengths: Iterable[int]) -> Pool:
    """Runs of ones of these lengths, the longer part squared as often as the shorter one is long."""
    pool: dict[int, Sum] = {}
    known = [1]
    for length in sorted(lengths):
        longer = max(each for each in known if length - each in known and 2 * each >= length)
        pool[ones(length)] = Sum(ones(longer), length - longer, ones(length - longer), 0)
        known.append(length)
    return pool


def ones(length: int) -> int:
    """2^length - 1."""
    return (1 << length) - 1


def shifts(pool: Pool) -> dict[int, int]:
    """How often each element is squared at the most for the others: all of its squarings."""
    found: dict[int, int] = {}
    for parts in pool.values():
        found[parts.left] = max(found.get(parts.left, 0), parts.left_shift)
        found[parts.right] = max(found.get(parts.right, 0), parts.right_shift)
    return found


# The climb.


class _Task:
    """One exponent: coverings of it by words, and what they cost."""

    def __init__(self, exponent: int) -> None:
        self.zeros = (exponent & -exponent).bit_length() - 1
        self.bits = f"{exponent >> self.zeros:b}"
        self.runs = sorted({len(run) for run in self.bits.split("0") if run})
        self.places: dict[int, frozenset[int]] = {}
        self.standing: list[list[int]] = [[] for _ in self.bits]  #: by place: words that begin there, longest first
        self.next_one = [len(self.bits)] * (len(self.bits) + 1)  #: where the next 1 stands, from each place on
        for at in range(len(self.bits) - 1, -1, -1):
            self.next_one[at] = at if self.bits[at] == "1" else self.next_one[at + 1]
        self.known: dict[frozenset[int], list[Term]] = {}

    def occurrences(self, word: int) -> frozenset[int]:
        """Where the word's bits stand in the exponent."""
        if word not in self.places:
            text, at, found = f"{word:b}", -1, []
            while (at := self.bits.find(text, at + 1)) >= 0:
                found.append(at)
            self.places[word] = frozenset(found)
            for at in found:
                insort(self.standing[at], word, key=neg)
        return self.places[word]

    def cover(self, words: Iterable[int]) -> list[Term]:
        """Few words (1 and those given) that make up the exponent; the first one as long as that allows.

        At each place the longest words that stand there are tried, `BREADTH` of them.
        """
        key = frozenset(words)
        if key not in self.known:
            self.known[key] = self._cover(key | {1})
        return self.known[key]

    def _cover(self, words: frozenset[int]) -> list[Term]:
        for word in words:
            self.occurrences(word)
        length, next_one, whole = {word: word.bit_length() for word in words}, self.next_one, len(self.bits)
        reached = {0}
        places: list[tuple[int, list[int]]] = []  #: with the words that may begin there, longest first
        for at in range(whole):
            if at in reached:
                tried = [word for word in self.standing[at] if word in words][:BREADTH]
                reached.update([next_one[at + length[word]] for word in tried])
                places.append((at, tried))
        count: dict[int, float] = {whole: 0.0}  #: by place: what is left from there costs
        taken: dict[int, int] = {}
        for at, tried in reversed(places):
            saved, least = 0 if at else SQUARING, float("inf")
            for word in tried:
                price = 1 + count[next_one[at + length[word]]] - saved * length[word]
                if price < least:  # the longest of those that cost as little
                    least, taken[at] = price, word
            count[at] = least
        terms, at = [], 0
        while at < whole:
            end = at + length[taken[at]]
            terms.append(Term(taken[at], end))
            at = next_one[end]
        return terms

    def cost(self, pool: Pool) -> float:
        """Multiplications, and squarings at their price."""
        terms = self.cover(pool)
        inside = shifts(pool)
        first = terms[0].word
        shared = min(inside.get(first, 0), terms[1].end - terms[0].end) if len(terms) > 1 else 0
        squarings = sum(inside.values()) - shared + len(self.bits) - first.bit_length() + self.zeros
        return len(pool) + len(terms) - 1 + SQUARING * squarings

    def estimate(self, lengths: Iterable[int]) -> float:
        """What a chain with runs of these lengths may cost."""
        rising = sorted(lengths)
        return growth(rising) + len(self.cover([ones(length) for length in rising]))

    def pruned(self, pool: Pool) -> Pool:
        """Without elements that neither the covering nor other elements need."""
        while True:
            used = {term.word for term in self.cover(pool)}
            used |= {each for parts in pool.values() for each in (parts.left, parts.right)}
            if used >= pool.keys():
                return pool
            pool = {element: parts for element, parts in pool.items() if element in used}

    def climb(self, pool: Pool) -> Pool:
        """The pool changed by the best of all single changes, as often as that makes it cheaper."""
        pool, end = self.pruned(pool), len(self.known) + PATIENCE
        cost = self.cost(pool)
        while True:
            changed = [self.pruned(each) for each in self.changes(pool, end)]
            rated = [(self.cost(each), tuple(sorted(each)), each) for each in changed]
            least = min(rated, key=lambda each: each[:2], default=(cost, (), pool))
            if least[0] > cost - 1e-6:
                return pool
            cost, _, pool = least

    def changes(self, pool: Pool, end: int) -> Iterator[Pool]:
        """One element more, one less, or the small elements made anew with one more among them."""
        if len(self.known) > end:
            return
        for element, parts in self.makeable(pool).items():
            yield {**pool, element: parts}
        for element in sorted(pool):
            without = _without(pool, element)
            if without is not None:
                yield without
        large = {element: parts for element, parts in pool.items() if element >= SMALL}
        needed = frozenset(each for parts in large.values() for each in (parts.left, parts.right) if 1 < each < SMALL)
        if large and len(needed) <= 2:
            for word in (1, *(each for each in range(3, SMALL, 2) if self.occurrences(each))):
                small = smallest(needed | {word})
                if small is not None:
                    yield {**small, **large}

    def makeable(self, pool: Pool) -> dict[int, Sum]:
        """Words of the exponent that one multiplication makes of the pool, with the fewest more squarings."""
        found: dict[int, tuple[int, Sum]] = {}
        inside = shifts(pool)
        for left in (1, *pool):
            for right in (1, *pool):
                for shift in range(1, WIDEST):
                    element = (left << shift) + right
                    short = element.bit_length() <= WIDEST or element & (element + 1) == 0
                    if short and element not in pool and self.occurrences(element):
                        made = max(0, shift - inside.get(left, 0)), Sum(left, shift, right, 0)
                        found[element] = min(found.get(element, made), made)
        return {element: parts for element, (_, parts) in sorted(found.items())}


def made_of(element: int, known: Iterable[int], inside: Mapping[int, int]) -> tuple[int, Sum] | None:
    """The element as a sum of two known ones, with the fewest squarings beyond those `inside`; None when it is none."""
    numbers = set(known)
    found: list[tuple[int, Sum]] = []
    for left in sorted(numbers):
        for shift in range(element.bit_length() - left.bit_length() + 1):
            rest = element - (left << shift)
            if rest <= 0:
                break
            back = (rest & -rest).bit_length() - 1
            if rest >> back in numbers and 0 in (shift, back):
                more = max(0, shift - inside.get(left, 0)) + max(0, back - inside.get(rest >> back, 0))
                found.append((more, Sum(left, shift, rest >> back, back)))
    return min(found, default=None)


def _without(pool: Pool, element: int) -> Pool | None:
    """The pool without one element, those made of it made otherwise; None when that cannot be."""
    rest = {each: parts for each, parts in pool.items() if each != element}
    for each, parts in rest.items():
        if element in (parts.left, parts.right):
            others = {other: made for other, made in rest.items() if other != each}
            made = made_of(each, [1, *(other for other in others if other < each)], shifts(others))
            if made is None:
                return None
            rest[each] = made[1]
    return rest


@cache
def smallest(targets: frozenset[int]) -> Pool | None:
    """Small elements with the fewest multiplications, and then squarings: these and at most one more; None beyond
    that."""
    wanted = sorted(targets - {1})
    found: list[tuple[int, int, Pool]] = []

    def closed(pool: dict[int, Sum]) -> tuple[dict[int, Sum], list[int]]:
        """All targets made that can be."""
        while True:
            missing = [each for each in wanted if each not in pool]
            inside = shifts(pool)
            makeable = [(made, each) for each in missing if (made := made_of(each, [1, *pool], inside)) is not None]
            if not makeable:
                return pool, missing
            (_, parts), each = min(makeable, key=lambda pair: (pair[0][0], pair[1]))
            pool = {**pool, each: parts}

    def grow(pool: dict[int, Sum], more: int) -> None:
        pool, missing = closed(pool)
        if not missing:
            found.append((len(pool), sum(shifts(pool).values()), pool))
        elif more:
            for helper in range(3, wanted[-1], 2):
                made = made_of(helper, [1, *pool], shifts(pool))
                if made is not None and helper not in pool:
                    grow({**pool, helper: made[1]}, more - 1)

    for more in range(2):
        grow({}, more)
        if found:
            return min(found, key=lambda each: (each[:2], sorted(each[2])))[2]
    return None
