/* Candidates judged by models: `Modelled` of modelled.py, the same figures. */
#include <stdlib.h>

#include "judge.h"
#include "model.h"

enum { PASSES = 32 };

/* So many calls on a core, where each cycle counts for `weight`. */
typedef struct {
    const Model *model;
    int32_t calls;
    double weight;
    int64_t now, last; /* cycles */
    int32_t times[2][PASSES];
    int32_t mine; /* which of `times` belong to what is now */
} Part;

struct modelled {
    struct judge judge;
    int32_t parts;
    double least; /* part of the cycles that are now which a candidate takes at least on another core */
    double pace, end; /* and of those of the calls that are still to come, but for so many cycles */
    Part *part;
    int32_t blocks, count;
    const int32_t *block; /* a call: (line, position of its first) or (-1, position), and how many there are in all */
    const int32_t *first, *size; /* of each line, in a candidate's order */
    int32_t arguments, colors;
    const int32_t *argument;     /* of each color, or -1 */
    const uint8_t *changed;      /* argument registers that are changed anyway */
    const uint8_t *writes;       /* whether a web is written */
    double cost;                 /* of what is now, and of the last one */
    double last;
    int32_t *order;              /* room for one */
};

/* The positions that run: argument registers that are changed are set before. */
static int run(const struct modelled *m, const int32_t *order, const int32_t *colors)
{
    uint8_t changed[PASSES];
    int32_t *to = m->order;
    memcpy(changed, m->changed, (size_t)m->arguments);
    for (int i = 0; i < m->colors; i++)
        if (m->writes[i] && m->argument[colors[i]] >= 0)
            changed[m->argument[colors[i]]] = 1;
    for (int i = 0; i < m->arguments; i++)
        if (changed[i])
            *to++ = i;
    for (int i = 0; i < m->blocks; i++) {
        int line = m->block[2 * i], at = m->block[2 * i + 1];
        if (line < 0) {
            *to++ = at;
            continue;
        }
        const int32_t *from = order + m->first[line];
        for (int k = 0; k < m->size[line]; k++)
            *to++ = at + from[k];
    }
    return (int)(to - m->order);
}

/* Whether the part before was one call on the same core. */
static int again(const struct modelled *m, int32_t at)
{
    return at && m->part[at - 1].model == m->part[at].model && m->part[at - 1].calls == 1;
}

static double modelled_ratio(struct judge *judge, const int32_t *order, const int32_t *colors, double limit)
{
    struct modelled *m = (struct modelled *)judge;
    double need = limit * m->cost, known = 0;
    int count = run(m, order, colors);
    for (int i = 0; i < m->parts; i++) {
        Part *part = m->part + i;
        double rest = known;
        for (int k = i + 1; k < m->parts; k++)
            rest += m->part[k].weight * (double)m->part[k].now * m->least;
        double most = (need - rest) / part->weight;
        if (most < 0)
            return limit;
        const int32_t *before = part->calls > 1 ? part->times[part->mine] : NULL;
        Pace pace = {INT64_MAX, part->times[!part->mine], before, part->now, m->pace, m->end, again(m, i)};
        if (most < 1e15)
            pace.most = (int64_t)most;
        part->last = cycles(part->model, m->order, count, part->calls, &pace);
        if (part->last > pace.most)
            return limit;
        known += part->weight * (double)part->last;
    }
    m->last = known;
    return known / m->cost;
}

static void modelled_take(struct judge *judge)
{
    struct modelled *m = (struct modelled *)judge;
    for (int i = 0; i < m->parts; i++) {
        m->part[i].now = m->part[i].last;
        m->part[i].mine ^= 1;
    }
    m->cost = m->last;
}

/* What is to be beaten from here on; its cost, negative where there is no room for it. */
double modelled_begin(struct modelled *m, const int32_t *order, const int32_t *colors)
{
    int count = run(m, order, colors);
    m->cost = 0;
    m->judge.ratio = modelled_ratio;
    m->judge.take = modelled_take;
    for (int i = 0; i < m->parts; i++) {
        Part *part = m->part + i;
        if (part->calls > PASSES || !fits(part->model, m->order, count, part->calls))
            return -1;
        Pace pace = {INT64_MAX, part->times[part->mine], NULL, 0, 0, 0, again(m, i)};
        part->now = cycles(part->model, m->order, count, part->calls, &pace);
        m->cost += part->weight * (double)part->now;
    }
    return m->cost;
}
