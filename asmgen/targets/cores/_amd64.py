"""What the tables of amd64 cores have in common: memory operands cost the operation's own units and those of memory.

A latency counts from register operands and flags. Addresses are there early in our routines, so that out-of-order cores
have loaded the memory operand of an `…_load` or `…_store` class by the time the other operand comes.
"""

from __future__ import annotations

from collections.abc import Mapping

from asmgen.targets.cores import Choice, Core

_WITH_LOAD = ("alu", "adc", "adx", "mul", "mulx", "imul", "shift", "bzhi", "cmov", "cmov_two")
_WITH_STORE = ("alu", "adc")

#: Micro-operations that a class takes, and their latency together.
Cost = tuple[int, tuple[Choice, ...]]


def table(
    name: str,
    *,
    issue_width: int,
    costs: Mapping[str, Cost],
    load: Cost,
    store: tuple[Choice, ...],
    busy: Mapping[str, int] | None = None,
) -> Core:
    """A core from the costs of the classes without memory, those of a load, and the micro-operations of a store."""
    (wait, loading), (swap, swapping) = load, costs["bswap"]
    whole = {
        **costs,
        "load": load,
        "store": (1, store),
        "push": (1, store),
        "pop": load,
        "movbe_load": (wait + swap, (*loading, *swapping)),
        "movbe_store": (1, (*store, *swapping)),
        "call": (1, (*costs["jump"][1], *store)),
        "ret": (1, (*costs["jump"][1], *loading)),
        **{f"{name}_load": (costs[name][0], (*costs[name][1], *loading)) for name in _WITH_LOAD},
        **{f"{name}_store": (costs[name][0], (*costs[name][1], *loading, *store)) for name in _WITH_STORE},
    }
    taken = dict(busy or {})
    taken |= {f"{name}_load": taken[name] for name in _WITH_LOAD if name in taken}
    return Core(
        name=name,
        target="amd64",
        issue_width=issue_width,
        latency={name: latency for name, (latency, _) in whole.items()},
        ports={name: ports for name, (_, ports) in whole.items()},
        busy=taken,
    )
