"""The rows of arm64 that reach memory or decide what runs next: loads, stores, jumps, calls, and the hints of
frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from asmgen.targets import arm64_meaning as means
from asmgen.targets.arm64_encoding import Piece, Steps, immediate, label, memory, register
from asmgen.targets.arm64_forms import D2, D_W, IN, INOUT, OUT, T2, T_W, D, Form, T, form
from asmgen.targets.arm64_meaning import CONDITIONS, just
from asmgen.targets.row import Meaning, Memory, Operand, Outcome

NEAR, PAIR = Steps(-256, 255), Steps(-512, 504, 8)
STACK = register("r64s", INOUT, fixed="sp")

_same = just(lambda domain, value: value)


def single() -> Iterator[Form]:
    """One register: offsets scaled by its size, or any small offset in the forms with a `u`."""
    yield from _sizes("", "m64", 8, 0xF9000000, D, T, _same)
    yield from _sizes("_w", "m32", 4, 0xB9000000, D_W, T_W, _same)
    yield from _sizes("b", "m8", 1, 0x39000000, D_W, T_W, just(lambda domain, value: means.low(domain, value, 8)))


def _sizes(end: str, kind: str, size: int, opcode: int, into: Piece, of: Piece, stored: Meaning) -> Iterator[Form]:
    scaled, unscaled = Steps(0, 4095 * size, size), opcode - 0x01000000
    for verb, role, register_, meaning, load in (("ld", IN, into, _same, 0x400000), ("st", OUT, of, stored, 0)):
        made = partial(form, meaning=meaning, family=f"{verb}r{end}", cost="load" if load else "store")
        yield made(f"{verb}r{end}", opcode + load, (register_, memory(kind, role, scaled, 10)))
        yield made(f"{verb}ur{end}", unscaled + load, (register_, memory(kind, role, NEAR, 12)))


def _halves(domain: Any, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """ldp: the lower word to the first register."""
    return Outcome(domain.split(inputs[0], 64))


def _joined(domain: Any, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """stp: the first register to the lower word."""
    return Outcome((inputs[0] + (1 << 64) * inputs[1],))


def _distinct(operands: Sequence[Operand]) -> str:
    return f"{operands[0]} would be loaded twice" if operands[0] == operands[1] else ""


def pairs() -> Iterator[Form]:
    """Two registers, the first one at the lower address."""
    yield form("ldp", 0xA9400000, (D, D2, memory("m128", IN, PAIR, 15)), _halves, cost="load_pair", rule=_distinct)
    yield form("stp", 0xA9000000, (T, T2, memory("m128", OUT, PAIR, 15)), _joined, cost="store_pair")


def moving() -> Iterator[Form]:
    """Loads and stores for frames that move sp, before (`_pre`) or after (`_post`) the access.

    Operands are the registers, sp, the memory that is accessed, and the number added to sp; before an access that is
    also the memory's offset.
    """
    for verb, load in (("ld", True), ("st", False)):
        one, two = (D, D2) if load else (T, T2)
        joined = _halves if load else _joined
        for when, before in (("pre", True), ("post", False)):
            opcode = (load << 22) + (before << 11)
            yield _moving(f"{verb}r_{when}", 0xF8000400 + opcode, (one,), "m64", NEAR, 12, _same, load, before)
            opcode = (load << 22) + (before << 24)
            yield _moving(f"{verb}p_{when}", 0xA8800000 + opcode, (one, two), "m128", PAIR, 15, joined, load, before)


def _moving(
    name: str,
    opcode: int,
    registers: tuple[Piece, ...],
    kind: str,
    steps: Steps,
    place: int,
    meaning: Meaning,
    load: bool,
    before: bool,
) -> Form:
    def move(domain: Any, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
        *others, step = inputs
        stack = others.pop(0 if load else -1)
        values, moved = meaning(domain, others, flags).values, means.low(domain, stack + step)
        return Outcome((*values, moved) if load else (moved, *values))

    def agree(operands: Sequence[Operand]) -> str:
        stack, accessed, step = operands[-3:]
        if not isinstance(accessed, Memory) or accessed.base != stack:
            return "the address is not based on sp"
        if before and accessed.offset != step:
            return f"the address is {accessed.offset} from sp, which moves by {step}"
        return _distinct(operands) if load and len(registers) == 2 else ""

    role = IN if load else OUT
    if before:
        accessed, step = memory(kind, role, steps, place, "!"), immediate(steps, lambda value: 0, implicit=True)
    else:
        accessed, step = (
            memory(kind, role, Steps(0, 0), place),
            immediate(steps, lambda value: steps.field(value) << place),
        )
    cost = f"{'load' if load else 'store'}{'_pair' if len(registers) == 2 else ''}_moving"
    return form(name, opcode, (*registers, STACK, accessed, step), move, cost=cost, rule=agree)


def control() -> Iterator[Form]:
    """Jumps, calls and returns."""
    far, near, link = label(26, 0), label(19, 5), partial(register, "r64", fixed="x30")
    branch = partial(form, cost="branch", control="branch")
    yield form("b", 0x14000000, (far,), _nothing, cost="branch", control="jump")
    for code, (name, reads) in enumerate(CONDITIONS.items()):
        taken = means.taken_if(name)
        yield branch(f"b_{name}", 0x54000000 + code, (near,), taken, mnemonic=f"b.{name}", reads=reads)
    yield branch("cbz", 0xB4000000, (T, near), just(lambda domain, x, place: domain.is_zero(x)))
    yield branch("cbnz", 0xB5000000, (T, near), just(lambda domain, x, place: 1 - domain.is_zero(x)))
    yield form("bl", 0x94000000, (far, link(OUT)), _unknown, cost="call", control="call")
    yield form("ret", 0xD65F03C0, (link(IN),), _nothing, cost="ret", control="ret")


def hints() -> Iterator[Form]:
    """What older cores take for nop: the mark of an indirect jump's target, and signing of the return address with
    sp."""
    link = register("r64", INOUT, fixed="x30")
    yield form("nop", 0xD503201F, (), _nothing, cost="nop")
    yield form("bti_c", 0xD503245F, (), _nothing, tail="c", cost="nop")
    yield form("paciasp", 0xD503233F, (link,), _same, cost="pac")
    yield form("autiasp", 0xD50323BF, (link,), _same, cost="pac")


def _nothing(domain: Any, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    return Outcome()


def _unknown(domain: Any, inputs: Sequence[Any], flags: Mapping[str, Any]) -> Outcome:
    """bl: the return address, which is no value a meaning can give."""
    return Outcome((None,))


def forms() -> Iterator[Form]:
    """All of these."""
    for room in (single, pairs, moving, control, hints):
        yield from room()
