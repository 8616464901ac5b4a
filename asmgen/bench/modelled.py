"""arm64: what cannot run here is counted, and modelled by llvm-mca on cores that it has models of its own for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from asmgen.bench.entrants import unit
from asmgen.diff import mca
from asmgen.diff.body import Body, ours
from asmgen.diff.calls import COUNTS
from asmgen.diff.comparison import Side, follow
from asmgen.diff.layout import Layout
from asmgen.diff.sources import Wishes, layout_of, sources
from asmgen.errors import AsmgenError, UsageError
from asmgen.function import Function
from asmgen.passes import Options
from emulate.compilers import found as compilers


@dataclass(frozen=True)
class Row:
    """A routine: instructions executed in a call, products among them, and modelled cycles by core, of each of many
    independent calls and of one alone."""

    name: str
    kind: str
    equal: tuple[str, ...]
    instructions: int
    products: int
    many: Mapping[str, float]
    alone: Mapping[str, float]


@dataclass(frozen=True)
class Modelled:
    """A kernel's; ours is the first row. Cycles are for one of the `repetitions` of a call."""

    name: str
    target: str
    repetitions: int
    cores: tuple[str, ...]
    rows: tuple[Row, ...]
    failed: tuple[tuple[str, str], ...]


def modelled(kernels: Sequence[Function], wishes: Wishes, wished: Sequence[str], target: str) -> Iterator[Modelled]:
    """These kernels of one script beside our own C by compilers, and what the user names."""
    usual = replace(wishes, against=(), layout="")
    others = [(each, "compiled") for each in (sources(kernels, target, usual) if compilers(target) else ())]
    others += [(each, "other") for each in (sources(kernels, target, wishes) if wishes.against else ())]
    cores = mca.cores(wished, target)
    for function in kernels:
        mine = follow(function, ours(function, Options(target, wishes.features)))
        sides: list[tuple[Side, str]] = [(mine, "ours")]
        failed: list[tuple[str, str]] = []
        equal: dict[bytes, list[str]] = {}
        for source, kind in others:
            try:
                body = source.body(function)
                if body is None:
                    continue
                names = equal.setdefault(body.text, [])
                names.append(body.name)
                if len(names) == 1:
                    layout = layout_of(function.signature, wishes) if kind == "other" else None
                    sides.append((_followed(function, body, layout, mine.calls), kind))
            except UsageError:
                raise
            except AsmgenError as error:
                failed.append((source.name, str(error)))
        names_of = {names[0]: tuple(names[1:]) for names in equal.values()}
        signature = function.signature
        repetitions = COUNTS[0] if unit(signature)[0] > 1 else 1
        yield Modelled(f"{signature.script}.{signature.kernel}", target, repetitions, cores,
                       tuple(_rows(target, sides, names_of, cores, repetitions)), tuple(failed))  # fmt: skip


def _followed(function: Function, body: Body, layout: Layout | None, calls: int) -> Side:
    return follow(function, body, layout, count=calls)


def _rows(
    target: str, sides: Sequence[tuple[Side, str]], equal: Mapping[str, tuple[str, ...]], cores: Sequence[str],
    repetitions: int,
) -> Iterator[Row]:  # fmt: skip
    runs = [side.runs[0] for side, _ in sides if side.runs]

    def cycles(calls: int) -> Iterator[Mapping[str, float]]:
        for each in mca.table(target, cores, runs, calls) if mca.found()[0] else [{} for _ in runs]:
            yield {core: number / repetitions for core, number in each.items()}

    many, alone = cycles(0), cycles(1)
    for side, kind in sides:
        figures, name = side.figures, side.body.name
        yield Row(
            name, kind, equal.get(name, ()), figures.instructions - figures.classes.get("marks", 0),
            figures.column("products"), next(many) if side.runs else {}, next(alone) if side.runs else {},
        )  # fmt: skip


def as_json(made: Modelled) -> dict[str, Any]:
    """For programs: everything."""
    return {
        "kernel": made.name, "target": made.target, "model": "llvm-mca", "repetitions": made.repetitions,
        "routines": [
            {"name": row.name, "kind": row.kind, "same_code": list(row.equal), "instructions": row.instructions,
             "products": row.products, "cycles": dict(row.many), "cycles_alone": dict(row.alone)}
            for row in made.rows
        ],
        "failed": [{"name": name, "reason": reason} for name, reason in made.failed],
    }  # fmt: skip
