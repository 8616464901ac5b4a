"""The C header of one script for one target: valid C99 and C++."""

from __future__ import annotations

import re
from collections.abc import Sequence

from asmgen.contracts import Signature
from asmgen.emit import prose
from asmgen.emit.names import checked_prefix
from asmgen.emit.origin import Origin, banner, needs


def emit(origin: Origin, signatures: Sequence[Signature], *, features: Sequence[str] = ()) -> str:
    """Prototypes, each with its contract; `features` are the CPU features that the assembly needs.

    A bit is returned as a uint64_t that is 0 or 1.
    """
    checked_prefix(origin.prefix)
    guard = re.sub("[^A-Z0-9]+", "_", f"{origin.prefix}{origin.stem}".upper()).strip("_") + "_H"
    if guard[0].isdigit():
        guard = f"ASMGEN_{guard}"
    more = [
        f"The assembly needs {needs(origin.target, features)}. The C file beside it has the same functions for "
        "any CPU: link either, not both."
    ]
    hidden = "defined(__GNUC__) && !defined(_WIN32)"
    parts = [
        banner(origin, "C header", signatures, more=more),
        f"#ifndef {guard}\n#define {guard}\n",
        "#include <stdint.h>\n",
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
    ]
    if not origin.visible:
        parts.append(f"#if {hidden}\n#pragma GCC visibility push(hidden)\n#endif\n")
    for signature in signatures:
        declaration = wrapped(prose.prototype(signature, origin.prefix))
        parts.append(f"{prose.comment(prose.contract(signature))}{declaration};\n")
    if not origin.visible:
        parts.append(f"#if {hidden}\n#pragma GCC visibility pop\n#endif\n")
    parts += ["#ifdef __cplusplus\n}\n#endif\n", f"#endif /* {guard} */\n"]
    return "\n".join(parts)


def wrapped(prototype: str, width: int = 110) -> str:
    """A long prototype with its parameters on lines of their own."""
    if len(prototype) <= width:
        return prototype
    head, _, rest = prototype.partition("(")
    return f"{head}(\n    " + ",\n    ".join(rest.removesuffix(")").split(", ")) + ")"
