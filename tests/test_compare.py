"""emulate.compare: what counts as wrong, which vector is named, and that a failure can be seen again."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace

import pytest
from emulated import ADD, ADD_N, BOTH, COPY, EQUAL, FEATURES, FIELD, IN, LOOK_UP, OUT, TARGETS, TURN, Described
from hand_assembled import code

from asmgen.contracts import Bytes, Contract, Element, Parameter, Signature
from asmgen.errors import UsageError
from asmgen.field import Field
from emulate.compare import check, judge
from emulate.inputs import BLOCK, Block, vectors
from emulate.machine import Fault, Machine, Outcome

SEED = 20260401


def machine(kernel: Described, name: str, target: str = "amd64") -> Machine:
    return Machine(target, code(name, target), 0, kernel.signature, FEATURES[target])


class Wrong(Machine):
    """A machine whose outputs are changed after the fact: word `word` of vector `index` by `change`."""

    def __init__(self, kernel: Described, name: str, index: int, word: int, change: int, output: int = 0) -> None:
        super().__init__("amd64", code(name, "amd64"), 0, kernel.signature)
        self.index, self.word, self.change, self.output = index, word, change, output

    def run(self, block: Block, count: int | None = None) -> Outcome:
        outcome = super().run(block, count)
        at = self.index - block.start
        if 0 <= at < outcome.done:
            column = outcome.columns[self.output][self.word]
            column[at] = (column[at] + self.change) % 2**64
        return outcome


@pytest.mark.parametrize("index", [0, 1, 500, BLOCK - 1, BLOCK, 2 * BLOCK + 77])
@pytest.mark.parametrize("word", range(4))
def test_one_wrong_bit_in_one_limb_is_found(index: int, word: int) -> None:
    tested = Wrong(ADD, "add", index, word, 1)
    result = check(ADD, tested, 3 * BLOCK, SEED)
    assert result.failure is not None and result.failure.index == index
    assert result.vectors == index + 1
    assert "out is wrong modulo p" in result.failure.reason
    assert check(ADD, tested, index, SEED).failure is None if index else True
    assert check(ADD, tested, 3 * BLOCK, SEED, only=index).failure == result.failure
    assert check(ADD, tested, 3 * BLOCK, SEED, only=index + 1).failure is None
    a, b = (value for _, value in result.failure.inputs)
    assert result.failure.wanted == (("out", (IN.residue(a) + IN.residue(b)) % FIELD.modulus),)  # type: ignore[arg-type]
    assert result.failure.meant[0][1] - result.failure.wanted[0][1] in (
        2 ** (51 * word),
        2 ** (51 * word) - FIELD.modulus,
    )


def test_the_right_residue_over_its_bound_is_found() -> None:
    unnormalized = Wrong(ADD, "add", 300, 0, 0)
    original = unnormalized.run

    def run(block: Block, count: int | None = None) -> Outcome:
        outcome = original(block, count)
        columns = outcome.columns[0]
        if block.start <= 300 < block.start + outcome.done:
            at = 300 - block.start
            columns[3][at] += 2**53  # 2^206 more, with 2^206 as 4 * 167 less
            columns[0][at] = (columns[0][at] - 4 * 167) % 2**64
        return outcome

    unnormalized.run = run  # type: ignore[method-assign]
    failure = check(ADD, unnormalized, BLOCK, SEED).failure
    assert failure is not None and failure.index == 300
    assert "out breaks its promise, limb 3 is 0x" in failure.reason


def identity(contract: Contract, result: Contract | None = None) -> Described:
    outputs = (Parameter("out", result or contract),)
    return Described(Signature("any", "copy", outputs, (Parameter("a", contract),)), lambda a: (a,))


MONTGOMERY = Field("p128", 2**128 - 159, limbs=[64, 64], montgomery=2**128)


def test_judge() -> None:
    canonical = identity(MONTGOMERY.below(2**128), MONTGOMERY.below(MONTGOMERY.modulus))
    assert judge(canonical, [(7, 9)], ((7, 9),)) == []
    assert judge(canonical, [(7, 9)], ((8, 9),)) == ["out is wrong modulo p"]
    unreduced = (2**64 - 159 + 7, 2**64 - 1)
    assert judge(canonical, [(7, 0)], (unreduced,)) == [
        "out breaks its promise, the value is 0xffffffffffffffffffffffffffffff68, "
        "allowed are 0..0xffffffffffffffffffffffffffffff60"
    ]
    scaled = Element(FIELD, (2**50,) * 4, 2**203, 8)
    assert judge(identity(scaled), [(8, 0, 16, 0)], ((8, 0, 16, 0),)) == []
    assert judge(identity(scaled), [(8, 0, 16, 0)], ((9, 0, 16, 0),)) == [
        "out breaks its promise, limb 0 is 0x9, not a multiple of 8"
    ]
    assert judge(identity(Bytes(2, "big")), [b"\1\2"], (b"\1\2",)) == []
    assert judge(identity(Bytes(2, "big"), Bytes(2, "little")), [b"\1\2"], (b"\1\2",)) == ["out is wrong"]
    assert judge(EQUAL, [b"x" * 16, b"x" * 16], (1,)) == []
    assert judge(EQUAL, [b"x" * 16, b"x" * 16], (2**32 + 1,)) == ["the returned register is 4294967297, not 1"]
    assert judge(BOTH, [(5,), (3,)], ((8,), (2**30 + 3,))) == ["low is wrong modulo p"]


class Recorded(Machine):
    """A machine that gives these outputs for the vectors of the first block."""

    def __init__(self, kernel: Described, rows: Sequence[Sequence[int]], fault: Fault | None = None) -> None:
        super().__init__("amd64", b"\xc3", 0, kernel.signature)
        self.columns = tuple(array("Q", column) for column in zip(*rows, strict=True))
        self.done, self.fault = len(rows), fault

    def run(self, block: Block, count: int | None = None) -> Outcome:
        return Outcome(self.done, (self.columns,), None, 1.0, self.fault)


@pytest.mark.parametrize(
    ("contract", "change"),
    [
        (MONTGOMERY.below(MONTGOMERY.modulus), lambda row: [row[0] ^ 4, row[1]]),
        (Element(MONTGOMERY, (2**60 - 8, 2**60 - 8), 2**124, 8), lambda row: [row[0] + 1, row[1]]),
        (Bytes(13, "big"), lambda row: [row[0] ^ 1 << 63, row[1]]),
        (Bytes(16, "little"), lambda row: [row[0], row[1] ^ 1]),
    ],
    ids=("montgomery", "multiple", "big", "little"),
)
def test_bulk_and_single_judgement_agree(contract: Contract, change: object) -> None:
    kernel = identity(contract)
    rows = []
    for (value,) in vectors(kernel.signature, 200, SEED):
        memory = (
            value.ljust(16, b"\0") if isinstance(value, bytes) else b"".join(x.to_bytes(8, "little") for x in value)
        )  # type: ignore[union-attr]
        rows.append([int.from_bytes(memory[:8], "little"), int.from_bytes(memory[8:], "little")])
    assert check(kernel, Recorded(kernel, rows), 200, SEED).failure is None
    rows[123] = change(rows[123])  # type: ignore[operator]
    failure = check(kernel, Recorded(kernel, rows), 200, SEED).failure
    assert failure is not None and failure.index == 123


def test_the_first_of_a_wrong_result_and_a_fault_is_named() -> None:
    kernel = identity(Bytes(8, "little"))
    rows = [[int.from_bytes(value, "little")] for (value,) in vectors(kernel.signature, 60, SEED)]  # type: ignore[arg-type]
    fault = Fault(50, "a canary died")
    tested = Recorded(kernel, rows[:50], fault)
    failure = check(kernel, tested, 60, SEED).failure
    assert failure is not None and (failure.index, failure.reason, failure.got) == (50, "a canary died", ())
    assert tested.columns[0][20] == rows[20][0]
    tested.columns[0][20] ^= 1
    failure = check(kernel, tested, 60, SEED).failure
    assert failure is not None and (failure.index, failure.reason) == (20, "out is wrong")


def test_a_table_is_a_tuple_of_residues() -> None:
    seen: list[object] = []

    def computes(t: object, i: int) -> tuple[int, ...]:
        seen.append(t)
        return (t[i],)  # type: ignore[index]

    assert check(replace(LOOK_UP, computes=computes), machine(LOOK_UP, "look_up"), 50, SEED).failure is None
    assert len(seen) == 50 and all(isinstance(t, tuple) and len(t) == 11 for t in seen)
    failure = check(
        replace(LOOK_UP, computes=lambda t, i: (t[i] + (i == 9),)), machine(LOOK_UP, "look_up"), 500, SEED
    ).failure
    assert failure is not None and failure.inputs[1] == ("i", 9)


@pytest.mark.parametrize("target", TARGETS)
def test_bytes_in_the_wrong_order_fail(target: str) -> None:
    assert check(TURN, machine(TURN, "copy33", target), 300, SEED).failure is None
    crooked = Described(COPY.signature, TURN.computes)
    assert check(crooked, machine(crooked, "copy33", target), 300, SEED).failure is not None


def test_the_command_repeats_exactly_the_vector() -> None:
    failure = check(ADD_N, machine(ADD_N, "add"), 2000, 77).failure  # forgets n - 1 additions
    assert failure is not None
    assert failure.command == f"asmgen test toy.add_n --target amd64 --seed 77 --only {failure.index}"
    named = check(ADD_N, machine(ADD_N, "add"), 2000, 77, command="asmgen test x.py:add_n --target amd64").failure
    assert named is not None and named.command.startswith("asmgen test x.py:add_n --target amd64 --seed 77 --only ")
    assert check(ADD_N, machine(ADD_N, "add"), 1, 77, only=failure.index).failure == failure


def test_senseless_counts_are_refused() -> None:
    for count, only in ((0, None), (-5, None), (5, -1)):
        with pytest.raises(UsageError):
            check(ADD, machine(ADD, "add"), count, SEED, only=only)


def test_result_counts_what_was_done() -> None:
    result = check(ADD, machine(ADD, "add"), 1500, SEED)
    assert (result.vectors, result.failure) == (1500, None)
    assert result.rate > 0 and result.emulation_rate > result.rate
    assert check(ADD, machine(ADD, "add"), 1500, SEED, only=1400).vectors == 1
    assert OUT.limb_max[0] == 2**53 - 1
