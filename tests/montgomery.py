"""What holds of every shipped script of a field in Montgomery form, whole words of 64 bits and canonical."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, ClassVar

import pytest
from language import agrees, check
from plain import Wanted
from plain import wanted as plainly
from sizes import sizes
from vectors import emulated

from asmgen.contracts import Element
from asmgen.kernel import Kernel
from asmgen.passes import Options
from asmgen.program import Program
from asmgen.scripts import load
from emulate.campaign import job
from emulate.compare import judge
from emulate.report import run_job

SEED = 20260401

def wanted(p: int) -> dict[str, Wanted]:
    """What each kernel must give for residues of its inputs, out of Montgomery form."""
    same = {"to_mont": lambda a: (a,), "from_mont": lambda a: (a,)}
    return {name: each for name, each in plainly(p).items() if name not in ("swap", "absolute")} | same


NAMES = tuple(wanted(3))
TARGETS = ("amd64", "arm64")


class MontgomeryTests:
    """Tests of one script: `script` names it, `p` is its modulus, `programs` are those it has, with vectors to try.

    `bits` are those of all words together.
    """

    script: ClassVar[str]
    p: ClassVar[int]
    bits: ClassVar[int] = 256
    programs: ClassVar[dict[str, int]]
    #: Words of the stack through which the squaring loop's passes hand something to each other, by target: on amd64
    #: the counter may be one.
    carried: ClassVar[Mapping[str, int]] = {"amd64": 1, "arm64": 0}

    @property
    def r(self) -> int:
        return 1 << self.bits

    @property
    def kernels(self) -> dict[str, Any]:
        return load_once(self.script)

    def test_every_kernel_is_here(self) -> None:
        assert {name for name, each in self.kernels.items() if isinstance(each, Kernel)} == set(NAMES)
        assert {name for name, each in self.kernels.items() if isinstance(each, Program)} == set(self.programs)

    @pytest.mark.parametrize("name", NAMES)
    def test_plain_integers(self, name: str) -> None:
        agrees(self.kernels[name], wanted(self.p)[name], 100 if name == "lookup" else 1000, SEED)

    @pytest.mark.parametrize("name", NAMES)
    def test_trace(self, name: str) -> None:
        check(self.kernels[name], 10 if name == "lookup" else 100, SEED + 1)

    def test_promises(self) -> None:
        """Everything is canonical but what canon takes; only to_mont takes and from_mont gives what is not in form."""
        for name in NAMES:
            signature = self.kernels[name].signature
            for parameter in (*signature.inputs, *signature.outputs):
                if isinstance(parameter.contract, Element):
                    loose = name == "canon" and parameter in signature.inputs
                    assert parameter.contract.value_max == (self.r - 1 if loose else self.p - 1), name
                    plain = (name, parameter.name) in (("to_mont", "a"), ("from_mont", "out"))
                    assert parameter.contract.field.montgomery == (None if plain else self.r), name

    @property
    def edges(self) -> list[int]:
        """Words at the corners, those that stand for small numbers among them."""
        p, r = self.p, self.r
        near = {d * unit % p for d in range(-6, 7) for unit in (1, r, pow(r, -1, p))}
        powers = (64, 96, 128, 192, 224, self.bits - 1)
        return sorted(near | {r % p - 1, p // 2, p - p // 2} | {(1 << k) % p for k in powers})

    @pytest.mark.parametrize("target", TARGETS)
    def test_products_of_edges(self, target: str) -> None:
        rng = Random(SEED)
        for name in ("mul", "sqr"):
            kernel = self.kernels[name]
            for _ in range(150):
                chosen = [rng.choice(self.edges) for _ in kernel.signature.inputs]
                limbs = tuple(tuple(x >> at & 2**64 - 1 for at in range(0, self.bits, 64)) for x in chosen)
                _, outputs = next(emulated(kernel, limbs, target))
                assert not judge(kernel, limbs, outputs), (name, chosen)

    def test_all_edges(self) -> None:
        kernels, p, r, unit = self.kernels, self.p, self.r, pow(self.r, -1, self.p)
        for x in self.edges:
            for y in self.edges:
                assert kernels["mul"](x, y).value == x * y * unit % p, (x, y)
                assert kernels["add"](x, y).value == (x + y) % p, (x, y)
                assert kernels["sub"](x, y).value == (x - y) % p, (x, y)
            assert kernels["sqr"](x).value == x * x * unit % p, x
            assert kernels["neg"](x).value == -x % p, x
            assert kernels["mul_small"](x, 2**32 - 1).value == x * (2**32 - 1) % p, x
            assert kernels["to_mont"](x).value == x * r % p and kernels["from_mont"](x).value == x * unit % p, x
        for x in (0, p - 1, p, p + 1, r - 1):
            assert kernels["canon"](x).value == x % p
            out, good = kernels["from_bytes"](x.to_bytes(self.bits // 8, "big"))
            assert (out.value, good) == ((x * r % p, 1) if x < p else (0, 0))

    def test_many_squarings(self) -> None:
        p, r, square_n = self.p, self.r, self.kernels["square_n"]
        for n in (0, 1, 2, 10, 250):
            assert square_n(3 * r % p, n).value == pow(3, 2**n, p) * r % p
        assert square_n(p - 1, 0).value == p - 1

    @pytest.mark.parametrize("target", TARGETS)
    def test_the_loop_keeps_its_state_in_registers(self, target: str) -> None:
        assert sizes(self.kernels["square_n"], target).carried <= self.carried[target]

    @pytest.mark.parametrize("target", TARGETS)
    def test_programs(self, target: str) -> None:
        """Emulated, against the meaning that the name has."""
        for name, count in self.programs.items():
            result = run_job(job(self.kernels[name], Options(target)), count, SEED)
            assert result.failure is None, result.failure

    def test_inverses(self) -> None:
        """Plain integers take their time: zero, and one edge in three."""
        p, r, invert = self.p, self.r, self.kernels["invert"]
        for x in (0, *self.edges[::3]):
            assert invert(x).value == (pow(x * pow(r, -1, p), -1, p) * r % p if x else 0)


_loaded: dict[str, dict[str, Any]] = {}


def load_once(script: str) -> dict[str, Any]:
    """The kernels and programs of a script, read one time."""
    if script not in _loaded:
        _loaded[script] = dict(load(script).kernels)
    return _loaded[script]
