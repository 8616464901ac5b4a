"""Why an instruction has no counterpart on the other side: each unmatched one is counted under one cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from asmgen.diff.steps import COMPUTING, Run, Step, Value, is_address

#: The causes, in the order in which tables show them.
CAUSES = (
    "register move",
    "spill",
    "reload",
    "carry kept in a register",
    "mask or value made again",
    "constant",
    "address",
    "load that is an operand there",
    "loaded again",
    "load",
    "store",
    "comparison",
    "prologue and epilogue",
    "mark",
    "branch",
    "sum in another order",
    "product of its own",
    "step of its own",
)

_SIMPLE = {
    "moves": "register move", "spills": "spill", "reloads": "reload", "frame": "prologue and epilogue", "marks": "mark",
    "branches": "branch", "stores": "store",
}  # fmt: skip
_SUMS = ("add", "sub", "adc", "sbb", "sbc", "neg", "lea", "inc", "dec", "padd", "psub", "shld", "extr", "madd", "msub")
_BITS = ({0}, {1}, {0, 1}, {0, 2**64 - 1}, {2**64 - 1}, {0, 2**32 - 1})


def causes(mine: Sequence[Run], theirs: Sequence[Run], matched: Sequence[set[int]]) -> dict[int, str]:
    """The cause of each line that has no counterpart at least once, by offset: the most frequent one.

    `matched` are the positions of the matched steps of each of `mine`.
    """
    counted: dict[int, Counter[str]] = {}
    for run, other, done in zip(mine, theirs, matched, strict=True):
        for offset, cause in _of_run(run, other, done):
            counted.setdefault(offset, Counter())[cause] += 1
    return {at: min(found, key=lambda cause: (-found[cause], cause)) for at, found in counted.items()}


def _of_run(run: Run, other: Run, matched: set[int]) -> Iterator[tuple[int, str]]:
    operands = {place for step in other.steps if step.kind in COMPUTING for place in step.operands}
    seen: set[Value] = set()
    loaded: set[int] = set()
    for index, step in enumerate(run.steps):
        if index not in matched:
            yield step.line.offset, _cause(step, seen, loaded, operands)
        if step.kind in COMPUTING or step.kind in ("loads", "constants"):
            seen.update(step.values)
            loaded.update(step.operands)


def _cause(step: Step, seen: set[Value], loaded: set[int], operands: set[int]) -> str:
    """The cause of one step; `seen` and `loaded` are what its side had before, `operands` what the other side reads
    while it computes."""
    if step.kind in _SIMPLE:
        return _SIMPLE[step.kind]
    made = step.values
    again = bool(made) and all(value in seen for value in made)
    if step.kind == "constants":
        return "mask or value made again" if again else "constant"
    if step.kind == "loads":
        if step.operands and set(step.operands) <= operands:
            return "load that is an operand there"
        return "loaded again" if step.operands and set(step.operands) <= loaded else "load"
    if not step.line.writes:
        return "comparison"
    if made and all(is_address(each) for value in made for each in value):
        return "address"
    if made and all(set(value) in _BITS for value in made):
        return "carry kept in a register"
    if again:
        return "mask or value made again"
    if step.kind == "products":
        return "product of its own"
    if step.kind == "with carry" and ("$0," in step.line.text or "xzr" in step.line.text):
        return "carry kept in a register"
    return "sum in another order" if step.line.mnemonic.startswith(_SUMS) else "step of its own"
