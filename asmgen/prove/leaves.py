"""Goals that linear arithmetic over the integers decides: z3 is asked whether what is known leaves any other way.

The unknowns are cells and products of cells, tied together by the equations of the splits, by what choices and tests
of zero say, and by bounds. All of it is true of every run of the code, so an answer "no other way" is a proof as far
as z3 is right; any other answer is none.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from threading import Event, Thread
from typing import Any

from asmgen.bounds import Interval, Space
from asmgen.polynomial import Monomial
from asmgen.prove.cells import Equation, Fact, Form, Ledger

#: z3's older solver for linear arithmetic: the newer one takes ten times as long here and does not count all its steps.
ARITHMETIC = 2

#: What is taken into a question: how many of the newest equations, and whether besides what the cells were made of also
#: what else was made of the same; and z3's steps for it (some two millions a second). Steps and not seconds, so that
#: the answer is the same on any machine.
ALL = 1 << 30
TRIES = (
    (30, False, 400_000),
    (60, True, 400_000),
    (ALL, False, 1_600_000),
    (ALL, True, 400_000),
    (120, True, 2_000_000),
    (ALL, False, 2_000_000),
    (ALL, True, 2_000_000),
    (ALL, False, 4_000_000),
    (ALL, True, 8_000_000),
)

#: Should z3 take steps that it does not count, it is stopped after so many seconds of the processor.
SLOWEST = 5.0

#: So many tries are a peek, a glance, quick, short; of a carry some are enough at first.
PEEK, GLANCE, CARRY, QUICK, SHORT = 1, 2, 3, 4, 7


def within(
    ledger: Ledger, space: Space, form: Form, allowed: Interval, deadline: float, tries: int = len(TRIES)
) -> bool:
    """Whether a form has no value outside of `allowed`; asked in so many ways at the most."""
    sides = (f"(< {{0}} {_number(allowed.low)})", f"(> {{0}} {_number(allowed.high)})")
    return all(_never(ledger, space, form, side, deadline, tries) for side in sides)


def among(
    ledger: Ledger, space: Space, form: Form, values: Sequence[int], deadline: float, tries: int = len(TRIES)
) -> bool:
    """Whether a form has no value but these; asked in so many ways at the most."""
    others = " ".join(f"(not (= {{0}} {_number(value)}))" for value in values)
    return _never(ledger, space, form, f"(and {others})", deadline, tries)


def _never(ledger: Ledger, space: Space, form: Form, contrary: str, deadline: float, tries: int) -> bool:
    """Whether what is known excludes the contrary of a goal, in which {0} stands for the form."""
    before: object = None  # what was not enough
    for newest, wide, steps in TRIES[:tries]:
        if newest < ALL and len(ledger.equations) <= newest:
            continue
        if time.process_time() > deadline:
            return False
        equations, facts = _relevant(ledger, form, newest, wide=wide)
        if before == (equations, facts):
            continue
        answer = _ask("\n".join(_question(ledger, space, form, contrary, equations, facts)), steps)
        if answer == "unsat" or answer == "sat" and wide and newest == ALL:
            return answer == "unsat"
        if answer == "sat":
            before = equations, facts
    return False


@lru_cache(maxsize=256)
def _ask(text: str, steps: int) -> str:
    """z3's answer: "unsat", "sat" or "unknown"."""
    import z3

    context = z3.Context()  # one of its own: what was asked before must not matter
    stages = ("simplify", "propagate-values", "solve-eqs", "smt")  # equations are used up before the search
    solver = z3.Then(*(z3.Tactic(name, context) for name in stages), ctx=context).solver()
    solver.set("rlimit", steps)
    solver.set("arith.solver", ARITHMETIC)
    solver.from_string(text)
    done = Event()
    watch = Thread(target=_stop, args=(context, done, SLOWEST), daemon=True)
    watch.start()
    answer = str(solver.check())
    done.set()
    watch.join()
    return answer


def _stop(context: Any, done: Event, seconds: float) -> None:
    """Interrupt z3 after so many seconds of the processor, which do not depend on what else runs on the machine."""
    end = time.process_time() + seconds
    while not done.wait(0.02):
        if time.process_time() > end:
            context.interrupt()
            return


def _cells(*forms: Form) -> set[int]:
    return {cell for form in forms for monomial in form.terms for cell in monomial}


def _relevant(ledger: Ledger, form: Form, newest: int, *, wide: bool) -> tuple[list[Equation], list[Fact]]:
    """What the cells of a form were made of, back to the inputs or as far as the newest equations go; with `wide` also
    what else was made of those."""
    needed = _cells(form)
    first = max(0, len(ledger.equations) - newest)
    taken: dict[int, Equation] = {}
    facts: dict[int, Fact] = {}
    changed = True
    while changed:
        changed = False
        for number in range(len(ledger.equations) - 1, first - 1, -1):
            equation = ledger.equations[number]
            if number not in taken and _cells(equation.low, equation.high) & needed:
                taken[number] = equation
                needed |= _cells(equation.form, equation.low, equation.high)
                changed = True
        for number, fact in enumerate(ledger.facts):
            if number not in facts and (fact.about in needed or _cells(fact.form) <= needed):
                facts[number] = fact
                new = _cells(fact.form) - needed
                needed |= new
                changed = changed or bool(new)
        if wide and not changed:
            wide = False
            for number in range(first, len(ledger.equations)):
                equation = ledger.equations[number]
                if number not in taken and _cells(equation.form) <= needed:
                    taken[number] = equation
                    needed |= _cells(equation.low, equation.high)
                    changed = True
    return [taken[number] for number in sorted(taken)], [facts[number] for number in sorted(facts)]


def _question(
    ledger: Ledger, space: Space, form: Form, contrary: str, equations: Sequence[Equation], facts: Sequence[Fact]
) -> Iterator[str]:
    """What is known, and the contrary of the goal, in SMT-LIB."""
    forms = [form, *(part for each in equations for part in (each.form, each.low, each.high))]
    forms += [fact.form for fact in facts]
    monomials = sorted({monomial for each in forms for monomial in each.terms if monomial})
    names = {monomial: "c" + "_".join(map(str, monomial)) for monomial in monomials}
    cases: list[str] = []
    for monomial, name in names.items():
        yield f"(declare-const {name} Int)"
        known = Interval(1, 1)
        for cell in monomial:
            known = known.times(space._quick(ledger.norms[cell]))
        yield from _between(name, known)
        if known.width == 1:  # z3 goes through the cases of carries before it looks for integers among fractions
            cases.append(f"(assert (or (<= {name} {_number(known.low)}) (>= {name} {_number(known.high)})))")
    for equation in equations:
        yield f"(assert (= {_sum(equation.form - equation.low - (equation.high << equation.k), names)} 0))"
    for fact in facts:
        yield from _between(_sum(fact.form, names), fact.interval)
    yield from cases  # all together: it is faster so
    yield f"(assert {contrary.format(_sum(form, names))})"


def _between(text: str, interval: Interval) -> Iterator[str]:
    if interval.width == 0:
        yield f"(assert (= {text} {_number(interval.low)}))"
        return
    yield f"(assert (>= {text} {_number(interval.low)}))"
    yield f"(assert (<= {text} {_number(interval.high)}))"


def _sum(form: Form, names: dict[Monomial, str]) -> str:
    terms = [f"(* {_number(c)} {names[m]})" if m else _number(c) for m, c in form.terms.items()]
    return f"(+ {' '.join(terms)})" if len(terms) > 1 else terms[0] if terms else "0"


def _number(value: int) -> str:
    return str(value) if value >= 0 else f"(- {-value})"
