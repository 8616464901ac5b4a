"""Meanings of all rows against unicorn, and those of amd64 against this CPU too:

    ./run python tests/measure_meanings.py [--comparisons 10000000] [--seed 1] [--rows]

Random walks of twelve instructions, rows in turn, from edge-biased registers, flags and memory. After each instruction
every register and every flag that is defined is compared with what the row's meaning says, each a comparison, and the
memory after a walk. Native code is run in a child process, which is stopped after five minutes. Printed are the counts
by target and engine, with `--rows` by row too, and whatever differs; then the command fails.
"""

from __future__ import annotations

import platform
import random
import sys
from collections.abc import Mapping
from pathlib import Path

import amd64_machine
import amd64_walks
import arm64_walks
import click
from walks import Tally

from asmgen.work import each

WALKS = {"amd64": 100, "arm64": 50}  #: of a batch
AT_ONCE = 8  #: batches


def cpu() -> amd64_walks.Engine | None:
    """This CPU, with what it says that it has; None where it does not run amd64 code on Linux."""
    info = Path("/proc/cpuinfo")
    if platform.system() != "Linux" or platform.machine() != "x86_64" or not info.exists():
        return None
    said = next(line for line in info.read_text().splitlines() if line.startswith("flags")).split()
    return amd64_walks.Engine(amd64_machine.run_native, frozenset(said))


def batch(target: str, seed: int, number: int, walks: int) -> Mapping[str, Tally]:
    """One batch of a target, by engine."""
    rng = random.Random(f"{seed} {target} {number}")
    if target == "arm64":
        return {"unicorn": arm64_walks.compare(rng, walks)}
    native = cpu()
    engines = {"unicorn": amd64_walks.EMULATED} | ({"this CPU": native} if native else {})
    return amd64_walks.compare(engines, rng, walks)


def measured(target: str, seed: int, comparisons: int) -> dict[str, Tally]:
    """Batches until each engine has made so many comparisons."""
    totals: dict[str, Tally] = {}
    number = 0
    while not totals or min(tally.total for tally in totals.values()) < comparisons:
        jobs = [(target, seed, number + i, WALKS[target]) for i in range(AT_ONCE)]
        number += len(jobs)
        for made in each(lambda job: batch(*job), jobs):
            for engine, tally in made.items():
                totals.setdefault(engine, Tally()).add(tally)
    return totals


@click.command(help=__doc__)
@click.option("--comparisons", default=10_000_000, show_default=True, help="At least so many, each engine.")
@click.option("--seed", default=1, show_default=True, help="The same seed, the same walks.")
@click.option("--rows", is_flag=True, help="Print the counts of every row.")
def main(comparisons: int, seed: int, rows: bool) -> None:
    different = 0
    for target in WALKS:
        for engine, tally in measured(target, seed, comparisons).items():
            ran = tally.ran.values()
            print(
                f"{target}, {engine}: {tally.total:,} comparisons after {sum(ran):,} instructions of {len(ran)} rows, "
                f"{min(ran):,} to {max(ran):,} a row; {tally.left_out:,} left out; "
                f"{len(tally.differences) or 'none'} different"
            )
            for name, count in sorted(tally.compared.items()) if rows else ():
                print(f"  {name}: {count:,} comparisons after {tally.ran[name]:,} instructions")
            for line in tally.differences[:20]:
                print(f"  DIFFERENT: {line}")
            different += len(tally.differences)
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
