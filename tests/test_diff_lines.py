"""Lines of compilers' code, vectors among them: held against what the emulated registers do."""

from __future__ import annotations

import pytest
from diffs import any_compiler, kernel

from asmgen.diff import calls
from asmgen.diff.body import of_image
from asmgen.diff.image import from_bytes
from asmgen.diff.lines import lines
from asmgen.diff.own import own_c
from asmgen.diff.sources import EMULATED
from asmgen.diff.thunk import wrapped
from emulate.compilers import found
from emulate.follow import follow
from emulate.machine import Machine

NAMES = ("mul", "square_n", "add", "canon", "swap")


@pytest.mark.parametrize("target", ["amd64", "arm64"])
def test_every_register_that_changes_is_one_that_the_line_writes(target: str) -> None:
    functions = [kernel(f"curve25519_5x51.{name}") for name in NAMES]
    any_compiler(target)
    texts, name = own_c(functions)
    seen = 0
    for compiler in found(target):
        data = compiler.compile(texts, name, ["-O2"])
        for function in functions:
            image = from_bytes(data, name, function.signature.symbol, EMULATED[target])
            body = wrapped(of_image(compiler.name, image, function.signature, EMULATED[target]))
            group = calls.groups(function.signature, 2)[0]
            for walk in follow(body.machine, group, vectors=True, end=body.thunk):
                words = {place: register for register, place in walk.places.items()}
                words.update({place + 1: register for register, place in walk.places.items() if register[:1] == "v"})
                words.update({place + 1: register for register, place in walk.places.items() if register[:3] == "xmm"})
                for index, offset in enumerate(walk.offsets[:-1]):
                    line = body.lines[offset]
                    before, after = walk.states[index], walk.states[index + 1]
                    changed = {words[at] for at in range(len(before)) if before[at] != after[at]}
                    assert changed - {"rflags", "nzcv"} <= set(line.writes), (
                        f"{compiler.name} {function.name}: {line.text}"
                    )
                    if changed & {"rflags", "nzcv"}:
                        assert line.flags_written, f"{compiler.name} {function.name}: {line.text}"
                    seen += 1
    assert seen > 1000


def test_a_walk_is_what_the_machine_traces() -> None:
    from asmgen.diff.body import ours
    from asmgen.passes import Options

    function = kernel()
    for target in ("amd64", "arm64"):
        machine: Machine = ours(function, Options(target)).machine
        call = calls.groups(function.signature, 2)[0][1]
        (walk,) = follow(machine, [call])
        traced = machine.trace(call)
        assert walk.offsets == [at for at, _ in traced]
        assert all(
            walk.states[index][walk.places[name]] == value
            for index, (_, registers) in enumerate(traced) for name, value in registers.items()
        )  # fmt: skip


def test_bytes_that_are_no_instruction_are_lines_too() -> None:
    found_lines = list(lines("amd64", b"\x90\x06\xc3", 0, 3))
    assert [(line.offset, line.mnemonic) for line in found_lines] == [(0, "nop"), (1, "?"), (2, "retq")]
