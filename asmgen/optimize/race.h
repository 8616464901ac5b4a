/* What race.c and raced.c share. */
#ifndef RACE_H
#define RACE_H

#include <stdint.h>

typedef void (*code)(const uint64_t *table, uint64_t loops, uint64_t *stamps);

struct window { /* as in bench/core.c */
    code run;
    const uint64_t *table;
    uint64_t loops, warm;
    double calls;
};

void serialize(void);
double race(const struct window *a, const struct window *b, uint64_t rounds, const struct window *wide, double most);
double alone(const struct window *wide);

#endif
