"""What holds of every shipped script of a field out of Montgomery form: tests that a script's own file inherits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any, ClassVar

import pytest
from language import agrees, check
from sizes import sizes
from vectors import emulated

from asmgen.contracts import Bytes, Contract, Element, Table
from asmgen.function import Function
from asmgen.kernel import Kernel
from asmgen.nodes import evaluate, ordered
from asmgen.passes import Options
from asmgen.program import Program
from asmgen.scripts import load
from emulate.campaign import job
from emulate.compare import judge
from emulate.report import run_job

SEED = 20260401
TARGETS = ("amd64", "arm64")

Wanted = Callable[..., tuple[int, ...]]


@cache
def load_once(script: str) -> Mapping[str, Function]:
    return load(script).kernels


def wanted(p: int) -> dict[str, Wanted]:
    """What kernels must give for residues of their inputs, written down here once more."""
    return {
        "mul": lambda a, b: (a * b,),
        "sqr": lambda a: (a * a,),
        "square_n": lambda a, n: (pow(a, 2**n, p),),
        "mul_small": lambda a, c: (a * c,),
        "add": lambda a, b: (a + b,),
        "sub": lambda a, b: (a - b,),
        "neg": lambda a: (-a,),
        "canon": lambda a: (a,),
        "to_bytes": lambda a: (a,),
        "from_bytes": lambda s: (s, 1) if s < p else (0, 0),
        "select": lambda bit, a, b: (a if bit else b,),
        "lookup": lambda table, index: (table[index],),
        "is_zero": lambda a: (int(a == 0),),
        "equal": lambda a, b: (int(a == b),),
        "swap": lambda bit, a, b: (b, a) if bit else (a, b),
        "absolute": lambda a: (p - a if a % 2 else a,),
    }


def element(kernel: Function, index: int = 0) -> Element:
    """The contract of an input."""
    contract = kernel.signature.inputs[index].contract
    assert isinstance(contract, Element)
    return contract


def given(kernel: Function) -> Element:
    """The contract of the first result."""
    contract = kernel.signature.outputs[0].contract
    assert isinstance(contract, Element)
    return contract


class PlainTests:
    """Tests of one script: `script` names it, `p` is its modulus, `more` says what kernels without a name of their own
    in `wanted` give, `without` are names that the script lacks, `programs` are those it has, with vectors to try."""

    script: ClassVar[str]
    p: ClassVar[int]
    more: ClassVar[Mapping[str, Wanted]] = {}
    without: ClassVar[tuple[str, ...]] = ()
    programs: ClassVar[Mapping[str, int]]
    #: Instructions at most, without the mark for indirect branches, by kernel and target.
    most: ClassVar[Mapping[tuple[str, str], int]]
    #: Words of the stack through which the squaring loop's passes hand something to each other, by target: on amd64
    #: the counter may be one.
    carried: ClassVar[Mapping[str, int]] = {"amd64": 1, "arm64": 0}
    #: How the loop's n = 0 leaves its input, by the name of a kernel.
    empty: ClassVar[str] = "canon"

    @property
    def kernels(self) -> Mapping[str, Any]:
        return load_once(self.script)

    @property
    def wanted(self) -> dict[str, Wanted]:
        known = {name: each for name, each in wanted(self.p).items() if name not in self.without}
        return known | dict(self.more)

    def test_every_kernel_is_here(self) -> None:
        assert {name for name, each in self.kernels.items() if isinstance(each, Kernel)} == set(self.wanted)
        assert {name for name, each in self.kernels.items() if isinstance(each, Program)} == set(self.programs)

    def test_plain_integers(self) -> None:
        """Edge-biased inputs against Python; contracts are checked on the way by the run itself."""
        for name, function in self.wanted.items():
            agrees(self.kernels[name], function, 60 if name == "lookup" else 400, SEED)

    def test_trace(self) -> None:
        """The same through what was traced, with every alternative of what the script leaves open."""
        for name in self.wanted:
            for choices, _ in self.kernels[name].alternatives():
                check(self.kernels[name], 8 if name == "lookup" else 60, SEED + 1, choices=choices)

    def test_largest_inputs_everywhere(self) -> None:
        """All inputs at their bounds, through the trace: every number within what was proved of it."""
        for name in self.wanted:
            kernel = self.kernels[name]
            largest = {parameter.name: self.largest(parameter.contract) for parameter in kernel.signature.inputs}
            for _, traced in kernel.alternatives():
                nodes = list(ordered([node for out in traced.outputs for node in out]))
                known = {node: largest[node.data[0]][node.data[1]] for node in nodes if node.op == "limb"}
                known |= {node: largest[node.data][0] for node in nodes if node.op == "scalar"}
                for node, found in zip(nodes, evaluate(nodes, known), strict=True):
                    assert node.interval.holds(found), (name, node)

    @staticmethod
    def largest(contract: Contract) -> Sequence[int]:
        """The words of the largest input that a contract allows; of a count, a small one."""
        if isinstance(contract, Table):
            return [*PlainTests.largest(contract.element)] * contract.count
        if isinstance(contract, Bytes):
            return [2**64 - 1] * (contract.length // 8)
        if not isinstance(contract, Element):
            return [3 if contract.kind == "count" else contract.value_max]
        if contract.value(contract.limb_max) <= contract.value_max:
            return contract.limb_max
        return [int(limb) for limb in contract.field.limbs_of(contract.value_max)]

    @property
    def edges(self) -> list[int]:
        """Values around multiples of the modulus, powers of two and the largest that any kernel takes."""
        p, bits = self.p, self.p.bit_length()
        near = {k * p + d for k in (0, 1, 2) for d in range(-3, 4)}
        near |= {(1 << k) + d for k in (64, bits // 2, bits - 1, bits) for d in (-1, 0, 1)}
        near |= {(1 << bits) - p + d for d in range(-2, 3)} | {2 * p - (1 << bits) + d for d in range(-2, 3)}
        return sorted(value for value in near if 0 <= value)

    def limbs(self, contract: Element, value: int) -> tuple[int, ...] | None:
        """A value in limbs, None where it breaks the contract."""
        if value >> contract.field.positions[-1] + 64:
            return None
        cut = tuple(int(limb) for limb in contract.field.limbs_of(value))
        return None if contract.fault(cut) else cut

    @pytest.mark.parametrize("target", TARGETS)
    def test_edges(self, target: str) -> None:
        """Emulated: pairs of edges in every kernel of one or two elements, and products that are next to an edge."""
        rng, p = Random(SEED), self.p
        for name in self.wanted:
            kernel = self.kernels[name]
            kinds = [parameter.contract.kind for parameter in kernel.signature.inputs]
            if set(kinds) != {"element"}:
                continue
            pairs = [(x, y) for x in self.edges for y in self.edges]
            pairs += [(x, pow(x, -1, p) * y % p) for x in self.edges if x % p for y in (0, 1, 2, p - 1, p - 2)]
            for x, y in rng.sample(pairs, 120) if len(kinds) == 2 else [(x, 0) for x in self.edges]:
                values = zip((element(kernel, index) for index in range(len(kinds))), (x, y), strict=False)
                inputs = [self.limbs(contract, value) for contract, value in values]
                if all(each is not None for each in inputs):
                    _, outputs = next(emulated(kernel, tuple(each for each in inputs if each is not None), target))
                    assert not judge(kernel, inputs, outputs), (name, x, y)

    def test_canonical_values(self) -> None:
        canon, is_zero = self.kernels["canon"], self.kernels["is_zero"]
        for value in self.edges:
            if self.limbs(element(canon), value):
                assert canon(value).value == value % self.p, value
            if self.limbs(element(is_zero), value):
                assert is_zero(value) == (value % self.p == 0), value

    def test_encodings(self) -> None:
        """The one encoding of each element is taken, everything from the modulus on is refused."""
        contract = self.kernels["to_bytes"].signature.outputs[0].contract
        length, order, from_bytes = contract.length, contract.order, self.kernels["from_bytes"]
        for value in [*self.edges, (1 << 8 * length) - 1]:
            if value >> 8 * length:
                continue
            out, good = from_bytes(value.to_bytes(length, order))
            assert (out.value, good) == ((value, 1) if value < self.p else (0, 0)), value

    def test_many_squarings(self) -> None:
        p, square_n = self.p, self.kernels["square_n"]
        most = element(square_n).limb_max
        value = element(square_n).value(most)
        for n in (0, 1, 2, 10, 250):
            assert square_n(list(most), n).value % p == pow(value, 2**n, p)
        assert square_n(list(most), 0) == self.kernels[self.empty](list(most))

    @pytest.mark.parametrize("target", TARGETS)
    def test_the_loop_keeps_its_state_in_registers(self, target: str) -> None:
        assert sizes(self.kernels["square_n"], target).carried <= self.carried[target]

    def test_sizes(self) -> None:
        for (name, target), most in self.most.items():
            assert sizes(self.kernels[name], target).instructions <= most, (name, target)

    @pytest.mark.parametrize("target", TARGETS)
    def test_programs(self, target: str) -> None:
        """Emulated, against the meaning that the name has."""
        for name, count in self.programs.items():
            result = run_job(job(self.kernels[name], Options(target)), count, SEED)
            assert result.failure is None, result.failure

    def test_inverses(self) -> None:
        """Plain integers take their time: zero in every form, and one edge in three."""
        p, invert = self.p, self.kernels["invert"]
        for value in (0, p, 2 * p, *self.edges[::3]):
            if self.limbs(element(invert), value):
                assert invert(value).value % p == (pow(value, -1, p) if value % p else 0), value
