"""Where the other side comes from: our own C by compilers, files of other people, our own code of another day."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from asmgen import tools
from asmgen.contracts import Signature
from asmgen.diff.body import Body, of_image
from asmgen.diff.image import Image, from_bytes, load
from asmgen.diff.layout import Layout, parse
from asmgen.diff.own import Set, Unit, decided
from asmgen.diff.thunk import wrapped
from asmgen.errors import AsmgenError, UsageError
from asmgen.function import Function
from asmgen.passes import FEATURES, Options
from emulate.compilers import chosen, missing

#: Flags tried unless the user gives others: what asmgen may use on the target, compilers may use too.
FLAGS = {"amd64": ("-O2 -mbmi2 -madx", "-O3 -mbmi2 -madx"), "arm64": ("-O2", "-O3")}
BASE_FLAGS = ("-O2", "-O3")
#: What code of others may use under emulation, whatever it was compiled for.
EMULATED = {"amd64": frozenset({"bmi2", "adx"}), "arm64": frozenset[str]()}

#: What is said of C that takes another algorithm than the assembly: the one that `build` writes.
PORTABLE = "portable C"

_C, _ASSEMBLY = (".c", ".cc", ".cpp"), (".S", ".s", ".asm")


@dataclass(frozen=True)
class Source:
    """Something to compare with, by name; `body` makes a kernel's routine of it, None where it has nothing to say."""

    name: str
    body: Callable[[Function], Body | None]


@dataclass(frozen=True)
class Wishes:
    """What the user asks to be compared with."""

    compilers: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    since: str = ""
    layout: str = ""
    features: str = "default"


def sets(wishes: Wishes, target: str, usual: int | None = None) -> list[Set]:
    """Each compiler with each of the flags; where the user gives none, with the first `usual` of ours."""
    ours = (FLAGS[target] if wishes.features == "default" else BASE_FLAGS)[:usual]
    return [Set(each, flags) for each in chosen(wishes.compilers, target) for flags in wishes.flags or ours]


def sources(kernels: Sequence[Function], target: str, wishes: Wishes, usual: int | None = None) -> list[Source]:
    """Everything that these kernels, of one script, are compared with on a target; `usual` as for `sets`."""
    found = [_file(spec, target, wishes) for spec in wishes.against] if wishes.against else []
    made = [each for group in found for each in group]
    if wishes.since:
        made.append(_since(wishes.since, target, wishes.features))
    return made or _compiled(kernels, sets(wishes, target, usual), Options(target, wishes.features))


def _compiled(kernels: Sequence[Function], every: Sequence[Set], options: Options) -> list[Source]:
    """Our own C by every set; kernels whose assembly takes another algorithm than portable C have that by them, too."""
    if not every:
        return []
    chosen = Unit(kernels, options, every)
    chosen.begin()
    made = [_own(each, each.name, chosen, options.target) for each in every]
    other = [each for each in kernels if decided(each, options)]
    if other:
        portable = Unit(other, None, every)
        made += [_own(each, f"{each.name}, {PORTABLE}", portable, options.target) for each in every]
    return made


def _own(one: Set, name: str, unit: Unit, target: str) -> Source:
    """A kernel's routine in an object of our C; nothing of kernels that are not in it."""

    def body(function: Function) -> Body | None:
        if function not in unit.functions:
            return None
        image = from_bytes(unit.object(one, function), unit.file, function.signature.symbol, EMULATED[target])
        return wrapped(of_image(name, image, function.signature, EMULATED[target], one.command(unit.file)))

    return Source(name, body)


# Files of other people.


def _file(spec: str, target: str, wishes: Wishes) -> list[Source]:
    """`FILE:symbol`, by every set where it is to be compiled."""
    place, _, symbol = spec.rpartition(":")
    path = Path(place)
    if not place or not symbol:
        raise UsageError(
            f"--against {spec} names no function", hint="FILE.c:function, FILE.S:label, FILE.o:symbol or lib.a:symbol"
        )
    if not path.is_file():
        raise UsageError(f"--against: there is no file {path}", hint="FILE:symbol, with the path of a file")
    if path.suffix in (*_C, *_ASSEMBLY):
        every = sets(wishes, target)
        if not every:
            raise AsmgenError(
                f"{path} has to be compiled first, and no compiler is here", hint="; ".join(missing(target))
            )
        if path.suffix in _ASSEMBLY:
            every = [replace(every[0], flags=" ".join(wishes.flags))]
        return [_by_compiler(each, path, symbol, target, wishes) for each in every]
    return [_foreign(f"{path.name}:{symbol}", lambda: load(path, symbol, _told(target, wishes)), target, wishes)]


def _told(target: str, wishes: Wishes) -> frozenset[str]:
    """What the code is told that the CPU has."""
    return FEATURES[target].get(wishes.features, frozenset())


def _by_compiler(each: Set, path: Path, symbol: str, target: str, wishes: Wishes) -> Source:
    def image() -> Image:
        data = each.compiler.compile_file(path, shlex.split(each.flags))
        return from_bytes(data, path.name, symbol, EMULATED[target])

    label = f"{path.name}:{symbol}" + (f", {each.name}" if path.suffix in _C else "")
    return _foreign(label, image, target, wishes)


def _foreign(name: str, image: Callable[[], Image], target: str, wishes: Wishes) -> Source:
    def body(function: Function) -> Body:
        made = image()
        if made.target != target:
            raise AsmgenError(f"{name} is {made.target} code, compared is {target}", hint=f"--target {made.target}")
        layout = layout_of(function.signature, wishes)
        taken = layout.signature if layout else function.signature
        return wrapped(of_image(name, made, taken, EMULATED[target]), layout.arguments if layout else None)

    return Source(name, body)


def layout_of(signature: Signature, wishes: Wishes) -> Layout | None:
    """How the other side takes its arguments, when the user says so."""
    return parse(wishes.layout, signature) if wishes.layout else None


# Our own code of another day.


def _since(revision: str, target: str, features: str) -> Source:
    """What stands in out/ at a revision of the repository around the working directory."""

    def body(function: Function) -> Body:
        stem = function.signature.script + ("" if features == "default" else f"_{features}")
        name = f"out/{target}/{stem}.S"
        symbol = function.signature.symbol
        image = from_bytes(_then(revision, name, target), f"{name} at {revision}", symbol, FEATURES[target][features])
        return wrapped(of_image(f"asmgen at {revision}", image, function.signature, EMULATED[target]))

    return Source(f"asmgen at {revision}", body)


@cache
def _then(revision: str, name: str, target: str) -> bytes:
    """The object made of a file at a revision."""
    every = chosen((), target)
    if not every:
        raise AsmgenError("--since assembles the file of then, and nothing here does", hint="; ".join(missing(target)))
    with tempfile.TemporaryDirectory(prefix="asmgen-") as scratch:
        path = Path(scratch) / Path(name).name
        command = ("sh", "-c", 'exec git show "$1" >"$2"', "sh", f"{revision}:./{name}", str(path))
        finished = tools.run(command, Path.cwd(), seconds=30)
        if finished.status:
            raise AsmgenError(
                f"git has no {name} at {revision}: {finished.first_error}",
                hint="run it in the directory that holds out/, with a commit, branch or tag",
            )
        return every[0].compile_file(path)
