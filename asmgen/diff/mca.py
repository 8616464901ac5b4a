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
#: Calls that are modelled one after the other, fewer of long ones: the most that are about so many instructions in all.
_ITERATIONS, _ENOUGH = (50, 20, 10), 10_000
#: Instructions of a call beyond which it is not modelled.
_LONGEST = 5000
#: Routines that one run of llvm-mca models: its output is bounded.
_AT_ONCE = 60


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
    setting = {"amd64": "movl $64, %{}", "arm64": "mov {}, #64"}[target]
    arguments = set_anew(target, [(line.reads, line.writes) for line in lines])
    again = [setting.format(_low(target, name)) for name in arguments]
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
    if path is None:
        return [None] * len(texts)
    groups: dict[int, list[int]] = {}
    for index, each in enumerate(texts):
        length = each.count("\n") + 1
        if length <= _LONGEST:
            groups.setdefault(calls or many(length), []).append(index)
    made: list[float | None] = [None] * len(texts)
    for iterations, group in groups.items():
        for start in range(0, len(group), _AT_ONCE):
            part = group[start : start + _AT_ONCE]
            numbers = _models(path, target, core, [texts[index] for index in part], iterations)
            for index, number in zip(part, numbers, strict=True):
                made[index] = number
    return made


def many(length: int) -> int:
    """Calls to model of a routine of so many instructions."""
    return next((each for each in _ITERATIONS if each * length <= _ENOUGH), _ITERATIONS[-1])


def _models(path: str, target: str, core: str, texts: Sequence[str], iterations: int) -> Sequence[float | None]:
    """Cycles of each by one run; where that is refused, by halves, until the one to blame stands alone."""
    made = _model(path, target, core, texts, iterations)
    if made is not None:
        return made
    if len(texts) == 1:
        return [None]
    middle = len(texts) // 2
    halves = (texts[:middle], texts[middle:])
    return [number for half in halves for number in _models(path, target, core, half, iterations)]


def _model(path: str, target: str, core: str, texts: Sequence[str], iterations: int) -> list[float] | None:
    # The mark is # for arm64 too: after // it is not seen, and all lines are taken for one routine.
    regions = "".join(f"# LLVM-MCA-BEGIN r{index}\n{each}\n# LLVM-MCA-END\n" for index, each in enumerate(texts))
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
