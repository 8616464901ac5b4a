"""C of the same word programs: the portable fallback, and what compilers are given to compete with."""

from __future__ import annotations

from collections.abc import Sequence

from asmgen.emit import c_helpers, prose
from asmgen.emit.c_body import body
from asmgen.emit.header import wrapped
from asmgen.emit.names import checked_prefix
from asmgen.emit.origin import Origin, banner
from asmgen.words import Program


def emit(origin: Origin, programs: Sequence[Program]) -> str:
    """A C99 file that stands beside `<stem>.h` and exports the same functions as the assembly.

    Each function is there twice, with 128-bit integers and without; all inputs are read before an output is written.
    """
    checked_prefix(origin.prefix)
    wide = [body(program, wide=True) for program in programs]
    plain = [body(program, wide=False) for program in programs]
    everywhere, only_plain = set[str](), set[str]()
    for _, helpers in wide:
        everywhere |= helpers
    for _, helpers in plain:
        only_plain |= helpers
    only_plain -= everywhere
    parts = [
        banner(origin, "portable C", [program.signature for program in programs]),
        f'#include "{origin.stem}.h"\n',
        c_helpers.PREAMBLE,
    ]
    parts.append(c_helpers.definitions(everywhere & _all(plain)))
    parts += ["#if ASMGEN_WIDE\n", c_helpers.definitions(everywhere - _all(plain))]
    parts += [_function(origin, program, lines) for program, (lines, _) in zip(programs, wide, strict=True)]
    parts += ["#else /* 64-bit integers alone */\n", c_helpers.definitions(only_plain)]
    parts += [_function(origin, program, lines) for program, (lines, _) in zip(programs, plain, strict=True)]
    parts.append("#endif\n")
    return "\n".join(part for part in parts if part)


def _all(bodies: Sequence[tuple[list[str], set[str]]]) -> set[str]:
    return {helper for _, helpers in bodies for helper in helpers}


def _function(origin: Origin, program: Program, lines: Sequence[str]) -> str:
    head = wrapped(prose.prototype(program.signature, origin.prefix))
    formula = prose.mathematics(program.signature)
    note = f"/* {prose.harmless(formula)} */\n" if formula else ""
    return f"{note}{head}\n{{\n" + "\n".join(lines) + "\n}\n"
