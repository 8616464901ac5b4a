"""A field, the limbs that hold its elements, and the bounds that kernels promise and require."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd
from typing import Any

from asmgen.contracts import Element
from asmgen.elements import Limbs, describe
from asmgen.errors import here
from asmgen.polynomial import Interval
from asmgen.promises import size
from asmgen.values import POSITIVE, Exact, Number


@dataclass(frozen=True)
class Field:
    """Integers modulo the odd prime `modulus`, held in limbs of `limbs` bits, least significant first.

    `montgomery` is R when an element x stands for the residue x / R.
    """

    name: str
    modulus: int
    limbs: Sequence[int]
    montgomery: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "limbs", tuple(self.limbs))
        if self.modulus < 3 or self.modulus % 2 == 0:
            raise here(f"the modulus of {self.name} is {self.modulus:#x}", "fields are about odd primes, 3 and above")
        if not self.limbs or any(not 1 <= width <= 64 for width in self.limbs):
            raise here(f"limbs of {self.name} are {list(self.limbs)} bits wide", "a limb is a word of 1 to 64 bits")
        if 1 << sum(self.limbs) < self.modulus:
            raise here(
                f"{len(self.limbs)} limbs of {self.name} hold {sum(self.limbs)} bits, "
                f"the modulus has {self.modulus.bit_length()}",
                "add a limb or widen them",
            )
        if self.montgomery is not None and gcd(self.montgomery, self.modulus) != 1:
            raise here(
                f"montgomery={self.montgomery:#x} has a common factor with the modulus of {self.name}",
                "R is a power of two above the modulus, such as 2**256",
            )

    @cached_property
    def positions(self) -> tuple[int, ...]:
        """The exponent of two that each limb stands at."""
        return tuple(sum(self.limbs[:index]) for index in range(len(self.limbs)))

    @cached_property
    def unscale(self) -> int:
        """1 / R modulo p, or 1 without Montgomery form: value * unscale is the residue."""
        return 1 if self.montgomery is None else pow(self.montgomery, -1, self.modulus)

    @cached_property
    def plain(self) -> Field:
        """The same field and limbs out of Montgomery form: what to_mont takes and from_mont gives."""
        return self if self.montgomery is None else replace(self, montgomery=None)

    def limbs_below(self, bound: int | Sequence[int], multiple_of: int = 1) -> Element:
        """Elements whose limbs are each below `bound` (one for all, or one a limb).

        With `multiple_of` = m the limbs are multiples of m and stand for the value divided by m.
        """
        bounds = [bound] * len(self.limbs) if isinstance(bound, int) else list(bound)
        if len(bounds) != len(self.limbs):
            raise here(f"{len(bounds)} bounds for {len(self.limbs)} limbs of {self.name}", "give one, or one a limb")
        for index, below in enumerate(bounds):
            if not 1 <= below <= 2**64:
                raise here(
                    f"limb {index} of {self.name} may reach {size(below - 1)}, more than a 64-bit word holds",
                    "a limb is one word: promise at most 2**64, with more limbs if they are needed",
                )
        if multiple_of < 1:
            raise here(f"limbs cannot be multiples of {multiple_of}", "multiple_of is 1 or more")
        most = tuple((below - 1) // multiple_of * multiple_of for below in bounds)
        value = sum(limb << at for limb, at in zip(most, self.positions, strict=True))
        return Element(self, most, value, multiple_of)

    def below(self, bound: int) -> Element:
        """Elements whose value is below `bound`, cut exactly at the limb positions."""
        if not 1 <= bound <= 1 << (self.positions[-1] + 64):
            raise here(
                f"values up to {size(bound - 1)} do not fit the limbs of {self.name}",
                f"they hold values below 2**{self.positions[-1] + 64} at most",
            )
        digits = []
        for index, at in enumerate(self.positions):
            top = index == len(self.limbs) - 1
            most = (bound - 1) >> at
            digits.append(most if top else min(most, (1 << self.limbs[index]) - 1))
        return Element(self, tuple(digits), bound - 1)

    def limbs_of(self, x: Number | int | Limbs) -> Limbs:
        """An integer cut at the limb positions; the last limb takes all that is left."""
        number = x.value if isinstance(x, Limbs) else x
        whole = Interval(0, (1 << (self.positions[-1] + 64)) - 1)
        low, high = number.trace.proven(number.node, whole) if isinstance(number, Number) else (number, number)
        if low < 0:
            raise here(f"a value that may be negative, as low as {size(low)}, has no limbs", POSITIVE)
        if high >> self.positions[-1] >= 2**64:
            raise here(
                f"the value may reach {size(high)}, its last limb would take {size(high >> self.positions[-1])}, "
                "more than a 64-bit word holds",
                f"reduce it below 2**{self.positions[-1] + 64} before it is cut into limbs of {self.name}",
            )
        return self._own(number.cut(self.limbs) if isinstance(number, Number) else Exact(number).cut(self.limbs))

    def element(self, limbs: Any) -> Limbs:
        """Limbs taken together as an element of this field; an integer is cut at the limb positions."""
        if isinstance(limbs, (Number, int)):
            return self.limbs_of(limbs)
        if not isinstance(limbs, Sequence):
            raise here(f"{describe(limbs)} is no element of {self.name}", "give a list of limbs or an integer")
        numbers = [limb if isinstance(limb, Number) else Exact(limb) for limb in limbs]
        if len(numbers) != len(self.limbs):
            raise here(
                f"{len(numbers)} limbs, but an element of {self.name} has {len(self.limbs)}",
                "give one number a limb, or one integer that is to be cut",
            )
        return self._own(numbers)

    def _own(self, numbers: Sequence[Number | Exact]) -> Limbs:
        return Limbs([Number(x.trace, x.node, self) if isinstance(x, Number) else x for x in numbers], self)
