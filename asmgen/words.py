"""Stage 2: 64-bit words and carries in static single assignment, still for no machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from asmgen.contracts import Bytes, Parameter, Signature
from asmgen.errors import Source

MASK = 2**64 - 1


@dataclass(frozen=True, eq=False)
class Word:
    """A 64-bit value, known to be at most `most`."""

    id: int
    most: int = MASK
    name: str = ""

    def __str__(self) -> str:
        return f"{self.name or 'w'}.{self.id}"


@dataclass(frozen=True, eq=False)
class Bit:
    """A carry, borrow or condition: 0 or 1, fit to stay in a flag."""

    id: int

    def __str__(self) -> str:
        return f"c.{self.id}"


Term = Word | int  #: what an operation reads as a word: constants are in 0..2^64 - 1


@dataclass(frozen=True, eq=False)
class Op:
    """One operation. All words are modulo 2^64.

    | kind     | ins              | k  | outs         | meaning |
    |----------|------------------|----|--------------|---------|
    | load     |                  | k  | w            | word `place` = (parameter, i) of an input, k bytes on |
    | scalar   |                  |    | w            | an argument passed by value, `place` = (parameter, 0) |
    | mul      | x, y             |    | low, high    | x * y; an output that nobody needs is None |
    | add      | x, y, [carry]    |    | sum, [carry] | x + y + carry |
    | sub      | x, y, [borrow]   |    | d, [borrow]  | x - y - borrow; a first output that nobody needs is None |
    | shl, shr, sar | x           | k  | w            | shifts, 0 < k < 64 |
    | funnel   | high, low        | k  | w            | bits k..k+63 of high:low, 0 < k < 64 |
    | and, or, xor | x, y         |    | w            | |
    | select   | bit, x, y        |    | w            | x if bit else y |
    | word     | bit              |    | w            | the bit as a word |
    | mask     | bit              |    | w            | all ones if bit else 0 |
    | nonzero  | x                |    | bit          | x != 0 |
    | flip     | bit              |    | bit          | 1 - bit |
    | swap     | x                |    | w            | the bytes in the other order |
    | store    | x                | k  |              | word `place` = (parameter, i) of an output, k bytes on |

    At the end of a byte string that is no whole number of words, load and store reach only what is left of it.
    """

    kind: str
    ins: tuple[Term | Bit, ...]
    outs: tuple[Word | Bit | None, ...] = ()
    k: int = 0
    place: tuple[str, int] | None = None
    source: Source | None = None
    chain: int | None = None  #: rows of one product that may run side by side carry the same number


@dataclass(frozen=True, eq=False)
class LoopOp:
    """`count` times the body when count is not 0, otherwise the operations of `empty`.

    `results[i]` is `next[i]` after the last pass, or `empty_values[i]`.
    """

    count: Term
    state: tuple[Word, ...]
    initial: tuple[Term, ...]
    body: tuple[Op, ...]
    next: tuple[Term, ...]
    empty: tuple[Op, ...]
    empty_values: tuple[Term, ...]
    results: tuple[Word, ...]
    source: Source | None = None


@dataclass(frozen=True)
class Program:
    """A kernel as operations in order."""

    signature: Signature
    ops: tuple[Op | LoopOp, ...]
    returns: Term | None = None
    constants: Mapping[int, str] = field(default_factory=dict)  #: names of well-known constants, for readers


def run(program: Program, inputs: Mapping[str, Sequence[int]]) -> tuple[dict[str, list[int]], int | None]:
    """Output words by parameter name and the returned bit; `inputs` are words by parameter name."""
    known: dict[Word | Bit, int] = {}
    stored: dict[str, dict[int, int]] = {}  #: bytes by place
    for op in program.ops:
        if isinstance(op, LoopOp):
            _loop(op, known, inputs, stored)
        else:
            _step(op, known, inputs, stored)
    return {p.name: _stored(p, stored) for p in program.signature.outputs}, (
        None if program.returns is None else _value(program.returns, known)
    )


def _stored(parameter: Parameter, stored: Mapping[str, Mapping[int, int]]) -> list[int]:
    """An output's words in memory; the last one of a byte string may be a part of one."""
    contract, found = parameter.contract, stored.get(parameter.name, {})
    length = contract.length if isinstance(contract, Bytes) else 8 * contract.words
    missing = [at for at in range(length) if at not in found]
    if missing:
        raise ValueError(f"word {missing[0] // 8} of {parameter.name} was not stored")
    text = bytes(found[at] for at in range(length))
    return [int.from_bytes(text[at : at + 8], "little") for at in range(0, length, 8)]


def _value(term: Term | Bit, known: Mapping[Word | Bit, int]) -> int:
    return term if isinstance(term, int) else known[term]


def _loop(
    loop: LoopOp, known: dict[Word | Bit, int], inputs: Mapping[str, Sequence[int]], stored: dict[str, dict[int, int]]
) -> None:
    count = _value(loop.count, known)
    if count:
        values = [_value(term, known) for term in loop.initial]
        for _ in range(count):
            known.update(zip(loop.state, values, strict=True))
            for op in loop.body:
                _step(op, known, inputs, stored)
            values = [_value(term, known) for term in loop.next]
    else:
        for op in loop.empty:
            _step(op, known, inputs, stored)
        values = [_value(term, known) for term in loop.empty_values]
    known.update(zip(loop.results, values, strict=True))


def _step(
    op: Op, known: dict[Word | Bit, int], inputs: Mapping[str, Sequence[int]], stored: dict[str, dict[int, int]]
) -> None:
    if op.kind in ("load", "scalar"):
        assert op.place is not None
        low, *high = inputs[op.place[0]][op.place[1] : op.place[1] + 2]
        results = [(low | sum(high) << 64) >> 8 * op.k & MASK]
    elif op.kind == "store":
        assert op.place is not None
        at = 8 * op.place[1] + op.k
        text = _value(op.ins[0], known).to_bytes(8, "little")
        stored.setdefault(op.place[0], {}).update(zip(range(at, at + 8), text, strict=True))
        return
    else:
        results = list(meaning(op.kind, [_value(term, known) for term in op.ins], op.k))
    for out, result in zip(op.outs, results, strict=False):
        if out is not None:
            known[out] = result


def meaning(kind: str, x: Sequence[int], k: int = 0) -> Iterator[int]:
    """The results of an operation on integers, all that the operation could have."""
    match kind:
        case "mul":
            yield x[0] * x[1] & MASK
            yield x[0] * x[1] >> 64
        case "add":
            yield sum(x) & MASK
            yield sum(x) >> 64
        case "sub":
            difference = x[0] - sum(x[1:])
            yield difference & MASK
            yield int(difference < 0)
        case "shl":
            yield x[0] << k & MASK
        case "shr":
            yield x[0] >> k
        case "sar":
            yield (x[0] - (x[0] >> 63 << 64)) >> k & MASK
        case "funnel":
            yield (x[0] << 64 | x[1]) >> k & MASK
        case "and":
            yield x[0] & x[1]
        case "or":
            yield x[0] | x[1]
        case "xor":
            yield x[0] ^ x[1]
        case "select":
            yield x[1] if x[0] else x[2]
        case "word":
            yield x[0]
        case "mask":
            yield MASK * x[0]
        case "nonzero":
            yield int(x[0] != 0)
        case "flip":
            yield 1 - x[0]
        case "swap":
            yield int.from_bytes(x[0].to_bytes(8, "little"), "big")
        case _:
            raise KeyError(f"no operation {kind}")
