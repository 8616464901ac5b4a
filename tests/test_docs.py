"""The documents' blocks are run: scripts, changes to them, and commands with what they print.

Python blocks follow each other in one script. A diff changes it for the commands of the next console block alone. What
a command prints must be there line by line; … stands for any text in a line, by itself for any lines.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from asmgen.cli import main
from asmgen.scripts import load, shipped

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Language and content of each block."""
    for match in BLOCK.finditer(text):
        yield match[1], match[2]


def changed(script: str, diff: str) -> str:
    """The script with the lines that a diff takes away replaced by those that it adds."""
    old, new = ("".join(line[1:] + "\n" for line in diff.splitlines() if line[0] == sign) for sign in "-+")
    assert script.count(old) == 1, f"these lines must be there once:\n{old}"
    return script.replace(old, new)


def commands(console: str) -> Iterator[tuple[str, list[str]]]:
    """Each command with the lines that it must print."""
    for part in console.split("$ ./run asmgen ")[1:]:
        command, *lines = part.splitlines()
        yield command, lines


def agrees(wanted: list[str], found: list[str]) -> bool:
    """Whether these lines are those, but for what … stands for."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == "…" else ".*?".join(map(re.escape, line.rstrip().split("…"))) + r"[ ]*\n"
        for line in wanted
    )
    return re.fullmatch(pattern, "".join(line + "\n" for line in found)) is not None


def test_new_field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path, script, change = Path("poly1305_3x44.py"), "", ""
    done: list[str] = []
    for language, content in blocks((DOCS / "new-field.md").read_text()):
        if language == "python":
            script += ("\n\n" if script else "") + content
        elif language == "diff":
            change = content
        else:
            assert language == "console"
            path.write_text(changed(script, change) if change else script)
            for command, wanted in commands(content):
                result = CliRunner().invoke(main, shlex.split(command))
                found = result.output.splitlines()
                assert agrees(wanted, found), f"{command}\n{result.output}"
                assert (result.exit_code == 0) == (not wanted[0].startswith("error")), command
                done.append(command.split()[0])
            change = ""
    assert not change and set(done) == {"list", "show", "test", "chain", "prove", "build"}
    assert done.count("list") == 5 and script.count("@kernel") == 12


def test_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the README shows is in the scripts and the files, and its commands print what stands there."""
    monkeypatch.chdir(tmp_path)
    root = DOCS.parent
    script = (root / "kernels/curve25519_5x51.py").read_text()
    Path("loose.py").write_text(
        changed(script, "-    return carried(carried(columns))\n+    return carried(columns)")
    )
    done: list[str] = []
    for language, content in blocks((root / "README.md").read_text()):
        if language == "python":
            for part in content.strip().split("\n\n"):
                assert part.strip() in script, part
        elif language == "asm":
            assert content in (root / "out/amd64/curve25519_5x51.S").read_text()
        elif language == "console":
            for command, lines in commands(content):
                result = CliRunner().invoke(main, shlex.split(command))
                rates = re.compile(r" +\d[\d,]+ +[\d,]+(?=  ok)")  # those of another machine, at another time
                wanted, found = (
                    [rates.sub(" …", line) for line in text] for text in (lines, result.output.rstrip().splitlines())
                )
                assert agrees(wanted, found), result.output
                done.append(command.split()[0])
    assert done == ["test", "show", "build"]


def test_the_fields() -> None:
    """Each script has its line, with all that it has beside what every script has."""
    text = (DOCS / "fields.md").read_text()
    every = set(re.findall(r"`(\w+)`", text.partition("\n|")[0])) & set(load("p256").kernels)
    assert len(every) == 15
    for script in shipped():
        (line,) = re.findall(rf"^\| `{script}` \| .*$", text.partition("## Protocols")[0], re.M)
        named = set(re.findall(r"`(\w+)`", line))
        own = {name for name in load(script).kernels if name not in every and not name.startswith("negate_")}
        assert own - {"either"} <= named and named <= {script, "negate_2", "negate_7", *own}, script
        assert f"| `{script}` |" in text.partition("five a pass |")[2], "measured"


def test_lines_that_differ_are_noticed() -> None:
    assert agrees(["a … c", "…", "z"], ["a b c", "x", "y", "z  "]) and agrees(["…", "z"], ["z"])
    assert not agrees(["a … c", "z"], ["a b d", "z"]) and not agrees(["a"], ["a", "b"]) and not agrees(["a.c"], ["abc"])
    with pytest.raises(AssertionError):
        changed("a\nb\n", "-c\n+d\n")
