"""What the registers that an arm64 instruction reads are for: that decides how late they may come on some cores."""

from __future__ import annotations

from collections.abc import Mapping

from asmgen.targets.row import Row

#: By the class of cost, in operand order, the last for all further ones; flags, addresses and what is stored are
#: never early. From LLVM 19's `AArch64InstrFormats.td`.
READS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("alu", "flags", "carry", "carry_flags", "logic_flags", "select", "ccmp", "move", "constant", "count"),
        ("sum",),
    ),
    "shifted": ("sum", "shifted"),
    "logic_shifted": ("sum", "shifted"),
    "shift": ("sum", ""),
    "insert": ("sum", ""),
    "ror": ("high", ""),
    "extract": ("high", ""),
    "mul": ("product",),
    "mulh": ("product",),
    "mull": ("product",),
    "madd": ("product", "product", "addend"),
    "maddl": ("product", "product", "addend"),
}

#: Instructions that are others with the zero register: which, and how many times it is read before and after the
#: operands that are written down; those without a register to write have it there, too.
WITH_ZERO: Mapping[str, tuple[str, int, int]] = {
    "mul": ("madd", 0, 1), "mneg": ("msub", 0, 1), "umull": ("umaddl", 0, 1), "smull": ("smaddl", 0, 1),
    "neg": ("sub", 1, 0), "negs": ("subs", 1, 0), "ngc": ("sbc", 1, 0), "ngcs": ("sbcs", 1, 0),
    "mvn": ("orn", 1, 0), "mov": ("orr", 1, 0), "cset": ("csinc", 2, 0), "csetm": ("csinv", 2, 0),
    "cmp": ("subs", 0, 0), "cmn": ("adds", 0, 0), "tst": ("ands", 0, 0),
}  # fmt: skip
COMPARING = ("cmp", "cmn", "tst")
#: Those whose one register operand stands for two.
TWICE: Mapping[str, str] = {"ror": "extr", "cinc": "csinc"}

#: Opcodes that LLVM 19's models of all cores tell apart by operands, and those of most.
SUMS = frozenset({"add", "sub", "adds", "subs"})
LOGIC = frozenset({"and", "orr", "eor", "bic", "orn", "eon", "ands", "bics"})
PRODUCTS = frozenset({"madd", "msub", "umaddl", "umsubl"})


def opcode(row: Row) -> str:
    """One name for forms that are one opcode in LLVM: without the condition and the shift."""
    name, _, form = row.name.partition("_")
    if row.control is not None or form in ("pre", "post", "w"):
        return row.name
    name = WITH_ZERO[name][0] if name in WITH_ZERO else TWICE.get(name, name)
    return f"{name}_imm" if form.startswith(("imm", "bitmask")) and name != "extr" else name
