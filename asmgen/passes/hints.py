"""Which register each value of a straight line had best be computed in.

Values tied to each other form a chain that stays in one register. A fixed operand, or a place that a value must end
in, is a wish of its chain; on each register there are claims, and a value that lives across another chain's claim
would have to move.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from asmgen.passes.liveness import NEVER, Line, Lives
from asmgen.targets.row import Register, Virtual


@dataclass
class Hints:
    """Times are twice the position, plus one for what an instruction writes."""

    chain: dict[Virtual, Virtual] = field(default_factory=dict)  #: the first value of the chain that a value is in
    start: dict[Virtual, int] = field(default_factory=dict)  #: of a chain, the position where it begins, if in the line
    end: dict[Virtual, int] = field(default_factory=dict)  #: of a chain, the position of its last use
    #: Of a chain: be in a register at a position.
    wishes: dict[Virtual, list[tuple[int, Register]]] = field(default_factory=dict)
    claims: dict[Register, list[tuple[int, Virtual]]] = field(default_factory=dict)

    def chain_of(self, value: Virtual) -> Virtual:
        return self.chain.get(value, value)

    def wanted(self, chain: Virtual, position: int) -> Register | None:
        """The register that the chain wishes for next, at `position` or later."""
        wishes = self.wishes.get(chain)
        return next((register for at, register in wishes if at >= position), None) if wishes else None

    def suits(self, register: Register, chain: Virtual, position: int) -> bool:
        """Whether nothing else claims the register before the chain wishes to be in it, at `position` or later."""
        wishes = self.wishes.get(chain, ())
        at = next((at for at, each in wishes if at >= position and each is register), -1)
        return at >= 0 and self.clash(register, chain, position) >= 2 * at

    def clash(self, register: Register, chain: Virtual, position: int) -> int:
        """The time of the first claim of another chain while this one lives from `position` on; NEVER when there is
        none.
        """
        claims = self.claims.get(register)
        if not claims:
            return NEVER
        end = 2 * self.end.get(chain, NEVER)
        for index in range(bisect_right(claims, (2 * position + 1, _LAST)), len(claims)):
            time, owner = claims[index]
            if time > end:
                break
            if owner != chain:
                return time
        return NEVER


_LAST = Virtual(1 << 60)

#: Hints by the instructions alone, by a line's first position and the one after it.
Plain = dict[tuple[int, int], Hints]


def hints(line: Line, lives: Lives, at_end: Mapping[Virtual, Register], plain: Plain) -> Hints:
    """Hints for one line; `at_end` tells where values should be after it.

    `plain` has what does not depend on that, and gets it.
    """
    key = line.first, line.end
    known = plain.get(key) or plain.setdefault(key, _plain(line, lives))
    wishes = {chain: list(each) for chain, each in known.wishes.items()}
    claims = {register: list(each) for register, each in known.claims.items()}
    made = replace(known, wishes=wishes, claims=claims)
    for value, register in at_end.items():
        made.wishes.setdefault(made.chain_of(value), []).append((line.end, register))
    _reserve(made)
    return made


def _plain(line: Line, lives: Lives) -> Hints:
    """Hints by the instructions alone."""
    made = Hints()
    start = made.start

    def insist(value: Virtual, register: Register, position: int) -> None:
        chain = made.chain_of(value)
        insort(made.claims.setdefault(register, []), (2 * position, chain))
        made.wishes.setdefault(chain, []).append((position, register))

    for position, ways in enumerate(line.shapes, line.first):
        shape = ways[0]
        for _, value, register in shape.fixed_reads:
            insist(value, register, position)
        for index, tied, only in shape.ties:
            carried = [tied.source]
            for other in ways[1:]:
                carried += [each.source for at, each, _ in other.ties if at == index]
            kept = next((value for value in carried if lives.last(value) == position), None)
            chain = tied.target if kept is None else made.chain_of(kept)
            made.chain[tied.target] = chain
            start.setdefault(chain, position)
            if only is not None:
                insist(tied.target, only, position)
        for _, value in shape.outs:
            start[value] = position
        for _, value, register in shape.fixed_outs:
            start[value] = position
            insort(made.claims.setdefault(register, []), (2 * position + 1, value))
    _ends(made, line, lives)
    return made


def _ends(made: Hints, line: Line, lives: Lives) -> None:
    """The last use of each chain, and of each value that is in none."""
    values = dict.fromkeys(value for ways in line.shapes for value in ways[0].needs)
    values.update(dict.fromkeys(made.chain))
    for value in values:
        last = lives.last(value)
        chain = made.chain_of(value)
        made.end[chain] = max(made.end.get(chain, -1), last if last < line.end else NEVER)


def _reserve(made: Hints) -> None:
    """Claim a wished register from where its chain begins, when nothing else fixed comes between."""
    early = []
    for chain, wishes in made.wishes.items():
        position, register = wishes[0]
        if chain in made.start:
            begin = 2 * made.start[chain] + 1
            between = [owner for time, owner in made.claims.get(register, []) if begin < time < 2 * position]
            if all(owner == chain for owner in between):
                early.append((register, begin, chain))
    for register, begin, chain in early:
        insort(made.claims.setdefault(register, []), (begin, chain))
