"""What tests of diff share: routines of small C, compiled or skipped."""

from __future__ import annotations

import pytest

from asmgen.diff.body import Body, of_image
from asmgen.diff.image import from_bytes
from asmgen.diff.sources import EMULATED
from asmgen.diff.thunk import wrapped
from asmgen.function import Function
from asmgen.scripts import find
from emulate.compilers import Compiler, found


def kernel(selector: str = "curve25519_5x51.mul") -> Function:
    """A shipped kernel."""
    return find([selector])[0]


def any_compiler(target: str = "amd64") -> Compiler:
    """The first compiler for a target, or the test is skipped."""
    every = found(target)
    if not every:
        pytest.skip(f"no compiler for {target} here")
    return every[0]


def compiled(text: str, symbol: str, function: Function, target: str = "amd64", flags: str = "-O2") -> Body:
    """A function of some C, to be called as the kernel."""
    data = any_compiler(target).compile({"source.c": text}, "source.c", flags.split())
    image = from_bytes(data, "source.c", symbol, EMULATED[target])
    return wrapped(of_image(symbol, image, function.signature, EMULATED[target]))
