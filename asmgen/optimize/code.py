"""Machine code of candidates, made of pieces that are kept: an instruction with the same registers is encoded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

from asmgen.optimize.orders import Candidate
from asmgen.passes.arrange import Arrangement, formed
from asmgen.passes.frame import frame
from asmgen.passes.machine import machine
from asmgen.passes.webs import renamed
from asmgen.routine import Item
from asmgen.targets.assemble import assemble
from asmgen.targets.row import Instruction, Label, Register


class Coder:
    """Bytes of one routine's candidates, in the frame of the routine as it was."""

    def __init__(self, before: Arrangement) -> None:
        self.target = machine(before.allocated.routine.target)
        self.lines = before.lines
        framed = frame(before.allocated)
        items, head, body = framed.items, framed.body, len(before.allocated.items)
        self.items: list[list[Instruction]] = []
        self.blocks: list[Item | int | bytes] = [_bytes(items[:head])]
        at = head
        for number, line in enumerate(self.lines):
            self.blocks += [*items[at : head + line.first], number]
            at = head + line.first + len(line)
            own = items[head + line.first : at]
            self.items.append([each for each in own if isinstance(each, Instruction)])
        self.blocks += [*items[at : head + body], _bytes(items[head + body :])]
        self.pieces: list[list[dict[Any, bytes]]] = [[{} for _ in line.instructions] for line in self.lines]
        self.keys: list[list[Callable[[Any], Any]]] = [
            [itemgetter(*webs) if webs else _nothing for webs in line.webs_of] for line in self.lines
        ]

    def code(self, candidates: Sequence[Candidate]) -> bytes:
        """The routine with each line as a candidate has it."""
        made = [self._line(number, candidate) for number, candidate in enumerate(candidates)]
        if len(self.blocks) == 3:
            head, _, tail = self.blocks
            assert isinstance(head, bytes) and isinstance(tail, bytes)
            return head + made[0] + tail
        return self._placed([made[each] if isinstance(each, int) else each for each in self.blocks])

    def _line(self, number: int, candidate: Candidate) -> bytes:
        registers, keys, pieces = candidate.registers, self.keys[number], self.pieces[number]
        made = []
        for at in candidate.order:
            key = keys[at](registers)
            piece = pieces[at].get(key)
            if piece is None:
                piece = pieces[at][key] = self.encoded(number, at, registers)
            made.append(piece)
        return b"".join(made)

    def encoded(self, number: int, at: int, registers: Sequence[Register]) -> bytes:
        """An instruction of a line with the registers that its webs have."""
        instruction = self.items[number][at]
        own = [registers[web] for web in self.lines[number].webs_of[at]]
        made = replace(instruction, operands=renamed(instruction, own, self.target))
        made = formed(self.lines[number], at, made)
        return made.row.encode(list(made.operands))

    def _placed(self, blocks: Sequence[Item | bytes]) -> bytes:
        """The blocks with jumps as short as they can be."""
        sizes = [len(each) if isinstance(each, bytes) else 0 for each in blocks]
        made = list[bytes]()
        while True:
            offsets = [sum(sizes[:at]) for at in range(len(blocks))]
            labels = {each.name: at for each, at in zip(blocks, offsets, strict=True) if isinstance(each, Label)}
            made = [
                each if isinstance(each, bytes) else _jump(each, at, labels)
                for each, at in zip(blocks, offsets, strict=True)
            ]
            now = [max(len(each), size) for each, size in zip(made, sizes, strict=True)]
            if now == sizes:
                return b"".join(made)
            sizes = now


def _nothing(registers: Any) -> None:
    return None


def _jump(item: Item, at: int, labels: dict[str, int]) -> bytes:
    if not isinstance(item, Instruction):
        return b""
    return jump(item, next(labels[each.name] - at for each in item.operands if isinstance(each, Label)))


def jump(item: Instruction, distance: int) -> bytes:
    """A jump to what is so many bytes after it begins."""
    return item.row.encode([distance if isinstance(each, Label) else each for each in item.operands])


def _bytes(items: Sequence[Item]) -> bytes:
    return assemble(items).code
