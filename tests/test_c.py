"""C of word programs: compiled, without a warning, and run against the words themselves."""

from __future__ import annotations

import ctypes
import platform
import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from compilers import compiler, must
from random_words import LENGTH, LIMBS, random_inputs, random_program

from asmgen.contracts import Count, Parameter, Signature, Small
from asmgen.emit import c, header
from asmgen.emit.c_body import body
from asmgen.emit.origin import Origin
from asmgen.field import Field
from asmgen.words import Bit, Op, Program, Word, run

SEED = 20260401
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Wshadow", "-Wundef", "-Werror", "-std=c99"]
ORIGIN = Origin("random", "random.py", "", "asmgen build random --target amd64", "amd64", "random", visible=True)
PROGRAMS = [random_program(random.Random(SEED + i), f"p{i}", 5 + i % 20) for i in range(32)]


def written(directory: Path, programs: Sequence[Program], origin: Origin = ORIGIN) -> None:
    (directory / f"{origin.stem}.c").write_text(c.emit(origin, programs))
    (directory / f"{origin.stem}.h").write_text(header.emit(origin, [program.signature for program in programs]))


def call(function: object, given: dict[str, list[int]], alias: str) -> tuple[list[int], bytes, int]:
    """The C function's outputs; `alias` says which buffers are one: out is a, out is b, a is b, bytes is given."""
    words, octets = ctypes.c_uint64 * LIMBS, ctypes.c_uint8 * LENGTH
    a, b, out = words(*given["a"]), words(*given["b"]), words()
    text = b"".join(word.to_bytes(8, "little") for word in given["given"])[:LENGTH]
    bytes_in, bytes_out = octets(*text), octets()
    b = a if alias in ("a=b", "all") else b
    out = {"out=a": a, "all": a, "out=b": b}.get(alias, out)
    bytes_out = bytes_in if alias in ("bytes", "all") else bytes_out
    result = function(out, bytes_out, a, b, bytes_in, *(ctypes.c_uint64(given[name][0]) for name in ("n", "s", "bit")))  # type: ignore[operator]
    return list(out), bytes(bytes_out), result


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64", "aarch64", "arm64"), reason="C runs on 64-bit machines"
)
@pytest.mark.parametrize("kind", ("gcc", "clang"))
@pytest.mark.parametrize("flags", (["-O2"], ["-O2", "-DASMGEN_PLAIN_C"], ["-O0"]), ids=("wide", "plain", "O0"))
def test_random_programs_run_as_their_words_do(kind: str, flags: list[str], tmp_path: Path) -> None:
    written(tmp_path, PROGRAMS)
    native = "arm64" if platform.machine() in ("aarch64", "arm64") else "amd64"
    command = [*compiler(kind, native), *WARNINGS, *flags, "-shared", "-fPIC", "random.c", "-o", "random.so"]
    assert must(command, tmp_path) == ""
    library = ctypes.CDLL(str(tmp_path / "random.so"))
    rng = random.Random(SEED)
    for index, program in enumerate(PROGRAMS):
        function = library[program.signature.symbol]
        function.restype = ctypes.c_uint64
        for alias in ("none", "out=a", "out=b", "a=b", "bytes", "all", *["none"] * 10):
            given = random_inputs(rng)
            if alias in ("a=b", "all"):
                given["b"] = given["a"]
            wanted, bit = run(program, given)
            octets = b"".join(word.to_bytes(8, "little") for word in wanted["bytes"])[:LENGTH]
            found = call(function, given, alias)
            assert found == (wanted["out"], octets, bit), f"program {index} of seed {SEED}, {alias}, inputs {given}"


@pytest.mark.parametrize("target", ("amd64", "arm64"))
@pytest.mark.parametrize("kind", ("gcc", "clang"))
def test_no_warning_on_either_machine(kind: str, target: str, tmp_path: Path) -> None:
    """Beside its header, prefixed, as C99; clang is told not to look for headers of the target's system."""
    origin = Origin("random", "random.py", "", "", target, "random", prefix="my_")
    written(tmp_path, PROGRAMS[:8], origin)
    for flags in ([], ["-DASMGEN_PLAIN_C"]):
        freestanding = ["-ffreestanding"] if kind == "clang" else []
        command = [*compiler(kind, target), *WARNINGS, *flags, *freestanding, "-O2", "-c", "random.c", "-o", "random.o"]
        assert must(command, tmp_path) == ""
    text = (tmp_path / "random.c").read_text()
    assert re.findall(r"#include .*", text) == ['#include "random.h"']


# What comes out for shapes that a C author would write in one line.

FE = Field("curve25519", 2**255 - 19, [51] * 5)
LOOSE = FE.limbs_below(2**54)


def program_of(ops: Sequence[Op], outputs: int = 5, **more: object) -> Program:
    fe = Field("f", 2**61 - 1, [61] * outputs)
    out = Parameter("out", fe.limbs_below(2**64))
    ins = (Parameter("a", LOOSE), Parameter("b", LOOSE))
    return Program(Signature("s", "k", (out,), ins), tuple(ops), **more)  # type: ignore[arg-type]


def lines(ops: Sequence[Op], *, wide: bool = True) -> list[str]:
    return [line.strip() for line in body(program_of(ops), wide=wide)[0]]


def loads() -> tuple[list[Word], list[Word], list[Op]]:
    a = [Word(i, name=f"a[{i}]") for i in range(5)]
    b = [Word(5 + i, name=f"b[{i}]") for i in range(5)]
    ops = [Op("load", (), (word,), place=("ab"[i // 5 : i // 5 + 1], i % 5)) for i, word in enumerate([*a, *b])]  # type: ignore[arg-type]
    return a, b, ops


def columns(pairs: Sequence[tuple[Word, Word]], ops: list[Op], serial: int) -> tuple[Word, Word]:
    """Σ x * y in two words."""
    total: tuple[Word, Word] | None = None
    for index, (x, y) in enumerate(pairs):
        low, high, s, t = (Word(serial + 10 * index + i) for i in range(4))
        carry = Bit(serial + 10 * index + 4)
        ops.append(Op("mul", (x, y), (low, high)))
        if total is not None:
            ops += [Op("add", (total[0], low), (s, carry)), Op("add", (total[1], high, carry), (t, None))]
            low, high = s, t
        total = (low, high)
    assert total is not None
    return total


def test_a_sum_of_products_is_one_expression() -> None:
    a, b, ops = loads()
    low, high = columns([(a[0], b[2]), (a[1], b[1]), (a[2], b[0])], ops, 100)
    masked, carried = Word(200, name="low"), Word(201, name="high")
    ops += [
        Op("and", (low, 2**51 - 1), (masked,)),
        Op("funnel", (high, low), (carried,), 51),
        Op("store", (masked,), place=("out", 0)),
        Op("store", (carried,), place=("out", 1)),
    ]
    made = lines(ops)
    assert "const u128 t1 = (u128)a0 * b2 + (u128)a1 * b1 + (u128)a2 * b0;" in made
    assert "const uint64_t low = (uint64_t)t1 & UINT64_C(0x7ffffffffffff);" in made
    assert "out[1] = (uint64_t)(t1 >> 51);" in made
    assert not any("carry" in line for line in made)
    assert sum("add_carry" in line for line in lines(ops, wide=False)) == 2


def test_a_carry_of_two_words_into_the_next_column_is_a_shift() -> None:
    a, b, ops = loads()
    first = columns([(a[0], b[0])], ops, 100)
    second = columns([(a[0], b[1]), (a[1], b[0])], ops, 300)
    below, above, s, t, carry = Word(500), Word(501), Word(502), Word(503), Bit(504)
    ops += [
        Op("funnel", (first[1], first[0]), (below,), 51),
        Op("shr", (first[1],), (above,), 51),
        Op("add", (second[0], below), (s, carry)),
        Op("add", (second[1], above, carry), (t, None)),
        Op("store", (s,), place=("out", 0)),
        Op("store", (t,), place=("out", 1)),
    ]
    made = lines(ops)
    assert "const u128 t1 = (u128)a0 * b0;" in made
    assert "const u128 t2 = (u128)a0 * b1 + (u128)a1 * b0 + (t1 >> 51);" in made
    assert made[-2:] == ["out[0] = (uint64_t)t2;", "out[1] = (uint64_t)(t2 >> 64);"]


def test_a_carry_that_is_read_twice_stays_a_carry() -> None:
    a, b, ops = loads()
    s, t, w, carry = Word(100), Word(101), Word(102), Bit(103)
    ops += [
        Op("add", (a[0], b[0]), (s, carry)),
        Op("add", (a[1], b[1], carry), (t, None)),
        Op("word", (carry,), (w,)),
        *(Op("store", (word,), place=("out", i)) for i, word in enumerate((s, t, w))),
    ]
    made = lines(ops)
    assert any(line.endswith("= add_carry(a0, b0, 0, &c1);") for line in made)
    assert made[-1] == "out[2] = c1;"


def test_a_pair_whose_top_rests_on_its_bottom_is_no_pair() -> None:
    a, b, ops = loads()
    s, m, t, carry = Word(100), Word(101), Word(102), Bit(103)
    ops += [
        Op("add", (a[0], b[0]), (s, carry)),
        Op("and", (s, 255), (m,)),
        Op("add", (a[1], m, carry), (t, None)),
        Op("store", (t,), place=("out", 0)),
    ]
    made = lines(ops)
    assert any("add_carry" in line for line in made) and not any("u128" in line for line in made)


def test_selects_hide_their_mask_from_the_compiler() -> None:
    a, b, ops = loads()
    bit, word = Bit(100), Word(101)
    ops += [
        Op("nonzero", (a[0],), (bit,)),
        Op("select", (bit, a[1], b[1]), (word,)),
        Op("store", (word,), place=("out", 0)),
    ]
    text = c.emit(ORIGIN, [program_of(ops)])
    assert "select_word(" in text and '__asm__ volatile("" : "+r"(x));' in text


@pytest.mark.parametrize("kind", ("gcc", "clang"))
@pytest.mark.parametrize("level", ("-O2", "-O3", "-Os"))
@pytest.mark.parametrize("target", ("amd64", "arm64"))
def test_no_compiler_makes_a_branch(kind: str, level: str, target: str, tmp_path: Path) -> None:
    """Straight-line programs full of bits, selects and masks: not one conditional jump."""
    programs = (random_program(random.Random(SEED + i), f"b{i}", 14) for i in range(200))
    straight = [program for program in programs if selects(program) >= 3][:7]
    assert len(straight) == 7
    # Byte strings are read in loops of constant length, which -Os keeps.
    straight = [without_bytes(program) for program in straight]
    written(tmp_path, straight)
    flags = ["-ffreestanding"] if kind == "clang" else []
    must([*compiler(kind, target), *flags, level, "-S", "random.c", "-o", "random.s"], tmp_path)
    text = (tmp_path / "random.s").read_text()
    jumps = r"^\s+(j(?!mp)\w+|b\.\w+|b(?:eq|ne|cs|cc|hs|lo|mi|pl|hi|ls|ge|lt|gt|le)|cbn?z|tbn?z)\s"
    assert not re.findall(jumps, text, flags=re.M)


def selects(program: Program) -> int:
    """Selects in a program without loops; 0 for one with loops."""
    ops = [op for op in program.ops if isinstance(op, Op)]
    return sum(op.kind == "select" for op in ops) if len(ops) == len(program.ops) else 0


def without_bytes(program: Program) -> Program:
    """The program with words of `a` in the place of those of the byte string, and no byte string out."""
    ops = []
    for op in program.ops:
        assert isinstance(op, Op)
        if op.place is not None and op.place[0] == "bytes":
            continue
        if op.place is not None and op.place[0] == "given":
            op = Op(op.kind, op.ins, op.outs, place=("a", op.place[1]))
        ops.append(op)
    return Program(program.signature, tuple(ops), program.returns)


def test_loops_run_on_the_public_count_alone() -> None:
    word, state, after, result, count = Word(1), Word(2), Word(3), Word(4), Word(5)
    from asmgen.words import LoopOp

    fe = Field("f", 2**61 - 1, [61])
    one = fe.limbs_below(2**62)
    signature = Signature("s", "square_n", (Parameter("out", one),), (Parameter("a", one), Parameter("n", Count)))
    ops: list[Op | LoopOp] = [
        Op("load", (), (word,), place=("a", 0)),
        Op("scalar", (), (count,), place=("n", 0)),
        LoopOp(count, (state,), (word,), (Op("mul", (state, state), (after, None)),), (after,), (), (word,), (result,)),
        Op("store", (result,), place=("out", 0)),
    ]
    made = [line.strip() for line in body(Program(signature, tuple(ops)), wide=True)[0]]
    conditions = [line for line in made if line.startswith(("if", "while", "}", "do", "for"))]
    assert conditions == ["if (n != 0) {", "do {", "} while (--left != 0);", "} else {", "}"]


def test_unused_arguments_are_named_as_such() -> None:
    fe = Field("f", 2**61 - 1, [61])
    one = fe.limbs_below(2**62)
    ins = (Parameter("a", one), Parameter("s", Small(4)))
    word = Word(1, name="s")
    ops = (Op("scalar", (), (word,), place=("s", 0)), Op("store", (word,), place=("out", 0)))
    made = body(Program(Signature("s", "k", (Parameter("out", one),), ins), ops), wide=True)[0]
    assert [line.strip() for line in made] == ["(void)a;", "out[0] = s;"]


def test_helpers_are_defined_once(tmp_path: Path) -> None:
    """Also where one body calls what another one's helper calls."""
    a, b, ops = loads()
    bit, masked, flag, chosen = Bit(100), Word(101), Bit(102), Word(103)
    ops += [
        Op("nonzero", (a[0],), (bit,)),
        Op("mask", (bit,), (masked,)),
        Op("nonzero", (b[0],), (flag,)),
        Op("select", (flag, a[1], masked), (chosen,)),
        Op("store", (chosen,), place=("out", 0)),
    ]
    parts = [c.part(program_of(ops, 1)), c.part(PROGRAMS[0])]
    lone = c.Part(parts[0].signature, parts[0].wide, frozenset({"mask_of"}), parts[0].plain, frozenset({"select_word"}))
    for text in (c.join(ORIGIN, parts), c.join(ORIGIN, [lone])):
        for name in re.findall(r"static inline \w+ (\w+)\(", text):
            assert len(re.findall(rf"static inline \w+ {name}\(", text)) == 1, name


def test_golden(golden) -> None:  # type: ignore[no-untyped-def]
    a, b, ops = loads()
    total = columns([(a[0], b[2]), (a[1], b[1]), (a[2], b[0])], ops, 100)
    masked, carried, bit, picked = Word(200, name="low"), Word(201, name="high"), Bit(202), Word(203)
    ops += [
        Op("and", (total[0], 2**51 - 1), (masked,)),
        Op("funnel", (total[1], total[0]), (carried,), 51),
        Op("nonzero", (masked,), (bit,)),
        Op("select", (bit, carried, a[0]), (picked,)),
        Op("store", (masked,), place=("out", 0)),
        Op("store", (picked,), place=("out", 1)),
    ]
    golden("emit/small.c", c.emit(ORIGIN, [program_of(ops, 2)]))
