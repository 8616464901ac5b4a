"""What `asmgen chain` prints: the chain of an exponent, or of a program that raises its argument to a power."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

from asmgen.chains import best, record, record_text, searching
from asmgen.errors import AsmgenError, UsageError
from asmgen.files import write
from asmgen.program import Program
from asmgen.scripts import find
from asmgen.steps import Value

_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}  # fmt: skip
_MOST_BITS = 4096


def text(what: str) -> str:
    """Counts and statements; a program's own counts come before those that the search finds for its exponent."""
    exponent, lines = parsed(what), []
    if exponent is None:
        (function,) = _one(what)
        exponent, squarings, multiplications = raised(function)
        lines.append(f"{function.signature.symbol}: {squarings} squarings, {multiplications} multiplications")
    found = best(exponent)
    lines += [f"x^{exponent:#x}", f"{found.counts}, {found.squarings + found.multiplications} in all", ""]
    return "\n".join([*lines, *found.lines()])


def recorded() -> str:
    """Search for the chains of all shipped programs, and write them where builds look; says what was done."""
    with searching() as found:
        for function in find():
            if isinstance(function, Program):
                _ = function.steps
    ((path, _),) = write({record().name: record_text(found)}, record().parent)
    return f"{path}: {len(found)} chains"


def _one(what: str) -> list[Program]:
    found = find([what])
    programs = [each for each in found if isinstance(each, Program)]
    if len(found) != 1 or not programs:
        raise UsageError(
            f"{what} is no program", hint="name one program, such as curve25519_5x51.invert, or give an exponent"
        )
    return programs


def parsed(text: str) -> int | None:
    """The exponent that a text of numbers, parentheses and + - * // ** says; None when it is none."""
    try:
        tree = ast.parse(text, mode="eval").body
        value = _value(tree)
    except (SyntaxError, ValueError, ZeroDivisionError):
        return None
    if not 1 <= value < 1 << _MOST_BITS:
        raise UsageError(f"the exponent {text} is not between 1 and 2**{_MOST_BITS}", hint="give another one")
    return value


def _value(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _value(node.left), _value(node.right)
        if isinstance(node.op, ast.Pow) and not (0 <= right and left.bit_length() * right <= 2 * _MOST_BITS):
            raise UsageError("this exponent is too large to write down", hint=f"at most 2**{_MOST_BITS}")
        return _OPERATORS[type(node.op)](left, right)
    raise ValueError


def raised(program: Program) -> tuple[int, int, int]:
    """The power that a program of mul, sqr and square_n raises its one argument to, its squarings and its
    multiplications; AsmgenError for one that does something else."""
    if len(program.steps.inputs) != 1 or len(program.steps.outputs) != 1 or program.steps.returns is not None:
        raise _no_power(program)
    exponents: dict[Value, int] = {program.steps.inputs[0]: 1}
    squarings = multiplications = 0
    for call in program.steps.calls:
        given = [exponents.get(value) for value in call.args if value.in_memory]
        if None in given or len(call.results) != 1:
            raise _no_power(program)
        powers = [each for each in given if each is not None]
        name, function = call.function.name, call.function
        if name == "mul" and len(powers) == 2 and call.times == 1:
            made, squared, multiplied = sum(powers), 0, 1
        elif name == "sqr" and len(powers) == 1:
            made, squared, multiplied = powers[0] << call.times, call.times, 0
        elif name == "square_n" and call.args[1].constant is not None and call.times == 1:
            made, squared, multiplied = powers[0] << call.args[1].constant[0], call.args[1].constant[0], 0
        elif isinstance(function, Program) and call.times == 1:
            power, squared, multiplied = raised(function)
            made = powers[0] * power
        else:
            raise _no_power(program)
        exponents[call.results[0]] = made
        squarings, multiplications = squarings + squared, multiplications + multiplied
    found = exponents.get(program.steps.outputs[0])
    if found is None:
        raise _no_power(program)
    return found, squarings, multiplications


def _no_power(program: Program) -> AsmgenError:
    return AsmgenError(
        f"{program.name} is no power of one argument",
        source=program.source,
        hint="name a program that calls mul, sqr and square_n alone, or give an exponent",
    )
