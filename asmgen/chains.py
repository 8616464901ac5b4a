"""temporary"""
from dataclasses import dataclass
@dataclass
class Chain:
    exponent: int
    def apply(self, x, multiply, squared, named):
        total = x
        run = 0
        for bit in bin(self.exponent)[3:]:
            run += 1
            if bit == "1":
                total = multiply(squared(total, run), x); run = 0
        return squared(total, run) if run else total
def best(e): return Chain(e)
