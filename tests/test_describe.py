"""asmgen.describe: plain data that says all of a contract."""

from __future__ import annotations

import json

import pytest

from asmgen import Bit, Bytes, Count, Field, Small, Table, kernel, select
from asmgen.contracts import Contract, Element
from asmgen.describe import describe
from asmgen.function import Function
from asmgen.passes import FEATURES
from asmgen.scripts import find

fe = Field("tiny", 2**61 - 1, limbs=[31, 30])
tight = fe.below(2**61)
ELEMENT = {"kind": "element", "limb_max": [hex(2**31 - 1), hex(2**30 - 1)], "value_max": hex(2**61 - 1)}


@kernel(computes=lambda a: a)
def plain(a: tight) -> tight:
    return a


@kernel(computes=lambda bit, s, small, n, table: (int(s == 0), table[0]))
def mixed(bit: Bit, s: Bytes(9, "big"), small: Small(2**64), n: Count, table: Table(tight, 3)) -> tuple[Bit, tight]:
    return s.value.is_zero(), select(bit, table[0], table[0])


def test_one_result() -> None:
    made = describe(plain)
    assert list(made) == [
        "script", "kernel", "symbol", "targets", "modulus", "limbs", "montgomery", "params", "result", "returns",
        "features",
    ]  # fmt: skip
    assert (made["script"], made["kernel"], made["symbol"]) == ("test_describe", "plain", "test_describe_plain")
    assert made["params"] == [{"name": "a", **ELEMENT}] and made["result"] == ELEMENT
    assert (made["modulus"], made["limbs"], made["montgomery"]) == (hex(2**61 - 1), [31, 30], None)
    assert made["returns"] is None


def test_every_kind_of_argument_and_a_returned_bit() -> None:
    made = describe(mixed)
    assert made["params"] == [
        {"name": "bit", "kind": "bit"},
        {"name": "s", "kind": "bytes", "length": 9, "order": "big"},
        {"name": "small", "kind": "small", "value_max": hex(2**64 - 1)},
        {"name": "n", "kind": "count"},
        {"name": "table", "count": 3, **ELEMENT, "kind": "table"},
    ]
    assert made["result"] == ELEMENT and made["returns"] == "bit"
    assert "results" not in made  # the bit is no output


def test_features_are_those_of_each_target() -> None:
    made = describe(plain)
    assert made["targets"] == list(FEATURES) == list(made["features"])
    for target, known in FEATURES.items():
        assert made["features"][target] == {name: sorted(sets) for name, sets in known.items()}


@pytest.mark.parametrize("function", find(), ids=repr)
def test_shipped_kernels_are_said_in_full_and_in_json(function: Function) -> None:
    made = describe(function)
    assert json.loads(json.dumps(made)) == made
    signature = function.signature
    assert [each["name"] for each in made["params"]] == [parameter.name for parameter in signature.inputs]
    for said, parameter in zip(made["params"], signature.inputs, strict=True):
        keeps(said, parameter.contract)
    outputs = made.get("results", [made["result"]] if made["result"] else [])
    assert len(outputs) == len(signature.outputs) and ("results" in made) == (len(outputs) > 1)
    for said, parameter in zip(outputs, signature.outputs, strict=True):
        keeps(said, parameter.contract)
    assert (made["returns"] == "bit") == signature.returns_bit


def keeps(said: dict[str, object], contract: Contract) -> None:
    """The contract can be made again from what is said of it."""
    assert said["kind"] == contract.kind
    if isinstance(contract, Element):
        assert isinstance(said["limb_max"], list) and isinstance(said["value_max"], str)
        again = Element(
            contract.field,
            tuple(int(most, 16) for most in said["limb_max"]),
            int(said["value_max"], 16),
            int(str(said.get("multiple_of", "0x1")), 16),
        )
        assert again == contract


def test_scaled_elements_say_by_how_much() -> None:
    scaled = Element(fe, (2**33, 2**33), 2**62, 2**13)

    @kernel(computes=lambda a: a)
    def same(a: scaled) -> scaled:
        return a

    assert describe(same)["params"][0]["multiple_of"] == "0x2000"
