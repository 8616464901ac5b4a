"""What a comparison comes to, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from asmgen.bench.timer import cpu
from asmgen.diff.comparison import Comparison, Side
from asmgen.diff.figures import COLUMNS
from asmgen.diff.lines import VECTORS
from asmgen.errors import AsmgenError
from asmgen.targets.cores import Core, core

#: Wins below this part are ties: code layout alone moves so much.
TIE = 0.03
#: What to do when ours is not ahead of our own C, of somebody's code, of ours at another time.
SHIP = "ship the C, it is less to trust and to keep"
TAKE = "take theirs, it is less to trust and to keep"
LOOK = "nothing was gained since"
#: What cores are called in our own tables of costs, where that differs from llvm-mca's names.
_OURS = {"icelake-server": "icelake"}
_WORDS = {
    "products": ("product", "products"),
    "with carry": ("addition with carry", "additions with carry"),
    "other ALU": ("other ALU instruction", "other ALU instructions"),
    "loads": ("load", "loads"),
    "stores": ("store", "stores"),
    "moves": ("move or constant", "moves and constants"),
    "spills": ("spill or reload", "spills and reloads"),
    "frame": ("instruction of prologue and epilogue", "instructions of prologue and epilogue"),
    "branches": ("branch", "branches"),
}


@dataclass(frozen=True)
class Verdict:
    """`outcome` is `ahead`, `even`, `behind`, `mixed` or `different`; the sentences say why."""

    outcome: str
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.sentences)


def verdict(made: Comparison, advice: str = SHIP) -> Verdict:
    """Judge a comparison; `advice` is what to do when ours is not ahead."""
    name = made.theirs.body.name
    outcome, conclusion = _conclusion(made, name, advice)
    sentences = [conclusion, *_sameness(made, name), _counts(made, name), *_classes(made, name), *_cycles(made, name)]
    measured = made.ours.figures.measured, made.theirs.figures.measured
    if None not in measured:
        sentences.append(f"Measured on this {cpu()}: {measured[0]} cycles a call against {measured[1]}.")
    return Verdict(outcome, (*sentences, *_notes(made, name)))


def _conclusion(made: Comparison, name: str, advice: str) -> tuple[str, str]:
    if made.same is not None and not made.same.holds:
        return "different", f"{name} is not the same function."
    mine, yours = made.ours.figures, made.theirs.figures
    shared = [each for each in mine.cycles if each in yours.cycles]
    if shared:
        ratios = [yours.cycles[each] / mine.cycles[each] for each in shared]
        ahead = [each for each, ratio in zip(shared, ratios, strict=True) if ratio > 1 + TIE]
        behind = [each for each, ratio in zip(shared, ratios, strict=True) if ratio < 1 - TIE]
        measure = "in modelled cycles"
    else:
        ratio = yours.cost / mine.cost if mine.executed and yours.executed else yours.instructions / mine.instructions
        ahead, behind = (["here"] if ratio > 1 + TIE else []), (["here"] if ratio < 1 - TIE else [])
        measure = "in instructions"
    if ahead and behind:
        return "mixed", f"Neither wins: asmgen is ahead on {_list(ahead)}, {name} on {_list(behind)}."
    if ahead:
        return "ahead", f"asmgen is ahead of {name} {measure}."
    won, level = ("was better", "was as good") if advice is LOOK else ("has won", "has caught up")
    if behind:
        return "behind", f"{name} {won} {measure}: {advice}."
    return "even", f"{name} {level} {measure} (within {TIE:.0%}): {advice}."


def _sameness(made: Comparison, name: str) -> Iterator[str]:
    same = made.same
    if same is None:
        return
    if same.first is None:
        yield f"Both are the same function on {same.vectors:,} edge-biased inputs."
    else:
        yield f"It differs for {same.wrong:,} of {same.vectors:,} inputs: {same.first.reason}."
        if same.shared == same.wrong:
            yield "Only where buffers are shared: the kernel's contract allows that, theirs may not."
        elif same.narrower:
            yield f"On {same.narrower} it is the same: its contract is narrower than the kernel's."
    if same.beyond:
        more = f" and {len(same.beyond) - 1} more limbs likewise" if len(same.beyond) > 1 else ""
        yield f"Its results are looser: {same.beyond[0]}{more}."


def _counts(made: Comparison, name: str) -> str:
    mine, yours = made.ours.figures, made.theirs.figures
    less = yours.instructions - mine.instructions
    word = f"{abs(less)} {'fewer' if less > 0 else 'more'}" if less else "as many"
    executed = ""
    if not mine.executed or not yours.executed:
        executed = "; what a call executes is too long to be followed, so these are counted as they stand"
    elif mine.executed != mine.instructions or yours.executed != yours.instructions:
        executed = f"; executed in the usual call {mine.executed:,} against {yours.executed:,}"
    return (
        f"asmgen takes {mine.instructions} instructions ({mine.size} bytes), {name} {yours.instructions} "
        f"({yours.size} bytes): {word}{executed}."
    )


def _classes(made: Comparison, name: str) -> Iterator[str]:
    mine, yours = made.ours.figures, made.theirs.figures
    more: list[tuple[int, str]] = []
    less: list[tuple[int, str]] = []
    for column, _ in COLUMNS:
        extra = yours.column(column) - mine.column(column)
        if extra:
            (more if extra > 0 else less).append((abs(extra), _WORDS[column][abs(extra) != 1]))
    parts = []
    for group, word in ((more, "more"), (less, "fewer")):
        if group:
            parts.append(f"{_list([f'{count} {word} {what}' for count, what in sorted(group, reverse=True)])}")
    if parts:
        yield f"{name} has {', and '.join(parts)}."
    matched, products = made.matched(0, "products")
    if products and made.ours.runs and made.theirs.runs:
        yield f"{matched} of our {products} products are products or sums of theirs, by value."
    unmatched = made.unmatched(1)
    if unmatched:
        top = sorted(unmatched.items(), key=lambda each: -each[1])[:4]
        yield f"Without a counterpart in ours: {_list([f'{count} × {cause}' for cause, count in top])}."


def _cycles(made: Comparison, name: str) -> Iterator[str]:
    mine, yours = made.ours.figures.cycles, made.theirs.figures.cycles
    shared = [each for each in mine if each in yours]
    if not shared:
        return
    yield (
        "Modelled cycles, ours against theirs: "
        + "; ".join(f"{each} {mine[each]:.1f} / {yours[each]:.1f}" for each in shared)
        + "."
    )
    widest = max(shared, key=lambda each: abs(yours[each] - mine[each]))
    if abs(yours[widest] - mine[widest]) > TIE * mine[widest]:
        reason = [f"{who} {_bound(side, widest)}" for who, side in (("ours", made.ours), ("theirs", made.theirs))]
        if all(not each.endswith(" ") for each in reason):
            yield f"On {widest}, where they differ most, {' and '.join(reason)}."
    chains = made.ours.figures.chain, made.theirs.figures.chain
    if chains[0] != chains[1]:
        yield f"The deepest chain is {chains[0]} cycles in ours, {chains[1]} in theirs (generic core)."


def _bound(side: Side, name: str) -> str:
    """What holds a routine back on a core, from our own tables; empty where there is none."""
    try:
        table = core(_OURS.get(name, name), side.body.target)
    except AsmgenError:
        return ""
    limits = bounds(side, table)
    what = max(limits, key=lambda each: limits[each])
    cycles = side.figures.cycles[name]
    if cycles <= 1.2 * limits[what]:
        return f"is held by {what} ({limits[what]:.0f} of {cycles:.0f} cycles)"
    return f"waits for results ({cycles:.0f} cycles; {what} alone would be {limits[what]:.0f})"


def bounds(side: Side, table: Core) -> Mapping[str, float]:
    """The least cycles that a call takes on a core by the multiplier and by the number of instructions."""
    lines = [step.line for step in side.runs[0].steps]
    products = sum(
        table.throughput(line.row.cost) if line.row is not None and line.row.cost in table.ports else 1.0
        for line in lines
        if line.kind == "products"
    )
    return {"the multiplier": products, "the number of instructions": len(lines) / table.issue_width}


def _notes(made: Comparison, name: str) -> Iterator[str]:
    theirs = made.theirs
    written = {register for line in theirs.lines.values() for register in line.writes}
    if theirs.varies:
        yield f"The path of {name} depends on secrets: it is not constant time."
    if written & set(VECTORS[theirs.body.target]):
        yield f"{name} uses vector registers."
    if "x18" in written:
        yield f"{name} uses x18, which belongs to the platform on macOS, Windows and Android."


def _list(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
