/* What order.c, walk.c and the judges share. */
#ifndef ORDER_H
#define ORDER_H

#include <stdint.h>
#include <string.h>

enum { MOST = 4096, REGISTERS = 64, FLAGS = 8 };

struct line {
    int32_t count, webs, registers, words; /* `registers` may be given out; `words` of 64 bits in a mask */
    const uint64_t *before;                /* a mask for each instruction */
    const int32_t *reads;                  /* for each instruction and flag, who must have written it; -2: not read */
    const uint32_t *asks, *touches;        /* masks of flags for each instruction: those read, and those written */
    const int32_t *wanted;                 /* as `reads`, of what comes after the line */
    const int32_t *old;                    /* for each web its register before */
    const uint8_t *fixed, *lasts;
    const int32_t *use_first, *uses; /* for each web, 2 * instruction, and 1 more where it is changed */
    const int32_t *made_first, *made; /* webs that each instruction makes; at the end those alive before the line */
    const int32_t *chain_first, *chain; /* for each instruction, those that are tied to it by flags, itself too */
};

/* A number below a bound, and a fraction in [0, 1), from a stream: `Stream` of orders.py. */
int32_t below(uint64_t *state, int32_t bound);
double fraction(uint64_t *state);

/* A neighbor of an order by a random move; 0 when it is not legal, or the same. */
int neighbor(const struct line *l, const int32_t *order, uint64_t *rng, int32_t *made, int32_t *colors);

#endif
