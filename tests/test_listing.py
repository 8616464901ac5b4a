"""The listing: our tables' bytes in full, as capstone reads them, beside the script."""

from __future__ import annotations

import re
from dataclasses import replace

import hand_codes
import pytest

from asmgen.emit.census import CLASSES, census, kind
from asmgen.errors import AsmgenError
from asmgen.routine import Cfi, Code
from asmgen.targets import amd64, arm64
from asmgen.targets.assemble import assemble
from asmgen.targets.row import Instruction
from emulate.listing import listing

TARGETS = ("amd64", "arm64")


@pytest.mark.parametrize("target", TARGETS)
def test_golden(target: str, golden) -> None:  # type: ignore[no-untyped-def]
    golden(f"emit/mersenne127_{target}.lst", listing(hand_codes.origin(target), hand_codes.codes(target)))


@pytest.mark.parametrize("target", TARGETS)
def test_the_bytes_are_those_of_the_tables(target: str) -> None:
    """All of them, in order, at the offsets that are printed."""
    text = listing(hand_codes.origin(target), hand_codes.codes(target))
    for code in hand_codes.codes(target):
        wanted = assemble(code.items).code
        part = text[text.index(f"\n{code.signature.symbol}\n===") :].split("\n\n\n")[0]
        found = bytearray()
        for offset, pieces in re.findall(r"^([0-9a-f]{4})   ((?:[0-9a-f]{2} )*[0-9a-f]{2})  ", part, flags=re.M):
            assert int(offset, 16) == len(found)
            found += bytes.fromhex(pieces)
        assert found == wanted
        assert f", {len(wanted)} bytes" in part


def test_no_directory_is_named() -> None:
    for target in TARGETS:
        text = listing(hand_codes.origin(target), hand_codes.codes(target))
        assert str(hand_codes.SCRIPT.parent) not in text
        assert "mersenne127.py:24  return repeat" in text


def test_labels_and_results_are_named() -> None:
    text = listing(hand_codes.origin("amd64"), hand_codes.codes("amd64"))
    assert re.search(r"^loop:\n0010 .*\n", text, flags=re.M)
    assert re.search(r"jne loop\b", text) and re.search(r"je done\b", text)
    assert re.search(r"mulxq \(%rsi\), %rax, %rcx +rcx=high rax=low ", text)


def test_bytes_that_read_otherwise_are_an_error() -> None:
    add = hand_codes.codes("amd64")[0]
    item = add.items[4]
    assert isinstance(item, Instruction)
    for wrong, reading in ((b"\x48\x8b\x06\x90", "movq"), (b"\x06", "nothing")):
        row = replace(item.row, encode=lambda operands, wrong=wrong: wrong)
        broken = replace(add, items=(*add.items[:4], replace(item, row=row), *add.items[5:]))
        with pytest.raises(AsmgenError, match=f"{wrong.hex(' ')}, which capstone reads as {reading}"):
            listing(hand_codes.origin("amd64"), [broken])


def test_every_row_has_a_class() -> None:
    """A few of each by name, so that a cost that is renamed does not fall to "other" unseen."""
    wanted = {
        "products": (["mul_r", "mulx_rrm", "imul_rri"], ["mul", "umulh", "madd", "msub", "umaddl", "umull"]),
        "with carry": (["adc_rm", "sbb_ri", "adcx_rr", "adox_rm", "mask_r"], ["adc", "adcs", "sbcs", "sbc", "ngc"]),
        "loads": (["mov_rm", "pop_r", "movbe_rm"], ["ldr", "ldp", "ldr_post", "ldp_post", "ldur"]),
        "stores": (["mov_mr", "push_r", "movbe_mr", "mov_mi"], ["str", "stp", "stp_pre", "str_pre"]),
        "moves": (["mov_rr", "mov_ri", "movl_ri", "movabs_ri", "xchg_rr"], ["mov", "movz", "movk", "mov_bitmask"]),
        "branches": (["jnz_l", "jmp_l", "call_l", "ret"], ["b", "b_ne", "cbnz", "bl", "ret"]),
        "marks": (["endbr64"], ["bti_c"]),
        "other": (["add_rm", "shrd_rri", "cmovc_rr", "lea_rm", "andn_rrr"], ["adds", "extr", "csel_cs", "and_imm"]),
    }
    assert set(wanted) == set(CLASSES)
    for name, both in wanted.items():
        for rows, names in zip((amd64.ROWS, arm64.ROWS), both, strict=True):
            for each in names:
                assert kind(rows[each]) == name, each


def test_census_counts_each_instruction_once() -> None:
    for target in TARGETS:
        for code in hand_codes.codes(target):
            count = sum(isinstance(item, Instruction) for item in code.items)
            assert sum(census(code.items).values()) == count


def test_directives_are_not_listed() -> None:
    add: Code = hand_codes.codes("amd64")[0]
    assert any(isinstance(item, Cfi) for item in add.items)
    assert ".cfi" not in listing(hand_codes.origin("amd64"), [add])
