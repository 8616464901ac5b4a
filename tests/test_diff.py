"""`asmgen diff` and `asmgen report` from end to end."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from diffs import any_compiler, kernel

from asmgen import tools
from asmgen.bench.timer import can_run
from asmgen.cli import main
from asmgen.diff import mca
from asmgen.diff.classes import CAUSES
from emulate import compilers

LIBCRYPTO = next(
    (
        path
        for path in (Path("/usr/lib/x86_64-linux-gnu/libcrypto.a"), Path("/usr/lib64/libcrypto.a"))
        if path.is_file()
    ),
    Path("libcrypto.a"),
)
TARGETS = pytest.mark.parametrize("target", ["amd64", "arm64"])


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["diff", *arguments])


def cases(*arguments: str) -> list[Any]:
    found = run(*arguments, "--json")
    assert found.exit_code == 0, found.output
    made: list[Any] = json.loads(found.stdout)
    return made


@pytest.mark.parametrize(
    ("name", "target"),
    [("curve25519_5x51.mul", "amd64"), ("curve25519_5x51.square_n", "arm64"), ("p448_8x56.sqr", "arm64")],
)
def test_products_are_matched_to_those_of_every_compiler(name: str, target: str) -> None:
    any_compiler(target)
    (made,) = cases(name, "--target", target, "--vectors", "256", "--flags", "-O2 -mbmi2" if target == "amd64" else "")
    assert made["others"] and made["target"] == target
    # Where the assembly takes another algorithm than portable C, compilers are given both.
    assert any("portable C" in other["name"] for other in made["others"]) == name.startswith("p448")
    for other in made["others"]:
        products = other["products"]
        assert products["matched"] >= 0.95 * products["ours"] or "portable C" in other["name"], other["name"]
        assert other["same"]["vectors"] == 256 and other["same"]["wrong"] == 0
        for index, side in enumerate(("ours", "theirs")):
            lines = other["lines"][side]
            assert lines["all"] - lines["matched"] == sum(lines["unmatched"].values())
            assert set(lines["unmatched"]) <= set(CAUSES)
            shown = [row[index] for row in other["rows"] if row[index]]
            assert len({line["offset"] for line in shown}) == len(shown)
        counted = made["ours"]["classes"]
        assert sum(counted.values()) == made["ours"]["instructions"]


def test_loops_and_the_way_without_a_pass_are_both_executed() -> None:
    any_compiler()
    (made,) = cases("curve25519_5x51.square_n", "--target", "amd64", "--compiler", "gcc", "--flags", "-O2")
    assert not any(row[0] and row[0]["class"] == "not reached" for row in made["others"][0]["rows"])
    assert made["ours"]["executed"] > 2 * made["ours"]["instructions"]


@TARGETS
def test_sets_of_one_code_are_shown_once(target: str) -> None:
    any_compiler(target)
    found = run("curve25519_5x51.carry", "--target", target, "--flags", "-O2", "--flags", "-O2 -fno-math-errno")
    assert found.exit_code == 0, found.output
    assert "-O2 -fno-math-errno: the same code as" in found.output


def test_a_text_has_the_verdict_the_causes_and_both_listings() -> None:
    any_compiler()
    found = run("curve25519_5x51.mul", "--target", "amd64", "--flags", "-O2")
    assert found.exit_code == 0, found.output
    assert re.search(r"asmgen is ahead|has caught up|has won|Neither wins", found.output)
    assert "same function on 2,048 edge-biased inputs" in found.output
    assert "Instructions without a counterpart" in found.output and "register move" in found.output
    assert re.search(r"^ +\d+ mulxq .*\d+ +\d+: columns", found.output, re.M), "script lines stand beside ours"


def test_modelled_cycles_are_of_cores_with_a_model_of_their_own() -> None:
    found = run("curve25519_5x51.mul", "--target", "arm64", "--core", "apple-m1")
    assert found.exit_code == 2 and "no model of its own for apple-m1" in found.output
    any_compiler("arm64")
    if mca.found()[0] is None:
        pytest.skip("no llvm-mca of version 19 or newer here")
    (made,) = cases("curve25519_5x51.mul", "--target", "arm64", "--core", "neoverse-v1", "--flags", "-O2")
    for figures in (made["ours"], *(other["figures"] for other in made["others"])):
        assert list(figures["cycles"]) == ["neoverse-v1"] and 20 < figures["cycles"]["neoverse-v1"] < 80


def test_cycles_are_measured_where_this_cpu_can_run_it() -> None:
    any_compiler()
    if said := can_run("amd64", {"bmi2", "adx"}):
        pytest.skip(said)
    (made,) = cases("curve25519_5x51.square_n", "--target", "amd64", "--measure", "--compiler", "gcc", "--flags", "-O1")
    for figures in (made["ours"], made["others"][0]["figures"]):
        assert 80 < figures["measured"] < 2000, "four squarings"
    found = run("curve25519_5x51.add", "--target", "arm64", "--measure", "--compiler", "gcc", "--flags", "-O1")
    assert "not measured: this machine is x86_64 Linux, the code is for arm64" in found.output


def test_an_old_llvm_mca_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = tmp_path / "llvm-mca"
    fake.write_text("#!/bin/sh\necho 'LLVM version 14.0.6'\n")
    fake.chmod(0o755)
    monkeypatch.setattr(tools, "find", lambda names: str(fake))
    path, said = mca.found()
    assert path is None and "version 14" in said and "19 is needed" in said


def test_without_compilers_it_says_what_was_looked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    compilers._of_family.cache_clear()
    try:
        found = run("curve25519_5x51.mul", "--target", "arm64")
    finally:
        compilers._of_family.cache_clear()
    assert found.exit_code == 1
    assert "aarch64-linux-gnu-gcc" in found.output and "gcc-aarch64-linux-gnu" in found.output
    assert "clang" in found.output and "--against" in found.output


def test_a_compiler_error_is_shown_whole_with_its_command(tmp_path: Path) -> None:
    any_compiler()
    source = tmp_path / "bad.c"
    source.write_text("void fe_mul(void) { nonsense }\nint other = more_nonsense;\n")
    found = run(
        "curve25519_5x51.mul",
        "--target",
        "amd64",
        "--against",
        f"{source}:fe_mul",
        "--compiler",
        "gcc",
        "--flags",
        "-O1",
    )
    assert found.exit_code == 1
    assert "gcc -O1 -c" in found.output and found.output.count("error:") >= 2


def test_names_and_files_that_are_not_there(tmp_path: Path) -> None:
    for arguments, said in (
        (["curve25519_5x51.mul", "--against", "mul"], "names no function"),
        (["curve25519_5x51.mul", "--against", f"{tmp_path}/no.o:f"], "there is no file"),
        (["curve25519_5x51.mul", "--compiler", "no-such-cc"], "there is no compiler no-such-cc"),
        ([], "diff needs a kernel"),
        (["curve25519_5x51.mul", "--all"], "do not go together"),
        (["curve25519_5x51.mul", "--html", f"{tmp_path}/x.html", "--summary"], "--html does not go with --summary"),
        (["curve25519_5x51.mull"], "did you mean mul?"),
    ):
        found = run(*arguments)
        assert found.exit_code == 2 and said in found.output, found.output


def test_objects_of_another_machine_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "fe.o"
    path.write_bytes(any_compiler("arm64").compile({"a.c": "void fe_mul(void) {}"}, "a.c"))
    found = run("curve25519_5x51.mul", "--target", "amd64", "--against", f"{path}:fe_mul")
    assert found.exit_code == 1 and "is arm64 code, compared is amd64" in found.output


@TARGETS
def test_our_own_assembly_is_wholly_ours(target: str) -> None:
    any_compiler(target)
    path = Path(__file__).parents[1] / "out" / target / "curve25519_5x51.S"
    (made,) = cases("curve25519_5x51.sqr", "--target", target, "--against", f"{path}:curve25519_5x51_sqr")
    (other,) = made["others"]
    assert other["same"]["wrong"] == 0
    assert other["products"]["matched"] == other["products"]["ours"]


def test_ours_now_and_then(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    any_compiler()
    root = Path(__file__).parents[1]
    (tmp_path / "out/amd64").mkdir(parents=True)
    text = (root / "out/amd64/curve25519_5x51.S").read_text()
    (tmp_path / "out/amd64/curve25519_5x51.S").write_text(text)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "out"], ["commit", "-qm", "then"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    (made,) = cases("curve25519_5x51.carry", "--target", "amd64", "--since", "HEAD")
    assert made["others"][0]["name"] == "asmgen at HEAD" and made["others"][0]["same"]["wrong"] == 0
    found = run("curve25519_5x51.carry", "--target", "amd64", "--since", "no-such-revision")
    assert found.exit_code == 1 and "git has no out/amd64/curve25519_5x51.S at no-such-revision" in found.output


@pytest.mark.skipif(not LIBCRYPTO.is_file(), reason="no static libcrypto here (Debian's libssl-dev)")
@pytest.mark.parametrize(
    ("ours", "theirs", "least"),
    [
        ("curve25519_5x51.mul", "x25519_fe51_mul", 25),
        ("curve25519_4x64.mul", "x25519_fe64_mul", 18),
        ("p256.mul", "ecp_nistz256_mul_mont", 18),
    ],
)
def test_openssl_is_the_same_function_and_its_products_are_found(ours: str, theirs: str, least: int) -> None:
    (made,) = cases(ours, "--target", "amd64", "--against", f"{LIBCRYPTO}:{theirs}", "--vectors", "512")
    (other,) = made["others"]
    assert other["same"]["wrong"] == 0
    assert other["products"]["matched"] >= least
    texts = [row[1]["text"] for row in other["rows"] if row[1] and row[1]["class"] == "products"]
    assert len(texts) >= least, "helpers that are called are followed"


def test_the_summary_has_a_line_for_everything() -> None:
    any_compiler()
    arguments = ["curve25519_5x51.mul", "curve25519_5x51.invert", "--target", "amd64", "--compiler", "gcc"]
    found = run(*arguments, "--summary", "--vectors", "32")
    assert found.exit_code == 0, found.output
    assert re.search(r"^\| curve25519_5x51.mul \| amd64 \| asmgen \| \d+ \|", found.output, re.M)
    assert re.search(r"^\| curve25519_5x51.invert \| amd64 \| gcc \d+ -O2 -mbmi2 -madx \| \d+ \|", found.output, re.M)
    entries = json.loads(run(*arguments, "--summary", "--vectors", "32", "--json").stdout)
    assert [(entry["kernel"].rpartition(".")[2], entry["by"][:3]) for entry in entries] == [
        ("mul", "asm"), ("mul", "gcc"), ("invert", "asm"), ("invert", "gcc"),
    ]  # fmt: skip


SCRIPT = """
from asmgen import Field, kernel

fe = Field("small", 2**61 - 1, limbs=[61])
loose, tight = fe.limbs_below(2**63), fe.limbs_below(2**62)


@kernel
def add(a: tight, b: tight) -> loose:
    return [a[0] + b[0]]


@kernel
def double(a: loose) -> loose:
    return [2 * a[0]]
"""


def test_a_summary_goes_on_after_what_fails(tmp_path: Path) -> None:
    any_compiler()
    script = tmp_path / "small.py"
    script.write_text(SCRIPT)
    arguments = [str(script), "--target", "amd64", "--compiler", "gcc", "--flags", "-O1", "--flags", "-O1 -nonsense"]
    found = run(*arguments, "--summary", "--vectors", "32")
    assert found.exit_code == 1
    rows = [line.split(" | ") for line in found.stdout.splitlines() if line.startswith("| small.")]
    assert [row[0] for row in rows] == ["| small.add"] * 3 + ["| small.double"]
    assert "nonsense" in rows[2][-1] and "error:" in rows[2][-1]
    assert "promise" in rows[3][-1], rows[3]


def test_the_site_has_a_page_for_every_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # away from the proofs in out/
    proofs = tmp_path / "proofs.json"
    from asmgen.passes import Options
    from asmgen.prove.command import routine

    digest = routine(kernel("curve25519_5x51.add"), Options("amd64")).hash
    proofs.write_text(json.dumps([{"sha256": digest, "answer": "proved", "assumptions": ["the rows are right"]}]))
    site = tmp_path / "site"
    arguments = ["report", "curve25519_5x51.add", "curve25519_5x51.carry", "--target", "amd64", "--out", str(site)]
    found = CliRunner().invoke(main, [*arguments, "--proofs", str(proofs), "--vectors", "64"])
    assert found.exit_code == 0, found.output
    index = (site / "index.html").read_text()
    page = (site / "curve25519_5x51.add.amd64.html").read_text()
    assert 'href="curve25519_5x51.carry.amd64.html"' in index and "64 inputs" in index
    assert "proved" in index and "no proof of these bytes" in index and "the rows are right" in page
    assert "limbs below 2^54" in page and "addq" in page and "endbr64" in page and digest in page
