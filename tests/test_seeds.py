"""What is recorded to win: of all that is shipped, the same routine as by every way, and plain about its faults."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from asmgen import recording, scripts
from asmgen.errors import AsmgenError
from asmgen.kernel import Kernel
from asmgen.passes import FEATURES, Options, compile_stages, seeds, winner

SEED = 20261130
EVERY = [
    (kernel, Options(target, features, planned=False))
    for kernel in scripts.find()
    if isinstance(kernel, Kernel)
    for target, sets in FEATURES.items()
    for features in sets
]


def _named(job: tuple[Kernel, Options]) -> str:
    kernel, options = job
    return f"{kernel.signature.symbol}-{options.target}-{options.features}"


def test_all_that_is_shipped_is_recorded() -> None:
    """After a change of a script: asmgen build --record."""
    missing = [_named(job) for job in EVERY if seeds.known(job[0], job[1].target, job[1].features) is None]
    assert not missing


@pytest.mark.parametrize("job", Random(SEED).sample(EVERY, 10), ids=_named)
def test_what_is_recorded_wins(job: tuple[Kernel, Options]) -> None:
    """For all of them: asmgen build --record --check."""
    kernel, options = job
    found = seeds.known(kernel, options.target, options.features)
    assert found is not None
    every = replace(options, recorded=False)
    assert compile_stages(kernel, options).frame == compile_stages(kernel, every).frame
    assert winner(kernel, every) == found


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A script of one's own, with what wins for it recorded beside it."""
    script = tmp_path / "tiny.py"
    script.write_text(
        "from asmgen import Field, kernel\n"
        'fe = Field("tiny", 2**61 - 1, limbs=[61])\n'
        "@kernel\ndef mul(a: fe.below(2**61), b: fe.below(2**61)) -> fe.below(2**62):\n"
        "    low, high = (a[0] * b[0]).split(61)\n    return [low + high]\n"
    )
    recording.run([str(script)], check=False)
    return script


def test_a_script_of_ones_own(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (kernel,) = scripts.find([str(own)])
    assert seeds.known(kernel, "amd64", "base") is not None
    recording.run([str(own)], check=True)
    recording.run([str(own)], check=False)
    assert "seeds.json (as it was)" in capsys.readouterr().out
    place = seeds.record(own)
    place.write_text(place.read_text().replace('"window": 0, "registers": 11', '"window": 7, "registers": 11'))
    with pytest.raises(AsmgenError, match=r"seeds\.json"):
        recording.run([str(own)], check=True)


def test_what_is_recorded_of_others_stays(own: Path) -> None:
    place, other = seeds.record(own), own.with_name("other.py")
    shutil.copy(own, other)
    before = place.read_text()
    recording.run([str(other)], check=False)
    assert scripts.find([str(own)])[0].name == "mul"
    assert before.splitlines()[1:-2] == place.read_text().splitlines()[-len(before.splitlines()) + 1 : -2]


def test_another_text_of_the_script_is_compiled_by_all_ways(own: Path) -> None:
    own.write_text(own.read_text() + "\n# another text\n")
    (kernel,) = scripts.find([str(own)])
    assert seeds.known(kernel, "amd64", "default") is None
    assert isinstance(kernel, Kernel)
    assert compile_stages(kernel, Options("amd64")).frame.items


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("{", "[", "does not say what won"),
        ('"window": 0', '"window": "none"', "mul amd64 default: invalid literal"),
        ('"schedule"', '"order"', "mul amd64 default: 'schedule'"),
        ('{"choices": {}, "schedule": {"core": "generic", "window": 0, "registers": 11}, "policy": 0}', "3",
         "mul amd64 default: 'int' object"),
    ],  # fmt: skip
)
def test_bad_files(own: Path, old: str, new: str, said: str) -> None:
    place = seeds.record(own)
    text = place.read_text()
    assert old in text
    place.write_text(text.replace(old, new))
    (kernel,) = scripts.find([str(own)])
    with pytest.raises(AsmgenError, match="seeds.json") as caught:
        seeds.known(kernel, "amd64", "default")
    assert said in str(caught.value)
