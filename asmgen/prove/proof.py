"""The proof of a routine: its cases, its ways to share buffers, its loop, and the answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from asmgen.bounds import Impossible, Interval, Poly
from asmgen.contracts import BitContract, Element, Parameter
from asmgen.errors import AsmgenError
from asmgen.meanings import MEANINGS, square_n
from asmgen.promises import size
from asmgen.prove import bits, explain, goal, leaves
from asmgen.prove.answers import NotProved, Place, Proved, place_of
from asmgen.prove.attempt import Attempt
from asmgen.prove.cells import Form
from asmgen.prove.decode import Unknown, decode
from asmgen.prove.entry import Entry, enter
from asmgen.prove.flow import Flow
from asmgen.prove.goal import Open
from asmgen.prove.loops import Invariant, held, induction
from asmgen.prove.programs import Composition
from asmgen.prove.residues import Context, EvenOf, NeedsCase, NotPolynomial, Symbolic, Wanted, results
from asmgen.prove.routine import Routine
from asmgen.prove.run import OutOfTime, Path, Runner, Stuck
from asmgen.prove.space import Rejected
from asmgen.prove.taint import leaks
from emulate.aliasing import Mode, modes

#: Seconds of the processor for one routine.
BUDGET = 10.0

#: How to look into carries, `patient` and `asks` of a runner, and how long to ask: the next way where the one before
#: does not do.
WAYS = (
    (False, 0, leaves.QUICK),
    (False, leaves.CARRY, leaves.QUICK),
    (False, leaves.SHORT, leaves.SHORT),
    (False, leaves.SHORT, len(leaves.TRIES)),
    (True, leaves.SHORT, len(leaves.TRIES)),
)

#: What stands over the steps of an argument.
STEPS, LOOP = "each instruction:", "each instruction of the loop:"

_ABSOLUTE = MEANINGS["absolute"][0].function

#: Bits that may be decided one after the other.
DEEP = 6


class Proof(Attempt):
    """A routine that is followed to its end."""

    most_cases = 200

    # Ways to share buffers.

    def everything(self) -> None:
        """All modes, or Stuck."""
        first, *others = modes(self.kernel.signature)
        if self.constant_time:
            entry = enter(self.kernel.signature, self.convention, first, {}, self.constants)
            for leak in leaks(self.runner.flow, entry):
                raise Stuck(leak.what, leak.decoded, final=True)
            self.argument.append("no branch and no address depends on data")
        apart = self.mode(first)
        if apart:
            self.argument.append("every load of an input precedes every store to an output: buffers may be shared")
            return
        for mode in others:
            if not self._only_inputs(mode):
                self.mode(mode)

    def _only_inputs(self, mode: Mode) -> bool:
        """Whether outputs are by themselves: what holds of any inputs holds of equal ones."""
        count = sum(parameter.by_pointer for parameter in self.kernel.signature.outputs)
        return not set(mode.slots[:count]) & set(mode.slots[count:])

    def mode(self, mode: Mode, given: Mapping[str, Interval] = MappingProxyType({})) -> bool:
        """One mode; whether the loads of inputs all came before the stores to outputs."""
        entry = enter(self.kernel.signature, self.convention, mode, given, self.constants)
        try:
            return self.scene(entry)
        except NeedsCase as needs:
            self.next_case()
            return all([self.mode(mode, each) for each in self._split(entry, given, needs)])

    def _split(self, entry: Entry, given: Mapping[str, Interval], needs: NeedsCase) -> Iterator[dict[str, Interval]]:
        """The two cases that the meaning asks to tell apart."""
        for name, known in entry.inputs.items():
            if known.value == needs.poly:
                low, high = entry.space.interval(known.value)
                yield {**given, name: Interval(low, needs.most)}
                yield {**given, name: Interval(needs.most + 1, high)}
                return
        raise Stuck("the meaning depends on more than one input at once")

    # One scene.

    def scene(self, entry: Entry) -> bool:
        """One way to share buffers with some scalars known."""
        entry.space.deadline = self.runner.deadline
        self.meant(entry)  # its cases come before the work
        paths = list(self.runner.follow(Path(entry, self.runner.flow.entry), unroll=entry.count is None))
        self.runs += 1
        for path in paths:
            if path.end == "return":
                self.settle(path, self.returned)
                self._tell(path)
        return all([self.loop(path) if path.end == "head" else _loads_first(path) for path in paths])

    def _tell(self, path: Path) -> None:
        """What was shown at the end of a path, in words, once."""
        ledger, space = path.entry.domain.ledger, path.entry.space
        fixed = sum(equation.high.constant is not None for equation in ledger.equations)
        lines = [
            f"{len(path.done)} instructions make {len(ledger.norms)} quantities, tied by {len(ledger.equations)} "
            f"equations x = low + 2^k * high; the high part of {fixed} is always the same",
            f"{len(space._facts)} products of unknowns occur in facts about carries and bounds",
        ]
        if path.entry.undecided:
            lines.append(f"{len(path.entry.undecided)} choices, each decided both ways where the goals needed it")
        for output in path.entry.signature.outputs:
            if isinstance(output.contract, Element):
                most = size(output.contract.value_max)
                lines.append(f"{output.name} is what is meant modulo p, its value at most {most}, its limbs in bounds")
        self.argument += [line for line in lines if line not in self.argument]
        if self.explained and STEPS not in self.argument:
            self.argument += [STEPS, *(f"  {line}" for line in explain.steps(path)), *self._cancels(path)]

    def _cancels(self, path: Path) -> Iterator[str]:
        """What is left of each output that is an element when what is wanted is taken away."""
        entry, outputs = path.entry, iter(path.entry.signature.outputs)
        for contract, want in zip(self.kernel.results, self.meant(entry, self._repetitions(path)), strict=True):
            if isinstance(contract, BitContract):
                continue
            output = next(outputs)
            if isinstance(output.contract, Element) and isinstance(want, Symbolic):
                words = zip(entry.output(output), output.contract.field.positions, strict=True)
                norm = entry.domain.norm(Poly.sum(word << at for word, at in words))
                unscale, p = output.contract.field.unscale, self.kernel.modulus
                yield from explain.cancels(entry, output.name, norm, unscale, want.plain, p)

    def settle(self, path: Path, check: Callable[[Path], Iterator[Open]]) -> bool:
        """Nothing is left open at the end of a path: where something is, a mask bit is decided both ways. False where
        what was decided cannot be; one of both ways can."""
        try:
            found = self._first_open(path, check)
        except Impossible:
            if not path.entry.space.decided:
                raise
            return False
        if found is None:
            if self.explained:
                self.argument += explain.case(path.entry)
            return True
        if found.false:
            raise Stuck(found.what, path.done[-1], final=True)
        bit = next(iter(path.entry.undecided), None)
        start = path.before(bit) if bit is not None else None
        if bit is None or start is None or len(path.entry.space.decided) >= DEEP:
            raise Stuck(found.what, path.done[-1])
        possible = False
        for value in (0, 1):
            self.runs += 1
            for each in self.runner.follow(start.fork({bit: value}), unroll=path.entry.count is None):
                if each.route == path.route:  # others are ends of their own
                    possible = self.settle(each, check) or possible
        if not possible and not path.entry.space.decided:
            raise Stuck("neither way that a choice can be is possible, so what is known is wrong", path.done[-1])
        return possible

    def _first_open(self, path: Path, check: Callable[[Path], Iterator[Open]]) -> Open | None:
        """What is open first, after a glance and then, where no choice is left to decide, after more."""
        found: Open | None = None
        for tries in dict.fromkeys((leaves.GLANCE, self.runner.tries)):
            path.entry.space.tries = tries
            found = next(check(path), None)
            if found is None or found.false or path.entry.undecided:
                break
        return found

    # Goals.

    def meant(self, entry: Entry, count: int | None = None) -> Sequence[Wanted]:
        """The results, as polynomials of the inputs; `count` takes the place of the number of repetitions."""
        context = self._context(entry)
        inputs: list[Any] = []
        for known in entry.inputs.values():
            counted = known.contract.kind == "count" and count is not None
            inputs.append(count if counted else goal.argument(context, known))
        function, p = self.kernel.meaning.function, self.kernel.modulus
        if function is square_n:  # it reduces long exponents; the definition serves better here
            base, times = inputs
            return [pow(base, 1 << times, p)]
        if function is _ABSOLUTE:
            return [EvenOf(inputs[0].plain)]
        try:
            made = function(p, *inputs)
        except (TypeError, AttributeError, ValueError) as fault:
            raise NotPolynomial(f"the meaning cannot be run on unknowns: {fault}") from None
        return results(context, made, len(self.kernel.results))

    def _context(self, entry: Entry) -> Context:
        return Context(self.kernel.modulus, entry.space.interval, entry.space.split)

    def returned(self, path: Path) -> Iterator[Open]:
        """What is open at a return that no loop came before."""
        entry = path.entry
        self._kept(path)
        outputs = iter(self.kernel.signature.outputs)
        for contract, want in zip(self.kernel.results, self.meant(entry, self._repetitions(path)), strict=True):
            if isinstance(contract, BitContract):
                yield from bits.returned(entry, want, self.kernel.modulus)
            else:
                output = next(outputs)
                yield from goal.result(entry, output.contract, entry.output(output), want, output.name)

    def _repetitions(self, path: Path) -> int | None:
        """The one count with which a path returns without a loop, if there is a count."""
        if path.entry.count is None:
            return None
        known = path.entry.space.interval(path.entry.count)
        if known.width:
            raise Stuck("returns without a loop for more than one count", path.done[-1])
        return known.low

    def _kept(self, path: Path) -> None:
        changed = goal.kept(path.entry)
        if changed:
            raise Stuck(changed, path.done[-1])

    # Loops.

    def loop(self, arrived: Path) -> bool:
        """The loop at whose head the path is, by induction; whether loads came before stores."""
        invariant, made = induction(self.runner, arrived)
        output, base, step = self._iterated(arrived)
        state = invariant.state
        if state is None:
            raise Stuck("it was not found which registers hold the loop's state", arrived.done[-1])
        contract = state.contract
        unscale = contract.field.unscale
        assert isinstance(output.contract, Element)

        def limbs(entry: Entry) -> list[Form]:
            return [held(entry, location, shift) for location, shift in state.places]

        before = "the state before the loop"
        found = next(goal.same_value(arrived.entry, contract, limbs(arrived.entry), base, before, before), None)
        if found is not None:
            raise Stuck(found.what, arrived.done[-1])

        was = Poly.sum(limb << at for limb, at in zip(made.limbs, contract.field.positions, strict=True)) * unscale

        def onward(path: Path) -> Iterator[Open]:
            entry, after = path.entry, "the state after a pass"
            if path.end == "head":
                yield from goal.same_value(entry, contract, limbs(entry), step(was, 1), after, after)
                return
            self._kept(path)
            more = entry.space.interval(made.remaining)
            if more.width or not 0 <= more.low <= 2:
                raise Stuck("the loop ends before the count says so", path.done[-1])
            want = Symbolic(self._context(entry), step(was, more.low), "residue")
            yield from goal.result(entry, output.contract, entry.output(output), want, output.name)

        for path in (*made.back, *made.out):
            self.settle(path, onward)
        self.argument.append(_about(invariant))
        if self.explained and LOOP not in self.argument:
            for path in made.back:
                self.argument += [LOOP, *(f"  {line}" for line in explain.steps(path))]
        return all([_loads_first(path) for path in (*made.back, *made.out)])

    def _iterated(self, arrived: Path) -> tuple[Parameter, Poly, Callable[[Poly, int], Poly]]:
        """The output that a count iterates: its parameter, the residue at first, and what a number of passes does."""
        (wanted,) = self.meant(arrived.entry)
        if not isinstance(wanted, Symbolic) or wanted.kind != "power" or wanted.count != arrived.entry.count:
            raise Stuck("the meaning is no function of the count that is understood: a^(2^n) is", arrived.done[-1])

        def step(value: Poly, times: int) -> Poly:
            for _ in range(times):
                value = value * value
            return value

        return self.kernel.signature.outputs[0], wanted.poly, step


def _about(invariant: Invariant) -> str:
    return f"loop by induction: {len(invariant.data)} words of state, {len(invariant.counters)} counters"


def _loads_first(path: Path) -> bool:
    """Whether no input was loaded after a store to an output."""
    entry = path.entry
    outputs = {entry.buffers[parameter.name] for parameter in entry.signature.outputs}
    stored = False
    for _, region, _, _, write in entry.state.accesses:
        if region in outputs:
            stored = stored or write
        elif region in entry.buffers.values() and stored:
            return False
    return True


def prove(
    routine: Routine,
    *,
    budget: float = BUDGET,
    constant_time: bool = True,
    patient: bool | None = None,
    explained: bool = False,
) -> Proved | NotProved:
    """Whether a routine is right for all inputs of its contract.

    With `constant_time` no branch may depend on data. `patient` looks into every carry at once (True) or never (False);
    by default first into those that are lost, then with a solver's help, then into all. With `explained` the argument
    has a line for each step.
    """
    began = time.process_time()
    ways = WAYS if patient is None else ((patient, 0, len(leaves.TRIES)),)
    stuck: Stuck | None = None
    try:
        flow = Flow(decode(routine.target, routine.code, routine.entry, routine.calls), routine.entry, routine.calls)
        for looks, asks, tries in ways:
            secret = not constant_time
            runner = Runner(flow, began + budget, looks, asks, tries, secret_branches=secret)
            kind = Composition if routine.calls else Proof
            constants = routine.code if routine.data else b""
            proof = kind(routine.kernel, runner, routine.convention, constant_time, constants, explained)
            try:
                proof.everything()
                assumptions = _assumptions(routine, constant_time, proof.prime)
                return Proved(time.process_time() - began, assumptions, tuple(proof.argument), proof.runs)
            except Stuck as fault:
                stuck = fault
                if fault.final:
                    break
    except OutOfTime:
        if stuck is None:
            return NotProved(time.process_time() - began, f"the budget of {budget:g} s is spent")
    except Unknown as unknown:
        place = Place(unknown.offset, unknown.text)
        return NotProved(time.process_time() - began, unknown.what, place)
    except (Rejected, AsmgenError) as fault:
        return NotProved(time.process_time() - began, str(fault))
    except RecursionError:
        return NotProved(time.process_time() - began, "the values grow too deep to be followed")
    assert stuck is not None
    return NotProved(time.process_time() - began, stuck.reason, place_of(stuck.decoded, routine.sources))


def _assumptions(routine: Routine, constant_time: bool, prime: bool) -> tuple[str, ...]:
    """What is taken for granted, in words."""
    found = [
        "inputs are within the contract",
        f"the call keeps to the {routine.convention.name} convention",
        "buffers are apart, or an input is the very buffer of another input or of an output; none wraps at 2^64",
    ]
    if any(parameter.contract.kind == "count" for parameter in routine.kernel.signature.inputs):
        found.append("counts and addresses are public" if constant_time else "counts are any number of 64 bits")
    if routine.calls:
        symbols = dict.fromkeys(each.signature.symbol for each in routine.calls.values())
        found.append(f"what is called keeps its contract: {', '.join(symbols)}")
    if prime:
        found.append("the modulus is prime")
    if routine.features:
        found.append(f"the CPU has {', '.join(sorted(routine.features))}")
    return tuple(found)
