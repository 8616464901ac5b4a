"""Calling conventions: where arguments arrive, what a routine may change, how the stack lies.

Sources: System V ABI for x86-64, 3.2; Microsoft's x64 calling convention; Procedure Call Standard for the Arm 64-bit
Architecture (AAPCS64), 6.1 and 6.4; Apple's notes on arm64. Go's assembler fits in as a convention with no argument
registers: all lie on the stack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from asmgen.errors import UsageError


@dataclass(frozen=True)
class Convention:
    """One calling convention of one target. Registers are named; those of vectors are never touched and not listed."""

    name: str
    target: str
    arguments: tuple[str, ...]  #: registers of the first integer and pointer arguments, in order
    result: str  #: register of a returned integer
    changed: tuple[str, ...]  #: registers that a routine may leave changed, in the order in which to take them
    preserved: tuple[str, ...]  #: registers to restore, in the order in which to take them
    frame_pointer: str  #: one of `preserved` on amd64, reserved elsewhere
    return_address: int  #: bytes of it on the stack at entry
    stack_alignment: int = 16  #: of the stack pointer where a call is made (everywhere, on arm64)
    shadow: int = 0  #: bytes above the return address that belong to the routine called
    stack_slot: int = 8  #: bytes that each argument on the stack takes

    def pool(self, *, keep_frame_pointer: bool = False) -> tuple[str, ...]:
        """All registers to compute with, cheapest first."""
        kept = {self.frame_pointer} if keep_frame_pointer else set[str]()
        return (*self.changed, *(name for name in self.preserved if name not in kept))

    def stack_argument(self, index: int) -> int:
        """The distance in bytes from the stack pointer at entry to argument `index`, which arrives on the stack."""
        return self.return_address + self.shadow + self.stack_slot * (index - len(self.arguments))


def _numbered(letter: str, numbers: Sequence[int]) -> tuple[str, ...]:
    return tuple(f"{letter}{number}" for number in numbers)


# Registers that arguments arrive in come last among the changed ones: they are taken while others are free.
_SYSV = Convention(
    name="sysv",
    target="amd64",
    arguments=("rdi", "rsi", "rdx", "rcx", "r8", "r9"),
    result="rax",
    changed=("rax", "r10", "r11", "r9", "r8", "rcx", "rdx", "rsi", "rdi"),
    preserved=("rbx", "rbp", "r12", "r13", "r14", "r15"),
    frame_pointer="rbp",
    return_address=8,
)

_WIN64 = Convention(
    name="win64",
    target="amd64",
    arguments=("rcx", "rdx", "r8", "r9"),
    result="rax",
    changed=("rax", "r10", "r11", "r9", "r8", "rdx", "rcx"),
    preserved=("rbx", "rbp", "rsi", "rdi", "r12", "r13", "r14", "r15"),
    frame_pointer="rbp",
    return_address=8,
    shadow=32,
)

_AAPCS64 = Convention(
    name="aapcs64",
    target="arm64",
    arguments=_numbered("x", range(8)),
    result="x0",
    # x18 belongs to the platform, x29 to whoever walks the stack; x16 and x17 change between a call and its entry only.
    changed=_numbered("x", [*range(8, 18), *range(7, -1, -1)]),
    preserved=_numbered("x", [*range(19, 29), 30]),
    frame_pointer="x29",
    return_address=0,
)

#: Apple's arm64 differs for arguments on the stack only, which pack to their own size; ours are all 8 bytes.
_APPLE64 = Convention(**{**vars(_AAPCS64), "name": "apple64"})

CONVENTIONS: Mapping[str, Convention] = {each.name: each for each in (_SYSV, _WIN64, _AAPCS64, _APPLE64)}

_DEFAULT = {"amd64": "sysv", "arm64": "aapcs64"}


def convention(name: str | None, target: str) -> Convention:
    """The convention of that name for the target, the target's usual one for None; UsageError for what does not
    exist.
    """
    chosen = CONVENTIONS.get(name or _DEFAULT.get(target, ""))
    fitting = [each.name for each in CONVENTIONS.values() if each.target == target]
    if chosen is None or chosen.target != target:
        near = get_close_matches(name or "", fitting, 1) or fitting
        raise UsageError(
            f"{target} has no calling convention {name}" if fitting else f"there is no target {target}",
            hint=" or ".join(near) if near else " or ".join(_DEFAULT),
        )
    return chosen
