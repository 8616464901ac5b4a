"""Whether two straight routines give the same for all inputs of a contract, asked of a solver, word by word.

The second argument where terms differ (`emulate.alike`), and the prover takes no part in it: rows' meanings are
written down on bit-vectors of z3, which finds an input at which what a caller can see differs, or shows that there is
none. Products of unknowns are too much for it; sums, shifts and tests of zero it decides.
"""

from __future__ import annotations

from typing import Any

import z3

from asmgen.contracts import Bytes, Contract, Element, Table
from asmgen.errors import AsmgenError
from asmgen.routine import Code
from emulate.alike import Follower, Sum, Terms, Unclear
from emulate.compare import judge
from emulate.inputs import Input
from emulate.machine import EmulationError
from emulate.mutants import Mutant
from emulate.mutation import Routine, machine_of

#: Bits of all numbers: no sum or product of words of a meaning reaches so far.
WIDTH = 200
SECONDS = 10

SAME, WRONG, OPEN = "same", "wrong", "open"


class Word:
    """A number of an unknown's, as a bit-vector wide enough for whatever a meaning makes of it."""

    def __init__(self, bits: Any) -> None:
        self.bits = bits

    def __add__(self, other: Any) -> Any:
        return Word(self.bits + bits(other))

    def __mul__(self, other: Any) -> Any:
        return Word(self.bits * bits(other))

    def __sub__(self, other: Any) -> Any:
        return Word(self.bits - bits(other))

    def __rsub__(self, other: Any) -> Any:
        return Word(bits(other) - self.bits)

    def __neg__(self) -> Any:
        return Word(-self.bits)

    __radd__, __rmul__ = __add__, __mul__


def bits(value: Any) -> Any:
    """The bit-vector of a number; an address has none."""
    if isinstance(value, Word):
        return value.bits
    if isinstance(value, int):
        return z3.BitVecVal(value, WIDTH)
    raise Unclear("an address is computed with")


class Words(Terms):
    """Terms for addresses, bit-vectors for everything else."""

    def __init__(self) -> None:
        super().__init__()
        self.unknowns: dict[Any, Word] = {}

    def atom(self, kind: Any, least: int, most: int) -> Any:
        """Pointers as they are; else an unknown, the same wherever it comes up."""
        if kind[0] == "register" and least:
            return super().atom(kind, least, most)
        if kind not in self.unknowns:
            size = (most + 1).bit_length() - 1
            self.unknowns[kind] = Word(z3.ZeroExt(WIDTH - size, z3.BitVec(str(len(self.unknowns)), size)))
        return self.unknowns[kind]

    def split(self, value: Any, k: int) -> tuple[Any, Any]:
        """See `asmgen.targets.row.Domain`."""
        if not isinstance(value, Word):
            return super().split(value, k)
        return Word(z3.ZeroExt(WIDTH - k, z3.Extract(k - 1, 0, value.bits))), Word(value.bits >> k)

    def bitwise(self, op: str, x: Any, y: Any, width: int) -> Any:
        """See `asmgen.targets.row.Domain`."""
        one, other = bits(x), bits(y)
        return Word(one & other if op == "and" else one | other if op == "or" else one ^ other)

    def is_zero(self, value: Any) -> Any:
        """See `asmgen.targets.row.Domain`."""
        return Word(z3.If(bits(value) == 0, bits(1), bits(0)))

    def select(self, bit: Any, x: Any, y: Any) -> Any:
        """See `asmgen.targets.row.Domain`."""
        if isinstance(bit, int):
            return x if bit else y
        return Word(z3.If(bits(bit) == 1, bits(x), bits(y)))


def decided(routine: Routine, mutant: Mutant) -> str:
    """SAME for all inputs of the contract, WRONG at an input at which emulation agrees that it is, or OPEN."""
    terms, code = Words(), routine.code
    one, other = Follower(terms, code), Follower(terms, code)
    try:
        one.follow(code.items)
        other.follow(mutant.items)
        differs, within = _differs(one, other), _contract(terms, code)
    except Unclear:
        return OPEN
    if differs is None:
        return OPEN
    solver = z3.Solver()
    solver.set("timeout", 1000 * SECONDS)
    solver.add(*within, differs)
    answer = solver.check()
    if answer == z3.unsat:
        return SAME
    if answer != z3.sat:
        return OPEN
    return WRONG if _confirmed(routine, mutant, _inputs(terms, code, solver.model())) else OPEN


def _differs(one: Follower, other: Follower) -> Any:
    """That a caller sees a difference; None where one is in what is stored at all, or read."""
    if one.stored.keys() != other.stored.keys() or not other.loaded <= one.loaded:
        return None
    pairs = [(one.register(name), other.register(name)) for name in one.seen]
    pairs += [(one.stored[place], other.stored[place]) for place in one.stored]
    found = []
    for x, y in pairs:
        if isinstance(x, Sum) or isinstance(y, Sum):
            if not (isinstance(x, Sum) and isinstance(y, Sum)) or (x.constant, x.parts) != (y.constant, y.parts):
                return None
        else:
            found.append(bits(x) != bits(y))
    return z3.Or(*found)


def _words(terms: Words, code: Code) -> list[tuple[Contract, list[Any]]]:
    """The words of each input, loaded before anything was stored or in a register; None for one that nobody reads."""
    found: list[tuple[Contract, list[Any]]] = []
    first = {kind[1]: word for kind, word in terms.unknowns.items() if kind[0] == "memory" and not kind[2]}
    names = [parameter.name for parameter in code.signature.parameters]
    follower = Follower(terms, code)
    for parameter in code.signature.inputs:
        contract, number = parameter.contract, names.index(parameter.name)
        if number >= len(follower.rules.arguments) or isinstance(contract, Table):
            raise Unclear("an input that is not followed")
        register = follower.rules.arguments[number]
        if parameter.by_pointer:
            (atom,) = follower.register(register).parts
            count = contract.words if isinstance(contract, Element) else -(-_length(contract) // 8)
            words: list[Any] = [first.get((atom, 8 * index, 8)) for index in range(count)]
        else:
            words = [terms.unknowns.get(("register", register))]
        found.append((contract, words))
    return found


def _length(contract: Contract) -> int:
    if isinstance(contract, Bytes) and contract.length % 8 == 0:
        return contract.length
    raise Unclear("bytes that are no words")


def _contract(terms: Words, code: Code) -> list[Any]:
    """That inputs are within it."""
    said = []
    for contract, words in _words(terms, code):
        if isinstance(contract, (Bytes, Table)):
            continue
        if not isinstance(contract, Element):
            said += [z3.ULE(word.bits, bits(contract.value_max)) for word in words if word is not None]
            continue
        positions = contract.field.positions
        wide = positions[-1] + 72
        total = z3.BitVecVal(0, wide)
        for word, most, at in zip(words, contract.limb_max, positions, strict=True):
            if word is None:
                continue
            said.append(z3.ULE(word.bits, bits(most)))
            said += [z3.URem(word.bits, bits(contract.multiple_of)) == 0] if contract.multiple_of != 1 else []
            total += z3.ZeroExt(wide - 64, z3.Extract(63, 0, word.bits)) << at
        said.append(z3.ULE(total, z3.BitVecVal(contract.value_max, wide)))
    return said


def _inputs(terms: Words, code: Code, model: Any) -> tuple[Input, ...]:
    """What the solver found."""
    made: list[Input] = []
    for contract, words in _words(terms, code):
        values = [0 if word is None else model.eval(word.bits, model_completion=True).as_long() for word in words]
        if isinstance(contract, Element):
            made.append(tuple(values))
        elif isinstance(contract, Bytes):
            made.append(b"".join(value.to_bytes(8, "little") for value in values))
        else:
            made.append(values[0])
    return tuple(made)


def _confirmed(routine: Routine, mutant: Mutant, inputs: tuple[Input, ...]) -> bool:
    """Whether emulation finds the mutant wrong there."""
    try:
        got = machine_of(routine, mutant).call(inputs)
    except EmulationError:
        return True
    except AsmgenError:
        return False
    return bool(judge(routine.kernel, inputs, got))
