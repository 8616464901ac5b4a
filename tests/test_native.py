"""The committed files compiled, linked and run: the amd64 ones on this machine, the arm64 ones by qemu where needed.

Assembly and C go through the same harness, on the same vectors, with every way to share buffers; Python integers say
what is right.
"""

from __future__ import annotations

import re
import struct
import subprocess
from array import array
from dataclasses import dataclass
from pathlib import Path

import pytest
from compilers import compiler, must, readelf, runner

from asmgen import elf, scripts
from asmgen.build import build
from asmgen.contracts import Signature
from asmgen.kernel import Kernel
from emulate.aliasing import size
from emulate.compare import judge
from emulate.inputs import Block, Generator, Input

ROOT = Path(__file__).parents[1]
NATIVE = Path(__file__).parent / "native"
SEED = 20260401
VECTORS = 300

WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Werror", "-Wl,--fatal-warnings"]
FEATURES = {
    "adx": r"\s(adcx|adox)q?\s",
    "bmi2": r"\s(mulx|rorx|sarx|shlx|shrx|bzhi)q?\s",
    "bmi1": r"\sandnq?\s",
}
FILES = sorted(path.relative_to(ROOT) for path in ROOT.glob("out/*/*.S"))
FORMS = [pytest.param(path.with_suffix(suffix), id=f"{path.parent.name}-{path.stem}{suffix}")
         for path in FILES for suffix in (".S", ".c")]  # fmt: skip
ASSEMBLY = [pytest.param(path, id=f"{path.parent.name}-{path.stem}") for path in FILES]


def test_there_are_files_for_both_targets() -> None:
    assert {path.parent.name for path in FILES} == {"amd64", "arm64"}


@dataclass(frozen=True)
class Program:
    """The harness linked with one file, and the kernels in its table."""

    command: list[str]
    kernels: list[Kernel]


def script_of(path: Path) -> str:
    """The script that a generated file comes from; variants have a suffix."""
    return max((name for name in scripts.shipped() if path.stem in (name, f"{name}_base")), key=len)


def kernels_in(path: Path, object_file: Path) -> list[Kernel]:
    """The kernels of a generated file, in the order of its object's functions."""
    known = {kernel.signature.symbol: kernel for kernel in scripts.load(script_of(path)).kernels.values()}
    functions = elf.read_file(object_file)[0].functions()
    found = [name for name, function in functions.items() if function.binding != "local"]
    assert found and set(found) <= set(known), "a file has no function but those of its kernels"
    return [known[name] for name in found]


def table(header: Path, kernels: list[Kernel]) -> str:
    """C that calls each kernel by the prototype of the generated header."""
    lines = ['#include "harness.h"', f'#include "{header.name}"']
    entries = []
    for number, kernel in enumerate(kernels):
        signature = kernel.signature
        given = ", ".join(
            f"(void *)(uintptr_t)x[{i}]" if parameter.by_pointer else f"x[{i}]"
            for i, parameter in enumerate(signature.parameters)
        )
        call = f"{signature.symbol}({given})"
        body = f"return {call};" if signature.returns_bit else f"{call}; return 0;"
        lines.append(f"static uint64_t call_{number}(const uint64_t *x) {{ {body} }}")
        sizes = ", ".join(str(size(p) if p.by_pointer else 0) for p in signature.parameters)
        entries.append(f"    {{{len(signature.parameters)}, {{{sizes}}}, call_{number}}},")
    lines += ["const struct function table[] = {", *entries, "};", f"const size_t table_length = {len(kernels)};"]
    return "\n".join(lines) + "\n"


def built(path: Path, directory: Path, old: str = "", new: str = "") -> Program:
    """Compile and link the harness with a generated file, by gcc for its target; the first match of `old` is `new`."""
    target = path.parent.name
    gcc, before = compiler("gcc", target), runner(target)
    text, changed = re.subn(old, new, (ROOT / path).read_text(), count=1)
    assert changed
    (directory / path.name).write_text(text)
    include = [f"-I{NATIVE}", f"-I{ROOT / path.parent}"]
    must([*gcc, "-O2", *WARNINGS, *include, "-c", path.name, "-o", "generated.o"], directory)
    kernels = kernels_in(path, directory / "generated.o")
    (directory / "table.c").write_text(table(path.with_suffix(".h"), kernels))
    static = [] if not before else ["-static"]
    sources = ["table.c", str(NATIVE / "harness.c"), "generated.o"]
    must([*gcc, "-O2", "-std=c99", *WARNINGS, *include, *static, *sources, "-o", "program"], directory)
    return Program([*before, str(directory / "program")], kernels)


def shares(signature: Signature, block: Block, index: int) -> list[int]:
    """For each argument, the number of the first one in the same buffer."""
    pointed = [i for i, parameter in enumerate(signature.parameters) if parameter.by_pointer]
    same = {i: pointed[slot] for i, slot in zip(pointed, block.case(index).mode.slots, strict=True)}
    return [same.get(i, i) for i in range(len(signature.parameters))]


def contents(signature: Signature, block: Block, index: int) -> list[bytes]:
    """What each argument's buffer is filled with: outputs with junk; numbers as words."""
    outputs = [b"\xa5" * size(parameter) for parameter in signature.outputs]
    inputs = [
        value if isinstance(value, bytes) else array("Q", value if isinstance(value, tuple) else [value]).tobytes()
        for value in block.vector(index)
    ]
    return outputs + inputs


def packed(signature: Signature, block: Block, index: int) -> bytes:
    """A vector as the harness reads it."""
    at_start = block.case(index).at_start
    return b"".join(
        struct.pack("<QQ", same, at_start) + content + bytes(-len(content) % 8)
        for same, content in zip(shares(signature, block, index), contents(signature, block, index), strict=True)
    )


def unpacked(kernel: Kernel, after: dict[int, bytes], returned: int) -> tuple[Input, ...]:
    """Outputs as `judge` takes them."""
    values: list[Input] = [
        after[i] if p.contract.kind == "bytes" else tuple(array("Q", after[i]))
        for i, p in enumerate(kernel.signature.outputs)
    ]
    return tuple(values + [returned] * kernel.signature.returns_bit)


def checked(program: Program, number: int, directory: Path) -> None:
    """Run one kernel's vectors and compare each."""
    kernel = program.kernels[number]
    signature = kernel.signature
    block = Generator(signature, SEED).block(0, VECTORS)
    vectors = b"".join(packed(signature, block, index) for index in range(block.count))
    data = struct.pack("<QQ", number, block.count) + vectors
    done = subprocess.run([*program.command, "run"], input=data, capture_output=True, timeout=60, cwd=directory)
    assert done.returncode == 0, f"{signature.symbol}: {done.stderr.decode()} (seed {SEED})"
    written = iter(struct.iter_unpack("<Q", done.stdout))
    outputs = len(signature.outputs)
    for index in range(block.count):
        after = {
            i: struct.pack(f"<{-(-size(p) // 8)}Q", *(next(written)[0] for _ in range(-(-size(p) // 8))))[: size(p)]
            for i, p in enumerate(signature.parameters)
            if p.by_pointer
        }
        (returned,) = next(written)
        where = f"{signature.symbol}, vector {index} of seed {SEED}, {block.case(index).name}"
        faults = judge(kernel, block.vector(index), unpacked(kernel, after, returned))
        assert not faults, f"{where}: {faults}\ninputs {block.vector(index)}"
        same, before = shares(signature, block, index), contents(signature, block, index)
        for i, content in after.items():
            assert same[i] < outputs or content == before[i], f"{where}: an input is changed"
    assert next(written, None) is None


def skip_without_features(program: Program, path: Path, directory: Path) -> None:
    """The amd64 files are run on this CPU when it has what their instructions need."""
    if path.suffix == ".S" and path.parent.name == "amd64":
        text = (ROOT / path).read_text()
        needed = {name for name, pattern in FEATURES.items() if re.search(pattern, text)}
        lacking = needed - set(must([*program.command, "features"], directory).split())
        if lacking:
            pytest.skip(f"this CPU lacks {', '.join(sorted(lacking))}")


@pytest.mark.parametrize("path", FORMS)
def test_results_are_those_of_python_integers(path: Path, tmp_path: Path) -> None:
    program = built(path, tmp_path)
    skip_without_features(program, path, tmp_path)
    for number in range(len(program.kernels)):
        checked(program, number, tmp_path)


@pytest.mark.parametrize("target, old, new, said", [
    ("amd64", "addq\t", "subq\t", "is wrong modulo p"),
    ("amd64", r"\d*\(%rsi\)", "4096(%rsi)", "signal 11 in vector 0"),
    ("arm64", "adds\t", "subs\t", "is wrong modulo p"),
    ("arm64", r"\[x1(, #\d+)?\]", "[x1, #504]", "signal 11 in vector 0"),
])  # fmt: skip
def test_faults_are_noticed(target: str, old: str, new: str, said: str, tmp_path: Path) -> None:
    path = next(path for path in FILES if path.parent.name == target)
    program = built(path, tmp_path, old, new)
    skip_without_features(program, path, tmp_path)
    with pytest.raises(AssertionError, match=said):
        for number in range(len(program.kernels)):
            checked(program, number, tmp_path)


@pytest.mark.parametrize("path", ASSEMBLY)
def test_every_object_is_marked_and_needs_no_executable_stack(path: Path, tmp_path: Path) -> None:
    target = path.parent.name
    for kind in ("gcc", "clang"):
        must([*compiler(kind, target), "-c", str(ROOT / path), "-o", "one.o"], tmp_path)
        notes = readelf("-n", "one.o", directory=tmp_path)
        assert ("IBT" if target == "amd64" else "BTI") in notes, f"{kind}: {notes}"
        stack = next(line for line in readelf("-S", "one.o", directory=tmp_path).splitlines() if "GNU-stack" in line)
        assert " X " not in stack and "AX" not in stack


@pytest.mark.parametrize("target", ["amd64", "arm64"])
def test_two_prefixes_in_one_program(target: str, tmp_path: Path) -> None:
    """Some kernels of every file of a target twice, without a warning of the linker; the stack stays a stack."""
    gcc = compiler("gcc", target)
    objects = []
    for number, path in enumerate(path for path in FILES if path.parent.name == target):
        script = script_of(path)
        for prefix in (f"one{number}_", f"other{number}_"):
            features = path.stem[len(script) + 1 :] or "default"
            some = [f"{script}.{name}" for name in ("add", "neg")]
            build(some, [target], tmp_path / prefix, prefix=prefix, features=features)
            objects.append(f"{prefix}/{target}/{path.name}")
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    must([*gcc, "-Wl,--fatal-warnings", "main.c", *objects, "-o", "program"], tmp_path)
    symbols = set(elf.read_file(tmp_path / "program")[0].functions())
    assert len({name for name in symbols if name.startswith(("one", "other"))}) >= 2 * len(objects)
    stack = next(line for line in readelf("-l", "program", directory=tmp_path).splitlines() if "GNU_STACK" in line)
    assert "RWE" not in stack and "RW " in stack
