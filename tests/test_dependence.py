"""asmgen.passes.dependence: what may not change places, and why."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from asmgen.passes.dependence import bits, closure, graph
from asmgen.targets import amd64, arm64
from asmgen.targets.row import Instruction, Memory, Tied, Virtual

V = [Virtual(index, f"v{index}") for index in range(20)]
OUT, A = Virtual(30, "out"), Virtual(31, "a")


def before(instructions: Sequence[Instruction], homes: Sequence[Virtual] = (), preferences: bool = True) -> list[set]:
    """The positions that each waits for, directly."""
    made = graph(instructions, homes, preferences=preferences)
    return [set(bits(mask)) for mask in made.before]


def test_bits() -> None:
    assert list(bits(0)) == [] and list(bits(0b1010001)) == [0, 4, 6]


def test_closure_is_everything_that_is_reached() -> None:
    rng = random.Random(20260401)
    for _ in range(50):
        size = rng.randrange(1, 25)
        direct = [sum(1 << other for other in range(at) if rng.random() < 0.15) for at in range(size)]
        found = closure(direct)
        for at in range(size):
            reached, pending = set(), [at]
            while pending:
                new = set(bits(direct[pending.pop()])) - reached
                reached |= new
                pending += new
            assert set(bits(found[at])) == reached


def test_readers_wait_for_writers() -> None:
    lines = [
        arm64.ins("mul", V[2], V[0], V[1]), arm64.ins("umulh", V[3], V[0], V[1]), arm64.ins("add", V[4], V[2], V[3]),
        arm64.ins("mul", V[5], V[0], V[0]),
    ]  # fmt: skip
    assert before(lines) == [set(), set(), {0, 1}, set()]


def test_flags_tie_readers_to_their_writer_and_chains_together() -> None:
    """Two chains of two words each: neither may come between the other's members."""
    lines = [
        arm64.ins("adds", V[4], V[0], V[1]), arm64.ins("adcs", V[5], V[2], V[3]), arm64.ins("adc", V[6], V[0], V[2]),
        arm64.ins("adds", V[7], V[0], V[3]), arm64.ins("adc", V[8], V[1], V[2]),
    ]  # fmt: skip
    made = graph(lines, [])
    assert [set(bits(mask)) for mask in made.before] == [set(), {0}, {1}, set(), {3}]
    assert {key: value.readers for key, value in made.values.items()} == {(0, "C"): [1], (1, "C"): [2], (3, "C"): [4]}
    assert made.reads[2] == [(1, "C")] and made.reads[4] == [(3, "C")]


def test_a_chain_opens_only_when_what_its_members_need_is_done() -> None:
    """The second member waits for a sum that touches the flag itself: that one comes before the chain opens."""
    lines = [
        amd64.ins("mov_rm", V[1], Memory(A, 0)),
        amd64.ins("add_rr", Tied(V[1], V[2]), V[0]),  # its flags are for nobody
        amd64.ins("add_rr", Tied(V[3], V[4]), V[0]),
        amd64.ins("adc_rr", Tied(V[5], V[6]), V[2]),
    ]
    made = graph(lines, [])
    assert set(bits(made.blocks[2, "CF"])) == {1}
    assert (1, "CF") not in made.blocks


def test_memory_outputs_may_be_the_inputs() -> None:
    lines = [
        amd64.ins("mov_rm", V[1], Memory(A, 0)), amd64.ins("mov_mr", Memory(OUT, 0), V[0]),
        amd64.ins("mov_rm", V[2], Memory(A, 8)), amd64.ins("mov_mr", Memory(OUT, 8), V[0]),
    ]  # fmt: skip
    assert before(lines) == [set(), {0}, {1}, {0, 2}]  # loads among each other are free, and so are stores
    address = amd64.ins("lea_rm", V[3], Memory(A, 8))
    assert before([lines[1], address]) == [set(), set()]


def test_a_word_of_an_input_is_a_load_wherever_it_is_read() -> None:
    lines = [arm64.ins("str", V[0], Memory(OUT, 0)), arm64.ins("add", V[2], V[1], V[0])]
    assert before(lines) == [set(), set()]
    assert before(lines, homes=[V[1]]) == [set(), {0}]


def test_what_overwrites_a_value_waits_for_its_other_readers_if_asked() -> None:
    lines = [amd64.ins("add_rr", Tied(V[0], V[1]), V[2]), amd64.ins("mov_rr", V[3], V[0])]
    assert before(lines) == [{1}, set()]
    assert before(lines, preferences=False) == [set(), set()]


def test_preferences_never_make_a_circle() -> None:
    """Each of two values is overwritten by a reader of the other."""
    lines = [
        amd64.ins("add_rr", Tied(V[0], V[2]), V[1]), amd64.ins("add_rr", Tied(V[1], V[3]), V[0]),
        amd64.ins("add_rr", Tied(V[2], V[4]), V[3]),
    ]  # fmt: skip
    made = graph(lines, [])
    for at, ancestors in enumerate(closure(made.before)):
        assert not ancestors >> at & 1


def test_one_fixed_register_holds_one_value_after_the_other() -> None:
    """mulx reads one factor from rdx: those with the same one come together."""
    products = [
        amd64.ins("mulx_rrr", V[4], V[5], V[2], V[0]), amd64.ins("mulx_rrr", V[6], V[7], V[3], V[0]),
        amd64.ins("mulx_rrr", V[8], V[9], V[2], V[1]),
    ]  # fmt: skip
    assert before(products) == [set(), set(), {0, 1}]
    assert before(products, preferences=False) == [set()] * 3


@pytest.mark.parametrize("preferences", [True, False])
def test_machine_registers_are_written_in_order(preferences: bool) -> None:
    x8, x9 = arm64.REGISTERS["x8"], arm64.REGISTERS["x9"]
    lines = [
        arm64.ins("add", x8, V[0], V[1]), arm64.ins("add", x9, x8, x8), arm64.ins("add", x8, V[1], V[1]),
        arm64.ins("add", V[2], x8, x9),
    ]  # fmt: skip
    assert before(lines, preferences=preferences) == [set(), {0}, {0, 1}, {1, 2}]
