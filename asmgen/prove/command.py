"""`asmgen prove`: what is to be proved, by as many processes as there are cores, and what is printed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from asmgen.errors import UsageError
from asmgen.function import Function
from asmgen.link import link
from asmgen.passes import Options, compile_kernel
from asmgen.program import Program, closure
from asmgen.prove.answers import Answer, NotProved, Proved, Refuted
from asmgen.prove.foreign import foreign
from asmgen.prove.proof import BUDGET, prove
from asmgen.prove.routine import Described, Routine
from asmgen.routine import Code
from asmgen.scripts import find
from asmgen.table import console
from asmgen.targets.assemble import assemble
from asmgen.targets.row import Instruction
from asmgen.work import each


@dataclass(frozen=True)
class Wish:
    """What the user asks for."""

    budget: float = BUDGET
    constant_time: bool = True
    counterexamples: bool = True
    explained: bool = False


@dataclass(frozen=True)
class Object:
    """Somebody's file, the routine in it, what other libraries' data is taken to hold, and flags to compile it with."""

    file: Path
    symbol: str | None = None
    assume: Sequence[str] = ()
    flags: str = ""


def routine(kernel: Function, options: Options) -> Routine:
    """A kernel's routine as asmgen makes it."""
    code, *others = [compile_kernel(each, options) for each in closure([kernel])]
    return code_routine(kernel, code, others)


def code_routine(kernel: Function, code: Code, others: Sequence[Code] = ()) -> Routine:
    """A kernel's routine of these instructions; `others` are the routines that it calls, directly or not."""
    assembled = assemble(code.items)
    sources = {
        offset: item.source
        for offset, item in zip(assembled.offsets, code.items, strict=True)
        if isinstance(item, Instruction)
    }
    calls: dict[int, Described] = {}
    if isinstance(kernel, Program):
        callees = {callee.signature.symbol: callee for callee in kernel.callees}
        calls = {offset: callees[symbol] for offset, symbol, _ in assembled.relocations}
    linked = link([code, *others]).code if others else b""
    features = code.features.union(*(each.features for each in others))
    return Routine(
        kernel, code.target, assembled.code, features=features, sources=sources, stack=code.stack, calls=calls,
        linked=linked,
    )  # fmt: skip


def answer(made: Routine, wish: Wish) -> Answer:
    """The routine proved, or a counterexample, or neither."""
    found = prove(made, budget=wish.budget, constant_time=wish.constant_time, explained=wish.explained)
    if isinstance(found, NotProved) and wish.counterexamples and (made.linked or not made.calls):
        from asmgen.prove.counterexample import counterexample

        return counterexample(made, found) or found
    return found


def answers(made: Sequence[Routine], wish: Wish) -> Iterator[Answer]:
    """Each routine's answer, in order, side by side; what it calls is taken to keep its contract."""
    yield from each(lambda one: answer(one, wish), made)


def composed(found: Sequence[tuple[Routine, Answer]]) -> list[tuple[Routine, Answer]]:
    """Routines that are linked together, with their answers: one that calls what is not proved is not proved itself."""
    found = list(found)
    good = {(one.kernel.signature.symbol, one.target) for one, given in found if isinstance(given, Proved)}
    changed = True
    while changed:
        changed = False
        for number, (one, given) in enumerate(found):
            open_calls = [each for each in _callees(one) if (each, one.target) not in good]
            if isinstance(given, Proved) and open_calls:
                found[number] = one, NotProved(given.seconds, f"{open_calls[0]}, which it calls, is not proved")
                good.discard((one.kernel.signature.symbol, one.target))
                changed = True
    return found


def _callees(made: Routine) -> list[str]:
    return list(dict.fromkeys(callee.signature.symbol for callee in made.calls.values()))


def run(
    selectors: Sequence[str],
    targets: Sequence[str],
    *,
    features: str = "default",
    explain: bool = False,
    as_json: bool = False,
    wish: Wish = Wish(),
) -> int:
    """Prove the kernels that the selectors name, and what they call; the exit code, 0 when all are proved."""
    made = [routine(kernel, Options(target, features)) for kernel in closure(find(selectors)) for target in targets]
    found = composed(list(zip(made, answers(made, wish), strict=True)))
    return show(found, explain=explain, as_json=as_json)


def run_object(
    selectors: Sequence[str],
    targets: Sequence[str],
    given: Object,
    *,
    explain: bool = False,
    as_json: bool = False,
    wish: Wish = Wish(),
) -> int:
    """Prove somebody's routine by the contract of the one kernel that is named; the exit code, 0 when it is proved."""
    kernels = find(selectors) if selectors else []
    if len(kernels) != 1:
        hint = "asmgen prove SCRIPT.KERNEL --object FILE --symbol NAME"
        raise UsageError("--object is held against one kernel", hint=hint)
    (kernel,) = kernels
    symbol = given.symbol or kernel.signature.symbol
    made = foreign(kernel, given.file, symbol, targets, assume=given.assume, flags=given.flags)
    return show([(made, answer(made, wish))], explain=explain, as_json=as_json)


def show(found: Sequence[tuple[Routine, Answer]], *, explain: bool, as_json: bool) -> int:
    """Print the answers; 0 when all are proofs."""
    if as_json:
        print(json.dumps([describe(*pair) for pair in found], indent=2))
    else:
        _print(found, explain)
    return 0 if all(isinstance(each, Proved) for _, each in found) else 1


def name(made: Routine) -> str:
    """What the user calls a routine."""
    signature = made.kernel.signature
    return f"{signature.script}.{signature.kernel}"


def _print(found: Sequence[tuple[Routine, Answer]], explain: bool) -> None:
    out = console()
    grid = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("kernel", "target"):
        grid.add_column(title, no_wrap=True)
    for title in ("bytes", "seconds"):
        grid.add_column(title, justify="right", no_wrap=True)
    grid.add_column("answer", no_wrap=True)
    for made, given in found:
        color = {"proved": "green", "WRONG": "red"}.get(given.word, "yellow")
        grid.add_row(name(made), made.target, str(len(made.code)), f"{given.seconds:.2f}", f"[{color}]{given.word}[/]")
    out.print(grid)
    for made, given in found:
        for line in lines(made, given, explain):
            out.print(line, markup=False, soft_wrap=True)
    for line in dict.fromkeys(line for _, given in found if isinstance(given, Proved) for line in given.assumptions):
        out.print(f"assumed: {line}", markup=False, soft_wrap=True, style="dim")


def lines(made: Routine, given: Answer, explain: bool) -> Iterator[str]:
    """What there is to say of an answer beyond its word."""
    head = f"{name(made)} on {made.target}"
    if isinstance(given, Proved):
        if explain:
            yield f"{head}: proved"
            yield from (f"  {line}" for line in given.argument)
        return
    yield f"{head}: {given.word}: {given.reason}"
    if given.place is not None:
        yield f"  where the argument breaks: {given.place}"
    if isinstance(given, Refuted):
        yield from (f"  input {label} = {text}" for label, text in given.inputs)
        yield from (f"  wanted {label} = {text}" for label, text in given.wanted)
        yield from (f"  got {label} = {text}" for label, text in given.got)


def describe(made: Routine, given: Answer) -> dict[str, Any]:
    """One object of `prove --json`."""
    found: dict[str, Any] = {
        "kernel": name(made),
        "target": made.target,
        "features": sorted(made.features),
        "sha256": made.hash,
        "bytes": len(made.code),
        "answer": "wrong" if isinstance(given, Refuted) else given.word,
        "seconds": round(given.seconds, 3),
    }
    if isinstance(given, Proved):
        return {**found, "assumptions": list(given.assumptions), "argument": list(given.argument)}
    place = given.place
    found["reason"] = given.reason
    found["place"] = None if place is None else {"offset": place.offset, "text": place.text}
    if place is not None and place.source is not None:
        found["place"]["line"] = f"{place.source.place}"
    if isinstance(given, Refuted):
        found |= {"inputs": dict(given.inputs), "wanted": dict(given.wanted), "got": dict(given.got)}
    return found
