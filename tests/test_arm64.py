"""arm64 rows: bytes against GNU as, clang and capstone, meanings and flags against unicorn, in every form."""

from __future__ import annotations

import os
import random
import re
import shutil
import struct
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import capstone
import pytest
import unicorn
from arm64_states import CODE, DATA_SIZE, DATA_START, NAMES, SIZES, UNICORN, State, word

from asmgen.errors import AsmgenError
from asmgen.targets import arm64, explicit
from asmgen.targets.arm64_encoding import Steps, bitmasks
from asmgen.targets.arm64_meaning import CONDITIONS
from asmgen.targets.assemble import assemble
from asmgen.targets.row import FRAME, Instruction, Integers, Label, Memory, Operand, Role, Row, Slot, Virtual

SEED = 20260401
LONG = os.environ.get("ASMGEN_LONG") == "1"
STATES = 4000 if LONG else 200
GOLDEN = Path(__file__).parent / "golden" / "arm64_encodings.txt"
REFRESH = os.environ.get("ASMGEN_REFRESH") == "1"

R = arm64.REGISTERS
DATA = [name for name, row in arm64.ROWS.items() if row.control is None]
CONTROL = [name for name, row in arm64.ROWS.items() if row.control is not None]
MASKS = ("and_imm", "mov_bitmask")  # assembled with every bitmask there is; the golden file has some of these
NUMBERS = sorted(
    {0, 1, 2, 3, 0x10, 0xFFF, 0x1000, 0x7FF000, 0xFFF000, *list(bitmasks())[::331], *list(bitmasks())[-12:]}
)


# Every form of every row


def candidates(slot: Slot) -> list[Operand]:
    """Operands that show each corner of a slot."""
    if slot.fixed is not None:
        return [R[slot.fixed]]
    if slot.kind.startswith("r"):
        special = {"z": ["xzr"], "s": ["sp"]}.get(slot.kind[-1], [])
        return [R[name] for name in ("x0", "x1", "x2", "x15", "x16", "x29", "x30", *special)]
    if slot.kind == "label":
        return [Label(".")]  # distances are in `distances`
    if isinstance(slot.legal, Steps):
        least, most, unit = slot.legal.least, slot.legal.most, slot.legal.unit
        near = {least, least + unit, -unit, 0, unit, (least + most) // 2 // unit * unit, most - unit, most}
        values = sorted(value for value in near if slot.legal(value))
        if slot.kind == "imm":
            return list(values)
        bases = [R[name] for name in ("x2", "x0", "x15", "x30", "sp")]
        return [Memory(bases[0], value) for value in values] + [Memory(base, values[-1]) for base in bases[1:]]
    assert slot.kind == "imm" and slot.legal is not None
    return [value for value in NUMBERS if slot.legal(value)]


def distances(row: Row) -> list[int]:
    reach = {"b": 1 << 27, "bl": 1 << 27}.get(row.name, 1 << 20)
    return [-reach, -4096, -4, 0, 4, 64, reach - 4]


def made(row: Row, operands: Sequence[Operand]) -> Instruction | None:
    """The instruction, or None where the operands do not go together (as 40 bits from bit 40)."""
    try:
        instruction = arm64.ins(row.name, *operands)
    except AsmgenError:
        return None
    assert instruction.row.name == row.name
    return instruction


@cache
def forms(name: str) -> list[Instruction]:
    """Each operand at each corner with the others fixed, all pairs of numbers, and mixtures of all."""
    row = arm64.ROWS[name]
    if name in MASKS:
        pools = [candidates(slot) for slot in row.slots[:-1]] + [list(filter(row.slots[-1].legal, bitmasks()))]
    elif name.split("_")[-1] in ("pre", "post"):
        return [moving for moving in frames(row) if moving]
    else:
        pools = [candidates(slot) for slot in row.slots]
    first = [
        pool[min(1 if slot.kind == "imm" else i, len(pool) - 1)]
        for i, (slot, pool) in enumerate(zip(row.slots, pools, strict=True))
    ]
    chosen: dict[tuple[Operand, ...], None] = {tuple(first): None}
    for i, pool in enumerate(pools):
        for value in pool:
            chosen[(*first[:i], value, *first[i + 1 :])] = None
    numbers = [i for i, slot in enumerate(row.slots) if slot.kind == "imm"]
    for values in product(*(pools[i] for i in numbers)) if len(numbers) > 1 else ():
        chosen[tuple(values[numbers.index(i)] if i in numbers else first[i] for i in range(len(first)))] = None
    for k in range(12):
        chosen[tuple(pool[(5 * k + (2 * i + 1) * k + i) % len(pool)] for i, pool in enumerate(pools))] = None
    found = [made(row, operands) for operands in chosen]
    return [instruction for instruction in found if instruction is not None]


def frames(row: Row) -> Iterator[Instruction | None]:
    """Forms that move sp: the number is given twice before an access."""
    *registers, _, place, step = row.slots
    for turn in range(4):
        named = [candidates(slot)[(3 * turn + i) % 7] for i, slot in enumerate(registers)]
        for value in candidates(step):
            assert isinstance(value, int)
            yield made(row, [*named, arm64.SP, Memory(arm64.SP, value if row.name.endswith("pre") else 0), value])


def encoded(instruction: Instruction, distance: int = 0) -> bytes:
    return instruction.row.encode(
        [distance if isinstance(operand, Label) else operand for operand in instruction.operands]
    )


@cache
def lines() -> list[tuple[str, str, bytes]]:
    """(row, text, our bytes) of every form."""
    found = []
    for name, row in arm64.ROWS.items():
        for instruction in forms(name):
            if any(slot.kind == "label" for slot in row.slots):
                for distance in distances(row):
                    operands = [Label(f".{distance:+}") if isinstance(x, Label) else x for x in instruction.operands]
                    found.append((name, row.text(operands), encoded(instruction, distance)))
            else:
                found.append((name, row.text(instruction.operands), encoded(instruction)))
    return found


# Bytes


def text_section(object_file: bytes) -> bytes:
    """The .text section of a little-endian ELF64 file."""
    (table,) = struct.unpack_from("<Q", object_file, 40)
    size, count, names = struct.unpack_from("<HHH", object_file, 58)
    headers = [struct.unpack_from("<IIQQQQ", object_file, table + i * size) for i in range(count)]
    for name, _, _, _, start, length in headers:
        at = headers[names][4] + name
        if object_file[at : object_file.index(b"\0", at)] == b".text":
            return object_file[start : start + length]
    raise ValueError("no .text section")


def assembled(command: list[str], tmp_path: Path) -> list[bytes]:
    source, target = tmp_path / "forms.s", tmp_path / "forms.o"
    source.write_text("".join(f"\t{text}\n" for _, text, _ in lines()))
    run = subprocess.run([*command, "-o", str(target), str(source)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[:2000]
    code = text_section(target.read_bytes())
    return [code[i : i + 4] for i in range(0, len(code), 4)]


def differences(theirs: Sequence[bytes]) -> list[str]:
    assert len(theirs) == len(lines())
    return [
        f"{name}: {text}: ours {ours.hex()}, theirs {other.hex()}"
        for (name, text, ours), other in zip(lines(), theirs, strict=True)
        if ours != other
    ]


GNU_AS = next(filter(None, map(shutil.which, ("aarch64-linux-gnu-as",))), None)
CLANG = next(filter(None, map(shutil.which, ("clang", "clang-19", "clang-18", "clang-17", "clang-16"))), None)


@pytest.mark.skipif(GNU_AS is None, reason="no aarch64-linux-gnu-as on this machine")
def test_bytes_are_those_of_gnu_as(tmp_path: Path) -> None:
    theirs = assembled([str(GNU_AS)], tmp_path)
    assert not differences(theirs)[:20]
    table = sorted((name, code.hex(), text) for (name, text, _), code in zip(lines(), theirs, strict=True))
    golden = "".join("\t".join(line) + "\n" for i, line in enumerate(table) if line[0] not in MASKS or i % 50 == 0)
    if REFRESH:
        GOLDEN.write_text(golden)
    assert GOLDEN.read_text() == golden, "set ASMGEN_REFRESH=1 once to write the golden file again"


@pytest.mark.skipif(CLANG is None, reason="no clang on this machine")
def test_bytes_are_those_of_clang(tmp_path: Path) -> None:
    theirs = assembled([str(CLANG), "--target=aarch64-linux-gnu", "-c"], tmp_path)
    assert not differences(theirs)[:20]


def test_golden_bytes() -> None:
    """What GNU as once made of every form, for machines without it."""
    ours = {(name, text): code.hex() for name, text, code in lines()}
    golden = [line.split("\t") for line in GOLDEN.read_text().splitlines()]
    assert {name for name, _, _ in golden} == set(arm64.ROWS)
    wrong = [f"{name}: {text}" for name, code, text in golden if ours.get((name, text)) != code]
    assert not wrong[:20]


# Decoding

OPPOSITE = {name: list(CONDITIONS)[i ^ 1] for i, name in enumerate(CONDITIONS)}
WITHOUT_TARGET = {"adds": "cmn", "subs": "cmp", "ands": "tst"}
WITHOUT_FIRST = {"sub": "neg", "subs": "negs", "sbc": "ngc", "sbcs": "ngcs", "orn": "mvn", "orr": "mov"}
WITHOUT_ADDEND = {"madd": "mul", "msub": "mneg", "umaddl": "umull", "umsubl": "umnegl"}
OF_ONE = {"csinc": "cinc", "csinv": "cinv", "csneg": "cneg"}


def preferred(text: str) -> str:
    """Our text under the name that the Arm manual prefers for it, numbers decimal: what a disassembler prints."""
    mnemonic, _, rest = text.partition(" ")
    words = [word for word in re.split(r", (?![^\[]*\])", rest) if word and word != "lsl #0"]
    if mnemonic in ("movz", "movn") and (words[1] != "#0" or len(words) == 2):
        value = int(words[1][1:], 0) << int(words[2].split("#")[1] if len(words) > 2 else 0)
        mnemonic, words = "mov", [words[0], f"#{value if mnemonic == 'movz' else ~value}"]
    elif mnemonic in WITHOUT_TARGET and words[0] == "xzr":
        mnemonic, words = WITHOUT_TARGET[mnemonic], words[1:]
    elif mnemonic == "negs" and words[0] == "xzr":
        mnemonic = "cmp"
    elif mnemonic in WITHOUT_FIRST and words[1] == "xzr" and (mnemonic != "orr" or len(words) == 3):
        mnemonic, words = WITHOUT_FIRST[mnemonic], [words[0], *words[2:]]
    elif mnemonic in WITHOUT_ADDEND and words[3] == "xzr":
        mnemonic, words = WITHOUT_ADDEND[mnemonic], words[:3]
    elif mnemonic in OF_ONE and words[1] == words[2]:
        mnemonic, words = OF_ONE[mnemonic], [words[0], words[1], OPPOSITE[words[3]]]
    elif mnemonic == "cinc" and words[1] == "xzr":
        mnemonic, words = "cset", [words[0], words[2]]
    elif mnemonic == "extr" and words[1] == words[2]:
        mnemonic, words = "ror", [words[0], words[1], words[3]]
    elif mnemonic == "lsl" and words[2] == "#0":
        mnemonic = "lsr"
    elif mnemonic in ("ubfx", "sbfx", "ubfiz", "bfi"):
        mnemonic, words = preferred_field(mnemonic, words)
    mnemonic = re.sub("cs$", "hs", re.sub("cc$", "lo", mnemonic)) if mnemonic.startswith("b.") else mnemonic
    words = [{"cs": "hs", "cc": "lo"}.get(word, word) for word in words]
    return decimal(f"{mnemonic} {', '.join(words)}".strip())


def preferred_field(mnemonic: str, words: list[str]) -> tuple[str, list[str]]:
    first, width = (int(word[1:]) for word in words[2:])
    if first + width == 64 and mnemonic != "bfi":
        name = {"ubfx": "lsr", "sbfx": "asr", "ubfiz": "lsl" if first else "lsr"}[mnemonic]
        return name, words[:3]
    if mnemonic == "sbfx" and (first, width) == (0, 32):
        return "sxtw", [words[0], "w" + words[1][1:]]
    if mnemonic == "bfi" and words[1] == "xzr":
        return "bfc", [words[0], *words[2:]]
    if first == 0:
        return {"ubfiz": "ubfx", "bfi": "bfxil"}.get(mnemonic, mnemonic), words
    return mnemonic, words


def decimal(text: str) -> str:
    """Numbers modulo 2^64, decimal, without their mark; distances as the address they reach from 0."""
    text = re.sub(r"(?<![\w.])\.(?=[+-])", "", text).replace("#", "")
    return re.sub(r"(?<!\w)[+-]?(0x[0-9a-f]+|\d+)\b", lambda found: str(int(found[0], 0) % (1 << 64)), text)


def test_capstone_decodes_what_was_meant() -> None:
    decoder = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM)
    wrong = []
    for name, text, code in lines():
        (_, _, mnemonic, operands), *_ = decoder.disasm_lite(code, 0)
        if decimal(f"{mnemonic} {operands}".strip()) != preferred(text):
            wrong.append(f"{name}: {text} is decoded as {mnemonic} {operands}")
    assert not wrong[:20]


# Meanings

@cache
def machine() -> unicorn.Uc:
    emulator = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
    emulator.mem_map(CODE, 0x100000)
    emulator.mem_map(DATA_START, DATA_SIZE)
    return emulator


@cache
def loaded(name: str) -> list[tuple[int, Instruction]]:
    """The row's forms with the address of each in the emulated memory, each row at its own place."""
    start = CODE + sum(len(forms(earlier)) for earlier in DATA[: DATA.index(name)]) * 4
    code = b"".join(map(encoded, forms(name)))
    machine().mem_write(start, code)
    return [(start + 4 * i, instruction) for i, instruction in enumerate(forms(name))]


@pytest.mark.parametrize("name", DATA)
def test_meaning_is_that_of_unicorn(name: str) -> None:
    print(f"seed {SEED}")
    random_, emulator, all_forms = random.Random(f"{SEED} {name}"), machine(), loaded(name)
    state, everything = State(random_), list(UNICORN)
    emulator.reg_write_batch([(UNICORN[name], value) for name, value in zip(NAMES, state.values(NAMES), strict=True)])
    for turn in range(max(STATES, len(all_forms))):
        address, instruction = all_forms[turn % len(all_forms)]
        drawn, around = state.renew(random_, instruction), state.around
        emulator.reg_write_batch([(UNICORN[name], value) for name, value in drawn.items()])
        emulator.mem_write(state.start, around)
        state.execute(instruction)
        emulator.emu_start(address, address + 4)
        # A register that is not used keeps a wrong value until the turn that looks at all of them.
        names = everything if turn % 8 == 0 else list(drawn)
        found = list(emulator.reg_read_batch([UNICORN[name] for name in names]))
        found_around = bytes(emulator.mem_read(state.start, 48))
        if found != state.values(names) or found_around != state.around:
            differ = [
                f"{name} is {theirs:#x}, wanted {ours:#x}"
                for name, theirs, ours in zip(names, found, state.values(names), strict=True)
                if theirs != ours
            ]
            pytest.fail(
                f"{instruction.row.text(instruction.operands)}, state {turn} of seed {SEED}: {'; '.join(differ)}\n"
                f"before {' '.join(f'{name}={value:#x}' for name, value in drawn.items())}\n"
                f"memory before {around.hex()}, after {found_around.hex()}, wanted {state.around.hex()}"
            )


class Opaque:
    """A number that supports +, - and * alone: nothing can be decided by looking at it."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __add__(self, other: Opaque | int) -> Opaque:
        return Opaque(self.value + seen(other))

    def __sub__(self, other: Opaque | int) -> Opaque:
        return Opaque(self.value - seen(other))

    def __rsub__(self, other: int) -> Opaque:
        return Opaque(other - self.value)

    def __mul__(self, other: Opaque | int) -> Opaque:
        return Opaque(self.value * seen(other))

    def __neg__(self) -> Opaque:
        return Opaque(-self.value)

    __radd__, __rmul__ = __add__, __mul__

    def __bool__(self) -> bool:
        raise TypeError("a meaning branches on a value")

    def __eq__(self, other: object) -> bool:
        raise TypeError("a meaning compares a value")

    __lt__ = __le__ = __gt__ = __ge__ = __hash__ = __eq__  # type: ignore[assignment]


def seen(value: Opaque | int) -> int:
    return value.value if isinstance(value, Opaque) else value


class OpaqueDomain:
    """Integers that a meaning cannot look at."""

    def split(self, value: Opaque | int, k: int) -> tuple[Opaque, Opaque]:
        low, high = Integers().split(seen(value), k)
        return Opaque(low), Opaque(high)

    def bitwise(self, op: str, x: Opaque | int, y: Opaque | int, width: int) -> Opaque:
        assert 0 <= seen(x) < 1 << width and 0 <= seen(y) < 1 << width
        return Opaque(Integers().bitwise(op, seen(x), seen(y), width))

    def is_zero(self, value: Opaque | int) -> Opaque:
        return Opaque(int(seen(value) == 0))

    def select(self, bit: Opaque | int, x: Opaque | int, y: Opaque | int) -> Opaque:
        assert seen(bit) in (0, 1)
        return Opaque(seen(x) if seen(bit) else seen(y))


def test_meanings_only_add_subtract_multiply_and_ask_the_domain() -> None:
    """So they mean the same on polynomials. Immediates are plain integers there too."""
    print(f"seed {SEED}")
    random_ = random.Random(SEED)
    for name, row in arm64.ROWS.items():
        for instruction in forms(name)[:20]:
            pairs = [
                (x, slot) for x, slot in zip(instruction.operands, row.slots, strict=True) if slot.role is not Role.OUT
            ]
            sizes = [32 if slot.kind.startswith("r32") else 8 * SIZES.get(slot.kind, 8) for _, slot in pairs]
            plain = [
                operand if slot.kind in ("imm", "label") else random_.getrandbits(size)
                for (operand, slot), size in zip(pairs, sizes, strict=True)
            ]
            hidden = [
                x if slot.kind in ("imm", "label") else Opaque(x) for x, (_, slot) in zip(plain, pairs, strict=True)
            ]  # type: ignore[arg-type]
            flags = {flag: random_.getrandbits(1) for flag in row.reads}
            wanted = row.meaning(Integers(), plain, flags)
            found = row.meaning(OpaqueDomain(), hidden, {flag: Opaque(bit) for flag, bit in flags.items()})
            assert [x if x is None else seen(x) for x in found.values] == list(wanted.values)
            for flag in row.writes:
                theirs, ours = found.flags[flag], wanted.flags[flag]
                assert seen(theirs() if callable(theirs) else theirs) == (ours() if callable(ours) else ours)


# Control


def run_at(items: Sequence[Any], registers: dict[str, int], flags: int) -> dict[str, int]:
    """Run a routine from its start to its end; the registers afterwards."""
    code, emulator = assemble(items), unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
    emulator.mem_map(CODE, 0x1000)
    emulator.mem_write(CODE, code.code)
    for name, value in registers.items():
        emulator.reg_write(UNICORN[name], value)
    emulator.reg_write(UNICORN["nzcv"], flags << 28)
    emulator.emu_start(CODE + code.labels["start"], CODE + len(code.code), count=100)
    return {name: emulator.reg_read(unicorn_name) for name, unicorn_name in UNICORN.items()}


def path(jump: Instruction, *, forward: bool) -> list[Any]:
    """A routine whose jump to `target`, before or behind, leaves 1 in x9 when it is taken and 2 when it is not."""
    taken = [Label("target"), arm64.ins("movz", R["x9"], 1, 0), arm64.ins("b", Label("end"))]
    straight = [Label("start"), jump, arm64.ins("movz", R["x9"], 2, 0), arm64.ins("b", Label("end"))]
    return [*straight, *taken, Label("end")] if forward else [*taken, *straight, Label("end")]


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("name", [name for name in CONTROL if arm64.ROWS[name].control in ("branch", "jump", "call")])
def test_jumps_go_where_the_meaning_says(name: str, forward: bool) -> None:
    row = arm64.ROWS[name]
    named = [R["x3"]] if row.slots[0].kind == "r64z" else []
    routine = path(arm64.ins(name, *named, Label("target")), forward=forward)
    for flags in range(16):
        for value in (0, 1, 1 << 63, 1 << 32):
            given = {flag: flags >> 3 - i & 1 for i, flag in enumerate("NZCV") if flag in row.reads}
            outcome = row.meaning(Integers(), [value, Label("target")] if named else [Label("target")], given)
            taken = outcome.values[0] if row.control == "branch" else 1
            after = run_at(routine, {"x3": value, "x30": 0x1234}, flags)
            assert after["x9"] == (1 if taken else 2), (flags, value)
            called = CODE + (4 if forward else 12) if row.control == "call" else 0x1234
            assert after["x30"] == called


def test_return_goes_to_x30() -> None:
    routine = [Label("start"), arm64.ins("ret"), arm64.ins("movz", R["x9"], 2, 0), arm64.ins("nop")]
    assert run_at(routine, {"x9": 7, "x30": CODE + 8}, 0)["x9"] == 7
    assert arm64.ins("ret").read == (arm64.LINK,)


def test_every_row_is_exercised() -> None:
    """Each row has forms, which are encoded; a meaning or jump test runs over it; the golden file has it."""
    assert all(forms(name) for name in arm64.ROWS)
    assert {name for name, _, _ in lines()} == set(arm64.ROWS)
    run = {name for name in DATA if len(loaded(name)) > 0} | {
        name for name in CONTROL if arm64.ROWS[name].control in ("branch", "jump", "call") or name == "ret"
    }
    assert run == set(arm64.ROWS)


def test_every_immediate_and_register_kind_has_its_corners() -> None:
    """No corner of a slot is lost on the way to the forms."""
    for name, row in arm64.ROWS.items():
        for i, slot in enumerate(row.slots):
            seen = {instruction.operands[i] for instruction in forms(name)}
            if slot.fixed is None and slot.kind != "label" and name.split("_")[-1] not in ("pre", "post"):
                assert seen >= set(candidates(slot)), f"{name} operand {i}"


# Instructions by name


def test_families_choose_the_form() -> None:
    x, y, z = Virtual(0, "x"), Virtual(1), R["x4"]
    assert arm64.ins("add", x, y, z).row.name == "add"
    assert arm64.ins("add", x, y, 0x5000).row.name == "add_imm"
    assert arm64.ins("add_lsl", x, y, z, 4).row.name == "add_lsl"
    assert arm64.ins("add_lsl", x, y, z, 5).row.name == "add_lsl_far"
    assert arm64.ins("ldr", x, Memory(y, 8)).row.name == "ldr"
    assert arm64.ins("ldr", x, Memory(y, -8)).row.name == "ldur"
    assert arm64.ins("ldr", x, Memory(FRAME, 64)).row.name == "ldr"
    assert arm64.ins("lsr", x, y, 3).row.name == "lsr_imm"
    assert arm64.ins("lsr", x, y, z).row.name == "lsrv"
    assert arm64.ins("mov", x, 0x5555555555555555).row.name == "mov_bitmask"
    assert arm64.move(x, z).row.name == "mov"
    assert arm64.move(x, arm64.SP).row.name == "add_imm"
    assert arm64.ins("add", x, y, z).row.text((x, y, z)) == "add %x0, %v1, x4"


@pytest.mark.parametrize(
    ("name", "operands", "reason"),
    [
        ("addd", (), "no instruction addd"),
        ("add", (R["x0"], R["x1"]), "takes 3 operands, not 2"),
        ("add", (R["x0"], R["x1"], 4095 * 4096 + 1), "0xfff001 is not"),
        ("add", (R["x0"], R["x1"], -1), "-1 is not"),
        ("add", (arm64.XZR, R["x1"], R["x2"]), "xzr cannot stand here"),
        ("adds", (R["x0"], arm64.SP, R["x2"]), "sp cannot stand here"),
        ("and", (R["x0"], R["x1"], 5), "5 is not"),
        ("add_lsr", (R["x0"], R["x1"], R["x2"], 64), "64 is not in 0 to 63"),
        ("ldr", (R["x0"], Memory(R["x1"], 32768)), "has an offset that is not a multiple of 8 in 0 to 32760"),
        ("ldr", (R["x0"], Memory(R["x1"], 0, R["x2"])), "has an index"),
        ("ldp", (R["x0"], R["x0"], Memory(R["x1"])), "loaded twice"),
        ("ubfx", (R["x0"], R["x1"], 60, 5), "reach past bit 63"),
        ("mul", (R["x0"], R["x1"], 3), "3 is not a register"),
        ("b", (R["x0"],), "x0 is not a label"),
        ("stp_pre", (R["x0"], R["x1"], arm64.SP, Memory(arm64.SP, -32), -16), "moves by -16"),
        ("stp_pre", (R["x0"], R["x1"], R["x2"], Memory(R["x2"], -16), -16), "x2 stands where only sp may"),
    ],
)
def test_operands_that_do_not_fit_are_named(name: str, operands: tuple[Operand, ...], reason: str) -> None:
    with pytest.raises(AsmgenError) as raised:
        arm64.ins(name, *operands)
    assert reason in str(raised.value)


def test_virtual_registers_are_not_encoded() -> None:
    instruction = arm64.ins("add", R["x0"], Virtual(3, "sum"), 1)
    with pytest.raises(AsmgenError, match="%sum3 has no physical register"):
        instruction.row.encode(instruction.operands)
    spill = arm64.load(R["x0"], Memory(FRAME, 8))
    with pytest.raises(AsmgenError, match="frame has no physical register"):
        spill.row.encode(spill.operands)


def test_frames_push_and_pop() -> None:
    code = [arm64.push(R["x29"], R["x30"], size=32), arm64.push(R["x19"], size=16), arm64.pop(R["x19"], size=16)]
    assert [i.row.text(i.operands) for i in code] == [
        "stp x29, x30, [sp, #-32]!",
        "str x19, [sp, #-16]!",
        "ldr x19, [sp], #16",
    ]
    assert arm64.SP in code[0].written and arm64.SP in code[0].read
    assert arm64.pop(R["x19"], R["x20"], size=48).written == (R["x19"], R["x20"], arm64.SP)


# Constants


def value_of(way: Sequence[tuple[str, tuple[int, ...]]]) -> int:
    value = 0
    for name, operands in way:
        inputs = [value, *operands] if name == "movk" else operands
        (value,) = arm64.ROWS[name].meaning(Integers(), inputs, {}).values
        assert all(slot.legal(x) for slot, x in zip(arm64.ROWS[name].slots[1:], operands, strict=True) if slot.legal)
    return value


def test_constants_are_right_and_short() -> None:
    print(f"seed {SEED}")
    random_ = random.Random(SEED)
    masks = list(bitmasks())
    for _ in range(300):
        mask, halfword, place = random_.choice(masks), random_.getrandbits(16), random_.choice((0, 16, 32, 48))
        patched = mask & ~(0xFFFF << place) | halfword << place
        other = random_.choice((0, 16, 32, 48))
        twice = patched & ~(0xFFFF << other) | random_.getrandbits(16) << other
        for value, most in (
            (halfword << place, 1),
            ((1 << 64) - 1 - (halfword << place), 1),
            (mask, 1),
            (patched, 2),
            (twice, 3),
            (word(random_), 4),
        ):
            way = arm64.constant(value)
            assert value_of(way) == value and len(way) <= most, hex(value)
            made_ = arm64.load_constant(R["x5"], value, note="n")
            assert [(i.row.name, i.operands[1:]) for i in made_] == list(way)
    assert len(arm64.constant(0x123456789ABCDEF0)) == 4
    assert arm64.constant(0) == (("movz", (0, 0)),)
    assert arm64.constant((1 << 64) - 1) == (("movn", (0, 0)),)
    assert arm64.constant((1 << 64) - 19) == (("movn", (18, 0)),)
    assert arm64.constant((1 << 51) - 1) == (("movn", (0xFFF8, 48)),)
    assert arm64.constant((1 << 28) - 1) == (("mov_bitmask", ((1 << 28) - 1,)),)
    with pytest.raises(AsmgenError, match="not a number of 64 bits"):
        arm64.constant(1 << 64)


def test_bitmasks_are_the_known_number() -> None:
    assert len(bitmasks()) == 5334
    assert all(arm64.is_bitmask(bits ^ ((1 << 64) - 1)) for bits in bitmasks())
    assert not arm64.is_bitmask(0) and not arm64.is_bitmask((1 << 64) - 1) and not arm64.is_bitmask(5)


# The explicit layer


def test_rows_are_functions() -> None:
    x, y = Virtual(0, "x"), Virtual(1, "y")
    with explicit.record() as written:
        arm64.umulh(y, x, x)
        arm64.add(y, x, 5, note="why")
        arm64.and_(y, x, 255)
        arm64.csel_ne(y, x, arm64.XZR)
    assert [i.row.name for i in written] == ["umulh", "add_imm", "and_imm", "csel_ne"]
    assert written[1].note == "why"
    assert written[1].source is not None and written[1].source.text == 'arm64.add(y, x, 5, note="why")'
    with pytest.raises(AttributeError, match="near it: umull, umulh"):
        arm64.umul  # noqa: B018
    with pytest.raises(AsmgenError, match="written where no kernel is being traced"):
        arm64.mul(y, x, x)
    with explicit.record(), pytest.raises(AsmgenError, match=r"test_arm64.py:\d+: no form of mul"):
        arm64.mul(y, x, 5)
