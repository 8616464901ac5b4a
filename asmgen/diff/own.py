"""Our own C of kernels, given to compilers: each script once for each set of a compiler and flags."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from asmgen.cache import cached
from asmgen.emit import c, c_calls, header
from asmgen.emit.origin import Origin
from asmgen.errors import AsmgenError
from asmgen.function import Function
from asmgen.kernel import Kernel
from asmgen.passes import Options, chosen_words, lower_kernel
from asmgen.program import Program, closure
from emulate.compilers import Compiler


@dataclass(frozen=True)
class Set:
    """A compiler with flags."""

    compiler: Compiler
    flags: str

    @property
    def name(self) -> str:
        return f"{self.compiler.name} {self.flags}".rstrip()

    def compile(self, texts: Mapping[str, str], name: str) -> bytes:
        """The object of one of these texts; kept between runs, see `asmgen.cache`."""
        key = ("object", self.compiler.identity, self.flags, sorted(texts.items()), name)
        return cached(key, lambda: self.compiler.compile(texts, name, shlex.split(self.flags)))

    def command(self, name: str) -> str:
        """What compiles a file of this name."""
        return shlex.join([*self.compiler.command, *shlex.split(self.flags), "-c", name])


def own_c(functions: Sequence[Function], options: Options | None = None) -> tuple[dict[str, str], str]:
    """C of kernels of one script with all that they call: texts by file name, and the name of the `.c`.

    It takes the algorithms that the assembly of these options takes; without them those that `build` writes as
    portable C: the first alternative of each decision.
    """
    names = [each.name for each in functions]
    return cached(("own C", names, options), lambda: _own_c(functions, options), script=functions[0].version)


def _own_c(functions: Sequence[Function], options: Options | None) -> tuple[dict[str, str], str]:
    stem = functions[0].signature.script
    origin = Origin(script=stem, file=Path(functions[0].file).name, about="", command="", target="", stem=stem)
    every = closure(functions)
    parts = [c.part(chosen_words(each, options) if options else lower_kernel(each))
             for each in every if isinstance(each, Kernel)]  # fmt: skip
    parts += [c_calls.part(origin, each) for each in reversed(every) if isinstance(each, Program)]
    texts = {
        f"{stem}.h": header.emit(origin, [each.signature for each in every], features=()),
        f"{stem}.c": c.join(origin, parts),
    }
    return texts, f"{stem}.c"


def decided(function: Function, options: Options) -> bool:
    """Whether the assembly takes another algorithm than portable C."""
    if not isinstance(function, Kernel):
        return False
    key = ("decided", function.name, options)
    return cached(key, lambda: _decided(function, options), script=function.version)


def _decided(kernel: Kernel, options: Options) -> bool:
    """False for a kernel with a fault, too, which is told where it is compiled."""
    with suppress(AsmgenError):
        return _differs(kernel, options)
    return False


def _differs(kernel: Kernel, options: Options) -> bool:
    return bool(kernel.choices) and c.part(chosen_words(kernel, options)) != c.part(lower_kernel(kernel))


class Unit:
    """C of kernels of one script; its objects are made in the background. `options` as for `own_c`."""

    def __init__(self, functions: Sequence[Function], options: Options | None, sets: Sequence[Set]) -> None:
        self.functions = functions
        self._options = options
        self._sets = sets
        self.file = f"{functions[0].signature.script}.c"

    def begin(self) -> None:
        """Start all compilers, so that something else can be done meanwhile."""
        _ = self._objects

    def object(self, one: Set, function: Function) -> bytes:
        """The object with a function. What does not compile as a whole is tried with this function alone."""
        try:
            return self._objects[one].result()
        except AsmgenError:
            if len(self.functions) == 1:
                raise
        return one.compile(*own_c([function], self._options))

    @cached_property
    def _objects(self) -> Mapping[Set, Future[bytes]]:
        try:
            texts, name = own_c(self.functions, self._options)
        except AsmgenError as error:
            return {one: _failed(error) for one in self._sets}
        pool = ThreadPoolExecutor(2)
        objects = {one: pool.submit(one.compile, texts, name) for one in self._sets}
        pool.shutdown(wait=False)
        return objects


def _failed(error: Exception) -> Future[bytes]:
    future: Future[bytes] = Future()
    future.set_exception(error)
    return future
