"""`asmgen bench`: what the command does."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rich.console import Console

from asmgen import work
from asmgen.bench import golang, openssl, result, text
from asmgen.bench import modelled as models
from asmgen.bench.entrants import OURS, Field, fields
from asmgen.bench.modelled import Modelled, modelled
from asmgen.bench.result import Result
from asmgen.bench.timer import Samples, can_run, compiled_core, cpu, timed
from asmgen.diff import mca
from asmgen.diff.command import WIDTH
from asmgen.diff.job import by_script
from asmgen.diff.sources import Wishes
from asmgen.errors import AsmgenError, UsageError
from asmgen.function import Function
from asmgen.passes import Options
from asmgen.scripts import directory, find
from emulate.compilers import missing

#: Processes that run or wait for a core, for each core, from which on a machine is called busy.
BUSY = 0.5
#: How often a kernel is timed where other work disturbs it.
ATTEMPTS = 5


@dataclass(frozen=True)
class How:
    """Against what, for so many rounds in each context, modelled on which cores; `python` times without C."""

    wishes: Wishes
    rounds: int = 40
    cores: tuple[str, ...] = ()
    python: bool = False


def run(
    selectors: Sequence[str], targets: Sequence[str], how: How, *, html: Path | None = None, as_json: bool = False
) -> int:
    """Time or model kernels and print, or write, what came of it; the exit code: 1 when nothing could be had of one."""
    if how.wishes.layout and not how.wishes.against:
        raise UsageError("--layout is about --against", hint="--against FILE.o:symbol --layout ARGS")
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH)
    functions = find(selectors)
    if how.wishes.against and len(functions) != 1:
        raise UsageError("--against is about one kernel", hint="name it, such as curve25519_5x51.mul")
    lacking = can_run("amd64", Options("amd64", how.wishes.features).instruction_sets) if "amd64" in targets else ""
    if lacking and tuple(targets) == ("amd64",):
        raise AsmgenError(lacking, hint="--target arm64 for modelled cycles" + (
            "; --features base, which needs neither BMI2 nor ADX" if "this CPU" in lacking else ""))  # fmt: skip
    live = [target for target in targets if target != "amd64" or not lacking]
    said = [*notes(live, how), *([lacking] if lacking else [])]
    if not as_json and html is None:
        for line in said:
            console.print(line, style="dim", highlight=False, soft_wrap=True)
    results: list[Result] = []
    modeled: list[Modelled] = []
    groups = list(by_script(functions))
    for group in groups if "amd64" in live else ():
        for one in _timed(group, how, results):
            results.append(one)
            if not as_json and html is None:
                _show(console, one)
    for target in live:
        # Only now may all cores be busy.
        jobs = groups if target != "amd64" else []
        for made in work.each(partial(_modelled, how, target), jobs):
            modeled += made
            for each in made if not as_json and html is None else ():
                console.print("", text.modelled_table(each), sep="\n")
                for name, reason in each.failed:
                    console.print(f"not there: {name}: {reason}", style="yellow", highlight=False, soft_wrap=True)
    if as_json:
        print(json.dumps({
            "cpu": cpu(), "load": round(load(), 2), "notes": said,
            "kernels": [*map(result.as_json, results), *map(models.as_json, modeled)],
        }, indent=2))  # fmt: skip
    elif html is not None:
        from asmgen.bench.page import page

        html.write_text(page(f"asmgen bench {shlex.join(selectors)}".rstrip(), said, results, modeled))
        console.print(f"{html}", highlight=False)
    elif len(results) > 1:
        console.print("", text.summary_table(results), sep="\n")
    return 1 if any(not one.rows or one.failed for one in results) or any(one.failed for one in modeled) else 0


def _modelled(how: How, target: str, group: Sequence[Function]) -> list[Modelled]:
    return list(modelled(group, how.wishes, how.cores, target))


def _timed(group: Sequence[Function], how: How, done: Sequence[Result]) -> Iterator[Result]:
    """`done` are those of the run so far."""
    for field in fields(group, how.wishes):
        routines = [entry.routine for entry in field.entries]
        measure = partial(timed, routines, how.rounds, python=how.python)
        yield beside_go(field, calmest(field, measure, max((one.rate for one in done), default=0.0)))


def beside_go(field: Field, made: Result) -> Result:
    """The same with Go's own benchmark, where there is one."""
    ours = next((row for row in made.rows if row.name == OURS), None)
    if ours is None or Path(field.function.file).parent != directory().resolve():
        return made
    cycles = {mode: ours.figures[mode].cycles for mode in made.modes if mode in ours.figures}
    signature = field.function.signature
    return replace(made, go=golang.told(signature.script, field.function.name, cycles, made.hertz))


def calmest(field: Field, measure: Callable[..., Samples], best: float = 0.0, pause: float = 0.3) -> Result:
    """The first of some measurements that was not disturbed, else the one that was least: never a mixture.

    Each is told how many additions a cycle there were at `best` so far. The pauses between them grow, in seconds.
    """
    kept: Result | None = None
    for attempt in range(ATTEMPTS if field.entries else 1):
        time.sleep(pause * attempt)
        samples = measure(best=best) if field.entries else Samples({})
        best = max(best, samples.rate)
        made = result.result(field, samples)
        if kept is None or _unrest(made) < _unrest(kept):
            kept = made
        if kept.quiet:
            break
    assert kept is not None
    return kept


def _unrest(made: Result) -> tuple[int, float, float]:
    """Less is better: figures that are missing, how slow additions were, and then how far windows were stretched and
    what the same routine twice differed by."""
    missing = sum(mode not in row.figures for row in made.rows for mode in made.modes)
    known = [made.stretch, *made.twice.values()]
    return missing, -round(made.rate, 1), max(1.0 if each is None else each for each in known)


def _show(console: Console, one: Result) -> None:
    console.print("", text.table(one), sep="\n")
    for line, style in text.remarks(one):
        console.print(line, style=style, highlight=False, soft_wrap=True)


def load() -> float:
    """Processes that run or wait, for each core, of the last minute."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


def notes(targets: Sequence[str], how: How) -> list[str]:
    """What is to be known of all of it: the CPU, what else goes on, what is not here and how to get it."""
    said = []
    if "amd64" in targets:
        said.append(f"{cpu()}: core cycles, call and return included; intervals are of medians over calling contexts")
        if load() > BUSY:
            said.append(f"other work goes on here ({load():.1f} processes a core); what it disturbs is told below")
        if how.python or compiled_core() is None:
            said.append("timed without the C core" + ("" if how.python else ": no C compiler here makes it"))
        if openssl.library() is None:
            said.append(openssl.MISSING)
        if golang.toolchain() is None:
            said.append(golang.MISSING)
    said += [line for target in targets for line in missing(target)]
    if "arm64" in targets and mca.found()[1]:
        said.append(mca.found()[1])
    return said


__all__ = ["BUSY", "How", "Wishes", "load", "notes", "run"]
