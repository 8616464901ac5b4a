"""Comparisons as JSON."""

from __future__ import annotations

from typing import Any

from asmgen.diff.comparison import Comparison, Side
from asmgen.diff.figures import COLUMNS, Figures
from asmgen.diff.job import Case
from asmgen.diff.same import Sameness
from asmgen.diff.summary import Entry


def as_json(made: Case) -> dict[str, Any]:
    """A case: figures of ours and of each other, what matches, why the rest does not, whether it is the same."""
    signature = made.function.signature
    return {
        "kernel": f"{signature.script}.{signature.kernel}",
        "symbol": signature.symbol,
        "target": made.target,
        "ours": figures(made.ours.figures),
        "others": [
            {**other(each), "verdict": verdict.outcome, "sentences": list(verdict.sentences)}
            for each, verdict in zip(made.comparisons, made.verdicts, strict=True)
        ],
        "failed": [{"name": each.name, "reason": each.reason} for each in made.failed],
    }


def entry_json(entry: Entry) -> dict[str, Any]:
    """A line of the summary."""
    return {
        "kernel": entry.kernel,
        "target": entry.target,
        "by": entry.name,
        "figures": entry.figures and figures(entry.figures),
        "products": {"matched": entry.products[0], "ours": entry.products[1]},
        "unmatched": {"ours": dict(entry.unmatched[0]), "theirs": dict(entry.unmatched[1])},
        "outcome": entry.outcome,
        "problem": entry.problem,
    }


def figures(of: Figures) -> dict[str, Any]:
    """What was counted."""
    return {
        "instructions": of.instructions,
        "classes": {column: of.column(column) for column, _ in COLUMNS},
        "bytes": of.size,
        "executed": of.executed,
        "chain": of.chain,
        "live": of.live,
        "cycles": dict(of.cycles),
        "measured": of.measured,
    }


def other(made: Comparison) -> dict[str, Any]:
    """One comparison."""
    matched, products = made.matched(0, "products")
    every = [made.matched(side) for side in (0, 1)]
    return {
        "name": made.theirs.body.name,
        "command": made.theirs.body.command,
        "figures": figures(made.theirs.figures),
        "products": {"ours": products, "matched": matched},
        "lines": {side: {"all": every[i][1], "matched": every[i][0], "unmatched": made.unmatched(i)}
                  for i, side in enumerate(("ours", "theirs"))},
        "same": None if made.same is None else sameness(made.same),
        "rows": [[_line(made, 0, mine), _line(made, 1, yours)] for mine, yours in made.rows],
    }  # fmt: skip


def sameness(of: Sameness) -> dict[str, Any]:
    """The judgment and the first difference."""
    first = of.first
    return {
        "vectors": of.vectors,
        "wrong": of.wrong,
        "wrong_with_shared_buffers": of.shared,
        "narrower": of.narrower,
        "highest": {name: [hex(limb) for limb in limbs] for name, limbs in of.highest},
        "beyond": list(of.beyond),
        "first": first and {
            "index": first.index,
            "seed": first.seed,
            "reason": first.reason,
            "aliasing": first.aliasing,
            "inputs": {name: _hex(value) for name, value in first.inputs},
            "wanted": {name: hex(value) for name, value in first.wanted},
            "got": {name: hex(value) for name, value in first.got},
        },
    }  # fmt: skip


def _hex(value: object) -> object:
    if isinstance(value, tuple):
        return [hex(word) for word in value]
    return value.hex() if isinstance(value, bytes) else hex(value) if isinstance(value, int) else value


def _line(made: Comparison, side: int, at: int | None) -> dict[str, Any] | None:
    """A line of a listing with its counterparts."""
    if at is None:
        return None
    held: Side = made.sides[side]
    source = held.body.sources.get(at)
    return {
        "offset": at,
        "text": held.lines[at].text,
        "class": held.kinds.get(at, "not reached"),
        "partners": made.partners[side].get(at, []),
        "cause": made.causes[side].get(at),
        **({"source": f"{source.place}"} if source else {}),
    }
