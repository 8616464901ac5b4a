"""`asmgen diff`: what the command does."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from asmgen import work
from asmgen.bench.timer import can_run
from asmgen.diff import mca
from asmgen.diff import summary as summaries
from asmgen.diff.export import as_json, entry_json
from asmgen.diff.job import Case, How, Job, by_script, case
from asmgen.diff.sources import Wishes, sources
from asmgen.diff.table import shown
from asmgen.errors import AsmgenError, UsageError
from asmgen.passes import Options
from asmgen.scripts import find
from emulate.compilers import missing

#: Columns of what does not go to a terminal.
WIDTH = 190


def run(
    selectors: Sequence[str],
    targets: Sequence[str],
    how: How,
    *,
    html: Path | None = None,
    as_text: bool = True,
    summary: bool = False,
) -> int:
    """Compare kernels and print, or write, what came of it; the exit code: 0 when all are the same function."""
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH)
    if summary:
        return _summary(console, selectors, targets, how, as_text=as_text)
    found = find(selectors)
    if how.wishes.layout and len(found) != 1:
        raise UsageError("--layout is about one kernel", hint="name it, such as curve25519_5x51.mul")
    if as_text:
        for note in _notes(targets, how):
            console.print(note, style="dim", highlight=False, soft_wrap=True)
    jobs = [(tuple(group), target) for target in targets for group in by_script(found)]
    if html is not None:
        from asmgen.diff.page import page

        cases = [each for job in jobs for each in compared(job, how)]
        html.write_text(page(cases))
        console.print(f"{html}", highlight=False)
        return 0 if all(each.same for each in cases) else 1
    alone = len(found) * len(targets) == 1
    view = partial(_text, console, alone) if as_text else as_json
    made = [each for group in work.each(partial(_viewed, view, how), jobs) for each in group]
    if as_text:
        for text, _ in made:
            console.file.write(text)
    else:
        print(json.dumps([each for each, _ in made], indent=2))
    return 0 if all(same for _, same in made) else 1


def _viewed(view: Callable[[Case], Any], how: How, job: Job) -> list[tuple[Any, bool]]:
    """What is shown of each kernel, and whether it is the same function by all."""
    return [(view(each), each.same) for each in compared(job, how)]


def _text(console: Console, listing: bool, made: Case) -> str:
    with console.capture() as capture:
        shown(console, made, listing=listing)
    return capture.get()


def _notes(targets: Sequence[str], how: How) -> list[str]:
    """What is not here, and how to get it."""
    notes = [] if how.wishes.against else [line for target in targets for line in missing(target)]
    if how.model and mca.found()[1]:
        notes.append(mca.found()[1])
    if how.measure:
        notes += [said for target in targets if (said := can_run(target, Options(target, how.wishes.features)
                                                                 .instruction_sets))]  # fmt: skip
    return notes


def _summary(console: Console, selectors: Sequence[str], targets: Sequence[str], how: How, *, as_text: bool) -> int:
    """One table over all, then totals and causes; as Markdown where that goes to a file."""
    for note in _notes(targets, how):
        Console(stderr=True).print(note, style="dim", highlight=False, soft_wrap=True)
    entries = summaries.summarize(selectors, targets, how)
    if not as_text:
        print(json.dumps([entry_json(each) for each in entries], indent=2))
    for cells in (summaries.totals(entries), summaries.rest(entries), summaries.lines(entries)) if as_text else ():
        if len(cells) == 1:
            continue  # nothing but heads: there is no other one
        if console.is_terminal:
            console.print(summaries.as_table(cells))
        else:
            print(summaries.as_markdown(cells))
    return 0 if all(not each.problem for each in entries) else 1


def compared(job: Job, how: How) -> Iterator[Case]:
    """Kernels of one script on one target, each against everything."""
    kernels, target = job
    others = sources(kernels, target, how.wishes)
    if not others:
        raise AsmgenError(
            f"nothing to compare with on {target}: no compiler is here",
            hint="; ".join(missing(target)) + "; or --against FILE.o:symbol, lib.a:symbol",
        )
    for each in kernels:
        yield case(each, target, others, how)


__all__ = ["How", "Wishes", "compared", "run"]
