"""`asmgen diff`: what the command does."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from asmgen.diff import mca
from asmgen.diff import summary as summaries
from asmgen.diff.export import as_json, entry_json
from asmgen.diff.job import Case, How, by_script, case
from asmgen.diff.sources import Wishes, sources
from asmgen.diff.table import shown
from asmgen.errors import AsmgenError, UsageError
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
    cases = list(compared(selectors, targets, how, console if as_text else None))
    if html is not None:
        from asmgen.diff.page import page

        html.write_text(page(cases))
        console.print(f"{html}", highlight=False)
    elif not as_text:
        print(json.dumps([as_json(each) for each in cases], indent=2))
    else:
        for each in cases:
            shown(console, each, listing=len(cases) == 1)
    return 0 if all(each.same for each in cases) else 1


def _summary(console: Console, selectors: Sequence[str], targets: Sequence[str], how: How, *, as_text: bool) -> int:
    """One table over all, then totals and causes; as Markdown where that goes to a file."""
    for note in [line for target in targets for line in missing(target)]:
        Console(stderr=True).print(note, style="dim", highlight=False, soft_wrap=True)
    entries = list(summaries.summarize(find(selectors), targets, how))
    if not as_text:
        print(json.dumps([entry_json(each) for each in entries], indent=2))
    for cells in (summaries.totals(entries), summaries.rest(entries), summaries.lines(entries)) if as_text else ():
        if console.is_terminal:
            console.print(summaries.as_table(cells))
        else:
            print(summaries.as_markdown(cells))
    return 0 if all(not each.problem for each in entries) else 1


def compared(selectors: Sequence[str], targets: Sequence[str], how: How, console: Console | None) -> list[Case]:
    """Every kernel that is named, on every target, against everything."""
    found = find(selectors)
    if how.wishes.layout and len(found) != 1:
        raise UsageError("--layout is about one kernel", hint="name it, such as curve25519_5x51.mul")
    made = []
    for target in targets:
        notes = [] if how.wishes.against else missing(target)
        for kernels in by_script(found):
            others = sources(kernels, target, how.wishes)
            if not others:
                raise AsmgenError(
                    f"nothing to compare with on {target}: no compiler is here",
                    hint="; ".join(missing(target)) + "; or --against FILE.o:symbol, lib.a:symbol",
                )
            made += [case(each, target, others, how) for each in kernels]
        if how.model and mca.found()[1]:
            notes.append(mca.found()[1])
        if console is not None:
            for note in notes:
                console.print(note, style="dim", highlight=False, soft_wrap=True)
    return made


__all__ = ["How", "Wishes", "compared", "run"]
