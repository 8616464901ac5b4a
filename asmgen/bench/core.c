/* The inner loop of the timer; `child.py` does the same where there is no C compiler.
 *
 * A window is code that takes a time stamp, goes round a loop so many times, and takes another one. Before and after
 * each, chains of additions that take one cycle each tell how many time stamps a cycle has just then, and how many the
 * window spends on itself. */
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
};

static double took(code run, const uint64_t *table, uint64_t loops)
{
    uint64_t stamps[2];
    run(table, loops, stamps);
    return (double)(stamps[1] - stamps[0]);
}

static struct unit calibrated(code chain, double block, uint64_t few, uint64_t many)
{
    double fast = fmin(took(chain, 0, few), took(chain, 0, few));
    double slow = fmin(took(chain, 0, many), took(chain, 0, many));
    struct unit unit;
    unit.stamps = (slow - fast) / ((double)(many - few) * block);
    unit.spent = fast - (double)few * block * unit.stamps;
    return unit;
}

/* cycles[i] of window order[i], a call; NaN where the chains before and after disagree by more than `agree`. */
void measure(const struct window *windows, const uint32_t *order, uint64_t count, code chain, double block,
             uint64_t few, uint64_t many, double agree, double *cycles)
{
    struct unit before = calibrated(chain, block, few, many);
    for (uint64_t i = 0; i < count; i++) {
        const struct window *one = windows + order[i];
        took(one->run, one->table, one->warm);
        double stamps = took(one->run, one->table, one->loops);
        struct unit after = calibrated(chain, block, few, many);
        double mean = (before.stamps + after.stamps) / 2;
        int good = before.stamps > 0 && after.stamps > 0 && fabs(before.stamps - after.stamps) <= agree * mean;
        double spent = fmax(0, fmin(before.spent, after.spent));
        cycles[i] = good ? (stamps - spent) / mean / ((double)one->loops * one->calls) : NAN;
        before = after;
    }
}
