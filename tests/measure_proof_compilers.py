"""The prover on what compilers make of our own C:

    ./run python tests/measure_proof_compilers.py [--family gcc] [--target amd64] [--flags=-O2] [--budget 10] [NAME...]

Every kernel's portable C (programs aside) is compiled by each gcc and clang that is here, at each level of
optimization and, for amd64, with and without BMI2 and ADX. What branches or calls is left out, and so is what computes
in vector registers; moves there and back, which compilers use in place of the stack, are not. Equal code is proved
once. Printed are the counts by compiler and target, and what was not proved and why, a build a line.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import capstone
import click

from asmgen import elf
from asmgen.diff import image
from asmgen.errors import AsmgenError
from asmgen.kernel import Kernel
from asmgen.prove import Proved, prove
from asmgen.prove.foreign import GRANTED
from asmgen.prove.routine import Routine
from asmgen.scripts import find
from asmgen.work import each
from emulate.compilers import Compiler, found

OUT = Path(__file__).parent.parent / "out"
LEVELS = ("-O1", "-O2", "-O3", "-Os")
VARIANTS = {"amd64": ("", "-mbmi2 -madx"), "arm64": ("",)}
MODES = {
    "amd64": (capstone.CS_ARCH_X86, capstone.CS_MODE_64),
    "arm64": (capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM),
}

#: Instructions that move between general and vector registers or memory and do nothing else.
MOVES = ("movq", "movd", "fmov", "ldr", "str", "ldp", "stp", "ldur", "stur")


@dataclass(frozen=True)
class Build:
    """A kernel's function as a compiler made it."""

    kernel: Kernel
    compiler: Compiler
    flags: str
    code: bytes  #: of the function alone
    loaded: image.Image

    @property
    def name(self) -> str:
        """What it is, for people."""
        signature = self.kernel.signature
        return f"{signature.script}.{signature.kernel} by {self.compiler.name} {self.flags}"

    @property
    def straight(self) -> bool:
        """Whether it neither branches, calls nor computes with vectors."""
        reader = capstone.Cs(*MODES[self.compiler.target])
        reader.detail = True
        return not any(_turns(read) or _computes_vectors(read) for read in reader.disasm(self.code, 0))


@dataclass(frozen=True)
class Answer:
    """What came of a build; `reason` is empty where it was proved."""

    name: str
    kind: str
    seconds: float
    reason: str


def _turns(read: capstone.CsInsn) -> bool:
    groups = {read.group_name(group) for group in read.groups}
    return bool(groups & {"jump", "call"}) or read.mnemonic in ("b", "bl", "cbz", "cbnz", "tbz", "tbnz")


def _computes_vectors(read: capstone.CsInsn) -> bool:
    names = [read.reg_name(each.reg) for each in read.operands if each.type == capstone.CS_OP_REG]
    if any(name.startswith(("ymm", "zmm", "v", "k")) for name in names):
        return True
    single = any(name.startswith(("xmm", "d", "q", "s")) and name[-1].isdigit() for name in names)
    return single and read.mnemonic not in MOVES


def builds(kernels: list[Kernel], family: str, target: str, only: str) -> Iterator[Build]:
    """All of them, equal code of one kernel once for each compiler and its flags."""
    scripts = {kernel.signature.script: [] for kernel in kernels}
    for kernel in kernels:
        scripts[kernel.signature.script].append(kernel)
    for compiler in found(target):
        if family and compiler.family != family:
            continue
        for flags in (f"{level} {more}".strip() for more in VARIANTS[target] for level in LEVELS):
            if only and flags != only:
                continue
            for script, group in scripts.items():
                data = compiler.compile_file(OUT / target / f"{script}.c", flags.split())
                functions = elf.read(data, script).functions()
                for kernel in group:
                    symbol = kernel.signature.symbol
                    loaded = image.from_bytes(data, script, symbol)
                    yield Build(kernel, compiler, flags, functions[symbol].code, loaded)


def proved(build: Build, budget: float) -> Answer:
    """One build through the prover."""
    target, loaded = build.compiler.target, build.loaded
    made = Routine(build.kernel, target, loaded.code, loaded.entry, features=GRANTED[target], data=True)
    kind = f"{build.compiler.name} for {target}"
    try:
        given = prove(made, budget=budget)
    except AsmgenError as error:
        return Answer(build.name, kind, 0.0, str(error))
    return Answer(build.name, kind, given.seconds, "" if isinstance(given, Proved) else given.reason)


@click.command(help=__doc__)
@click.argument("selectors", nargs=-1)
@click.option("--family", default="", help="gcc or clang alone.")
@click.option("--target", "targets", multiple=True, default=("amd64", "arm64"), help="amd64 or arm64 alone.")
@click.option("--flags", "only", default="", help="These flags alone.")
@click.option("--budget", default=10.0, help="Seconds of the processor for a build.")
def main(selectors: tuple[str, ...], family: str, targets: tuple[str, ...], only: str, budget: float) -> None:
    kernels = [kernel for kernel in find(selectors) if isinstance(kernel, Kernel)]
    every = [build for target in targets for build in builds(kernels, family, target, only)]
    straight = [build for build in every if build.straight]
    alike: dict[tuple[str, str, bytes], list[Build]] = {}
    for build in straight:
        code = build.loaded.code if build.loaded.code.count(build.code) != 1 else build.code
        alike.setdefault((build.kernel.signature.symbol, build.compiler.target, code), []).append(build)
    first = [group[0] for group in alike.values()]
    given = list(each(lambda build: proved(build, budget), first))
    totals: Counter[str] = Counter(f"{build.compiler.name} for {build.compiler.target}" for build in straight)
    good: Counter[str] = Counter()
    for group, answer in zip(alike.values(), given, strict=True):
        for build in group:
            good[f"{build.compiler.name} for {build.compiler.target}"] += not answer.reason
        if answer.reason:
            more = f" and {len(group) - 1} alike" if len(group) > 1 else ""
            print(f"{answer.name}{more} for {group[0].compiler.target}: {answer.reason}")
    for kind, count in totals.items():
        print(f"{kind}: {good[kind]} of {count} straight-line builds proved")
    seconds = sum(answer.seconds for answer in given)
    print(f"{len(every)} builds, {len(straight)} straight, {len(first)} unlike, {seconds:.0f} s of the processor")
    sys.exit(0 if good == totals else 1)


if __name__ == "__main__":
    main()
