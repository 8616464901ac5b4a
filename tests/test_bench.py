"""The timer and the command: calibration, the code of windows, a short real run, errors, JSON and the page."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from asmgen.bench import child, command, entrants, openssl, timer
from asmgen.bench.harness import ARGUMENTS, CONTEXTS, ROW, chain, wide, window
from asmgen.bench.timer import THROUGHPUT, Routine, Samples, can_run, compiled_core, timed
from asmgen.cli import main
from asmgen.diff.lines import lines
from asmgen.diff.sources import Wishes
from asmgen.errors import AsmgenError
from asmgen.scripts import find, shipped
from emulate.compilers import found as compilers

#: Few; and the machine may be busy with the rest of the suite, so what is asserted of cycles is wide.
ROUNDS = 10
GCC = ("--target", "amd64", "--compiler", "gcc", "--flags", "-O1 -mbmi2")

needs_cpu = pytest.mark.skipif(bool(can_run("amd64", {"bmi2", "adx"})), reason=can_run("amd64", {"bmi2", "adx"}))
needs_gcc = pytest.mark.skipif(not any(each.family == "gcc" for each in compilers("amd64")), reason="no gcc")


def bench(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["bench", *arguments])


def adds(count: int) -> bytes:
    """A routine of so many dependent additions."""
    return b"\x48\x01\xc8" * count + b"\xc3"


def least(made: Samples, name: str) -> float:
    """The quickest window of all; where each one was disturbed there is nothing to be tested."""
    good = [one for rounds in made.cycles[name, THROUGHPUT] for one in rounds if one]
    if not good:
        pytest.skip("this machine is too busy for as much as one undisturbed window")
    return min(good)


def simple(name: str, code: bytes, **more: Any) -> Routine:
    return Routine(name, code, 0, (bytes(8),), {THROUGHPUT: None}, **more)


# Calibration.


def test_a_unit_comes_from_two_chains_and_leaves_out_what_a_window_spends_on_itself() -> None:
    spent, stamps = 70, 0.75
    fast, slow = (spent + blocks * child.BLOCK * stamps for blocks in (child.FEW, child.MANY))
    assert child.unit(fast, slow) == pytest.approx((stamps, spent))


def test_cycles_of_a_window_are_free_of_that_and_of_the_clock() -> None:
    assert child.judged(70 + 0.75 * 4000, 100, (0.75, 70), (0.75, 90)) == pytest.approx(40)
    assert child.judged(3000, 100, (0.75, -5), (0.75, 70)) == pytest.approx(40), "no negative time"


def test_a_window_between_chains_that_disagree_is_left_out() -> None:
    close = 0.75 * (1 + child.AGREE / 2)
    assert child.judged(3000, 100, (0.75, 0), (close, 0)) is not None
    assert child.judged(3000, 100, (0.75, 0), (0.75 * 1.05, 0)) is None
    assert child.judged(3000, 100, (-0.75, 0), (0.75, 0)) is None


def test_a_window_beside_which_additions_are_slow_is_left_out() -> None:
    assert child.kept(40.0, 3.9, 4.0) == 40.0
    assert child.kept(40.0, 2.9, 4.0) is None and child.kept(None, 4.0, 4.0) is None


@pytest.mark.parametrize("count", [1, 2, 7])
def test_everybody_takes_a_turn_in_each_round(count: int) -> None:
    order = child.turns(count, 6)
    rounds = [order[at : at + count] for at in range(0, len(order), count)]
    assert len(rounds) == 6 and all(sorted(each) == list(range(count)) for each in rounds)
    assert count < 7 or len({each[0] for each in rounds}) > 2


# Code.


@pytest.mark.parametrize("context", CONTEXTS)
def test_windows_are_code_that_calls_the_routine_so_often(context: Any) -> None:
    code = b"\xc3" + bytes(63) + window(64, 0, 9, context)
    made = list(lines("amd64", code, 64, len(code)))
    texts = [line.text for line in made]
    assert [line.goes for line in made if line.text.startswith("call")] == [0] * context.calls
    assert sum(text.startswith("push") for text in texts) == sum(text.startswith("pop") for text in texts) == 6
    assert texts[-1].startswith("ret") and sum("rdtsc" in text for text in texts) == 2
    first = next(line for line in made if line.text.startswith("j"))
    assert first.goes in {line.offset for line in made}


def test_the_chain_is_additions_that_wait_for_each_other() -> None:
    texts = [line.text for line in lines("amd64", chain(), 0, len(chain()))]
    assert sum(bool(re.match(r"addq?\s+%rcx, %rax", text)) for text in texts) == child.BLOCK


def test_the_wide_chain_is_as_many_that_do_not() -> None:
    texts = [line.text for line in lines("amd64", wide(), 0, len(wide())) if line.text.startswith("add")]
    assert len(texts) == child.BLOCK and len(set(texts[:8])) == 8
    assert all(re.fullmatch(r"addq?\s+%rcx, %r(?!cx)\w+", text) for text in texts)


def test_contexts_differ_and_keep_routines_aligned() -> None:
    assert len({each.code for each in CONTEXTS}) == len(CONTEXTS) >= 12
    assert all(each.code % 32 == 0 and each.stack % 16 == 0 and each.data % 8 == 0 for each in CONTEXTS)
    assert all(each.calls % 2 == 0 for each in CONTEXTS if each.apart), "results go back and forth"


def test_a_chained_call_takes_the_result_of_the_one_before() -> None:
    routine = Routine("f", b"\xc3", 0, (bytes(8), b"a" * 8, b"b" * 8, 5), {"by a": 1, "by b": 2, THROUGHPUT: None})
    for context in CONTEXTS:
        for mode, at in (("by a", 1), ("by b", 2)):
            rows = timer.rows_of(routine, mode, context, bytearray())
            assert len(rows) == context.calls and all(len(row) == ARGUMENTS == ROW // 8 for row in rows)
            for one, following in zip(rows, rows[1:] + rows[:1], strict=True):
                assert following[at] == one[0] and one[3] == ("n", 5)
            assert (rows[0][0] != rows[0][at]) == context.apart
        assert timer.rows_of(Routine("g", b"", 0, (3, 4), {THROUGHPUT: None}), THROUGHPUT, context, bytearray())
        rows = timer.rows_of(routine, THROUGHPUT, context, bytearray())
        assert all(row[0] not in row[1:] and row[1:] == rows[0][1:] for row in rows)


# A short run.


@needs_cpu
@pytest.mark.parametrize("python", [False, True])
def test_cycles_of_chains_of_additions_are_their_number(python: bool) -> None:
    """In 60 additions more, 60 cycles more, whatever the call takes."""
    made = timed([simple("fewer", adds(40)), simple("more", adds(100))], ROUNDS, contexts=CONTEXTS[:6], python=python)
    assert made.compiled == (not python and compiled_core() is not None) and not made.failed
    assert [len(made.cycles["more", THROUGHPUT]), len(made.cycles["more", THROUGHPUT][0])] == [6, ROUNDS]
    assert 50 < least(made, "more") - least(made, "fewer") < 70


@needs_cpu
def test_what_crashes_or_never_ends_is_named_and_the_others_are_timed() -> None:
    bad = [
        simple("ud2", b"\x0f\x0b"),
        simple("load", b"\x31\xc0\x48\x8b\x00\xc3"),  # from address 0
        simple("write", b"\xc6\x05\xf9\xff\xff\xff\x90\xc3"),  # to itself
        simple("exit", b"\xb8\x3c\x00\x00\x00\xbf\x07\x00\x00\x00\x0f\x05"),
        simple("loop", b"\xeb\xfe"),
    ]
    made = timed([simple("good", adds(50)), *bad], ROUNDS, contexts=CONTEXTS[:1], patience=1)
    assert made.failed["ud2"] == "crashed: this CPU does not know one of its instructions"
    assert "what it was not given" in made.failed["load"] and "what it was not given" in made.failed["write"]
    assert made.failed["loop"] == "did not come back within 1 s"
    assert made.failed["exit"] == "ended the process with 7"
    assert set(made.cycles) == {("good", THROUGHPUT)}


@needs_cpu
def test_a_figure_is_for_one_of_a_calls_units() -> None:
    routine = simple("one", adds(200))
    made = timed([routine, simple("tenth", adds(200), units=10)], ROUNDS, contexts=CONTEXTS[:2])
    assert least(made, "tenth") == pytest.approx(least(made, "one") / 10, rel=0.1)


@needs_cpu
def test_addresses_in_code_go_with_it() -> None:
    """mov rax, [address of the word behind]; jmp rax, which is the ret."""
    from emulate.driver import CODE

    code = b"\x48\xa1" + (CODE + 16).to_bytes(8, "little") + b"\xff\xe0" + bytes(4) + (CODE + 24).to_bytes(8, "little")
    made = timed([simple("far", code + b"\xc3", fixups=((2, 8), (16, 8)))], ROUNDS, contexts=CONTEXTS[:2])
    assert not made.failed and made.cycles["far", THROUGHPUT]


# The command.


@needs_cpu
@needs_gcc
def test_a_real_run_has_everything_and_ours_ties_with_itself_or_it_says_so() -> None:
    kernels = ("curve25519_5x51.mul", "curve25519_5x51.square_n")
    found = bench(*kernels, *GCC, "--rounds", str(ROUNDS), "--json")
    made = json.loads(found.output)
    mul, square_n = made["kernels"]
    assert mul["modes"] == ["latency by a", "latency by b", "throughput"] and square_n["modes"] == ["latency"]
    assert mul["unit"] == "call" and square_n["unit"] == "repetition" and "family" in made["cpu"]
    names = [each["name"] for each in square_n["routines"]]
    assert names[0] == "asmgen" and names[1].startswith("gcc") and names[-1] == "asmgen sqr, calls"
    if openssl.library():
        assert [each["name"].split()[-1] for each in mul["routines"][2:]] == ["x25519_fe51_mul"]
    for kernel in (mul, square_n):
        for mode, twice in kernel["same_routine_twice"].items():
            said = {row["ratio"][mode]["ours"] for row in kernel["routines"][1:] if mode in row["ratio"]}
            tied = twice is not None and twice <= 0.01
            assert tied or not kernel["quiet"]
            assert said <= {"faster", "slower", "no difference" if kernel["quiet"] else "too noisy to say"} or tied
        for row in kernel["routines"]:
            for cycles in row["cycles"].values():
                assert 15 < cycles["minimum"] <= cycles["median"] < 2000 and cycles["low"] <= cycles["high"]
            assert row["name"] != "asmgen" or not row["ratio"]


@needs_gcc
def test_other_peoples_code_is_checked_before_it_is_run(tmp_path: Path) -> None:
    path = tmp_path / "wrong.c"
    path.write_text("void f(unsigned long *o, unsigned long *a) { for (int i = 0; i < 5; i++) o[i] = a[i]; }\n")
    wishes = Wishes(compilers=("gcc",), flags=("-O1",), against=(f"{path}:f",))
    (field,) = entrants.fields(find(["curve25519_5x51.sqr"]), wishes)
    ((name, reason),) = field.failed
    assert name.startswith("wrong.c:f") and "is not the function of sqr: out differs" in reason


@needs_gcc
def test_arguments_go_where_a_layout_says() -> None:
    wishes = Wishes(compilers=("gcc",), flags=("-O1",))
    for name, order in (("p448_7x64.sqr", None), ("p256_order.square_n", (entrants.REPETITIONS,))):
        (field,) = entrants.fields(find([name]), wishes)
        ours = field.entries[0].routine
        theirs = [each.routine for each in field.entries if each.routine.name.startswith("OpenSSL")]
        for one in theirs if openssl.library() else ():
            assert len(one.arguments) == len(ours.arguments) + (name == "p256_order.sqr") and one.units == ours.units
            assert order is None or one.arguments[-1] == order[0]
            assert order is not None or [len(each) for each in one.arguments if isinstance(each, bytes)] == [64, 64]


def test_every_kernel_can_be_passed_its_arguments_and_chained_if_its_result_is_like_one() -> None:
    known = {f"{f.signature.script}.{f.name}": f.signature for f in find([])}
    assert all(len(each.parameters) <= ARGUMENTS for each in known.values())
    assert list(entrants.modes(known["p256.mul"])) == ["latency by a", "latency by b", THROUGHPUT]
    assert list(entrants.modes(known["p256.is_zero"])) == [THROUGHPUT]
    assert list(entrants.modes(known["p256.select"])) == ["latency by a", "latency by b", THROUGHPUT]
    assert list(entrants.modes(known["curve25519_5x51.ladder_step"])) == ["latency by x1", THROUGHPUT]
    assert list(entrants.modes(known["curve25519_5x51.square_n"])) == ["latency"]
    peers = {f"{script}.{name}" for script, each in openssl.PEERS.items() for name in each}
    assert peers <= set(known)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("curve25519_5x51.mull",), "did you mean mul?"),
        (("curve25519_5x51.mul", "--layout", "out, a, b"), "--layout is about --against"),
        (("curve25519_5x51", "--against", "x.o:f"), "--against is about one kernel"),
        (("curve25519_5x51.mul", "--html", "x.html", "--json"), "--html does not go with --json"),
        (("curve25519_5x51.mul", "--against", "nowhere.o:f"), "there is no file nowhere.o"),
        (("curve25519_5x51.mul", "--target", "arm64", "--core", "apple-m1"), "no model of its own for apple-m1"),
    ],
)
def test_what_cannot_be_asked_for_is_one_clear_line(arguments: Sequence[str], said: str) -> None:
    found = bench(*arguments)
    assert found.exit_code == 2 and said in found.output and "Traceback" not in found.output


@pytest.mark.parametrize(
    ("lacking", "said", "way"),
    [
        ("not measured: this CPU has no adx, bmi2", "this CPU has no adx, bmi2", "--features base"),
        ("not measured: this machine is arm64 Darwin, the code is for amd64", "arm64 Darwin", "--target arm64"),
    ],
)
def test_where_it_cannot_run_that_is_said(monkeypatch: pytest.MonkeyPatch, lacking: str, said: str, way: str) -> None:
    monkeypatch.setattr(command, "can_run", lambda *_: lacking)
    found = bench("curve25519_5x51.mul", "--target", "amd64")
    assert found.exit_code == 1 and said in found.output and way in found.output


def test_a_missing_symbol_is_named(tmp_path: Path) -> None:
    path = openssl.library()
    if path is None or can_run("amd64", {"bmi2", "adx"}):
        pytest.skip("no OpenSSL, or another machine")
    found = bench("curve25519_5x51.mul", *GCC, "--against", f"{path}:x25519_fe51_mull", "--rounds", str(ROUNDS))
    assert found.exit_code == 1 and "has no function x25519_fe51_mull" in found.output
    assert "did you mean x25519_fe51_mul?" in found.output


@needs_gcc
def test_what_is_disturbed_is_timed_again_and_the_calmest_is_kept() -> None:
    (field,) = entrants.fields(find(["p256.is_zero"]), Wishes(compilers=("gcc",), flags=("-O1",)))
    names = [entry.routine.name for entry in field.entries]
    turns = []

    def measure(best: float) -> Samples:
        assert best == (4.0 if turns else 0.0)
        slow = 1.0 + 0.1 * (5 - len(turns))  # how much longer most windows take
        turns.append(slow)
        return Samples({(name, THROUGHPUT): [[10.0] * 5 + [10.0 * slow] * 15] * 12 for name in names}, rate=4.0)

    made = command.calmest(field, measure, pause=0)
    assert len(turns) == command.ATTEMPTS == 5 and made.stretch == pytest.approx(0.1) and not made.quiet
    made = command.calmest(field, measure, best=4.0, pause=0)
    assert len(turns) == 6 and made.quiet


def test_without_a_c_compiler_it_is_timed_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timer.tools, "find", lambda names: None)
    assert compiled_core() is None
    said = command.notes(["amd64"], command.How(Wishes()))
    assert any("no C compiler here makes it" in line for line in said)


def test_arm64_is_counted_and_modelled() -> None:
    found = bench("curve25519_5x51.square_n", "--target", "arm64", "--core", "cortex-a55", "--json")
    if "no gcc for arm64" in found.output or "no modelled cycles" in found.output:
        pytest.skip("no cross compiler or llvm-mca")
    (made,) = json.loads(found.output)["kernels"]
    ours, *others = made["routines"]
    assert ours["name"] == "asmgen" and others and made["repetitions"] == 4
    assert 50 < ours["instructions"] < 400 and 20 < ours["products"] < 100
    assert 20 < ours["cycles"]["cortex-a55"] <= ours["cycles_alone"]["cortex-a55"] + 1 < 400


def test_nothing_comes_of_a_timer_that_cannot_begin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("raise SystemExit('no executable memory')\n")
    monkeypatch.setattr(timer.child, "__file__", str(broken))
    with pytest.raises(AsmgenError, match="the timer ended with 1: no executable memory"):
        timed([simple("one", adds(1))], ROUNDS)


def test_the_document_has_every_script_on_both_machines_and_names_the_cpu() -> None:
    text = (Path(__file__).parents[1] / "docs/performance.md").read_text()
    native, modelled = text.partition("## amd64")[2].split("## arm64")
    for script in shipped():
        for name in ("mul", "sqr", "square_n"):
            assert f"| `{script}.{name}` |" in native and f"| `{script}.{name}` |" in modelled
    assert re.search(r"family \d+, model \d+", native) and native.count("    asmgen bench") == 3
