"""emulate.watchdog: what is stopped goes on where it was, and what never ends is stopped."""

from __future__ import annotations

import time

import pytest
from emulated import ADD_N, FEATURES, TARGETS
from hand_assembled import code

from emulate import machine
from emulate.inputs import Generator
from emulate.watchdog import Watchdog

SEED = 20260401


@pytest.mark.parametrize("target", TARGETS)
def test_runs_that_are_stopped_all_the_time_give_the_same(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tested = machine.Machine(target, code("add_n", target), 0, ADD_N.signature, FEATURES[target])
    generator = Generator(ADD_N.signature, SEED)
    blocks = [generator.block(number) for number in range(6)]
    wanted = [tested.run(block).columns for block in blocks]
    dog = _Counting(0.0001)
    monkeypatch.setattr(machine, "_WATCHDOG", dog)
    stops = 0
    for _ in range(20):
        for block, columns in zip(blocks, wanted, strict=True):
            outcome = tested.run(block)
            assert outcome.fault is None
            assert outcome.columns == columns
        stops = dog.stops
        if stops > 20:
            break
    assert stops > 0


class _Counting(Watchdog):
    """Counts how often it stopped something."""

    def __init__(self, patience: float) -> None:
        super().__init__(patience)
        self.stops = 0

    def watch(self, emulator):  # type: ignore[no-untyped-def]
        return super().watch(_Counted(emulator, self))


class _Counted:
    def __init__(self, emulator: object, dog: _Counting) -> None:
        self.emulator, self.dog = emulator, dog

    def emu_stop(self) -> None:
        self.dog.stops += 1
        self.emulator.emu_stop()  # type: ignore[attr-defined]


def test_only_what_takes_too_long_is_stopped() -> None:
    class Emulator:
        stopped = 0

        def emu_stop(self) -> None:
            self.stopped += 1

    dog, emulator = Watchdog(0.02), Emulator()
    with dog.watch(emulator) as watch:
        deadline = time.monotonic() + 10
        while not watch.stopped and time.monotonic() < deadline:
            time.sleep(0.005)
    assert watch.stopped and emulator.stopped >= 1
    before = emulator.stopped
    time.sleep(0.1)
    assert emulator.stopped == before
    with dog.watch(emulator) as watch:
        pass
    assert not watch.stopped
