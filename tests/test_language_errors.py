"""Every fault of a script is one message: its line, what happened in the field's words, and a way out."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from asmgen.errors import AsmgenError, Source, UsageError
from asmgen.kernel import Kernel
from asmgen.scripts import find, load

PRELUDE = """\
from asmgen import Bit, Bytes, Count, Field, Range, Small, amd64, choose, keep, kernel, repeat, select
p = 2**255 - 19
fe = Field("curve25519", p, limbs=[51] * 5)
other = Field("p224", 2**224 - 2**96 + 1, limbs=[56] * 4)
half = Field("p255", 2**255 - 765, limbs=[51] * 5)
loose = fe.limbs_below(2**54)
tight = fe.limbs_below(2**52)
def carry(columns):
    low, high = zip(*(column.split(51) for column in columns))
    return [low[0] + 19 * high[4]] + [low[k] + high[k - 1] for k in range(1, 5)]
"""

CASES: dict[str, tuple[str, str, str]] = {
    # name: script below the prelude with "# here" on the line to be named, what is said, the way out
    "result over its promised bound": (
        "@kernel\ndef add(a: tight, b: tight) -> tight:\n    return [x + y for x, y in zip(a, b)]  # here\n",
        r"the result of add: limb 0 may reach 2\^53 - 2; promised is at most 2\^52 - 1; "
        r"most of it comes from a\[0\], which reaches 2\^52 - 1",
        "carry or reduce once more before it is returned, or promise more",
    ),
    "bounds that would read the same": (
        "@kernel(computes=lambda a: a)\ndef shorter(a: fe.limbs_below(2**64)) -> fe.limbs_below(2**51 + 2**13):\n"
        "    low, high = zip(*(limb.split(51) for limb in a))\n"
        "    return [low[0] + 19 * high[4]] + [low[k] + high[k - 1] for k in range(1, 5)]  # here\n",
        r"limb 0 may reach 0x8000000025fec; promised is at most 0x8000000001fff", "carry or reduce once more",
    ),
    "limb that may exceed its word": (
        "@kernel\ndef mul_small(a: loose, c: Small(2**32)) -> fe.limbs_below(2**64):\n"
        "    return [c * limb for limb in a]  # here\n",
        r"limb 0 may reach just below 2\^86, more than a 64-bit word holds; promised is at most 2\^64 - 1",
        "carry or reduce once more",
    ),
    "where the bound comes from": (
        "def half_carried(columns):\n"
        "    low, high = zip(*(column.split(51) for column in columns))\n"
        "    return [low[0] + 19 * high[4]] + [low[k] + high[k - 1] for k in range(1, 5)]  # here\n"
        "@kernel\ndef sqr(a: loose) -> tight:\n"
        "    return half_carried([sum(a[i] * a[k - i] for i in range(5) if 0 <= k - i < 5) + 19 * sum(\n"
        "        a[i] * a[k + 5 - i] for i in range(5) if 0 <= k + 5 - i < 5) for k in range(5)])\n",
        r"limb 0 may reach 2\^63\.\d\d; promised is at most 2\^52 - 1; "
        r"most of it comes from \S+:1[56]: return half_carried|most of it comes from \S+:16: a\[i\] \* a\[k \+ 5 - i\]",
        "carry or reduce once more",
    ),
    "value that does not fit the limbs": (
        "@kernel\ndef mul(a: loose, b: loose) -> tight:\n    return fe.limbs_of(a.value * b.value)  # here\n",
        r"the value may reach just above 2\^516, its last limb would take just above 2\^312, more than a 64-bit word",
        r"reduce it below 2\*\*268",
    ),
    "integer that does not fit the limbs": (
        "@kernel\ndef mul(a: loose, b: loose) -> tight:  # here\n    return a.value * b.value\n",
        r"its last limb would take", r"reduce it below 2\*\*268",
    ),
    "negative limb": (
        "@kernel\ndef sub(a: tight, b: tight) -> loose:\n    return [x - y for x, y in zip(a, b)]  # here\n",
        r"the result of sub: limb 0 may be negative, as low as -\(2\^52 - 1\)", "add a multiple of the modulus first",
    ),
    "negative value cut into limbs": (
        "@kernel\ndef sub(a: tight, b: tight) -> loose:\n    return fe.limbs_of(a.value - b.value)  # here\n",
        "a value that may be negative, as low as .*, has no limbs", "add a multiple of the modulus first",
    ),
    "negative value cut into words": (
        "@kernel\ndef neg(a: tight) -> loose:\n    return [(-a[0]).words()[0]] * 5  # here\n",
        "a value that may be negative, as low as .*, has no words", "add a multiple of the modulus first",
    ),
    "more than the words asked for": (
        "@kernel\ndef sqr(a: loose) -> loose:\n    return (a[0] * a[0]).words(1) * 5  # here\n",
        r"the value may reach just below 2\^108, too much for 1 word", "take 2 words",
    ),
    "loop whose bounds grow": (
        "@kernel\ndef double(a: loose) -> loose:\n"
        "    return repeat(3, lambda x: [2 * limb for limb in x], a, invariant=loose)  # here\n",
        r"the loop's bounds grow: after a pass limb 0 may reach 2\^55 - 2; allowed is at most 2\^54 - 1",
        "carry in the body",
    ),
    "loop that starts outside of its invariant": (
        "@kernel\ndef square_n(a: loose, n: Count) -> tight:\n"
        "    return repeat(n, lambda x: carry([limb * 1 for limb in x]), a, invariant=tight)  # here\n",
        r"the loop starts outside of its invariant: limb 0 may reach 2\^54 - 1", "carry before the loop",
    ),
    "loop that promises less for no pass": (
        "@kernel\ndef sqr(a: loose) -> tight:\n    return carry(carry([sum(a[i] * a[k - i] if i <= k else "
        "19 * a[i] * a[5 + k - i] for i in range(5)) for k in range(5)]))\n"
        "@kernel\ndef square_n(a: loose, n: Count) -> tight:\n    return repeat(n, sqr, a)  # here\n",
        r"for n = 0 the loop gives the state as it came: limb 0 may reach 2\^54 - 1; allowed is at most 2\^52 - 1",
        "give an empty=",
    ),
    "loop that says nothing of its state": (
        "@kernel\ndef square_n(a: tight, n: Count) -> tight:\n    return repeat(n, lambda x: carry(x), a)  # here\n",
        "this loop says nothing of its state", "give invariant=",
    ),
    "loop by a secret": (
        "@kernel(computes=lambda a, n: a)\ndef spin(a: tight, n: Small(8)) -> tight:\n"
        "    return repeat(n, lambda x: carry(x), a, invariant=tight)  # here\n",
        "how often a loop runs must be public", "Count",
    ),
    "loop in a loop": (
        "def inner(x):\n    return repeat(2, lambda y: carry(y), x, invariant=tight)  # here\n"
        "@kernel(computes=lambda a, n: a)\ndef spin(a: tight, n: Count) -> tight:\n"
        "    return repeat(n, inner, a, invariant=tight)\n",
        "a loop inside a loop's body", "one level of loops",
    ),
    "loop over a body of two arguments": (
        "@kernel\ndef add(a: tight, b: tight) -> loose:\n    return [x + y for x, y in zip(a, b)]\n"
        "@kernel\ndef square_n(a: tight, n: Count) -> loose:\n    return repeat(n, add, a)  # here\n",
        "add takes 2 and gives 1 values; a loop's body takes and gives one", "write a function of the state alone",
    ),
    "state of another shape": (
        "@kernel(computes=lambda a, n: a)\ndef spin(a: tight, n: Count) -> tight:\n"
        "    return repeat(n, lambda x: x, a, invariant=[Range(below=2**52)] * 4)  # here\n",
        "the loop's state is an element of 5 limbs, its invariant is about 4 numbers", "one structure",
    ),
    "division that leaves a rest": (
        "@kernel\ndef halve(a: tight) -> tight:\n    return a.value.divide_exact(2)  # here\n",
        "this is not proven to be a multiple of 2, so it cannot be divided exactly", "add the multiple of the modulus",
    ),
    "division by something else": (
        "@kernel\ndef halve(a: tight) -> tight:\n    return a.value.divide_exact(3)  # here\n",
        "divide_exact takes a power of two, not 3", r"divide_exact\(2\*\*k\)",
    ),
    "one subtraction that does not reduce": (
        "@kernel\ndef reduce(a: tight) -> fe.below(p):\n    return a.value.reduce_once(p)  # here\n",
        r"one subtraction of 2\^255 - 19 does not reduce a value that lies between 0 and just above 2\^256",
        "reduce it further before",
    ),
    "branch on a comparison": (
        "@kernel\ndef reduce(a: tight) -> tight:\n    return a if a[0] < 5 else carry(a)  # here\n",
        "Python cannot decide by this value", r"select\(bit, x, y\) chooses by it without a branch",
    ),
    "branch on a bit": (
        "@kernel\ndef select(bit: Bit, a: tight, b: tight) -> tight:\n"
        "    if bit:  # here\n        return a\n    return b\n",
        "Python cannot decide by this value", "without a branch",
    ),
    "branch on equality": (
        "@kernel\ndef carry(a: tight) -> tight:\n    while a[0] == a[1]:  # here\n        pass\n    return a\n",
        "Python cannot decide by this value", "is_zero",
    ),
    "secret index": (
        "table = [1, 2, 3]\n@kernel\ndef mul_small(a: tight, c: Small(3)) -> fe.limbs_below(2**54):\n"
        "    return [table[c] * limb for limb in a]  # here\n",
        "it is no index and no Python int", "an address must not depend on a secret",
    ),
    "secret range": (
        "@kernel\ndef square_n(a: tight, n: Count) -> tight:\n"
        "    for _ in range(n):  # here\n        a = carry(a)\n    return a\n",
        "it is no index and no Python int", "select",
    ),
    "shift by a secret": (
        "@kernel\ndef mul_small(a: tight, c: Small(3)) -> fe.limbs_below(2**64):\n"
        "    return [limb << c for limb in a]  # here\n",
        "shifts and splits take a fixed number of bits", "as an integer",
    ),
    "bit operation": (
        "@kernel\ndef reduce(a: tight) -> tight:\n    return [limb & (2**51 - 1) for limb in a]  # here\n",
        "values are exact integers: they have no bit operations", r"x\.split\(k\)",
    ),
    "division": (
        "@kernel\ndef halve(a: tight) -> tight:\n    return [limb // 2 for limb in a]  # here\n",
        "no bit operations, division or powers", "divide_exact",
    ),
    "power": (
        "@kernel\ndef sqr(a: tight) -> tight:\n    return [limb**2 for limb in a]  # here\n",
        "no bit operations, division or powers", r"x \* x squares",
    ),
    "limbs of different fields multiplied": (
        "@kernel(computes=lambda a, b: a)\ndef mixed(a: tight, b: half.limbs_below(2**52)) -> tight:\n"
        "    return carry([x * y for x, y in zip(a, b)])  # here\n",
        "limbs of different fields are mixed: curve25519 and p255", "take both operands from one of them",
    ),
    "element of another field given to a kernel": (
        "@kernel\ndef add(a: tight, b: tight) -> loose:\n    return [x + y for x, y in zip(a, b)]\n"
        "@kernel(computes=lambda a, b: a + b)\ndef mixed(a: tight, b: half.limbs_below(2**52)) -> loose:\n"
        "    return add(a, b)  # here\n",
        "different fields are mixed: b of add is of curve25519 .*, this is an element of p255", "limbs_of",
    ),
    "limb of another field given to a kernel": (
        "@kernel\ndef neg(a: tight) -> loose:\n    return [2**53 - x for x in a]\n"
        "@kernel(computes=lambda a, b: -a)\ndef mixed(a: tight, b: half.limbs_below(2**52)) -> loose:\n"
        "    return neg([a[0], b[1], a[2], a[3], a[4]])  # here\n",
        "limbs of different fields are mixed: limb 1 of a of neg is of p255", "limbs_of",
    ),
    "form of another field given to a kernel": (
        'mont = Field("curve25519", p, limbs=[51] * 5, montgomery=2**255)\nwide = mont.limbs_below(2**52)\n'
        "@kernel\ndef neg(a: wide) -> mont.limbs_below(2**54):\n    return [2**53 - x for x in a]\n"
        "@kernel(computes=lambda a: -a)\ndef other_neg(a: tight) -> mont.limbs_below(2**54):\n"
        "    return neg(a)  # here\n",
        r"a of neg is of curve25519 \(limbs of 51, 51, 51, 51, 51 bits, in Montgomery form\), this is an element of "
        r"curve25519 \(limbs of 51, 51, 51, 51, 51 bits\)",
        "to_mont and from_mont change form",
    ),
    "elements taken for numbers": (
        "@kernel\ndef mul(a: tight, b: tight) -> tight:\n    return carry(a * b)  # here\n",
        "an element is a list of limbs here, not one number", r"a\[0\] \* b\[0\]",
    ),
    "limb that does not exist": (
        "@kernel\ndef carry(a: tight) -> tight:\n    return [a[i + 1] for i in range(5)]  # here\n",
        "there is no limb 5: the limbs are 0 to 4", "counted from 0",
    ),
    "wrong number of limbs": (
        "@kernel\ndef carry(a: tight) -> tight:  # here\n    return a[:4]\n",
        "the result of carry has 4 limbs, an element of curve25519 has 5", "one number a limb",
    ),
    "wrong number of limbs given to a kernel": (
        "@kernel\ndef neg(a: tight) -> loose:\n    return [2**53 - x for x in a]\n"
        "@kernel(computes=lambda a: -a)\ndef minus(a: tight) -> loose:\n    return neg(a[1:])  # here\n",
        "a of neg has 4 limbs", "one number a limb",
    ),
    "wrong number of limbs in an element": (
        "@kernel\ndef carry(a: tight) -> tight:\n    return fe.element([a[0], a[1]])  # here\n",
        "2 limbs, but an element of curve25519 has 5", "one number a limb",
    ),
    "nothing returned": (
        "@kernel\ndef carry(a: tight) -> tight:  # here\n    a[0] + a[1]\n",
        "the result of carry is None", "give a list of limbs",
    ),
    "too few results": (
        "@kernel(computes=lambda a: (a, a))\ndef twice(a: tight) -> tuple[tight, tight]:  # here\n    return a,\n",
        "twice returns 1 results, its contract has 2", "one entry a result",
    ),
    "argument over its bound": (
        "@kernel\ndef neg(a: tight) -> loose:\n    return [2**53 - x for x in a]\n"
        "@kernel(computes=lambda a: -a)\ndef minus(a: loose) -> loose:\n    return neg(a)  # here\n",
        r"a of neg: limb 0 may reach 2\^54 - 1; allowed is at most 2\^52 - 1", "carry or reduce it before the call",
    ),
    "too few arguments": (
        "@kernel\ndef add(a: tight, b: tight) -> loose:\n    return [x + y for x, y in zip(a, b)]\n"
        "@kernel\ndef double(a: tight) -> loose:\n    return add(a)  # here\n",
        "add takes a, b; 1 given", "each argument once",
    ),
    "kernel that calls itself": (
        "@kernel\ndef carry(a: tight) -> tight:\n    return carry(a)  # here\n", "carry calls itself", "repeat",
    ),
    "select by a number": (
        "@kernel\ndef add(a: tight, b: tight) -> tight:\n    return select(a[0], a, b)  # here\n",
        r"select needs a bit, this value may lie anywhere between 0 and 2\^52 - 1", "at_least",
    ),
    "select of two lengths": (
        "@kernel(computes=lambda bit, a: a)\ndef select_one(bit: Bit, a: tight) -> tight:\n"
        "    return select(bit, a, a[1:])  # here\n",
        "select chooses between two of the same length", "two elements",
    ),
    "comparison of elements": (
        "@kernel\ndef carry(a: tight) -> tight:\n    return a if a == [0] * 5 else carry(a)  # here\n",
        "Python cannot decide by this value", "is_zero",
    ),
    "name near a known one": (
        "@kernel\ndef select_one(bit: Bit, a: tight) -> tight:  # here\n    return a\n",
        "the kernel select_one does not say what it computes", "known name, such as select",
    ),
    "kernel that does not say what it computes": (
        "@kernel\ndef square_and_multiply(a: tight, b: tight) -> tight:  # here\n    return a\n",
        "the kernel square_and_multiply does not say what it computes", r"@kernel\(computes=lambda a, b: …\)",
    ),
    "known name of another form": (
        "@kernel\ndef mul(a: tight, b: tight, c: tight) -> tight:  # here\n    return a\n",
        r"a kernel named mul gives a \* b: its form is \(element, element\) -> element, "
        r"this one's \(element, element, element\) -> element",
        "or choose another name",
    ),
    "canon that is not canonical": (
        "@kernel\ndef canon(a: tight) -> tight:  # here\n    return a\n",
        r"canon gives the one value below the modulus, but this one promises values up to", r"fe\.below\(fe\.modulus\)",
    ),
    "to_mont without a change of form": (
        "@kernel\ndef to_mont(a: tight) -> tight:  # here\n    return a\n",
        "to_mont leads into Montgomery form, these contracts do not", r"fe\.plain",
    ),
    "computes of other arguments": (
        "@kernel(computes=lambda a: a)\ndef first(a: tight, b: tight) -> tight:  # here\n    return a\n",
        "computes of first takes 1 arguments, the kernel 2", "computes=lambda a, b: …",
    ),
    "missing annotation": (
        "@kernel\ndef mul(a: tight, b) -> tight:  # here\n    return a\n",
        "mul does not say what it requires of b", r"annotate it with an element such as fe\.limbs_below",
    ),
    "missing promise": (
        "@kernel\ndef mul(a: tight, b: tight):  # here\n    return a\n",
        "mul does not say what it promises of its result", "annotate the result with",
    ),
    "annotation that is no contract": (
        "@kernel\ndef mul(a: int, b: tight) -> tight:  # here\n    return a\n",
        "a of mul is annotated with int, which is no contract", "use an element",
    ),
    "annotation that has no value": (
        '@kernel\ndef mul(a: "lose", b: tight) -> tight:  # here\n    return a\n',
        "the annotation lose has no value: name 'lose' is not defined", "above the kernel",
    ),
    "result that cannot be one": (
        "@kernel(computes=lambda a: 0)\ndef size(a: tight) -> Count:  # here\n    return 0\n",
        "size gives a count, results are elements, Bytes or one Bit", "use an element, Bytes or Bit",
    ),
    "two bits": (
        "@kernel(computes=lambda a: (0, 0))\ndef both(a: tight) -> tuple[Bit, Bit]:  # here\n    return 0, 0\n",
        "both gives 2 bits, a C function returns one", "one Bit at the most",
    ),
    "arguments without a number": (
        "@kernel(computes=lambda *a: 0)\ndef total(*a: tight) -> tight:  # here\n    return 0\n",
        r"total takes \*a, a kernel has fixed arguments", "name each argument",
    ),
    "argument named as the output": (
        "@kernel\ndef neg(out: tight) -> loose:  # here\n    return [2**53 - x for x in out]\n",
        "neg has an argument named as its output out", "another name",
    ),
    "wrong limb widths": ('Field("f", p, limbs=[80] * 4)  # here\n', "80, 80, 80, 80", "1 to 64 bits"),
    "too few limbs": (
        'Field("f", p, limbs=[51] * 4)  # here\n', "4 limbs of f hold 204 bits, the modulus has 255", "add a limb",
    ),
    "even modulus": ('Field("f", 2**255, limbs=[64] * 4)  # here\n', "the modulus of f is", "odd primes"),
    "R that has no inverse": (
        'Field("f", 15, limbs=[8], montgomery=6)  # here\n', "montgomery=0x6 has a common factor", "a power of two",
    ),
    "limb bound over a word": (
        "fe.limbs_below(2**65)  # here\n", r"limb 0 of curve25519 may reach 2\^65 - 1, more than a 64-bit word holds",
        "a limb is one word",
    ),
    "bounds of another number": ("fe.limbs_below([2**52] * 4)  # here\n", "4 bounds for 5 limbs", "one a limb"),
    "values over the limbs": (
        "fe.below(2**300)  # here\n", r"values up to 2\^300 - 1 do not fit the limbs of curve25519", r"below 2\*\*268",
    ),
    "unknown target": (
        "@kernel\ndef neg(a: tight) -> loose:\n    return [2**53 - x for x in a]\n"
        '@neg.on("amd46")  # here\ndef body(out, a):\n    pass\n',
        'there is no target "amd46"', "did you mean amd64",
    ),
    "explicit body of other arguments": (
        "@kernel\ndef neg(a: tight) -> loose:\n    return [2**53 - x for x in a]\n"
        '@neg.on("amd64")\ndef body(a):  # here\n    pass\n',
        "the body of neg on amd64 takes 1 registers for 2 arguments in C", r"def body\(out, a\)",
    ),
    "decisions of one name": (
        "@kernel\ndef carry(a: tight) -> tight:\n"
        '    choose("x", list, tuple)(a)\n    return choose("x", list)(a)  # here\n',
        '"x" names two decisions, one of 2 alternatives and one of 1', "a name of its own",
    ),
    "decision without alternatives": (
        "@kernel\ndef carry(a: tight) -> tight:\n    return choose(carry, a)  # here\n",
        "choose takes the decision's name and the functions", r"choose\(\"fold\", early, late\)",
    ),
    "value of another kernel": (
        "kept = []\n@kernel\ndef carry(a: tight) -> tight:\n    kept.append(a)\n    return a\n"
        "@kernel\ndef neg(a: tight) -> loose:\n    return [x + kept[0][0] for x in a]  # here\n",
        "this uses a value of another kernel, whose routine is finished", "pass it as an argument",
    ),
    "exception in a script": ("x = 1\ny = x / 0  # here\n", "the script stops here with ZeroDivisionError", "--debug"),
    "exception in a kernel": (
        "@kernel\ndef carry(a: tight) -> tight:\n    return a.limbs  # here\n",
        "the script stops here with AttributeError: 'Limbs' object has no attribute 'limbs'", "--debug",
    ),
    "float in a kernel": (
        "@kernel\ndef carry(a: tight) -> tight:\n    return [0.5 * x for x in a]  # here\n",
        "the script stops here with TypeError", "--debug",
    ),
    "syntax error": (
        "@kernel\ndef carry(a: tight) -> tight\n    return a\n", "this is not Python: expected ':'", "mend",
    ),
    "no kernel": ("x = 1\n", "this script has no kernel", "put @kernel above"),
}  # fmt: skip


def fault(path: Path, text: str) -> AsmgenError:
    """What loading the script and tracing its kernels raises."""
    path.write_text(PRELUDE + text)
    with pytest.raises(AsmgenError) as caught:
        for kernel in load(path).kernels.values():
            for _ in kernel.alternatives():
                pass
    return caught.value


@pytest.mark.parametrize("name", CASES)
def test_message(name: str, tmp_path: Path) -> None:
    text, what, hint = CASES[name]
    path = tmp_path / "script.py"
    error = fault(path, text)
    assert re.search(what, error.what), error
    assert re.search(hint, error.hint), error
    assert isinstance(error.source, Source) and error.source.file == str(path), error
    lines = (PRELUDE + text).splitlines()
    marked = [number for number, line in enumerate(lines, 1) if "# here" in line]
    if marked:
        assert error.source.line == marked[0], error
        assert lines[marked[0] - 1].strip() in str(error)
    assert str(error).startswith(error.source.place) and "\n  try: " in str(error)


def test_a_decision_that_a_plan_invents(tmp_path: Path) -> None:
    kernel = one(tmp_path, '@kernel\ndef carry(a: tight) -> tight:\n    return choose("x", list, tuple)(a)\n')
    with pytest.raises(AsmgenError, match='carry has no decision "y"') as caught:
        kernel.trace({"y": 1})
    assert caught.value.hint == "its decisions are: x"
    with pytest.raises(AsmgenError, match='"x" has 2 alternatives, there is no number 2'):
        kernel.trace({"x": 2})


def test_an_alternative_must_meet_the_contract(tmp_path: Path) -> None:
    text = (
        "def twice(a):\n    return [2 * x for x in a]\n"
        '@kernel\ndef double(a: tight) -> fe.limbs_below(2**52):\n    return choose("way", lambda a: a, twice)(a)\n'
    )
    kernel = one(tmp_path, text)
    kernel.trace()
    with pytest.raises(AsmgenError, match=r"limb 0 may reach 2\^53 - 2") as caught:
        list(kernel.alternatives())
    assert caught.value.source is not None and caught.value.source.text == "return [2 * x for x in a]"


PLAIN: dict[str, tuple[str, Callable[[Kernel], object], str]] = {
    "argument over its bound": (
        "@kernel\ndef neg(a: tight) -> loose:\n    return [2**53 - x for x in a]\n",
        lambda k: k([2**52, 0, 0, 0, 0]), "a of neg: limb 0 is 0x10000000000000, allowed are 0..0xfffffffffffff",
    ),
    "small number over its bound": (
        "@kernel\ndef mul_small(a: tight, c: Small(5)) -> loose:\n    return a\n",
        lambda k: k(1, 5), r"c of mul_small: the value is 0x5, allowed are 0\.\.4",
    ),
    "result over its bound": (
        "@kernel\ndef neg(a: tight) -> loose:\n    return [2**54 - x for x in a]\n",
        lambda k: k(0), "the result of neg: limb 0 is 0x40000000000000",
    ),
    "division that leaves a rest": (
        "@kernel\ndef halve(a: tight) -> tight:\n    return a.value.divide_exact(2, assume=True)\n",
        lambda k: k(3), "0x3 is no multiple of 2",
    ),
    "one subtraction that does not reduce": (
        "@kernel\ndef reduce(a: tight) -> fe.below(p):\n    return a.value.reduce_once(p)\n",
        lambda k: k([2**52 - 1] * 5), "one subtraction of 0x7f+ed does not reduce 0x1",
    ),
    "negative words": (
        "@kernel\ndef neg(a: tight) -> loose:\n    return [(-a[0]).words(1)[0]] * 5\n",
        lambda k: k(1), "-0x1 is negative and has no words",
    ),
    "too few words": (
        "@kernel\ndef sqr(a: tight) -> loose:\n    return (a[0] << 51).words(1) * 5\n",
        lambda k: k(2**50), "is too much for 1 word",
    ),
    "loop outside of its invariant": (
        "@kernel\ndef square_n(a: tight, n: Count) -> tight:\n"
        "    return repeat(n, lambda x: [2 * y for y in x], a, invariant=tight)\n",
        lambda k: k(2**50, 3), "the loop's invariant does not hold after 2 passes: limb 0",
    ),
    "bytes of another length": (
        '@kernel\ndef from_bytes(s: Bytes(32, "little")) -> tight:\n    return fe.limbs_of(s.value)\n',
        lambda k: k(b"short"), "s of from_bytes is 5 bytes long, not 32",
    ),
    "a list for a number": (
        "@kernel\ndef mul_small(a: tight, c: Small(5)) -> loose:\n    return a\n",
        lambda k: k(1, [1, 2]), "c of mul_small is a list of 2, a number is needed",
    ),
    "select by two": (
        "@kernel(computes=abs)\ndef select_by(a: tight) -> tight:\n    return select(2, a, a)\n",
        lambda k: k(1), "select needs a bit, not 2",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLAIN)
def test_plain_integers_are_checked_too(name: str, tmp_path: Path) -> None:
    text, call, what = PLAIN[name]
    with pytest.raises(AsmgenError, match=what) as caught:
        call(one(tmp_path, text))
    assert caught.value.source is not None and caught.value.hint


def one(tmp_path: Path, text: str) -> Kernel:
    path = tmp_path / "script.py"
    path.write_text(PRELUDE + text)
    return list(load(path).kernels.values())[-1]


def test_unknown_names_are_suggested(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no script curve25591_5x51") as caught:
        find(["curve25591_5x51"])
    assert caught.value.hint == "did you mean curve25519_5x51?"
    with pytest.raises(UsageError, match="curve25519_5x51 has no kernel square") as caught:
        find(["curve25519_5x51.square"])
    assert "did you mean square_n?" in caught.value.hint
    with pytest.raises(UsageError, match="there is no script .*nowhere.py"):
        find([str(tmp_path / "nowhere.py")])
    named = tmp_path / "my-field.py"
    named.write_text(PRELUDE)
    with pytest.raises(UsageError, match=re.escape("my-field.py cannot name routines")):
        find([str(named)])
