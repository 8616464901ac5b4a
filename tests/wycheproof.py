"""Wycheproof's files: at ASMGEN_WYCHEPROOF, or else in a directory beside the project; tests skip without them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BESIDE = Path(__file__).parents[2] / "shared" / "vectors" / "wycheproof"

Case = dict[str, Any]


def cases(name: str, config: pytest.Config, every: int) -> Iterator[tuple[Case, Case]]:
    """The groups and cases of <name>_test.json: one in `every`, or all with `pytest --all-protocols`."""
    path = Path(os.environ.get("ASMGEN_WYCHEPROOF", BESIDE)) / f"{name}_test.json"
    if not path.is_file():
        pytest.skip(f"no {path}: set ASMGEN_WYCHEPROOF to a directory with Wycheproof's test vectors")
    step = 1 if config.getoption("--all-protocols") else every
    found = [(group, case) for group in json.loads(path.read_text())["testGroups"] for case in group["tests"]]
    yield from found[::step]
