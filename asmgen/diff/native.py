"""Measured cycles: amd64 routines run on this machine's own CPU, in a process of their own.

Time stamps are turned into core cycles by a chain of dependent 1-cycle additions that runs just before and after each
window of calls; windows in which the two disagree are left out. The calls are independent of each other, and the call
itself is in the figure.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import platform
import sys
import tempfile
from array import array
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from asmgen import tools
from asmgen.diff.body import Body
from asmgen.errors import AsmgenError
from emulate.aliasing import size
from emulate.driver import CODE
from emulate.inputs import Input

#: Windows for each routine, about so many cycles each, and how far the chains around a good one may disagree.
WINDOWS, LONG, AGREE = 300, 40_000, 0.02
#: Which part of the windows is quicker than the figure: others on the machine only make them slower.
QUICKER = 0.1
#: Additions in the two chains, whose difference is free of what calls cost.
_SHORTER, _LONGER = 1000, 3000

_FIXED = 0x100000  # MAP_FIXED_NOREPLACE
_ARGUMENTS = 6

#: harness(rdi = argument registers and the routine's address, rsi = calls, rdx = two time stamps)
_HARNESS = bytes.fromhex(
    "53 55 41 54 41 55 41 56 41 57 48 83 ec 08"  # push rbx, rbp, r12 to r15; sub rsp, 8
    "48 89 fb 49 89 f4 49 89 d5"  # mov rbx, rdi; mov r12, rsi; mov r13, rdx
    "0f ae e8 0f 31 48 c1 e2 20 48 09 d0 49 89 45 00"  # lfence; rdtsc; the whole of it to [r13]
    "48 8b 3b 48 8b 73 08 48 8b 53 10 48 8b 4b 18 4c 8b 43 20 4c 8b 4b 28"  # rdi, rsi, rdx, rcx, r8, r9 from [rbx]
    "ff 53 30 49 ff cc 75 e1"  # call [rbx + 48]; dec r12; jnz to the loads
    "0f ae e8 0f 31 48 c1 e2 20 48 09 d0 49 89 45 08"  # the second time stamp
    "48 83 c4 08 41 5f 41 5e 41 5d 41 5c 5d 5b c3"  # as it was; ret
)


def can_run(target: str, features: Collection[str]) -> str:
    """Empty when this machine runs such code, else why not."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64") or target != "amd64":
        return f"not measured: this machine is {platform.machine()} {platform.system()}, the code is for {target}"
    known = Path("/proc/cpuinfo").read_text()
    lacking = sorted(each for each in features if f" {each} " not in known.replace("\n", " "))
    return f"not measured: this CPU has no {', '.join(lacking)}" if lacking else ""


def cpu() -> str:
    """What the CPU calls itself."""
    found = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return found[0].partition(":")[2].strip() if found else "this CPU"


def measured(routines: Sequence[tuple[Body, Sequence[Input]]]) -> list[float | None]:
    """Core cycles a call of each on these inputs, all in one process; None for what this machine cannot run, and for
    all when that ends badly."""
    able = [index for index, (body, _) in enumerate(routines) if not can_run(body.target, body.features)]
    job = [_job(*routines[index]) for index in able]
    with tempfile.TemporaryDirectory(prefix="asmgen-") as scratch:
        path = Path(scratch) / "job.json"
        path.write_text(json.dumps(job))
        try:
            finished = tools.run((sys.executable, "-m", __name__), seconds=30, stdin=path)
            found: list[float | None] = json.loads(finished.output) if finished.status == 0 else []
        except (AsmgenError, ValueError):
            found = []
    made: list[float | None] = [None] * len(routines)
    for index, cycles in zip(able, found, strict=False):
        made[index] = cycles
    return made


def _job(body: Body, inputs: Sequence[Input]) -> list[Any]:
    """Code, where it lies, its entry, and its arguments: the bytes of buffers, or numbers."""
    arguments: list[str | int] = [bytes(size(each)).hex() for each in body.signature.outputs]
    for value in inputs:
        if isinstance(value, tuple):
            arguments.append(array("Q", value).tobytes().hex())
        else:
            arguments.append(value.hex() if isinstance(value, bytes) else value)
    return [body.code.hex(), CODE, body.entry, arguments]


def _main() -> None:
    print(json.dumps([_cycles(*each) for each in json.load(sys.stdin)]))


def _cycles(code: str, place: int, entry: int, arguments: list[Any]) -> float | None:
    if len(arguments) > _ARGUMENTS:
        return None
    held = [ctypes.create_string_buffer(bytes.fromhex(each), len(each) // 2 + 64) if isinstance(each, str) else each
            for each in arguments]  # fmt: skip
    words = [ctypes.addressof(each) if not isinstance(each, int) else each for each in held]
    with_code = _executable(bytes.fromhex(code), place)
    harness = _executable(_HARNESS)
    chains = [_executable(b"\x48\x01\xc8" * count + b"\xc3") for count in (_SHORTER, _LONGER)]  # add rax, rcx; ret
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p)(harness)

    def window(address: int, calls: int) -> int:
        registers = (ctypes.c_uint64 * 7)(*words, *[0] * (_ARGUMENTS - len(words)), address)
        stamps = (ctypes.c_uint64 * 2)()
        run(ctypes.addressof(registers), calls, ctypes.addressof(stamps))
        return stamps[1] - stamps[0]

    def unit() -> float:
        """Time stamps a cycle, now."""
        shorter, longer = (min(window(chain, 4) for _ in range(3)) / 4 for chain in chains)
        return (longer - shorter) / (_LONGER - _SHORTER)

    address = with_code + entry
    calls = max(1, min(1000, LONG // max(1, min(window(address, 1) for _ in range(3)))))
    good, all_of_them = [], []
    before = unit()
    for _ in range(WINDOWS):
        took = window(address, calls) / calls
        after = unit()
        if before > 0 and after > 0:
            all_of_them.append(2 * took / (before + after))
            if abs(before - after) <= AGREE * before:
                good.append(all_of_them[-1])
        before = after
    chosen = good if len(good) > WINDOWS // 6 else all_of_them
    return round(sorted(chosen)[int(QUICKER * len(chosen))], 1) if chosen else None


def _executable(code: bytes, place: int = 0) -> int:
    """The address of a copy that can be executed, at `place` when that is given."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | (_FIXED if place else 0)
    if place:
        libc.munmap(ctypes.c_void_p(place), ctypes.c_size_t(len(code) + 64))  # that of the routine before
    at = libc.mmap(place or None, len(code) + 64, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC, flags, -1, 0)
    if at is None or at == ctypes.c_void_p(-1).value or (place and at != place):
        raise OSError(ctypes.get_errno(), "no executable memory")
    ctypes.memmove(at, code, len(code))
    return int(at)


if __name__ == "__main__":
    _main()
