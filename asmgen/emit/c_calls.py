"""C of programs: calls of the C functions over arrays that stand where the assembly has its slots."""

from __future__ import annotations

import re
from collections.abc import Iterator

from asmgen.contracts import Bytes
from asmgen.emit import prose
from asmgen.emit.c import Part
from asmgen.emit.c_body import constant
from asmgen.emit.c_helpers import HELPERS
from asmgen.emit.names import Namer, c_name
from asmgen.emit.origin import Origin
from asmgen.passes.calling import Names
from asmgen.passes.storage import Buffer, Copy, Slot, Storage, last_uses, storage
from asmgen.program import Program
from asmgen.steps import Call, Value


def part(origin: Origin, program: Program) -> Part:
    """The program's function, the same with 128-bit integers and without."""
    writer = _Writer(origin, program)
    lines = tuple(writer.function())
    helpers = frozenset(writer.helpers)
    return Part(program.signature, lines, helpers, lines, helpers)


class _Writer:
    def __init__(self, origin: Origin, program: Program) -> None:
        self.origin = origin
        self.program = program
        self.steps = program.steps
        self.stored: Storage = storage(self.steps)
        self.names = Names(self.steps, self.stored)
        self.slots = [self.names.place(Slot(number)) for number in range(len(self.stored.slots))]
        taken = [*self.slots, *self.names.bits.values(), *(c_name(p.name) for p in self.steps.signature.parameters)]
        self.own = Namer(frozenset({*HELPERS, *taken}))
        self.last = last_uses(self.steps)
        self.helpers: set[str] = set()
        self.shown = ""

    def function(self) -> Iterator[str]:
        body = [*self.body()]
        if self.slots:
            arrays = [f"{name}[{words}]" for name, words in zip(self.slots, self.stored.slots, strict=True)]
            yield f"    uint64_t {', '.join(arrays)};"
        bits = [name for bit, name in self.names.bits.items() if bit in self.last]
        if bits:
            yield f"    uint64_t {', '.join(bits)};"
        named = set(re.findall(r"\w+", "\n".join(body)))
        unused = [name for p in self.steps.signature.parameters if (name := c_name(p.name)) not in named]
        if self.slots or bits:
            yield ""
        yield from (f"    (void){name};" for name in unused)
        yield from body
        if self.program.wipe:
            self.helpers.add("wipe")
            for name, words in zip(self.slots, self.stored.slots, strict=True):
                yield f"    wipe({name}, {words});"
        if self.steps.returns is not None:
            yield f"    return {self.number(self.steps.returns)};"

    def is_slot(self, value: Value) -> bool:
        return value in self.stored.places and not isinstance(self.stored.places[value], Buffer)

    def body(self) -> Iterator[str]:
        for index, call in enumerate(self.steps.calls):
            yield from self.constants(index)
            line = prose.script_line(call.source.text) if call.source else ""
            if line and line != self.shown:
                self.shown = line
                yield f"    /* {line} */"
            yield from self.call(call)
        yield from self.constants(len(self.steps.calls))
        for copy in self.stored.copies:
            yield from self.copy(copy)

    def call(self, call: Call) -> Iterator[str]:
        bit = "" if call.bit is None else f"{self.number(call.bit)} = " if call.bit in self.last else "(void)"
        wishes = self.names.wishes(call)
        note = f" /* {prose.harmless(wishes)} */" if wishes else ""
        yield f"    {bit}{self.text(call, call.args)};{note}"
        if call.times > 1:
            index = self.own.give("round")
            yield "    {"
            yield f"        int {index};"
            yield f"        for ({index} = 1; {index} < {call.times}; {index}++)"
            yield f"            {self.text(call, call.results)};"
            yield "    }"

    def text(self, call: Call, args: tuple[Value, ...]) -> str:
        given = [self.argument(value) for value in (*call.outputs(), *args)]
        return f"{self.origin.prefix}{call.function.signature.symbol}({', '.join(given)})"

    def argument(self, value: Value) -> str:
        if not value.in_memory:
            return self.number(value)
        cast = "(uint8_t *)" if isinstance(value.contract, Bytes) and self.is_slot(value) else ""
        return cast + c_name(self.names.value(value))

    def number(self, value: Value) -> str:
        return c_name(self.names.value(value)) if value.constant is None else constant(value.constant[0])

    def constants(self, index: int) -> Iterator[str]:
        for value in self.stored.constants.get(index, ()):
            name, length = c_name(self.names.value(value)), value.length
            assert value.constant is not None
            for at, word in enumerate(value.constant):
                if isinstance(value.contract, Bytes):
                    self.helpers.add("store_bytes")
                    size = min(8, length - 8 * at)
                    yield f"    store_bytes({self.argument(value)} + {8 * at}, {size}, {constant(word, plain=False)});"
                else:
                    yield f"    {name}[{at}] = {constant(word)};"

    def copy(self, copy: Copy) -> Iterator[str]:
        ends = [self.place(copy, source=True), self.place(copy, source=False)]
        count = copy.value.length if isinstance(copy.value.contract, Bytes) else copy.value.words
        yield from (f"    {ends[1]}[{at}] = {ends[0]}[{at}];" for at in range(count))

    def place(self, copy: Copy, *, source: bool) -> str:
        place = copy.source if source else copy.target
        if isinstance(place, Buffer):
            return c_name(place.name)
        name = self.names.place(place)
        return f"((uint8_t *){name})" if isinstance(copy.value.contract, Bytes) else name
