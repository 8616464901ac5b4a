"""From kernels to files: all texts in memory first, then on disk all at once, or held against what stands there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from asmgen.cache import cached
from asmgen.emit import c, c_calls, gnu, header
from asmgen.emit.origin import Origin
from asmgen.errors import AsmgenError
from asmgen.files import differences, write
from asmgen.function import Function
from asmgen.kernel import Kernel
from asmgen.passes import FEATURES, Options, compile_program, compile_stages, keep_code, plans_of
from asmgen.passes.plans import GENERIC, strictly
from asmgen.program import Program
from asmgen.units import Unit, units
from asmgen.words import Program as Words
from asmgen.work import each

ENDINGS = (".S", ".h", ".c", ".lst")

#: Told of each routine that is done: how many there are, how many are to come, the file's name and the routine's.
Progress = Callable[[int, int, str, str], None]


@dataclass(frozen=True)
class _Made:
    """A routine's part of each file."""

    assembly: gnu.Part
    c: c.Part
    listing: str
    stack: int


def texts(made: Sequence[Unit], progress: Progress | None = None, *, trust: bool = True) -> dict[str, str]:
    """The files, by path below the output directory; kernels are compiled side by side, each for all its targets by one
    process, which traces it once.

    With `trust` they are taken from what is kept of earlier builds.
    """
    jobs = [(unit, kernel) for unit in made for kernel in unit.kernels]
    wanted: dict[Kernel, list[Unit]] = {}
    for unit, kernel in jobs:
        if isinstance(kernel, Kernel):
            wanted.setdefault(kernel, []).append(unit)
    work = partial(_routines_of, trust=trust)
    parts: dict[tuple[Unit, Function], _Made] = {}

    def take(unit: Unit, function: Function, result: _Made) -> None:
        parts[unit, function] = result
        if progress is not None:
            progress(len(parts), len(jobs), f"{unit.origin.target}/{unit.origin.stem}", function.name)

    for (kernel, among), results in zip(wanted.items(), each(work, list(wanted.items())), strict=True):
        for unit, result in zip(among, results, strict=True):
            take(unit, kernel, result)
    stacks: dict[Unit, dict[Function, int]] = {unit: {} for unit in made}
    for (unit, kernel), part in parts.items():
        stacks[unit][kernel] = part.stack
    programs = partial(_programs_of, trust=trust)
    for unit, found in zip(made, each(programs, list(stacks.items())), strict=True):
        for program, result in zip(_callees_first(unit.kernels), found, strict=True):
            take(unit, program, result)
    files: dict[str, str] = {}
    for unit in made:
        done_parts = [parts[unit, kernel] for kernel in unit.kernels]
        for ending, text in zip(ENDINGS, _joined(unit.origin, done_parts), strict=True):
            files[f"{unit.origin.target}/{unit.origin.stem}{ending}"] = text
    return files


def _routines_of(job: tuple[Kernel, Sequence[Unit]], *, trust: bool) -> list[_Made]:
    kernel, among = job
    known: list[tuple[Words, c.Part]] = []
    return [
        cached(
            ("files", unit.origin, unit.options, kernel.name, plans_of(kernel, unit.options)),
            partial(_compiled, unit, kernel, known),
            script=kernel.version,
            trust=trust,
        )
        for unit in among
    ]


def _programs_of(job: tuple[Unit, Mapping[Function, int]], *, trust: bool) -> list[_Made]:
    """The programs of a unit, each after those that it calls; given the bytes of stack that its kernels use."""
    unit, kernels = job
    stacks, made = dict(kernels), []
    for program in _callees_first(unit.kernels):
        below = {callee: stacks[callee] for callee in program.callees}
        made_of = (unit.origin, unit.options, program.name, sorted((callee.name, n) for callee, n in below.items()))
        work = partial(_program, unit, program, below)
        made.append(cached(("files", *made_of), work, script=program.version, trust=trust))
        stacks[program] = made[-1].stack
    return made


def _compiled(unit: Unit, kernel: Function, known: list[tuple[Words, c.Part]]) -> _Made:
    """A kernel's parts; `known` has the C of words that other targets are made of, too, and gets that of these."""
    from emulate import listing

    stages = compile_stages(kernel, unit.options)
    code = stages.frame
    keep_code(kernel, unit.options, code)
    assert stages.words is not None
    same = next((part for words, part in known if words is stages.words), None)
    if same is None:
        same = c.part(stages.words)
        known.append((stages.words, same))
    return _Made(gnu.part(unit.origin, code), same, listing.part(unit.origin, code), code.stack)


def _callees_first(functions: Sequence[Function]) -> list[Program]:
    """The programs among them, each after those that it calls."""
    found: dict[Program, None] = {}

    def visit(function: Function) -> None:
        if isinstance(function, Program) and function not in found:
            for callee in function.callees:
                visit(callee)
            found[function] = None

    for function in functions:
        visit(function)
    return list(found)


def _program(unit: Unit, program: Program, stacks: Mapping[Function, int]) -> _Made:
    """A program's parts; `stacks` are the bytes of stack that its callees use."""
    from emulate import listing

    code = compile_program(program, unit.options, stacks.__getitem__).frame
    body = c_calls.part(unit.origin, program)
    return _Made(gnu.part(unit.origin, code), body, listing.part(unit.origin, code), code.stack)


def _joined(origin: Origin, parts: Sequence[_Made]) -> tuple[str, str, str, str]:
    from emulate import listing

    signatures = [part.assembly.signature for part in parts]
    features = sorted({feature for part in parts for feature in part.assembly.features})
    return (
        gnu.join(origin, [part.assembly for part in parts]),
        header.emit(origin, signatures, features=features),
        c.join(origin, [part.c for part in parts]),
        listing.join(origin, signatures, [part.listing for part in parts]),
    )


def build(
    selectors: Sequence[str],
    targets: Sequence[str],
    out: Path,
    *,
    prefix: str = "",
    features: str = "default",
    visible: bool = False,
    progress: Progress | None = None,
) -> list[tuple[Path, bool]]:
    """Write <out>/<target>/<script>.S .h .c .lst; each path, and whether its text is new."""
    return write(
        texts(units(selectors, targets, out, prefix=prefix, features=features, visible=visible), progress), out
    )


def check(
    selectors: Sequence[str],
    targets: Sequence[str],
    out: Path,
    *,
    prefix: str = "",
    features: str = "default",
    visible: bool = False,
    progress: Progress | None = None,
) -> list[str]:
    """The first difference of each file from what the scripts make, in words; nothing is written.

    With no selectors, files in the targets' directories that no script makes are named too.
    """
    made = units(selectors, targets, out, prefix=prefix, features=features, visible=visible)
    with strictly():
        files = texts(made, progress, trust=False)
    return _check(made, files, out, _places(selectors, targets, out))


def _check(made: Sequence[Unit], files: Mapping[str, str], out: Path, places: Sequence[Path]) -> list[str]:
    """What differs from these files; where there are proofs, there must be one of all bytes in them."""
    proofs = {proof_file(unit): unit for unit in made}
    found = differences(files, out, places, also=list(proofs))
    if any((out / file).exists() for file in proofs):
        rest = [(out / file, unit) for file, unit in proofs.items() if file not in files]
        found += [difference for differences_of in each(_unproved, rest) for difference in differences_of]
    return found


def _unproved(job: tuple[Path, Unit], *, trust: bool = False) -> list[str]:
    """What a file of proofs does not say of a unit's routines."""
    from asmgen.prove import record

    path, unit = job
    return record.differences(path, _routines(unit), trust=trust)


def proof_file(unit: Unit) -> str:
    """Where it is said what is proved of a unit's routines, below the output directory."""
    return f"{unit.origin.target}/{unit.origin.stem}.proof.json"


def _routines(unit: Unit) -> list[tuple[Function, Options]]:
    return [(kernel, unit.options) for kernel in unit.kernels]


def proved(made: Sequence[Unit]) -> dict[str, str]:
    """The files that say what is proved, by path below the output directory; AsmgenError when something is not."""
    from asmgen.prove import record

    return record.proofs({proof_file(unit): _routines(unit) for unit in made})


def _renewed(made: Sequence[Unit], out: Path) -> tuple[dict[str, str], list[str]]:
    """The files that say what is proved, of those that are there and no longer speak of all that is made; and the
    routines that they cannot."""
    there = [(out / proof_file(unit), unit) for unit in made if (out / proof_file(unit)).exists()]
    old = [unit for (_, unit), wrong in zip(there, each(partial(_unproved, trust=True), there), strict=True) if wrong]
    if not old:
        return {}, []
    from asmgen.prove import record

    return record.renewed(out, {proof_file(unit): _routines(unit) for unit in old})


def _places(selectors: Sequence[str], targets: Sequence[str], out: Path) -> list[Path]:
    """The directories in which every file must be made by a script: none where not all scripts were asked for."""
    if selectors:
        return []
    return [out] if set(targets) == set(FEATURES) else [out / target for target in targets]


def run(
    selectors: Sequence[str], targets: Sequence[str], *, out: Path, prefix: str = "", features: str = "default",
    visible: bool = False, core: str = GENERIC, planned: bool = True, check: bool = False, proofs: bool = False,
) -> None:  # fmt: skip
    """`asmgen build`: a line a file, a bar on a terminal.

    With `check`, AsmgenError names the first difference, or a plan that does not fit; with `proofs`, nothing is written
    unless all is proved, and with both, what is proved is held against what is recorded. Without either, proofs that
    are there are made anew where bytes have changed.
    """
    made = units(
        selectors, targets, out, prefix=prefix, features=features, visible=visible, core=core, planned=planned
    )
    with _bar() as progress, strictly() if check else nullcontext():
        files = texts(made, progress, trust=not check)
    unproved: list[str] = []
    if proofs:
        files |= proved(made)
    elif not check:
        texts_of_proofs, unproved = _renewed(made, out)
        files |= texts_of_proofs
    if not check:
        for path, new in write(files, out):
            print(f"{path}{'' if new else ' (as it was)'}")
        for which in unproved:
            print(f"{which} is not proved any more; asmgen prove says more", file=sys.stderr)
        return
    found = _check(made, files, out, _places(selectors, targets, out))
    if found:
        more = f"\n  and {len(found) - 1} more" if len(found) > 1 else ""
        raise AsmgenError(found[0] + more, hint="asmgen build makes the files anew; then read what changed")
    print(f"{out} is what the scripts make")


@contextmanager
def _bar() -> Iterator[Progress | None]:
    """A bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress as rich
    from rich.console import Console

    columns = (rich.TextColumn("{task.description}"), rich.BarColumn(), rich.MofNCompleteColumn())
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("compiling", total=None)
        yield lambda done, total, file, kernel: bar.update(
            task, completed=done, total=total, description=f"{file} {kernel}"
        )
