/* The inner loop of the timer; `child.py` does the same where there is no C compiler.
 *
 * A window is code that takes a time stamp, goes round a loop so many times, and takes another one. Before and after
 * each, chains of additions that take one cycle each tell how many time stamps a cycle has just then, and how many the
 * window spends on itself; additions that do not wait for each other tell whether the core is ours alone. */
#include <math.h>
#include <stdint.h>

typedef void (*code)(const uint64_t *table, uint64_t loops, uint64_t *stamps);

struct window {
    code run;
    const uint64_t *table;
    uint64_t loops, warm;
    double calls; /* in a loop */
};

struct unit {
    double stamps, spent; /* time stamps a cycle, and those of an empty window */
    double rate;          /* additions a cycle that do not wait for each other */
};

struct chains {
    code chain, wide;
    double block;            /* additions in a loop */
    uint64_t few, many, fit; /* loops: of a short and a long chain, and of the wide one */
};

static double took(code run, const uint64_t *table, uint64_t loops)
{
    uint64_t stamps[2];
    run(table, loops, stamps);
    return (double)(stamps[1] - stamps[0]);
}

static double quickest(code run, uint64_t loops)
{
    double once = took(run, 0, loops);
    return fmin(once, took(run, 0, loops));
}

static struct unit calibrated(const struct chains *c)
{
    double fast = quickest(c->chain, c->few), slow = quickest(c->chain, c->many);
    struct unit unit;
    unit.stamps = (slow - fast) / ((double)(c->many - c->few) * c->block);
    unit.spent = fast - (double)c->few * c->block * unit.stamps;
    unit.rate = (double)c->fit * c->block * unit.stamps / (quickest(c->wide, c->fit) - fmax(0, unit.spent));
    return unit;
}

/* cycles[i] of window order[i], a call; NaN where the chains before and after disagree by more than `agree`; rates[i]
 * is the lower of the rates before and after. */
void measure(const struct window *windows, const uint32_t *order, uint64_t count, const struct chains *chains,
             double agree, double *cycles, double *rates)
{
    struct unit before = calibrated(chains);
    for (uint64_t i = 0; i < count; i++) {
        const struct window *one = windows + order[i];
        took(one->run, one->table, one->warm);
        double stamps = took(one->run, one->table, one->loops);
        struct unit after = calibrated(chains);
        double mean = (before.stamps + after.stamps) / 2;
        int good = before.stamps > 0 && after.stamps > 0 && fabs(before.stamps - after.stamps) <= agree * mean;
        double spent = fmax(0, fmin(before.spent, after.spent));
        cycles[i] = good ? (stamps - spent) / mean / ((double)one->loops * one->calls) : NAN;
        rates[i] = fmin(before.rate, after.rate);
        before = after;
    }
}
