"""A `.S` for GNU as and clang, through the C preprocessor: ELF and Mach-O from the same text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_

from asmgen.contracts import Signature
from asmgen.emit import prose
from asmgen.emit.formats import ELF, MACH_O, MACHINES, macros, property_note
from asmgen.emit.names import c_name, checked_prefix
from asmgen.emit.origin import MACHINES as CALLS
from asmgen.emit.origin import Origin, banner, needs
from asmgen.passes.machine import machine
from asmgen.routine import Cfi, Code
from asmgen.targets.conventions import convention
from asmgen.targets.row import Instruction, Label, Register

_COMMENT_COLUMN, _RESULT_WIDTH = 40, 20
_ALIGNMENT = 5  #: functions start at multiples of 2^5 bytes
_STACK_POINTERS = frozenset({"rsp", "sp"})
_NO_CHANGE = frozenset({"xzr", "rip"})


@dataclass(frozen=True)
class Part:
    """One routine as text, and what its file says about all of them together."""

    signature: Signature
    text: str
    features: tuple[str, ...]  #: CPU features that its instructions need
    bits: int  #: of .note.gnu.property


def emit(origin: Origin, codes: Sequence[Code]) -> str:
    """The assembly file of one script for one target, its routines in the given order.

    Everything is inside a test for the machine, so that a build may hand the file to every compiler it has. Raises
    AsmgenError for a prefix that no C name starts with.
    """
    return join(origin, [part(origin, code) for code in codes])


def part(origin: Origin, code: Code) -> Part:
    """One routine, to be joined with others of its file."""
    text = "\n".join(_routine(origin, code))
    return Part(code.signature, text, tuple(features_of([code])), property_bits(origin.target, [code]))


def join(origin: Origin, parts: Sequence[Part]) -> str:
    """The file of these routines."""
    checked_prefix(origin.prefix)
    machine = MACHINES[origin.target]
    need = f"Needs {needs(origin.target, sorted({each for part in parts for each in part.features}))}."
    text = [
        banner(origin, CALLS[origin.target], [part.signature for part in parts], more=[need]),
        f"#if {machine.test}",
        "",
        *macros(origin.prefix, hidden=not origin.visible),
        "",
        "\t.text",
    ]
    for each in parts:
        text += ["", each.text]
    bits = reduce(and_, (part.bits for part in parts), machine.landing_bit | machine.return_bit)
    text += ["", f"#if {MACH_O.test}", "\t.subsections_via_symbols"]
    if bits:
        text += [f"#elif {ELF.test}", *property_note(machine, bits)]
    text += ["#endif", "", "#endif", "", f"#if {ELF.test}", '\t.section\t.note.GNU-stack, "", %progbits', "#endif"]
    return "\n".join(text) + "\n"


def features_of(codes: Sequence[Code]) -> list[str]:
    """The CPU features that the instructions themselves need, sorted."""
    items = [item for code in codes for item in code.items if isinstance(item, Instruction)]
    return sorted({item.row.feature for item in items if item.row.feature})


def property_bits(target: str, codes: Sequence[Code]) -> int:
    """Bits of .note.gnu.property that hold for all routines.

    The landing bit: each starts with an instruction that indirect calls may arrive at. The return bit: on amd64
    always, since calls and returns are paired; on arm64 when each routine that keeps its return address in memory, or
    calls another, signs it.
    """
    machine = MACHINES[target]
    bits = machine.landing_bit | machine.return_bit
    for code in codes:
        instructions = [item for item in code.items if isinstance(item, Instruction)]
        names = {item.row.name for item in instructions}
        if not instructions or instructions[0].row.name not in machine.landing:
            bits &= ~machine.landing_bit
        kept = "x30" in code.saved or calls(code)
        if target == "arm64" and kept and not {"paciasp", "autiasp"} <= names:
            bits &= ~machine.return_bit
    return bits


def clobbered(code: Code) -> list[Register]:
    """Registers that hold something else after the call, in number order; not the saved ones and the stack pointer.

    Of a routine that calls others these are all that the calling convention gives to them.
    """
    instructions = [item for item in code.items if isinstance(item, Instruction)]
    written = {register for item in instructions for register in item.written if isinstance(register, Register)}
    if calls(code):
        written |= {machine(code.target).registers[name] for name in convention(None, code.target).changed}
    kept = {*_STACK_POINTERS, *_NO_CHANGE, *code.saved}
    return sorted((each for each in written if each.name not in kept), key=lambda register: register.number)


def calls(code: Code) -> bool:
    """Whether a routine calls others."""
    return any(isinstance(item, Instruction) and item.row.control == "call" for item in code.items)


def facts(code: Code) -> list[str]:
    """Registers, stack and CPU features of one routine."""
    arguments = convention(None, code.target).arguments
    parameters = code.signature.parameters
    places = [f"{c_name(parameter.name)} in {place}" for parameter, place in zip(parameters, arguments, strict=False)]
    places += [f"{c_name(parameter.name)} on the stack" for parameter in parameters[len(arguments) :]]
    changed = " ".join(register.name for register in clobbered(code))
    lines = [
        f"args    {', '.join(places) or 'nothing'}",
        f"changes {changed or 'no register'}, flags",
        f"saves   {' '.join(code.saved) or 'nothing'}",
        f"stack   {code.stack} bytes{', with what it calls' if calls(code) else ''}",
    ]
    features = features_of([code])
    if features:
        lines.append(f"needs   {needs(code.target, features)}")
    return lines


def _routine(origin: Origin, code: Code) -> Iterator[str]:
    signature = code.signature
    name = signature.symbol
    heading = [f"{origin.prefix}{name}", "", f"    {prose.prototype(signature, origin.prefix)}", ""]
    yield prose.comment([*heading, *prose.contract(signature), *facts(code)]).rstrip("\n")
    yield f"\t.globl\tSYMBOL({name})"
    if not origin.visible:
        yield f"\tHIDDEN({name})"
    yield f"\tFUNCTION({name})"
    yield f"\t.p2align\t{_ALIGNMENT}"
    yield f"SYMBOL({name}):"
    yield "\t.cfi_startproc"
    yield from _body(code)
    yield "\t.cfi_endproc"
    yield f"\tSIZE({name})"


def _body(code: Code) -> Iterator[str]:
    own = {item.name for item in code.items if isinstance(item, Label)}
    shown = ""
    for index, item in enumerate(code.items):
        if isinstance(item, Cfi):
            yield f"\t{item.text}"
        elif isinstance(item, Label):
            yield f"{local(code, item.name)}:"
            shown = ""
        else:
            line = prose.script_line(item.source.text) if item.source else ""
            remark = prose.harmless(made(code, index) or item.note)
            if line not in ("", shown):
                remark, shown = f"{remark:{_RESULT_WIDTH}} {line}", line
            yield aligned("\t" + spelled(item, code, own), remark)


def made(code: Code, index: int) -> str:
    """What the allocator calls the results of the item at `index`; by register where there are two."""
    item = code.items[index]
    held = code.holds[index] if index < len(code.holds) else {}
    written = dict.fromkeys(item.written) if isinstance(item, Instruction) else {}
    found = {each.name: held[each] for each in written if isinstance(each, Register) and each in held}
    return " ".join(found.values() if len(found) == 1 else (f"{name}={text}" for name, text in found.items()))


def spelled(item: Instruction, code: Code, own: set[str]) -> str:
    """An instruction's text, its labels through the macros for local names and symbols."""
    operands = tuple(
        replace(each, name=local(code, each.name) if each.name in own else f"SYMBOL({each.name})")
        if isinstance(each, Label)
        else each
        for each in item.operands
    )
    mnemonic, _, rest = item.row.text(operands).strip().partition(" ")
    return f"{mnemonic}\t{rest.strip()}".rstrip()


def local(code: Code, name: str) -> str:
    """A label inside a routine, unique in the file."""
    return f"LOCAL({code.signature.kernel}_{re.sub('[^A-Za-z0-9_]', '_', name).strip('_')})"


def aligned(text: str, comment: str) -> str:
    """`text`, and the comment in its column when there is one."""
    if not comment:
        return text
    width = len(text.expandtabs(8))
    return f"{text}{' ' * max(1, _COMMENT_COLUMN - width)}/* {comment} */"
