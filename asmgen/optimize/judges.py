"""Judges in C for walks in C."""

from __future__ import annotations

import ctypes
import weakref
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from asmgen.bench.child import Window
from asmgen.errors import AsmgenError
from asmgen.optimize.code import Coder, jump
from asmgen.optimize.library import library
from asmgen.optimize.walk import Flat, Integers
from asmgen.passes.arrange import Arrangement
from asmgen.targets.row import Instruction, Label

if TYPE_CHECKING:
    from asmgen.optimize.modelled import Executed, Part
    from asmgen.optimize.native import Race

#: As in modelled.c.
_PASSES = 32
#: As in raced.c; room for pieces, a power of two.
_MISSED, _PARTS, _SPARE, _PIECES = 64, 64, 32, 1 << 16
_BYTES, _STRAIGHT, _LABEL, _JUMP = range(4)
#: Webs of an instruction that fit into the key of a piece.
_WEBS = 7


class _Part(ctypes.Structure):
    """`Part` of modelled.c."""

    _fields_ = [
        ("model", ctypes.c_void_p), ("calls", ctypes.c_int32), ("weight", ctypes.c_double),
        ("now", ctypes.c_int64), ("last", ctypes.c_int64), ("times", ctypes.c_int32 * (2 * _PASSES)),
        ("mine", ctypes.c_int32),
    ]  # fmt: skip


class _Modelled(ctypes.Structure):
    """`struct modelled` of modelled.c."""

    _fields_ = [
        ("ratio", ctypes.c_void_p), ("take", ctypes.c_void_p), ("parts", ctypes.c_int32),
        *((name, ctypes.c_double) for name in ("least", "pace", "end")),
        ("part", ctypes.c_void_p), ("blocks", ctypes.c_int32), ("count", ctypes.c_int32),
        *((name, ctypes.c_void_p) for name in ("block", "first", "size")),
        ("arguments", ctypes.c_int32), ("colors", ctypes.c_int32),
        *((name, ctypes.c_void_p) for name in ("argument", "changed", "writes")),
        ("cost", ctypes.c_double), ("last", ctypes.c_double), ("order", ctypes.c_void_p),
    ]  # fmt: skip


class _Kept:
    """Arrays that C points to."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def keep(self, made: Any) -> int:
        """Its address, which holds as long as this does."""
        self.kept.append(made)
        return ctypes.addressof(made)

    def numbers(self, values: Iterable[int]) -> int:
        """An array, never empty."""
        numbers = [*values, 0]
        return self.keep((ctypes.c_int32 * len(numbers))(*numbers))

    def bits(self, values: Iterable[bool]) -> int:
        """An array of bytes, never empty."""
        numbers = [*values, False]
        return self.keep((ctypes.c_uint8 * len(numbers))(*numbers))


class CompiledModels(_Kept):
    """`modelled.Modelled` in C: the same figures, until a candidate is known to be too slow."""

    def __init__(self, before: Arrangement, run: Executed, parts: list[Part], hopes: tuple[float, ...]) -> None:
        super().__init__()
        found = library()
        assert found is not None
        self.library = found
        self.flat = Flat(before)
        self.kept += [each.model for each in parts]
        models = {each.model.core: self._model(each) for each in parts}
        made = (_Part * len(parts))(*(_Part(models[each.model.core], each.calls, each.weight) for each in parts))
        blocks = [(at, run.starts[at]) if is_line else (-1, at) for is_line, at in run.blocks]
        longest = len(run.arguments) + sum(len(before.lines[line]) if line >= 0 else 1 for line, _ in blocks)
        argument = [run.arguments.index(each) if each in run.arguments else -1 for each in self.flat.registers]
        self.state = _Modelled(
            None, None, len(parts), *hopes, self.keep(made), len(blocks), longest,
            self.numbers(number for pair in blocks for number in pair),
            self.numbers(self.flat.first), self.numbers(map(len, before.lines)),
            len(run.arguments), self.flat.webs[-1], self.numbers(argument),
            self.bits(each in run.changed for each in run.arguments),
            self.bits(written for line in run.writes for written in line),
            0.0, 0.0, self.numbers([0] * longest),
        )  # fmt: skip

    @property
    def address(self) -> int:
        """Of its `struct judge`."""
        return ctypes.addressof(self.state)

    def begin(self, order: Integers, colors: Integers) -> None:
        """What is to be beaten from here on."""
        if self.library.modelled_begin(ctypes.byref(self.state), order, colors) < 0:
            raise AsmgenError("the routine is too long to model")

    def missing(self, order: Integers, colors: Integers) -> None:
        """Nothing ever is."""

    def _model(self, part: Part) -> int:
        model = part.model
        found = self.library.modeled(
            model.machine.buffer_info()[0], model.lines.buffer_info()[0], len(model),
            model.carried.buffer_info()[0], len(model.carried) // 2, model.registers,
        )  # fmt: skip
        if not found:
            raise MemoryError
        weakref.finalize(self, self.library.forgotten, found)
        return int(found)


@dataclass(frozen=True)
class Looks:
    """How candidates are looked at: in one mode and context after another, for `rounds` each, until what they seem to
    cost is more than `close` above their limit after `glance` of them, less and less above it later. A core is quiet
    while additions take no longer than `alone` times what they take at best."""

    glance: int
    rounds: int
    close: float
    alone: float


class _Pair(ctypes.Structure):
    """`struct pair` of raced.c."""

    _fields_ = [("windows", Window * 2), ("weight", ctypes.c_double)]


class _Block(ctypes.Structure):
    """`struct block` of raced.c."""

    _fields_ = [
        ("kind", ctypes.c_int32), ("number", ctypes.c_int32), ("size", ctypes.c_int32), ("bytes", ctypes.c_void_p),
    ]  # fmt: skip


class _Piece(ctypes.Structure):
    """`struct piece` of raced.c."""

    _fields_ = [("key", ctypes.c_uint64), ("size", ctypes.c_int32), ("bytes", ctypes.c_uint8 * 20)]


class _Raced(ctypes.Structure):
    """`struct raced` of raced.c."""

    _fields_ = [
        ("ratio", ctypes.c_void_p), ("take", ctypes.c_void_p), ("pairs", ctypes.c_void_p),
        *((name, ctypes.c_int32) for name in ("count", "glance", "rounds")),
        ("close", ctypes.c_double), ("wide", ctypes.c_void_p), ("most", ctypes.c_double), ("alone", ctypes.c_double),
        ("places", ctypes.c_void_p), *((name, ctypes.c_int32) for name in ("copies", "room", "now")),
        ("blocks", ctypes.c_void_p), ("parts", ctypes.c_int32), ("instructions", ctypes.c_int32),
        *((name, ctypes.c_void_p) for name in ("first", "size", "use_first", "uses", "pieces")),
        ("mask", ctypes.c_uint32), ("filled", ctypes.c_uint32), ("missed", ctypes.c_int32),
        ("missing", ctypes.c_int64 * _MISSED), ("code", ctypes.c_void_p), ("waited", ctypes.c_double),
    ]  # fmt: skip


class CompiledRace(_Kept):
    """`native.Native` in C: the code of candidates is put together there, of pieces that Python encodes once each."""

    def __init__(self, race: Race, coder: Coder, before: Arrangement, looks: Looks) -> None:
        super().__init__()
        self.race, self.coder = race, coder
        self.flat = Flat(before)
        self.jumps = [each for each in coder.blocks if isinstance(each, Instruction)]
        made = (_Pair * len(race.pairs))(*(_Pair(pair.windows, pair.weight) for pair in race.pairs))
        count = self.flat.first[-1]
        uses = [
            [self.flat.webs[at] + web for web in webs] for at, line in enumerate(before.lines) for webs in line.webs_of
        ]
        blocks = (_Block * len(coder.blocks))(*self._blocks())
        places = [race.write + at for place in race.places for at in place]
        code = (ctypes.c_uint8 * (race.room + 2 * _SPARE + 16 * count))()
        self.state = _Raced(
            None, None, self.keep(made), len(race.pairs), looks.glance, looks.rounds, looks.close,
            self.keep(race.wide), race.most, looks.alone, self.keep((ctypes.c_void_p * len(places))(*places)),
            len(places) // 2, race.room, 0, self.keep(blocks), len(blocks), count,
            self.numbers(self.flat.first), self.numbers(map(len, before.lines)),
            self.numbers([0, *accumulate(map(len, uses))]), self.numbers(web for webs in uses for web in webs),
            self.keep((_Piece * _PIECES)()), _PIECES - 1, 0, 0, (ctypes.c_int64 * _MISSED)(), self.keep(code),
        )  # fmt: skip

    @staticmethod
    def fits(coder: Coder, before: Arrangement) -> bool:
        """Whether raced.c has room for a routine."""
        most = max((len(webs) for line in before.lines for webs in line.webs_of), default=0)
        return len(coder.blocks) <= _PARTS and most <= _WEBS

    @property
    def address(self) -> int:
        """Of its `struct judge`."""
        return ctypes.addressof(self.state)

    def begin(self, order: Integers, colors: Integers) -> None:
        """What is to be beaten from here on."""
        self.race.begin(self.code(order, colors))
        self.race.library.raced_begin(ctypes.byref(self.state), self.race.most)

    def code(self, order: Integers, colors: Integers) -> bytes:
        """The bytes of a candidate."""
        while (size := self.race.library.raced_code(ctypes.byref(self.state), order, colors)) < 0:
            if not self.state.missed:
                raise AsmgenError(f"a candidate has more than {self.race.room} bytes")
            self.missing(order, colors)
        return ctypes.string_at(self.state.code, size)

    def missing(self, order: Integers, colors: Integers) -> None:
        """Make what a candidate is waiting for."""
        count = self.state.instructions
        for each in self.state.missing[: self.state.missed]:
            number, distance = each >> 32, ctypes.c_int32(each & 0xFFFFFFFF).value
            if number < count:
                line = bisect_right(self.flat.first, number) - 1
                webs = self.flat.webs
                registers = [self.flat.registers[color] for color in colors[webs[line] : webs[line + 1]]]
                made = self.coder.encoded(line, number - self.flat.first[line], registers)
            else:
                made = jump(self.jumps[number - count], distance)
            self.race.library.raced_piece(ctypes.byref(self.state), number, distance, colors, made, len(made))

    def _blocks(self) -> Iterator[_Block]:
        labels = [each.name for each in self.coder.blocks if isinstance(each, Label)]
        jumps = 0
        for each in self.coder.blocks:
            if isinstance(each, bytes):
                yield _Block(_BYTES, 0, len(each), self.keep(ctypes.create_string_buffer(each)))
            elif isinstance(each, int):
                yield _Block(_STRAIGHT, each, 0)
            elif isinstance(each, Label):
                yield _Block(_LABEL, labels.index(each.name), 0)
            elif isinstance(each, Instruction):
                (target,) = [operand.name for operand in each.operands if isinstance(operand, Label)]
                yield _Block(_JUMP, labels.index(target), jumps)
                jumps += 1
