"""What a kernel is, as plain data: for `list --json` and whoever reads that."""

from __future__ import annotations

from typing import Any

from asmgen.contracts import Bytes, Contract, Element, Parameter, Table, elements
from asmgen.function import Function
from asmgen.passes import FEATURES


def describe(kernel: Function) -> dict[str, Any]:
    """One object of `list --json`; numbers that may pass 2^53 are hexadecimal text.

    `features` has, for each target, the names that `--features` takes there and the CPU features each may use.
    """
    signature = kernel.signature
    element = next(elements(signature.parameters), None)
    outputs = [_result(parameter.contract) for parameter in signature.outputs]
    return {
        "script": signature.script,
        "kernel": signature.kernel,
        "symbol": signature.symbol,
        "targets": list(FEATURES),
        "modulus": hex(element.field.modulus) if element else None,
        "limbs": list(element.field.limbs) if element else [],
        "montgomery": _montgomery(signature.parameters),
        "params": [_parameter(parameter) for parameter in signature.inputs],
        "result": outputs[0] if outputs else None,
        **({"results": outputs} if len(outputs) > 1 else {}),
        "returns": "bit" if signature.returns_bit else None,
        "features": {
            target: {name: sorted(sets) for name, sets in known.items()} for target, known in FEATURES.items()
        },
    }


def _montgomery(parameters: tuple[Parameter, ...]) -> str | None:
    fields = [element.field for element in elements(parameters)]
    return next((hex(field.montgomery) for field in fields if field.montgomery is not None), None)


def _parameter(parameter: Parameter) -> dict[str, Any]:
    contract = parameter.contract
    return {"name": parameter.name, "kind": contract.kind, **_bounds(contract)}


def _result(contract: Contract) -> dict[str, Any]:
    return {"kind": contract.kind, **_bounds(contract)}


def _bounds(contract: Contract) -> dict[str, Any]:
    if isinstance(contract, Element):
        made: dict[str, Any] = {
            "limb_max": [hex(most) for most in contract.limb_max],
            "value_max": hex(contract.value_max),
        }
        if contract.multiple_of != 1:
            made["multiple_of"] = hex(contract.multiple_of)
        return made
    if isinstance(contract, Table):
        return {"count": contract.count, **_bounds(contract.element)}
    if isinstance(contract, Bytes):
        return {"length": contract.length, "order": contract.order}
    return {"value_max": hex(contract.value_max)} if contract.kind == "small" else {}
