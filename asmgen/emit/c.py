"""C of the same word programs: the portable fallback, and what compilers are given to compete with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from asmgen.contracts import Signature
from asmgen.emit import c_helpers, prose
from asmgen.emit.c_body import body
from asmgen.emit.header import wrapped
from asmgen.emit.names import checked_prefix
from asmgen.emit.origin import Origin, banner
from asmgen.words import Program


@dataclass(frozen=True)
class Part:
    """One function: its lines and the helpers that they call, with 128-bit integers and without."""

    signature: Signature
    wide: tuple[str, ...]
    wide_helpers: frozenset[str]
    plain: tuple[str, ...]
    plain_helpers: frozenset[str]


def emit(origin: Origin, programs: Sequence[Program]) -> str:
    """A C99 file that stands beside `<stem>.h` and exports the same functions as the assembly.

    Each function is there twice, with 128-bit integers and without; all inputs are read before an output is written.
    """
    return join(origin, [part(program) for program in programs])


def part(program: Program) -> Part:
    """One function, to be joined with others of its file."""
    wide, wide_helpers = body(program, wide=True)
    plain, plain_helpers = body(program, wide=False)
    return Part(program.signature, tuple(wide), frozenset(wide_helpers), tuple(plain), frozenset(plain_helpers))


def join(origin: Origin, parts: Sequence[Part]) -> str:
    """The file of these functions."""
    checked_prefix(origin.prefix)
    wide = c_helpers.needed(helper for part in parts for helper in part.wide_helpers)
    plain = c_helpers.needed(helper for part in parts for helper in part.plain_helpers)
    text = [
        banner(origin, "portable C", [part.signature for part in parts]),
        f'#include "{origin.stem}.h"\n',
        c_helpers.PREAMBLE,
        c_helpers.definitions(wide & plain),
        "#if ASMGEN_WIDE\n",
        c_helpers.definitions(wide - plain),
        *(_function(origin, part.signature, part.wide) for part in parts),
        "#else /* 64-bit integers alone */\n",
        c_helpers.definitions(plain - wide),
        *(_function(origin, part.signature, part.plain) for part in parts),
        "#endif\n",
    ]
    return "\n".join(each for each in text if each)


def _function(origin: Origin, signature: Signature, lines: Sequence[str]) -> str:
    head = wrapped(prose.prototype(signature, origin.prefix))
    formula = prose.mathematics(signature)
    note = f"/* {prose.harmless(formula)} */\n" if formula else ""
    return f"{note}{head}\n{{\n" + "\n".join(lines) + "\n}\n"
