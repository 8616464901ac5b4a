"""The commands: parse, call, print."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from asmgen import __version__
from asmgen.errors import AsmgenError, UsageError, nearest

EXAMPLES = """
\b
Examples:
  asmgen build                                 every shipped kernel, both targets, into out/
  asmgen build my_field.py --out lib --prefix my_
  asmgen test curve25519_5x51.mul --vectors 1000000
  asmgen list
  asmgen show curve25519_5x51.mul --target amd64 --after schedule
  asmgen chain "2**255 - 21"
  asmgen build --help                          more of them
"""

BUILD_EXAMPLES = """
\b
Examples:
  asmgen build                                  every shipped kernel, both targets, into out/
  asmgen build --target arm64 curve25519_5x51   one script for one target
  asmgen build curve25519_5x51 --features base --target amd64
  asmgen build my_field.py --out lib --prefix my_
  asmgen build my_field.py:mul my_field.py:sqr  two of its kernels
  asmgen build --check                          is out/ what the scripts make?
"""

TEST_EXAMPLES = """
\b
Examples:
  asmgen test                                  every shipped kernel on both targets
  asmgen test curve25519_5x51.mul --vectors 1000000
  asmgen test curve25519_5x51 --features base --target amd64
  asmgen test my_field.py:mul --target arm64 --seed 7 --only 40

Exits with 0 when all results are right, with 1 when one is not.
"""

PROVE_EXAMPLES = """
\b
Examples:
  asmgen prove                                 every shipped kernel on both targets
  asmgen prove curve25519_5x51.mul --target arm64 --explain
  asmgen prove my_field.py:mul --budget 60
  asmgen prove curve25519_5x51.mul --object libcrypto.a --symbol x25519_fe51_mul
  asmgen prove p256.mul --object libcrypto.a --symbol ecp_nistz256_mul_mont --assume OPENSSL_ia32cap_P=0,0,0,0
  asmgen prove curve25519_5x51.mul --object fe.c --symbol fe_mul --flags "-O2 -mbmi2"
"""

LIST_EXAMPLES = """
\b
Examples:
  asmgen list                                  every shipped kernel
  asmgen list my_field.py
  asmgen list curve25519_5x51.mul --json       its contract and bounds, for programs
  asmgen list --against                        mul and sqr beside other people's routines
"""

SHOW_EXAMPLES = """
\b
Examples:
  asmgen show curve25519_5x51.mul --after values                exact integers, with bounds
  asmgen show curve25519_5x51.mul --after words                 64-bit words and carries
  asmgen show curve25519_5x51.mul --target arm64 --after frame  the finished routine
  asmgen show curve25519_5x51.mul --registers 8                 what is spilled with so few?
"""

CHAIN_EXAMPLES = """
\b
Examples:
  asmgen chain "2**255 - 21"       of an inverse modulo 2^255 - 19
  asmgen chain 0xfff1
  asmgen chain my_field.py:invert  the exponent of a program
  asmgen chain                     those of shipped programs beside the shortest published
"""

REPORT_EXAMPLES = """
\b
Examples:
  asmgen report                                a page for every kernel and target, into site/
  asmgen report curve25519_5x51 --compare      beside every compiler, too
  asmgen report --proofs proofs.json           with what asmgen prove --json > proofs.json found
"""

DIFF_EXAMPLES = """
\b
Examples:
  asmgen diff curve25519_5x51.mul --target arm64          beside every gcc and clang that is found
  asmgen diff curve25519_5x51.mul --compiler gcc --flags -O2 --flags "-O3 -march=native"
  asmgen diff curve25519_5x51.mul --against libcrypto.a:x25519_fe51_mul
  asmgen diff my_field.py:mul --against other.c:fe_mul --layout "a, b, out:4x64"
  asmgen diff curve25519_5x51.mul --html mul.html         a page to read and to send
  asmgen diff curve25519_5x51 --since HEAD~5              ours now against ours then
  asmgen diff curve25519_5x51.mul --measure               with cycles of this machine's CPU
  asmgen diff --all --summary                             every kernel, one table

Exits with 0 when all are the same function, with 1 when one is not or cannot be compared.
"""

BENCH_EXAMPLES = """
\b
Examples:
  asmgen bench curve25519_4x64.mul --target amd64         beside gcc, clang and OpenSSL, on this CPU
  asmgen bench p256.mul --html mul.html                   charts and tables to read and to send
  asmgen bench p256.mul --against libcrypto.a:ecp_nistz256_mul_mont
  asmgen bench my_field.py:mul --against other.o:fe_mul --layout "a, b, out:4x64"
  asmgen bench curve25519_5x51.mul --target arm64 --core cortex-a55
  asmgen bench --json                                     every shipped kernel, for programs

Exits with 0, or with 1 when something could not be timed.
"""

OPTIMIZE_EXAMPLES = """
\b
Examples:
  asmgen optimize curve25519_4x64.mul --target amd64      one minute, for every core: kernels/plans/amd64/generic/
  asmgen optimize p256.square_n --target amd64 --core auto --minutes 5 --objective latency
  asmgen optimize p256.mul --target arm64 --core neoverse-v1
  asmgen optimize p256 --target amd64 --minutes 2         each of its kernels, two minutes each
  asmgen optimize my_field.py:mul --target amd64          plans/ beside the script
  asmgen optimize --rebase                                fit all plans to what is made now

Ctrl-C keeps the best so far; the next search goes on from the plan. Exits with 0, or with 1 when a plan does not fit.
"""

Command = TypeVar("Command", bound=Callable[..., Any])


class Group(click.Group):
    """Commands whose faults are one clear message, and whose names are suggested."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`--debug` may stand anywhere."""
        rest = [arg for arg in args if arg != "--debug"]
        return super().parse_args(ctx, ["--debug", *rest] if len(rest) < len(args) else rest)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None:
            known = self.list_commands(ctx)
            close = nearest(args[0], known)
            ctx.fail(f"no command {args[0]}: " + (f"did you mean {close}?" if close else "one of " + ", ".join(known)))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        if ctx.params.get("debug"):
            return super().invoke(ctx)
        try:
            made = super().invoke(ctx)
            sys.stdout.flush()
            return made
        except AsmgenError as error:
            self._fail(str(error), 2 if isinstance(error, UsageError) else 1)
        except KeyboardInterrupt:
            self._fail("interrupted: nothing was left half-written", 130, "")
        except BrokenPipeError:
            _silence()  # nobody reads on: no complaint about it
            sys.exit(0)
        except OSError as error:
            _silence()
            what = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
            self._fail(f"the system says no: {what}\n  try: make room or rights; --debug shows where it happened", 1)
        except (click.exceptions.Exit, click.ClickException, click.Abort):
            raise
        except Exception as error:
            said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            self._fail(f"a fault in asmgen itself, {said}\n  try: report it with what --debug shows, and the script", 1)

    @staticmethod
    def _fail(text: str, status: int, start: str = "error: ") -> None:
        click.echo(f"{start}{text}", err=True)
        sys.exit(status)


def _silence() -> None:
    """Let what is still to be printed go nowhere: it would fail again at exit."""
    sys.stdout = open(os.devnull, "w")


@click.group(cls=Group, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show the whole traceback of a fault.")
@click.version_option(__version__, prog_name="asmgen")
def main(debug: bool) -> None:
    """Field arithmetic for amd64 and arm64, from one exact description.

    KERNEL is a shipped script (curve25519_5x51), one of its kernels (curve25519_5x51.mul), a path (my_field.py) or a
    kernel in one (my_field.py:mul). No KERNEL means all shipped ones.
    """


kernels = click.argument("selectors", metavar="[KERNEL]...", nargs=-1)
target = click.option("--target", default="all", metavar="TARGET", help="amd64, arm64 or all (the default).")
features = click.option(
    "--features", default="default", metavar="SET", help="default (BMI2 and ADX on amd64) or base (neither)."
)

for_programs = click.option("--json", "as_json", is_flag=True, help="All of it for programs.")
as_page = click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), help="Write one page that needs nothing else."
)


def others(command: Command) -> Command:
    """The options that say beside whose code ours is held."""
    options = (
        click.option(
            "--compiler", "compilers", multiple=True, metavar="NAME", help="gcc, clang or a command; repeatable."
        ),
        click.option(
            "--flags", multiple=True, metavar="TEXT", help="Flags for the compilers; each --flags is one set."
        ),
        click.option(
            "--against", multiple=True, metavar="FILE:SYMBOL", help="Somebody's C, assembly, object or library."
        ),
        click.option("--layout", default="", metavar="ARGS", help='Its arguments, such as "out, a:4x64, b:4x64".'),
    )
    for option in reversed(options):
        command = option(command)
    return command


def targets_of(name: str, features: str = "default") -> tuple[str, ...]:
    """The targets that `--target` names, of those that have the feature set; UsageError when none has."""
    from asmgen.passes import FEATURES

    if name != "all" and name not in FEATURES:
        raise _unknown(f"there is no target {name}", name, [*FEATURES, "all"])
    named = tuple(FEATURES) if name == "all" else (name,)
    found = tuple(target for target in named if features in FEATURES[target])
    if not found:
        known = list(dict.fromkeys(each for target in named for each in FEATURES[target]))
        which = "no target has a" if name == "all" else f"{name} has no"
        raise _unknown(f"{which} feature set {features}", features, known)
    return found


def _unknown(what: str, given: str, known: list[str]) -> UsageError:
    close = nearest(given, known)
    return UsageError(what, hint=f"did you mean {close}?" if close else f"one of {', '.join(known)}")


@main.command(epilog=BUILD_EXAMPLES, short_help="Write assembly, header, C and listing.")
@kernels
@target
@click.option("--out", type=click.Path(path_type=Path), default=Path("out"), show_default=True, help="Where files go.")
@click.option("--prefix", default="", help="Put before every symbol.")
@click.option("--visible", is_flag=True, help="Export the symbols from a shared object that is made of the files.")
@features
@click.option("--core", default="generic", show_default=True, help="Whose plans are replayed: a core, or auto.")
@click.option("--no-plan", is_flag=True, help="The default schedule everywhere.")
@click.option("--record", is_flag=True, help="Try all algorithms and schedules, and keep what wins for every build.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 when the files differ from what the scripts make.")
@click.option("--proved", is_flag=True, help="Write nothing unless all is proved; then SCRIPT.proof.json as well.")
def build(
    selectors: tuple[str, ...], target: str, out: Path, prefix: str, visible: bool, features: str, core: str,
    no_plan: bool, record: bool, check: bool, proved: bool,
) -> None:  # fmt: skip
    """Write assembly, header, C and listing: OUT/TARGET/SCRIPT.S .h .c .lst."""
    from asmgen import build as building
    from asmgen.targets.cores import named

    targets = targets_of(target, features)
    if record:
        from asmgen import recording

        recording.run(selectors, check=check)
    building.run(
        selectors, targets, out=out, prefix=prefix, features=features, visible=visible, core=named(core, targets),
        planned=not no_plan, check=check, proofs=proved,
    )  # fmt: skip


@main.command(epilog=TEST_EXAMPLES)
@kernels
@target
@features
@click.option(
    "--vectors", default=10_000, show_default=True, type=click.IntRange(1), help="Inputs a kernel and target."
)
@click.option("--seed", default=1, show_default=True, type=int, help="Same seed, same inputs.")
@click.option("--only", type=click.IntRange(0), help="Only this vector, as a failure names it.")
def test(selectors: tuple[str, ...], target: str, features: str, vectors: int, seed: int, only: int | None) -> None:
    """Assemble, emulate and compare with Python integers."""
    targets = targets_of(target, features)
    from emulate import campaign

    sys.exit(campaign.run(selectors, targets, features=features, vectors=vectors, seed=seed, only=only))


@main.command(epilog=PROVE_EXAMPLES, short_help="Right for all inputs, from the bytes; or a counterexample.")
@kernels
@target
@features
@click.option("--explain", is_flag=True, help="Print each argument: equations, bounds, lost carries, cases.")
@click.option(
    "--constant-time/--no-constant-time", default=True, show_default=True, help="Whether branches on data are refused."
)
@click.option(
    "--budget",
    default=10.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="Seconds for a routine, then it could not be proved.",
)
@click.option(
    "--object",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A routine of this .o, .a, .S or .c instead of ours, by the kernel's contract.",
)
@click.option("--symbol", help="Its name; the kernel's own by default.")
@click.option(
    "--assume",
    multiple=True,
    metavar="SYMBOL=VALUE",
    help="What data of another library holds, 32-bit words with commas between; repeatable.",
)
@click.option("--flags", default="", help="For a .c or .S file.")
@click.option("--json", "as_json", is_flag=True, help="One array, an object a routine.")
def prove(
    selectors: tuple[str, ...], target: str, features: str, explain: bool, constant_time: bool, budget: float,
    file: Path | None, symbol: str | None, assume: tuple[str, ...], flags: str, as_json: bool,
) -> None:  # fmt: skip
    """Prove from the machine code that kernels are right for all inputs within their contracts.

    The value modulo p, every bound, nothing written but the output, shared buffers, registers and stack restored, and
    no branch or address that depends on data. What is wrong gets an input that shows it where one can be found; what
    is neither proved nor refuted is said to be so. Exits with 0 only when all are proved.
    """
    from asmgen.prove import command

    wish = command.Wish(budget, constant_time, explained=explain)
    targets = targets_of(target, features)
    if file is not None:
        foreign = command.Object(file, symbol, assume, flags)
        sys.exit(command.run_object(selectors, targets, foreign, explain=explain, as_json=as_json, wish=wish))
    sys.exit(command.run(selectors, targets, features=features, explain=explain, as_json=as_json, wish=wish))


@main.command("list", epilog=LIST_EXAMPLES, short_help="What kernels there are, and their instructions.")
@kernels
@click.option("--against", is_flag=True, help="Products and squares beside other people's routines.")
@click.option("--json", "as_json", is_flag=True, help="One array, an object a kernel.")
def list_(selectors: tuple[str, ...], against: bool, as_json: bool) -> None:
    """What kernels there are: C functions and instructions; with --json contracts and bounds.

    With --against instructions, products and modelled cycles of mul and sqr beside the best that is known of others.
    """
    from asmgen.scripts import find

    found = find(selectors)
    if against:
        from asmgen import against as comparing

        if as_json:
            raise UsageError("--against prints a table, --json describes kernels", hint="give one of the two")
        comparing.show(found, targets_of("all"))
        return
    from asmgen.describe import describe

    if as_json:
        click.echo(json.dumps([describe(kernel) for kernel in found], indent=2))
        return
    from asmgen import table

    table.show(found)


@main.command(epilog=SHOW_EXAMPLES, short_help="A kernel after any pass.")
@click.argument("selector", metavar="KERNEL")
@click.option("--target", default="amd64", show_default=True, metavar="TARGET", help="amd64 or arm64.")
@click.option(
    "--after",
    "stage",
    metavar="PASS",
    help="values, words, select, schedule, allocate, arrange (the default) or frame; of a program values or frame.",
)
@features
@click.option("--core", default="generic", show_default=True, help="Whose plan is replayed.")
@click.option("--registers", type=click.IntRange(1), help="Pretend that the target has only so many registers.")
def show(selector: str, target: str, stage: str | None, features: str, core: str, registers: int | None) -> None:
    """A kernel after a pass, beside each line what is known there and the script's line.

    Known are the bounds of values and words, how many values are alive after an instruction, and what registers hold.
    """
    from asmgen.passes import PIPELINE, Options, compile_stages
    from asmgen.scripts import find
    from asmgen.show import show as text_of
    from asmgen.targets.cores import named

    targets = targets_of(target, features)
    if target == "all":
        raise UsageError("show takes one target", hint="--target amd64 or --target arm64")
    if stage is not None and stage not in PIPELINE:
        raise _unknown(f"there is no pass {stage}", stage, list(PIPELINE))
    for kernel in find([selector]):
        stages = compile_stages(kernel, Options(targets[0], features, registers, named(core, targets)))
        name = stage or ("arrange" if stages.arrange else "frame")
        made = PIPELINE[name](stages)
        if made is None:
            raise UsageError(
                f"{kernel.name} is a {kernel.noun}, made of calls: there is nothing of it after {name}",
                hint="--after values or --after frame",
            )
        click.echo(f"{kernel.signature.symbol}, {targets[0]}, after {name}")
        click.echo(text_of(made))


@main.command(epilog=CHAIN_EXAMPLES, short_help="A short addition chain for a fixed exponent.")
@click.argument("what", metavar="[EXPONENT|KERNEL]", required=False)
@click.option("--record", is_flag=True, help="Search for those of shipped programs anew, and keep them for builds.")
def chain(what: str | None, record: bool) -> None:
    """A short addition chain for a fixed exponent: its counts, and statements for a script.

    EXPONENT is a number, such as 0xfff1 or "(2**255 - 24) // 8"; KERNEL a program that raises its argument to a power.
    Without either, the counts of all exponents of shipped programs beside the shortest published.
    """
    if record:
        from asmgen.chain_text import recorded

        if what is not None:
            raise UsageError("--record is for all shipped programs", hint="leave out the exponent or program")
        click.echo(recorded())
    elif what is None:
        from asmgen.published import show

        show()
    else:
        from asmgen.chain_text import text

        click.echo(text(what))


@main.command(epilog=DIFF_EXAMPLES, short_help="Ours beside what compilers and other people make.")
@kernels
@target
@features
@click.option("--all", "every", is_flag=True, help="Every shipped kernel.")
@others
@click.option("--since", default="", metavar="REV", help="Our file in out/ at a git revision.")
@click.option("--core", "cores", multiple=True, metavar="NAME", help="A core to model; repeatable.")
@click.option("--measure", is_flag=True, help="Time what this machine's CPU can run, too.")
@click.option("--vectors", type=click.IntRange(1), help="Inputs to compare on: 2048, in a summary 128.")
@click.option("--seed", default=1, show_default=True, type=int, help="Same seed, same inputs.")
@click.option("--summary", is_flag=True, help="One table, without listings.")
@for_programs
@as_page
def diff(
    selectors: tuple[str, ...], target: str, features: str, every: bool, compilers: tuple[str, ...],
    flags: tuple[str, ...], against: tuple[str, ...], layout: str, since: str, cores: tuple[str, ...],
    measure: bool, vectors: int | None, seed: int, summary: bool, as_json: bool, html: Path | None,
) -> None:  # fmt: skip
    """Our assembly beside what compilers make of our C, or beside anybody's code of the same function.

    Instructions are matched by the values that they make when both run on the same inputs, whatever they are called
    and wherever they stand; what has no counterpart is counted by cause.
    """
    from asmgen.diff import command

    if not selectors and not every:
        raise UsageError("diff needs a kernel", hint="asmgen diff curve25519_5x51.mul, or --all")
    if selectors and every:
        raise UsageError("--all and a kernel's name do not go together", hint="one of them")
    if html and (summary or as_json):
        raise UsageError(f"--html does not go with {'--summary' if summary else '--json'}", hint="two commands")
    wishes = command.Wishes(compilers, flags, against, since, layout, features)
    how = command.How(wishes, vectors or (128 if summary else 2048), seed, cores, measure=measure)
    targets = targets_of(target, features)
    sys.exit(command.run(selectors, targets, how, html=html, as_text=not as_json, summary=summary))


@main.command(epilog=BENCH_EXAMPLES, short_help="Cycles beside compilers' and other people's.")
@kernels
@target
@features
@others
@click.option("--core", "cores", multiple=True, metavar="NAME", help="A core to model, for arm64; repeatable.")
@click.option("--rounds", default=40, show_default=True, type=click.IntRange(10), help="Windows of each in a context.")
@click.option("--python", "python", is_flag=True, help="Time without the C core, as where no C compiler is.")
@for_programs
@as_page
def bench(
    selectors: tuple[str, ...], target: str, features: str, compilers: tuple[str, ...], flags: tuple[str, ...],
    against: tuple[str, ...], layout: str, cores: tuple[str, ...], rounds: int, python: bool, as_json: bool,
    html: Path | None,
) -> None:  # fmt: skip
    """Latency and throughput of our assembly beside our own C by compilers, OpenSSL's and anybody's code, in one run.

    amd64 is timed on this machine's CPU, if it is one; arm64 is modelled by llvm-mca.
    """
    from asmgen.bench import command

    if html and as_json:
        raise UsageError("--html does not go with --json", hint="two commands")
    wishes = command.Wishes(compilers, flags, against, "", layout, features)
    how = command.How(wishes, rounds, cores, python)
    sys.exit(command.run(selectors, targets_of(target, features), how, html=html, as_json=as_json))


@main.command(epilog=OPTIMIZE_EXAMPLES, short_help="Search for a faster order, and write it as a plan.")
@kernels
@click.option("--target", default="amd64", show_default=True, metavar="TARGET", help="amd64 or arm64.")
@features
@click.option("--core", default="generic", show_default=True, help="Whose plan it is: a core, auto, or all of them.")
@click.option("--objective", type=click.Choice(["latency", "throughput", "both"]), default="both", show_default=True)
@click.option("--minutes", default=1.0, show_default=True, type=click.FloatRange(0.05), help="For each kernel.")
@click.option("--seed", default=1, show_default=True, type=int, help="Of the random moves.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1), help="Processes of this machine.")
@click.option("--cluster", default="", metavar="ADDRESS", help="A Dask scheduler whose workers search instead.")
@click.option("--rebase", is_flag=True, help="Search for nothing: fit the plans of all targets and cores.")
def optimize(
    selectors: tuple[str, ...], target: str, features: str, core: str, objective: str, minutes: float, seed: int,
    workers: int, cluster: str, rebase: bool,
) -> None:  # fmt: skip
    """Search for a faster order of a kernel's instructions, and write it as a plan, which every build replays.

    amd64 is timed on this machine's CPU, arm64 modelled. A plan is written when it is faster than the default schedule
    in calling contexts that the search did not use, right on test vectors, and not refuted by the prover.
    """
    from asmgen.optimize import command
    from asmgen.targets.cores import named

    if rebase:
        sys.exit(command.rebase(selectors))
    targets = targets_of(target, features)
    if target == "all":
        raise UsageError("optimize takes one target", hint="--target amd64 or --target arm64")
    how = command.How(named(core, targets), objective, features, minutes, seed, workers, cluster)
    sys.exit(command.run(selectors, targets[0], how))


@main.command(epilog=REPORT_EXAMPLES, short_help="A static site about all kernels.")
@kernels
@target
@features
@click.option("--out", type=click.Path(path_type=Path), default=Path("site"), show_default=True, help="Where it goes.")
@click.option("--compare", is_flag=True, help="Beside what every compiler makes of the same C.")
@click.option("--proofs", multiple=True, type=click.Path(path_type=Path), help="What asmgen prove --json printed.")
@click.option("--core", "cores", multiple=True, metavar="NAME", help="A core to model; repeatable.")
@click.option("--vectors", default=2048, show_default=True, type=click.IntRange(1), help="Inputs a kernel and target.")
@click.option("--seed", default=1, show_default=True, type=int, help="Same seed, same inputs.")
def report(
    selectors: tuple[str, ...], target: str, features: str, out: Path, compare: bool, proofs: tuple[Path, ...],
    cores: tuple[str, ...], vectors: int, seed: int,
) -> None:  # fmt: skip
    """For every kernel and target a page: contract, figures, listing, tests run here, and what is proved."""
    from asmgen.diff import command, site

    how = command.How(command.Wishes(features=features), vectors, seed, cores)
    sys.exit(site.run(selectors, targets_of(target, features), how, out, compare=compare, proofs=proofs))
