"""Stops an emulation that takes too long.

The emulator's own timeout polls from a thread that it makes and joins for every start, which halves the rate on a
busy machine; one sleeping thread for the whole process costs nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Stoppable(Protocol):
    """An emulator that is running."""

    def emu_stop(self) -> None:
        """End the run as soon as possible."""


class Watchdog:
    """Stops what runs under `watch` for longer than one to two times `patience` seconds.

    A stop may, rarely, hit the next run of the same emulator: whoever runs must be ready to go on where it stopped.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._running: tuple[Stoppable] | None = None
        self._thread: threading.Thread | None = None

    @contextmanager
    def watch(self, emulator: Stoppable) -> Iterator[None]:
        """Watch one run. Not for two threads at once."""
        if self._thread is None or not self._thread.is_alive():  # not yet, or in a forked process
            self._thread = threading.Thread(target=self._guard, name="emulation watchdog", daemon=True)
            self._thread.start()
        self._running = (emulator,)  # a new tuple each time: its identity tells one run from the next
        try:
            yield
        finally:
            self._running = None

    def _guard(self) -> None:
        seen: tuple[Stoppable] | None = None
        while True:
            time.sleep(self._patience)
            running = self._running
            if running is not None and running is seen:
                running[0].emu_stop()
            seen = running
