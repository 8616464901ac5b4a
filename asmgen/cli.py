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
  asmgen build --target arm64 curve25519_5x51  one script for one target
  asmgen build my_field.py --out lib --prefix my_
  asmgen build --check                         is out/ what the scripts make?
  asmgen test curve25519_5x51.mul --vectors 1000000
  asmgen list --json
  asmgen show curve25519_5x51.mul --target amd64 --after schedule
`asmgen COMMAND --help` has more.
"""

BUILD_EXAMPLES = """
\b
Examples:
  asmgen build                                 every shipped kernel, both targets, into out/
  asmgen build --target arm64 curve25519_5x51  one script for one target
  asmgen build curve25519_5x51 --features base for CPUs without BMI2 and ADX
  asmgen build my_field.py --out lib --prefix my_
  asmgen build my_field.py:mul my_field.py:sqr two kernels of a script of one's own
  asmgen build --check                         is out/ what the scripts make?
"""

TEST_EXAMPLES = """
\b
Examples:
  asmgen test                                      every shipped kernel on both targets
  asmgen test curve25519_5x51.mul --vectors 1000000
  asmgen test my_field.py:mul --target arm64 --seed 7
  asmgen test my_field.py:mul --target arm64 --seed 7 --only 40
Exit code: 0 when all results are right, 1 otherwise.
"""

LIST_EXAMPLES = """
\b
Examples:
  asmgen list                  every shipped kernel, with the instructions of each routine
  asmgen list my_field.py
  asmgen list --json           contracts and bounds for other programs
"""

SHOW_EXAMPLES = """
\b
Examples:
  asmgen show curve25519_5x51.mul --after values   exact integers, with bounds
  asmgen show curve25519_5x51.mul --after words    64-bit words and carries
  asmgen show curve25519_5x51.mul --target arm64 --after schedule
  asmgen show curve25519_5x51.mul --registers 8    what is spilled with so few?
"""

Command = TypeVar("Command", bound=Callable[..., Any])


class Group(click.Group):
    """Commands whose faults are one clear message, and whose names are suggested."""

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
            return super().invoke(ctx)
        except AsmgenError as error:
            click.echo(f"error: {error}", err=True)
            sys.exit(2 if isinstance(error, UsageError) else 1)
        except KeyboardInterrupt:
            click.echo("interrupted: nothing was left half-written", err=True)
            sys.exit(130)
        except BrokenPipeError:
            sys.stdout = open(os.devnull, "w")  # nobody reads on: no complaint about it at exit
            sys.exit(0)


@click.group(cls=Group, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show the whole traceback of a fault.")
@click.version_option(package_name="asmgen")
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


def targets_of(name: str) -> tuple[str, ...]:
    """The targets that `--target` names."""
    from asmgen.kernel import TARGETS

    if name == "all":
        return TARGETS
    if name not in TARGETS:
        close = nearest(name, [*TARGETS, "all"])
        raise UsageError(
            f"there is no target {name}", hint=f"did you mean {close}?" if close else "amd64, arm64 or all"
        )
    return (name,)


@main.command()
@kernels
@target
@click.option("--out", type=click.Path(path_type=Path), default=Path("out"), show_default=True, help="Where files go.")
@click.option("--prefix", default="", help="Put before every symbol.")
@features
@click.option("--check", is_flag=True, help="Write nothing; exit 1 when the files differ from what the scripts make.")
def build(selectors: tuple[str, ...], target: str, out: Path, prefix: str, features: str, check: bool) -> None:
    """Write assembly, header, C and listing: OUT/TARGET/SCRIPT.S .h .c .lst."""
    from asmgen import build as building

    building.run(selectors, targets_of(target), out=out, prefix=prefix, features=features, check=check)


@main.command()
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
    from emulate import campaign

    sys.exit(campaign.run(selectors, targets_of(target), features=features, vectors=vectors, seed=seed, only=only))


@main.command("list")
@kernels
@click.option("--json", "as_json", is_flag=True, help="One array, an object a kernel.")
def list_(selectors: tuple[str, ...], as_json: bool) -> None:
    """What kernels there are: symbols, contracts and instruction counts."""
    from asmgen.describe import describe
    from asmgen.scripts import find

    found = find(selectors)
    if as_json:
        click.echo(json.dumps([describe(kernel) for kernel in found], indent=2))
        return
    from asmgen.table import table

    table(found)


@main.command()
@click.argument("selector", metavar="KERNEL")
@click.option("--target", default="amd64", show_default=True, metavar="TARGET", help="amd64 or arm64.")
@click.option(
    "--after",
    "stage",
    default="allocate",
    show_default=True,
    metavar="PASS",
    help="values, words, select, schedule, allocate or frame.",
)
@features
@click.option("--registers", type=click.IntRange(1), help="Pretend that the target has only so many registers.")
def show(selector: str, target: str, stage: str, features: str, registers: int | None) -> None:
    """A kernel after a pass: what each register holds, how many values are alive."""
    from asmgen.passes import PIPELINE, Options, compile_stages
    from asmgen.scripts import find
    from asmgen.show import show as text_of

    targets = targets_of(target)
    if len(targets) > 1:
        raise UsageError("show takes one target", hint="--target amd64 or --target arm64")
    if stage not in PIPELINE:
        close = nearest(stage, list(PIPELINE))
        raise UsageError(f"there is no pass {stage}", hint=f"did you mean {close}?" if close else ", ".join(PIPELINE))
    for kernel in find([selector]):
        made = PIPELINE[stage](compile_stages(kernel, Options(targets[0], features, registers)))
        click.echo(f"{kernel.signature.symbol}, {targets[0]}, after {stage}")
        click.echo(text_of(made))
