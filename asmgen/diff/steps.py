"""What a routine does, call by call: the instructions in the order in which they are executed, the class that each has
there, and the values that it makes.

The same call is followed with several inputs. What an instruction makes is a tuple with one value for each of them:
with random inputs that tuple names a step of the computation, whoever's code it is in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from asmgen.diff.body import Body
from asmgen.diff.lines import STACK_POINTER, VECTORS, Line, lines
from asmgen.errors import AsmgenError
from asmgen.targets.conventions import convention
from emulate import driver as layout
from emulate.follow import Broken, Walk, follow
from emulate.inputs import Input

#: Classes of instructions as they are executed: where memory is accessed decides between loads, reloads and the rest.
CLASSES = (
    "products", "with carry", "other", "loads", "stores", "moves", "constants", "spills", "reloads", "frame",
    "branches", "marks",
)  # fmt: skip

#: Instructions that compute; a step may be made by any of them.
COMPUTING = frozenset({"products", "with carry", "other"})

Value = tuple[int, ...]

#: Products that are added to or taken from something in one instruction of 64 bits, by their sign.
FUSED = {"madd": 1, "msub": -1, "umaddl": 1, "umsubl": -1, "smaddl": 1, "smsubl": -1}


@dataclass(frozen=True)
class Step:
    """An instruction as it was executed. `operands` are the addresses of buffers and constants that it read."""

    line: Line
    kind: str
    values: tuple[Value, ...]
    operands: tuple[int, ...] = ()


@dataclass(frozen=True)
class Run:
    """One path through a routine: its steps, and the walk of the first input.

    `varies` when inputs that differ only in secrets took other paths too, which are left out.
    """

    steps: list[Step]
    walk: Walk
    varies: bool


def regions(address: int, top: int = layout.SP) -> str:
    """What lies at an address: `stack`, `arguments` from `top` of it on, `buffer` or `constants`."""
    if layout.STACK <= address < layout.STACK + layout.STACK_SIZE:
        return "stack" if address < top else "arguments"
    return "buffer" if layout.SLOTS <= address < layout.JUNK else "constants"


def is_address(value: int) -> bool:
    """Whether a value points into the memory of the emulated routine."""
    return (
        layout.CODE <= value < layout.CODE + (1 << 24)
        or layout.STACK <= value < layout.STACK + layout.STACK_SIZE
        or (layout.SLOTS <= value < layout.JUNK)
    )


def runs(body: Body, groups: Sequence[Sequence[Sequence[Input]]], limit: int) -> list[Run]:
    """Follow the routine through groups of calls that differ only in secrets.

    Raises TooLong for a call of more than `limit` instructions, AsmgenError for one that does what it may not.
    """
    known: dict[int, Line] = {}
    vectors = any(name in VECTORS[body.target] for line in body.lines.values() for name in line.writes)
    made = []
    for calls in groups:
        try:
            walks = follow(body.machine, calls, vectors=vectors, end=body.thunk, limit=limit)
        except Broken as error:
            what = f"called as {body.signature.symbol} on {body.target}: {body.explain(error.fault)}"
            raise AsmgenError(what, hint=body.way_out(error.fault)) from error
        if not walks[0].offsets:
            raise AsmgenError(f"{body.name} executes nothing of its own")
        same = [walk for walk in walks if walk.offsets == walks[0].offsets]
        made.append(Run(_steps(body, same, known), walks[0], len(same) < len(walks)))
    return made


def _steps(body: Body, walks: Sequence[Walk], known: dict[int, Line]) -> list[Step]:
    first = walks[0]
    context = _Context(body, walks)
    made = []
    for index, offset in enumerate(first.offsets):
        line = known.get(offset) or body.lines.get(offset)
        if line is None:
            line = next(lines(body.target, body.code, offset, min(offset + 16, len(body.code))))
        known[offset] = line
        made.append(context.step(index, line))
    return made


class _Context:
    """What is the same for all steps of a path."""

    def __init__(self, body: Body, walks: Sequence[Walk]) -> None:
        rules = convention(None, body.target)
        self.walks = walks
        self.places = walks[0].places
        self.stack_pointer = STACK_POINTER[body.target]
        self.top = walks[0].states[0][self.places[self.stack_pointer]]
        self.flags = self.places["rflags" if body.target == "amd64" else "nzcv"]
        self.vectors = frozenset(VECTORS[body.target])
        given = {walks[0].states[0][self.places[name]] for name in rules.arguments}
        junk = {
            walks[0].states[0][self.places[name]] for name in (*rules.preserved, *rules.changed, rules.frame_pointer)
        }
        self.kept = junk - given  # what registers held for the caller

    def step(self, index: int, line: Line) -> Step:
        accesses = self.walks[0].accesses.get(index, [])
        where = {regions(access.address, self.top) for access in accesses}
        written = [access for access in accesses if access.write]
        values = self._written(index, line)
        kind = self._kind(index, line, where, bool(written), values)
        if kind in ("stores", "spills") or (kind == "frame" and written):
            values = self._stored(index)
        elif kind == "marks" or line.control is not None:
            values = ()
        elif not line.writes and not written:
            values = (tuple(walk.states[index + 1][self.flags] for walk in self.walks),)
        operands = (a.address for a in accesses if not a.write and regions(a.address) in ("buffer", "constants"))
        return Step(line, kind, values, tuple(operands))

    def _written(self, index: int, line: Line) -> tuple[Value, ...]:
        """What the registers that an instruction writes hold after it; a vector counts as two."""
        found: list[Value] = []
        if index + 1 >= len(self.walks[0].states):
            return ()
        for name in line.writes:
            if name == self.stack_pointer:
                continue
            place = self.places.get(name)
            if place is None:
                continue
            for at in (place, place + 1) if name in self.vectors else (place,):
                found.append(tuple(walk.states[index + 1][at] for walk in self.walks))
        if line.mnemonic in FUSED and len(found) == 1:
            found.append(self._product(index, line, found[0]))
        return tuple(found)

    def _product(self, index: int, line: Line, made: Value) -> Value:
        """The product alone that a fused instruction adds to or takes from its last operand."""
        addend = self.places.get(line.text.rpartition(" ")[2])
        sign = FUSED[line.mnemonic]
        before = [walk.states[index][addend] if addend is not None else 0 for walk in self.walks]
        return tuple(sign * (after - old) % 2**64 for after, old in zip(made, before, strict=True))

    def _stored(self, index: int) -> tuple[Value, ...]:
        writes = [[access.value for access in walk.accesses[index] if access.write] for walk in self.walks]
        return tuple(zip(*writes, strict=True)) if len({len(each) for each in writes}) == 1 else ()

    def _kind(self, index: int, line: Line, where: set[str], writes: bool, values: tuple[Value, ...]) -> str:
        kind = line.kind
        if line.control == "ret" or (self.stack_pointer in line.writes and not where):
            return "frame"
        if kind in ("branches", "marks"):
            return kind
        if where == {"stack"} or where == {"arguments"}:
            held = self._stored(index) if writes else values
            if kind in ("stores", "loads"):
                if held and all(value[0] in self.kept for value in held):
                    return "frame"
                if where == {"stack"}:
                    return "spills" if writes else "reloads"
        if kind == "loads" and where == {"constants"}:
            return "constants"
        if kind == "moves" and line.numbers_only:
            return "constants"
        if kind == "other" and line.numbers_only:
            return "constants"
        if line.mnemonic.startswith(("xor", "eor", "pxor")) and values and not any(map(any, values)):
            return "constants"
        if kind == "moves" and not where and self.stack_pointer in line.reads:
            return "frame"
        return kind
