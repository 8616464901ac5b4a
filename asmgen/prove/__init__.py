"""Proofs from the bytes: right for all inputs, or a counterexample, or neither.

Machine code is decoded (`decode`), followed by the meanings of its instructions' rows on polynomials (`state`, `run`,
`domain`, `cells`), through its loop by induction (`loops`) and its choices by cases, and what it leaves is held against
the kernel's contract and meaning (`goal`, `proof`). Nothing of the passes that made the code is used.
"""

from asmgen.prove.answers import Answer, NotProved, Place, Proved, Refuted
from asmgen.prove.proof import prove
from asmgen.prove.routine import Described, Routine

__all__ = ["Answer", "Described", "NotProved", "Place", "Proved", "Refuted", "Routine", "prove"]
