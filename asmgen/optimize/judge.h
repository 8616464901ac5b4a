/* Who compares candidates: modelled.c, raced.c. */
#ifndef JUDGE_H
#define JUDGE_H

#include <stdint.h>

/* A candidate is the orders of all lines, one after another, and the registers of their webs. */
struct judge {
    /* Its cost by that of what is to be beaten; what reaches `limit` may be rough. Negative: something is missing that
       Python has to make first. */
    double (*ratio)(struct judge *self, const int32_t *order, const int32_t *colors, double limit);
    /* The last one that was looked at is what is to be beaten from here on. */
    void (*take)(struct judge *self);
};

#endif
