"""Running a routine at any stage on random kernels' inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from asmgen.contracts import Signature
from asmgen.interpret import run
from asmgen.routine import Allocated, Code, Routine

OUT = 0x10000


def call(program: Routine | Allocated | Code, signature: Signature, given: Mapping[str, Sequence[int]]) -> list[int]:
    """The words of the first output; each buffer lies at an address of its own."""
    memory: dict[int, int] = {}
    arguments: list[int] = []
    for number, parameter in enumerate(signature.parameters):
        address = OUT + 0x1000 * number
        if not parameter.by_pointer:
            arguments.append(given[parameter.name][0])
            continue
        arguments.append(address)
        for index, word in enumerate(given.get(parameter.name, ())):
            memory[address + 8 * index] = word
    result = run(program, arguments, memory)
    count = getattr(signature.outputs[0].contract, "words", 0)
    return [result.memory[OUT + 8 * index] for index in range(count)]
