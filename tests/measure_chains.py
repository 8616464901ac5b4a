"""How much the loop inside square_n is worth, on this machine (an amd64 one, with gcc):

    ./run python tests/measure_chains.py [SCRIPT...]

An inversion's chain is run in C four ways, which are timed in turn in one process: squarings one call of sqr each, then
by square_n, then with a loop that squares five times a pass for all but the last few, and last the program `invert`.
Printed are the medians, in nanoseconds, and each way's time against that of single calls.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from compilers import compiler, must

from asmgen.build import build
from asmgen.chain_text import raised
from asmgen.chains import Chain, best
from asmgen.contracts import Element
from asmgen.program import Program
from asmgen.scripts import directory, load

SCRIPTS = (
    "curve25519_4x64", "curve25519_5x51", "p256", "p256_order", "p384", "p448_7x64", "p448_8x56", "p521_9x58",
    "secp256k1_4x64", "secp256k1_5x52",
)  # fmt: skip
WAYS = ("sqr", "square_n", "five a pass", "invert")
#: A script gets this kernel: five squarings a pass, held to what sqr takes and gives.
UNROLLED = """

def five_times(a):
    for _ in range(5):
        a = {body}(a)
    return a


@kernel(computes=lambda a, n: pow(a, pow(32, n, P - 1), P))
def square_5n(a: {taken}, n: Count) -> {given}:
    return {result}
"""
MAIN = """
#define _POSIX_C_SOURCE 199309L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "{name}.h"
#define W {words}
typedef uint64_t fe[W];
static void by_sqr(fe out, const fe a, uint64_t n)
{{ {name}_sqr(out, a); while (--n) {name}_sqr(out, out); }}
static void by_square_n(fe out, const fe a, uint64_t n)
{{ if (n == 1) {name}_sqr(out, a); else {name}_square_n(out, a, n); }}
static void by_five(fe out, const fe a, uint64_t n)
{{
    if (n < 5) {{ by_square_n(out, a, n); return; }}
    {name}_square_5n(out, a, n / 5);
    if (n % 5) by_square_n(out, out, n % 5);
}}
{chains}
static double now(void)
{{ struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return 1e9 * (double)t.tv_sec + (double)t.tv_nsec; }}
static int compare(const void *x, const void *y)
{{ double a = *(const double *)x, b = *(const double *)y; return (a > b) - (a < b); }}
#define ROUNDS {rounds}
int main(void)
{{
    static double taken[4][ROUNDS];
    void (*ways[4])(fe, const fe) = {{ chain_by_sqr, chain_by_square_n, chain_by_five, {name}_invert }};
    fe results[4];
    for (int way = 0; way < 4; way++) {{
        fe x = {{ 3, 5, 7, 11 }};
        for (int turn = 0; turn < 20; turn++) ways[way](x, x);
        memcpy(results[way], x, sizeof x);
    }}
    for (int way = 1; way < 4; way++)
        if ({name}_equal(results[0], results[way]) != 1) {{ fprintf(stderr, "way %d differs\\n", way); return 1; }}
    for (int round = 0; round < ROUNDS; round++)
        for (int way = 0; way < 4; way++) {{
            fe x = {{ 3, 5, 7, 11 }};
            double start = now();
            for (int turn = 0; turn < 10; turn++) ways[way](x, x);
            taken[way][round] = (now() - start) / 10;
        }}
    for (int way = 0; way < 4; way++) {{
        qsort(taken[way], ROUNDS, sizeof(double), compare);
        printf("%f\\n", taken[way][ROUNDS / 2]);
    }}
    return 0;
}}
"""


def c_chain(name: str, chain: Chain, square: str) -> Iterator[str]:
    """The chain as a C function."""
    yield f"static void chain_{square}(fe out, const fe a)\n{{"
    yield f"    fe x[{len(chain.steps) + 1}]; memcpy(x[0], a, sizeof x[0]);"
    for index, step in enumerate(chain.steps, 1):
        if step.right is None:
            yield f"    {square}(x[{index}], x[{step.left}], {step.squarings});"
        else:
            assert step.squarings == 0
            yield f"    {name}_mul(x[{index}], x[{step.left}], x[{step.right}]);"
    yield f"    memcpy(out, x[{len(chain.steps)}], sizeof x[0]);\n}}"


def extended(script: str, where: Path) -> Path:
    """The script with the unrolled loop."""
    kernels = load(script).kernels
    body = "sqr_loose" if "sqr_loose" in kernels else "sqr"
    source = (directory() / f"{script}.py").read_text()
    square_n = source[source.index("def square_n(") :]
    taken = square_n[square_n.index("a: ") + 3 : square_n.index(", n: Count")]
    given = square_n[square_n.index("-> ") + 3 : square_n.index(":\n")]
    result = next(line.strip()[len("return ") :] for line in square_n.splitlines() if "repeat(" in line)
    assert result.count(f"repeat(n, {body}, ") == 1
    result = result.replace(f"repeat(n, {body}, ", "repeat(n, five_times, ").replace(
        ", a", f", a, invariant={taken}", 1
    )
    modulus = "" if "\nP = " in source else f"\nP = {kernels['sqr'].signature.outputs[0].contract.field.modulus:#x}\n"
    path = where / f"{script}.py"
    path.write_text(source + modulus + UNROLLED.format(body=body, taken=taken, given=given, result=result))
    return path


def measured(script: str, where: Path, rounds: int = 201) -> list[float]:
    """Nanoseconds of one inversion in each way: medians."""
    path = extended(script, where)
    names = ("mul", "sqr", "square_n", "square_5n", "equal", "invert")
    build([f"{path}:{name}" for name in names], ["amd64"], where)
    invert = load(script).kernels["invert"]
    assert isinstance(invert, Program)
    contract = invert.signature.outputs[0].contract
    assert isinstance(contract, Element)
    chain = best(raised(invert)[0])
    chains = "\n".join(line for way in ("by_sqr", "by_square_n", "by_five") for line in c_chain(script, chain, way))
    (where / "main.c").write_text(MAIN.format(name=script, words=contract.words, chains=chains, rounds=rounds))
    assembly = where / "amd64" / f"{script}.S"
    must([*compiler("gcc"), "-O2", f"-I{where / 'amd64'}", "main.c", str(assembly), "-o", "measure"], where)
    return [float(line) for line in must([str(where / "measure")], where).split()]


def main(scripts: list[str]) -> None:
    print(f"{'':18}{''.join(f'{way:>22}' for way in WAYS)}")
    for script in scripts or SCRIPTS:
        with tempfile.TemporaryDirectory() as where:
            times = measured(script, Path(where))
        cells = (f"{time:9.0f} ns {time / times[0] - 1:+7.1%}" for time in times)
        print(f"{script:18}{''.join(f'{cell:>22}' for cell in cells)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
