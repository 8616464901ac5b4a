"""Object code of other people laid out: what it reads, calls and lacks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from diffs import any_compiler, compiled, kernel

from asmgen.diff.comparison import follow
from asmgen.diff.image import from_bytes, load
from asmgen.diff.same import same
from asmgen.errors import AsmgenError

ADD = "curve25519_5x51.add"
TARGETS = pytest.mark.parametrize("target", ["amd64", "arm64"])


@TARGETS
@pytest.mark.parametrize("flags", ["-O1", "-O1 -fPIC -fno-stack-protector", "-O1 -ffunction-sections -fdata-sections"])
def test_tables_and_helpers_come_along(target: str, flags: str) -> None:
    text = """
    #include <stdint.h>
    extern const uint64_t table[5];
    const uint64_t table[5] = {0, 0, 0, 0, 0};
    __attribute__((noinline)) static uint64_t helper(uint64_t x, uint64_t y) { return x + y; }
    void fe_add(uint64_t *out, const uint64_t *a, const uint64_t *b)
    {
        for (int i = 0; i < 5; i++) out[i] = helper(a[i], b[i]) + ((const volatile uint64_t *)table)[i];
    }
    """
    function = kernel(ADD)
    body = compiled(text, "fe_add", function, target, flags)
    assert same(function, body, 200).holds
    names = {body.function_at(offset)[2] for offset in follow(function, body).kinds}
    assert names == {"fe_add", "helper"}


@TARGETS
def test_what_is_called_but_not_there_is_named_when_it_is_reached(target: str) -> None:
    text = """
    extern void elsewhere(unsigned long *);
    void fe_add(unsigned long *out, const unsigned long *a) { elsewhere(out); out[0] = a[0]; }
    """
    function = kernel(ADD)
    with pytest.raises(AsmgenError, match="it calls elsewhere, which is not in the files given"):
        follow(function, compiled(text, "fe_add", function, target, "-O1"))


@TARGETS
def test_data_of_another_library_is_an_error(target: str) -> None:
    text = "extern unsigned long there; void f(unsigned long *out) { out[0] = there; }"
    data = any_compiler(target).compile({"a.c": text}, "a.c", ["-O1"])
    with pytest.raises(AsmgenError, match="needs there, which is data of another library"):
        from_bytes(data, "a.o", "f")


def test_variables_are_an_error() -> None:
    text = "static unsigned long calls; void f(unsigned long *out) { out[0] = calls++; }"
    data = any_compiler().compile({"a.c": text}, "a.c", ["-O1"])
    with pytest.raises(AsmgenError, match="filled at run time"):
        from_bytes(data, "a.o", "f")


def test_a_symbol_that_is_not_there_is_answered_with_those_that_are() -> None:
    data = any_compiler().compile({"a.c": "void fe_mul(void) {} void fe_sqr(void) {}"}, "a.c")
    with pytest.raises(AsmgenError) as caught:
        from_bytes(data, "a.o", "fe_mull")
    assert "a.o has no function fe_mull" in str(caught.value)
    assert "did you mean fe_mul?" in str(caught.value) and "fe_mul, fe_sqr" in str(caught.value)


def test_archives_are_searched_for_what_a_function_calls(tmp_path: Path) -> None:
    compiler = any_compiler()
    for name, text in {
        "one": "extern long two(long); void one(long *o, long *a) { *o = two(*a); }",
        "two": "long two(long x) { return x + 1; }",
    }.items():
        (tmp_path / f"{name}.o").write_bytes(compiler.compile({"a.c": text}, "a.c", ["-O1"]))
    subprocess.run(["ar", "rcs", "lib.a", "one.o", "two.o"], cwd=tmp_path, check=True)
    image = load(tmp_path / "lib.a", "one")
    assert {name for _, _, name in image.functions} == {"one", "two"} and not image.absent


def test_shared_objects_are_refused_with_the_way_out(tmp_path: Path) -> None:
    compiler = any_compiler()
    (tmp_path / "a.c").write_text("void f(void) {}")
    command = [*compiler.command, "-shared", "-fPIC", "-nostdlib", "a.c", "-o", "a.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    with pytest.raises(AsmgenError, match="is a shared object"):
        load(tmp_path / "a.so", "f")


def test_compilers_may_guard_the_stack_by_a_word_of_the_thread() -> None:
    """On amd64; the call into the C library is where the guard was overwritten, and is not reached."""
    text = """
    #include <stdint.h>
    void fe_add(uint64_t *out, const uint64_t *a, const uint64_t *b)
    {
        volatile uint64_t held[5];
        for (int i = 0; i < 5; i++) held[i] = a[i] + b[i];
        for (int i = 0; i < 5; i++) out[i] = held[i];
    }
    """
    function = kernel(ADD)
    body = compiled(text, "fe_add", function, "amd64", "-O1 -fstack-protector-all")
    assert any("%fs:" in line.text for line in body.lines.values())
    assert same(function, body, 200).holds
