"""What came of timing a kernel's field, in figures and ratios; and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from asmgen.bench import stats
from asmgen.bench.entrants import AGAIN, OURS, Field, unit
from asmgen.bench.golang import Told
from asmgen.bench.stats import Figure, Ratio
from asmgen.bench.timer import THROUGHPUT, Samples


@dataclass(frozen=True)
class Row:
    """A routine: whose it is, what else is the same code, and by mode its cycles and its ratio to ours, where enough of
    it could be measured."""

    name: str
    kind: str
    equal: tuple[str, ...]
    figures: Mapping[str, Figure]
    ratios: Mapping[str, Ratio]

    @property
    def title(self) -> str:
        """Its name, and those of the same code: of one compiler only what differs."""
        stem = self.name.partition(" -")[0]
        return " = ".join([self.name, *(each.removeprefix(stem).strip() for each in self.equal)])


@dataclass(frozen=True)
class Result:
    """A kernel's: cycles are for one `unit`. `twice` is what the same routine twice differs by in each mode, None where
    that is not known; `stretch` by how much other work stretched the usual window, `disturbed` which part of all
    windows was left out."""

    name: str
    unit: str
    modes: tuple[str, ...]
    rows: tuple[Row, ...]
    twice: Mapping[str, float | None]
    stretch: float | None
    disturbed: float
    failed: tuple[tuple[str, str], ...]
    core: int
    compiled: bool
    rate: float = 0.0  #: additions a cycle at best that do not wait for each other
    hertz: float = 0.0  #: cycles a second
    go: Told | None = None  #: Go's own benchmark of the same function

    @property
    def alone(self) -> bool:
        """Whether the core was ours for a part of the time: it then does a whole number of additions a cycle."""
        return self.rate > 1 and abs(self.rate - round(self.rate)) <= stats.WHOLE

    @property
    def quiet(self) -> bool:
        """Whether the core was ours, the same routine twice ties in every mode, and windows take what they need."""
        ties = all(each is not None and each <= stats.TIE for each in self.twice.values())
        return self.alone and ties and self.stretch is not None and self.stretch <= stats.STRETCH

    def best(self, mode: str) -> Row | None:
        """The other one that takes the fewest cycles."""
        others = [row for row in self.rows if row.kind != "ours" and mode in row.figures]
        return min(others, key=lambda row: row.figures[mode].cycles) if others else None


def result(field: Field, samples: Samples) -> Result:
    """The figures of a field's samples."""
    signature = field.function.signature
    modes = tuple(field.entries[0].routine.modes) if field.entries else ()
    cycles = samples.cycles
    twice = {
        mode: stats.noise(cycles[OURS, mode], cycles[AGAIN, mode]) if (AGAIN, mode) in cycles else None
        for mode in modes
    }  # fmt: skip
    stretch = stats.stretch(list(cycles.values()))
    rows = []
    for entry in field.entries:
        name = entry.routine.name
        if name == AGAIN or name in samples.failed:
            continue
        figures = {mode: figure for mode in modes if (figure := stats.figure(cycles[name, mode]))}
        ratios = {
            mode: ratio for mode in modes
            if name != OURS and (OURS, mode) in cycles
            and (ratio := stats.ratio(cycles[OURS, mode], cycles[name, mode], stats.doubt(twice[mode], stretch)))
        }  # fmt: skip
        rows.append(Row(name, entry.kind, entry.equal, figures, ratios))
    return Result(
        f"{signature.script}.{signature.kernel}", unit(signature)[1], modes, tuple(rows), twice, stretch,
        stats.disturbed(list(cycles.values())), (*field.failed, *samples.failed.items()), samples.core,
        samples.compiled, samples.rate, samples.hertz,
    )  # fmt: skip


def as_json(made: Result) -> dict[str, Any]:
    """For programs: everything."""
    return {
        "kernel": made.name, "target": "amd64", "unit": made.unit, "modes": list(made.modes), "quiet": made.quiet,
        "same_routine_twice": dict(made.twice), "windows_stretched": made.stretch,
        "windows_left_out": round(made.disturbed, 4),
        "routines": [_row(row) for row in made.rows],
        "failed": [{"name": name, "reason": reason} for name, reason in made.failed],
        "additions_a_cycle": round(made.rate, 3), "core": made.core, "timer": "C" if made.compiled else "Python",
        "hertz": round(made.hertz), "go": None if made.go is None else asdict(made.go),
    }  # fmt: skip


def _row(row: Row) -> dict[str, Any]:
    return {
        "name": row.name, "kind": row.kind, "same_code": list(row.equal),
        "cycles": {
            mode: {"median": each.cycles, "low": each.low, "high": each.high, "minimum": each.minimum}
            for mode, each in row.figures.items()
        },
        "ratio": {
            mode: {"value": each.value, "low": each.low, "high": each.high, "ours": each.answer}
            for mode, each in row.ratios.items()
        },
    }  # fmt: skip


#: Columns of a summary.
HEADS = ("latency", "by the second operand", "throughput")


def summary(results: Sequence[Result]) -> list[tuple[str, list[str]]]:
    """Of each kernel, by these: the ratio of the best of others to ours, and who that is."""
    made = []
    for one in results:
        latencies = [mode for mode in one.modes if mode != THROUGHPUT]
        modes = [*latencies, "", ""][:2] + [THROUGHPUT]
        made.append((one.name, [_best(one, mode) for mode in modes]))
    return made


def _best(one: Result, mode: str) -> str:
    best = one.best(mode)
    return f"{best.ratios[mode].value:.2f} {best.name}" if best and mode in best.ratios else ""
