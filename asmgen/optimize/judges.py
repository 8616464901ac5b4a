"""Judges in C for walks in C."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from asmgen.errors import AsmgenError
from asmgen.optimize.library import library
from asmgen.optimize.walk import Flat, Integers
from asmgen.passes.arrange import Arrangement

if TYPE_CHECKING:
    from asmgen.optimize.modelled import Executed, Part

#: As in modelled.c.
_PASSES = 32


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


class CompiledModels:
    """`modelled.Modelled` in C: the same figures, until a candidate is known to be too slow."""

    def __init__(self, before: Arrangement, run: Executed, parts: list[Part], hopes: tuple[float, ...]) -> None:
        found = library()
        assert found is not None
        self.library = found
        self.flat = Flat(before)
        self.kept: list[Any] = [each.model for each in parts]
        made = (_Part * len(parts))(*(_Part(self._model(each), each.calls, each.weight) for each in parts))
        self.kept.append(made)
        blocks = [(at, run.starts[at]) if is_line else (-1, at) for is_line, at in run.blocks]
        longest = len(run.arguments) + sum(len(before.lines[line]) if line >= 0 else 1 for line, _ in blocks)
        argument = [run.arguments.index(each) if each in run.arguments else -1 for each in self.flat.registers]
        self.state = _Modelled(
            None, None, len(parts), *hopes, ctypes.addressof(made), len(blocks), longest,
            self._numbers(number for pair in blocks for number in pair),
            self._numbers(self.flat.first), self._numbers(map(len, before.lines)),
            len(run.arguments), self.flat.webs[-1], self._numbers(argument),
            self._bytes(each in run.changed for each in run.arguments),
            self._bytes(written for line in run.writes for written in line),
            0.0, 0.0, self._numbers([0] * longest),
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

    def _numbers(self, values: Iterable[int]) -> int:
        numbers = [*values, 0]
        return self._kept((ctypes.c_int32 * len(numbers))(*numbers))

    def _bytes(self, values: Iterable[bool]) -> int:
        numbers = [*values, False]
        return self._kept((ctypes.c_uint8 * len(numbers))(*numbers))

    def _kept(self, made: Any) -> int:
        self.kept.append(made)
        return ctypes.addressof(made)
