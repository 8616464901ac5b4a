"""Other orders of finished routines: legal ones compute the same, illegal ones are refused, and nothing costs more."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest
from shipped import kernel

from asmgen.errors import AsmgenError
from asmgen.kernel import Kernel
from asmgen.optimize import orders as moves
from asmgen.optimize.orders import Stream, _Slow, neighbors
from asmgen.passes import Options, compile_stages, count
from asmgen.passes.arrange import Arrangement, arrange, arranged, arrangement, fault, recolored
from asmgen.passes.frame import frame
from asmgen.routine import Allocated
from asmgen.targets.assemble import assemble
from asmgen.targets.row import FRAME, Instruction, Memory
from emulate.compare import check
from emulate.machine import Machine

#: Carry chains on one flag and on two, a loop with a branch around it, values that are spilled, returned bits.
ROUTINES = [
    (script, name, target, features)
    for script, name in (("p256", "mul"), ("curve25519_4x64", "square_n"), ("curve25519_5x51", "square_n"),
                         ("p256", "from_bytes"), ("curve25519_4x64", "swap"), ("p448_7x64", "sqr"))
    for target, features in (("amd64", "default"), ("amd64", "base"), ("arm64", "default"))
    if features == "default" or name == "mul"
]  # fmt: skip


@cache
def allocated(script: str, name: str, target: str, features: str = "default") -> Allocated:
    made = compile_stages(kernel(script, name), Options(target, features, planned=False)).allocate
    assert made is not None
    return made


@cache
def before(script: str, name: str, target: str, features: str = "default") -> Arrangement:
    return arrangement(allocated(script, name, target, features))


def identity(made: Arrangement) -> list[list[int]]:
    return [list(range(len(line))) for line in made.lines]


def wandered(made: Arrangement, seed: int, steps: int = 400) -> list[list[int]]:
    """Legal orders far from the first ones."""
    found = identity(made)
    for number, line in enumerate(made.lines):
        mover = neighbors(line, made.pool, Stream(seed))
        for _ in range(steps):
            if (one := mover.neighbor(found[number])) is not None:
                found[number] = list(one.order)
    return found


@pytest.mark.parametrize(("script", "name", "target", "features"), ROUTINES)
def test_an_order_that_does_not_change_anything_changes_nothing(
    script: str, name: str, target: str, features: str
) -> None:
    made = before(script, name, target, features)
    assert arranged(made, identity(made)).items == made.allocated.items


@pytest.mark.parametrize(("script", "name", "target", "features"), ROUTINES)
def test_random_legal_orders_compute_the_same(script: str, name: str, target: str, features: str) -> None:
    made, function = before(script, name, target, features), kernel(script, name)
    assert isinstance(function, Kernel)
    for seed in range(3):
        orders = wandered(made, seed)
        assert orders != identity(made)
        code = frame(arranged(made, orders))
        machine = Machine(target, assemble(code.items).code, 0, function.signature, code.features, stack=code.stack)
        assert check(function, machine, 400, seed).failure is None
        assert count(code) <= count(frame(made.allocated))


@pytest.mark.parametrize("target", ["amd64", "arm64"])
def test_the_same_moves_are_made_by_c_and_by_python_and_the_same_registers_given(target: str) -> None:
    made = before("p256", "mul", target)
    line = max(made.lines, key=len)
    one, other = neighbors(line, made.pool, Stream(5)), _Slow(line, made.pool, Stream(5))
    if isinstance(one, _Slow):
        pytest.skip("no C compiler on this machine")
    order, moved = tuple(range(len(line))), 0
    for _ in range(400):
        found = one.neighbor(order)
        assert found == other.neighbor(order)
        if found is not None:
            assert fault(line, found.order) == ""
            assert tuple(recolored(line, found.order, made.pool) or ()) == found.registers
            order, moved = found.order, moved + 1
    assert moved > 100


def test_moves_are_those_of_the_seed() -> None:
    made = before("p256", "mul", "arm64")
    assert wandered(made, 3, 50) == wandered(made, 3, 50) != wandered(made, 4, 50)


def test_without_a_compiler_moves_are_made_by_python(monkeypatch: pytest.MonkeyPatch) -> None:
    made = before("p256", "mul", "amd64")
    monkeypatch.setattr(moves, "library", lambda: None)
    assert isinstance(neighbors(made.lines[0], made.pool, Stream(1)), _Slow)


def swapped(order: list[int], i: int, j: int) -> list[int]:
    made = list(order)
    made[i], made[j] = made[j], made[i]
    return made


def test_an_order_that_reads_what_is_not_made_yet_is_refused() -> None:
    made = before("p256", "mul", "amd64")
    (order,) = identity(made)
    with pytest.raises(AsmgenError, match="comes before what it waits for"):
        arranged(made, [order[::-1]])


def test_an_order_that_breaks_a_carry_chain_is_refused() -> None:
    """Anything that touches the flag, put between a writer and its reader."""
    made = before("p256", "mul", "amd64")
    line = max(made.lines, key=len)
    refused = 0
    for at, reads in enumerate(line.reads):
        for flag, writer in reads:
            others = [each for each in range(at + 1, len(line)) if flag in line.touches[each]]
            free = [each for each in others if not line.before[each] & ((1 << each) - (1 << writer + 1))]
            for other in free[:1]:
                order = [each for each in range(len(line)) if each != other]
                order.insert(order.index(at), other)
                assert "another instruction" in fault(line, order)
                refused += 1
    assert refused > 3


def test_loads_stay_before_stores_that_may_be_to_the_same_place() -> None:
    """An output may be an input: no store of a result moves above a load of an input."""
    for target in ("amd64", "arm64"):
        made = before("curve25519_4x64", "add", target)
        for seed in range(3):
            items = arranged(made, wandered(made, seed)).items
            stores = [at for at, item in enumerate(items) if _accesses(item, stores=True)]
            loads = [at for at, item in enumerate(items) if _accesses(item, stores=False)]
            assert stores and loads and max(loads) < min(stores)


def _accesses(item: object, *, stores: bool) -> bool:
    if not isinstance(item, Instruction):
        return False
    return any(
        isinstance(operand, Memory)
        and operand.base != FRAME
        and slot.kind != "addr"
        and (slot.role.value != "in") == stores
        for slot, operand in zip(item.row.slots, item.operands, strict=True)
    )


def test_an_order_that_needs_more_registers_than_there_are_is_refused() -> None:
    """All products first."""
    made = before("p448_7x64", "mul", "amd64")
    (line,) = made.lines
    rng = Random(1)
    for _ in range(20):
        order: list[int] = []
        done = 0
        while len(order) < len(line):
            ready = [at for at in range(len(line)) if not done >> at & 1 and not line.before[at] & ~done]
            at = rng.choice(ready)
            order.append(at)
            done |= 1 << at
        if recolored(line, order, made.pool) is None:
            break
    else:
        raise AssertionError("any order has enough registers")
    with pytest.raises(AsmgenError, match="is not legal"):
        arranged(made, [order])


@pytest.mark.parametrize(
    ("orders", "said"),
    [([], "0 orders do not fit"), ([[0, 0]], "does not have each instruction once"), ([[0]], "each instruction once")],
)
def test_what_is_no_order_is_refused(orders: list[list[int]], said: str) -> None:
    with pytest.raises(AsmgenError, match=said):
        arrange(allocated("p256", "mul", "amd64"), orders)


def test_the_listing_says_what_registers_hold_in_the_new_order() -> None:
    """Each name that a register has when it is read is the name that its value got when it was made."""
    made = before("p256", "mul", "amd64")
    after = arranged(made, wandered(made, 1))
    names = {name for held in made.allocated.holds for name in held.values()}
    assert len(after.holds) == len(after.items)
    seen = set[str]()
    for item, held in zip(after.items, after.holds, strict=True):
        assert isinstance(item, Instruction)
        seen.update(held.values())
        assert len(set(held)) == len(held)
    assert seen <= names and len(seen) > len(names) * 0.9
