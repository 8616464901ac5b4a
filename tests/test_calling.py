"""Random programs as routines: emulated, their frames followed by hand, their stack wiped, their C run."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from compilers import compiler, must
from random_programs import script

from asmgen.build import build
from asmgen.contracts import Bytes, Element, Table
from asmgen.errors import AsmgenError
from asmgen.link import link, routines
from asmgen.passes import Options
from asmgen.program import Program, closure
from asmgen.routine import Cfi, Code
from asmgen.scripts import load
from asmgen.targets.row import Instruction
from emulate.aliasing import cases, pointers, size
from emulate.compare import check, judge
from emulate.inputs import Generator, Input, vectors
from emulate.machine import Machine
from emulate.memory import _CANARY

SEED = 20260401
COUNT = 18
TARGETS = ("amd64", "arm64")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> list[Program]:
    """Random programs that call each other and kernels."""
    path = tmp_path_factory.mktemp("programs") / "randomly.py"
    path.write_text(script(SEED, COUNT))
    found = [each for each in load(path).kernels.values() if isinstance(each, Program)]
    assert len(found) == COUNT
    return found


def machine(program: Program, target: str) -> Machine:
    codes = routines(program, Options(target))
    features = frozenset[str]().union(*(code.features for code in codes))
    return Machine(target, link(codes).code, 0, program.signature, features, stack=codes[0].stack)


@pytest.mark.parametrize("target", TARGETS)
def test_emulated(programs: list[Program], target: str) -> None:
    """Every way to share buffers, canaries, stack depth, callee-saved registers: see emulate."""
    for program in programs:
        result = check(program, machine(program, target), max(48, len(cases(program.signature))), SEED)
        assert result.failure is None, (program, result.failure)


def followed(code: Code) -> tuple[int, list[int]]:
    """The deepest that the stack pointer goes in the routine itself, and its depth at each call; call frame directives
    must tell the depth wherever something may be interrupted."""
    start = depth = told = 8 if code.target == "amd64" else 0
    deepest, at_calls = depth, []
    saved: dict[str, int] = {}
    items = list(code.items)
    for index, item in enumerate(items):
        if isinstance(item, Cfi):
            verb, _, rest = item.text.partition(" ")
            if verb == ".cfi_def_cfa_offset":
                told = int(rest)
            elif verb == ".cfi_adjust_cfa_offset":
                told += int(rest)
            elif verb == ".cfi_offset":
                name, offset = rest.replace("%", "").split(", ")
                saved[name] = int(offset)
            elif verb == ".cfi_restore":
                del saved[rest.replace("%", "")]
            else:
                assert verb == ".cfi_negate_ra_state"
            continue
        if not isinstance(item, Instruction):
            continue
        text = item.row.text(item.operands)
        if item.row.control == "call":
            at_calls.append(depth)
        if text.startswith("push"):
            depth += 8
        elif text.startswith("pop"):
            depth -= 8
        elif moved := re.fullmatch(r"(sub|add)q \$(\d+), %rsp", text):
            depth += int(moved[2]) * (1 if moved[1] == "sub" else -1)
        elif moved := re.fullmatch(r"(sub|add) sp, sp, #(\d+)", text):
            depth += int(moved[2]) * (1 if moved[1] == "sub" else -1)
        elif moved := re.fullmatch(r"stp? .*\[sp, #-(\d+)\]!", text):
            depth += int(moved[1])
        elif moved := re.fullmatch(r"ldp? .*\[sp\], #(\d+)", text):
            depth -= int(moved[1])
        deepest = max(deepest, depth)
        following = [each for each in items[index + 1 :] if not isinstance(each, Cfi)]
        if not isinstance(items[min(index + 1, len(items) - 1)], Cfi) and following:
            assert told == depth, (code.signature.symbol, index, text)
    assert depth == start and not saved
    return deepest - start, at_calls


@pytest.mark.parametrize("target", TARGETS)
def test_frames(programs: list[Program], target: str) -> None:
    for program in programs:
        codes = {code.signature.symbol: code for code in routines(program, Options(target))}
        code = codes[program.signature.symbol]
        own, at_calls = followed(code)
        assert all(depth % 16 == 0 for depth in at_calls)
        address = 8 if target == "amd64" else 0
        called = [codes[callee.signature.symbol].stack + address for callee in program.callees]
        below = -(-max(called, default=0) // 16) * 16
        depth = max(at_calls) - address if at_calls else own
        assert code.stack == depth + below and own <= code.stack
        if at_calls and target == "arm64":
            assert code.saved[:2] == ("x29", "x30")
            texts = [item.row.text(item.operands) for item in code.items if isinstance(item, Instruction)]
            assert texts[0] == "paciasp" and texts[-2:] == ["autiasp", "ret"]
            assert any(re.fullmatch(r"add x29, sp, #\d+", text) for text in texts)


@pytest.mark.parametrize("target", TARGETS)
def test_the_stack_is_wiped(programs: list[Program], target: str) -> None:
    """With `wipe`, zeros where slots and frames of called routines were; without it there is something."""
    dirty = 0
    for program in programs:
        codes = routines(program, Options(target))
        called = [item for item in codes[0].items if isinstance(item, Instruction) and item.row.control == "call"]
        if not called:
            continue
        made = machine(program, target)
        made.call(next(vectors(program.signature, 1, SEED)))
        stack = bytes(made._memory.stack)
        top = len(stack) - (0xA000 - 0x9000)
        address = 8 if target == "amd64" else 0
        saved = 8 * len(codes[0].saved)
        below = codes[0].stack - (followed(codes[0])[1][0] - address)
        lowest = top - address - codes[0].stack
        most = max(len(callee.signature.parameters) for callee in program.callees)
        outgoing = 8 * max(0, most - (6 if target == "amd64" else 8))
        if target == "amd64":
            slots = stack[lowest + below + outgoing : top - address - saved]
        else:
            slots = stack[lowest + below + outgoing + saved : top]
        frames = stack[lowest : lowest + below]
        if program.wipe:
            for at in range(0, len(slots), 8):  # what is there to keep the stack aligned stays as it was
                assert not any(slots[at : at + 8]) or slots[at : at + 8] in _CANARY, program
            assert not any(frames), program
        else:
            dirty += any(slots) or any(frames)
    assert dirty


def test_a_result_goes_straight_to_its_buffer() -> None:
    """The inversion of curve25519 copies nothing, and needs three slots besides its output."""
    invert = load("curve25519_5x51").kernels["invert"]
    assert isinstance(invert, Program)
    from asmgen.passes.storage import storage

    stored = storage(invert.steps)
    assert stored.copies == () and stored.slots == (5, 5, 5)
    step = load("curve25519_5x51").kernels["ladder_step"]
    assert isinstance(step, Program) and storage(step.steps).copies == () and len(storage(step.steps).slots) == 5


def test_calls_that_lead_nowhere_are_left_out(programs: list[Program]) -> None:
    for program in programs:
        steps = program.steps
        read = {value for call in steps.calls for value in call.args} | {*steps.outputs, steps.returns}
        assert all(any(value in read for value in call.results) for call in steps.calls)


def test_link() -> None:
    ladder = load("curve25519_5x51").kernels["ladder_step"]
    assert isinstance(ladder, Program)
    names = [each.name for each in closure([ladder])]
    assert names[0] == "ladder_step" and set(names[1:]) == {"swap", "add", "sub", "mul", "sqr", "mul_small"}
    names = [each.name for each in closure([load("curve25519_5x51").kernels["sqrt_ratio"]])]
    assert "pow22523" in names and "square_n" in names
    codes = routines(ladder, Options("amd64"))
    image = link(codes)
    assert image.entries["curve25519_5x51_ladder_step"] == 0 and all(at % 32 == 0 for at in image.entries.values())
    with pytest.raises(AsmgenError, match="ladder_step calls curve25519_5x51_swap, which is not there"):
        link(codes[:1])


def test_a_program_stands_with_what_it_calls(tmp_path: Path) -> None:
    build(["curve25519_5x51.pow22523"], ["arm64"], tmp_path)
    text = (tmp_path / "arm64" / "curve25519_5x51.S").read_text()
    defined = re.findall(r"^SYMBOL\((\w+)\):$", text, flags=re.M)
    assert [name.removeprefix("curve25519_5x51_") for name in defined] == ["mul", "sqr", "square_n", "pow22523"]
    assert "asmgen build curve25519_5x51.pow22523 --target arm64" in text


def test_c(programs: list[Program], tmp_path: Path) -> None:
    """The C file, without a warning, gives the same with buffers shared in every way."""
    build([programs[0].file], ["amd64"], tmp_path, prefix="x_")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic", "-O1", "-shared", "-fPIC"]
    must([*compiler("gcc"), *flags, "-fvisibility=default", "-DASMGEN_PLAIN_C", "amd64/randomly.c", "-o", "plain.so",
          "-Wl,-z,defs"], tmp_path)  # fmt: skip
    # Hidden symbols are not found by name: a second file exports them.
    wrappers = ['#include "amd64/randomly.h"', *(f"void *get_{p.name}(void); void *get_{p.name}(void)"
                f" {{ return (void *)x_{p.signature.symbol}; }}" for p in programs)]  # fmt: skip
    (tmp_path / "get.c").write_text("\n".join(wrappers) + "\n")
    finished = subprocess.run([*compiler("gcc"), "-w", "-O1", "-shared", "-fPIC", "amd64/randomly.c", "get.c", "-o",
                               "wide.so"], cwd=tmp_path, capture_output=True, text=True)  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    library = ctypes.CDLL(str(tmp_path / "wide.so"))
    for program in programs:
        getter = getattr(library, f"get_{program.name}")
        getter.restype = ctypes.c_void_p
        function = ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_uint64] * len(program.signature.parameters))(getter())
        block = Generator(program.signature, SEED).block(0, max(20, len(cases(program.signature))))
        for index in range(block.count):
            slots = block.case(index).mode.slots
            faults = called(program, function, block.vector(index), slots)
            assert not faults, (program, SEED, index, faults)


def called(program: Program, function: Any, given: tuple[Input, ...], slots: tuple[int, ...]) -> list[str]:
    """What is wrong after one call with buffers shared as `slots` say."""
    signature = program.signature
    inputs = dict(zip((parameter.name for parameter in signature.inputs), given, strict=True))
    buffers: dict[int, ctypes.Array[ctypes.c_uint64]] = {}
    places = dict(zip((parameter.name for parameter in pointers(signature)), slots, strict=True))
    for parameter in pointers(signature):
        words = -(-size(parameter) // 8)
        value = inputs.get(parameter.name)
        if value is not None:
            text = value if isinstance(value, bytes) else b"".join(word.to_bytes(8, "little") for word in value)
            buffers[places[parameter.name]] = (ctypes.c_uint64 * words).from_buffer_copy(text.ljust(8 * words, b"\0"))
        else:
            buffers.setdefault(places[parameter.name], (ctypes.c_uint64 * words)())
    arguments = [
        ctypes.addressof(buffers[places[p.name]]) if p.by_pointer else inputs[p.name] for p in signature.parameters
    ]
    returned = function(*arguments)
    got: list[Input] = []
    for parameter in signature.outputs:
        buffer = buffers[places[parameter.name]]
        assert isinstance(parameter.contract, (Element, Bytes)) and not isinstance(parameter.contract, Table)
        got.append(bytes(buffer)[: size(parameter)] if isinstance(parameter.contract, Bytes) else tuple(buffer))
    return judge(program, given, (*got, returned) if signature.returns_bit else tuple(got))
