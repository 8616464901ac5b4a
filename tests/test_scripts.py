"""Scripts: shipped ones and anybody's, by name and by path."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import asmgen
from asmgen import scripts
from asmgen.errors import AsmgenError, Source, UsageError

TEXT = """\
from asmgen import Field, kernel
fe = Field("small", 2**61 - 1, limbs=[61])
one = fe.limbs_below(2**62)
@kernel
def neg(a: one) -> fe.limbs_below(2**63):
    return [4 * (2**61 - 1) - a[0]]
@kernel
def add(a: one, b: one) -> fe.limbs_below(2**63):
    return [a[0] + b[0]]
"""


def test_shipped_scripts() -> None:
    names = scripts.shipped()
    assert "curve25519_5x51" in names and names == sorted(names)
    script = scripts.load("curve25519_5x51")
    assert script.name == "curve25519_5x51" and script.path.name == "curve25519_5x51.py"
    assert {"mul", "sqr", "square_n", "add", "sub", "neg", "carry", "mul_small", "canon", "swap"} <= set(script.kernels)
    assert {kernel.signature.script for kernel in script.kernels.values()} == {"curve25519_5x51"}


def test_selectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.py"
    path.write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    symbols = [
        [kernel.signature.symbol for kernel in scripts.find(selectors)]
        for selectors in (
            ["mine.py"],
            ["./mine.py:add"],
            [str(path), f"{path}:neg"],
            ["curve25519_5x51.mul", "mine.py:add"],
        )
    ]
    both = ["mine_neg", "mine_add"]
    assert symbols == [both, ["mine_add"], both, ["curve25519_5x51_mul", "mine_add"]]
    assert [k.name for k in scripts.find(["curve25519_5x51:sqr"])] == ["sqr"]
    everything = [kernel.signature.script for kernel in scripts.find()]
    assert list(dict.fromkeys(everything)) == scripts.shipped()


def test_kernels_of_other_scripts_stay_there(tmp_path: Path) -> None:
    (tmp_path / "below.py").write_text(TEXT)
    (tmp_path / "above.py").write_text(
        "from below import add, fe, neg, one\nfrom asmgen import kernel\n"
        "@kernel\ndef double(a: one) -> fe.limbs_below(2**63):\n    return add(a, a)\n"
    )
    script = scripts.load(tmp_path / "above.py")
    assert list(script.kernels) == ["double"]
    assert script.kernels["double"].trace().outputs[0][0].interval.high == 2**63 - 2
    assert str(tmp_path) not in sys.path


def test_scripts_are_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(TEXT)
    assert list(scripts.load(path).kernels) == ["neg", "add"]
    path.write_text(TEXT + "@kernel\ndef carry(a: one) -> one:\n    return a\n")
    assert list(scripts.load(path).kernels) == ["neg", "add", "carry"]


def test_faults_name_the_innermost_script_line(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def broken():\n    return [][1]\n")
    path = tmp_path / "mine.py"
    path.write_text("import helper\nhelper.broken()\n")
    with pytest.raises(AsmgenError, match="IndexError: list index out of range") as caught:
        scripts.load(path)
    assert caught.value.source is not None and caught.value.source.text == "return [][1]"
    path.write_text("import math\nmath.sqrt(-1)\n")
    with pytest.raises(AsmgenError, match="ValueError") as caught:
        scripts.load(path)
    assert caught.value.source is not None and caught.value.source.text == "math.sqrt(-1)"
    path.write_text("import nothing_of_that_name\n")
    with pytest.raises(AsmgenError, match="No module named 'nothing_of_that_name'"):
        scripts.load(path)
    path.write_bytes(b"x = '\xff'\n")
    with pytest.raises(AsmgenError, match="this is not Python"):
        scripts.load(path)


def test_unreadable_scripts(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        scripts.load(tmp_path / "absent.py")


def test_installed_scripts_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package has its scripts inside; a checkout beside it."""
    package = tmp_path / "asmgen"
    (package / "_kernels").mkdir(parents=True)
    (package / "_kernels" / "mine.py").write_text(TEXT)
    monkeypatch.setattr(scripts, "_PACKAGE", package)
    assert scripts.shipped() == ["mine"]
    assert [kernel.name for kernel in scripts.find(["mine"])] == ["neg", "add"]


def test_installed_scripts_are_scripts() -> None:
    """A fault in one names its own line, not that of the program which asked for it."""
    package = Path(asmgen.__file__).parent
    shipped = str(package / "_kernels" / "mine.py")
    line = compile("from asmgen.errors import caller\nplace = caller()", shipped, "exec")
    names: dict[str, object] = {}
    exec(line, names)
    assert names["place"] == Source(shipped, 2)
    exec(compile("place = caller()", str(package / "mine.py"), "exec"), names)
    assert isinstance(names["place"], Source) and names["place"].file == __file__


def test_the_package_is_quick_to_import_and_brings_no_target() -> None:
    code = (
        "import sys, time; start = time.process_time(); import asmgen; spent = time.process_time() - start\n"
        "assert not any(name.startswith('asmgen.targets') for name in sys.modules)\n"
        "from asmgen import amd64, arm64; assert amd64.__name__ == 'asmgen.targets.amd64'; print(spent)"
    )
    root = Path(asmgen.__file__).resolve().parent.parent
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root) for _ in range(3)]
    assert all(run.returncode == 0 for run in runs), runs[0].stderr
    assert min(float(run.stdout) for run in runs) < 0.2


def test_names_that_the_package_has_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'mips'"):
        asmgen.mips  # noqa: B018
    assert all(hasattr(asmgen, name) for name in asmgen.__all__)
