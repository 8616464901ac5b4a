"""A routine as it is proved: bytes, and the contract that they are held against."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from asmgen.contracts import Contract, Signature
from asmgen.errors import Source
from asmgen.meanings import Meaning
from asmgen.targets.conventions import Convention, convention


class Described(Protocol):
    """What a proof needs to know of a kernel: its C function, and what it must compute."""

    @property
    def signature(self) -> Signature: ...
    @property
    def meaning(self) -> Meaning: ...
    @property
    def modulus(self) -> int: ...
    @property
    def results(self) -> tuple[Contract, ...]: ...
    def expected(self, inputs: Sequence[Any]) -> tuple[int, ...]: ...


@dataclass(frozen=True)
class Routine:
    """Machine code of one target, entered `entry` bytes from its start.

    `sources` has the script lines of instructions by offset; `features` are CPUID bits that it may use. `calls` has by
    offset what is called there and has a proof of its own; any other call goes into this code. With `data` constants
    among the bytes may be read. `linked` is the code with what it calls behind it, to be run.
    """

    kernel: Described
    target: str
    code: bytes
    entry: int = 0
    conventions: str | None = None
    features: frozenset[str] = frozenset()
    sources: Mapping[int, Source | None] = field(default_factory=dict)
    stack: int | None = None
    calls: Mapping[int, Described] = field(default_factory=dict)
    data: bool = False
    linked: bytes = b""

    @property
    def convention(self) -> Convention:
        return convention(self.conventions, self.target)

    @property
    def hash(self) -> str:
        """The SHA-256 of the bytes."""
        return hashlib.sha256(self.code).hexdigest()
