"""What a kernel promises, in the field's words: the same sentences for assembly, header, C and listing."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Sequence
from functools import cache

from asmgen.contracts import Bytes, Element, Parameter, Signature, Table, elements
from asmgen.emit.names import c_name
from asmgen.field import Field
from asmgen.meanings import meaning_of
from asmgen.polynomial import integer_text

_MOST_POWERS = 6


def number(value: int) -> str:
    """An integer of at least 0 as people in the field write it: 2^255 - 19, 2^256 - 2^32 - 977, or hexadecimal."""
    text = integer_text(value)
    if not text.startswith("0x"):
        return text
    rest, terms = value, list[str]()
    while abs(rest) >= 1024 and len(terms) < _MOST_POWERS:
        power = abs(rest).bit_length() - 1
        power += abs(rest) > 3 << power >> 1
        terms.append(f"{'-' if rest < 0 else '+'} 2^{power}")
        rest -= 1 << power if rest > 0 else -(1 << power)
    if abs(rest) >= 1024 or value.bit_length() < 12 * len(terms):
        return text
    if rest:
        terms.append(f"{'-' if rest < 0 else '+'} {abs(rest)}")
    return " ".join(terms)[2:]


def limit(most: int) -> str:
    """A bound that includes `most`: "below 2^54", or "at most …" where that is the shorter thing to say."""
    above, at = number(most + 1), number(most)
    return f"at most {at}" if above.startswith("0x") or len(at) <= len(above) else f"below {above}"


def modulus(field: Field) -> str:
    """The modulus, named p."""
    text = number(field.modulus)
    plain = text.startswith("0x") or field.modulus < 1024
    return f"p = {text}" if plain else f"p = {text} ({field.modulus:#x})"


def about_field(field: Field) -> list[str]:
    """The field and its limbs, in two or three sentences."""
    widths = field.limbs
    bits = ", ".join(map(str, widths[:1] if len(set(widths)) == 1 else widths))
    positions = ", ".join(map(str, field.positions))
    lines = [
        f"{field.name}: integers modulo {modulus(field)}.",
        f"An element is {len(widths)} limbs of {bits} bits, least significant first, one in a 64-bit word: the sum of "
        f"limb[i] * 2^position[i], positions {positions}. Limbs may exceed their width, up to each function's bounds.",
    ]
    if field.montgomery is not None:
        lines.append(f"Montgomery form: x stands for the residue x / R modulo p, R = {number(field.montgomery)}.")
    return lines


def fields_of(signatures: Sequence[Signature]) -> list[Field]:
    """The fields of the arguments, each once, in order of appearance."""
    found: dict[str, Field] = {}
    for signature in signatures:
        for element in elements(signature.parameters):
            found.setdefault(element.field.name, element.field)
    return list(found.values())


def declaration(parameter: Parameter, *, output: bool) -> str:
    """One C parameter."""
    name, contract = c_name(parameter.name), parameter.contract
    const = "" if output else "const "
    if isinstance(contract, Element):
        return f"{const}uint64_t {name}[{contract.words}]"
    if isinstance(contract, Table):
        return f"{const}uint64_t {name}[{contract.count} * {contract.element.words}]"
    if isinstance(contract, Bytes):
        return f"{const}uint8_t {name}[{contract.length}]"
    return f"uint64_t {name}"


def prototype(signature: Signature, prefix: str = "") -> str:
    """The C prototype without its semicolon: outputs, then inputs in script order; a returned bit is a uint64_t."""
    parameters = [declaration(each, output=True) for each in signature.outputs]
    parameters += [declaration(each, output=False) for each in signature.inputs]
    returned = "uint64_t" if signature.returns_bit else "void"
    return f"{returned} {prefix}{signature.symbol}({', '.join(parameters) or 'void'})"


@cache
def mathematics(signature: Signature) -> str:
    """What the kernel computes in one line: the formula of a well-known name, else the docstring's first line."""
    kinds = tuple(each.contract.kind for each in signature.inputs)
    gives = tuple(each.contract.kind for each in signature.outputs) + ("bit",) * signature.returns_bit
    meaning = meaning_of(signature.kernel, kinds, gives)
    if meaning is None:
        return first_line(signature.doc)
    given = [name for name in inspect.signature(meaning.function).parameters if name != "p"]
    names = dict(zip(given, (c_name(each.name) for each in signature.inputs), strict=False))
    formulas = [re.sub(r"\b[a-z]\w*\b", lambda found: names.get(found[0], found[0]), text) for text in meaning.texts]
    outputs = [c_name(parameter.name) for parameter in signature.outputs]
    if len(formulas) == 1 and outputs:
        outputs = [", ".join(outputs)]
    stored = [f"{name} = {text}" for name, text in zip(outputs, formulas, strict=False)]
    modulo = "  (modulo p)" if "element" in gives else ""
    returned = [f"returns {formulas[-1]}"] if signature.returns_bit else []
    return ", ".join(([", ".join(stored) + modulo] if stored else []) + returned)


def first_line(doc: str) -> str:
    """The first line of a docstring that says something."""
    return next((line.strip() for line in doc.splitlines() if line.strip()), "")


def bound(parameter: Parameter) -> str:
    """What holds for an argument, such as "limbs below 2^54"."""
    contract = parameter.contract
    if isinstance(contract, Element):
        return _element(contract)
    if isinstance(contract, Table):
        return f"{contract.count} elements one after another, each with {_element(contract.element)}"
    if isinstance(contract, Bytes):
        return f"{contract.length} bytes, one integer, {contract.order} endian"
    if contract.kind == "count":
        return "a public number of times, 0 to 2^64 - 1"
    if contract.kind == "bit":
        return "a bit, 0 or 1"
    return limit(contract.value_max)


def _element(contract: Element) -> str:
    limits = [limit(most) for most in contract.limb_max]
    if len(limits) > 2 and len(set(limits[:-1])) == 1 and limits[-1] != limits[0]:
        text = f"limbs {limits[0]}, the last one {limits[-1]}"
    else:
        text = f"limbs {limits[0]}" if len(set(limits)) == 1 else f"limbs {', '.join(limits)}"
    if contract.value_max < contract.value(contract.limb_max):
        whole = "below p" if contract.value_max + 1 == contract.field.modulus else limit(contract.value_max)
        text += f", the value {whole}"
    if contract.multiple_of != 1:
        text += f", each limb a multiple of {number(contract.multiple_of)}, which is divided out of the residue"
    return text


def bounds(signature: Signature) -> list[str]:
    """One line for each group of arguments of equal bounds: `in      a, b: limbs below 2^54`."""
    lines = []
    for word, parameters in (("in", signature.inputs), ("out", signature.outputs)):
        groups: dict[str, list[str]] = {}
        for parameter in parameters:
            groups.setdefault(bound(parameter), []).append(c_name(parameter.name))
        lines += [f"{word:7} {', '.join(names)}: {text}" for text, names in groups.items()]
    if signature.returns_bit:
        lines.append("returns a bit, 0 or 1")
    return lines


def promises(signatures: Sequence[Signature]) -> list[str]:
    """What holds for every function of a file: aliasing and constant time."""
    lines = []
    if any(parameter.by_pointer for signature in signatures for parameter in signature.outputs):
        lines.append(
            "An output may be the same buffer as an input, and inputs may be the same buffer as each other. "
            "Buffers that overlap in part are not allowed. Pointers to words are aligned to 8 bytes as C wants it."
        )
    counts = sorted({c_name(p.name) for s in signatures for p in s.inputs if p.contract.kind == "count"})
    public = f" Public: {', '.join(counts)}." if counts else ""
    lines.append(
        "Constant time: no branch, no address and no instruction of varying time depends on a value, where the CPU "
        "multiplies, adds, shifts and selects in constant time." + public
    )
    return lines


@cache  # files of all targets say it
def contract(signature: Signature) -> tuple[str, ...]:
    """Mathematics, the rest of the docstring, and bounds: what stands over each function."""
    formula = mathematics(signature)
    doc = [line.strip() for line in signature.doc.strip().splitlines()]
    if doc and doc[0] == formula:
        doc = doc[1:]
    lines = [formula] if formula else []
    lines += [line for line in doc if line]
    return (*lines, *bounds(signature))


def comment(lines: Sequence[str], *, width: int = 110) -> str:
    """A C block comment of these paragraphs; a line that starts with blanks is kept as it is."""
    wrapped = [piece for line in lines for piece in _wrapped(line, width)]
    return "/* " + "\n".join([wrapped[0], *((" * " + line).rstrip() for line in wrapped[1:])]) + "\n */\n"


@cache
def _wrapped(text: str, width: int) -> tuple[str, ...]:
    line = harmless(text)
    if line.startswith(" ") or not line:
        return (line,)
    return tuple(textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False))


@cache
def harmless(text: str) -> str:
    """Text that ends no comment and is nothing to an assembler or preprocessor that sees it: ASCII, no `;`, no `#`."""
    plain = text.replace("…", "..").encode("ascii", "backslashreplace").decode()
    return plain.replace("*/", "* /").replace("/*", "/ *").replace(";", ",").replace("#", "No.").rstrip("\\")


@cache
def script_line(text: str) -> str:
    """A line of Python without its own comment, so that it can stand in one of ours."""
    quote = ""
    for index, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "#":
            return harmless(text[:index].rstrip())
    return harmless(text)
