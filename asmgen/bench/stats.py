"""What samples say: medians, ratios with their spread, and whether there is a difference at all.

A routine's figure is the median over contexts of its median in each. Two routines are compared in pairs, round by
round, since they took turns; each context gives one ratio, and the interval is of these: code placement and the way of
calling are chance, as far as a routine's worth goes, and now and then a context is far off for reasons of its own. So
the interval is that of the sign test, between two of the ordered ratios, for 95 % or more. It is widened by what the
same routine twice differs by in the same run, and by how far other work stretches windows where that is too far; a
difference is one when the interval leaves 1 out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import median

#: Rounds of one routine and mode, by context.
Contexts = Sequence[Sequence[float | None]]

#: What the same routine twice may differ by where a machine is quiet enough.
TIE = 0.01
#: By how much windows may be stretched there.
STRETCH = 0.03
#: How far from a whole number the additions of a cycle may be.
WHOLE = 0.12
CONFIDENCE = 0.95
#: Rounds of a context that must be good; and contexts, fewer than which give no interval of that confidence.
ROUNDS, CONTEXTS = 5, 6

FASTER, SLOWER, EVEN, NOISY = "faster", "slower", "no difference", "too noisy to say"


@dataclass(frozen=True)
class Figure:
    """Cycles: the median of the contexts' medians, the interval of these, and the least sample of all."""

    cycles: float
    low: float
    high: float
    minimum: float


@dataclass(frozen=True)
class Ratio:
    """Another one's cycles in ours, with its interval, and what is to be said of ours."""

    value: float
    low: float
    high: float
    answer: str


def interval(ordered: Sequence[float]) -> tuple[float, float]:
    """Between which two of these the median of all that they stand for lies, by the sign test; of few the outermost."""
    count, within = len(ordered), 0
    beyond = 2 / 2**count  # the chance that it is beyond the outermost
    while beyond <= 1 - CONFIDENCE and within < (count - 1) // 2:
        within += 1
        beyond += 2 * math.comb(count, within) / 2**count
    cut = max(0, within - 1)
    return ordered[cut], ordered[count - 1 - cut]


def figure(samples: Contexts) -> Figure | None:
    """None when too little of it is good."""
    medians = sorted(median(good) for rounds in samples if len(good := _good(rounds)) >= ROUNDS)
    if len(medians) < CONTEXTS:
        return None
    return Figure(median(medians), *interval(medians), min(chain.from_iterable(map(_good, samples))))


def _good(rounds: Sequence[float | None]) -> list[float]:
    return [each for each in rounds if each is not None and each > 0]


def logs(ours: Contexts, theirs: Contexts) -> list[float]:
    """For each context the median over rounds of log(theirs / ours), where enough rounds are good in both; in order."""
    found = []
    for mine, yours in zip(ours, theirs, strict=True):
        pairs = [math.log(b / a) for a, b in zip(mine, yours, strict=True) if a and b and a > 0 and b > 0]
        if len(pairs) >= ROUNDS:
            found.append(median(pairs))
    return sorted(found)


def noise(once: Contexts, again: Contexts) -> float | None:
    """What the same routine twice differs by, as a fraction of its cycles; None when too little is good."""
    found = logs(once, again)
    return abs(math.expm1(median(found))) if len(found) >= CONTEXTS else None


def doubt(twice: float | None, stretched: float | None) -> float | None:
    """By what fraction an interval is widened: the noise, and how far windows are stretched where that is too far."""
    if twice is None or stretched is None:
        return None
    return twice + (stretched if stretched > STRETCH else 0.0)


def ratio(ours: Contexts, theirs: Contexts, twice: float | None) -> Ratio | None:
    """None when too little is good. `twice` is the `doubt`, None when that is not known."""
    found = logs(ours, theirs)
    if len(found) < CONTEXTS:
        return None
    first, last = interval(found)
    low, high = first - (twice or 0.0), last + (twice or 0.0)
    if twice is not None and (low > 0 or high < 0):
        answer = FASTER if low > 0 else SLOWER
    else:
        answer = EVEN if twice is not None and twice <= TIE else NOISY
    return Ratio(math.exp(median(found)), math.exp(low), math.exp(high), answer)


def stretch(samples: Sequence[Contexts]) -> float | None:
    """By what fraction a usual window took longer than a quick one of the same context: others at work on the core or
    its twin do that. None when too little is good."""
    found = []
    for contexts in samples:
        for good in map(_good, contexts):
            if len(good) >= ROUNDS:
                found.append(median(good) / sorted(good)[len(good) // 20] - 1)
    return median(found) if found else None


def disturbed(samples: Sequence[Contexts]) -> float:
    """Which part of all windows was left out."""
    every = [one for contexts in samples for rounds in contexts for one in rounds]
    return sum(one is None for one in every) / len(every) if every else 0.0
