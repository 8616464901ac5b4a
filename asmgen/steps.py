"""What a program is made of: whole elements, and the calls that make them of each other, as its function runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from asmgen.arguments import checked, form
from asmgen.contracts import BitContract, Bytes, Contract, CountContract, Element, Signature, Table
from asmgen.errors import AsmgenError, Source, caller, here
from asmgen.promises import sizes

if TYPE_CHECKING:
    from asmgen.function import Function


class Value:
    """An element, byte string, table or number of a program: known by its contract alone.

    `constant` are its words in memory when the script wrote it down; `name` is for readers, empty when nobody gave one.
    """

    __slots__ = ("contract", "constant", "name")

    def __init__(self, contract: Contract, name: str = "", constant: tuple[int, ...] | None = None) -> None:
        self.contract = contract
        self.name = name
        self.constant = constant

    @property
    def in_memory(self) -> bool:
        """Whether it is passed by pointer."""
        return isinstance(self.contract, (Element, Bytes, Table))

    @property
    def length(self) -> int:
        """Bytes that it takes in memory."""
        return self.contract.length if isinstance(self.contract, Bytes) else 8 * self.contract.words

    @property
    def words(self) -> int:
        """64-bit words that it takes in memory, the last one perhaps in part."""
        return -(-self.length // 8)

    def __repr__(self) -> str:
        return f"<{self.contract.kind} {self.name}>"

    def _whole(self, *_: object) -> NoReturn:
        raise here(
            f"this {self.contract.kind} is whole in a program: its limbs and bits are out of reach",
            "call a kernel that computes what is wanted of them; repeat(n, kernel, x) with a fixed n is allowed",
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __lshift__ = __neg__ = __pow__ = _whole
    __bool__ = __int__ = __index__ = __iter__ = __len__ = __getitem__ = _whole
    __lt__ = __le__ = __gt__ = __ge__ = _whole


@dataclass(frozen=True, eq=False)
class Call:
    """A call of a routine, `times` over: the second time on, its one result is its one operand again.

    `args` are in the order of the script's arguments, `results` in that of its results, a bit among them.
    """

    function: Function
    args: tuple[Value, ...]
    results: tuple[Value, ...]
    times: int = 1
    source: Source | None = None

    def outputs(self) -> Iterator[Value]:
        """The results in memory, in C order."""
        return (value for value in self.results if value.in_memory)

    @property
    def bit(self) -> Value | None:
        """The result in a register."""
        return next((value for value in self.results if not value.in_memory), None)


@dataclass(frozen=True)
class Steps:
    """A program as calls in order. `inputs` are its arguments; `outputs` go to memory in C order, `returns` is the
    bit."""

    signature: Signature
    inputs: tuple[Value, ...]
    calls: tuple[Call, ...]
    outputs: tuple[Value, ...]
    returns: Value | None


def needed(calls: Sequence[Call], wanted: Iterable[Value]) -> tuple[Call, ...]:
    """The calls that the wanted values rest on: kernels do nothing but give results."""
    live = set(wanted)
    kept = []
    for call in reversed(calls):
        if not live.isdisjoint(call.results):
            live.update(call.args)
            kept.append(call)
    return tuple(reversed(kept))


class Recording:
    """The run of a program's function on values that stand for anything their contracts allow."""

    def __init__(self, inputs: Sequence[Value], file: str) -> None:
        self.file = file
        self.calls: list[Call] = []
        self.known: set[Value] = set(inputs)
        self.constants: dict[tuple[str, tuple[int, ...]], Value] = {}

    def call(self, function: Function, given: Mapping[str, Any]) -> Any:
        """Note a call, its arguments held against what the function requires; the values of its results."""
        return self._noted(function, given, 1)

    def repeat(self, n: Any, body: Any, state: Any, empty: Any) -> Any:
        """`body` called n times, a fixed number."""
        from asmgen.function import Function

        if isinstance(n, Value) or not isinstance(n, int) or n < 0:
            raise here(
                "a program repeats a fixed number of times",
                "give an integer; a kernel such as square_n takes a Count that the program passes on",
            )
        if not isinstance(body, Function) or len(body.signature.inputs) != 1 or len(body.results) != 1:
            raise here(
                "in a program repeat() calls one kernel that takes and gives one value",
                "for several calls a round write a Python loop: for _ in range(n): …",
            )
        if n == 0:
            return empty(state) if empty else state
        fault = unmet(body.results[0], body.signature.inputs[0].contract)
        if n > 1 and fault:
            raise here(
                f"{body.name} cannot go on from what it gives: {fault}", "carry after each call, in a Python loop"
            )
        return self._noted(body, {body.signature.inputs[0].name: state}, n)

    def _noted(self, function: Function, given: Mapping[str, Any], times: int) -> Any:
        if function.file != self.file:
            raise here(
                f"{function.name} is a {function.noun} of another script: its routine stands in another file",
                "a program calls what its own script defines; define it here too",
            )
        args = []
        for parameter in function.signature.inputs:
            name = f"{parameter.name} of {function.name}"
            args.append(self.value(given[parameter.name], parameter.contract, name, function))
        results = tuple(Value(contract) for contract in function.results)
        self.known.update(results)
        self.calls.append(Call(function, tuple(args), results, times, caller()))
        return results if len(results) > 1 else results[0]

    def value(self, given: Any, wanted: Contract, name: str, function: Function | None = None) -> Value:
        """What is given where `wanted` is required; a plain number or list of limbs becomes a constant."""
        from asmgen.function import REQUIRE

        if not isinstance(given, Value):
            if isinstance(wanted, Table):
                raise here(f"{name} is no table of the program's own", "pass on a Table argument as it came")
            words = _memory(wanted, checked(wanted, given, name, caller(), REQUIRE))
            return self.constants.setdefault((wanted.kind, words), Value(wanted, "", words))
        if given not in self.known and given.constant is None:
            raise here(f"{name} is a value of another program", "pass it as an argument")
        if fault := unmet(given.contract, wanted):
            hint = REQUIRE if isinstance(wanted, Element) else f"it takes {wanted.kind}"
            raise AsmgenError(f"{name}: {fault}", source=caller() or (function.source if function else None), hint=hint)
        return given


def _memory(contract: Contract, value: Any) -> tuple[int, ...]:
    """A plain value's 64-bit words as they stand in memory, or the one number."""
    if isinstance(contract, Element):
        return tuple(int(limb) for limb in value)
    if isinstance(contract, Bytes):
        text = int(value.value).to_bytes(contract.length, contract.order)
        return tuple(int.from_bytes(text[at : at + 8], "little") for at in range(0, len(text), 8))
    return (int(value),)


def unmet(given: Contract, wanted: Contract, verb: str = "allowed") -> str | None:
    """What of `wanted` a value need not meet that is only known to meet `given`; None when it meets all of it.

    `verb` says what `wanted` does with its bounds: "allowed" or "promised".
    """
    if isinstance(given, Element) and isinstance(wanted, Element):
        return _element_unmet(given, wanted, verb)
    if isinstance(given, (Element, Bytes, Table)) or isinstance(wanted, (Element, Bytes, Table)):
        if isinstance(given, Table) and isinstance(wanted, Table) and given.count == wanted.count:
            return _element_unmet(given.element, wanted.element, verb)
        return None if given == wanted else f"this is {_described(given)}, {_described(wanted)} is needed"
    if isinstance(wanted, CountContract) and not isinstance(given, CountContract):
        return "how often something is done must be public, this is a secret number"
    if given.value_max > wanted.value_max:
        return _too_large("the number", given.value_max, wanted.value_max, verb)
    return None


def _described(contract: Contract) -> str:
    if isinstance(contract, Bytes):
        return f"a string of {contract.length} bytes, {contract.order} endian"
    if isinstance(contract, Table):
        return f"a table of {contract.count} elements"
    if isinstance(contract, Element):
        return "an element"
    return "a bit" if isinstance(contract, BitContract) else "a number"


def _element_unmet(given: Element, wanted: Element, verb: str) -> str | None:
    mine, theirs = given.field, wanted.field
    if (mine.modulus, mine.limbs, mine.montgomery) != (theirs.modulus, theirs.limbs, theirs.montgomery):
        return f"different fields are mixed: this is an element of {form(mine)}, one of {form(theirs)} is needed"
    if given.multiple_of != wanted.multiple_of:
        return f"the limbs are multiples of {given.multiple_of}, multiples of {wanted.multiple_of} are needed"
    for index, (most, allowed) in enumerate(zip(given.limb_max, wanted.limb_max, strict=True)):
        if most > allowed:
            return _too_large(f"limb {index}", most, allowed, verb)
    if given.value_max > wanted.value_max:
        return _too_large("the value", given.value_max, wanted.value_max, verb)
    return None


def _too_large(what: str, reached: int, most: int, verb: str) -> str:
    high, allowed = sizes(reached, most)
    return f"{what} may reach {high}, {verb} is at most {allowed}"
