"""What all tests share: golden files.

`./run pytest --refresh-golden` writes the files in tests/golden anew from what the code makes now; read the difference
before it is committed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--refresh-golden", action="store_true", help="write tests/golden anew instead of comparing with it"
    )
    parser.addoption(
        "--all-proof-mutants", action="store_true", help="test_prove_mutants.py: 25 mutants of each routine (hours)"
    )
    parser.addoption(
        "--all-mutants", action="store_true", help="test_mutants.py: every mutant of each routine, not some (minutes)"
    )
    parser.addoption(
        "--all-protocols", action="store_true", help="test_protocols_*.py: all cases of Wycheproof, not some (a minute)"
    )


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """One process a core for the whole suite; the tests that are named run in this one."""
    return None if config.args == config.getini("testpaths") else 0


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """golden(name, text): the text must be that of tests/golden/<name>."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--refresh-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return
        assert path.is_file(), f"{path} is missing: run pytest --refresh-golden"
        wanted = path.read_text().splitlines()
        found = text.splitlines()
        for number, (old, new) in enumerate(zip(wanted, found, strict=False), 1):
            assert new == old, f"{path}:{number} (pytest --refresh-golden writes it anew)"
        assert len(found) == len(wanted), f"{path} has {len(wanted)} lines, made were {len(found)}"

    return check
