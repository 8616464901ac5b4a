"""The shipped script of P-256's group order: values, bounds, and how long its routines are."""

from __future__ import annotations

from montgomery import MontgomeryTests
from sizes import products, sizes

N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551

#: Instructions without the mark for indirect branches: well below what compilers make of C.
MOST = {
    ("mul", "arm64"): 185, ("sqr", "arm64"): 160, ("square_n", "arm64"): 166,
    ("mul", "amd64"): 188, ("sqr", "amd64"): 172, ("square_n", "amd64"): 190,
}  # fmt: skip


class TestP256Order(MontgomeryTests):
    script, p = "p256_order", N
    programs = {"invert": 30}

    def test_sizes(self) -> None:
        for (name, target), most in MOST.items():
            assert sizes(self.kernels[name], target).instructions <= most, (name, target)

    def test_products(self) -> None:
        """16 and 10 products of words; for two words of the quotient at a time three, and eight with the modulus."""
        for name, count in (("mul", 16), ("sqr", 10)):
            assert products(self.kernels[name], "amd64") == count + 2 * (3 + 8)
            # The lowest halves are zero by proof, and a quotient has no word above its own two.
            assert products(self.kernels[name], "arm64") == 2 * count + 2 * (4 + 14)
