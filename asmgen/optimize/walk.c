/* The annealing walk of anneal.py: the same steps from the same stream of numbers. */
#include <math.h>

#include "judge.h"
#include "order.h"

struct walk {
    struct judge *judge;
    const struct line *const *lines;
    int32_t count, total;            /* lines, and instructions in those that have more than one */
    const int32_t *first, *webs;     /* of each line, in the arrays below */
    int32_t *order, *colors;         /* what is now */
    int32_t *made, *given;           /* a candidate: the same but for one line */
    uint64_t rng;
    double heat, above, sure, far;
    double limit;                    /* that the candidate has to meet */
    int32_t line, waiting;           /* its line; whether it is still to be judged */
    int64_t moves, proposed, judged; /* moves that are left */
};

enum { SPENT, BETTER, FAR, MISSING };

static void copied(const struct walk *w, int32_t *order, int32_t *colors, const int32_t *from, const int32_t *registers)
{
    int32_t n = w->line;
    const struct line *l = w->lines[n];
    memcpy(order + w->first[n], from + w->first[n], (size_t)l->count * sizeof *order);
    memcpy(colors + w->webs[n], registers + w->webs[n], (size_t)l->webs * sizeof *colors);
}

/* A candidate from what is now; 0 when the move is not legal. */
static int proposed(struct walk *w)
{
    int32_t at = below(&w->rng, w->total), n = 0;
    for (;; n++) {
        int32_t weight = w->lines[n]->count > 1 ? w->lines[n]->count : 0;
        if (at < weight)
            break;
        at -= weight;
    }
    w->moves--;
    w->proposed++;
    w->line = n;
    if (!neighbor(w->lines[n], w->order + w->first[n], &w->rng, w->made + w->first[n], w->given + w->webs[n]))
        return 0;
    w->limit = 1 - w->heat * log(1 - fraction(&w->rng));
    return 1;
}

/* The moves that are left, until something is to be done in between: what is now seems better than the best, is too far
 * from it, or the judge is missing something for the candidate, which comes first then at the next call. */
int walk(struct walk *w)
{
    while (w->waiting || w->moves > 0) {
        if (!w->waiting && !proposed(w)) {
            copied(w, w->made, w->given, w->order, w->colors);
            continue;
        }
        double ratio = w->judge->ratio(w->judge, w->made, w->given, w->limit);
        w->waiting = ratio < 0;
        if (w->waiting)
            return MISSING;
        w->judged++;
        if (ratio >= w->limit) {
            copied(w, w->made, w->given, w->order, w->colors);
            continue;
        }
        w->judge->take(w->judge);
        copied(w, w->order, w->colors, w->made, w->given);
        w->above *= ratio;
        if (w->above < 1 - w->sure)
            return BETTER;
        if (w->above > 1 + w->far)
            return FAR;
    }
    return SPENT;
}
