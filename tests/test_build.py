"""Files on disk: all or none, the same bytes every time, and checked against what stands there."""

from __future__ import annotations

import ctypes
import errno
import os
import random
import stat
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from compilers import apple, compiler, must, runner

from asmgen import build as building
from asmgen import elf, scripts
from asmgen.build import build, check
from asmgen.contracts import Bytes, Element, Table
from asmgen.errors import AsmgenError, UsageError
from asmgen.files import write
from asmgen.function import Function
from asmgen.kernel import Kernel
from asmgen.passes import FEATURES, Options, compile_kernel
from asmgen.targets.assemble import assemble
from asmgen.units import units

ROOT = Path(__file__).parent.parent
TARGETS = ("amd64", "arm64")

SCRIPT = '''"""tiny: integers modulo 2^61 - 1 in one word."""

from asmgen import Count, Field, kernel, repeat

fe = Field("tiny", 2**61 - 1, limbs=[61])
loose = fe.limbs_below(2**63)
tight = fe.limbs_below(2**62)


def fold(x):
    low, high = x.split(61)
    return low + high


@kernel
def add(a: tight, b: tight) -> loose:
    return [a[0] + b[0]]


@kernel
def carry(a: loose) -> tight:
    return [fold(a[0])]


@kernel
def mul(a: tight, b: tight) -> tight:
    return [fold(fold(a[0] * b[0]))]
'''


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "tiny.py"
    path.write_text(SCRIPT)
    return str(path)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_four_files_a_target(script: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    made = build([script], TARGETS, out)
    wanted = [f"{target}/tiny{ending}" for target in TARGETS for ending in (".S", ".h", ".c", ".lst")]
    assert [path.relative_to(out).as_posix() for path, _ in made] == wanted
    assert sorted(files(out)) == sorted(wanted)
    assert all(new for _, new in made)
    assert not any(new for _, new in build([script], TARGETS, out))
    assert check([script], TARGETS, out) == []
    text = (out / "amd64/tiny.S").read_text()
    assert " *     asmgen build tiny.py --target amd64\n" in text
    assert str(tmp_path) not in text + (out / "amd64/tiny.lst").read_text()
    assert [line for line in text.splitlines() if line.startswith("SYMBOL(")] == [
        "SYMBOL(tiny_add):", "SYMBOL(tiny_carry):", "SYMBOL(tiny_mul):",
    ]  # fmt: skip


def test_the_same_bytes_from_another_process(script: str, tmp_path: Path) -> None:
    """Whatever the seed of hashes, the working directory and the number of processes."""
    build([script, "curve25519_5x51.mul_small"], TARGETS, tmp_path / "here")
    command = "import sys; from asmgen.build import build; from pathlib import Path; import asmgen.work as work\n"
    command += "work.each = lambda function, jobs: map(function, jobs)\n"
    command += "import asmgen.build; asmgen.build.each = work.each\n"
    command += f"build([{script!r}, 'curve25519_5x51.mul_small'], {TARGETS!r}, Path('there'))"
    environment = {**os.environ, "ASMGEN_CACHE": "off", "PYTHONHASHSEED": "4711", "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", command], cwd=tmp_path, env=environment, check=True)
    assert files(tmp_path / "there") == files(tmp_path / "here")


def test_check_names_the_first_difference(script: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    build([script], TARGETS, out)
    path = out / "arm64/tiny.S"
    lines = path.read_text().splitlines()
    number = next(i for i, line in enumerate(lines) if "\tadd\t" in line)
    lines[number] = lines[number].replace("add", "sub")
    path.write_text("\n".join(lines) + "\n")
    (out / "amd64/tiny.lst").unlink()
    (out / "amd64/tiny.c").write_bytes(b"\xff\xfe")
    before = files(out)
    found = check([script], TARGETS, out)
    assert found[0] == f"{out / 'amd64/tiny.c'} is no text"
    assert found[1] == f"{out / 'amd64/tiny.lst'} is missing"
    assert found[2].startswith(f"{path}:{number + 1} is not what the script makes\n    there: sub")
    assert "\n    made:  add" in found[2]
    assert len(found) == 3
    assert files(out) == before


def test_check_sees_a_file_cut_short(script: str, tmp_path: Path) -> None:
    build([script], ["amd64"], tmp_path)
    path = tmp_path / "amd64/tiny.h"
    text = path.read_text()
    path.write_text(text[: text.rindex("\n", 0, -1) + 1])
    (found,) = check([script], ["amd64"], tmp_path)
    assert f"{path}:{text.count(chr(10))} is not what the script makes\n    there: \n    made:  #endif" in found


def test_check_names_files_that_no_script_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.setattr(scripts, "directory", lambda: tmp_path)
    (tmp_path / "tiny.py").rename(tmp_path / "small.py")
    out = tmp_path / "out"
    build([], TARGETS, out)
    assert check([], TARGETS, out) == []
    for stray in ("amd64/gone.S", "readme", "riscv/small.S"):
        (out / stray).parent.mkdir(exist_ok=True)
        (out / stray).write_text("")
    assert check([], TARGETS, out) == [
        f"{out / each} is made by no script" for each in ("amd64/gone.S", "readme", "riscv/small.S")
    ]
    assert check([], ["amd64"], out) == [f"{out / 'amd64/gone.S'} is made by no script"]
    assert check(["small"], TARGETS, out) == []
    assert " *     asmgen build small --target amd64\n" in (out / "amd64/small.S").read_text()


def test_one_kernel_narrows_a_new_file_and_refreshes_an_old_one(script: str, tmp_path: Path) -> None:
    build([f"{script}:mul"], ["amd64"], tmp_path / "one")
    text = (tmp_path / "one/amd64/tiny.S").read_text()
    assert "SYMBOL(tiny_mul):" in text and "SYMBOL(tiny_add):" not in text
    assert "asmgen build tiny.py:mul --target amd64" in text
    assert check([f"{script}:mul"], ["amd64"], tmp_path / "one") == []
    build([f"{script}:add"], ["amd64"], tmp_path / "one")  # beside mul, in the script's order
    text = (tmp_path / "one/amd64/tiny.S").read_text()
    assert "asmgen build tiny.py:add tiny.py:mul --target amd64" in text
    build([script], ["amd64"], tmp_path / "all")
    whole = files(tmp_path / "all")
    build([f"{script}:mul"], ["amd64"], tmp_path / "all")
    assert files(tmp_path / "all") == whole


def test_variants_have_a_suffix_and_are_kept_up_to_date(tmp_path: Path) -> None:
    out, selectors = tmp_path, ["curve25519_5x51.mul_small"]
    made = build(selectors, TARGETS, out, features="base")
    assert [path.name for path, _ in made] == [f"curve25519_5x51_base{ending}" for ending in building.ENDINGS]
    text = (out / "amd64/curve25519_5x51_base.S").read_text()
    assert "asmgen build curve25519_5x51.mul_small --target amd64 --features base" in text
    assert "mulx" not in text and "Needs any amd64 CPU." in text
    assert '#include "curve25519_5x51_base.h"' in (out / "amd64/curve25519_5x51_base.c").read_text()
    assert "#ifndef CURVE25519_5X51_BASE_H" in (out / "amd64/curve25519_5x51_base.h").read_text()
    names = [unit.origin.stem for unit in units(selectors, TARGETS, out)]
    assert names == ["curve25519_5x51", "curve25519_5x51_base", "curve25519_5x51"]
    (out / "amd64/curve25519_5x51_base.S").write_text(text.replace("addq", "subq"))
    build(selectors, TARGETS, out)
    assert (out / "amd64/curve25519_5x51_base.S").read_text() != text.replace("addq", "subq")
    assert check(selectors, TARGETS, out) == []
    needed = (out / "amd64/curve25519_5x51.h").read_text()
    assert "needs a CPU with BMI2 (CPUID leaf 7, EBX bit 8)" in needed


def test_prefix_is_in_every_file(script: str, tmp_path: Path) -> None:
    build([script], ["amd64"], tmp_path, prefix="my_")
    for ending, wanted in (
        (".S", "#define PREFIXED(name) my_##name"), (".h", "void my_tiny_add("), (".c", "void my_tiny_add("),
        (".lst", "\nmy_tiny_add\n"),
    ):  # fmt: skip
        assert wanted in (tmp_path / f"amd64/tiny{ending}").read_text()
        assert "--prefix my_" in (tmp_path / f"amd64/tiny{ending}").read_text()


def test_what_cannot_be_made_is_said(script: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="arm64 have no feature set base"):
        units([script], ["arm64"], tmp_path, features="base")
    with pytest.raises(AsmgenError, match="cannot start the name of a C function"):
        units([script], TARGETS, tmp_path, prefix="1")
    other = tmp_path / "other" / "tiny.py"
    other.parent.mkdir()
    other.write_text(SCRIPT)
    with pytest.raises(UsageError, match="two scripts are named tiny"):
        units([script, str(other)], TARGETS, tmp_path)


# Faults while writing.


def test_nothing_is_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk or Ctrl-C at any moment: old files whole, nothing left beside them."""
    old = {"amd64/a.S": "old a\n", "amd64/b.S": "old b\n", "arm64/c.S": "old c\n"}
    new = {name: text.replace("old", "new") for name, text in old.items()}
    real = Path.write_text
    faults: list[BaseException] = [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), KeyboardInterrupt()]
    for fault in faults:
        for moment in range(3):
            out = tmp_path / f"{type(fault).__name__}{moment}"
            write(old, out)
            count = 0

            def failing(self: Path, text: str, *args: object, **more: object) -> int:
                nonlocal count
                count += 1
                if count > moment:  # noqa: B023
                    real(self, text[:2])
                    raise fault  # noqa: B023
                return real(self, text, *args, **more)  # type: ignore[arg-type]

            with monkeypatch.context() as patch:
                patch.setattr(Path, "write_text", failing)
                expected = KeyboardInterrupt if isinstance(fault, KeyboardInterrupt) else AsmgenError
                with pytest.raises(expected) as caught:
                    write(new, out)
            if expected is AsmgenError:
                assert "cannot be written: No space left on device" in str(caught.value)
                assert "the files that were there are as they were" in str(caught.value)
            assert files(out) == {name: text.encode() for name, text in old.items()}
            assert [new for _, new in write(new, out)] == [True] * 3


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("here")
    with pytest.raises(AsmgenError, match="cannot be written: (Not a directory|File exists)"):
        write({"amd64/a.S": "text\n"}, blocked)
    assert blocked.read_text() == "here"
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        if os.access(locked, os.W_OK):
            pytest.skip("this user may write everywhere")
        with pytest.raises(AsmgenError, match=f"{locked}.* cannot be written: Permission denied"):
            write({"amd64/a.S": "text\n"}, locked)
    finally:
        locked.chmod(stat.S_IRWXU)


@pytest.mark.parametrize("ending", ("S", "c"))
def test_visible_symbols_are_exported(script: str, ending: str, tmp_path: Path) -> None:
    target = _this_machine()
    for visible in (False, True):
        build([script], [target], tmp_path, visible=visible)
        library = tmp_path / f"{visible}.so"
        source = tmp_path / target / f"tiny.{ending}"
        must([*compiler("gcc", target), "-shared", "-fPIC", str(source), "-o", str(library)], tmp_path)
        assert hasattr(ctypes.CDLL(str(library)), "tiny_add") == visible
        assert (" --visible" in source.read_text()) == visible


def test_run_prints_a_line_a_file(script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    building.run([script], ["amd64"], out=out)
    wanted = [str(out / f"amd64/tiny{ending}") for ending in building.ENDINGS]
    assert capsys.readouterr().out.splitlines() == wanted
    building.run([script], ["amd64"], out=out)
    assert capsys.readouterr().out.splitlines() == [f"{path} (as it was)" for path in wanted]
    building.run([script], ["amd64"], out=out, check=True)
    assert capsys.readouterr().out.splitlines() == [f"{out} is what the scripts make"]
    for ending in (".h", ".c"):
        (out / f"amd64/tiny{ending}").write_text("")
    with pytest.raises(AsmgenError, match=r"tiny\.h:1 is not what the script makes(.|\n)*and 1 more") as caught:
        building.run([script], ["amd64"], out=out, check=True)
    assert "asmgen build makes the files anew" in str(caught.value)


# The shipped kernels, as compilers and processors see them.


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All kernels, all targets, all variants."""
    out = tmp_path_factory.mktemp("out")
    for features in sorted({each for known in FEATURES.values() for each in known}):
        build([], TARGETS, out, features=features)
    return out


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", ("gcc", "clang", "apple"))
def test_compilers_take_all_shipped_files(shipped: Path, target: str, kind: str, tmp_path: Path) -> None:
    """Assembly and C without a warning; the assembled bytes are those of our tables, open calls aside."""
    command = apple(target) if kind == "apple" else compiler(kind, target)
    warnings = ["-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Werror", "-std=c99"]
    free, quick = ([], []) if kind == "gcc" else (["-ffreestanding"], ["-fsyntax-only"])  # clang warns while it reads
    for path in sorted((shipped / target).glob("*.[Sc]")):
        made = tmp_path / f"{path.name}.o"
        flags = [*warnings, *quick] if path.suffix == ".c" else ["-Wall", "-Wextra", "-Werror"]
        assert must([*command, *flags, *free, "-O1", "-c", str(path), "-o", str(made)], tmp_path) == ""
        if path.suffix == ".S" and kind != "apple":
            functions = elf.read(made.read_bytes(), path.name).functions()
            variant = path.stem.rpartition("_")[2]
            features = variant if variant in FEATURES[target] else "default"
            script = path.stem.removesuffix(f"_{variant}") if features != "default" else path.stem
            for kernel in scripts.find([script]):
                symbol = kernel.signature.symbol
                ours = assemble(compile_kernel(kernel, Options(target, features)).items)
                places = [offset + (target == "amd64") for offset, _, _ in ours.relocations]
                assert _open(functions[symbol].code, places) == _open(ours.code, places), symbol


def _open(code: bytes, places: Iterable[int]) -> bytes:
    """The code with nothing in the four bytes where a linker fills in an address."""
    made = bytearray(code)
    for place in places:
        made[place : place + 4] = bytes(4)
    return bytes(made)


@pytest.mark.parametrize("kind, flags", [("gcc", ["-DASMGEN_PLAIN_C"]), ("clang", [])], ids=("gcc-plain", "clang-wide"))
def test_c_of_shipped_kernels_computes_what_they_must(kind: str, flags: list[str], tmp_path: Path) -> None:
    """On this machine, edge-biased inputs, against the meaning on residues and the contract.

    tests/test_native.py does so for what gcc makes of the 128-bit form, and for the assembly.
    """
    target = _this_machine()
    _exported(target, tmp_path)
    for script in scripts.shipped():
        source, library = tmp_path / target / f"{script}.c", tmp_path / f"{script}.so"
        must([*compiler(kind, target), *flags, "-O1", "-shared", "-fPIC", str(source), "-o", str(library)], tmp_path)
        _held_to_meaning(ctypes.CDLL(str(library)), scripts.find([script]))


def _exported(target: str, out: Path) -> None:
    """The shipped files, but for one thing: a shared object made of them exports the routines."""
    build([], [target], out)
    for path in (out / target).iterdir():
        text = path.read_text().replace("visibility push(hidden)", "visibility push(default)")
        path.write_text(text.replace("#define HIDDEN(name) .hidden SYMBOL(name)", "#define HIDDEN(name)"))


def _this_machine() -> str:
    for target in TARGETS:
        if _native(target):
            return target
    pytest.skip("neither amd64 nor arm64, little-endian")


def _native(target: str) -> bool:
    try:
        return sys.byteorder == "little" and runner(target) == []
    except pytest.skip.Exception:
        return False


def _held_to_meaning(library: ctypes.CDLL, kernels: list[Function], seed: int = 20260401) -> None:
    rng = random.Random(seed)
    for kernel in kernels:
        function = library[kernel.signature.symbol]
        function.restype = ctypes.c_uint64 if kernel.signature.returns_bit else None
        for _ in range(200 if isinstance(kernel, Kernel) else 5):
            given = [_input(rng, parameter.contract) for parameter in kernel.signature.inputs]
            outputs = [_buffer(parameter.contract) for parameter in kernel.signature.outputs]
            bit = function(*outputs, *(argument for argument, _ in given))
            residues = [value for _, value in given]
            found = [_value(p.contract, list(b)) for p, b in zip(kernel.signature.outputs, outputs, strict=True)]
            found += [bit] if kernel.signature.returns_bit else []
            assert tuple(found) == kernel.expected(residues), f"{kernel}, seed {seed}, {residues}"


def _buffer(contract: object) -> ctypes.Array:  # type: ignore[type-arg]
    if isinstance(contract, Bytes):
        return (ctypes.c_uint8 * contract.length)()
    assert isinstance(contract, Element)
    return (ctypes.c_uint64 * contract.words)()


def _value(contract: object, words: list[int]) -> int:
    """What an output stands for; the contract must hold."""
    if isinstance(contract, Bytes):
        return int.from_bytes(bytes(words), contract.order)
    assert isinstance(contract, Element)
    assert contract.fault(words) is None
    return contract.residue(words)


def _input(rng: random.Random, contract: object) -> tuple[object, object]:
    """A C argument that the contract allows, and what it stands for."""
    if isinstance(contract, Element):
        limbs = _limbs(rng, contract)
        return (ctypes.c_uint64 * len(limbs))(*limbs), contract.residue(limbs)
    if isinstance(contract, Table):
        entries = [_limbs(rng, contract.element) for _ in range(contract.count)]
        words = [limb for limbs in entries for limb in limbs]
        return (ctypes.c_uint64 * len(words))(*words), tuple(map(contract.element.residue, entries))
    if isinstance(contract, Bytes):
        text = rng.randbytes(contract.length)
        return (ctypes.c_uint8 * contract.length)(*text), int.from_bytes(text, contract.order)
    most = 20 if contract.kind == "count" else contract.value_max  # type: ignore[attr-defined]
    value = rng.choice((0, 1, most, rng.randint(0, most)))
    return ctypes.c_uint64(value), value


def _limbs(rng: random.Random, contract: Element) -> list[int]:
    while True:
        limbs = [rng.choice((0, 1, most, most, rng.randint(0, most))) for most in contract.limb_max]
        limbs = [limb - limb % contract.multiple_of for limb in limbs]
        if contract.fault(limbs) is None:
            return limbs
