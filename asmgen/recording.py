"""`asmgen build --record`: find what wins for every routine of scripts, see asmgen.passes.seeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from asmgen import scripts
from asmgen.errors import AsmgenError
from asmgen.files import differences, write
from asmgen.kernel import Kernel
from asmgen.passes import FEATURES, Options, seeds, winner
from asmgen.passes.plans import Seed
from asmgen.work import each

Job = tuple[Kernel, Options]


def run(selectors: Sequence[str], *, check: bool) -> None:
    """Write the files, a line each; with `check`, AsmgenError when one does not say what wins."""
    for path, text in records(selectors).items():
        if not check:
            ((_, new),) = write({path.name: text}, path.parent)
            print(f"{path}{'' if new else ' (as it was)'}")
        elif found := differences({path.name: text}, path.parent):
            raise AsmgenError(found[0], hint="asmgen build --record writes it anew")


def records(selectors: Sequence[str]) -> dict[Path, str]:
    """The texts of the files that say what wins for all kernels of the scripts that are named, on every target.

    What is recorded of other scripts stays.
    """
    files = dict.fromkeys(Path(function.file) for function in scripts.find(selectors))
    functions = [function for file in files for function in scripts.load(file).kernels.values()]
    jobs = [
        (kernel, Options(target, features, planned=False, recorded=False))
        for kernel in functions
        if isinstance(kernel, Kernel)
        for target, sets in FEATURES.items()
        for features in sets
    ]
    won: dict[Path, dict[tuple[str, str, str], Seed]] = {file: {} for file in files}
    for (kernel, options), seed in zip(jobs, each(_winner, jobs), strict=True):
        won[Path(kernel.file)][kernel.name, options.target, options.features] = seed
    places = dict.fromkeys(map(seeds.record, files))
    return {place: seeds.text(place, {f: won[f] for f in files if seeds.record(f) == place}) for place in places}


def _winner(job: Job) -> Seed:
    return winner(*job)

