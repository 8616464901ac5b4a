"""Plans: the order that a search found for a routine, in files that every build replays.

A plan lies beside its script, in `plans/TARGET/CORE/SCRIPT.KERNEL.json` (with `-FEATURES` after the core where these
are not the default). It says which of the script's alternatives and which schedule it starts from, the hash of the
routine that this gives, and the order of each of its straight lines by the instructions' names. Nothing in it can make
a routine wrong: an order that is not legal is refused, and what is emitted is tested and proved as everything else is.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from asmgen.errors import AsmgenError
from asmgen.function import Function
from asmgen.passes.arrange import Arrangement, Order, names_of
from asmgen.passes.schedule import Freedom
from asmgen.routine import Allocated, Way
from asmgen.targets.row import Instruction

GENERIC = "generic"
_DIGITS = 8  # of an instruction's hashed name
_A_ROW = 10  # names in a row of a file


class StalePlan(UserWarning):
    """A plan that no longer fits its routine."""


@dataclass(frozen=True)
class Seed:
    """What a plan starts from: alternatives of the script's decisions, a schedule by a core's table, and how registers
    are given out, None for the best way of all; `forms` names those of `forms.FORMS` that operations take, and `others`
    has positions of instructions that take their other form when all else is done (`alike`)."""

    choices: tuple[tuple[str, int], ...] = ()
    core: str = GENERIC
    freedom: Freedom = Freedom(0, 11)
    way: Way | None = None
    forms: tuple[str, ...] = ()
    others: tuple[int, ...] = ()


@dataclass(frozen=True)
class Plan:
    """An order for each straight line of the routine whose `hash_of` is `routine`, by hashed names.

    `found` is for people: by what, for what, and what was gained.
    """

    seed: Seed
    routine: str
    lines: tuple[tuple[str, ...], ...]
    found: Mapping[str, Any] = field(default_factory=dict)


def row_of(seed: Seed) -> dict[str, Any]:
    """A seed as files have it; what is as usual is left out."""
    made: dict[str, Any] = {"choices": dict(seed.choices)}
    if seed.forms:
        made["forms"] = list(seed.forms)
    made["schedule"] = {"core": seed.core, "window": seed.freedom.window, "registers": seed.freedom.registers}
    if seed.way is not None:
        made["policy"] = seed.way.policy
        if seed.way.saved is not None:
            made["saved"] = " ".join(seed.way.saved)
    if seed.others:
        made["others"] = " ".join(map(str, seed.others))
    return made


def seed_of(row: Mapping[str, Any]) -> Seed:
    """The seed in a file; ValueError, KeyError, TypeError or AttributeError when it holds none."""
    schedule = row["schedule"]
    saved = tuple(row["saved"].split()) if "saved" in row else None
    return Seed(
        tuple(sorted((str(name), int(index)) for name, index in row["choices"].items())),
        str(schedule["core"]),
        Freedom(int(schedule["window"]), int(schedule["registers"])),
        Way(int(row["policy"]), saved) if "policy" in row else None,
        tuple(map(str, row.get("forms", ()))),
        tuple(map(int, row.get("others", "").split())),
    )


def path(function: Function, target: str, features: str, core: str) -> Path:
    """Where the plan of a kernel lies, if there is one."""
    folder = core if features == "default" else f"{core}-{features}"
    name = f"{function.signature.script}.{function.name}.json"
    return Path(function.file).parent / "plans" / target / folder / name


def every(function: Function) -> list[tuple[str, str, str, Path]]:
    """Target, features, core and file of each plan of a kernel."""
    found = []
    root = Path(function.file).parent / "plans"
    for file in sorted(root.glob(f"*/*/{function.signature.script}.{function.name}.json")):
        target, folder = file.parts[-3:-1]
        variants = [name for name in ("base",) if folder.endswith(f"-{name}")]
        features = variants[0] if variants else "default"
        found.append((target, features, folder.removesuffix(f"-{features}"), file))
    return found


def place(function: Function, target: str, features: str, core: str) -> Path | None:
    """The plan for a core, else the generic one; None where there is neither."""
    found = (path(function, target, features, each) for each in dict.fromkeys((core, GENERIC)))
    return next((each for each in found if each.is_file()), None)


def version(function: Function, target: str, features: str, core: str) -> str:
    """What tells plans from each other for whoever keeps what was made by them; empty without one."""
    file = place(function, target, features, core)
    return "" if file is None else hashlib.sha256(file.read_bytes()).hexdigest()


def read(file: Path) -> Plan:
    """The plan in a file; AsmgenError, with what is wrong, when it holds none."""
    try:
        made = json.loads(file.read_text(encoding="utf-8"))
        return Plan(
            seed_of(made),
            str(made["routine"]),
            tuple(tuple(" ".join(line).split()) for line in made["lines"]),
            dict(made.get("found", {})),
        )
    except OSError as error:
        raise AsmgenError(f"{file} cannot be read: {error.strerror}", hint="make it readable, or remove it") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise AsmgenError(
            f"{file} is no plan: {what}", hint="asmgen optimize writes a new one; remove this one"
        ) from error


def text(plan: Plan) -> str:
    """A plan as its file has it: the same plan, the same bytes."""
    made = {
        "found": dict(plan.found),
        **row_of(plan.seed),
        "routine": plan.routine,
        "lines": [
            [" ".join(line[at : at + _A_ROW]) for at in range(0, len(line), _A_ROW)] for line in plan.lines
        ],
    }  # fmt: skip
    return json.dumps(made, indent=1) + "\n"


def hash_of(allocated: Allocated) -> str:
    """What tells allocated routines apart: instructions, registers and labels in their order."""
    lines = [
        f"{item.row.name} {item.operands!r}" if isinstance(item, Instruction) else item.name for item in allocated.items
    ]
    return hashlib.sha256("\n".join([allocated.routine.signature.symbol, *lines]).encode()).hexdigest()[:32]


def hashed(names: Sequence[str]) -> list[str]:
    """Names as plans have them."""
    return [hashlib.sha256(name.encode()).hexdigest()[:_DIGITS] for name in names]


def plan_of(before: Arrangement, orders: Sequence[Order], seed: Seed, found: Mapping[str, Any]) -> Plan:
    """The plan that gives these orders again."""
    lines = []
    for line, order in zip(before.lines, orders, strict=True):
        names = hashed(names_of(before.allocated, line))
        lines.append(tuple(names[at] for at in order))
    return Plan(seed, hash_of(before.allocated), tuple(lines), found)


def orders_of(plan: Plan, before: Arrangement) -> list[list[int]]:
    """The orders that a plan has for a routine; AsmgenError, in a few words, when it is of another one."""
    if plan.routine != hash_of(before.allocated):
        raise AsmgenError("it is of another routine than the one made now")
    orders = []
    for line, wanted in zip(before.lines, plan.lines, strict=False):
        at = {name: index for index, name in enumerate(hashed(names_of(before.allocated, line)))}
        orders.append([at[name] for name in wanted if name in at])
    if len(plan.lines) != len(before.lines) or any(
        len(order) != len(wanted) or len(wanted) != len(line)
        for order, wanted, line in zip(orders, plan.lines, before.lines, strict=True)
    ):
        raise AsmgenError("it does not name each instruction once")
    return orders


def rebased(plan: Plan, before: Arrangement) -> list[list[int]]:
    """Orders for a routine that is not quite the plan's: what has a name in both comes as the plan has it, the rest
    right after what it followed; whatever must come earlier is drawn before what waits for it."""
    orders = []
    for index, line in enumerate(before.lines):
        names = hashed(names_of(before.allocated, line))
        wanted = {name: at for at, name in enumerate(plan.lines[index] if index < len(plan.lines) else ())}
        keys: list[tuple[float, int]] = []
        last = -1.0
        for at, name in enumerate(names):
            last = wanted.get(name, last)
            keys.append((last, at))
        done = 0
        order: list[int] = []
        for _, at in sorted(keys):
            for each in _needed(line.before, at, done):
                order.append(each)
                done |= 1 << each
        orders.append(order)
    return orders


def _needed(before: Sequence[int], at: int, done: int) -> Iterator[int]:
    """What must still be done for an instruction, in order, and then itself."""
    wanted, pending = 0, [at]
    while pending:
        each = pending.pop()
        if (done | wanted) >> each & 1:
            continue
        wanted |= 1 << each
        pending += [other for other in range(each) if before[each] >> other & 1]
    yield from (each for each in range(len(before)) if wanted >> each & 1)


def warn(file: Path, why: str) -> None:
    """Say that a plan is left out; an error inside `strictly`."""
    warnings.warn(StalePlan(f"{file.name} does not fit: {why}"), stacklevel=2)


@contextmanager
def strictly() -> Iterator[None]:
    """Plans that do not fit are errors inside, in processes that begin there, too."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", StalePlan)
        try:
            yield
        except StalePlan as error:
            raise AsmgenError(str(error), hint="asmgen optimize --rebase KERNEL fits it anew") from error
