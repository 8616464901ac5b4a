"""The functions that generated C calls: one instruction each where the compiler knows it, plain C99 elsewhere.

Carries are written in the way that each compiler makes the fewest instructions of; gcc 12 and clang 19 were tried.
"""

from __future__ import annotations

from collections.abc import Iterable

_EXTENDED = "defined(__GNUC__) && defined(__SIZEOF_INT128__) && !defined(ASMGEN_PLAIN_C)"

PREAMBLE = f"""\
/* With 128-bit integers where the compiler has them. ASMGEN_PLAIN_C asks for nothing beyond C99. */
#if {_EXTENDED}
#define ASMGEN_WIDE 1
__extension__ typedef unsigned __int128 u128;
#else
#define ASMGEN_WIDE 0
#endif
"""

#: Each function, with the functions that it calls in turn.
HELPERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "hidden": ("""\
/* x, of which the compiler knows nothing any more: what is computed from it is not made into a branch. */
static inline uint64_t hidden(uint64_t x)
{
#if ASMGEN_WIDE
    __asm__ volatile("" : "+r"(x));
    return x;
#else
    volatile uint64_t y = x;
    return y;
#endif
}
""", ()),
    "mask_of": ("""\
/* All ones for 1, zero for 0. */
static inline uint64_t mask_of(uint64_t bit)
{
    return hidden(0 - bit);
}
""", ("hidden",)),
    "select_word": ("""\
/* x for bit 1, y for bit 0. */
static inline uint64_t select_word(uint64_t bit, uint64_t x, uint64_t y)
{
    const uint64_t mask = mask_of(bit);
    return (x & mask) | (y & ~mask);
}
""", ("mask_of",)),
    "is_nonzero": ("""\
/* 1 for x != 0, else 0. */
static inline uint64_t is_nonzero(uint64_t x)
{
    return (x | (0 - x)) >> 63;
}
""", ()),
    "swap_bytes": ("""\
/* The bytes of x in the other order. */
static inline uint64_t swap_bytes(uint64_t x)
{
    x = ((x & UINT64_C(0x00ff00ff00ff00ff)) << 8) | ((x >> 8) & UINT64_C(0x00ff00ff00ff00ff));
    x = ((x & UINT64_C(0x0000ffff0000ffff)) << 16) | ((x >> 16) & UINT64_C(0x0000ffff0000ffff));
    return (x << 32) | (x >> 32);
}
""", ()),
    "load_bytes": ("""\
/* A little-endian number of 1 to 8 bytes. */
static inline uint64_t load_bytes(const uint8_t *bytes, int length)
{
    uint64_t x = 0;
    int i;
    for (i = 0; i < length; i++)
        x |= (uint64_t)bytes[i] << (8 * i);
    return x;
}
""", ()),
    "store_bytes": ("""\
/* The low 1 to 8 bytes of x, little-endian. */
static inline void store_bytes(uint8_t *bytes, int length, uint64_t x)
{
    int i;
    for (i = 0; i < length; i++)
        bytes[i] = (uint8_t)(x >> (8 * i) & 255);
}
""", ()),
    "wipe": ("""\
/* Zeros over what may have been secret; what the compiler has put elsewhere is out of reach. */
static inline void wipe(uint64_t *words, int count)
{
    volatile uint64_t *word = words;
    while (count-- > 0)
        *word++ = 0;
}
""", ()),
    "add_carry": ("""\
/* x + y + carry modulo 2^64, and the carry out of it. */
static inline uint64_t add_carry(uint64_t x, uint64_t y, uint64_t carry, uint64_t *carry_out)
{
#if ASMGEN_WIDE && defined(__x86_64__) && !defined(__clang__)
    unsigned long long sum;
    *carry_out = __builtin_ia32_addcarryx_u64((unsigned char)carry, x, y, &sum);
    return sum;
#elif ASMGEN_WIDE && !defined(__clang__)
    const u128 sum = (u128)x + y + carry;
    *carry_out = (uint64_t)(sum >> 64);
    return (uint64_t)sum;
#elif ASMGEN_WIDE
    uint64_t part, sum;
    const uint64_t first = __builtin_add_overflow(x, y, &part);
    const uint64_t second = __builtin_add_overflow(part, carry, &sum);
    *carry_out = first | second;
    return sum;
#else
    const uint64_t part = x + y, sum = part + carry;
    *carry_out = ((x & y) | ((x | y) & ~part)) >> 63 | (part & ~sum) >> 63;
    return sum;
#endif
}
""", ()),
    "sub_borrow": ("""\
/* x - y - borrow modulo 2^64, and the borrow out of it. */
static inline uint64_t sub_borrow(uint64_t x, uint64_t y, uint64_t borrow, uint64_t *borrow_out)
{
#if ASMGEN_WIDE && defined(__x86_64__) && !defined(__clang__)
    unsigned long long difference;
    *borrow_out = __builtin_ia32_sbb_u64((unsigned char)borrow, x, y, &difference);
    return difference;
#elif ASMGEN_WIDE
    uint64_t part, difference;
    const uint64_t first = __builtin_sub_overflow(x, y, &part);
    const uint64_t second = __builtin_sub_overflow(part, borrow, &difference);
    *borrow_out = first | second;
    return difference;
#else
    const uint64_t part = x - y, difference = part - borrow;
    *borrow_out = ((~x & y) | (~(x ^ y) & part)) >> 63 | (~part & difference) >> 63;
    return difference;
#endif
}
""", ()),
    "multiply": ("""\
/* x * y modulo 2^64, and the high half of the product. */
static inline uint64_t multiply(uint64_t x, uint64_t y, uint64_t *high)
{
    const uint64_t x0 = x & 0xffffffff, x1 = x >> 32, y0 = y & 0xffffffff, y1 = y >> 32;
    const uint64_t low = x0 * y0;
    const uint64_t middle = x1 * y0 + (low >> 32);
    const uint64_t other = x0 * y1 + (middle & 0xffffffff);
    *high = x1 * y1 + (middle >> 32) + (other >> 32);
    return (other << 32) | (low & 0xffffffff);
}
""", ()),
}  # fmt: skip


def needed(names: Iterable[str]) -> frozenset[str]:
    """These functions, and those that they call."""
    found: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        found.add(name)
        pending += HELPERS[name][1]
    return frozenset(found)


def definitions(names: Iterable[str]) -> str:
    """The functions of these names, in the order of this file, in which none calls a later one."""
    wanted = set(names)
    return "\n".join(text for name, (text, _) in HELPERS.items() if name in wanted)
