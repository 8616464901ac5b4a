"""What differs between object formats, said once at the top of each `.S` by preprocessor macros."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """An object format: the macro that tells of it, and how it spells names and directives.

    A directive that the format does not have is empty. A format that is added here is in every file.
    """

    name: str
    test: str  #: preprocessor condition
    underscore: bool  #: C names have an underscore in front
    local: str  #: prefix of labels that stay out of the symbol table
    hidden: str  #: directive that keeps a global symbol inside its shared object
    function: str = ""  #: directive that makes `name` a function
    size: str = ""  #: directive that tells the size of `name`


ELF = Format("ELF", "defined(__ELF__)", False, ".L", ".hidden SYMBOL(name)", ".type SYMBOL(name), %function",
             ".size SYMBOL(name), . - SYMBOL(name)")  # fmt: skip
MACH_O = Format("Mach-O", "defined(__APPLE__)", True, "L", ".private_extern SYMBOL(name)")
FORMATS = (ELF, MACH_O)


@dataclass(frozen=True)
class Machine:
    """What the preprocessor calls a target, and the marks that its ELF objects carry in .note.gnu.property.

    `landing` are rows that an indirect call may arrive at, `landing_bit` and `return_bit` the bits that say that every
    function starts with one and that no return address is taken from memory unprotected.
    """

    test: str
    property_type: int
    landing: frozenset[str]
    landing_bit: int
    landing_name: str
    return_bit: int
    return_name: str


# Bits: System V ABI, AMD64 supplement, and ELF for the Arm 64-bit Architecture, each under "program property".
MACHINES = {
    "amd64": Machine(
        "defined(__x86_64__) && !defined(__ILP32__)", 0xC0000002, frozenset({"endbr64"}), 1, "IBT", 2, "SHSTK",
    ),
    "arm64": Machine(
        "(defined(__aarch64__) || defined(__arm64__)) && !defined(__AARCH64EB__)", 0xC0000000,
        frozenset({"bti_c", "paciasp"}), 1, "BTI", 2, "PAC",
    ),
}  # fmt: skip


def macros(prefix: str, *, hidden: bool) -> list[str]:
    """The lines that define PREFIXED, SYMBOL, LOCAL, HIDDEN, FUNCTION and SIZE for every format."""
    lines = [
        "/* Names and directives by object format. */",
        f"#define PREFIXED(name) {prefix + '##' if prefix else ''}name",
    ]
    for index, form in enumerate(FORMATS):
        lines.append(f"#{'elif' if index else 'if'} {form.test}")
        if form.underscore:
            lines += [
                "#define UNDERSCORE(name) _##name",
                "#define EXPANDED(name) UNDERSCORE(name)",
                "#define SYMBOL(name) EXPANDED(PREFIXED(name))",
            ]
        else:
            lines.append("#define SYMBOL(name) PREFIXED(name)")
        lines.append(f"#define LOCAL(name) {form.local}##name")
        if hidden:
            lines.append(f"#define HIDDEN(name) {form.hidden}")
        lines.append(f"#define FUNCTION(name) {form.function}".rstrip())
        lines.append(f"#define SIZE(name) {form.size}".rstrip())
    names = " or ".join(form.name for form in FORMATS)
    return [*lines, "#else", f'#error "this file is for {names} objects"', "#endif"]


def property_note(machine: Machine, bits: int) -> list[str]:
    """The .note.gnu.property section with these feature bits, by hand: compilers add it to C, not to assembly."""
    names = [
        name
        for name, bit in ((machine.landing_name, machine.landing_bit), (machine.return_name, machine.return_bit))
        if bits & bit
    ]
    rows = [
        ('.section\t.note.gnu.property, "a", %note', ""),
        (".p2align\t3", ""),
        (".long\t4", "size of the name"),
        (".long\t16", "size of the property"),
        (".long\t5", "NT_GNU_PROPERTY_TYPE_0"),
        ('.asciz\t"GNU"', ""),
        (f".long\t{machine.property_type:#x}", "FEATURE_1_AND"),
        (".long\t4", "size of the bits"),
        (f".long\t{bits}", ", ".join(names)),
        (".long\t0", "padding to 8 bytes"),
    ]
    return [f"\t{text}" + (f"\t/* {note} */" if note else "") for text, note in rows]
