"""`asmgen test`: compile, emulate, compare, and say what came of it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.progress import Progress

from asmgen.kernel import Kernel
from asmgen.passes import Options, compile_kernel
from asmgen.scripts import find
from asmgen.targets.assemble import assemble
from emulate.compare import Result
from emulate.report import Job, failure_lines, run_tests, table


def job(kernel: Kernel, options: Options, selector: str = "") -> Job:
    """The kernel's bytes for one target; `selector` is what the user calls it."""
    code = compile_kernel(kernel, options)
    extra = "" if options.features == "default" else f" --features {options.features}"
    name = selector or f"{kernel.signature.script}.{kernel.signature.kernel}"
    command = f"asmgen test {name} --target {options.target}{extra}"
    return Job(
        kernel, options.target, assemble(code.items).code, features=code.features, stack=code.stack, command=command
    )


def run(
    selectors: Sequence[str],
    targets: Sequence[str],
    *,
    features: str = "default",
    vectors: int = 10_000,
    seed: int = 1,
    only: int | None = None,
) -> int:
    """Test the kernels that the selectors name; the exit code: 0 when all are right."""
    kernels = find(selectors)
    names = {each: selector for selector in selectors if ":" in selector or selector.endswith(".py")
             for each in find([selector])}  # fmt: skip
    jobs = [
        job(kernel, Options(target, features), _selector(names.get(kernel, ""), kernel))
        for kernel in kernels
        for target in targets
        if features == "default" or target == "amd64"
    ]
    console = Console()
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


def _selector(given: str, kernel: Kernel) -> str:
    """What names one kernel of a script at a path."""
    return f"{given.partition(':')[0]}:{kernel.name}" if given else ""
