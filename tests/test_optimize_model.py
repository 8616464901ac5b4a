"""asmgen.optimize.model: as llvm-mca 19 has it, cycle for cycle; in C and Python alike; fast enough for a search."""

from __future__ import annotations

import random
import time
from array import array
from collections.abc import Iterator, Sequence
from functools import cache

import pytest
from listed import codes
from shipped import code

from asmgen.diff import mca
from asmgen.errors import AsmgenError
from asmgen.optimize import agreement, cycles, model
from asmgen.optimize.agreement import CALLS, missing, shaken
from asmgen.optimize.model import modelled, prepare, prepare_calls, taking_time, whole_call
from asmgen.targets import arm64
from asmgen.targets.cores import core
from asmgen.targets.row import Instruction, Memory, Operand, Register, Virtual

R = arm64.REGISTERS
CORES = modelled()
SCRIPTS = ("curve25519_4x64", "curve25519_5x51", "p256", "p256_order", "p384", "p448_7x64", "p448_8x56", "p521_9x58",
           "secp256k1_4x64", "secp256k1_5x52")  # fmt: skip

needs_mca = pytest.mark.skipif(bool(missing()), reason=missing())


def x(number: int) -> Register:
    return R[f"x{number}"]


def test_arguments_that_a_routine_changes_are_set_anew() -> None:
    """x2 is read first, and x4 is scratch although a fifth argument would come in it."""
    executed = [(["x1"], ["x3"]), (["x2", "x3"], ["x4"]), (["x4"], ["x2"]), (["x2", "x0"], [])]
    assert model.set_anew("arm64", executed) == ["x2"]


@cache
def shipped_routines() -> dict[str, list[Instruction]]:
    """What each kernel in out/ executes, without those that call others and those that take very long."""
    found = {}
    for script in SCRIPTS:
        for each in codes("arm64", script):
            lines = whole_call(each)
            if len(lines) < 200 and not any(line.row.control == "call" for line in lines):
                found[f"{script}.{each.signature.kernel}"] = lines
    return found


#: Operands of random instructions: r any register, z the zero register, s the stack pointer, numbers as they stand.
FORMS = """add r r r, sub r r r, adds r r r, subs r r r, adc r r r, adcs r r r, adcs z r r, sbc r r r, sbcs r r r, sbcs
z r r, and r r r, orr r r r, eor r r r, bic r r r, ands r r r, mul r r r, mul r r z, umulh r r r, umull r r
r, madd r r r r, msub r r r r, umaddl r r r r, movz r 0 0, movz r 5 0, movk r 5 16, mov r r, rev r r, clz r
r, mvn r r, neg r r, ngc r r, cinc_ne r r, cset_eq r, csetm_ne r, csel_eq r r r, csinc_ne r r r, ccmp_eq r r
3, cmp r r, cmp_imm r 7, cmn r r, tst r r, lsr r r 7, lsl r r 7, asr r r 7, lslv r r r, ror_imm r r 7, extr
r r r 7, bfi r r 3 5, bfxil r r 3 5, ubfx r r 3 5, and_imm r r 7, add_imm r r 7, sub_imm r r 7, adds_imm r r
7, subs_imm r r 7, ands_imm r r 7, add_lsl r r r 0, add_lsl r r r 3, adds_lsl r r r 1, add_lsl_far r r r 13,
sub_lsr r r r 13, adds_lsr r r r 13, orr_lsl r r r 13, eor_lsr r r r 13, ands_lsl r r r 13, ldr r m8, str r
m8, str z m8, ldp p m16, stp p m16, stp z z m16, ldp_post p s s0 16, stp_pre p s s-16 -16, ldr_post r s s0
16, str_pre r s s-16 -16, paciasp x30"""


def any_instruction(rng: random.Random, registers: int) -> Instruction:
    """One that stands for nothing."""
    name, *wanted = rng.choice(FORMS.replace("\n", " ").split(", ")).split()
    operands: list[Operand] = []
    for each in wanted:
        if each == "p":
            operands += [x(number) for number in rng.sample(range(registers), 2)]
        elif each == "x30":
            operands.append(arm64.LINK)
        elif each in ("r", "z", "s"):
            operands.append({"r": x(rng.randrange(registers)), "z": R["xzr"], "s": R["sp"]}[each])
        elif each[0] in "ms":
            base = R["sp"] if each[0] == "s" else x(rng.randrange(registers))
            operands.append(Memory(base, int(each[1:])))
        else:
            operands.append(int(each))
    return arm64.ins(name, *operands)


def any_routines(seed: int, count: int) -> Iterator[list[Instruction]]:
    rng = random.Random(seed)
    for _ in range(count):
        registers, length = rng.choice((4, 8, 16)), rng.choice((4, 15, 40))
        yield [any_instruction(rng, registers) for _ in range(length)]


def theirs(name: str, routines: Sequence[Sequence[Instruction]], calls: int) -> list[float | None]:
    texts = ["\n".join(line.row.text(line.operands) for line in routine) for routine in routines]
    return mca.cycles("arm64", name, texts, calls)


# The same as llvm-mca.


@needs_mca
@pytest.mark.parametrize("name", CORES)
def test_shipped_routines_take_as_long_as_llvm_mca_says(name: str) -> None:
    routines = {key: list(taking_time(lines)) for key, lines in shipped_routines().items()}
    assert len(routines) > 120
    for calls in (1, CALLS):
        ours = [prepare(lines, core(name, "arm64")).cycles(calls) for lines in routines.values()]
        wanted = theirs(name, list(routines.values()), calls)
        assert dict(zip(routines, ours, strict=True)) == dict(zip(routines, wanted, strict=True))


@needs_mca
@pytest.mark.parametrize("name", CORES)
def test_so_do_other_orders_of_them(name: str) -> None:
    chosen = [f"{script}.{kernel}" for script in SCRIPTS[:4] for kernel in ("sqr", "add")]
    found = agreement.agreement(name, [shipped_routines()[each] for each in chosen], orders=3)
    assert max(found.orders) == 0 and min(found.ranks) == pytest.approx(1)


@needs_mca
@pytest.mark.parametrize("name", CORES)
def test_and_instructions_of_every_kind(name: str) -> None:
    routines = list(any_routines(1, 150))
    for calls in (1, 8):
        ours = [prepare(lines, core(name, "arm64")).cycles(calls) for lines in routines]
        assert ours == theirs(name, routines, calls)


@needs_mca
def test_what_bench_shows_is_what_the_model_says() -> None:
    """The text that llvm-mca is given is that of the routine as it was followed under emulation."""
    from shipped import kernel

    from asmgen.diff.body import ours
    from asmgen.diff.comparison import follow
    from asmgen.passes import Options

    for name in ("mul", "square_n"):
        function = kernel("p256", name)
        side = follow(function, ours(function, Options("arm64")), count=1)
        (shown,) = mca.table("arm64", ["neoverse-v1", "cortex-a55"], side.runs[:1], CALLS)
        for each, figure in shown.items():
            assert prepare_calls(code("p256", name, "arm64"), core(each, "arm64")).cycles(CALLS) == figure


def test_another_version_is_not_compared_with(monkeypatch: pytest.MonkeyPatch) -> None:
    for version, said in ((18, "version 18, whose models are too old; 19 is needed"), (20, "of LLVM 20")):
        monkeypatch.setattr(mca, "version", lambda path, version=version: version)
        monkeypatch.setattr(mca.tools, "find", lambda names: "/bin/llvm-mca")
        assert said in missing()
    monkeypatch.setattr(mca.tools, "find", lambda names: None)
    assert "no llvm-mca-19 or newer on PATH" in missing()


# C and Python.


@pytest.mark.parametrize("name", CORES)
def test_python_says_what_c_says(name: str) -> None:
    if model._core() is None:
        pytest.skip("no C compiler on this machine")
    rng = random.Random(name)
    for lines in [*any_routines(2, 40), shipped_routines()["p256.sqr"]]:
        numbers = prepare(lines, core(name, "arm64"), llvm=rng.random() < 0.5)
        orders = [array("i", shaken(len(numbers), rng)) for _ in range(2)]
        for calls in (1, 5):
            assert numbers.scores(orders, calls) == numbers.scores(orders, calls, python=True)


def test_without_a_c_compiler_python_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = prepare([arm64.ins("mul", x(0), x(0), x(1))] * 3, core("neoverse-v2", "arm64"))
    monkeypatch.setattr(model, "_core", lambda: None)
    assert numbers.cycles(10) == pytest.approx(6, abs=1)


# What it is.


@pytest.mark.parametrize("name", CORES)
def test_a_loop_waits_for_what_it_carries(name: str) -> None:
    """The state in virtual registers as in physical ones, and swapped at each pass."""
    chosen = core(name, "arm64")
    a, b, c, d = (Virtual(number) for number in range(4))
    chain = [arm64.ins("mul", x(0), x(0), x(1)), arm64.ins("umulh", x(2), x(2), x(1))]
    free = [arm64.ins("mul", c, a, Virtual(9)), arm64.ins("umulh", d, b, Virtual(9))]
    as_physical, apart = prepare(chain, chosen), prepare(free, chosen)
    carried, crossed = (prepare(free, chosen, carried=pairs) for pairs in ({a: c, b: d}, {a: d, b: c}))
    for python in (False, True):
        assert carried.cycles(50, python=python) == as_physical.cycles(50)
        assert apart.cycles(1000, python=python) < carried.cycles(1000) or name == "neoverse-n1"  # where products wait
    assert crossed.cycles(50) == crossed.cycles(50, python=True)
    faster = crossed.cycles(1000) < carried.cycles(1000) - 0.4  # 2.5 cycles instead of 3, where the product is quicker
    assert faster == name.startswith("neoverse-v")


def test_what_one_opcode_is_described_by() -> None:
    """llvm-mca takes the addend of all products for zero where the first one's is; without `llvm` ours does not."""
    lines = [arm64.ins("mul", x(3), x(4), x(5)), *[arm64.ins("madd", x(0), x(1), x(2), x(0))] * 2]
    n1 = core("neoverse-n1", "arm64")
    assert prepare(lines, n1).cycles() < prepare(lines, n1, llvm=False).cycles()
    assert prepare(lines[1:], n1).cycles() == prepare(lines[1:], n1, llvm=False).cycles()


def test_figures_that_can_be_reckoned_by_hand() -> None:
    chain, apart = [arm64.ins("mul", x(0), x(0), x(1))], [arm64.ins("mul", x(0), x(2), x(1))]
    for name, latency, throughput in (("neoverse-n1", 4, 3), ("neoverse-v1", 2, 0.5), ("cortex-a55", 3, 1)):
        assert prepare(chain, core(name, "arm64")).cycles(1000) == pytest.approx(latency, abs=0.01)
        assert prepare(apart, core(name, "arm64")).cycles(1000) == pytest.approx(throughput, abs=0.01)
    assert prepare([], core("neoverse-n1", "arm64")).cycles() == 0


def test_what_cannot_be_modelled_is_said() -> None:
    assert core("generic", "arm64").llvm is None or "generic" not in CORES
    with pytest.raises(AsmgenError, match="no model of the amd64 core zen4"):
        prepare([], core("zen4", "amd64"))
    numbers = prepare([arm64.ins("mul", x(0), x(0), x(1))] * 2, core("neoverse-n1", "arm64"))
    for orders in ([[0, 2]], [[-1, 0]]):
        with pytest.raises(AsmgenError, match="an order names instructions that there are not"):
            numbers.scores(orders)
    with pytest.raises(AsmgenError, match="equally long"):
        numbers.scores([[0, 1], [1]])
    assert numbers.scores([]) == []


def test_it_is_fast() -> None:
    """A tenth of what a quiet machine does: thousands of orders a second, tens of thousands in order."""
    if model._core() is None:
        pytest.skip("no C compiler on this machine")
    lines = shipped_routines()["curve25519_4x64.mul"]
    for name, least in (("neoverse-v1", 250), ("cortex-a55", 5000)):
        numbers = prepare(lines, core(name, "arm64"))
        orders = [array("i", range(len(numbers)))] * 200
        began = time.perf_counter()
        numbers.scores(orders, CALLS)
        assert len(orders) / (time.perf_counter() - began) > least


# What is printed.


@needs_mca
def test_the_table_of_agreement(capsys: pytest.CaptureFixture[str]) -> None:
    assert agreement.main(["curve25519_4x64.add"]) == 0
    heads, *rows = capsys.readouterr().out.splitlines()
    assert "worst" in heads and [row.split()[0] for row in rows] == list(CORES)
    assert all(row.count(" 0.00 %") == 6 for row in rows)


def test_without_llvm_mca_there_is_none(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(mca, "found", lambda: (None, "no modelled cycles: no llvm-mca"))
    assert agreement.main([]) == 1
    assert "no modelled cycles: no llvm-mca" in capsys.readouterr().err


def test_the_table_of_cycles(capsys: pytest.CaptureFixture[str]) -> None:
    assert cycles.main(["curve25519_4x64.add", "curve25519_4x64.square_n"]) == 0
    heads, add, square_n, _ = capsys.readouterr().out.splitlines()
    assert heads.split() == ["kernel", "instructions", "products", *CORES] and add.count("@") == len(CORES)
    many = prepare_calls(code("curve25519_4x64", "add", "arm64"), core("neoverse-v1", "arm64")).cycles(100)
    assert f" {many:.1f} @ " in add and "@" not in square_n
    assert all(20 < float(each) < 110 for each in square_n.split()[3:])
    assert cycles.main(["curve25519_4x64.ad"]) == 1
    assert "curve25519_4x64" in capsys.readouterr().err
