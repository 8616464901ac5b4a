"""`./run` itself: the real script, venv and pip on a small project that installs without a network."""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

RUN = Path(__file__).parents[1] / "run"

PYPROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "small"
version = "1"
"""

# Builds a wheel of a few files by hand. It brings a package named peachpy, so that none is looked for outside.
BACKEND = '''
import os, time, zipfile

def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    name = "small-1-py3-none-any.whl"
    if os.environ.get("SLOW"):
        open(os.environ["SLOW"], "w").close()
        time.sleep(60)
    files = {
        "peachpy/__init__.py": "", "peachpy/x86_64.py": "", "small.py": "here = True",
        "small-1.dist-info/METADATA": "Metadata-Version: 2.1\\nName: small\\nVersion: 1\\n",
        "small-1.dist-info/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    }
    files["small-1.dist-info/RECORD"] = "".join(f"{path},,\\n" for path in files)
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
    return name

build_wheel = build_editable
'''


class Project:
    """A project with a copy of the script."""

    def __init__(self, root: Path) -> None:
        root.mkdir()
        self.root = root
        self.run = root / "run"
        shutil.copy(RUN, self.run)
        (root / "pyproject.toml").write_text(PYPROJECT)
        (root / "backend.py").write_text(BACKEND)
        (root / "requirements.txt").write_text("# nothing\n")

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "VIRTUAL", "PYTHON"))}
        interpreter = str(Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}")
        return {**kept, "PYTHON": interpreter, "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, **(more or {})}

    def __call__(self, *words: str, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.run, *words], capture_output=True, text=True, timeout=120, env=self.environment(more),
            cwd=cwd or self.root)  # fmt: skip

    def start(self, *words: str, **more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.run, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment(more),
            cwd=self.root, start_new_session=True)  # fmt: skip


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose environment is made, by two first uses at the same time."""
    project = Project(tmp_path_factory.mktemp("run") / "a project")
    first = project.start("python", "-c", "import small; print('ran')")
    while not (project.root / ".venv").exists():
        time.sleep(0.01)
    second = project.start("python", "-c", "import small; print('ran')")
    (out1, said1), (out2, said2) = first.communicate(timeout=120), second.communicate(timeout=120)
    assert (first.returncode, out1) == (second.returncode, out2) == (0, "ran\n"), said1 + said2
    assert [line.split()[1] for line in said1.splitlines()] == ["making", "installing", "ready"]
    assert said2.startswith("run: another ./run is setting up") and said2.count("\n") == 1
    return project


def one_line(finished: subprocess.CompletedProcess[str]) -> str:
    """What a failed use says last."""
    assert finished.returncode == 1 and finished.stdout == ""
    last = finished.stderr.splitlines()[-1]
    assert last.startswith("run: ")
    return last


def test_later_uses_are_quick_and_silent(ready: Project) -> None:
    def timed() -> float:
        started = time.perf_counter()
        finished = ready("true")
        assert (finished.returncode, finished.stdout, finished.stderr) == (0, "", "")
        return time.perf_counter() - started

    assert statistics.median(timed() for _ in range(9)) < 0.3


def test_words_status_and_directory_are_passed_on(ready: Project, tmp_path: Path) -> None:
    script = "import os, sys; print(sys.argv[1:], os.getcwd(), sys.prefix); sys.exit(7)"
    finished = ready("python", "-c", script, "two words", "*", "", cwd=tmp_path)
    assert finished.returncode == 7
    assert finished.stdout == f"{['two words', '*', '']} {tmp_path} {ready.root / '.venv'}\n"


def test_an_unknown_command_and_none(ready: Project) -> None:
    assert "no-such-command: no such command in" in one_line(ready("no-such-command"))
    assert ready().returncode == 0


def test_changed_requirements_are_installed_on_top(ready: Project) -> None:
    with (ready.root / "requirements.txt").open("a") as file:
        file.write("# changed\n")
    finished = ready("true")
    assert [line.split()[1] for line in finished.stderr.splitlines()] == ["installing", "ready"]
    assert ready("true").stderr == ""


def test_an_interrupted_install_starts_over(without_venv: str, tmp_path: Path) -> None:
    """From an environment made anew; the interpreter of the second use cannot make one: that it tries to is seen."""
    project = Project(tmp_path / "project")
    mark = tmp_path / "building"
    running = project.start("true", SLOW=str(mark))
    deadline = time.monotonic() + 100
    while not mark.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert (project.root / ".venv" / "asmgen.partial").exists()
    os.killpg(running.pid, signal.SIGTERM)
    _, said = running.communicate(timeout=30)
    assert running.returncode == 130
    assert said.splitlines()[-1] == "run: interrupted; the same command starts the set-up over"
    assert "lacks the venv module" in one_line(project("true", PYTHON=without_venv))


def test_packages_that_cannot_be_had(ready: Project) -> None:
    requirements = ready.root / "requirements.txt"
    before = requirements.read_text()
    requirements.write_text("six==1.17.0\n")
    said = one_line(ready("true", PIP_NO_INDEX="0", PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_RETRIES="0"))
    assert "the package index cannot be reached" in said and "PIP_FIND_LINKS" in said
    requirements.write_text("not a requirement !\n")
    (ready.root / ".venv" / "asmgen.partial").unlink()
    said = one_line(ready("true"))
    assert "the packages cannot be installed" in said and "asmgen.log" in said
    (ready.root / ".venv" / "asmgen.partial").unlink()
    requirements.write_text(before)
    assert ready("true").returncode == 0


def test_a_moved_environment_is_made_anew(ready: Project, without_venv: str, tmp_path: Path) -> None:
    """Scripts of an environment know its old place. The interpreter here cannot make one: that it tries to is seen."""
    project = Project(tmp_path / "elsewhere")
    shutil.copytree(ready.root / ".venv", project.root / ".venv", symlinks=True)
    assert "lacks the venv module" in one_line(project("true", PYTHON=without_venv))


@pytest.fixture
def without_venv(tmp_path: Path) -> str:
    """An interpreter that lacks the venv module."""
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\ncase "$*" in *"import venv"*) exit 1;; esac\nexec "{sys.executable}" "$@"\n')
    bare.chmod(0o755)
    return str(bare)


def test_no_python(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    said = one_line(project("true", PYTHON="no-such-python"))
    assert "no Python 3.11 or newer among: no-such-python" in said and "PYTHON=/path" in said


def test_no_venv_module(without_venv: str, tmp_path: Path) -> None:
    said = one_line(Project(tmp_path / "project")("true", PYTHON=without_venv))
    assert "lacks the venv module" in said and "apt-get install python3-venv" in said


def test_nowhere_to_write(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    (tmp_path / "file").write_text("")
    said = one_line(project("true", ASMGEN_VENV=str(tmp_path / "file" / "venv")))
    assert "cannot write" in said and "ASMGEN_VENV=DIR" in said
