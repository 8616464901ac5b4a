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


class Watch:
    """One run; `stopped` when it took too long."""

    def __init__(self, emulator: Stoppable) -> None:
        self.emulator = emulator
        self.stopped = False


class Watchdog:
    """Stops what runs under `watch` for longer than one to two times `patience` seconds."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._lock = threading.Lock()
        self._running: Watch | None = None
        self._thread: threading.Thread | None = None

    @contextmanager
    def watch(self, emulator: Stoppable) -> Iterator[Watch]:
        """Watch one run. Not for two threads at once."""
        if self._thread is None or not self._thread.is_alive():  # not yet, or in a forked process
            self._lock = threading.Lock()
            self._thread = threading.Thread(target=self._guard, name="emulation watchdog", daemon=True)
            self._thread.start()
        running = Watch(emulator)
        self._running = running
        try:
            yield running
        finally:
            with self._lock:
                self._running = None

    def _guard(self) -> None:
        seen: Watch | None = None
        while True:
            time.sleep(self._patience)
            with self._lock:
                running = self._running
                if running is not None and running is seen:
                    running.stopped = True
                    running.emulator.emu_stop()
            seen = running
