"""Modelled cycles by llvm-mca, for the cores that it has models of and no others.

What is modelled is the executed straight line: loops unrolled as often as they ran, branches, calls and returns left
out. Where a routine changes the registers that its arguments came in they are set anew, or calls would depend on each
other. Loads do not wait for stores.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from asmgen import tools
from asmgen.diff.steps import Run
from asmgen.errors import UsageError, nearest
from asmgen.optimize.model import set_anew

#: Cores with scheduling models of their own in LLVM 19; for all others it silently takes another core's.
MODELLED = {
    "amd64": (
        "znver1", "znver2", "znver3", "znver4", "sandybridge", "haswell", "broadwell", "skylake", "skylake-avx512",
        "icelake-server", "sapphirerapids", "alderlake",
    ),
    "arm64": (
        "neoverse-n1", "neoverse-n2", "neoverse-v1", "neoverse-v2", "cortex-a53", "cortex-a55", "cortex-a510",
        "cortex-a57", "ampere1", "thunderx2t99", "thunderx3t110", "tsv110", "exynos-m5", "a64fx",
    ),
}  # fmt: skip
#: Those shown unless others are asked for.
USUAL = {
    "amd64": ("znver3", "znver4", "skylake", "icelake-server"),
    "arm64": ("neoverse-n1", "neoverse-v1", "neoverse-v2", "cortex-a55"),
}
_OLDEST = 19
_NAMES = (*(f"llvm-mca-{version}" for version in range(30, _OLDEST - 1, -1)), "llvm-mca")
_TRIPLES = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}
#: Calls that are modelled one after the other, fewer of long ones: about so many instructions in all.
_ITERATIONS, _FEWEST, _ENOUGH = 50, 10, 10_000
#: Routines given to one run: what it prints must fit into what is read of it.
_AT_ONCE = 150
#: Instructions of a call beyond which it is not modelled.
_LONGEST = 5000


@cache
def found() -> tuple[str | None, str]:
    """The program, or None and what to say about it."""
    path = tools.find(_NAMES)
    if path is None:
        return None, f"no modelled cycles: no {_NAMES[-2]} or newer on PATH (Debian's llvm-19 has it)"
    if (known := version(path)) < _OLDEST:
        said = known or "unknown"
        return None, f"no modelled cycles: {path} is version {said}, whose models are too old; {_OLDEST} is needed"
    return path, ""


@cache
def version(path: str) -> int:
    """Of LLVM, which a program belongs to; 0 where it does not say."""
    said = re.search(r"version (\d+)", tools.run((path, "--version"), seconds=10).output)
    return int(said[1]) if said else 0


def cores(wished: Sequence[str], target: str) -> tuple[str, ...]:
    """The cores to show; UsageError for one that has no model of its own."""
    mine = tuple(core for core in wished if core in MODELLED[target])
    every = [core for known in MODELLED.values() for core in known]
    for core in wished:
        if core not in every:
            close = nearest(core, every)
            raise UsageError(
                f"llvm-mca has no model of its own for {core}: its figures would be those of another core",
                hint=(f"did you mean {close}? " if close else "") + "one of " + ", ".join(MODELLED[target]),
            )
    return mine if wished else USUAL[target]


def text(target: str, run: Run) -> str:
    """The executed straight line as llvm-mca reads it."""
    lines = [step.line for step in run.steps if step.line.control is None and step.kind != "marks"]
    changed = {name for line in lines for name in line.writes}
    setting = {"amd64": "movl $64, %{}", "arm64": "mov {}, #64"}[target]
    again = [setting.format(_low(target, name)) for name in set_anew(target, changed)]
    return "\n".join([*again, *(line.text for line in lines)])


def _low(target: str, name: str) -> str:
    """The 32-bit name of an argument register on amd64."""
    if target != "amd64":
        return name
    return f"{name}d" if name[1:].isdigit() else f"e{name[1:]}"


def cycles(target: str, core: str, texts: Sequence[str], calls: int = 0) -> list[float | None]:
    """Cycles a call of each, over so many independent ones, by default many; None where llvm-mca does not take an
    instruction."""
    path, _ = found()
    short = [index for index, each in enumerate(texts) if each.count("\n") < _LONGEST]
    if path is None or len(short) < len(texts):
        numbers = iter(cycles(target, core, [texts[index] for index in short], calls) if path and short else ())
        return [next(numbers, None) if index in short else None for index in range(len(texts))]
    if len(texts) > _AT_ONCE:
        parts = (texts[at : at + _AT_ONCE] for at in range(0, len(texts), _AT_ONCE))
        return [each for part in parts for each in cycles(target, core, part, calls)]
    made = _model(path, target, core, texts, calls)
    if made is not None:
        return list(made)
    alone = [_model(path, target, core, [each], calls) for each in texts] if len(texts) > 1 else [None]
    return [each[0] if each else None for each in alone]


def _model(path: str, target: str, core: str, texts: Sequence[str], calls: int) -> list[float] | None:
    regions = "".join(f"# LLVM-MCA-BEGIN r{index}\n{each}\n# LLVM-MCA-END\n" for index, each in enumerate(texts))
    longest = max(each.count("\n") for each in texts) + 1
    iterations = calls or many(longest)
    with tempfile.TemporaryDirectory(prefix="asmgen-") as scratch:
        source = Path(scratch) / "lines.s"
        source.write_text(regions)
        command = (path, f"-mtriple={_TRIPLES[target]}", f"-mcpu={core}", f"-iterations={iterations}",
                   "-instruction-info=0", "-resource-pressure=0", str(source))  # fmt: skip
        finished = tools.run(command, seconds=60)
    if finished.status:
        return None
    totals = [int(each) / iterations for each in re.findall(r"^Total Cycles:\s+(\d+)", finished.output, re.M)]
    return totals if len(totals) == len(texts) else None


def many(longest: int) -> int:
    """How many calls are modelled one after the other when the longest has so many instructions."""
    return max(_FEWEST, min(_ITERATIONS, _ENOUGH // longest))


def table(target: str, wished: Sequence[str], runs: Sequence[Run], calls: int = 0) -> list[Mapping[str, float]]:
    """The modelled cycles of several routines, each by core; `calls` as for `cycles`."""
    texts = [text(target, run) for run in runs]
    made: list[dict[str, float]] = [{} for _ in runs]
    for core, numbers in _all(target, wished, texts, calls):
        for each, number in zip(made, numbers, strict=True):
            if number is not None:
                each[core] = number
    return list(made)


def _all(
    target: str, wished: Sequence[str], texts: Sequence[str], calls: int
) -> Iterator[tuple[str, list[float | None]]]:
    every = cores(wished, target)
    with ThreadPoolExecutor(2) as pool:
        yield from zip(every, pool.map(lambda core: cycles(target, core, texts, calls), every), strict=True)
