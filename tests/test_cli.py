"""asmgen.cli: what a person types and reads."""

from __future__ import annotations

import json
import os
import pty
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from asmgen.cli import main
from asmgen.passes import FEATURES, PIPELINE

ROOT = Path(__file__).parent.parent

SCRIPT = '''\
"""Integers modulo 2^61 - 1 in one word."""
from asmgen import Bit, Bytes, Count, Field, Small, kernel, repeat, select

fe = Field("tiny", 2**61 - 1, limbs=[61])
tight = fe.limbs_below(2**62)


def fold(x):
    low, high = x.split(61)
    return low + high


@kernel
def mul(a: tight, b: tight) -> tight:
    return [fold(fold(a[0] * b[0]))]


@kernel
def sqr(a: tight) -> tight:
    return mul(a, a)


@kernel
def square_n(a: tight, n: Count) -> tight:
    return repeat(n, sqr, a)
'''

WRONG = (
    SCRIPT
    + '''

@kernel(computes=lambda a: a + 1)
def sure(a: tight) -> tight:
    """Says a + 1, and gives a."""
    return [fold(a[0])]


@kernel(computes=lambda a, b: a * b)
def seldom(a: tight, b: tight) -> tight:
    """Right but for a few values."""
    carried = fold(fold(a[0] * b[0]))
    return [carried.split(61)[0]]
'''
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of one's own, with a script and a wrong one."""
    (tmp_path / "tiny.py").write_text(SCRIPT)
    (tmp_path / "wrong.py").write_text(WRONG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asmgen(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), prog_name="asmgen")


def process(words: Sequence[str], **more: object) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "asmgen", *words]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, **more)  # type: ignore[call-overload,no-any-return]


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# Help.


@pytest.mark.parametrize("words", [["--help"], ["-h"], *([name, "--help"] for name in main.commands)])
def test_help_has_examples_that_are_understood(words: list[str]) -> None:
    result = asmgen(*words)
    assert result.exit_code == 0
    assert result.output.startswith("Usage: asmgen ")
    examples = [line.strip() for line in result.output.splitlines() if line.startswith("    asmgen ")]
    assert len(examples) >= 3
    for example in examples:
        typed = shlex.split(example.partition("  ")[0])[1:]
        command = main.commands[typed[0]]
        context = command.make_context(typed[0], [word for word in typed[1:] if word != "--help"])
        assert "--help" in typed or not context.args


def test_each_command_is_in_the_help_with_a_whole_sentence() -> None:
    text = asmgen("--help").output
    for name, command in main.commands.items():
        assert f"\n  {name} " in text and command.get_short_help_str(60) in text
        assert not command.get_short_help_str(60).endswith("...")


def test_without_a_command_help_is_shown() -> None:
    result = asmgen()
    assert result.exit_code == 2 and "Commands:" in result.output


def test_version() -> None:
    result = asmgen("--version")
    assert result.exit_code == 0 and result.output.startswith("asmgen, version 0.")


# Words that are off.


@pytest.mark.parametrize(
    ("words", "status", "said", "hint"),
    [
        ("bild", 2, "no command bild", "did you mean build?"),
        ("xyzzy", 2, "no command xyzzy", "one of bench, build, "),
        ("list --jsn", 2, "--jsn", "--json"),
        ("build tiny.py --target arm46", 2, "there is no target arm46", "did you mean arm64?"),
        ("test tiny.py --target sparc", 2, "there is no target sparc", "one of amd64, arm64, all"),
        ("show tiny.py --target all", 2, "show takes one target", "--target amd64 or --target arm64"),
        ("show tiny.py:mul --after alocate", 2, "there is no pass alocate", "did you mean allocate?"),
        ("show tiny.py:mul --after qqqq", 2, "there is no pass qqqq", "values, words, select"),
        ("show", 2, "KERNEL", "asmgen show --help"),
        ("build tiny.py --features bas", 2, "no target has a feature set bas", "did you mean base?"),
        ("test tiny.py --features base --target arm64", 2, "arm64 has no feature set base", "default"),
        ("show tiny.py:mul --target arm64 --features base", 2, "arm64 has no feature set base", "default"),
        ("list curve25519_5x15", 2, "there is no script curve25519_5x15", "did you mean curve25519_5x51?"),
        ("test curve25519_5x51.mull", 2, "curve25519_5x51 has no kernel mull", "did you mean mul?"),
        ("test tiny.py:nul", 2, "tiny has no kernel nul", "did you mean mul?"),
        ("test nowhere.py", 2, "there is no script nowhere.py", "give the path of a .py file"),
        ("test tiny.py --vectors 0", 2, "--vectors", "asmgen test --help"),
        ("build tiny.py --prefix 9x --out o", 1, "9x", "letters, digits and underscores"),
        ("show tiny.py:mul --registers 1", 1, "more registers are needed", "use fewer values at a time"),
    ],
)
def test_unknown_words_are_answered_with_what_there_is(
    here: Path, words: str, status: int, said: str, hint: str
) -> None:
    result = asmgen(*words.split())
    assert (result.exit_code, said in result.output, hint in result.output) == (status, True, True), result.output
    assert "Traceback" not in result.output
    assert not (here / "o").exists()


# Scripts with faults.

FAULTS = {
    "syntax": ("fe = Field('tiny', 2**61 - 1, limbs=[61]\n", 3, "this is not Python"),
    "top": ("x = 1 / 0\n", 3, "ZeroDivisionError: division by zero"),
    "name": ("@kernel\ndef neg(a: tight) -> tight:\n    return [missing]\n", 7, "name 'missing' is not defined"),
    "bound": ("@kernel\ndef add(a: tight, b: tight) -> tight:\n    return [a[0] + b[0]]\n", 7, "promised is at most"),
    "sign": ("@kernel\ndef neg(a: tight) -> tight:\n    return [-a[0]]\n", 7, "negative"),
    "none": ("x = 1\n", 1, "this script has no kernel"),
}
START = "from asmgen import Field, kernel\n\n"
FIELD = "fe = Field('tiny', 2**61 - 1, limbs=[61])\ntight = fe.limbs_below(2**62)\n"


@pytest.mark.parametrize("command", ["list", "test", "build --out o"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_script_names_its_line(here: Path, fault: str, command: str) -> None:
    text, line, said = FAULTS[fault]
    field = FIELD if text.startswith("@kernel") else ""
    (here / "faulty.py").write_text(START + field + text)
    result = asmgen(*command.split(), "faulty.py")
    assert result.exit_code == 1
    assert result.output.startswith(f"error: faulty.py:{line}: ") and said in result.output
    assert "\n  try: " in result.output and "Traceback" not in result.output
    assert not (here / "o").exists()


def test_debug_shows_the_whole_way(here: Path) -> None:
    (here / "faulty.py").write_text("x = 1 / 0\n")
    for words in (["--debug", "list", "faulty.py"], ["list", "faulty.py", "--debug"]):
        finished = process(words)
        assert finished.returncode == 1
        assert "Traceback (most recent call last)" in finished.stderr and "ZeroDivisionError" in finished.stderr
    quiet = process(["list", "faulty.py"])
    assert quiet.returncode == 1 and "Traceback" not in quiet.stderr and quiet.stdout == ""


def test_a_fault_of_our_own_is_one_line_too(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("asmgen.scripts.load", lambda path: {}["key"])
    result = asmgen("list", "tiny.py")
    assert result.exit_code == 1
    assert result.output.startswith("error: a fault in asmgen itself, KeyError: 'key'\n  try: report it")
    with pytest.raises(KeyError):
        CliRunner().invoke(main, ["--debug", "list", "tiny.py"], catch_exceptions=False)


# Places that cannot be written, and ends that come too soon.


def test_a_place_that_cannot_be_written(here: Path) -> None:
    (here / "file").write_text("in the way")
    result = asmgen("build", "tiny.py", "--out", "file/below")
    assert result.exit_code == 1
    assert "file" in result.output and "cannot be written" in result.output and "--out" in result.output
    assert (here / "file").read_text() == "in the way"


def test_a_full_disk_leaves_the_old_files_whole(here: Path) -> None:
    assert asmgen("build", "tiny.py:mul").exit_code == 0
    before = tree(here / "out")
    limit = max(map(len, before.values())) // 2
    (here / "tiny.py").write_text(SCRIPT.replace("one word", "one single word"))
    full = process(["build", "tiny.py"], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert full.returncode == 1 and full.stdout == ""
    assert full.stderr.startswith("error: out cannot be written: File too large\n  try: the files that were there")
    assert tree(here / "out") == before
    assert asmgen("build", "tiny.py").exit_code == 0 and tree(here / "out") != before


def test_printing_where_no_room_is_left(here: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "asmgen", "list", "tiny.py", "--json"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        finished = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment, timeout=60)
    assert finished.returncode == 1
    assert finished.stderr.startswith("error: the system says no: No space left on device\n  try: ")
    assert "Traceback" not in finished.stderr


def test_nobody_reads_on(here: Path) -> None:
    command = f"{shlex.quote(sys.executable)} -m asmgen show tiny.py --after frame | true; echo ${{PIPESTATUS[0]}}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    finished = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=environment, cwd=here, timeout=60
    )
    assert (finished.stdout, finished.stderr) == ("0\n", "")


WRITING = """
import os, pathlib, signal
from asmgen.cli import main

write, count = pathlib.Path.write_text, 0

def interrupted(*args, **named):
    global count
    count += 1
    if count == 3:
        os.kill(os.getpid(), signal.SIGINT)
    return write(*args, **named)

pathlib.Path.write_text = interrupted
main(["build", "tiny.py"], prog_name="asmgen")
"""


def heeds_ctrl_c() -> None:
    """Jobs that a shell runs in the background ignore the signal, and so would what they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_while_files_are_written_leaves_the_old_ones_whole(here: Path) -> None:
    assert asmgen("build", "tiny.py:mul").exit_code == 0
    before = tree(here / "out")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    finished = subprocess.run(
        [sys.executable, "-c", WRITING], capture_output=True, text=True, env=environment, timeout=60,
        preexec_fn=heeds_ctrl_c,
    )  # fmt: skip
    assert (finished.returncode, finished.stderr) == (130, "interrupted: nothing was left half-written\n")
    assert tree(here / "out") == before


SLOW = (
    SCRIPT
    + """

import time
from pathlib import Path

@kernel(computes=lambda a: a)
def slow(a: tight) -> tight:
    Path("begun").touch()
    time.sleep(50)
    return [fold(a[0])]
"""
)


@pytest.mark.parametrize("command", ["build", "list", "test"])
def test_ctrl_c_on_a_terminal_reaches_all_processes_and_prints_one_line(here: Path, command: str) -> None:
    """A terminal sends the signal to the whole group, the processes that compile side by side among it."""
    (here / "slow.py").write_text(SLOW)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    running = subprocess.Popen(
        [sys.executable, "-m", "asmgen", command, "slow.py"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True,
        preexec_fn=heeds_ctrl_c,
    )  # fmt: skip
    deadline = time.monotonic() + 40
    while not (here / "begun").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=20)
    assert (running.returncode, out, err) == (130, "", "interrupted: nothing was left half-written\n")
    assert not (here / "out").exists()


# list


def test_list_is_a_line_a_kernel(here: Path) -> None:
    lines = asmgen("list", "tiny.py").output.splitlines()
    assert lines[0].split() == ["kernel", "computes", "amd64", "amd64", "base", "arm64"]
    assert [line.split()[0] for line in lines[1:4]] == ["tiny.mul", "tiny.sqr", "tiny.square_n"]
    assert "out = a * b (modulo p)" in lines[1]
    assert lines[1].split()[-2:][1] == "(2)"  # a product is two instructions on arm64
    assert len(lines) == 5 and "multiplications" in lines[4]


KINDS = '''\
"""Every kind of argument."""
from asmgen import Bit, Bytes, Count, Field, Small, Table, kernel, select

fe = Field("mont", 2**61 - 1, limbs=[31, 30], montgomery=2**64)
tight = fe.below(2**61)


@kernel(computes=lambda bit, a, b, c, s, n: (a if bit else b, s))
def mix(bit: Bit, a: tight, b: tight, c: Small(2**20 + 1), s: Bytes(12, "big"), n: Count) -> tuple[
    tight, Bytes(12, "big")
]:
    return select(bit, a, b), s


@kernel(computes=lambda s: int(s == 0))
def empty(s: Bytes(8, "little")) -> Bit:
    return s.value.is_zero()
'''

VARIANTS = {"amd64": {"default": ["adx", "bmi2"], "base": []}, "arm64": {"default": []}}


def test_list_json_has_exactly_the_fields(here: Path) -> None:
    (here / "kinds.py").write_text(KINDS)
    result = asmgen("list", "--json", "kinds.py:mix", "tiny.py:square_n")
    assert result.exit_code == 0, result.output
    mix, square_n = json.loads(result.output)
    element = {"kind": "element", "limb_max": ["0x7fffffff", "0x3fffffff"], "value_max": "0x1fffffffffffffff"}
    text = {"kind": "bytes", "length": 12, "order": "big"}
    assert mix == {
        "script": "kinds",
        "kernel": "mix",
        "symbol": "kinds_mix",
        "targets": ["amd64", "arm64"],
        "modulus": "0x1fffffffffffffff",
        "limbs": [31, 30],
        "montgomery": "0x10000000000000000",
        "params": [
            {"name": "bit", "kind": "bit"},
            {"name": "a", **element},
            {"name": "b", **element},
            {"name": "c", "kind": "small", "value_max": "0x100000"},
            {"name": "s", **text},
            {"name": "n", "kind": "count"},
        ],
        "result": element,
        "results": [element, text],
        "returns": None,
        "features": VARIANTS,
    }
    word = {"kind": "element", "limb_max": ["0x3fffffffffffffff"], "value_max": "0x3fffffffffffffff"}
    assert square_n == {
        "script": "tiny",
        "kernel": "square_n",
        "symbol": "tiny_square_n",
        "targets": ["amd64", "arm64"],
        "modulus": "0x1fffffffffffffff",
        "limbs": [61],
        "montgomery": None,
        "params": [{"name": "a", **word}, {"name": "n", "kind": "count"}],
        "result": word,
        "returns": None,
        "features": VARIANTS,
    }


def test_list_json_without_a_selector_has_every_shipped_kernel() -> None:
    made = json.loads(asmgen("list", "--json").output)
    assert [each["symbol"] for each in made if each["script"] == "curve25519_5x51"][:3] == [
        f"curve25519_5x51_{name}" for name in ("carry", "mul", "sqr")
    ]
    mul = next(each for each in made if each["symbol"] == "curve25519_5x51_mul")
    assert mul["modulus"] == hex(2**255 - 19) and mul["limbs"] == [51] * 5
    assert [each["limb_max"] for each in mul["params"]] == [[hex(2**54 - 1)] * 5] * 2
    assert mul["result"]["limb_max"] == [hex(2**52 - 1)] * 5


def test_the_feature_sets_of_the_list_are_those_that_build_takes(here: Path) -> None:
    for target, known in VARIANTS.items():
        assert set(known) == set(FEATURES[target])
        for name in known:
            result = asmgen("build", "tiny.py:mul", "--target", target, "--features", name)
            assert result.exit_code == 0, result.output
    assert (here / "out/amd64/tiny_base.S").exists() and not (here / "out/arm64/tiny_base.S").exists()


# show

SHOWN = {
    "values": ("v", " mod 2^61", "floor(", "0 .. 2^61 - 1"),
    "words": ("load a[0]", "mul ", "store out[0]", "<= 2^61 - 1"),
    "select": ("%", " live"),
    "schedule": ("%", " live"),
    "allocate": (" live", " = a[0]", "loop"),
    "arrange": (" live", " = a[0]", "loop"),
    "frame": (" live", " = a[0]", "ret", "loop"),
}


@pytest.mark.parametrize("target", FEATURES)
@pytest.mark.parametrize("stage", PIPELINE)
def test_show_every_pass(here: Path, target: str, stage: str) -> None:
    result = asmgen("show", "tiny.py:square_n", "--target", target, "--after", stage)
    lines = result.output.splitlines()
    assert result.exit_code == 0 and lines[0] == f"tiny_square_n, {target}, after {stage}"
    for part in SHOWN[stage]:
        assert part in result.output
    assert "low, high = x.split(61)" in result.output  # the script's line


def test_show_defaults_and_a_whole_script(here: Path) -> None:
    text = asmgen("show", "tiny.py").output
    heads = [line for line in text.splitlines() if ", after " in line]
    assert heads == [f"tiny_{name}, amd64, after arrange" for name in ("mul", "sqr", "square_n")]
    few = asmgen("show", "curve25519_5x51.mul", "--registers", "7").output
    assert few.count("(%frame)") > asmgen("show", "curve25519_5x51.mul").output.count("(%frame)")


# build


def test_build_check_names_the_first_difference_and_writes_nothing(here: Path) -> None:
    result = asmgen("build", "tiny.py")
    assert result.exit_code == 0
    names = [f"out/{target}/tiny{end}" for target in FEATURES for end in (".S", ".h", ".c", ".lst")]
    assert result.output.splitlines() == names  # a line a file
    assert asmgen("build", "tiny.py").output.splitlines() == [f"{name} (as it was)" for name in names]
    assert asmgen("build", "tiny.py", "--check").output == "out is what the scripts make\n"
    header = here / "out/arm64/tiny.h"
    lines = header.read_text().splitlines(keepends=True)
    at = next(index for index, line in enumerate(lines) if "tiny_sqr(" in line)
    lines[at] = lines[at].replace("tiny_sqr", "tiny_sqrt")
    header.write_text("".join(lines))
    before, times = tree(here / "out"), {path: path.stat().st_mtime_ns for path in (here / "out").rglob("*")}
    result = asmgen("build", "tiny.py", "--check")
    assert result.exit_code == 1
    assert result.output.startswith(f"error: out/arm64/tiny.h:{at + 1} is not what the script makes\n    there: ")
    assert (
        "tiny_sqrt" in result.output and "\n    made:  " in result.output and "\n  try: asmgen build" in result.output
    )
    assert tree(here / "out") == before
    assert times == {path: path.stat().st_mtime_ns for path in (here / "out").rglob("*")}
    header.unlink()
    assert "out/arm64/tiny.h is missing" in asmgen("build", "tiny.py", "--check").output


def on_terminal(words: Sequence[str]) -> tuple[int, str]:
    """The exit code, and what a terminal shows, of a command with it as its output."""
    master, slave = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "100"}
    command = [sys.executable, "-m", "asmgen", *words]
    running = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    shown = b""
    while True:
        try:
            piece = os.read(master, 4096)
        except OSError:  # Linux says so at the end
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    return running.wait(timeout=60), shown.decode()


@pytest.mark.parametrize("words", ["build tiny.py", "test tiny.py --vectors 300"])
def test_a_bar_moves_on_terminals_only(here: Path, words: str) -> None:
    status, shown = on_terminal(words.split())
    assert status == 0
    bar = "compiling" if words.startswith("build") else "testing"
    assert bar in shown and "━" in shown and "\x1b[" in shown
    elsewhere = process(words.split())
    assert elsewhere.returncode == 0 and elsewhere.stderr == ""
    assert not {"\x1b", "━", "\r"} & set(elsewhere.stdout)


# test


def test_test_prints_a_line_a_kernel_and_target(here: Path) -> None:
    result = asmgen("test", "tiny.py", "--vectors", "1500")
    lines = [line.split() for line in result.output.splitlines()]
    assert result.exit_code == 0, result.output
    assert lines[0] == ["kernel", "target", "vectors", "per", "second", "emulation", "result"]
    wanted = [[f"tiny.{name}", target] for name in ("mul", "sqr", "square_n") for target in FEATURES]
    assert [line[:2] for line in lines[1:]] == wanted
    assert all(line[2] == "1,500" and line[-1] == "ok" for line in lines[1:])


@pytest.mark.parametrize("features", ["default", "base"])
def test_a_failure_says_all_and_its_command_repeats_it(here: Path, features: str) -> None:
    result = asmgen("test", "wrong.py:sure", "--target", "amd64", "--seed", "3", "--features", features)
    assert result.exit_code == 1 and "FAILED at vector 0" in result.output
    block = result.output[result.output.index("wrong_sure on amd64 fails") :]
    assert block.startswith("wrong_sure on amd64 fails at vector 0 of seed 3:\n  out is wrong modulo p\n")
    for part in ("  input a = [0x", "  wanted out = 0x", "  got out = 0x", "  got out in memory = [0x"):
        assert f"\n{part}" in block
    again = block.splitlines()[-1].removeprefix("  again: ")
    assert again.startswith("asmgen test wrong.py:sure --target amd64")
    repeated = asmgen(*shlex.split(again)[1:])
    assert repeated.exit_code == 1 and repeated.output.endswith(block)


def test_a_rare_failure_is_repeated_alone(here: Path) -> None:
    """The value of p itself, which should come out as 0, and does so far into the run."""
    (here / "a b").mkdir()
    (here / "a b/rare.py").write_text(
        SCRIPT + "\n\n@kernel(computes=lambda a: a + (a == 5))\ndef rare(a: tight) -> tight:\n    return [fold(a[0])]\n"
    )
    result = asmgen("test", "a b/rare.py:rare", "--target", "arm64")
    assert result.exit_code == 1, result.output
    block = result.output[result.output.index("rare_rare on arm64 fails") :]
    again = shlex.split(block.splitlines()[-1].removeprefix("  again: "))
    assert again[:3] == ["asmgen", "test", "a b/rare.py:rare"]
    index = int(again[again.index("--only") + 1])
    assert index > 0 and f"fails at vector {index} of seed 1" in block
    repeated = asmgen(*again[1:])
    assert repeated.output.endswith(block)
    assert repeated.output.splitlines()[1].split()[2] == "1"  # vectors tested
    before = asmgen(*again[1:-1], str(index - 1))
    assert before.exit_code == 0 and " ok" in before.output


def test_seeds_make_other_inputs(here: Path) -> None:
    runs = [asmgen("test", "wrong.py:sure", "--target", "amd64", "--seed", seed).output for seed in ("1", "1", "2")]
    inputs = [next(line for line in run.splitlines() if "input a" in line) for run in runs]
    assert inputs[0] == inputs[1] != inputs[2]


def test_options_stand_where_click_has_them() -> None:
    """Every option that takes a word from a list says which words there are."""
    for name, words in {"--target": FEATURES, "--after": PIPELINE, "--features": ("default", "base")}.items():
        for command in main.commands.values():
            for option in command.params:
                if isinstance(option, click.Option) and name in option.opts:
                    assert all(word in (option.help or "") for word in words), (command.name, name)
