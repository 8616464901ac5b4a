/* Two routines timed against each other, windows in turn. */
#include <math.h>
#include <stdlib.h>

#include "race.h"

static double took(const struct window *one, uint64_t loops)
{
    uint64_t stamps[2];
    one->run(one->table, loops, stamps);
    return (double)(stamps[1] - stamps[0]);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What was written as data a moment ago is run as code: an instruction that waits for all before it, and that no
 * hypervisor answers, as it does CPUID. It returns to the next one. */
void serialize(void)
{
#if defined(__x86_64__)
    uint64_t stack;
    __asm__ volatile("mov %%rsp, %0\n\t"
                     "sub $128, %%rsp\n\t"
                     "mov %%ss, %%eax\n\t"
                     "push %%rax\n\t"
                     "push %0\n\t"
                     "pushfq\n\t"
                     "mov %%cs, %%eax\n\t"
                     "push %%rax\n\t"
                     "lea 1f(%%rip), %%rax\n\t"
                     "push %%rax\n\t"
                     "iretq\n"
                     "1:"
                     : "=&r"(stack)
                     :
                     : "rax", "cc", "memory");
#endif
}

enum { MOST = 64, PATIENCE = 4, PAUSE = 1000 };

/* Whether the core is ours alone, at once or soon: additions that do not wait for each other take no longer. */
static int quiet(const struct window *wide, double most)
{
    for (int i = 0; i < PAUSE; i++)
        if (took(wide, wide->loops) <= most)
            return 1;
    return 0;
}

/* How much longer `b` takes than `a`: so many windows of each in turn (at most 64), and of each the time that a quarter
 * of them stay below, for what disturbs a window makes it longer. Left out are rounds beside which additions take longer
 * than `most`: the core's twin was at work. NaN when PATIENCE times as many rounds are not enough. */
double race(const struct window *a, const struct window *b, uint64_t rounds, const struct window *wide, double most)
{
    double first[MOST], second[MOST];
    uint64_t good = 0;
    took(a, a->warm);
    took(b, b->warm);
    for (uint64_t i = 0; i < PATIENCE * rounds && good < rounds; i++) {
        if (!quiet(wide, most))
            return NAN;
        if (i & 1)
            second[good] = took(b, b->loops);
        first[good] = took(a, a->loops);
        if (!(i & 1))
            second[good] = took(b, b->loops);
        good += took(wide, wide->loops) <= most;
    }
    if (good < rounds)
        return NAN;
    qsort(first, good, sizeof *first, by_size);
    qsort(second, good, sizeof *second, by_size);
    return second[good / 4] / first[good / 4];
}

/* What additions that do not wait for each other take on a core of one's own: the lowest of many, but for slips of the
 * clock. */
double alone(const struct window *wide)
{
    double taken[MOST * 8];
    for (int i = 0; i < MOST * 8; i++)
        taken[i] = took(wide, wide->loops);
    qsort(taken, MOST * 8, sizeof *taken, by_size);
    return taken[MOST / 4];
}
