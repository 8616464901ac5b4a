"""Names that every C and C++ compiler takes, and that clash with nothing in the generated files."""

from __future__ import annotations

import re

from asmgen.errors import AsmgenError

_C = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long "
    "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile "
    "while asm typeof"
)
_CPP = (
    "alignas alignof and and_eq bitand bitor bool catch class char8_t char16_t char32_t compl concept "
    "consteval constexpr constinit const_cast co_await co_return co_yield decltype delete dynamic_cast "
    "explicit export false friend mutable namespace new noexcept not not_eq nullptr operator or or_eq private "
    "protected public reinterpret_cast requires static_assert static_cast template this thread_local throw "
    "true try typeid typename using virtual wchar_t xor xor_eq"
)
_TAKEN = "uint8_t uint64_t int64_t u128 linux unix i386 errno"
_RESERVED = frozenset(f"{_C} {_CPP} {_TAKEN}".split())


def c_name(name: str) -> str:
    """A Python name as a C one: keywords of C and C++ get an underscore, letters outside ASCII their number."""
    plain = "".join(letter if letter.isascii() else f"_u{ord(letter):x}" for letter in name)
    return f"{plain}_" if plain in _RESERVED else plain


def checked_prefix(prefix: str) -> str:
    """The prefix of all symbols, when it can start a C name."""
    if prefix and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", prefix):
        raise AsmgenError(
            f"the prefix {prefix!r} cannot start the name of a C function",
            hint="letters, digits and underscores, a letter first, such as --prefix mylib_",
        )
    return prefix


class Namer:
    """Names of one C function's variables, each given once."""

    def __init__(self, taken: frozenset[str] = frozenset()) -> None:
        self._taken = set(taken)
        self._last: dict[str, int] = {}

    def give(self, wish: str) -> str:
        """`wish` itself, or with a number when it is taken; one letter alone always gets a number."""
        plain = c_name(wish)
        name, serial = plain, self._last.get(plain, 1 - (len(wish) == 1))
        while name in self._taken or name == plain and len(wish) == 1:
            serial += 1
            name = f"{plain}{'_' if plain[-1].isdigit() else ''}{serial}"
        self._last[plain] = serial
        self._taken.add(name)
        return name
