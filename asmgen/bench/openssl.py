"""OpenSSL's routines in its static library, where one is installed (Debian's libssl-dev has it)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from asmgen import tools

MISSING = "no OpenSSL: no static libcrypto.a is here (Debian's libssl-dev has it)"
_PLACES = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib64", "/usr/local/lib")


@dataclass(frozen=True)
class Peer:
    """A routine of the same function: its arguments as `--layout` has them, empty where they are ours.

    Where ours has the loop inside, `like` names our kernel of one repetition: theirs is called again and again, or with
    `counts` takes how often where its layout has a 1.
    """

    symbol: str
    layout: str = ""
    like: str = ""
    counts: bool = False


def _squares(symbol: str, layout: str) -> dict[str, Peer]:
    return {"sqr": Peer(symbol, layout), "square_n": Peer(symbol, layout, like="sqr")}


_WEAK = "out:4x64, a:4x64"  # any 256 bits in and out
_NIST = "ecp_nistz256_"

#: By script and kernel.
PEERS: dict[str, dict[str, Peer]] = {
    "curve25519_5x51": {"mul": Peer("x25519_fe51_mul"), **_squares("x25519_fe51_sqr", "")},
    "curve25519_4x64": {
        "mul": Peer("x25519_fe64_mul", f"{_WEAK}, b:4x64"), **_squares("x25519_fe64_sqr", _WEAK),
        "add": Peer("x25519_fe64_add", f"{_WEAK}, b:4x64"), "sub": Peer("x25519_fe64_sub", f"{_WEAK}, b:4x64"),
        "to_bytes": Peer("x25519_fe64_tobytes"),
    },
    "p256": {
        "mul": Peer(f"{_NIST}mul_mont"), **_squares(f"{_NIST}sqr_mont", ""), "add": Peer(f"{_NIST}add"),
        "sub": Peer(f"{_NIST}sub"), "neg": Peer(f"{_NIST}neg"), "to_mont": Peer(f"{_NIST}to_mont"),
        "from_mont": Peer(f"{_NIST}from_mont"),
    },
    "p256_order": {
        "mul": Peer(f"{_NIST}ord_mul_mont"), "sqr": Peer(f"{_NIST}ord_sqr_mont", "out, a, 1"),
        "square_n": Peer(f"{_NIST}ord_sqr_mont", "out, a, 1", like="sqr", counts=True),
    },
    "p448_8x56": {"mul": Peer("gf_mul"), **_squares("gf_sqr", "")},
    "p448_7x64": {
        "mul": Peer("gf_mul", "out:8x56, a:8x56, b:8x56"), **_squares("gf_sqr", "out:8x56, a:8x56"),
    },
}  # fmt: skip


@cache
def library() -> Path | None:
    """The static library: the compiler's own, or one in the usual places."""
    places = [Path(each) / "libcrypto.a" for each in _PLACES]
    compiler = tools.find(("cc", "gcc"))
    if compiler is not None:
        said = tools.run((compiler, "-print-file-name=libcrypto.a"), seconds=10).output.strip()
        places.insert(0, Path(said))
    return next((place for place in places if place.is_absolute() and place.is_file()), None)


@cache
def version(path: Path) -> str:
    """Name and version as the library says them."""
    found = re.search(rb"OpenSSL \d+\.\d+\.\d+[a-z]*", path.read_bytes())
    return found[0].decode() if found else "OpenSSL"
