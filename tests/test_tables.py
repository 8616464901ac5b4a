"""Tables of elements, and byte strings of every length: as the language, C, JSON and both machines see them."""

from __future__ import annotations

from typing import Any

import pytest
from language import check

import asmgen
from asmgen import Bytes, Field, Small, Table, kernel
from asmgen.contracts import Parameter
from asmgen.describe import describe
from asmgen.emit import prose
from asmgen.errors import AsmgenError
from asmgen.kernel import Kernel
from asmgen.link import link, routines
from asmgen.nodes import ordered
from asmgen.passes import Options
from asmgen.passes.lower import lower
from asmgen.targets.row import Memory
from asmgen.words import Op, Word, run
from emulate.compare import check as emulated
from emulate.machine import Machine

SEED = 20260401
P = 2**127 - 1
fe = Field("mersenne127", P, limbs=[64, 63])
words = fe.limbs_below(2**64)
canonical = fe.below(P)

TARGETS = ("amd64", "arm64")


def looked_up(table: Any, index: Any) -> Any:
    entry = table[0]
    for i in range(1, len(table)):
        entry = asmgen.select(index.at_least(i), table[i], entry)
    return entry


@kernel
def lookup(table: Table(words, 5), index: Small(5)) -> words:
    return looked_up(table, index)


def passes(made: Kernel, count: int = 64) -> None:
    """On both machines, in every way to share buffers."""
    for target in TARGETS:
        codes = routines(made, Options(target))
        machine = Machine(target, link(codes).code, 0, made.signature, codes[0].features, stack=codes[0].stack)
        result = emulated(made, machine, count, SEED)
        assert result.failure is None, result.failure


def test_lookup() -> None:
    check(lookup, 100, SEED)
    passes(lookup, 200)
    table = [[i, i + 100] for i in range(5)]
    for index in range(5):
        assert lookup(table, index) == [index, index + 100]
    assert lookup.expected([tuple(range(5)), 3]) == (3,)


@pytest.mark.parametrize("target", TARGETS)
def test_every_entry_is_read(target: str) -> None:
    """Every word of the table is loaded once, at an address that depends on the pointer alone."""
    program = lower(lookup.trace())
    loads = [op.place for op in program.ops if isinstance(op, Op) and op.kind == "load"]
    assert sorted(place for place in loads if place is not None) == [("table", i) for i in range(10)]
    for item in routines(lookup, Options(target))[0].items:
        for operand in getattr(item, "operands", ()):
            assert not isinstance(operand, Memory) or operand.index is None


def test_an_index_beyond_the_table() -> None:
    """A contract with room for it, and a start of zero: what the caller wants then."""

    @kernel(computes=lambda table, index: table[index - 1] if index else 0)
    def from_one(table: Table(words, 4), index: Small(5)) -> words:
        return looked_up([[0, 0], *table], index)

    check(from_one, 60, SEED)
    passes(from_one)


def test_a_table_of_many_entries_is_traced_quickly() -> None:
    @kernel
    def lookup(table: Table(words, 32), index: Small(32)) -> words:
        return looked_up(table, index)

    nodes = list(ordered(lookup.trace().outputs[0]))
    assert sum(node.op == "select" for node in nodes) == 62
    assert max(len(node.poly) for node in nodes) < 20


def test_contract() -> None:
    parameter = Parameter("table", Table(words, 5))
    assert parameter.by_pointer and parameter.contract.words == 10
    assert prose.declaration(parameter, output=False) == "const uint64_t table[5 * 2]"
    assert prose.bound(parameter) == "5 elements one after another, each with limbs below 2^64"
    assert prose.mathematics(lookup.signature) == "out = table[index]  (modulo p)"
    shown = describe(lookup)["params"][0]
    assert shown == {"name": "table", "kind": "table", "count": 5, "limb_max": [hex(2**64 - 1)] * 2,
                     "value_max": hex(2**128 - 1)}  # fmt: skip
    assert describe(lookup)["modulus"] == hex(P)


def test_tables_inside_kernels() -> None:
    """Passed on as they came, or put together of elements."""

    @kernel(computes=lambda a, b, index: [a, b, a + b][index])
    def among(a: canonical, b: canonical, index: Small(3)) -> words:
        @kernel
        def lookup(table: Table(words, 3), index: Small(3)) -> words:
            return looked_up(table, index)

        total = a.value + b.value
        return lookup([a, b, fe.limbs_of(total)], index)

    check(among, 60, SEED)
    passes(among)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[0, 0]] * 4, "table of lookup is a list of 4, a table of 5 elements is needed"),
        (7, "table of lookup is a int, a table of 5 elements is needed"),
        ([[0, 0]] * 4 + [[0]], r"table of lookup\[4\] has 1 limbs"),
        ([[0, 0]] * 4 + [[0, 2**64]], r"entry 4: limb 1 is 0x10000000000000000"),
    ],
)
def test_errors(table: Any, message: str) -> None:
    with pytest.raises(AsmgenError, match=message):
        lookup(table, 0)


def test_a_table_is_an_argument_alone() -> None:
    with pytest.raises(AsmgenError, match="a table of 0 entries"):
        Table(words, 0)
    with pytest.raises(AsmgenError, match="gives a table, results are elements"):

        @kernel(computes=lambda a: a)
        def wrong(a: words) -> Table(words, 2):
            return [a, a]


LENGTHS = (1, 2, 3, 7, 8, 9, 12, 15, 16, 17, 31, 33)


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("length", LENGTHS)
def test_byte_strings(length: int, order: Any) -> None:
    """Read in one order and written in the other, with guard pages right before and behind."""

    @kernel(computes=lambda s: s)
    def turned(s: Bytes(length, order)) -> Bytes(length, "big" if order == "little" else "little"):
        return s.value

    check(turned, 40, SEED)
    passes(turned, 24)
    given = bytes(range(1, length + 1))
    memory = [int.from_bytes(given[at : at + 8], "little") for at in range(0, length, 8)]
    outputs, _ = run(lower(turned.trace()), {"s": memory})
    found = b"".join(word.to_bytes(8, "little") for word in outputs["out"])
    assert found == given[::-1].ljust(8 * len(memory), b"\0")


def test_odd_strings_take_no_more_loads_than_words() -> None:
    """What is left at the end is cut from a word that overlaps the one before."""

    @kernel(computes=lambda s: s)
    def copied(s: Bytes(66, "big")) -> Bytes(66, "big"):
        return s.value

    program = lower(copied.trace())
    loads = [op for op in program.ops if isinstance(op, Op) and op.kind == "load"]
    stores = [op for op in program.ops if isinstance(op, Op) and op.kind == "store"]
    assert len(loads) == len(stores) == 9
    places = sorted(8 * op.place[1] + op.k for op in loads if op.place is not None)
    assert places == [0, *range(2, 66, 8)]


def test_digits_are_put_together_without_carries() -> None:
    """The limbs of a canonical element have no bit in common."""
    narrow = Field("narrow", 2**127 - 1, limbs=[43, 43, 41])

    @kernel
    def to_bytes(a: narrow.below(narrow.modulus)) -> Bytes(16, "little"):
        return a.value

    kinds = [op.kind for op in lower(to_bytes.trace()).ops if isinstance(op, Op)]
    assert "add" not in kinds and kinds.count("or") == 2
    passes(to_bytes)

    @kernel(computes=lambda a: a)
    def loose(a: narrow.limbs_below(2**44)) -> Bytes(17, "little"):
        return a.value

    assert "add" in [op.kind for op in lower(loose.trace()).ops if isinstance(op, Op)]


def test_a_word_further_on() -> None:
    """Loads and stores some bytes on, and of what is left of a byte string."""
    from asmgen.contracts import Signature
    from asmgen.words import Program

    text = Bytes(13, "little")
    signature = Signature("s", "k", (Parameter("out", text),), (Parameter("a", text),))
    low, high = Word(1), Word(2)
    ops = (
        Op("load", (), (low,), place=("a", 0)), Op("load", (), (high,), 5, place=("a", 0)),
        Op("store", (low,), place=("out", 0)), Op("store", (high,), (), 5, place=("out", 0)),
    )  # fmt: skip
    given = bytes(range(13))
    memory = [int.from_bytes(given[:8], "little"), int.from_bytes(given[8:], "little")]
    assert run(Program(signature, ops), {"a": memory})[0]["out"] == memory
    with pytest.raises(ValueError, match="word 1 of out was not stored"):
        run(Program(signature, ops[:3]), {"a": memory})
