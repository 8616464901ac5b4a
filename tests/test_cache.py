"""Routines kept between runs: found again, never stale, and no harm when the files are not what they were."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from asmgen import cache
from asmgen.cache import cached, keep
from asmgen.field import Field
from asmgen.kernel import Kernel, kernel
from asmgen.passes import Options, compile_kernel, compile_stages
from asmgen.scripts import find, load

SCRIPT = """from asmgen import Field, kernel
narrow, wide = (Field("small", 2**61 - 1, limbs=[61]).limbs_below(2**n) for n in (60, 61))

@kernel
def add(a: narrow, b: narrow) -> wide:
    return [a[0] + b[0]]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of its own for each test."""
    monkeypatch.setenv("ASMGEN_CACHE", str(tmp_path / "cache"))
    _forget()
    yield tmp_path / "cache"
    _forget()


def _forget() -> None:
    cache._folder.cache_clear()


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def never() -> int:
    raise AssertionError("it is kept")


@pytest.mark.parametrize("target", ["amd64", "arm64"])
def test_a_routine_comes_back_as_it_was(target: str) -> None:
    (kernel,) = find(["curve25519_5x51.square_n"])
    code = compile_stages(kernel, Options(target)).frame
    assert cached(("routine",), lambda: code) is code
    again = cached(("routine",), never)
    assert again == code and again is not code
    assert all(mine.row is kept.row for mine, kept in zip(code.items, again.items, strict=True) if hasattr(mine, "row"))


def test_what_is_not_trusted_is_made_and_kept() -> None:
    assert cached(("x",), lambda: 1) == 1
    assert cached(("x",), lambda: 2, trust=False) == 2
    assert cached(("x",), never) == 2
    keep(("x",), 3)
    assert cached(("x",), never) == 3


def test_another_key_or_script_is_another_place() -> None:
    assert cached(("x",), lambda: 1, script="a") == 1
    assert cached(("y",), lambda: 2, script="a") == 2
    assert cached(("x",), lambda: 3, script="b") == 3
    assert cached(("x",), lambda: 4) == 4
    assert cached(("x",), never, script="a") == 1


def test_what_comes_of_no_script_is_not_kept(folder: Path) -> None:
    assert cached(("x",), lambda: 1, script="") == 1
    assert cached(("x",), lambda: 2, script="") == 2
    assert files(folder) == []


def test_scripts_are_told_apart_by_place_text_and_what_lies_beside(tmp_path: Path) -> None:
    script, other = tmp_path / "a.py", tmp_path / "b.py"
    script.write_text(SCRIPT)
    first = load(script).kernels["add"].version
    assert first and load(script).kernels["add"].version == first
    other.write_text(SCRIPT)
    beside = load(script).kernels["add"].version
    assert len({first, beside, load(other).kernels["add"].version}) == 3
    script.write_text(SCRIPT + "# changed\n")
    assert load(script).kernels["add"].version not in (first, beside)


def test_a_kernel_of_no_script_is_compiled_each_time(folder: Path) -> None:
    """Two kernels of one name in one file, such as a function makes them."""
    for below in (2**20, 2**30):
        assert made(below).version == ""
        compile_kernel(made(below), Options("arm64"))
    assert files(folder) == []


def made(below: int) -> Kernel:
    field = Field("small", 2**61 - 1, limbs=[61])
    narrow = field.limbs_below(below)

    @kernel
    def add(a: narrow, b: narrow) -> field.limbs_below(2 * below):  # type: ignore[valid-type]
        return [a[0] + b[0]]

    return add


def test_another_version_is_another_place_and_few_are_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in range(7):
        monkeypatch.setattr(cache, "_version", lambda version=version: f"{version}" * 64)
        _forget()
        assert cached(("x",), lambda version=version: version) == version
        (place,) = [path for path in folder.iterdir() if path.name[0] == str(version)]
        os.utime(place, (version, version))
    assert sorted(path.name[0] for path in folder.iterdir()) == ["3", "4", "5", "6"]


BROKEN = [
    b"",
    b"not a pickle",
    pickle.dumps([1, 2, 3])[:-2],
    pickle.dumps(os.getcwd),
    b"\x80\x04\x8c\x0casmgen.cache\x94\x8c\x09os.getcwd\x94\x93.",
    b"\x80\x04\x8c\x0casmgen.cache\x94\x8c\x06_write\x94\x93.",
]


@pytest.mark.parametrize("text", BROKEN)
def test_a_file_that_is_not_what_was_written_is_made_anew(folder: Path, text: bytes) -> None:
    assert cached(("x",), lambda: 1) == 1
    (place,) = files(folder)
    place.write_bytes(text)
    assert cached(("x",), lambda: 2) == 2
    assert cached(("x",), never) == 2


def test_without_a_place_to_write_everything_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    for place in ("off", str(tmp_path / "file")):
        monkeypatch.setenv("ASMGEN_CACHE", place)
        _forget()
        assert cached(("x",), lambda: 1) == 1
        assert cached(("x",), lambda: 2) == 2


def test_what_cannot_be_kept_is_given_all_the_same(folder: Path) -> None:
    assert callable(cached(("x",), lambda: never.__class__))
    assert files(folder) == []
