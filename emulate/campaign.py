"""`asmgen test`: compile, emulate, compare, and say what came of it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich.progress import Progress

from asmgen import peachpy_encoder
from asmgen.assemblers import Unit, agreed
from asmgen.cache import kept
from asmgen.emit import gnu
from asmgen.emit.origin import Origin
from asmgen.function import Function
from asmgen.kernel import Kernel
from asmgen.link import link, routines
from asmgen.passes import Options, compile_kernel
from asmgen.program import closure
from asmgen.routine import Code
from asmgen.scripts import find, selector
from asmgen.table import console as wide_console
from asmgen.work import each
from emulate.compare import Result
from emulate.report import Job, failure_lines, run_tests, table


def job(kernel: Function, options: Options, notes: dict[str, None] | None = None) -> Job:
    """The kernel's bytes for one target; `notes` gets what the assemblers say."""
    codes = routines(kernel, options)
    made = agreed(_unit(codes))
    if notes is not None:
        notes.update(dict.fromkeys(made.notes))
    extra = "" if options.features == "default" else f" --features {options.features}"
    command = f"asmgen test {shlex.quote(selector(kernel))} --target {options.target}{extra}"
    machine_code = link(codes, made.code).code
    features = frozenset[str]().union(*(code.features for code in codes))
    return Job(kernel, options.target, machine_code, features=features, stack=codes[0].stack, command=command)


def prepare(functions: Sequence[Function], options: Sequence[Options]) -> None:
    """Compile the kernels that the functions need side by side, for `job` to find them; not where nothing is kept."""
    kernels = [function for function in closure(functions) if isinstance(function, Kernel)]
    if kept() and len(kernels) > 1:
        for _ in each(lambda kernel: _compile(kernel, options), kernels):
            pass


def _compile(kernel: Kernel, options: Sequence[Options]) -> None:
    for option in options:
        compile_kernel(kernel, option)


def _unit(codes: Sequence[Code]) -> Unit:
    """Routines for the assemblers; as text only where PeachPy is missing, and text is read instead."""
    name, target = codes[0].signature.script, codes[0].target
    origin = Origin(script=name, file=name, about="", command="", target=target, stem=name)
    text = gnu.emit(origin, codes) if target == "amd64" and not peachpy_encoder.found() else ""
    return Unit(target, f"{codes[0].signature.symbol}.S", {code.signature.symbol: code for code in codes}, text)


def run(
    selectors: Sequence[str],
    targets: Sequence[str],
    *,
    features: str = "default",
    vectors: int = 10_000,
    seed: int = 1,
    only: int | None = None,
) -> int:
    """Test the kernels that the selectors name, on targets that have the feature set; the exit code, 0 when all are
    right."""
    notes: dict[str, None] = {}
    functions = find(selectors)
    prepare(functions, [Options(target, features) for target in targets])
    jobs = [job(kernel, Options(target, features), notes) for kernel in functions for target in targets]
    console = wide_console()
    for note in notes:
        console.print(note, highlight=False, markup=False, soft_wrap=True)
    results: list[tuple[Job, Result]] = []
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("testing", total=len(jobs))
        for pair in run_tests(jobs, count=vectors, seed=seed, only=only):
            results.append(pair)
            progress.advance(task)
    console.print(table(results))
    failures = [result.failure for _, result in results if result.failure is not None]
    for failure in failures:
        for line in failure_lines(failure):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
    return 1 if failures else 0
