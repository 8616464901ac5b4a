"""The header: C99 and C++ both take it, and it repeats the contract."""

from __future__ import annotations

from pathlib import Path

import hand_codes
import pytest
from compilers import compiler, must, readelf, understands_cpp

from asmgen.contracts import Bit, Bytes, Element, Parameter, Signature, Small
from asmgen.emit import header, prose
from asmgen.field import Field

P256 = Field("p256", 2**256 - 2**224 + 2**192 + 2**96 - 1, [64] * 4, montgomery=2**256)

#: Every kind of argument, a word of C++ as a name, more outputs than one, a returned bit.
ODD = Signature(
    "odd", "everything",
    (Parameter("out", P256.below(P256.modulus)), Parameter("bytes", Bytes(32, "big"))),
    (
        Parameter("template", P256.limbs_below(2**64)), Parameter("given", Bytes(57, "little")), Parameter("bit", Bit),
        Parameter("factor", Small(2**32)),
        Parameter("a", Element(P256, (2**64 - 8,) * 4, sum((2**64 - 8) << 64 * i for i in range(4)), multiple_of=8)),
    ),
    returns_bit=True, doc="Takes everything; gives */ more.",
)  # fmt: skip
SIGNATURES = [code.signature for code in hand_codes.codes("amd64")]


def test_golden(golden) -> None:  # type: ignore[no-untyped-def]
    golden("emit/mersenne127_amd64.h", header.emit(hand_codes.origin("amd64"), SIGNATURES, features=["bmi2"]))


@pytest.mark.parametrize("kind", ("gcc", "clang"))
@pytest.mark.parametrize("language", ("c99", "c17", "c++11", "c++17"))
def test_compilers_take_it(kind: str, language: str, tmp_path: Path) -> None:
    text = header.emit(hand_codes.origin("amd64", prefix="my_"), [*SIGNATURES, ODD])
    (tmp_path / "mersenne127.h").write_text(text)
    use = '#include "mersenne127.h"\n#include "mersenne127.h"\n'
    use += "void (*use(void))(uint64_t *, const uint64_t *, uint64_t);\n"
    use += "void (*use(void))(uint64_t *, const uint64_t *, uint64_t) { return my_mersenne127_double_n; }\n"
    ending = "cpp" if "+" in language else "c"
    (tmp_path / f"use.{ending}").write_text(use)
    if ending == "cpp":
        understands_cpp(kind, tmp_path)
    warnings = ["-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-Wundef"]
    command = [*compiler(kind), *warnings, f"-std={language}", "-O2", "-fPIC", "-c", f"use.{ending}", "-o", "use.o"]
    must(command, tmp_path)
    # extern "C" and hidden: the C name, reached without a table of addresses.
    assert " my_mersenne127_double_n" in readelf("-s", "use.o", directory=tmp_path)
    assert "GOT" not in readelf("-r", "use.o", directory=tmp_path)


def test_prototypes() -> None:
    text = header.emit(hand_codes.origin("amd64"), [ODD])
    assert (
        "uint64_t odd_everything(\n"
        "    uint64_t out[4],\n"
        "    uint8_t bytes[32],\n"
        "    const uint64_t template_[4],\n"
        "    const uint8_t given[57],\n"
        "    uint64_t bit,\n"
        "    uint64_t factor,\n"
        "    const uint64_t a[4]);\n"
    ) in text
    assert "void mersenne127_double_n(uint64_t out[2], const uint64_t a[2], uint64_t n);" in header.emit(
        hand_codes.origin("amd64"), SIGNATURES
    )


def test_contract_is_said_in_words() -> None:
    text = " ".join(
        header.emit(hand_codes.origin("amd64"), [ODD], features=["adx", "bmi2"]).replace("\n * ", " ").split()
    )
    for wanted in (
        "p = 2^256 - 2^224 + 2^192 + 2^96 - 1 (0xffffffff00000001",
        "Montgomery form: x stands for the residue x / R modulo p, R = 2^256.",
        "out: limbs below 2^64, the last one at most 2^64 - 2^32 + 1, the value below p",
        "bytes: 32 bytes, one integer, big endian",
        "given: 57 bytes, one integer, little endian",
        "bit: a bit, 0 or 1",
        "factor: below 2^32",
        "each limb a multiple of 8, which is divided out of the residue",
        "returns a bit, 0 or 1",
        "gives * / more",
        "ADX (CPUID leaf 7, EBX bit 19) and BMI2 (CPUID leaf 7, EBX bit 8)",
        "SPDX-License-Identifier: 0BSD",
        "may be the same buffer as an input",
        "asmgen build mersenne127 --target amd64",
    ):
        assert wanted in text, wanted


def test_numbers() -> None:
    """Numbers known by their form are printed so, all others in hexadecimal; the text evaluates to the number."""
    wanted = {
        2**255 - 19: "2^255 - 19",
        2**256 - 2**32 - 977: "2^256 - 2^32 - 977",
        2**448 - 2**224 - 1: "2^448 - 2^224 - 1",
        2**384 - 2**128 - 2**96 + 2**32 - 1: "2^384 - 2^128 - 2^96 + 2^32 - 1",
        2**521 - 1: "2^521 - 1",
        2**54: "2^54",
        1000: "1000",
        0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551: hex(
            0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
        ),
    }
    for value, text in wanted.items():
        assert prose.number(value) == text
    for value in (*range(1, 5000, 7), 2**52 + 2**30, 2**64 - 8, 3 * 2**100 + 5, 2**200 - 2**190 - 12345):
        assert eval(prose.number(value).replace("^", "**")) == value
    assert prose.limit(2**54 - 1) == "below 2^54"
    assert prose.limit(2**255 - 19) == "at most 2^255 - 19"


def test_formulas_name_the_arguments() -> None:
    add, double, low = SIGNATURES
    assert prose.mathematics(add) == "out = a + b  (modulo p)"
    named = Signature(
        "s", "add", add.outputs, (Parameter("left", add.inputs[0].contract), Parameter("a", add.inputs[0].contract))
    )
    assert prose.mathematics(named) == "out = left + a  (modulo p)"
    assert prose.mathematics(low) == "The product of the first words."
    assert prose.mathematics(Signature("s", "mul", add.outputs, add.inputs[:1])) == ""
    same = Signature("s", "equal", (), add.inputs, returns_bit=True)
    assert prose.mathematics(same) == "returns 1 if a = b, else 0"


def test_script_lines_lose_their_comments() -> None:
    assert prose.script_line("x = 'a # b'  # c") == "x = 'a No. b'"
    assert prose.script_line('y = "*/"; z = 1 \\') == 'y = "* /", z = 1 '
    assert prose.script_line("ü = 1") == "\\xfc = 1"
