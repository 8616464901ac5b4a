"""Many kernels in one table: what each takes on each target, by us and by each set of compiler and flags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from rich import box
from rich.table import Table

from asmgen.diff.classes import CAUSES
from asmgen.diff.comparison import Comparison
from asmgen.diff.figures import COLUMNS, Figures
from asmgen.diff.job import Case, How, Job, by_script, cases
from asmgen.diff.sources import sources
from asmgen.errors import AsmgenError
from asmgen.function import Function
from asmgen.program import Program
from asmgen.scripts import find, shipped
from asmgen.work import cores, each

#: Cores that summaries are modelled on unless others are asked for.
CORES = ("znver3", "neoverse-n1")
#: Instructions of a call beyond which programs are only counted and compared by their results.
LONGEST = 3000
#: The column of measured cycles.
HERE = "measured"
#: The vectors of a program are so many times fewer: it takes that much longer, and what it calls is compared by itself.
PART = 8


@dataclass(frozen=True)
class Entry:
    """A line of the summary: one routine. `figures` is None where it could not be compared, for which `problem` is the
    reason; `products` are (matched, all) of ours, `unmatched` the lines without a counterpart by cause, ours first."""

    kernel: str
    target: str
    name: str
    figures: Figures | None
    products: tuple[int, int] = (0, 0)
    unmatched: tuple[Mapping[str, int], Mapping[str, int]] = field(default_factory=lambda: ({}, {}))
    outcome: str = ""
    problem: str = ""


def summarize(selectors: Sequence[str], targets: Sequence[str], how: How) -> list[Entry]:
    """Compare everything with everything, over the machine's cores. Listings and pages need more: see `job.case`.

    What fails has an entry with its reason, and the rest goes on.
    """
    how = replace(how, cores=how.cores or CORES)
    found, failed = _found(selectors)
    jobs = [(tuple(group), target) for group in by_script(found) for target in targets]
    order = sorted(range(len(jobs)), key=lambda index: (-_weight(jobs[index]), index))  # the longest first
    sorted_jobs = [jobs[index] for index in order]
    made = dict(zip(order, each(partial(_job, how), sorted_jobs, cores() + 1), strict=True))  # one waits for llvm-mca
    return [entry for index in range(len(jobs)) for entry in made[index]] + failed


def _found(selectors: Sequence[str]) -> tuple[list[Function], list[Entry]]:
    """The kernels; of all shipped scripts those that can be read, and an entry for each other one."""
    if selectors:
        return find(selectors), []
    found: list[Function] = []
    failed = []
    for name in shipped():
        try:
            found += find([name])
        except AsmgenError as error:
            failed.append(Entry(name, "", "asmgen", None, problem=str(error)))
    return found, failed


def _weight(job: Job) -> int:
    """About how long it takes."""
    return sum(int(each.modulus).bit_length() ** 2 for each in job[0])


def _job(how: How, job: Job) -> list[Entry]:
    """The lines of kernels of one script on one target; one with the reason where there is nothing to compare."""
    kernels, target = job
    others = sources(kernels, target, how.wishes, usual=1)
    asked = [(kernel, _shortened(kernel, how)) for kernel in kernels]
    entries: list[Entry] = []
    for kernel, made in zip(kernels, cases(asked, target, others), strict=True):
        name = f"{kernel.signature.script}.{kernel.signature.kernel}"
        if isinstance(made, Exception):
            own = f"a fault in asmgen, {type(made).__name__}: "
            entries.append(
                Entry(name, target, "asmgen", None, problem=f"{'' if isinstance(made, AsmgenError) else own}{made}")
            )
        else:
            entries += _entries(name, made)
    return entries


def _shortened(function: Function, how: How) -> How:
    """Less of what takes long for a program."""
    if not isinstance(function, Program):
        return how
    return replace(how, limit=min(how.limit, LONGEST), vectors=-(-how.vectors // PART))


def _entries(kernel: str, made: Case) -> Iterator[Entry]:
    """Ours, then each of the others, those of equal code too."""
    target = made.target
    yield Entry(kernel, target, "asmgen", made.ours.figures)
    for one, verdict in zip(made.comparisons, made.verdicts, strict=True):
        entry = _entry(kernel, target, one, verdict.outcome)
        yield entry
        yield from (replace(entry, name=name) for name in made.equal.get(entry.name, ()))
    for failed in made.failed:
        yield Entry(kernel, target, failed.name, None, problem=failed.reason)


def _entry(kernel: str, target: str, made: Comparison, outcome: str) -> Entry:
    problem = made.same.first.reason if made.same and made.same.first else ""
    products = made.matched(0, "products") if made.ours.runs and made.theirs.runs else (0, 0)
    return Entry(
        kernel, target, made.theirs.body.name, made.theirs.figures, products,
        (made.unmatched(0), made.unmatched(1)), outcome, problem,
    )  # fmt: skip


# What is printed.

Cells = Sequence[Sequence[str]]


def lines(entries: Sequence[Entry]) -> Cells:
    """Heads, then a row a routine."""
    cores = list(dict.fromkeys(core for entry in entries if entry.figures for core in entry.figures.cycles))
    here = any(entry.figures is not None and entry.figures.measured is not None for entry in entries)
    heads = ["kernel", "target", "by", "insns", *(name for name, _ in COLUMNS), "bytes", "chain", *cores,
             *([HERE] if here else []), "matched", ""]  # fmt: skip
    return [heads, *(_row(entry, cores, here=here) for entry in entries)]


def _row(entry: Entry, cores: Sequence[str], *, here: bool) -> list[str]:
    figures = entry.figures
    if figures is None:
        empty = [""] * (len(COLUMNS) + 4 + len(cores) + here)
        return [entry.kernel, entry.target, entry.name, *empty, _brief(entry.problem)]
    ours = entry.name == "asmgen"
    return [
        entry.kernel, entry.target, entry.name, str(figures.instructions),
        *(str(figures.column(name)) for name, _ in COLUMNS), str(figures.size), str(figures.chain),
        *(f"{figures.cycles[core]:.1f}" if core in figures.cycles else "" for core in cores),
        *(["" if figures.measured is None else f"{figures.measured:.1f}"] if here else []),
        "" if ours or not entry.products[1] else f"{entry.products[0]}/{entry.products[1]}",
        "" if ours else entry.problem or entry.outcome,
    ]  # fmt: skip


def _brief(problem: str) -> str:
    """The first line of a reason, and the first error that a compiler tells."""
    first, *more = problem.splitlines()
    error = next((line.strip() for line in more if "error:" in line), "")
    return f"{first} {error}".strip()


def totals(entries: Sequence[Entry]) -> Cells:
    """For each target and set: kernels, products matched, how often we are ahead, instructions in all."""
    heads = ["target", "by", "kernels", "products matched", "part", "instructions, ours", "theirs", "ahead", "even",
             "behind", "mixed", "not the same"]  # fmt: skip
    ours = {(entry.kernel, entry.target): entry.figures for entry in entries if entry.name == "asmgen"}
    rows = []
    for target, name in _groups(entries):
        mine = [e for e in entries if (e.target, e.name) == (target, name) and e.figures is not None]
        matched, products = (sum(entry.products[index] for entry in mine) for index in (0, 1))
        outcomes = Counter(entry.outcome for entry in mine)
        own = [figures for entry in mine if (figures := ours.get((entry.kernel, target))) is not None]
        rows.append([
            target, name, str(len(mine)), f"{matched} of {products}", f"{matched / products:.1%}" if products else "",
            str(sum(figures.instructions for figures in own)),
            str(sum(entry.figures.instructions for entry in mine if entry.figures)),
            *(str(outcomes[outcome]) for outcome in ("ahead", "even", "behind", "mixed", "different")),
        ])  # fmt: skip
    return [heads, *rows]


def rest(entries: Sequence[Entry]) -> Cells:
    """For each cause how many instructions have no counterpart: ours / theirs for each target and set."""
    groups = _groups(entries)
    heads = ["cause, ours / theirs", *(f"{target} {name}" for target, name in groups)]
    counted: dict[tuple[str, str], tuple[Counter[str], Counter[str]]] = {key: (Counter(), Counter()) for key in groups}
    for entry in entries:
        for side, counts in enumerate(entry.unmatched if (entry.target, entry.name) in counted else ()):
            counted[entry.target, entry.name][side].update(counts)
    return [heads, *([cause, *(f"{mine[cause]} / {theirs[cause]}" for mine, theirs in counted.values())]
                     for cause in CAUSES if any(one[cause] for pair in counted.values() for one in pair))]  # fmt: skip


def _groups(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((entry.target, entry.name) for entry in entries if entry.name != "asmgen"))


def as_table(cells: Cells) -> Table:
    """For a terminal."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    for index, head in enumerate(cells[0]):
        table.add_column(head, justify="left" if not index or head in ("target", "by", "") else "right")
    for row in cells[1:]:
        table.add_row(*row)
    return table


def as_markdown(cells: Cells) -> str:
    """For a document."""
    heads, *rows = cells
    left = [not index or head in ("target", "by", "") for index, head in enumerate(heads)]
    rule = ["---" if each_left else "---:" for each_left in left]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rule, *rows)) + "\n"


__all__ = ["Entry", "as_markdown", "as_table", "lines", "rest", "summarize", "totals"]
