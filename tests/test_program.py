"""Programs: what a script may write, what it is told when it may not, and that they compute what they say."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from asmgen import Bit, Bytes, Count, Field, Small, Table, kernel, power, program, repeat
from asmgen.chain_text import raised
from asmgen.contracts import Element
from asmgen.errors import AsmgenError
from asmgen.program import Program
from asmgen.scripts import load
from asmgen.steps import Value, unmet

P = 2**61 - 1
fe = Field("mersenne61", P, limbs=[61])
loose, tight = fe.limbs_below(2**63), fe.limbs_below(2**62)


def folded(x: Any) -> Any:
    low, high = x.split(61)
    return low + high


@kernel
def mul(a: loose, b: loose) -> tight:
    return [folded(folded(a[0] * b[0]))]


@kernel
def sqr(a: loose) -> tight:
    return mul(a, a)


@kernel
def square_n(a: loose, n: Count) -> tight:
    return repeat(n, sqr, a, empty=lambda a: [folded(a[0])])


@kernel
def add(a: tight, b: tight) -> loose:
    return [a[0] + b[0]]


@kernel
def is_zero(a: loose) -> Bit:
    x = folded(a[0])
    return x.reduce_once(P).is_zero()


@kernel
def select(bit: Bit, a: loose, b: loose) -> loose:
    import asmgen

    return asmgen.select(bit, a, b)


@program
def invert(a: loose) -> tight:
    return power(a, P - 2)


def rows(made: Program) -> list[tuple[str, int]]:
    """Names and times of the calls."""
    return [(call.function.name, call.times) for call in made.steps.calls]


def test_runs_on_plain_integers() -> None:
    for x in (0, 1, 2, P - 1, P, 2**63 - 1, 12345678987654321):
        assert invert(x).value % P == invert.expected([x % P])[0] == pow(x, P - 2, P)
    assert invert([7]) == invert(7)
    with pytest.raises(AsmgenError, match="a of invert: limb 0 is 0x8000000000000000"):
        invert(2**63)


def test_calls_are_recorded_in_order() -> None:
    @program(computes=lambda a, b: (a**32 * b, a + b))
    def both(a: tight, b: tight) -> tuple[tight, loose]:
        x = repeat(5, sqr, a)
        return mul(x, b=b), add(a, b)

    assert rows(both) == [("sqr", 5), ("mul", 1), ("add", 1)]
    assert [value.name for value in both.steps.inputs] == ["a", "b"]
    assert [each.value % P for each in both(3, 5)] == [3**32 * 5 % P, 8]
    assert both.callees == (sqr, mul, add)


def test_programs_call_programs() -> None:
    @program(computes=lambda a, b: a * pow(b, P - 2, P))
    def ratio(a: loose, b: loose) -> tight:
        return mul(a, invert(b))

    assert rows(ratio) == [("invert", 1), ("mul", 1)]
    assert ratio(10, 5).value % P == 2


def test_constants_bits_and_numbers() -> None:
    @program(computes=lambda a, n: (pow(a, 2**n, P) * 5 if a else 5, a == 0))
    def many(a: loose, n: Count) -> tuple[loose, Bit]:
        zero = is_zero(a)
        return select(zero, 5, mul(square_n(a, n), [5])), zero

    assert [int(x.value) % P if i == 0 else int(x) for i, x in enumerate(many(3, 4))] == [3**16 * 5 % P, 0]
    assert many(0, 2)[1] == 1 and many(0, 2)[0].value == 5
    constants = [value.constant for call in many.steps.calls for value in call.args if value.constant]
    assert constants == [(5,), (5,)] and len({value for call in many.steps.calls for value in call.args}) == 6
    assert isinstance(many.steps.returns, Value) and many.steps.returns is many.steps.calls[0].bit


def test_power_names_what_it_makes() -> None:
    names = [value.name for call in invert.steps.calls for value in call.results]
    assert {"x2", "x3", "x_110"} <= set(names) and names[-1] == ""
    assert {call.function.name for call in invert.steps.calls} == {"mul", "sqr", "square_n"}


def test_power_with_squarings_of_its_own() -> None:
    @program(computes=lambda a: pow(a, P - 2, P))
    def slow(a: loose) -> tight:
        return power(a, P - 2, squared=lambda x, n: repeat(n, sqr, x))

    assert {call.function.name for call in slow.steps.calls} == {"mul", "sqr"}
    assert sum(call.times for call in slow.steps.calls if call.function is sqr) == raised(invert)[1]
    assert slow(3).value % P == pow(3, -1, P)


def test_power_by_calls_of_sqr() -> None:
    """Without square_n in its script, by repeated calls."""
    scope: dict[str, Any] = {"mul": mul, "sqr": sqr}

    def eighth(a: loose) -> tight:
        return power(a, 8)

    made = Program(eighth, lambda a: a**8, scope)
    made.scope = scope
    assert rows(made) == [("sqr", 3)]


@pytest.mark.parametrize(
    ("body", "message", "hint"),
    [
        ("return mul(add(a, b), add(a, b))", "", ""),
        ("return add(add(a, b), b)", r"a of add: limb 0 may reach 2\^63 - 1, allowed is at most 2\^62 - 1", "carry or"),
        ("return add(a, b)", r"the result of wrong: limb 0 may reach 2\^63 - 1, promised is", "promise more"),
        ("return a * b", "this element is whole in a program", "call a kernel"),
        ("return [a[0]]", "this element is whole in a program", "call a kernel"),
        ("return mul(a, b) if a else b", "this element is whole in a program", "call a kernel"),
        ("return mul(a, 2**63)", "b of mul: limb 0 is 0x8000000000000000", "carry or reduce"),
        ("return mul(a)", "mul takes a, b; 1 given", "each argument once"),
        ("return square_n(a, is_zero(b))", "n of square_n: how often something is done must be public", "takes count"),
        ("return repeat(is_zero(a), sqr, a)", "repeats a fixed number of times", "takes a Count"),
        ("return repeat(3, mul, a)", "calls one kernel that takes and gives one value", "for _ in range"),
        ("return repeat(-1, sqr, a)", "repeats a fixed number of times", "integer"),
        ("return wrong(a, b)", "wrong calls itself", "repetition"),
        ("return power(a, 0)", "power\\(\\) takes a fixed exponent", "as an integer"),
        ("return power(a, 1.5)", "power\\(\\) takes a fixed exponent", "as an integer"),
        ("return mul(a, None)", "b of mul is None", "limbs"),
        ("return None", "the result of wrong is None", "limbs"),
        ("return mul(a, b), b", "the result of wrong is a tuple|the result of wrong has 2 limbs", "limb"),
        ("return other(a, b)", "mul is a kernel of another script", "define it here too"),
    ],
)
def test_what_a_script_is_told(body: str, message: str, hint: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.py").write_text(SCRIPT)
    path = tmp_path / "wrong.py"
    more = f"""
    from elsewhere import mul as other

    @program(computes=lambda a, b: a)
    def wrong(a: tight, b: tight) -> tight:
        {body}
    """
    path.write_text(SCRIPT + textwrap.dedent(more))
    made = load(path).kernels["wrong"]
    assert isinstance(made, Program)
    if not message:
        assert made.steps.calls
        return
    with pytest.raises(AsmgenError, match=message) as error:
        _ = made.steps
    assert error.value.source is not None and error.value.source.file == str(path)
    assert hint in error.value.hint


SCRIPT = '''from asmgen import Bit, Count, Field, kernel, power, program, repeat
fe = Field("mersenne61", 2**61 - 1, limbs=[61])
loose, tight = fe.limbs_below(2**63), fe.limbs_below(2**62)

def folded(x):
    low, high = x.split(61)
    return low + high

@kernel
def mul(a: loose, b: loose) -> tight:
    return [folded(folded(a[0] * b[0]))]

@kernel
def sqr(a: loose) -> tight:
    return mul(a, a)

@kernel
def square_n(a: loose, n: Count) -> tight:
    return repeat(n, sqr, a, empty=lambda a: [folded(a[0])])

@kernel
def add(a: tight, b: tight) -> loose:
    return [a[0] + b[0]]

@kernel
def is_zero(a: loose) -> Bit:
    return folded(a[0]).reduce_once(2**61 - 1).is_zero()
'''


def test_a_kernel_calls_no_program() -> None:
    @kernel(computes=lambda a: a)
    def inlined(a: loose) -> tight:
        return invert(a)

    for run in (inlined.trace, lambda: inlined(5)):
        with pytest.raises(AsmgenError, match="a kernel cannot call the program invert"):
            run()


def test_power_belongs_in_a_program() -> None:
    with pytest.raises(AsmgenError, match="is for programs"):
        power(3, 5)

    def lone(a: loose) -> tight:
        return power(a, 5)

    made = Program(lone, lambda a: a**5, {})
    made.scope = {"sqr": sqr}
    with pytest.raises(AsmgenError, match="calls the kernels mul and sqr"):
        _ = made.steps


def test_a_program_says_what_it_computes() -> None:
    with pytest.raises(AsmgenError, match="the program unnamed does not say what it computes") as error:

        @program
        def unnamed(a: loose) -> tight:
            return sqr(a)

    assert "@program(computes=lambda a: …)" in error.value.hint


def test_contracts_are_held_against_each_other() -> None:
    other = Field("other", 2**31 - 1, limbs=[61])
    scaled = Field("mersenne61", P, limbs=[61], montgomery=2**64)
    cases = [
        (tight, loose, None),
        (loose, tight, "limb 0 may reach"),
        (fe.below(P), tight, None),
        (tight, fe.below(P), "limb 0 may reach"),
        (other.limbs_below(8), loose, "different fields are mixed"),
        (scaled.limbs_below(8), loose, "Montgomery form"),
        (fe.limbs_below(2**20, multiple_of=4), loose, "multiples of 4"),
        (Bytes(8, "little"), Bytes(8, "little"), None),
        (Bytes(8, "little"), Bytes(8, "big"), "a string of 8 bytes, big endian is needed"),
        (loose, Bytes(8, "big"), "this is an element"),
        (Table(tight, 4), Table(loose, 4), None),
        (Table(loose, 4), Table(tight, 4), "limb 0 may reach"),
        (Table(tight, 4), Table(tight, 5), "a table of 5 elements is needed"),
        (Bit, Small(2), None),
        (Small(3), Bit, "may reach 2, allowed is at most 1"),
        (Small(3), Count, "must be public"),
        (Count, Small(2**64), None),
        (Bit, loose, "this is a bit"),
    ]  # fmt: skip
    for given, wanted, said in cases:
        found = unmet(given, wanted)
        assert (found is None) if said is None else (found is not None and said in found), (given, wanted, found)
    two = Field("two", P, limbs=[31, 31])
    wide = Element(two, (2**31 - 1, 2**31 - 1), 2**62 - 1)
    assert unmet(wide, two.below(2**61)) == "limb 1 may reach 2^31 - 1, allowed is at most 2^30 - 1"
    nine, eight = (Element(two, wide.limb_max, most) for most in (9, 8))
    assert unmet(nine, eight) == "the value may reach 9, allowed is at most 8"
