"""Word operations to instructions of a target: what both targets share.

Operations come in order; a target's selector has a method for each kind. A bit stays in the flag that its operation
leaves it in as long as nothing touches that flag; one that is read later is saved in a register. Whether it must be
is not known when it is made, so selection runs again with it marked (`_Again`), at most once a bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from asmgen.contracts import Bytes, Signature
from asmgen.errors import Source
from asmgen.routine import Branch, Loop, Part, Routine, Straight
from asmgen.targets.row import Instruction, Memory, Operand, Virtual
from asmgen.words import MASK, Bit, LoopOp, Op, Program, Term, Word


class _Again(Exception):
    """A bit was read after its flag was gone: it must be saved where it is made."""


@dataclass(frozen=True)
class Held:
    """A bit as a flag holds it, or as its complement."""

    bit: Bit
    inverted: bool


def sink(ops: Sequence[Op | LoopOp]) -> list[Op | LoopOp]:
    """Each mask with a constant moved down to just before its first reader, or before the carry chain that this is in.

    A mask may overwrite its operand on amd64: the other readers come first then, and no copy is needed.
    """
    result: list[Op | LoopOp] = []
    waiting: dict[Op, Op | LoopOp | None] = {}  #: masks, each with what stood before it
    heads: dict[Term | Bit | None, Op] = {}  #: the beginnings of the chains, by their bits
    for op in ops:
        reads = _read_by(op)
        head = next((heads[bit] for bit in reads if bit in heads and isinstance(bit, Bit)), None)
        # A waiting mask may itself be read by another one that is wanted now.
        for mask in [mask for mask in waiting if any(out in reads for out in mask.outs)]:
            before = waiting.pop(mask)
            place = len(result) if head is None else result.index(head)
            result.insert(max(place, 0 if before is None else result.index(before) + 1), mask)
        if not isinstance(op, Op):
            result.append(op)
            continue
        if op.kind in ("add", "sub"):
            heads.update((out, head or op) for out in op.outs if isinstance(out, Bit))
        if (
            op.kind == "and"
            and isinstance(op.ins[1], int)
            and not any(isinstance(term, Word) and any(term in mask.outs for mask in waiting) for term in op.ins)
        ):
            waiting[op] = result[-1] if result else None
        else:
            result.append(op)
    return result + list(waiting)


def _read_by(op: Op | LoopOp) -> set[Term | Bit]:
    if isinstance(op, Op):
        return set(op.ins)
    inner = {term for inside in (*op.body, *op.empty) for term in inside.ins}
    return {op.count, *op.initial, *op.next, *op.empty_values} | inner


class Selector:
    """One run of selection over a program."""

    #: The flag that holds carries, and the one that holds borrows.
    carry_flag = "CF"

    def __init__(self, program: Program, features: frozenset[str], saved: frozenset[Bit]) -> None:
        self.program = program
        self.signature: Signature = program.signature
        self.features = features
        self.saved = saved
        self.virtuals: dict[Word, Virtual] = {}
        self.homes: dict[Virtual, Memory] = {}
        self.constants: dict[Virtual, int] = {}
        self.by_value: dict[int, Virtual] = {}
        self.saved_bits: dict[Bit, Virtual] = {}
        self.alias: dict[Bit, Held] = {}
        self.flags: dict[str, Held | None] = {}
        self.left: dict[Term | Bit, int] = {}
        self.serial = 0
        self.source: Source | None = None
        self.note = ""
        self.out: list[Instruction] = []
        self.parts: list[Part] = []
        self.lengths = {p.name: p.contract.length for p in self.signature.parameters if isinstance(p.contract, Bytes)}
        self.arguments = tuple(self.fresh(parameter.name) for parameter in self.signature.parameters)
        self.argument = {
            parameter.name: virtual
            for parameter, virtual in zip(self.signature.parameters, self.arguments, strict=True)
        }

    # ---- what a target gives ----

    def make(self, name: str, operands: Sequence[Operand]) -> Instruction:
        """The target's instruction."""
        raise NotImplementedError

    def save_bit(self, held: Held) -> Virtual:
        """The bit, which is in the flag now, as a word."""
        raise NotImplementedError

    def recall_bit(self, bit: Bit, saved: Virtual) -> None:
        """Bring a saved bit back into the carry flag."""
        raise NotImplementedError

    # ---- values ----

    def fresh(self, name: str = "") -> Virtual:
        """A new virtual register."""
        self.serial += 1
        return Virtual(self.serial, name)

    def result(self, word: Word | Bit | None) -> Virtual:
        """The virtual register of an operation's result; a scratch one when nobody reads it."""
        if not isinstance(word, Word):
            return self.fresh("unused")
        virtual = self.fresh(word.name)
        self.virtuals[word] = virtual
        return virtual

    def constant(self, value: int) -> Virtual:
        """A register that holds the constant where it is needed."""
        if value not in self.by_value:
            virtual = self.fresh(f"{value:#x}" if value > 9 else str(value))
            self.by_value[value] = virtual
            self.constants[virtual] = value
        return self.by_value[value]

    def register(self, term: Term | Bit) -> Virtual:
        """The virtual register of a word or a constant."""
        assert not isinstance(term, Bit)
        return self.constant(term) if isinstance(term, int) else self.virtuals[term]

    def is_home(self, term: Term | Bit) -> bool:
        """Whether a word lies in an input buffer."""
        return isinstance(term, Word) and self.virtuals[term] in self.homes

    def last_use(self, term: Term | Bit) -> bool:
        """Whether the operation being selected is the only one left that reads the word."""
        return isinstance(term, Word) and self.left.get(term, 0) <= 1

    # ---- bits ----

    def resolve(self, bit: Term | Bit) -> Held:
        assert isinstance(bit, Bit)
        return self.alias.get(bit, Held(bit, False))

    def defines(self, bit: Word | Bit | None, flag: str, inverted: bool = False) -> None:
        """The flag now holds the bit (or its complement)."""
        if not isinstance(bit, Bit):
            return
        held = Held(bit, inverted)
        self.flags[flag] = held
        if bit in self.saved:
            self.saved_bits[bit] = self.save_bit(held)

    def fetch(self, bit: Term | Bit, flag: str = "") -> bool:
        """Make sure the bit is in its flag; True when it is there as its complement."""
        wanted = self.resolve(bit)
        held = self.flags.get(flag or self.carry_flag)
        if held is None or held.bit is not wanted.bit:
            if wanted.bit not in self.saved_bits:
                raise _Again(wanted.bit)
            self.recall_bit(wanted.bit, self.saved_bits[wanted.bit])
            held = self.flags[flag or self.carry_flag]
            assert held is not None
        return held.inverted != wanted.inverted

    def known_word(self, op: Op) -> bool:
        """Whether the word that a bit is wanted as is there already, because the bit was saved."""
        held, out = self.resolve(op.ins[0]), op.outs[0]
        if held.inverted or held.bit not in self.saved_bits or not isinstance(out, Word):
            return False
        self.virtuals[out] = self.saved_bits[held.bit]
        return True

    def busy(self) -> bool:
        """Whether a flag holds a bit that is still to be read."""
        return any(
            held is not None and self.left.get(held.bit, 0) > 0 and held.bit not in self.saved_bits
            for held in self.flags.values()
        )

    # ---- running ----

    def emit(self, name: str, *operands: Operand) -> Instruction:
        """Append an instruction; flags that it touches hold no bit afterwards."""
        made = self.make(name, operands)
        for flag in made.row.flags_touched:
            self.flags[flag] = None
        self.out.append(made)
        return made

    def arranged(self, ops: Sequence[Op | LoopOp]) -> list[Op | LoopOp]:
        """The order in which operations are selected."""
        return sink(ops)

    def routine(self, target: str) -> Routine:
        """The whole program selected."""
        ops = self.arranged(self.program.ops)
        self.count(ops)
        for op in ops:
            if isinstance(op, LoopOp):
                self.loop(op)
            else:
                self.one(op, ops)
        returns = None if self.program.returns is None else self.register(self.program.returns)
        self.flush()
        return Routine(self.signature, target, self.arguments, tuple(self.parts), self.homes, self.constants, returns)

    def count(self, ops: Sequence[Op | LoopOp]) -> None:
        """How often each word and bit is read; flips hand their uses to what they flip."""
        flips: dict[Bit, Bit] = {}

        def use(term: Term | Bit, more: int = 1) -> None:
            while isinstance(term, Bit) and term in flips:
                term = flips[term]
            self.left[term] = self.left.get(term, 0) + more

        for op in ops:
            if isinstance(op, Op):
                if op.kind == "flip":
                    assert isinstance(op.ins[0], Bit) and isinstance(op.outs[0], Bit)
                    flips[op.outs[0]] = op.ins[0]
                    continue
                for term in op.ins:
                    use(term)
            else:
                for term in (op.count, *op.initial):
                    use(term)
                # What a loop body reads stays alive through all its passes.
                for inside in (*op.body, *op.empty):
                    for term in inside.ins:
                        use(term, 1 if term in op.state or self.inside(term, op) else 2)
                for term in (*op.next, *op.empty_values):
                    use(term)
        if isinstance(self.program.returns, Word):
            use(self.program.returns)

    @staticmethod
    def inside(term: Term | Bit, loop: LoopOp) -> bool:
        return any(term in op.outs for op in (*loop.body, *loop.empty))

    def one(self, op: Op, ops: Sequence[Op | LoopOp]) -> None:
        """Select one operation and count its reads off."""
        self.source = op.source
        self.following = ops
        method: Callable[[Op], None] = getattr(self, f"op_{op.kind}")
        method(op)
        if op.kind != "flip":
            for term in op.ins:
                key = self.resolve(term).bit if isinstance(term, Bit) else term
                self.left[key] = self.left.get(key, 0) - 1

    def flush(self) -> None:
        if self.out:
            self.parts.append(Straight(tuple(self.out)))
            self.out = []

    def straight(self, ops: Sequence[Op]) -> Straight:
        """Select operations into a straight line of their own."""
        outer, self.out = self.out, []
        self.flags = {}
        arranged = self.arranged(ops)
        for op in arranged:
            assert isinstance(op, Op)
            self.one(op, arranged)
        made, self.out = Straight(tuple(self.out)), outer
        self.flags = {}
        return made

    def loop(self, op: LoopOp) -> None:
        """A loop becomes a branch on its count: the loop, or what it leaves for no pass."""
        self.flush()
        count = self.register(op.count)
        initial = tuple(self.register(term) for term in op.initial)
        state = tuple(self.result(word) for word in op.state)
        body = self.straight(op.body)
        after = tuple(self.register(term) for term in op.next)
        results = tuple(self.fresh(word.name) for word in op.results)
        otherwise = self.straight(op.empty)
        empty = tuple(self.register(term) for term in op.empty_values)
        merged = tuple(self.result(word) for word in op.results)
        made = Loop(count, state, initial, after, results, body)
        self.parts.append(Branch(count, (made,), (otherwise,), merged, results, empty))

    # ---- operations that are the same everywhere ----

    def place(self, op: Op) -> tuple[Memory, int]:
        """Where a word is loaded or stored, and how many bytes of it there are."""
        assert op.place is not None
        name, at = op.place[0], 8 * op.place[1] + op.k
        left = self.lengths.get(name, at + 8) - at
        return Memory(self.argument[name], at), min(8, left)

    def op_load(self, op: Op) -> None:
        memory, size = self.place(op)
        if size == 8:
            self.homes[self.result(op.outs[0])] = memory
            return
        total: Virtual | None = None
        for at in reversed(range(size)):
            made = self.result(op.outs[0]) if at == 0 else self.fresh()
            self.join_byte(made, total, replace(memory, offset=memory.offset + at))
            total = made

    def join_byte(self, out: Virtual, total: Virtual | None, memory: Memory) -> None:
        """out = 256 * total + the byte at `memory`."""
        raise NotImplementedError

    def op_scalar(self, op: Op) -> None:
        assert op.place is not None and isinstance(op.outs[0], Word)
        self.virtuals[op.outs[0]] = self.argument[op.place[0]]

    def op_flip(self, op: Op) -> None:
        held = self.resolve(op.ins[0])
        assert isinstance(op.outs[0], Bit)
        self.alias[op.outs[0]] = Held(held.bit, not held.inverted)


def signed(value: int) -> int:
    """A word as a signed number, as immediates are written."""
    return value - (value >> 63 << 64)


def run_selection(selector: type[Selector], program: Program, target: str, features: frozenset[str]) -> Routine:
    """Select with no bit saved, then again with each that turns out to need it."""
    saved: frozenset[Bit] = frozenset()
    while True:
        try:
            return selector(program, features, saved).routine(target)
        except _Again as again:
            saved |= {again.args[0]}


__all__ = ["MASK", "Held", "Selector", "run_selection", "signed", "sink"]
