"""Kernels for the hand-written routines: what the emulator's tests call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from asmgen.contracts import Bytes, Count, Parameter, Signature, Small, Table
from asmgen.field import Field

TARGETS = ("amd64", "arm64")
FEATURES = {"amd64": frozenset({"bmi2", "adx"}), "arm64": frozenset[str]()}

FIELD = Field("toy", 2**204 - 167, limbs=[51] * 4)
TINY = Field("tiny", 2**31 - 1, limbs=[32])
IN, OUT = FIELD.limbs_below(2**52), FIELD.limbs_below(2**53)
WORD = TINY.limbs_below(2**32)


@dataclass(frozen=True)
class Described:
    """A kernel as far as the emulator needs it."""

    signature: Signature
    computes: Callable[..., tuple[int, ...]]

    def expected(self, inputs: Sequence[int]) -> tuple[int, ...]:
        return self.computes(*inputs)


def _parameters(**contracts: object) -> tuple[Parameter, ...]:
    return tuple(Parameter(name, contract) for name, contract in contracts.items())  # type: ignore[arg-type]


ADD = Described(
    Signature("toy", "add", _parameters(out=OUT), _parameters(a=IN, b=IN)), lambda a, b: ((a + b) % FIELD.modulus,)
)
ADD_N = Described(
    Signature("toy", "add_n", _parameters(out=FIELD.limbs_below(2**59)), _parameters(a=IN, b=IN, n=Count)),
    lambda a, b, n: ((a + n * b) % FIELD.modulus,),
)
COPY = Described(
    Signature("toy", "copy", _parameters(out=Bytes(33, "big")), _parameters(a=Bytes(33, "big"))), lambda a: (a,)
)
TURN = Described(
    Signature("toy", "turn", _parameters(out=Bytes(33, "little")), _parameters(a=Bytes(33, "big"))),
    lambda a: (int.from_bytes(a.to_bytes(33, "big"), "little"),),
)
EQUAL = Described(
    Signature("toy", "equal", (), _parameters(a=Bytes(16, "little"), b=Bytes(16, "little")), returns_bit=True),
    lambda a, b: (int(a == b),),
)
SUM = Described(
    Signature(
        "tiny", "sum", _parameters(out=TINY.limbs_below(2**36)),
        _parameters(a=WORD, b=WORD, c=WORD, d=WORD, e=WORD, f=WORD, s=Small(2**32), g=WORD),
    ),
    lambda *inputs: (sum(inputs) % TINY.modulus,),
)  # fmt: skip
LOOK_UP = Described(
    Signature("tiny", "look_up", _parameters(out=WORD), _parameters(t=Table(WORD, 11), i=Small(11))),
    lambda t, i: (t[i],),
)
BOTH = Described(
    Signature(
        "tiny", "both", _parameters(high=TINY.limbs_below(2**33), low=TINY.limbs_below(2**33)),
        _parameters(a=TINY.limbs_below(2**30), b=TINY.limbs_below(2**30)),
    ),
    lambda a, b: ((a + b) % TINY.modulus, (a - b + 2**30) % TINY.modulus),
)  # fmt: skip
