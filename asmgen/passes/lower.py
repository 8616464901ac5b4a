"""Exact integers to 64-bit words: carries follow from bounds, and are dropped only where bounds prove them zero.

A node proved in [0, 2^(64w)) is computed modulo 2^(64w): the higher words of its terms are never made. Which low
words of a node anyone needs is found first (`demand`), then operations are written in the order in which the script
made the nodes.
"""

from __future__ import annotations

from collections.abc import Sequence

from asmgen.contracts import Bytes, Signature
from asmgen.errors import AsmgenError
from asmgen.nodes import LoopNode, Node, Traced
from asmgen.passes.builder import Builder, Part
from asmgen.passes.demand import demand, reach, words_for
from asmgen.polynomial import point
from asmgen.words import MASK, LoopOp, Op, Program, Term, Word


def lower(traced: Traced) -> Program:
    """The word program of a traced kernel."""
    return _Lowering(traced).program()


class _Lowering:
    def __init__(self, traced: Traced) -> None:
        self.traced = traced
        self.signature: Signature = traced.signature
        self.build = Builder()
        self.known: dict[Node, list[Part]] = {}
        self.need: dict[Node, int] = {}
        self.uses: dict[Node, int] = {}
        self.loops: dict[int, LoopOp] = {}
        self.rows: set[Node] = set()  #: products that are added to a sum row by row
        self.vanishing: dict[Node, int] = {}  #: of nodes that are only divided: the low words that are zero by proof
        self.stored_bytes = {p.name: p.contract for p in self.signature.outputs if isinstance(p.contract, Bytes)}
        self.loaded_bytes = {p.name: p.contract for p in self.signature.inputs if isinstance(p.contract, Bytes)}

    def program(self) -> Program:
        roots = [node for output in self.traced.outputs for node in output]
        if self.traced.returns is not None:
            roots.append(self.traced.returns)
        self.region(roots)
        for parameter, nodes in zip(self.signature.outputs, self.traced.outputs, strict=True):
            self.store(parameter.name, nodes)
        returns = None if self.traced.returns is None else self.word(self.traced.returns)
        return Program(self.signature, self.build.finish(returns), returns)

    def store(self, name: str, nodes: Sequence[Node]) -> None:
        """Every output is stored at the end, after all inputs have been read: outputs may be the inputs' buffers."""
        contract = self.stored_bytes.get(name)
        if contract is None:
            for index, node in enumerate(nodes):
                self.build.store(name, index, self.word(node))
            return
        parts = self.words(nodes[0], -(-contract.length // 8))
        rest = contract.length % 8
        if rest and len(parts) > 1:
            # The last bytes go along with those before them, some of which are written a second time.
            parts[-1] = self.build.shift_right(parts[-2:], 8 * rest, signed=False)[0]
        for index, part in enumerate(parts):
            place, k = divmod(self.byte_place(contract, index), 8)
            word = self.build.as_word(part)
            self.build.store(name, place, self.swapped(contract, word), k)

    @staticmethod
    def byte_place(contract: Bytes, index: int) -> int:
        """Where the eight bytes of word `index` of a number begin; the last word's, where it is no whole one, end or
        begin with the string."""
        first = 8 * index if contract.order == "little" else contract.length - 8 * (index + 1)
        return min(max(first, 0), max(contract.length - 8, 0))

    def swapped(self, contract: Bytes, word: Term) -> Term:
        """A word of a byte string's number as it stands in memory, or the other way round."""
        if contract.order == "little":
            return word
        if isinstance(word, int):
            word = int.from_bytes(word.to_bytes(8, "little"), "big")
        else:
            word = self.build.op("swap", word)
        short = 8 * contract.length
        return word if short >= 64 else self.build.as_word(self.build.shift_right([word], 64 - short, signed=False)[0])

    def region(self, roots: Sequence[Node]) -> None:
        """Lower all that the roots need, in the order of the script."""
        outer = [node for node in reach(roots) if node not in self.known]
        for node, count in demand((root, words_for(root.interval)) for root in roots).items():
            self.need[node] = max(self.need.get(node, 0), count)
        for node in outer:
            for arg in node.args:
                self.uses[arg] = self.uses.get(arg, 0) + 1
        for root in roots:
            self.uses[root] = self.uses.get(root, 0) + 1
        self.rows |= self.fused(outer)
        for node in outer:
            if node.op == "divide" and node.data >= 64 and self.uses[node.args[0]] == 1:
                self.vanishing[node.args[0]] = node.data // 64
        for node in outer:
            if node not in self.rows and node not in self.known and self.need.get(node, 0):
                self.lower(node)

    def fused(self, nodes: Sequence[Node]) -> set[Node]:
        """Products that only one sum needs: their rows are added to the sum one by one, never materialized."""
        found: set[Node] = set()
        for node in nodes:
            if node.op in ("add", "sub"):
                for arg in reversed(node.args if node.op == "add" else node.args[1:]):
                    if arg.op == "mul" and self.uses[arg] == 1 and arg not in self.known and self.is_rows(arg):
                        found.add(arg)
                        break
        return found

    def is_rows(self, node: Node) -> bool:
        """Whether a product is better added row by row: more than one word comes of it, no operand is negative, and
        it is no square (whose doubled cross products are summed first)."""
        x, y = node.args
        return x is not y and self.need[node] > 1 and x.interval.low >= 0 and y.interval.low >= 0

    # ---- one node ----

    def lower(self, node: Node) -> None:
        self.build.source = node.source
        self.build.name = node.name
        method = getattr(self, f"lower_{node.op}")
        parts: list[Part] = method(node)
        count = self.need.get(node, 1)
        self.known[node] = parts[:count] + [0] * (count - len(parts))

    def words(self, node: Node, count: int) -> list[Part]:
        """The low `count` words of a node, sign extended if it is narrower."""
        if node.op == "const":
            return [(int(node.data) >> (64 * index)) & MASK for index in range(count)]
        if node not in self.known:
            self.lower(node)
        parts = list(self.known[node][:count])
        if len(parts) < count:
            fill: Part = 0
            if node.interval.low < 0:
                fill = self.build.op("sar", self.build.as_word(parts[-1]), k=63)
            parts += [fill] * (count - len(parts))
        return parts

    def word(self, node: Node) -> Term:
        return self.build.as_word(self.words(node, 1)[0])

    def lower_const(self, node: Node) -> list[Part]:
        return self.words(node, self.need.get(node, 1))

    def lower_limb(self, node: Node) -> list[Part]:
        name, index = node.data
        contract = self.loaded_bytes.get(name)
        if contract is None:
            return [self.build.load(name, index, node.interval.high)]
        place, k = divmod(self.byte_place(contract, index), 8)
        rest = min(8, contract.length - 8 * index)
        short = contract.length < 8
        most = node.interval.high if short or rest == 8 else MASK
        word = self.swapped(contract, self.build.load(name, place, most, k))
        return [word] if short else self.build.shift_right([word], 64 - 8 * rest, signed=False)

    def lower_scalar(self, node: Node) -> list[Part]:
        return [self.build.scalar(node.data, node.interval.high)]

    def lower_add(self, node: Node) -> list[Part]:
        return self.sum(node, subtract=False)

    def lower_sub(self, node: Node) -> list[Part]:
        return self.sum(node, subtract=True)

    def sum(self, node: Node, subtract: bool) -> list[Part]:
        """x + y or x - y; a product that only this sum needs comes in by rows."""
        x, y = node.args
        count = self.need[node]
        if y in self.rows or x in self.rows:
            other, product = (x, y) if y in self.rows else (y, x)
            if other.interval.low < 0:
                return self.add_product(self.words(other, count), product, count, None, subtract, node)
            total = self.words(other, min(count, words_for(other.interval)))
            return self.add_product(total, product, count, other.interval.high, subtract, node)
        if not subtract and (joined := self.joined(x, y, count) or self.joined(y, x, count)):
            return joined
        size = count
        if not subtract and x.interval.low >= 0 and y.interval.low >= 0:
            size = min(count, words_for(node.interval))
        return self.build.chain(
            self.words(x, count),
            self.words(y, count),
            0,
            size,
            subtract,
            top=self.top(node, count),
            vanish=node in self.vanishing,
        )

    def joined(self, low: Node, high: Node, count: int) -> list[Part] | None:
        """low + high where all bits of `high` lie above those of `low`, as in a number put together of its digits: no
        carry; None when that is not so."""
        if high.op != "shl" or not 0 <= low.interval.low <= low.interval.high < 1 << high.data:
            return None
        at = high.data // 64
        below, above = self.words(low, min(count, at + 1)), self.words(high, count)
        if at >= count:
            return below + [0] * (count - len(below))
        parts = [self.build.united(x, y) for x, y in zip(below, above, strict=False)]
        return parts + above[len(parts) :]

    @staticmethod
    def top(node: Node, count: int) -> int | None:
        """The bound of the highest of `count` words, where the interval gives one."""
        if node.interval.low < 0 or words_for(node.interval) > count:
            return None
        return node.interval.high >> (64 * (count - 1))

    def lower_mul(self, node: Node) -> list[Part]:
        x, y = node.args
        count = self.need[node]
        if x is y and x.interval.low >= 0 and words_for(x.interval) > 1:
            return self.square(x, count, node)
        if count == 1 or (
            words_for(x.interval) == 1 == words_for(y.interval) and x.interval.low >= 0 <= y.interval.low
        ):
            left, right = self.word(x), self.word(y)
            bound = node.interval.high if node.interval.low >= 0 else MASK**2
            return self.build.product(left, right, count, bound)
        most = 0 if x.interval.low >= 0 <= y.interval.low else None
        return self.add_product([], node, count, most, False, node)

    def square(self, x: Node, count: int, node: Node) -> list[Part]:
        """Cross products once, doubled by adding the sum to itself, then the squares in one chain."""
        words = [self.build.as_word(part) for part in self.words(x, words_for(x.interval))]
        total = self.crossed(words, count)
        total = total + [0] * (count - len(total))
        doubled = self.build.chain(total, total[1:], 1, count, False)
        doubled[-1] = self.build.as_word(doubled[-1])  # before products, which may leave no flag as it is
        squares: list[Part] = []
        for word in words:
            squares += self.build.product(word, word, 2, MASK**2)
        return self.build.chain(doubled, squares[:count], 0, count, False, top=x.interval.high**2 >> 64 * (count - 1))

    def crossed(self, words: Sequence[Term], count: int) -> list[Part]:
        """The low words of the sum of words[i] * words[j] * 2^(64 (i + j)) over i < j.

        The products are laid beside each other: one layer with 1, 3, 5… at its lowest places, one with 2, 4…, and so
        on, each added in one chain; that takes fewer additions than row by row. The shortest layer comes first: the top
        of the next one takes in its carry. Where the highest words are not wanted, it goes row by row.
        """
        n = len(words)
        total: list[Part] = []
        if count < 2 * n - 1:
            for i in range(n - 1):
                total = self.row(total, words[i], words[i + 1 :], 2 * i + 1, min(count, n + i + 1), False)
            return total
        for start in range(n - 1, 0, -1):
            layer: list[Part] = []
            for at in range(start, 2 * n - 1 - start, 2):
                # Of the pairs that meet at this place, each layer of the same parity takes another one.
                i = max(0, at - n + 1) + (start - 1) // 2
                layer += (self.build.product(words[i], words[at - i], 2, MASK**2) + [0])[:2]
            total = self.build.chain(total, layer, start, 2 * n - 1, False)
        return total

    def add_product(
        self, total: list[Part], product: Node, count: int, most: int | None, subtract: bool, node: Node
    ) -> list[Part]:
        """total ± x * y, row by row of the operand with fewer words; `most` bounds a total that is not negative."""
        x, y = product.args
        if words_for(x.interval) > words_for(y.interval):
            x, y = y, x
        left = [self.build.as_word(part) for part in self.operand(x, count)]
        right = [self.build.as_word(part) for part in self.operand(y, count)]
        limit = None if most is None or subtract else most + product.interval.high
        for index, word in enumerate(left):
            size = count
            if limit is not None and most is not None:
                most = min(limit, most + (min(x.interval.high >> 64 * index, MASK) * y.interval.high << 64 * index))
                size = min(count, max(1, -(-most.bit_length() // 64)))
            vanish = index < self.vanishing.get(node, 0)
            name = product.name if len(left) == 1 == len(right) else ""
            total = self.row(total, word, right, index, size, subtract, vanish, name)
        return total

    def operand(self, node: Node, count: int) -> list[Part]:
        """A factor's words: all that matter modulo 2^(64 count) when it is negative, otherwise those that it has."""
        return self.words(node, count if node.interval.low < 0 else min(count, words_for(node.interval)))

    def row(
        self,
        total: list[Part],
        word: Term,
        number: Sequence[Term],
        offset: int,
        size: int,
        subtract: bool,
        vanish: bool = False,
        name: str = "",
    ) -> list[Part]:
        """total ± word * number * 2^(64 offset): the low halves and the top half in one chain, the high halves in
        another."""
        if size <= offset:
            return total
        number = number[: size - offset]
        sum_name, self.build.name = self.build.name, name
        pairs = [self.build.product(word, each, 2, MASK**2) for each in number]
        self.build.name = sum_name
        lows: list[Part] = [pair[0] for pair in pairs]
        highs: list[Part] = [pair[1] if len(pair) > 1 else 0 for pair in pairs]
        chain = self.build.new_chain()
        total = self.build.chain(total, lows + highs[-1:], offset, size, subtract, chain=chain, vanish=vanish)
        if highs[:-1]:
            total = self.build.chain(total, highs[:-1], offset + 1, size, subtract, chain=chain)
        return total

    def lower_shl(self, node: Node) -> list[Part]:
        count, source = self.need[node], node.args[0]
        shift, bits = divmod(node.data, 64)
        if source.op == "high" and source.data >= node.data and (source.data - node.data) % 64 == 0:
            # What was shifted right comes back: only its low bits are gone.
            first = source.data // 64
            words = self.words(source.args[0], first - shift + count)[first:]
            return [0] * shift + self.build.clear(words, bits)
        return [0] * shift + self.build.shift_left(self.words(source, max(count - shift, 0)), bits)

    def lower_low(self, node: Node) -> list[Part]:
        k = node.data
        count = self.need[node]
        words = self.words(node.args[0], min(count, -(-k // 64)))
        if k % 64 and len(words) == -(-k // 64):
            words[-1] = self.build.mask(words[-1], k % 64)
        return words

    def lower_high(self, node: Node) -> list[Part]:
        shift, bits = divmod(node.data, 64)
        source = node.args[0]
        count = self.need[node]
        if shift >= words_for(source.interval) and source.interval.low >= 0:
            return [0] * count
        words = self.words(source, min(count + shift + (bits > 0), max(words_for(source.interval), shift + 1)))[shift:]
        return self.build.shift_right(words, bits, signed=source.interval.low < 0)[:count]

    lower_divide = lower_high

    def lower_keep(self, node: Node) -> list[Part]:
        return [self.build.as_word(part) for part in self.words(node.args[0], self.need[node])]

    def lower_select(self, node: Node) -> list[Part]:
        count = self.need[node]
        bit = self.words(node.args[0], 1)[0]
        x, y = self.words(node.args[1], count), self.words(node.args[2], count)
        return [self.build.select(bit, left, right) for left, right in zip(x, y, strict=True)]

    def lower_reduce(self, node: Node) -> list[Part]:
        """x - m and its borrow, which chooses."""
        source = node.args[0]
        width = words_for(source.interval)
        words = self.words(source, width)
        less, borrow = self.build.difference(words, [(node.data >> 64 * i) & MASK for i in range(width)])
        return [self.build.select(borrow, x, y) for x, y in zip(words, less, strict=True)][: self.need[node]]

    def lower_at_least(self, node: Node) -> list[Part]:
        """No borrow out of x - m; where one of them may be negative, the sign of the difference."""
        source, m = node.args[0], int(node.data)
        if source.interval.low < 0 or m < 0:
            width = words_for(source.interval.plus(point(-m)))
            limit = [(m >> 64 * i) & MASK for i in range(width)]
            top = self.build.chain(self.words(source, width), limit, 0, width, subtract=True)[-1]
            return [self.build.flip(self.build.sign(top))]
        width = max(words_for(source.interval), -(-m.bit_length() // 64))
        borrow = self.build.difference(self.words(source, width), [(m >> 64 * i) & MASK for i in range(width)])[1]
        return [self.build.flip(borrow)]

    def lower_is_zero(self, node: Node) -> list[Part]:
        source = node.args[0]
        return [self.build.flip(self.build.nonzero(self.words(source, words_for(source.interval))))]

    # ---- loops ----

    def lower_result(self, node: Node) -> list[Part]:
        loop: LoopNode = node.data[0]
        if loop.id not in self.loops:
            self.loops[loop.id] = self.loop(loop)
        starts = [0]
        for state in loop.state:
            starts.append(starts[-1] + words_for(state.interval))
        index = node.data[1]
        return list(self.loops[loop.id].results[starts[index] : starts[index + 1]])

    def flat(self, nodes: Sequence[Node], like: Sequence[Node]) -> list[Term]:
        return [
            self.build.as_word(part)
            for node, state in zip(nodes, like, strict=True)
            for part in self.words(node, words_for(state.interval))
        ]

    def loop(self, loop: LoopNode) -> LoopOp:
        count = self.word(loop.count)
        initial = self.flat(loop.initial, loop.state)
        outside = self.known
        with self.build.scope() as body:
            self.known = dict(outside)
            state = [word for node in loop.state for word in self.state(node)]
            self.region(loop.next)
            after = self.flat(loop.next, loop.state)
        with self.build.scope() as empty:
            self.known = dict(outside)
            self.region(loop.empty)
            otherwise = self.flat(loop.empty, loop.state)
        self.known = outside
        results = tuple(self.build.word(word.most, word.name) for word in state)
        made = LoopOp(
            count,
            tuple(state),
            tuple(initial),
            straight(body),
            tuple(after),
            straight(empty),
            tuple(otherwise),
            results,
            loop.source,
        )
        self.build.ops.append(made)
        return made

    def state(self, node: Node) -> list[Word]:
        """The words that hold a loop's state at the start of a pass."""
        width = words_for(node.interval)
        words = [self.build.word(self.top(node, width) if i + 1 == width else None, node.name) for i in range(width)]
        self.known[node] = list(words)
        return words


def straight(ops: Sequence[Op | LoopOp]) -> tuple[Op, ...]:
    """Operations with no loop among them."""
    for op in ops:
        if isinstance(op, LoopOp):
            raise AsmgenError(
                "a loop inside a loop", source=op.source, hint="call a kernel with the inner loop instead"
            )
    return tuple(op for op in ops if isinstance(op, Op))
