"""The memory that an emulated routine meets: what is laid out before a block, and what is found there afterwards."""

from __future__ import annotations

import mmap
import random
from array import array
from collections.abc import Iterator

from asmgen.contracts import Parameter, Signature
from emulate import driver as layout
from emulate.aliasing import Case, pointers, size
from emulate.columns import Column, pack
from emulate.driver import PAGE, SLOT, Driver
from emulate.inputs import BLOCK, JUNK_WORDS, Block

_CANARY = random.Random("canary").randbytes(layout.STACK_SIZE)


class Memory:
    """All pages but those of code, shared with the emulator."""

    def __init__(self, target: str, signature: Signature, driver: Driver) -> None:
        self.signature = signature
        self.arguments = layout.stack_arguments(target, signature)
        self.driver = driver
        self.pointers = pointers(signature)
        self.state = pages(4 * 8)
        self.stack = pages(layout.STACK_SIZE)
        self.junk = pages(8 * JUNK_WORDS)
        self.records = pages(BLOCK * driver.record)
        self.results = pages(BLOCK * driver.result)
        self.slots = [pages(SLOT) for _ in self.pointers]

    @property
    def writable(self) -> Iterator[tuple[int, mmap.mmap]]:
        """The places with their addresses, in ascending order."""
        yield layout.STATE, self.state
        yield layout.STACK, self.stack
        for slot, page in enumerate(self.slots):
            yield layout.SLOTS + slot * layout.SLOT_STRIDE, page
        yield layout.RESULTS, self.results

    @property
    def readable(self) -> Iterator[tuple[int, mmap.mmap]]:
        """Places that only the driver reads."""
        yield layout.JUNK, self.junk
        yield layout.RECORDS, self.records

    @property
    def remaining(self) -> int:
        """How many vectors of the block are still to be done."""
        return int.from_bytes(self.state[24:32], "little")

    def load(self, block: Block, count: int) -> None:
        """Everything as it stands before the first of `count` vectors of a block."""
        flat = array("Q", bytes(count * self.driver.record))
        columns = [column for group in block.columns for column in group]
        for index, column in enumerate(columns):
            flat[index :: len(columns)] = column[:count]
        self.records[: count * self.driver.record] = flat.tobytes()
        self.junk[: 8 * JUNK_WORDS] = block.junk.tobytes()
        self.stack[:] = _CANARY
        for page in self.slots:
            page[:] = _CANARY[:SLOT]
        self.state[24:32] = count.to_bytes(8, "little")
        self.place_driver(0)

    def place_driver(self, vector: int) -> None:
        """Point the driver at a vector."""
        record, junk, result = vector * self.driver.record, vector * 8, vector * self.driver.result
        self.state[:24] = array("Q", (layout.RECORDS + record, layout.JUNK + junk, layout.RESULTS + result)).tobytes()

    def collect(self, done: int) -> tuple[tuple[tuple[Column, ...], ...], Column | None]:
        """The outputs of the first `done` vectors by column, and the returned registers."""
        width = self.driver.result // 8
        flat = array("Q", self.results[: done * self.driver.result])
        columns = [flat[index::width] for index in range(width)]
        taken = []
        for parameter in self.signature.outputs:
            taken.append(tuple(columns[: layout.words(parameter)]))
            columns = columns[layout.words(parameter) :]
        return tuple(taken), columns[0] if self.signature.returns_bit else None

    def buffers(self, case: Case) -> Iterator[tuple[Parameter, int, int]]:
        """Each pointer argument with its slot and its buffer's address."""
        for parameter, slot in zip(self.pointers, case.mode.slots, strict=True):
            yield parameter, slot, layout.buffer(slot, size(parameter), case.at_start)

    def place(self, address: int, case: Case) -> str:
        """An address in words."""
        for parameter, _, start in self.buffers(case):
            end = start + size(parameter)
            if start - PAGE <= address < start:
                return f"in the guard before {parameter.name}, {start - address} bytes before its start"
            if end <= address < end + PAGE:
                return f"in the guard behind {parameter.name}, {address - end} bytes past its end"
        if layout.CODE <= address < layout.DRIVER:
            return "in or behind its own code"
        if layout.STACK - 16 * PAGE <= address < layout.STACK:
            return f"on the stack, {layout.SP - address} bytes below the caller's frame"
        if layout.STACK + layout.STACK_SIZE <= address < layout.STACK + layout.STACK_SIZE + 16 * PAGE:
            return f"on the stack, {address - layout.SP} bytes up in the caller's frame"
        return f"at address {address:#x}, which is no memory of the routine"

    def changed_inputs(self, block: Block, vector: int) -> Iterator[str]:
        """Inputs in buffers of their own that are not what they were, after vector `vector` of a block."""
        case = block.case(vector)
        outputs = len(self.pointers) - sum(parameter.by_pointer for parameter in self.signature.inputs)
        written = set(case.mode.slots[:outputs])
        columns = {parameter.name: group for parameter, group in zip(self.signature.inputs, block.columns, strict=True)}
        for parameter, slot, start in list(self.buffers(case))[outputs:]:
            if slot in written:
                continue
            at = start - layout.buffer(slot, 0, at_start=True)
            found = self.slots[slot][at : at + size(parameter)]
            wanted = pack([column[vector] for column in columns[parameter.name]])
            if found != wanted[: len(found)]:
                yield f"input {parameter.name} is changed, first at byte {_difference(found, wanted)}"

    def disturbed(self, frame: int, case: Case) -> str | None:
        """What is written beside the buffers, or outside the routine's `frame` bytes of stack; `case` was the last."""
        for parameter, page in zip(self.pointers, self.slots, strict=True):
            length = size(parameter)
            between = slice(length, SLOT - length)
            if page[between] != _CANARY[between]:
                after = _difference(page[between], _CANARY[between])
                before = SLOT - 2 * length - after
                where = f"{after} bytes past the end" if case.at_start else f"{before} bytes before the start"
                return f"wrote beside a buffer, {where} of {parameter.name}"
        depth = layout.SP - layout.STACK
        above = slice(depth + self.arguments, None)
        if self.stack[above] != _CANARY[above]:
            up = self.arguments + _difference(self.stack[above], _CANARY[above])
            return f"wrote into the caller's stack, {up} bytes up"
        lowest = max(depth - frame, 0)
        if self.stack[:lowest] != _CANARY[:lowest]:
            highest = max(at for at in range(lowest) if self.stack[at] != _CANARY[at])
            return f"wrote below its stack frame (red zone), {lowest - highest} bytes below it"
        return None


def pages(length: int) -> mmap.mmap:
    """Zeroed memory of at least `length` bytes, in whole pages."""
    return mmap.mmap(-1, whole_pages(length))


def whole_pages(length: int) -> int:
    """`length` rounded up to pages, at least one."""
    return -(-max(length, 1) // PAGE) * PAGE


def _difference(one: bytes, other: bytes) -> int:
    """The first place where two strings differ."""
    return next(index for index, (x, y) in enumerate(zip(one, other, strict=False)) if x != y)
