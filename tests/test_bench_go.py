"""Go's own benchmarks beside ours: what is asked of the toolchain, what is made of its answer, and what goes wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_bench import needs_cpu

from asmgen.bench import golang
from asmgen.bench.command import beside_go
from asmgen.bench.entrants import Field
from asmgen.bench.result import Result, Row, as_json
from asmgen.bench.stats import Figure
from asmgen.bench.text import remarks
from asmgen.scripts import find

OURS = {"latency by a": 40.0, "latency by b": 50.0, "throughput": 30.0}
#: A toolchain that knows its version, and builds a test that writes down how it was called.
GO = """#!/bin/sh
case $1 in
version) echo "go version go1.99.1 linux/amd64"; exit ;;
esac
test "$GOPROXY" = off || exit 9
echo "$@" > {asked}
cat > test <<'END'
#!/bin/sh
echo "$@" >> {asked}
{body}
END
chmod +x test
"""
BODY = 'echo "BenchmarkMultiply \t 100\t 12.50 ns/op"; echo "BenchmarkMultiply \t 100\t 10.00 ns/op"'


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A toolchain in place of the real one; what it was asked."""
    return pretend(tmp_path, monkeypatch, BODY)


def pretend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> Path:
    asked = tmp_path / "asked"
    (tmp_path / "go").write_text(GO.format(asked=asked, body=body))
    (tmp_path / "go").chmod(0o755)
    monkeypatch.setattr(golang, "toolchain", lambda: str(tmp_path / "go"))
    return asked


def test_the_best_time_becomes_cycles_and_a_ratio(asked: Path) -> None:
    told = golang.told("curve25519_5x51", "mul", OURS, 3e9)
    assert told is not None and not told.failed
    assert (told.nanoseconds, told.cycles, told.mode, told.ratio) == (10.0, 30.0, "latency by a", 0.75)
    assert told.line.startswith("Go 1.99.1 field.Multiply: 10.00 ns at best, by a core's rate 30.0 cycles, 0.75 of")
    built, ran, *again = asked.read_text().splitlines()
    assert built == "test -c -o test crypto/internal/fips140/edwards25519/field"
    assert "-test.run=^$ -test.bench=^BenchmarkMultiply$ " in ran and "-test.cpu=1" in ran
    assert again and set(again) == {ran}


def test_a_square_by_multiplication_is_held_against_the_slower_operand(asked: Path) -> None:
    told = golang.told("p384", "mul", OURS, 3e9)
    assert told is not None and told.mode == "latency by b" and told.ratio == 0.6
    assert "-test.bench=^BenchmarkMul$/^P384$ " in asked.read_text()


@pytest.mark.parametrize("body", ["exit 3", "echo PASS"])
def test_what_gives_no_times_is_told(body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(tmp_path, monkeypatch, body)
    told = golang.told("p384", "sqr", {"latency": 80.0}, 3e9)
    assert told is not None and told.line.startswith("not timed: Go 1.99.1 fiat.Square/P384: Go's benchmark")


def test_nothing_is_told_where_there_is_nothing_to_tell(monkeypatch: pytest.MonkeyPatch, asked: Path) -> None:
    assert golang.told("p256", "mul", OURS, 3e9) is None  # no such benchmark
    assert golang.told("p384", "mul", {"throughput": 30.0}, 3e9) is None
    assert golang.told("p384", "mul", OURS, 0.0) is None  # the core's rate is not known
    monkeypatch.setattr(golang, "toolchain", lambda: None)
    assert golang.told("p384", "mul", OURS, 3e9) is None
    assert not asked.exists()


def test_results_carry_it_to_people_and_programs(asked: Path) -> None:
    (kernel,) = find(["p384.mul"])
    rows = (Row("asmgen", "ours", (), {mode: Figure(each, each, each, each) for mode, each in OURS.items()}, {}),)
    made = Result("p384.mul", "call", tuple(OURS), rows, {}, 0.0, 0.0, (), -1, True, 4.0, 3e9)
    shown = beside_go(Field(kernel, (), ()), made)
    assert made.go is None and shown.go is not None
    assert any(line == shown.go.line for line, _ in remarks(shown))
    assert as_json(shown)["go"]["cycles"] == 30.0 and as_json(made)["go"] is None


@needs_cpu
def test_every_benchmark_is_go_s_and_every_kernel_ours() -> None:
    for script, kernels in golang.BENCHMARKS.items():
        assert len(find([f"{script}.{name}" for name in kernels])) == len(kernels)
    if golang.toolchain() is None:
        pytest.skip("no go here")
    told = golang.told("curve25519_5x51", "mul", OURS, 3e9)
    assert told is not None and 5 < told.nanoseconds < 500, told
