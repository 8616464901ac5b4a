"""Any stage of a kernel as text, for people: `asmgen show KERNEL --after PASS`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from asmgen.contracts import Parameter
from asmgen.emit.prose import bound
from asmgen.errors import Source
from asmgen.nodes import LoopNode, Node, Traced, ordered
from asmgen.polynomial import Interval
from asmgen.promises import size
from asmgen.routine import Allocated, Code, Loop, Part, Routine, Straight
from asmgen.steps import Steps, Value
from asmgen.targets.row import Instruction, Label, Register, Virtual
from asmgen.words import MASK, LoopOp, Op, Program, Term, Word

Line = tuple[str, str, Source | None]  #: text, what is known beside it, script line


def show(stage: Traced | Steps | Program | Routine | Allocated | Code) -> str:
    """The stage, one step a line, with what is known of it and the script line it comes from."""
    if isinstance(stage, Traced):
        lines = list(_values(stage))
    elif isinstance(stage, Steps):
        lines = list(_calls(stage))
    elif isinstance(stage, Program):
        lines = list(_words(stage.ops))
    elif isinstance(stage, Routine):
        lines = [line for part in stage.parts for line in _part(part, stage)]
    else:
        lines = list(_items(stage))
    return _columns(lines)


def _columns(lines: Sequence[Line]) -> str:
    """Text, knowledge and script line in columns; a script line is named where it changes."""
    left = min(max((len(text) for text, _, _ in lines), default=0), 60)
    middle = min(max((len(known) for _, known, _ in lines), default=0), 60)
    result = []
    before: Source | None = None
    for text, known, source in lines:
        script = f"{source.line}: {source.text}" if source is not None and source != before else ""
        before = source or before
        result.append(f"{text:{left}}  {known:{middle}}  {script}".rstrip())
    return "\n".join(result) + "\n"


# ---- values ----


def _label(node: Node) -> str:
    if node.op == "const":
        return str(node.data) if abs(node.data) < 1000 else size(node.data)
    return node.name or f"v{node.serial}"


def _values(traced: Traced) -> Iterator[Line]:
    roots = [node for output in traced.outputs for node in output]
    if traced.returns is not None:
        roots.append(traced.returns)
    yield from _nodes(roots, "")
    for parameter, nodes in zip(traced.signature.outputs, traced.outputs, strict=True):
        yield f"{parameter.name} = {', '.join(map(_label, nodes))}", "", None
    if traced.returns is not None:
        yield f"return {_label(traced.returns)}", "", None


def _nodes(roots: Sequence[Node], indent: str) -> Iterator[Line]:
    loops: set[int] = set()
    for node in ordered(roots):
        if node.op == "const":
            continue
        if node.op == "result":
            loop: LoopNode = node.data[0]
            if loop.id not in loops:
                loops.add(loop.id)
                yield f"{indent}repeat {_label(loop.count)} times:", "", loop.source
                yield from _nodes(loop.next, indent + "    ")
                yield f"{indent}    next: {', '.join(map(_label, loop.next))}", "", loop.source
                yield f"{indent}    for no pass: {', '.join(map(_label, loop.empty))}", "", loop.source
        yield f"{indent}{_label(node)} = {_formula(node)}", _bounds(node.interval), node.source


def _formula(node: Node) -> str:
    args = [_label(arg) for arg in node.args]
    match node.op:
        case "add" | "sub" | "mul":
            return f"{args[0]} {dict(add='+', sub='-', mul='*')[node.op]} {args[1]}"
        case "shl":
            return f"{args[0]} << {node.data}"
        case "low":
            return f"{args[0]} mod 2^{node.data}"
        case "high":
            return f"floor({args[0]} / 2^{node.data})"
        case "divide":
            return f"{args[0]} / 2^{node.data}, exactly"
        case "select":
            return f"{args[1]} if {args[0]} else {args[2]}"
        case "reduce":
            return f"{args[0]} - m if {args[0]} >= m, m = {node.data:#x}"
        case "at_least":
            return f"[{args[0]} >= {node.data:#x}]"
        case "is_zero":
            return f"[{args[0]} = 0]"
        case "limb":
            return f"{node.data[0]}[{node.data[1]}]"
        case "result":
            return f"result {node.data[1]} of the loop"
    return " ".join([node.op, *args])


def _bounds(interval: Interval) -> str:
    return f"{size(interval.low)} .. {size(interval.high)}"


# ---- calls ----


def _calls(steps: Steps) -> Iterator[Line]:
    """A program's calls, each value with its contract."""
    names = {value: value.name for value in steps.inputs}
    for value in steps.inputs:
        yield value.name, _contract(value), None
    for call in steps.calls:
        for value in call.results:
            names[value] = value.name or f"v{len(names)}"
        args = ", ".join(_named(value, names) for value in call.args)
        times = f", {call.times} times over" if call.times > 1 else ""
        known = "; ".join(dict.fromkeys(map(_contract, call.results)))
        yield (
            f"{', '.join(names[value] for value in call.results)} = {call.function.name}({args}){times}",
            known,
            call.source,
        )
    for parameter, value in zip(steps.signature.outputs, steps.outputs, strict=True):
        yield f"{parameter.name} = {_named(value, names)}", "", None
    if steps.returns is not None:
        yield f"return {_named(steps.returns, names)}", "", None


def _contract(value: Value) -> str:
    return bound(Parameter("", value.contract))


def _named(value: Value, names: Mapping[Value, str]) -> str:
    if value.constant is not None:
        words = ", ".join(map(_term, value.constant))
        return f"[{words}]" if value.in_memory else words
    return names[value]


# ---- words ----


def _term(term: object) -> str:
    return hex(term) if isinstance(term, int) and term > 999 else str(term)


def _words(ops: Sequence[Op | LoopOp], indent: str = "") -> Iterator[Line]:
    for op in ops:
        if isinstance(op, LoopOp):
            yield f"{indent}repeat {_term(op.count)} times:", "", op.source
            yield f"{indent}    state {_pairs(op.state, op.initial)}", "", op.source
            yield from _words(op.body, indent + "    ")
            yield f"{indent}    next {', '.join(map(_term, op.next))}", "", op.source
            yield f"{indent}for no pass:", "", op.source
            yield from _words(op.empty, indent + "    ")
            yield f"{indent}results {_pairs(op.results, op.empty_values)}", "", op.source
            continue
        outs = ", ".join("-" if out is None else str(out) for out in op.outs)
        place = f" {op.place[0]}[{op.place[1]}]" if op.place else ""
        shift = f", {op.k}" if op.k else ""
        text = f"{op.kind}{place} {', '.join(map(_term, op.ins))}{shift}".rstrip()
        known = "; ".join(f"{out} <= {size(out.most)}" for out in op.outs if isinstance(out, Word) and out.most < MASK)
        yield f"{indent}{outs} = {text}" if outs else f"{indent}{text}", known, op.source


def _pairs(names: Sequence[Term], values: Sequence[Term]) -> str:
    return ", ".join(f"{name} from {_term(value)}" for name, value in zip(names, values, strict=True))


# ---- instructions on virtual registers ----


def _part(part: Part, routine: Routine, indent: str = "    ") -> Iterator[Line]:
    if isinstance(part, Straight):
        yield from _straight(part, routine, indent)
    elif isinstance(part, Loop):
        yield f"{indent}repeat {part.count} times, {_moves(part.state, part.initial)}:", "", None
        yield from _straight(part.body, routine, indent + "    ")
        yield f"{indent}    {_moves(part.state, part.next)}", "", None
    else:
        yield f"{indent}if {part.count} is not 0:", "", None
        for inner in part.then:
            yield from _part(inner, routine, indent + "    ")
        yield f"{indent}    {_moves(part.result, part.then_values)}", "", None
        yield f"{indent}else:", "", None
        for inner in part.otherwise:
            yield from _part(inner, routine, indent + "    ")
        yield f"{indent}    {_moves(part.result, part.otherwise_values)}", "", None


def _moves(names: Sequence[Virtual], values: Sequence[Virtual]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in zip(names, values, strict=True))


def _straight(part: Straight, routine: Routine, indent: str) -> Iterator[Line]:
    """Instructions with the number of values alive after each (input words and constants, which can be made again,
    aside)."""
    last: dict[Register | Virtual, int] = {}
    for index, instruction in enumerate(part.instructions):
        last.update(dict.fromkeys(instruction.read, index))
    live: set[Register | Virtual] = set()
    for index, instruction in enumerate(part.instructions):
        live |= {value for value in instruction.written if last.get(value, -1) > index}
        live = {value for value in live if last[value] > index}
        yield f"{indent}{instruction.row.text(instruction.operands)}", f"{len(live)} live", instruction.source


# ---- instructions on machine registers ----


def _items(stage: Allocated | Code) -> Iterator[Line]:
    for index, item in enumerate(stage.items):
        holds: Mapping[Register, str] = stage.holds[index] if index < len(stage.holds) else {}
        if isinstance(item, Label):
            yield f"{item.name}:", "", None
        elif isinstance(item, Instruction):
            made = ", ".join(
                f"{register.name} = {holds[register]}"
                for register in dict.fromkeys(item.written)
                if isinstance(register, Register) and register in holds
            )
            known = f"{len(holds):2} live  {made}".rstrip() if stage.holds else ""
            yield f"    {item.row.text(item.operands)}", known, item.source
        else:
            yield f"    {item.text}", "", None
