"""Where the other side comes from: our own C by compilers, files of other people, our own code of another day."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from asmgen import tools
from asmgen.contracts import Signature
from asmgen.diff.body import Body, of_image
from asmgen.diff.image import Image, from_bytes, load
from asmgen.diff.layout import Layout, parse
from asmgen.diff.thunk import wrapped
from asmgen.emit import c, c_calls, header
from asmgen.emit.origin import Origin
from asmgen.errors import AsmgenError, UsageError
from asmgen.function import Function
from asmgen.kernel import Kernel
from asmgen.link import closure
from asmgen.passes import FEATURES, lower_kernel
from asmgen.program import Program
from emulate.compilers import Compiler, chosen, missing

#: Flags tried unless the user gives others: what asmgen may use on the target, compilers may use too.
FLAGS = {"amd64": ("-O2 -mbmi2 -madx", "-O3 -mbmi2 -madx"), "arm64": ("-O2", "-O3")}
BASE_FLAGS = ("-O2", "-O3")
#: What code of others may use under emulation, whatever it was compiled for.
EMULATED = {"amd64": frozenset({"bmi2", "adx"}), "arm64": frozenset[str]()}

_C, _ASSEMBLY = (".c", ".cc", ".cpp"), (".S", ".s", ".asm")


@dataclass(frozen=True)
class Set:
    """A compiler with flags."""

    compiler: Compiler
    flags: str

    @property
    def name(self) -> str:
        return f"{self.compiler.name} {self.flags}".rstrip()

    def compile(self, texts: Mapping[str, str], name: str) -> bytes:
        """The object of one of these texts."""
        return self.compiler.compile(texts, name, shlex.split(self.flags))


@dataclass(frozen=True)
class Source:
    """Something to compare with, by name; `body` makes a kernel's routine of it."""

    name: str
    body: Callable[[Function], Body]


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


def sources(kernels: Sequence[Function], target: str, wishes: Wishes) -> list[Source]:
    """Everything that these kernels, of one script, are compared with on a target."""
    found = [_file(spec, target, wishes) for spec in wishes.against] if wishes.against else []
    made = [each for group in found for each in group]
    if wishes.since:
        made.append(_since(wishes.since, target, wishes.features))
    return made or _compiled(kernels, sets(wishes, target), target)


def own_c(functions: Sequence[Function]) -> tuple[dict[str, str], str]:
    """Our C of kernels of one script with all that they call: texts by file name, and the name of the `.c`."""
    stem = functions[0].signature.script
    origin = Origin(script=stem, file=Path(functions[0].file).name, about="", command="", target="", stem=stem)
    every = closure(functions)
    parts = [c.part(lower_kernel(each)) for each in every if isinstance(each, Kernel)]
    parts += [c_calls.part(origin, each) for each in reversed(every) if isinstance(each, Program)]
    texts = {
        f"{stem}.h": header.emit(origin, [each.signature for each in every], features=()),
        f"{stem}.c": c.join(origin, parts),
    }
    return texts, f"{stem}.c"


def _compiled(kernels: Sequence[Function], every: Sequence[Set], target: str) -> list[Source]:
    """Our own C by every set, compiled side by side."""
    if not every:
        return []
    texts, name = own_c(kernels)
    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(lambda each: each.compile(texts, name), every))
    return [of_object(each, data, name, target) for each, data in zip(every, objects, strict=True)]


def of_object(each: Set, data: bytes, file: str, target: str) -> Source:
    """A kernel's routine in an object of our C."""
    command = shlex.join([*each.compiler.command, *shlex.split(each.flags), "-c", file])

    def body(function: Function) -> Body:
        image = from_bytes(data, file, function.signature.symbol, EMULATED[target])
        return wrapped(of_image(each.name, image, function.signature, EMULATED[target], command))

    return Source(each.name, body)


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
        every = chosen((), target)
        if not every:
            raise AsmgenError(
                "--since assembles the file of then, and nothing here does", hint="; ".join(missing(target))
            )
        with tempfile.TemporaryDirectory(prefix="asmgen-") as scratch:
            path = Path(scratch) / f"{stem}.S"
            command = ("sh", "-c", 'exec git show "$1" >"$2"', "sh", f"{revision}:./{name}", str(path))
            finished = tools.run(command, Path.cwd(), seconds=30)
            if finished.status:
                raise AsmgenError(
                    f"git has no {name} at {revision}: {finished.first_error}",
                    hint="run it in the directory that holds out/, with a commit, branch or tag",
                )
            data = every[0].compile_file(path)
        image = from_bytes(data, f"{name} at {revision}", function.signature.symbol, FEATURES[target][features])
        return wrapped(of_image(f"asmgen at {revision}", image, function.signature, EMULATED[target]))

    return Source(f"asmgen at {revision}", body)
