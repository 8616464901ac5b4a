"""Statements of C for the operations of a word program: with 128-bit numbers where `wide` finds them, or without."""

from __future__ import annotations

import re
from collections.abc import Sequence

from asmgen.contracts import Bytes, Signature
from asmgen.emit import prose
from asmgen.emit.c_demand import Demand, demand, readers
from asmgen.emit.c_helpers import HELPERS
from asmgen.emit.names import Namer, c_name
from asmgen.emit.wide import NONE, Joined, Product, Shifted, Wide, group
from asmgen.words import Bit, LoopOp, Op, Program, Term, Word

_WIDTH = 110
_INFIX = {"and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}


def constant(value: int, *, plain: bool = True) -> str:
    """A constant of 64 bits; a small one as plain digits where what stands beside it has 64 bits anyway."""
    return str(value) if plain and value < 1024 else f"UINT64_C({value:#x})"


def body(program: Program, *, wide: bool) -> tuple[list[str], set[str]]:
    """The lines between the braces, and the helpers that they call."""
    writer = _Writer(program.signature, wide)
    writer.function(program)
    return writer.lines, writer.helpers


class _Writer:
    """One function's statements as they are written: names given so far, lines, helpers called."""

    def __init__(self, signature: Signature, wide: bool) -> None:
        self.signature = signature
        self.wide = wide
        self.lines: list[str] = []
        self.helpers: set[str] = set()
        self.depth = 1
        self.text: dict[Word | Bit | Wide, str] = {}
        self.groups = NONE
        self.demand = Demand()
        self.shown = ""
        self.bytes = {p.name: p.contract for p in signature.parameters if isinstance(p.contract, Bytes)}
        self.names = Namer(frozenset({*HELPERS, *(c_name(p.name) for p in signature.parameters)}))
        self.uses: dict[Word | Bit, int] = {}

    # ---- lines ----

    def line(self, text: str) -> None:
        """One statement, cut before operators where it is too long."""
        indent = "    " * self.depth
        while len(indent) + len(text) > _WIDTH:
            cut = max(text.rfind(f" {sign} ", 24, _WIDTH - len(indent)) for sign in "+-|&?")
            if cut < 0:
                break
            self.lines.append(indent + text[:cut])
            text = "    " + text[cut + 1 :]
        self.lines.append(indent + text)

    def remark(self, op: Op | LoopOp) -> None:
        """The script line, where it changes."""
        line = prose.script_line(op.source.text) if op.source else ""
        if line and line != self.shown:
            self.shown = line
            self.lines.append("    " * self.depth + f"/* {line} */")

    def define(self, value: Word | Bit, text: str, wish: str = "") -> None:
        name = self.names.give(wish or _wish(value))
        self.line(f"const uint64_t {name} = {text};")
        self.text[value] = name

    # ---- the function ----

    def function(self, program: Program) -> None:
        self.uses = readers(program)
        stores = [op for op in program.ops if isinstance(op, Op) and op.kind == "store"]
        rest = [op for op in program.ops if not (isinstance(op, Op) and op.kind == "store")]
        outside = [op.ins[0] for op in stores]
        if program.returns is not None:
            outside.append(program.returns)
        self.region(rest, outside)
        for op in stores:  # after everything is read: outputs may be the inputs' buffers
            self.store(op)
        if program.returns is not None:
            self.line(f"return {self.term(program.returns)};")
        named = set(re.findall(r"\w+", "\n".join(self.lines)))
        unused = [c_name(p.name) for p in self.signature.parameters if c_name(p.name) not in named]
        self.lines[:0] = [f"    (void){name};" for name in unused]

    def region(self, ops: Sequence[Op | LoopOp], outside: Sequence[Term | Bit]) -> None:
        """The statements of `ops`, as far as the values `outside` rest on them."""
        before = self.demand
        if self.wide:
            self.groups = self.groups.joined(group(ops, self.uses))
        self.demand = demand(ops, outside, self.groups)
        for op in ops:
            if isinstance(op, LoopOp):
                if any(self.demand.live(word) for word in op.results):
                    self.loop(op)
            elif op in self.groups.wides:
                self.wide_number(op)
            elif op not in self.groups.followers and any(self.demand.live(out) for out in op.outs):
                self.remark(op)
                self.statement(op)
        self.demand = before

    # ---- values ----

    def term(self, term: Term | Bit) -> str:
        """A value as an operand."""
        if isinstance(term, int):
            return constant(term)
        if term not in self.text and isinstance(term, Word) and term in self.groups.narrow:
            return self.slice(term)
        return self.text[term]

    def slice(self, word: Word) -> str:
        wide, k = self.groups.narrow[word]
        name = self.text[wide]
        return f"(uint64_t)({name} >> {k})" if k else f"(uint64_t){name}"

    def call(self, helper: str, *arguments: str) -> str:
        self.helpers.add(helper)
        return f"{helper}({', '.join(arguments)})"

    def wide_number(self, op: Op) -> None:
        wide = self.groups.wides[op]
        if (wide in self.demand.terms or wide in self.demand.others) and not self.demand.inline(wide):
            self.remark(op)
            name = self.names.give("t")
            self.line(f"const u128 {name} = {self.sum(wide)};")
            self.text[wide] = name
        for word in op.outs[:1]:
            if isinstance(word, Word) and self.demand.values.get(word, 0) > 1:
                self.define(word, self.slice(word))
        highs = [word for word, at in self.groups.narrow.items() if at == (wide, 64)]
        for word in highs:
            if self.demand.values.get(word, 0) > 1:
                self.define(word, self.slice(word))

    def sum(self, wide: Wide) -> str:
        """A sum with a 128-bit term in front, so that all of it is computed in 128 bits."""
        terms = self.flat(wide, False)
        first = next((term for term in terms if term[1] and not term[0]), None)
        if first is None:
            first = next(term for term in terms if not term[0])
            head = f"(u128){first[2]}"
        else:
            head = first[2]
        rest = list(terms)
        rest.remove(first)
        return head + "".join(f" {'-' if minus else '+'} {text}" for minus, _, text in rest)

    def flat(self, wide: Wide, minus: bool) -> list[tuple[bool, bool, str]]:
        """(subtracted, whether it has 128 bits, text) of each term; sums that stand nowhere else are taken in."""
        terms: list[tuple[bool, bool, str]] = []
        for subtracted, part in wide.terms:
            sign = subtracted != minus
            if isinstance(part, Wide) and self.demand.inline(part):
                terms += self.flat(part, sign)
            elif isinstance(part, (Word, int)):
                if part != 0:
                    terms.append((sign, False, self.term(part)))
            else:
                terms.append((sign, True, self.part(part)))
        return terms or [(False, False, "0")]

    def part(self, part: Product | Joined | Shifted | Wide) -> str:
        if isinstance(part, Wide):
            return self.text[part]
        if isinstance(part, Product):
            x, y = (part.y, part.x) if isinstance(part.x, int) else (part.x, part.y)
            return f"(u128){self.term(x)} * {self.term(y)}"
        if isinstance(part, Joined):
            return f"(((u128){self.term(part.high)} << 64) | {self.term(part.low)})"
        sign = f">> {part.k}" if part.k > 0 else f"<< {-part.k}"
        value = self.text[part.value] if isinstance(part.value, Wide) else f"(u128){self.term(part.value)}"
        return f"({value} {sign})"

    # ---- operations ----

    def statement(self, op: Op) -> None:
        out = next(out for out in op.outs if self.demand.live(out))
        assert out is not None
        if isinstance(out, Word) and out in self.groups.narrow:
            if self.demand.values[out] > 1:
                self.define(out, self.slice(out))
            return
        if op.kind == "mul":
            self.multiply(op)
        elif op.kind in ("add", "sub"):
            self.carry(op)
        elif op.kind == "word":
            self.text[out] = self.term(op.ins[0])
        elif op.kind == "scalar":
            assert op.place is not None
            self.text[out] = c_name(op.place[0])
        else:
            self.define(out, self.expression(op))

    def operands(self, op: Op) -> list[str]:
        """An operation's operands; one of them at least has 64 bits, and what is shifted has."""
        plain = op.kind not in ("shl", "shr", "funnel") and not all(isinstance(term, int) for term in op.ins[:2])
        return [constant(x, plain=plain) if isinstance(x, int) else self.term(x) for x in op.ins]

    def expression(self, op: Op) -> str:
        x = self.operands(op)
        match op.kind:
            case "load":
                return self.load(op)
            case "shl" | "shr":
                return f"{x[0]} {_INFIX[op.kind]} {op.k}"
            case "and" | "or" | "xor":
                return f"{x[0]} {_INFIX[op.kind]} {x[1]}"
            case "sar":
                return f"(uint64_t)((int64_t){x[0]} >> {op.k})"
            case "funnel":
                return f"({x[0]} << {64 - op.k}) | ({x[1]} >> {op.k})"
            case "select":
                return self.call("select_word", *x)
            case "mask":
                return self.call("mask_of", x[0])
            case "nonzero":
                return self.call("is_nonzero", x[0])
            case "flip":
                return f"1 - {x[0]}"
            case "swap":
                return self.call("swap_bytes", x[0])
        raise KeyError(f"no C for {op.kind}")

    def multiply(self, op: Op) -> None:
        low, high = op.outs[0], op.outs[1] if len(op.outs) > 1 else None
        x, y = self.operands(op)
        if not self.demand.live(high):
            assert low is not None
            self.define(low, f"{x} * {y}")
            return
        assert high is not None
        name = self.names.give("h")
        self.line(f"uint64_t {name};")
        self.text[high] = name
        product = self.call("multiply", x, y, f"&{name}")
        if self.demand.live(low):
            assert low is not None
            self.define(low, product)
        else:
            self.line(f"(void){product};")

    def carry(self, op: Op) -> None:
        out, carry = op.outs[0], op.outs[1] if len(op.outs) > 1 else None
        x = self.operands(op)
        if not self.demand.live(carry):
            assert out is not None
            self.define(out, f" {'+' if op.kind == 'add' else '-'} ".join(x))
            return
        assert carry is not None
        name = self.names.give("c")
        self.line(f"uint64_t {name};")
        self.text[carry] = name
        helper = "add_carry" if op.kind == "add" else "sub_borrow"
        text = self.call(helper, x[0], x[1], x[2] if len(x) > 2 else "0", f"&{name}")
        if self.demand.live(out):
            assert out is not None
            self.define(out, text)
        else:
            self.line(f"(void){text};")

    def load(self, op: Op) -> str:
        assert op.place is not None
        name, index = op.place
        if name not in self.bytes:
            return f"{c_name(name)}[{index}]"
        at = 8 * index + op.k
        length = min(8, self.bytes[name].length - at)
        return self.call("load_bytes", f"{c_name(name)} + {at}", str(length))

    def store(self, op: Op) -> None:
        assert op.place is not None
        name, index = op.place
        if name not in self.bytes:
            self.line(f"{c_name(name)}[{index}] = {self.term(op.ins[0])};")
            return
        at = 8 * index + op.k
        length = min(8, self.bytes[name].length - at)
        self.line(self.call("store_bytes", f"{c_name(name)} + {at}", str(length), self.term(op.ins[0])) + ";")

    # ---- loops ----

    def loop(self, loop: LoopOp) -> None:
        """State and results share variables; the count is public, so it may decide branches."""
        self.remark(loop)
        names = [self.names.give(_wish(word, "s")) for word in loop.state]
        for name in names:
            self.line(f"uint64_t {name};")
        count = self.term(loop.count)
        left = self.names.give("left")
        self.line(f"if ({count} != 0) {{")
        self.depth += 1
        self.line(f"uint64_t {left} = {count};")
        for name, term in zip(names, loop.initial, strict=True):
            self.line(f"{name} = {self.term(term)};")
        self.text.update(zip(loop.state, names, strict=True))
        self.line("do {")
        self.depth += 1
        self.region(loop.body, [*loop.next, *(term for term in loop.next if term in loop.state)])
        self.assign(names, loop)
        self.depth -= 1
        self.line(f"}} while (--{left} != 0);")
        self.depth -= 1
        self.line("} else {")
        self.depth += 1
        self.shown = ""
        self.region(loop.empty, loop.empty_values)
        for name, term in zip(names, loop.empty_values, strict=True):
            self.line(f"{name} = {self.term(term)};")
        self.depth -= 1
        self.line("}")
        self.shown = ""
        self.text.update(zip(loop.results, names, strict=True))
        for name, result in zip(names, loop.results, strict=True):
            if not self.demand.live(result):
                self.line(f"(void){name};")

    def assign(self, names: Sequence[str], loop: LoopOp) -> None:
        """The state of the next pass, all at once: what moves between state variables goes through names of its own."""
        texts = []
        for name, term in zip(names, loop.next, strict=True):
            text = self.term(term)
            if isinstance(term, Word) and term in loop.state and text != name:
                moved = self.names.give(f"{text}_old")
                self.line(f"const uint64_t {moved} = {text};")
                text = moved
            texts.append(text)
        for name, text in zip(names, texts, strict=True):
            if name != text:
                self.line(f"{name} = {text};")


def _wish(value: Word | Bit, default: str = "w") -> str:
    """A name that says what a value is: `a[3]` becomes a3."""
    name = re.sub(r"[^A-Za-z0-9_]", "", value.name) if isinstance(value, Word) else "c"
    return name if name and not name[0].isdigit() else default
