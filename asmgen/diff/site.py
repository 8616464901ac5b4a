"""`asmgen report`: a static site with a page for each kernel and target, from the machinery of `diff`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

from markupsafe import Markup

from asmgen.diff import charts
from asmgen.diff.comparison import Side
from asmgen.diff.figures import Figures
from asmgen.diff.job import Case, How, case
from asmgen.diff.page import CLASSES, case_context, environment
from asmgen.diff.sources import Source, sources
from asmgen.emit.prose import about_field, contract, fields_of, prototype
from asmgen.errors import AsmgenError
from asmgen.files import write
from asmgen.function import Function
from asmgen.passes import Options, compile_kernel
from asmgen.routine import Code
from asmgen.scripts import find
from asmgen.targets.assemble import assemble
from asmgen.targets.row import Instruction, Register
from asmgen.work import each
from emulate.compare import check

#: What `prove --json` says of some bytes, by their SHA-256.
Proofs = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Line:
    """A line of a kernel's own listing."""

    number: int
    offset: int
    code: str
    text: str
    kind: str
    holds: str
    source: tuple[int, str] | None


@dataclass(frozen=True)
class Entry:
    """A line of the index, and the page that it leads to."""

    script: str
    kernel: str
    target: str
    file: str
    figures: Figures
    tested: str
    right: bool
    proof: str
    text: str


def run(
    selectors: Sequence[str], targets: Sequence[str], how: How, out: Path, *, compare: bool, proofs: Sequence[Path]
) -> int:
    """Write the site; the exit code: 0 when every kernel passed its tests."""
    functions = find(selectors)
    jobs = [(function, target) for function in functions for target in targets]
    entries = list(each(partial(_page, how, compare, read_proofs(proofs)), jobs))
    index = environment().get_template("index.html").render(title="Kernels", entries=entries, compared=compare)
    files = {"index.html": index, **{entry.file: entry.text for entry in entries}}
    for path, _ in write(files, out)[:1]:
        print(f"{path} and {len(entries)} pages")
    return 0 if all(entry.right for entry in entries) else 1


def read_proofs(given: Sequence[Path]) -> dict[str, Mapping[str, Any]]:
    """What has been proved, from the files given and every `*.proof.json` below the committed output."""
    found: dict[str, Mapping[str, Any]] = {}
    for path in [*sorted(Path("out").rglob("*.proof.json")), *given]:
        try:
            entries = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise AsmgenError(
                f"{path} cannot be read as proofs: {error}", hint="what asmgen prove --json prints"
            ) from error
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and "sha256" in entry:
                found[str(entry["sha256"])] = entry
    return found


def _page(how: How, compare: bool, proofs: Proofs, job: tuple[Function, str]) -> Entry:
    function, target = job
    signature = function.signature
    others: Sequence[Source] = sources([function], target, how.wishes) if compare else ()
    made = case(function, target, others, how)
    code = compile_kernel(function, Options(target, how.wishes.features))
    result = check(function, made.ours.body.machine, how.vectors, how.seed)
    digest = hashlib.sha256(assemble(code.items).code).hexdigest()
    proof = proofs.get(digest)
    tested = f"{result.vectors:,} inputs" if result.failure is None else f"wrong: {result.failure.reason}"
    state = str(proof["answer"]) if proof else "no proof of these bytes"
    text = environment().get_template("kernel.html").render(
        title=f"{signature.script}.{signature.kernel}, {target}",
        case=case_context(0, made),
        fields=[line for field in fields_of([signature]) for line in about_field(field)],
        signature=prototype(signature), contract=contract(signature), code=code, digest=digest,
        lines=list(lines(code, made.ours)), charts=_charts(made), failure=result.failure, tested=tested, seed=how.seed,
        proof=proof, state=state,
    )  # fmt: skip
    file = f"{signature.script}.{signature.kernel}.{target}.html"
    figures = made.ours.figures
    return Entry(signature.script, signature.kernel, target, file, figures, tested, result.failure is None, state, text)


def _charts(made: Case) -> list[Markup]:
    side = made.ours
    if not side.runs:
        return []
    depths = list(accumulate(side.depths, max))
    drawn = [("chain", "Dependence chain: when all results so far could be there", "cycle", depths)]
    drawn.append(("live", "Register pressure: how many hold something needed", "registers", side.pressure))
    return [Markup(charts.lines(name, title, unit, [("asmgen", values)])) for name, title, unit, values in drawn]


def lines(code: Code, side: Side) -> Iterator[Line]:
    """The kernel's routine with what its registers hold and where each line comes from."""
    assembled = assemble(code.items)
    ends = [*assembled.offsets[1:], len(assembled.code)]
    start = side.body.entry
    shown = None
    number = 0
    for index, item in enumerate(code.items):
        if not isinstance(item, Instruction):
            continue
        number += 1
        at = assembled.offsets[index]
        held = code.holds[index] if index < len(code.holds) else {}
        holds = " ".join(
            f"{r.name}={held[r]}" for r in dict.fromkeys(item.written) if isinstance(r, Register) and r in held
        )
        source = (item.source.line, item.source.text) if item.source else None
        line = side.body.lines.get(start + at)
        yield Line(
            number, at, assembled.code[at : ends[index]].hex(" "), line.text if line else item.row.mnemonic,
            side.kinds.get(start + at, ""), holds or item.note, source if source and source[0] != shown else None,
        )  # fmt: skip
        shown = source[0] if source else shown


__all__ = ["CLASSES", "Entry", "lines", "read_proofs", "run"]
