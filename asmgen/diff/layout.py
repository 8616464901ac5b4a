"""`--layout`: how somebody's function takes what the kernel takes, in its own order and limbs.

out, b, a            the kernel's arguments by name, in the order of the function
out:4x64, a:4x64     elements in four limbs of 64 bits; 10x25.5 alternates 26 and 25
out, a, 5            a constant where the function wants one
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from asmgen.contracts import Element, Parameter, Signature
from asmgen.diff.calls import cut
from asmgen.diff.thunk import Argument
from asmgen.errors import UsageError, nearest
from asmgen.field import Field
from emulate.inputs import Input

_FORM = re.compile(r"(\d+)x(\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class Layout:
    """The function as the kernel's, with its own limbs, and the arguments that it is passed."""

    signature: Signature
    arguments: tuple[Argument, ...]

    def inputs(self, kernel: Signature, values: Sequence[Input]) -> tuple[Input, ...]:
        """The kernel's inputs as the function takes them: the same residues."""
        return tuple(
            _converted(mine, theirs, value)
            for mine, theirs, value in zip(kernel.inputs, self.signature.inputs, values, strict=True)
        )


def parse(text: str, kernel: Signature) -> Layout:
    """Read `--layout`; UsageError for what it does not say or says twice."""
    names = [parameter.name for parameter in kernel.parameters]
    forms: dict[str, tuple[int, ...]] = {}
    arguments: list[Argument] = []
    for word in (each.strip() for each in text.split(",")):
        name, _, form = word.partition(":")
        if re.fullmatch(r"0[xX][0-9a-fA-F]+|\d+", name) and not form:
            if int(name, 0) >= 1 << 32:
                raise UsageError(f"{name} in --layout is not below 2^32", hint="smaller constants only")
            arguments.append((int(name, 0),))
            continue
        if name not in names:
            close = nearest(name, names)
            hint = f"did you mean {close}?" if close else f"{kernel.kernel} has {', '.join(names)}"
            raise UsageError(f"--layout names {name or 'nothing'}, which is no argument of {kernel.kernel}", hint=hint)
        if names.index(name) in arguments:
            raise UsageError(f"--layout names {name} twice", hint="each argument once")
        arguments.append(names.index(name))
        if form:
            forms[name] = _widths(form)
    lacking = [name for index, name in enumerate(names) if index not in arguments]
    if lacking:
        raise UsageError(f"--layout leaves out {', '.join(lacking)}", hint=f"all of {', '.join(names)}, in its order")

    def changed(parameter: Parameter, *, output: bool) -> Parameter:
        if parameter.name not in forms:
            return parameter
        return Parameter(parameter.name, _contract(parameter, forms[parameter.name], output=output))

    signature = replace(
        kernel,
        outputs=tuple(changed(each, output=True) for each in kernel.outputs),
        inputs=tuple(changed(each, output=False) for each in kernel.inputs),
    )
    return Layout(signature, tuple(arguments))


def _widths(form: str) -> tuple[int, ...]:
    found = _FORM.fullmatch(form)
    if found is None or not 1 <= int(found[1]) <= 64 or not 1 <= float(found[2]) <= 64:
        raise UsageError(f"{form} in --layout is no form of limbs", hint="COUNTxBITS, such as 4x64, 5x51 or 10x25.5")
    count, bits = int(found[1]), float(found[2])
    places = [math.ceil(bits * index) for index in range(count + 1)]
    return tuple(after - before for before, after in zip(places, places[1:], strict=False))


def _contract(parameter: Parameter, widths: tuple[int, ...], *, output: bool) -> Element:
    contract = parameter.contract
    if not isinstance(contract, Element):
        raise UsageError(f"{parameter.name} is no element: it has no limbs", hint="a form is for elements alone")
    if sum(widths) < contract.field.modulus.bit_length():
        raise UsageError(
            f"{len(widths)} limbs hold {sum(widths)} bits, the modulus has {contract.field.modulus.bit_length()}",
            hint="more or wider limbs",
        )
    field: Field = replace(contract.field, limbs=widths)
    if output:
        return field.limbs_below(2**64)
    return field.below(min(contract.value_max // contract.multiple_of + 1, 1 << sum(widths)))


def _converted(mine: Parameter, theirs: Parameter, value: Input) -> Input:
    if mine.contract == theirs.contract:
        return value
    assert isinstance(mine.contract, Element) and isinstance(theirs.contract, Element) and isinstance(value, tuple)
    number = mine.contract.value(value) // mine.contract.multiple_of
    if number > theirs.contract.value_max:
        number %= mine.contract.field.modulus
    return cut(theirs.contract, number)
