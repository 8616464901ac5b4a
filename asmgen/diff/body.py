"""A routine that can be called and compared: ours, a compiler's, anybody's."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from asmgen.contracts import Signature
from asmgen.diff.image import Image
from asmgen.diff.lines import STACK_POINTER, Line, is_padding, lines
from asmgen.errors import Source
from asmgen.function import Function
from asmgen.link import link, routines
from asmgen.passes import Options
from asmgen.targets.assemble import assemble
from asmgen.targets.row import Instruction
from emulate.follow import depth
from emulate.machine import EmulationError, Fault, Machine

#: Bytes below the stack pointer that compilers may use.
RED_ZONE = {"amd64": 128, "arm64": 0}


@dataclass(frozen=True)
class Body:
    """Machine code with the C function that it is called as.

    `functions` are (start, end, name) of what can be called in it. Where a thunk stands between the caller and the
    routine, `thunk` is where it begins, behind all else, and `start` where the routine does. `sources` gives script
    lines by offset, `absent` the names of what is called but not there, `fixups` (place, bytes) of addresses.
    """

    name: str
    target: str
    code: bytes
    entry: int
    functions: tuple[tuple[int, int, str], ...]
    signature: Signature
    features: frozenset[str] = frozenset()
    stack: int | None = None
    start: int | None = None
    thunk: int | None = None
    sources: Mapping[int, Source] = field(default_factory=dict)
    absent: Mapping[int, str] = field(default_factory=dict)
    command: str = ""
    fixups: tuple[tuple[int, int], ...] = ()

    @cached_property
    def machine(self) -> Machine:
        """An emulator for it. What compilers make may use the red zone."""
        if self.stack is not None:
            return self._machine(self.stack, 0)
        moving = {line.end for line in self.lines.values() if STACK_POINTER[self.target] in line.writes}
        starts = {start for start, _, _ in self.functions} | {self.entry if self.start is None else self.start}
        deepest = depth(self._machine(0, 0), sorted(moving | starts))
        return self._machine(deepest, RED_ZONE[self.target])

    def _machine(self, stack: int, zone: int) -> Machine:
        return Machine(
            self.target, self.code, self.entry, self.signature, self.features, stack=stack, red_zone=zone,
            thread=self.stack is None,
        )  # fmt: skip

    @cached_property
    def lines(self) -> dict[int, Line]:
        """The instructions of the functions that can be reached, by offset, without what fills up to an alignment."""
        found: dict[int, Line] = {}
        pending = [self.entry if self.start is None else self.start]
        seen = set[int]()
        while pending:
            start, end, _ = self.function_at(pending.pop())
            if start in seen:
                continue
            seen.add(start)
            here = list(lines(self.target, self.code, start, end))
            while here and is_padding(here[-1]):
                here.pop()
            found.update((line.offset, line) for line in here)
            pending += [line.goes for line in here if line.goes is not None and not start <= line.goes < end]
        return dict(sorted(found.items()))

    @cached_property
    def text(self) -> bytes:
        """The bytes of what can be reached: equal for routines that are the same code at another place."""
        return b"".join(line.code for line in self.lines.values())

    def function_at(self, offset: int) -> tuple[int, int, str]:
        """The function that an offset lies in; without a symbol, from there to the next function."""
        for start, end, name in self.functions:
            if start <= offset < end:
                return start, end, name
        following = min((start for start, _, _ in self.functions if start > offset), default=len(self.code))
        return offset, following, f"code at {offset:#x}"

    def explain(self, fault: Fault) -> str:
        """A fault with the instruction that is to blame."""
        if fault.offset is None:
            return str(fault)
        if fault.offset in self.absent:
            return f"it calls {self.absent[fault.offset]}, which is not in the files given"
        start, end, name = self.function_at(fault.offset)
        found = next((line for line in lines(self.target, self.code, start, end) if line.offset == fault.offset), None)
        text = found.text if found else "no instruction"
        return f"{fault.reason}: {text} ({name}+{fault.offset - start:#x})"

    def way_out(self, fault: Fault) -> str:
        """What the user can do about it."""
        if fault.offset in self.absent:
            return "the archive that defines it as --against lib.a:symbol, or one object of both made by ld -r"
        if "instruction is invalid" in fault.reason:
            beyond = " beyond the base" if not self.features else f" beyond {', '.join(sorted(self.features))}"
            return f"code without instruction sets{beyond}, which is what runs here: other --flags, another symbol"
        return "--layout tells of arguments in another order or other limbs"


def ours(function: Function, options: Options) -> Body:
    """What asmgen makes of a kernel, with what it calls."""
    codes = routines(function, options)
    image = link(codes)
    features = frozenset[str]().union(*(code.features for code in codes))
    spans: list[tuple[int, int, str]] = []
    sources: dict[int, Source] = {}
    for code in codes:
        made = assemble(code.items)
        start = image.entries[code.signature.symbol]
        spans.append((start, start + len(made.code), code.signature.symbol))
        for item, offset in zip(code.items, made.offsets, strict=True):
            if isinstance(item, Instruction) and item.source is not None:
                sources[start + offset] = item.source
    entry = image.entries[function.signature.symbol]
    return Body(
        "asmgen", options.target, image.code, entry, tuple(sorted(spans)), function.signature, features,
        codes[0].stack, sources=sources,
    )  # fmt: skip


def of_image(name: str, image: Image, signature: Signature, features: Collection[str], command: str = "") -> Body:
    """Other people's code, its arguments as the kernel's."""
    return Body(
        name, image.target, image.code, image.entry, image.functions, signature, frozenset(features),
        absent=image.absent, command=command, fixups=image.fixups,
    )  # fmt: skip


__all__ = ["Body", "EmulationError", "of_image", "ours"]
