"""Is it the same function? Faults that are found, contracts that are narrower, code that misbehaves."""

from __future__ import annotations

import pytest
from diffs import compiled, kernel

from asmgen.diff.body import Body, ours
from asmgen.diff.comparison import compare, follow
from asmgen.diff.layout import parse
from asmgen.diff.same import same
from asmgen.diff.thunk import wrapped
from asmgen.diff.verdict import verdict
from asmgen.errors import AsmgenError, UsageError
from asmgen.passes import Options

ADD = "curve25519_5x51.add"
HEAD = "#include <stdint.h>\nvoid fe_add(uint64_t *out, const uint64_t *a, const uint64_t *b) "
TARGETS = pytest.mark.parametrize("target", ["amd64", "arm64"])


def added(body: str, target: str = "amd64", flags: str = "-O1") -> Body:
    return compiled(HEAD + body, "fe_add", kernel(ADD), target, flags)


@TARGETS
def test_a_rare_fault_is_shown_with_its_input(target: str) -> None:
    function = kernel(ADD)
    body = added("{ for (int i = 0; i < 5; i++) out[i] = a[i] + b[i] + (i == 3 && a[i] == 0xfffffffffffff); }", target)
    found = same(function, body, 2048)
    assert found.first is not None and found.first.reason == "out differs" and 0 < found.wrong < 2048
    given = dict(found.first.inputs)
    assert isinstance(given["a"], tuple) and given["a"][3] == 0xFFFFFFFFFFFFF
    (_, wanted), (_, got) = found.first.wanted[0], found.first.got[0]
    assert got - wanted == 2**153
    sides = [follow(function, each) for each in (ours(function, Options(target)), body)]
    judged = verdict(compare(sides[0], sides[1], found))
    assert judged.outcome == "different" and "not the same function" in judged.sentences[0]


def test_a_fault_with_shared_buffers_alone_is_told_apart() -> None:
    found = same(kernel(ADD), added("{ out[0] = 0; for (int i = 0; i < 5; i++) out[i] = a[i] + b[i]; }"), 512)
    assert found.wrong == found.shared > 0


def test_a_narrower_contract_is_told_apart() -> None:
    mask = "0x7ffffffffffff"
    body = f"{{ for (int i = 0; i < 5; i++) out[i] = (a[i] & {mask}) + (b[i] & {mask}); }}"
    found = same(kernel(ADD), added(body), 512)
    assert not found.holds and found.narrower == "elements below p with proper digits"


def test_looser_results_are_told() -> None:
    limbs = "out[0] = a[0] + b[0] + 19 * ((uint64_t)1 << 55); out[4] = a[4] + b[4];"
    text = f"{{ uint64_t t = a[1] + b[1]; {limbs} out[1] = t; out[2] = a[2] + b[2]; out[3] = a[3] + b[3]; }}"
    found = same(kernel(ADD), added(text), 64)
    assert any("limb 0 of out reaches" in line for line in found.beyond)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "{ for (int i = 0; i < 6; i++) out[i % 5] = a[i] + b[i]; }",
            "the routine read 8 bytes in the guard behind b, 0 bytes past its end: mov",
        ),
        ("{ out[5] = a[0]; }", "the routine wrote 8 bytes in the guard behind out, 0 bytes past its end: movq"),
        ("{ ((uint64_t *)a)[0] = 1; for (int i = 0; i < 5; i++) out[i] = a[i] + b[i]; }", "input a is changed"),
        ("{ for (;;) *(volatile uint64_t *)out = a[0] + b[0]; }", "does not return"),
        ('{ __asm__ volatile("vaddpd %ymm0, %ymm1, %ymm2"); out[0] = a[0] + b[0]; }', "an instruction is invalid"),
    ],
)
def test_code_that_breaks_the_rules_is_named(text: str, said: str) -> None:
    function = kernel(ADD)
    body = added(text)
    found = same(function, body, 64)
    assert found.first is not None and said in found.first.reason, found.first
    if "guard" in said or "invalid" in said:
        with pytest.raises(AsmgenError, match="called as curve25519_5x51_add on amd64"):
            follow(function, body)


@TARGETS
def test_a_layout_puts_arguments_and_limbs_into_another_form(target: str) -> None:
    function = kernel("curve25519_5x51.mul")
    text = """
    #include <stdint.h>
    typedef unsigned __int128 u128;
    void mul(const uint64_t *a, const uint64_t *b, uint64_t five, uint64_t *out)
    {
        uint64_t t[8] = {0};
        if (five != 5) return;
        for (int i = 0; i < 4; i++) {
            u128 c = 0;
            for (int j = 0; j < 4; j++) { c += (u128)a[i] * b[j] + t[i + j]; t[i + j] = (uint64_t)c; c >>= 64; }
            t[i + 4] = (uint64_t)c;
        }
        u128 c = 0;
        for (int i = 0; i < 4; i++) { c += (u128)t[i + 4] * 38 + t[i]; t[i] = (uint64_t)c; c >>= 64; }
        for (int k = 0; k < 2; k++) {
            c *= 38;
            for (int i = 0; i < 4; i++) { c += t[i]; t[i] = (uint64_t)c; c >>= 64; }
        }
        for (int i = 0; i < 4; i++) out[i] = t[i];
    }
    """
    layout = parse("a:4x64, b:4x64, 5, out:4x64", function.signature)
    bare = compiled(text, "mul", function, target, "-O2 -fno-stack-protector")
    body = wrapped(Body(**{**vars_of(bare), "signature": layout.signature}), layout.arguments)
    assert same(function, body, 512).holds
    assert follow(function, body, layout).runs[0].steps


def vars_of(body: Body) -> dict[str, object]:
    """The fields of a body that was not wrapped, or is unwrapped here."""
    names = ("name", "target", "features", "functions", "signature", "sources", "absent")
    start = body.entry if body.start is None else body.start
    return {**{name: getattr(body, name) for name in names}, "code": body.code[: body.thunk], "entry": start}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("out, a", "leaves out b"),
        ("out, a, a", "names a twice"),
        ("out, x, b", "names x"),
        ("out, a:4by64, b", "no form of limbs"),
        ("out, a:3x64, b", "hold 192 bits"),
        ("out, a, b, 0x100000000", r"not below 2\^32"),
    ],
)
def test_layouts_that_say_too_little_or_too_much(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse(text, kernel().signature)
