"""An Ed448 library reduced a sum only when it carried: p - 1 + 1 came out as p, and what came next went wrong."""

from __future__ import annotations

import pytest
from shipped import kernel
from vectors import emulated

from asmgen.function import Function

P = 2**448 - 2**224 - 1
VARIANTS = [("amd64", "default"), ("amd64", "base"), ("arm64", "default")]
ZERO, ONE = (0,) * 7, (1, *(0,) * 6)


def words(value: int) -> tuple[int, ...]:
    return tuple(value >> at & 2**64 - 1 for at in range(0, 448, 64))


def get(name: str) -> Function:
    return kernel("p448_7x64", name)


@pytest.mark.parametrize(("target", "features"), VARIANTS)
def test_the_sum_is_zero_and_stays_it(target: str, features: str) -> None:
    """The whole sequence: add, then everything that takes the sum, in every way to share buffers."""

    def call(name: str, *inputs: tuple[int, ...]) -> tuple[int, ...] | int:
        found = {outputs for _, outputs in emulated(get(name), inputs, target, features)}
        ((result, *_),) = found
        return result

    last = words(P - 1)
    for total in (call("add", last, ONE), call("add", ONE, last), call("sub", last, last), call("mul", last, ZERO)):
        assert total == ZERO
        assert isinstance(total, tuple)
        assert call("is_zero", total) == call("equal", total, words(P)) == 1
        assert call("neg", total) == call("mul", total, last) == call("sqr", total) == ZERO
        assert call("sub", total, ONE) == last and call("add", total, last) == last
        assert call("add", call("sub", total, ONE), ONE) == ZERO  # type: ignore[arg-type]
    assert call("invert", ZERO) == call("invert", words(P)) == ZERO


@pytest.mark.parametrize(("target", "features"), VARIANTS)
def test_what_lies_between_the_modulus_and_the_words_end_is_reduced(target: str, features: str) -> None:
    """Sums from p - 3 to p + 3 and from 2^448 - 2 to 2^448 + 1, whatever they are of; p itself may come in."""
    for total in (*range(P - 3, P + 4), *range(2**448 - 2, 2**448 + 2)):
        for a in (P - 1, P // 2, total - (P - 1), 2**447, P):
            b = total - a
            if min(a, b) < 0 or b >> 448:
                continue
            for _, (out, *_rest) in emulated(get("add"), (words(a), words(b)), target, features):
                assert out == words(total % P), (a, b)
