"""How arm64 rows are made, and the operands they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from asmgen.targets.arm64_encoding import Piece, encoder, printer, register
from asmgen.targets.arm64_meaning import ALL_FLAGS
from asmgen.targets.row import Meaning, Operand, Role, Row

IN, OUT, INOUT = Role.IN, Role.OUT, Role.INOUT

# Register operands by their field: destination, first, second, addend, and those of loads and stores. `_Z` admits the
# zero register, `_SP` the stack pointer, `_W` is 32 bits wide.
D, D_Z, D_SP, D_W = (register(kind, OUT, 0) for kind in ("r64", "r64z", "r64s", "r32"))
D2, CHANGED = register("r64", OUT, 10), register("r64", INOUT, 0)
N, N_SP, N_W = (register(kind, IN, 5) for kind in ("r64z", "r64s", "r32z"))
M, M_W, N_AND_M = register("r64z", IN, 16), register("r32z", IN, 16), register("r64z", IN, 5, 16)
A = register("r64z", IN, 10)
T, T_W, T2 = register("r64z", IN, 0), register("r32z", IN, 0), A

# The zero register's number in the field of an operand that an instruction goes without.
NO_D, NO_N, NO_M, NO_A = 31, 31 << 5, 31 << 16, 31 << 10

#: Why operands that fit their slots do not fit together; empty when they do.
Rule = Callable[[Sequence[Operand]], str]


@dataclass(frozen=True)
class Form:
    """A row, the family whose name also finds it, and what its operands must be together."""

    row: Row
    family: str
    rule: Rule


def form(
    name: str,
    opcode: int,
    pieces: Sequence[Piece],
    meaning: Meaning,
    *,
    mnemonic: str = "",
    tail: str = "",
    family: str = "",
    reads: str = "",
    flags: bool = False,
    cost: str = "alu",
    control: str | None = None,
    commutes: tuple[int, int] | None = None,
    rule: Rule = lambda operands: "",
) -> Form:
    """A row from its opcode and pieces.

    The mnemonic is the name up to the first underscore and the family the name unless given; `tail` is a last operand
    that never varies; with `flags` all four are written.
    """
    mnemonic = mnemonic or name.split("_")[0]
    row = Row(
        name=name,
        mnemonic=mnemonic,
        slots=tuple(piece.slot for piece in pieces),
        meaning=meaning,
        encode=encoder(opcode, pieces),
        text=printer(mnemonic, pieces, tail),
        reads=frozenset(reads),
        writes=ALL_FLAGS if flags else frozenset(),
        control=control,
        cost=cost,
        commutes=commutes,
    )
    return Form(row, family or name, rule)
