"""A rough count of cycles, for choosing between schedules that are equally long."""

from __future__ import annotations

from asmgen.routine import Code
from asmgen.targets.cores import Core
from asmgen.targets.row import Instruction


def cycles(code: Code, core: Core) -> int:
    """Cycles of one pass through the instructions in order, each waiting for its operands, `issue_width` a cycle at
    most."""
    ready: dict[str, int] = {}
    cycle = issued = last = 0
    for item in code.items:
        if not isinstance(item, Instruction):
            continue
        start = cycle
        for name in (*[register.name for register in item.read], *item.row.reads):
            start = max(start, ready.get(name, 0))
        if start > cycle:
            cycle, issued = start, 0
        done = cycle + core.latency.get(item.row.cost, 1)
        last = max(last, done)
        for name in (*[register.name for register in item.written], *item.row.flags_touched):
            ready[name] = done
        issued += 1
        if issued == core.issue_width:
            cycle, issued = cycle + 1, 0
    return last
