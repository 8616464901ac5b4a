"""The wheel: what is in it, and that it works away from the source tree."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

if find_spec("hatchling") is None:
    pytest.skip("hatchling, which builds the wheel, is not installed", allow_module_level=True)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert built.returncode == 0, built.stdout + built.stderr
    (found,) = place.glob("asmgen-*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """The wheel installed into a directory of its own, its dependencies taken from the running environment."""
    place = wheel.parent / "installed"
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", str(place), str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return place


def sources(package: str) -> list[Path]:
    return sorted(path.relative_to(ROOT) for path in (ROOT / package).rglob("*.py"))


def test_the_wheel_holds_the_packages_the_kernels_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        for package, place in (("asmgen", "asmgen"), ("emulate", "emulate"), ("kernels", "asmgen/_kernels")):
            files = sources(package)
            assert files
            for path in files:
                inside = f"{place}/{path.relative_to(package).as_posix()}"
                assert archive.read(inside) == (ROOT / path).read_bytes(), inside
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"asmgen", "emulate"}
    assert not [name for name in names if name.endswith(".pyc")]


def test_metadata_says_what_pyproject_says(wheel: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    with zipfile.ZipFile(wheel) as archive:
        (folder,) = {name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name}
        metadata = Parser().parsestr(archive.read(f"{folder}/METADATA").decode())
        assert "asmgen = asmgen.cli:main" in archive.read(f"{folder}/entry_points.txt").decode()
        licenses = {Path(name).name for name in archive.namelist() if "/licenses/" in name}
    assert metadata["License-Expression"] == "Apache-2.0 OR MIT"
    assert licenses == {"LICENSE", "LICENSE-APACHE", "LICENSE-MIT"}
    plain = {line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line}
    assert plain == set(project["dependencies"])


def test_the_pins_satisfy_what_the_package_requires() -> None:
    from packaging.requirements import Requirement

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if line and not line.startswith("#")]
    pins = dict(line.lower().split("==") for line in lines)
    for text in [*project["dependencies"], *project["optional-dependencies"]["dev"]]:
        requirement = Requirement(text)
        assert requirement.specifier.contains(pins[requirement.name.lower()]), text


def test_the_installed_command_works_from_any_directory(installed: Path, tmp_path: Path) -> None:
    def run(*words: str) -> str:
        command = [sys.executable, str(installed / "bin" / "asmgen"), *words]
        environment = {"PYTHONPATH": str(installed), "PATH": "/usr/bin:/bin"}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = "import asmgen, emulate; print(asmgen.__file__, emulate.__file__)"
    found = subprocess.run(
        [sys.executable, "-c", where], cwd=tmp_path, env={"PYTHONPATH": str(installed)}, capture_output=True, text=True
    )
    assert found.stdout.count(str(installed)) == 2, "not those of the source tree"
    shipped = {each["script"] for each in json.loads(run("list", "--json"))}
    assert shipped == {path.stem for path in sources("kernels") if not path.stem.startswith("_")}
    assert "build" in run("--help")
    run("build", "--target", "arm64", "--out", "made", "curve25519_5x51.carry")
    assert (tmp_path / "made" / "arm64" / "curve25519_5x51.S").exists()
