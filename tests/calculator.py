"""Protocols over generated code: a process holds numbers in numbered places and calls routines on them (calculator.c).

What is run are the committed files, compiled by gcc: on this machine those of its own kind, by qemu the others. A
formula is recorded once, as the bytes that tell the process to compute it, and sent as often as it is wanted, so that
Python takes no part in the single steps.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from compilers import compiler, must, runner
from test_native import NATIVE, ROOT, WARNINGS, kernels_in, table

from asmgen.contracts import Bytes, Element, Parameter
from asmgen.scripts import load

TARGETS = ("amd64", "arm64")
WRITE, READ, COPY, CALL = range(4)


def lacking() -> bool:
    """Whether this machine is of the amd64 kind, but without BMI2 or ADX: then the files for any CPU are run."""
    try:
        flags = Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return False
    return "sse2" in flags and not {"adx", "bmi2"} <= set(flags)


class Calculator:
    """The routines of a script for a target, in a process with places for numbers."""

    def __init__(self, script: str, target: str, directory: Path) -> None:
        self.kernels = load(script).kernels
        self.field = _element(self.kernels["mul"].signature.outputs[0]).field
        self._numbers: dict[str, int] = {}
        self._process = subprocess.Popen(
            self._built(ROOT / "out" / target / f"{script}{'_base' * (target == 'amd64' and lacking())}.S", directory),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdin and self._process.stdout
        self._in, self._out = self._process.stdin, self._process.stdout
        self._places = 0
        encoding = self.kernels["to_bytes"].signature.outputs[0].contract
        assert isinstance(encoding, Bytes)
        self._encoding, self._bytes = encoding, self.place()

    def __enter__(self) -> Calculator:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._in.close()
        self._out.close()
        assert self._process.wait() == 0 or kind

    def _built(self, path: Path, directory: Path) -> list[str]:
        """Compile the calculator with a generated file; the command that starts it."""
        target, name = path.parent.name, f"{path.parent.name}_{path.stem}"
        gcc, before = compiler("gcc", target), runner(target)
        must([*gcc, "-c", str(path), "-o", f"{name}.o"], directory)
        kernels = kernels_in(path, directory / f"{name}.o")
        self._numbers = {kernel.name: number for number, kernel in enumerate(kernels)}
        returns = ", ".join(str(int(kernel.signature.returns_bit)) for kernel in kernels)
        text = table(path.with_suffix(".h"), kernels)
        (directory / f"{name}.c").write_text(f"{text}extern const unsigned char returns[];\n"
                                             f"const unsigned char returns[] = {{{returns}}};\n")  # fmt: skip
        sources = [f"{name}.c", str(NATIVE / "calculator.c"), f"{name}.o"]
        must([*gcc, "-O2", "-std=c99", *WARNINGS, f"-I{NATIVE}", f"-I{path.parent}", *(["-static"] if before else []),
              *sources, "-o", name], directory)  # fmt: skip
        return [*before, str(directory / name)]

    # Places and what is in them.

    def place(self) -> int:
        """A place that nothing else has."""
        self._places += 1
        return self._places - 1

    def put(self, value: int) -> int:
        """A new place with a residue in it, in Montgomery form where the field has one."""
        field, place = self.field, self.place()
        value = value * (field.montgomery or 1) % field.modulus
        self.write(place, [int(limb) for limb in field.limbs_of(value)])
        return place

    def write(self, place: int, words: Sequence[int]) -> None:
        self._in.write(_packed(WRITE, place, len(words), *words))

    def read(self, place: int, words: int) -> tuple[int, ...]:
        """The words that stand at a place, once all that was sent is done."""
        self._in.write(_packed(READ, place, words))
        return self._received(words)

    # Routines.

    def code(self, name: str, outputs: Sequence[int], inputs: Sequence[int]) -> bytes:
        """The call of a routine as bytes: places for what goes by pointer, numbers for the rest."""
        parameters = self.kernels[name].signature.parameters
        assert len(parameters) == len(outputs) + len(inputs), name
        return _packed(CALL + self._numbers[name], *outputs, *inputs)

    def do(self, code: bytes) -> None:
        """Send what is to be computed, of which nothing returns a bit."""
        self._in.write(code)

    def bit(self, name: str, outputs: Sequence[int], *inputs: int) -> int:
        """Call a routine that returns a bit."""
        assert self.kernels[name].signature.returns_bit, name
        self._in.write(self.code(name, outputs, inputs))
        (found,) = self._received(1)
        assert found in (0, 1)
        return found

    def encode(self, place: int) -> bytes:
        """The number at a place by to_bytes."""
        self.do(self.code("to_bytes", [self._bytes], [place]))
        words = self.read(self._bytes, -(-self._encoding.length // 8))
        return _packed(*words)[: self._encoding.length]

    def decode(self, text: bytes, place: int) -> bool:
        """Put a number to a place by from_bytes; whether that takes it."""
        assert len(text) == self._encoding.length
        padded = text + bytes(-len(text) % 8)
        self.write(self._bytes, struct.unpack(f"={len(padded) // 8}Q", padded))
        return self.bit("from_bytes", [place], self._bytes) == 1

    def _received(self, words: int) -> tuple[int, ...]:
        self._in.flush()
        text = self._out.read(8 * words)
        assert len(text) == 8 * words, f"the program ended with status {self._process.wait()}"
        return struct.unpack(f"={words}Q", text)

    # Formulas.

    def tape(self) -> Tape:
        return Tape(self)


class Tape:
    """A formula that is being recorded: `code` computes it, as often as it is done."""

    def __init__(self, calculator: Calculator) -> None:
        self.calculator = calculator
        self._parts: list[bytes] = []

    @property
    def code(self) -> bytes:
        return b"".join(self._parts)

    def numbers(self, places: Iterable[int]) -> list[Number]:
        """What stands at places, to calculate with."""
        return [Number(self, place) for place in places]

    def call(self, name: str, *inputs: int) -> Number:
        """What a routine with one output gives, in a new place."""
        out = self.calculator.place()
        self._parts.append(self.calculator.code(name, [out], inputs))
        return Number(self, out)

    def carried(self, number: Number) -> Number:
        """The same number as products give it: sums in limbs are not carried by themselves."""
        carry = next((name for name in ("carry", "normalize_weak") if name in self.calculator.kernels), None)
        return self.call(carry, number.place) if carry else number

    def keep(self, places: Sequence[int], numbers: Sequence[Number]) -> None:
        """Copy numbers to where the formula's results belong."""
        for place, number in zip(places, numbers, strict=True):
            self._parts.append(_packed(COPY, place, number.place))


@dataclass(frozen=True)
class Number:
    """A value on a tape; sums and differences are carried, as products are."""

    tape: Tape
    place: int

    def __add__(self, other: Number) -> Number:
        return self.tape.carried(self.tape.call("add", self.place, other.place))

    def __sub__(self, other: Number) -> Number:
        return self.tape.carried(self.tape.call("sub", self.place, other.place))

    def __mul__(self, other: Number) -> Number:
        return self.tape.call("mul", self.place, other.place)

    def __rmul__(self, factor: int) -> Number:
        return self.tape.call("mul_small", self.place, factor)

    def squared(self) -> Number:
        return self.tape.call("sqr", self.place)


def _packed(*words: int) -> bytes:
    return struct.pack(f"={len(words)}Q", *words)


def _element(parameter: Parameter) -> Element:
    assert isinstance(parameter.contract, Element)
    return parameter.contract
