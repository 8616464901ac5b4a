"""`asmgen prove --object`, `build --proved` and the files that say what is proved."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from asmgen.bench.openssl import library
from asmgen.build import build, check
from asmgen.cli import main
from asmgen.diff import image
from asmgen.passes import Options
from asmgen.prove import Proved, prove
from asmgen.prove.foreign import GRANTED
from asmgen.prove.record import proofs
from asmgen.prove.routine import Routine
from asmgen.scripts import find
from emulate.compilers import found as compilers

OUT = Path(__file__).parent.parent / "out"

SCRIPT = '''"""tiny: integers modulo 2^61 - 1 in one word."""

from asmgen import Field, kernel

fe = Field("tiny", 2**61 - 1, limbs=[61])
tight = fe.limbs_below(2**62)


@kernel
def mul(a: tight, b: tight) -> tight:
    low, high = (a[0] * b[0]).split(61)
    low, high = (low + high).split(61)
    return [low + high]
'''

WRONG = SCRIPT.replace("(a[0] * b[0])", "(a[0] * b[0] + 1)")

C = """
typedef unsigned __int128 wide;
void mul(unsigned long *out, const unsigned long *a, const unsigned long *b) {
    wide t = (wide)a[0] * b[0], m = ((wide)1 << 61) - 1;
    t = (t & m) + (t >> 61);
    out[0] = (unsigned long)((t & m) + (t >> 61)) + EXTRA;
}
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.py"
    path.write_text(SCRIPT)
    return path


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, list(words))
    return result.exit_code, result.output


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@pytest.mark.parametrize(("extra", "answer"), [(0, "proved"), (1, "WRONG")])
def test_c_is_held_against_a_kernel(script: Path, tmp_path: Path, extra: int, answer: str) -> None:
    (tmp_path / "fe.c").write_text(C)
    flags = f"-O2 -DEXTRA={extra}"
    words = ["prove", f"{script}:mul", "--target", "amd64", "--object", str(tmp_path / "fe.c"), "--symbol", "mul"]
    code, text = run(*words, "--flags", flags)
    assert code == extra and answer in text, text


@pytest.mark.skipif(library() is None, reason="no static libcrypto here (Debian's libssl-dev)")
@pytest.mark.parametrize(
    ("kernel", "symbol"),
    [
        ("curve25519_5x51.mul", "x25519_fe51_mul"),
        ("curve25519_5x51.sqr", "x25519_fe51_sqr"),
        ("curve25519_4x64.mul", "x25519_fe64_mul"),
        ("curve25519_4x64.sqr", "x25519_fe64_sqr"),
        ("p256.mul", "ecp_nistz256_mul_mont"),
        ("p256.sqr", "ecp_nistz256_sqr_mont"),
    ],
)
def test_routines_of_openssl_are_proved(kernel: str, symbol: str) -> None:
    """On a CPU with BMI2 and ADX, which OPENSSL_ia32cap_P says."""
    words = ("prove", kernel, "--target", "amd64", "--object", str(library()), "--symbol", symbol)
    code, text = run(*words, "--assume", "OPENSSL_ia32cap_P=0,0,0x80100,0")
    assert code == 0, text


@pytest.mark.skipif(library() is None, reason="no static libcrypto here (Debian's libssl-dev)")
def test_a_routine_of_openssl_for_another_modulus_is_refuted() -> None:
    words = ("prove", "p256_order.mul", "--target", "amd64", "--object", str(library()))
    code, text = run(*words, "--symbol", "ecp_nistz256_mul_mont", "--assume", "OPENSSL_ia32cap_P=0,0,0x80100,0")
    assert code == 1 and "WRONG" in text


def test_files_that_are_not_there_are_named(script: Path) -> None:
    code, text = run("prove", f"{script}:mul", "--object", "nothing.o")
    assert code == 2 and "nothing.o" in text


def test_what_is_assumed_must_be_numbers(script: Path, tmp_path: Path) -> None:
    (tmp_path / "fe.o").write_bytes(b"")
    code, text = run("prove", f"{script}:mul", "--object", str(tmp_path / "fe.o"), "--assume", "WORD=x")
    assert code == 2 and "WORD=x" in text


def test_proofs_are_written_beside_the_files_and_checked(script: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("build", str(script), "--proved", "--out", str(out))[0] == 0
    path = out / "amd64" / "tiny.proof.json"
    (entry,) = json.loads(path.read_text())
    assert entry["answer"] == "proved" and "seconds" not in entry
    assert check([str(script)], ["amd64", "arm64"], out) == []
    before = path.read_text()
    assert run("build", str(script), "--proved", "--out", str(out))[0] == 0
    assert path.read_text() == before
    assert run("build", str(script), "--check", "--proved", "--out", str(out))[0] == 0
    for text, fault in (
        (before.replace(entry["sha256"], "0" * 64), "tiny.mul is proved for other bytes"),
        (before.replace("modulo p", "modulo q"), "tiny.mul is proved for something else"),
        ("[]", "tiny.mul is missing"),
        (before.replace("tiny.mul", "tiny.sqr"), "tiny.mul is missing"),
        ("{", "cannot be read as proofs"),
    ):
        path.write_text(text)
        found, *_ = check([str(script)], ["amd64", "arm64"], out)
        assert fault in found
    path.write_text(before.replace("counts", "accounts").replace("buffers are apart", "all is well"))
    code, text = run("build", str(script), "--check", "--proved", "--out", str(out))
    assert code == 1 and "tiny.proof.json" in text and "all is well" in text
    path.unlink()
    (found,) = check([str(script)], ["amd64", "arm64"], out)
    assert f"{path} is missing" in found


def test_a_build_keeps_the_proofs_that_are_there_up_to_date(script: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    path = out / "amd64" / "tiny.proof.json"
    assert run("build", str(script), "--out", str(out))[0] == 0
    assert not path.exists()
    assert run("build", str(script), "--proved", "--out", str(out))[0] == 0
    proved = path.read_text()
    (kept,) = json.loads(proved)
    path.write_text(json.dumps([{**kept, "assumed": ["as it was"]}]))
    assert run("build", str(script), "--out", str(out))[0] == 0
    assert json.loads(path.read_text())[0]["assumed"] == ["as it was"]  # the same bytes are not proved again
    path.write_text(json.dumps([{**kept, "sha256": "0" * 64, "assumed": ["as it was"]}]))
    assert run("build", str(script), "--out", str(out))[0] == 0
    assert path.read_text() == proved
    script.write_text(WRONG)
    code, text = run("build", str(script), "--out", str(out))
    assert code == 0 and "tiny.mul for amd64 is not proved any more" in text
    assert json.loads(path.read_text()) == []
    (found, *_) = check([str(script)], ["amd64", "arm64"], out)
    assert f"{path}: tiny.mul is missing" in found


def test_nothing_is_written_that_is_not_proved(tmp_path: Path) -> None:
    path, out = tmp_path / "tiny.py", tmp_path / "out"
    path.write_text(WRONG)
    code, text = run("build", str(path), "--proved", "--out", str(out))
    assert code == 1 and "not proved: tiny.mul" in text
    assert not out.exists()
    build([str(path)], ["amd64"], out)


def test_the_same_text_every_time(script: Path) -> None:
    (kernel,) = find([str(script)])
    jobs = {"x": [(kernel, Options("arm64"))]}
    assert proofs(jobs) == proofs(jobs)


@pytest.mark.parametrize("target", ["amd64", "arm64"])
@pytest.mark.parametrize("kernel", ["curve25519_5x51.mul", "p521_9x58.sqr", "p256.select"])
def test_gcc_s_builds_of_our_c_are_proved(kernel: str, target: str) -> None:
    """Straight-line ones; all of them by tests/measure_proof_compilers.py."""
    compiler = next((each for each in compilers(target) if each.family == "gcc"), None)
    if compiler is None:
        pytest.skip(f"no gcc for {target} here")
    (wanted,) = find([kernel])
    script, symbol = wanted.signature.script, wanted.signature.symbol
    data = compiler.compile_file(OUT / target / f"{script}.c", ["-O1"])
    loaded = image.from_bytes(data, script, symbol)
    made = Routine(wanted, target, loaded.code, loaded.entry, features=GRANTED[target], data=True)
    given = prove(made)
    assert isinstance(given, Proved), given
