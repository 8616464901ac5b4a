"""Addition chains for fixed exponents: few multiplications, and squarings in runs that `square_n` makes in one call.

A chain is built of elements, each the sum of two shifted earlier ones: e = (a << i) + (b << j) takes one
multiplication, and squarings of a and b that other elements share. Where squarings stop on the way, they stop for all
who need the value there. asmgen.chain_search finds the elements; what it found for shipped scripts is in
`kernels/plans/chains.json`, so that a build need not search.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from asmgen.cache import cached
from asmgen.chain_search import Pool, Sum, Term, search
from asmgen.errors import AsmgenError


@dataclass(frozen=True)
class Step:
    """The value number `left` squared `squarings` times, then times the value number `right` if there is one.

    Value 0 is what is raised, value i is that of step i - 1; exactly one of the two parts is there.
    """

    left: int
    squarings: int = 0
    right: int | None = None


@dataclass(frozen=True)
class Chain:
    """Steps that raise something to `exponent`, the value of the last one."""

    exponent: int
    steps: tuple[Step, ...]

    @property
    def squarings(self) -> int:
        """How often something is squared."""
        return sum(step.squarings for step in self.steps)

    @property
    def multiplications(self) -> int:
        """Products of two values."""
        return sum(step.right is not None for step in self.steps)

    @property
    def counts(self) -> str:
        """In words."""
        return f"{self.squarings} squarings, {self.multiplications} multiplications"

    def exponents(self) -> list[int]:
        """What each value is of the first one: the exponent, step by step."""
        found = [1]
        for step in self.steps:
            found.append((found[step.left] << step.squarings) + (0 if step.right is None else found[step.right]))
        return found

    def apply(
        self,
        x: Any,
        multiply: Callable[[Any, Any], Any],
        square: Callable[[Any, int], Any],
        named: Callable[[Any, str], Any] = lambda value, name: value,
    ) -> Any:
        """x^exponent by `multiply(x, y)` and `square(x, n)` = x^(2^n); `named` is told what each value is called."""
        values = [x]
        for step, name in zip(self.steps, self.names()[1:], strict=True):
            left = values[step.left]
            made = square(left, step.squarings) if step.right is None else multiply(left, values[step.right])
            values.append(named(made, name))
        return values[-1]

    def names(self) -> list[str]:
        """x for the first value, x5 for x^(2^5 - 1), x_1011 for what has another short exponent; x30_2 for x30 squared
        twice; y for what the chain ends with."""
        made = ["x"]
        for index, (step, exponent) in enumerate(zip(self.steps, self.exponents()[1:], strict=True), 1):
            if exponent & (exponent + 1) == 0:
                made.append(f"x{exponent.bit_length()}")
            elif exponent.bit_length() <= (8 if step.right is None else 16) and index < len(self.steps):
                made.append(f"x_{exponent:b}")
            elif step.right is None and made[step.left] != "y":
                made.append(f"{made[step.left]}_{step.squarings}")
            else:
                made.append("y")
        return made

    def lines(self) -> Iterator[str]:
        """The chain as statements of a script: each product one line, with what is squared for it alone inside."""
        names = self.names()
        reads = [step.left for step in self.steps] + [step.right for step in self.steps if step.right is not None]
        text = ["x"]
        for index, (step, name) in enumerate(zip(self.steps, names[1:], strict=True), 1):
            last = index == len(self.steps)
            left = text[step.left]
            if step.right is None:
                made = f"sqr({left})" if step.squarings == 1 else f"square_n({left}, {step.squarings})"
            else:
                made = f"mul({left}, {text[step.right]})"
            if last:
                yield f"return {made}"
            elif step.right is None and reads.count(index) == 1:
                text.append(made)
            else:
                yield f"{name} = {made}"
                text.append(name)
        if not self.steps:
            yield "return x"


def best(exponent: int) -> Chain:
    """The best chain that the search finds for an exponent of at least 1, now or when it was recorded."""
    found = _searching.get()
    if found is not None:
        return found.setdefault(exponent, searched(exponent))
    return recorded().get(exponent) or searched(exponent)


@cache
def searched(exponent: int) -> Chain:
    """The best chain that the search finds; the same one each time."""
    return cached(("chain", exponent), lambda: assembled(exponent, *search(exponent)))


_searching: ContextVar[dict[int, Chain] | None] = ContextVar("_searching", default=None)
"""The chains found so far while none are to be taken from the record."""


@contextmanager
def searching() -> Iterator[Mapping[int, Chain]]:
    """Within, every chain is searched for; they are collected by exponent."""
    found: dict[int, Chain] = {}
    token = _searching.set(found)
    try:
        yield found
    finally:
        _searching.reset(token)


def record() -> Path:
    """The file of chains found earlier: exponents, each with its steps in text."""
    from asmgen.scripts import directory  # which loads scripts, and so all that programs need

    return directory() / "plans" / "chains.json"


@cache
def recorded() -> Mapping[int, Chain]:
    """Chains of the record by exponent, each seen to make it; none without a record."""
    path = record()
    if not path.is_file():
        return {}
    try:
        return {int(text, 16): _read(int(text, 16), steps) for text, steps in json.loads(path.read_text()).items()}
    except (ValueError, AttributeError, LookupError) as error:
        hint = "`asmgen chain --record` writes it anew; without the file chains are searched for"
        raise AsmgenError(f"{path} is no record of chains: {error}", hint=hint) from None


def record_text(chains: Mapping[int, Chain]) -> str:
    """The record of these chains: `3<<5` is value 3 squared 5 times, `3*1` the product of two."""
    rows = {f"{exponent:#x}": " ".join(map(_written, chains[exponent].steps)) for exponent in sorted(chains)}
    return json.dumps(rows, indent=1) + "\n"


def _written(step: Step) -> str:
    return f"{step.left}<<{step.squarings}" if step.right is None else f"{step.left}*{step.right}"


def _read(exponent: int, text: str) -> Chain:
    steps = []
    for word in text.split():
        left, mark, right = word.partition("*")
        if mark:
            steps.append(Step(int(left), 0, int(right)))
        else:
            left, _, squarings = word.partition("<<")
            steps.append(Step(int(left), int(squarings)))
    chain = Chain(exponent, tuple(steps))
    if chain.exponents()[-1] != exponent:
        raise ValueError(f"the steps of {exponent:#x} make another exponent")
    return chain


def assembled(exponent: int, pool: Pool, terms: Sequence[Term]) -> Chain:
    """The chain that makes the pool's elements and then goes through the exponent term by term."""
    writer = _Writer(_stops(exponent, pool, terms))
    for element, parts in sorted(pool.items()):
        writer.add(element, parts)
    total, end = terms[0].word, terms[0].end
    for term in terms[1:]:
        shift = term.end - end
        writer.add((total << shift) + term.word, Sum(total, shift, term.word, 0))
        total, end = (total << shift) + term.word, term.end
    writer.shifted(total, (exponent // total).bit_length() - 1)
    chain = Chain(exponent, tuple(writer.steps))
    if chain.exponents()[-1] != exponent:
        raise AssertionError(f"the chain makes {chain.exponents()[-1]}, not {exponent}")
    return chain


def _stops(exponent: int, pool: Pool, terms: Sequence[Term]) -> Mapping[int, Sequence[int]]:
    """How often each value is squared for someone."""
    found: dict[int, set[int]] = {}
    for parts in pool.values():
        found.setdefault(parts.left, set()).add(parts.left_shift)
        found.setdefault(parts.right, set()).add(parts.right_shift)
    if len(terms) > 1:
        found.setdefault(terms[0].word, set()).add(terms[1].end - terms[0].end)
    return {value: sorted(shifts) for value, shifts in found.items()}


class _Writer:
    def __init__(self, stops: Mapping[int, Iterable[int]]) -> None:
        self.stops = stops
        self.steps: list[Step] = []
        self.number = {1: 0}  #: of each exponent

    def shifted(self, value: int, shift: int) -> int:
        """The number of value << shift, squared as far as needed."""
        for stop in (*(each for each in self.stops.get(value, ()) if each < shift), shift):
            if value << stop not in self.number:
                known = max(k for k in range(stop) if value << k in self.number)
                self.steps.append(Step(self.number[value << known], stop - known))
                self.number[value << stop] = len(self.steps)
        return self.number[value << shift]

    def add(self, value: int, parts: Sum) -> None:
        if value in self.number:
            return
        left, right = self.shifted(parts.left, parts.left_shift), self.shifted(parts.right, parts.right_shift)
        self.steps.append(Step(left, 0, right))
        self.number[value] = len(self.steps)
