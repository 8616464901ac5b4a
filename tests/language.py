"""What tests of the kernel language share: edge-biased inputs that meet a contract, and traces run on integers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

from asmgen.contracts import BitContract, Bytes, Contract, CountContract, Element, Table
from asmgen.kernel import Kernel
from asmgen.nodes import LoopNode, Node, Traced, evaluate, ordered

Given = dict[str, list[int]]
"""The words of each input by its name: limbs of an element, those of all entries of a table, words of a byte string,
the one number of anything else."""


def vectors(kernel: Kernel, count: int, seed: int, longest: int = 3) -> Iterator[Given]:
    """Edge-biased inputs that meet the kernel's contracts; counts go up to `longest`."""
    rng = Random(seed)
    for _ in range(count):
        given = {p.name: sample(p.contract, rng, longest) for p in kernel.signature.inputs}
        _relate(kernel, given, rng)
        yield given


def _relate(kernel: Kernel, given: Given, rng: Random) -> None:
    """Sometimes the second of two elements is the first, or what it lacks to the modulus."""
    elements = [p for p in kernel.signature.inputs if isinstance(p.contract, Element)]
    if len(elements) < 2 or rng.random() < 0.7:
        return
    (first, second), contract = elements[:2], elements[1].contract
    assert isinstance(first.contract, Element) and isinstance(contract, Element)
    limbs = list(given[first.name])
    if rng.random() < 0.5:
        value = -first.contract.value(limbs) % contract.field.modulus
        limbs = [int(limb) for limb in contract.field.limbs_of(value)]
    if contract.fault(limbs) is None:
        given[second.name] = limbs


def sample(contract: Contract, rng: Random, longest: int = 3) -> list[int]:
    """One input that meets the contract, as words."""
    if isinstance(contract, Element):
        return _element(contract, rng)
    if isinstance(contract, Table):
        return [limb for _ in range(contract.count) for limb in _element(contract.element, rng)]
    if isinstance(contract, CountContract):
        return [rng.randint(0, longest)]
    if isinstance(contract, Bytes):
        value = _near(rng, (1 << 8 * contract.length) - 1, [])
        return [value >> at & (2**64 - 1) for at in range(0, 8 * contract.length, 64)]
    return [_near(rng, contract.value_max, [])]


def _element(contract: Element, rng: Random) -> list[int]:
    field, unit = contract.field, contract.multiple_of
    while True:
        if rng.random() < 0.5:
            value = _near(rng, contract.value_max, [field.modulus, 2 * field.modulus, 1 << sum(field.limbs)])
            limbs = [value >> at & (1 << width) - 1 for at, width in zip(field.positions, field.limbs, strict=True)]
            limbs[-1] = value >> field.positions[-1]
        else:
            edges = [1 << width for width in field.limbs]
            limbs = [_near(rng, most, [edge]) for most, edge in zip(contract.limb_max, edges, strict=True)]
        limbs = [limb - limb % unit for limb in limbs]
        if contract.fault(limbs) is None:
            return limbs


def _near(rng: Random, most: int, edges: list[int]) -> int:
    """An integer from 0 to `most`, often next to an edge."""
    kind = rng.randrange(4)
    if kind == 0:
        return rng.randint(0, most)
    if kind == 1:
        return rng.getrandbits(rng.randint(0, most.bit_length())) % (most + 1)
    base = rng.choice([0, most, *edges])
    return min(max(base + rng.choice([-2, -1, 0, 1, 2, rng.randint(-300, 300)]), 0), most)


def arguments(kernel: Kernel, given: Given) -> list[Any]:
    """The inputs as a kernel takes them on plain integers."""

    def argument(contract: Contract, words: list[int]) -> Any:
        if isinstance(contract, Table):
            return entries(contract, words)
        return words if isinstance(contract, (Element, Bytes)) else words[0]

    return [argument(p.contract, given[p.name]) for p in kernel.signature.inputs]


def entries(contract: Table, words: list[int]) -> list[list[int]]:
    """The limbs of each entry of a table."""
    width = contract.element.words
    return [words[at : at + width] for at in range(0, len(words), width)]


def plain_run(kernel: Kernel, given: Given) -> list[list[int]]:
    """The words of each result of the body on plain integers; a byte string's as one integer."""
    made = kernel(*arguments(kernel, given))
    found = made if isinstance(made, tuple) else (made,)
    return [
        [int(result.value)] if isinstance(contract, Bytes)
        else [int(limb) for limb in result] if isinstance(contract, Element)
        else [int(result)]
        for result, contract in zip(found, kernel.results, strict=True)
    ]  # fmt: skip


def traced_run(kernel: Kernel, traced: Traced, given: Given) -> list[list[int]]:
    """The same from the graph."""
    results = nodes_of(kernel, traced)
    roots = [node for nodes in results for node in nodes]
    values = iter(evaluate(roots, known(roots, given)))
    return [[next(values) for _ in nodes] for nodes in results]


def nodes_of(kernel: Kernel, traced: Traced) -> list[tuple[Node, ...]]:
    """The nodes of each result in script order, the returned bit at its place."""
    outputs = iter(traced.outputs)
    bit = (traced.returns,) if traced.returns else ()
    return [bit if isinstance(contract, BitContract) else next(outputs) for contract in kernel.results]


def known(roots: list[Node], given: Given) -> Mapping[Node, int]:
    """The values of a graph's inputs, those used inside loops alone among them."""
    found: dict[Node, int] = {}
    pending, seen = [roots], set()
    while pending:
        for node in ordered(pending.pop()):
            if node.op == "limb":
                name, index = node.data
                found[node] = given[name][index]
            elif node.op == "scalar":
                found[node] = given[node.data][0]
            elif node.op == "result" and node.data[0].id not in seen:
                loop: LoopNode = node.data[0]
                seen.add(loop.id)
                pending.append(list(loop.next))
    return found


def numbers(kernel: Kernel, given: Given) -> list[Any]:
    """The inputs as kernels are asked what they compute of them: residues, a tuple of them for a table, integers."""

    def number(contract: Contract, words: list[int]) -> Any:
        if isinstance(contract, Table):
            return tuple(contract.element.residue(entry) for entry in entries(contract, words))
        if isinstance(contract, Element):
            return contract.residue(words)
        return sum(word << 64 * index for index, word in enumerate(words))

    return [number(p.contract, given[p.name]) for p in kernel.signature.inputs]


def meant(kernel: Kernel, given: Given) -> tuple[int, ...]:
    """What the kernel must give, on residues, by its meaning alone."""
    return kernel.expected(numbers(kernel, given))


def agrees(kernel: Kernel, wanted: Callable[..., tuple[int, ...]], count: int, seed: int) -> None:
    """On plain integers the kernel gives what `wanted` says of residues and integers, the bit last, on edge-biased
    inputs; contracts are checked by the run itself."""
    p = kernel.modulus
    for given in vectors(kernel, count, seed):
        found = residues(kernel, plain_run(kernel, given))
        expected = wanted(*numbers(kernel, given))
        elements = [isinstance(parameter.contract, Element) for parameter in kernel.signature.outputs] + [False]
        both = zip(expected, elements, strict=False)
        assert found == tuple(x % p if element else x for x, element in both), (seed, given)


def residues(kernel: Kernel, results: list[list[int]]) -> tuple[int, ...]:
    """Results as residues and integers, the bit last."""
    both = sorted(zip(results, kernel.results, strict=True), key=lambda each: isinstance(each[1], BitContract))
    return tuple(contract.residue(words) if isinstance(contract, Element) else words[0] for words, contract in both)


def check(kernel: Kernel, count: int, seed: int, longest: int = 3, choices: Mapping[str, int] | None = None) -> None:
    """Plain run, trace and meaning agree on edge-biased inputs, and every result keeps what the trace proved of it."""
    traced = kernel.trace(choices)
    nodes = nodes_of(kernel, traced)
    for given in vectors(kernel, count, seed, longest):
        results = traced_run(kernel, traced, given)
        assert residues(kernel, results) == meant(kernel, given), (kernel, seed, given)
        if not choices:
            assert results == plain_run(kernel, given), (kernel, seed, given)
        for words, proven in zip(results, nodes, strict=True):
            held = [node.interval.holds(word) for word, node in zip(words, proven, strict=True)]
            assert all(held), (kernel, seed, given)
