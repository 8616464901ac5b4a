"""C compilers: found by the names that distributions give them, asked what they are, and run within bounds."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from asmgen import tools
from asmgen.errors import AsmgenError, UsageError

FAMILIES = ("gcc", "clang")
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}

#: What is put before the user's flags: no warnings, which are about the code's style; nothing else.
_QUIET = ("-w",)
#: The newest first, so that of several names for one compiler the plain one is kept.
_VERSIONS = range(30, 8, -1)
_PACKAGES = {
    ("gcc", "amd64"): "gcc",
    ("gcc", "arm64"): "gcc-aarch64-linux-gnu",
    ("clang", "amd64"): "clang",
    ("clang", "arm64"): "clang",
}


@dataclass(frozen=True)
class Compiler:
    """A compiler that makes code for `target`: `command` starts it, `version` is what it says of itself."""

    family: str
    version: str
    target: str
    command: tuple[str, ...]

    @property
    def name(self) -> str:
        """Family and main version, such as `gcc 12`."""
        return f"{self.family} {self.version.split('.')[0]}"

    @property
    def identity(self) -> tuple[object, ...]:
        """What changes when another compiler goes by the same command."""
        path = os.path.realpath(shutil.which(self.command[0]) or self.command[0])
        about = os.stat(path) if os.path.exists(path) else None
        return self.command, self.version, path, about and (about.st_size, about.st_mtime_ns)

    def compile(self, files: Mapping[str, str], source: str, flags: Sequence[str] = ()) -> bytes:
        """The object made of `source`, one of these texts by file name.

        Raises AsmgenError with the command and everything that the compiler says when it refuses.
        """
        with tempfile.TemporaryDirectory(prefix="asmgen-") as scratch:
            for name, text in files.items():
                (Path(scratch) / name).write_text(text)
            return self._run(source, Path(scratch), flags)

    def compile_file(self, path: Path, flags: Sequence[str] = ()) -> bytes:
        """The object made of a file where it stands, so that it finds what it includes."""
        return self._run(str(path.resolve()), path.resolve().parent, flags)

    def _run(self, source: str, directory: Path, flags: Sequence[str]) -> bytes:
        with tempfile.TemporaryDirectory(prefix="asmgen-") as scratch:
            made = Path(scratch) / "out.o"
            command = (*self.command, *_QUIET, *flags, "-c", source, "-o", str(made))
            finished = tools.run(command, directory)
            if finished.status or not made.is_file():
                shown = shlex.join([*self.command, *flags, "-c", source])
                raise AsmgenError(
                    f"{self.name} does not compile {Path(source).name} (exit {finished.status}):\n"
                    f"    {shown}\n{finished.output.rstrip()}",
                    hint="other flags with --flags, another compiler with --compiler",
                )
            return made.read_bytes()


def names(family: str, target: str) -> list[str]:
    """What is looked for on PATH, the likeliest first."""
    triple = f"{MACHINES[target]}-linux-gnu"
    stems = [f"{triple}-gcc", "gcc"] if family == "gcc" else ["clang"]
    return [*stems, *(f"{stem}-{version}" for stem in stems for version in _VERSIONS)]


def found(target: str) -> list[Compiler]:
    """Every gcc and clang on PATH that makes code for the target, each once."""
    return [compiler for family in FAMILIES for compiler in _of_family(family, target)]


def chosen(wishes: Sequence[str], target: str) -> list[Compiler]:
    """What `--compiler` names: a family, or the command of any compiler that takes gcc's flags; all without a wish."""
    if not wishes:
        return found(target)
    made: dict[tuple[str, ...], Compiler] = {}
    for wish in wishes:
        for compiler in _of_family(wish, target) if wish in FAMILIES else [_asked(tuple(shlex.split(wish)), target)]:
            made[compiler.command] = compiler
        if wish in FAMILIES and not _of_family(wish, target):
            raise AsmgenError(f"no {wish} for {target} on PATH", hint=_way_out(wish, target))
    return list(made.values())


def missing(target: str) -> list[str]:
    """A line for each family of which none is here: the names looked for, and how to get one."""
    return [f"no {each} for {target}: {_way_out(each, target)}" for each in FAMILIES if not _of_family(each, target)]


def _way_out(family: str, target: str) -> str:
    looked = names(family, target)
    stems = [name for name in looked if not name.rpartition("-")[2].isdigit()]
    return (
        f"looked for {', '.join(stems)} and {stems[-1]}-{_VERSIONS[-1]} to -{_VERSIONS[0]} on PATH; "
        f"Debian has it in {_PACKAGES[family, target]}; --compiler names any other"
    )


@cache
def _of_family(family: str, target: str) -> tuple[Compiler, ...]:
    """Each compiler once, under the first of its names."""
    made: dict[Path, Compiler] = {}
    for path in filter(None, map(shutil.which, names(family, target))):
        real = Path(path).resolve()
        if real in made:
            continue
        if family == "clang":
            command: tuple[str, ...] = (Path(path).name, f"--target={MACHINES[target]}-linux-gnu")
        elif not _machine((path,)).startswith(MACHINES[target]):
            continue
        else:
            command = (Path(path).name,)
        made[real] = Compiler(family, _version(command), target, command)
    return tuple(made.values())


def _asked(command: tuple[str, ...], target: str) -> Compiler:
    """A compiler that the user names."""
    if not command or shutil.which(command[0]) is None:
        raise UsageError(f"there is no compiler {' '.join(command)}", hint="gcc, clang, a name on PATH or a path")
    about = " ".join(_said((*command, "--version"), 1))
    family = "clang" if "clang" in about or command[0].endswith("zig") else "gcc"
    if family == "clang" and not any(word.startswith(("--target", "-target")) for word in command):
        command = (*command, f"--target={MACHINES[target]}-linux-gnu")
    makes = _machine(command)
    if not makes.startswith(MACHINES[target]):
        raise AsmgenError(
            f"{' '.join(command)} makes code for {makes or 'something else'}, not for {target}",
            hint=f"one of {', '.join(names(family, target)[:3])}, or another --target",
        )
    return Compiler(family, _version(command), target, command)


def _machine(command: tuple[str, ...]) -> str:
    return "".join(_said((*command, "-dumpmachine"), 1)).replace("arm64", "aarch64")


def _version(command: tuple[str, ...]) -> str:
    """As gcc tells it in full, or as all tell it."""
    return "".join(_said((*command, "-dumpfullversion"), 1)) or "".join(_said((*command, "-dumpversion"), 1))


def _said(command: tuple[str, ...], lines: int) -> Iterator[str]:
    """The first lines that a program prints; none when it fails."""
    finished = tools.run(command, seconds=10)
    if finished.status == 0:
        yield from finished.output.strip().splitlines()[:lines]
