/* Orders of a straight line: random moves, whether they are legal, and registers for them. `arrange.py` says what is
 * legal and is what builds use; this gives the same answers, faster. */
#include "order.h"

static uint64_t drawn(uint64_t *state)
{
    uint64_t x = *state; /* xorshift64*, G. Marsaglia and S. Vigna */
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * 0x2545F4914F6CDD1D;
}

int32_t below(uint64_t *state, int32_t bound)
{
    return (int32_t)((drawn(state) >> 32) * (uint64_t)bound >> 32);
}

double fraction(uint64_t *state)
{
    return (double)(drawn(state) >> 11) * 0x1p-53;
}

static int has(const uint64_t *mask, int32_t at)
{
    return mask[at >> 6] >> (at & 63) & 1;
}

/* Whether flags allow an order; values and memory do after any move. */
static int legal(const struct line *l, const int32_t *order)
{
    int32_t writer[FLAGS];
    for (int f = 0; f < FLAGS; f++)
        writer[f] = -1;
    for (int32_t i = 0; i < l->count; i++) {
        int32_t at = order[i];
        const int32_t *reads = l->reads + at * FLAGS;
        for (uint32_t left = l->asks[at]; left; left &= left - 1)
            if (reads[__builtin_ctz(left)] != writer[__builtin_ctz(left)])
                return 0;
        for (uint32_t left = l->touches[at]; left; left &= left - 1)
            writer[__builtin_ctz(left)] = at;
    }
    for (int f = 0; f < FLAGS; f++)
        if (l->wanted[f] != -2 && l->wanted[f] != writer[f])
            return 0;
    return 1;
}

struct span {
    int32_t start, end;
};

/* When a register is next taken after `start` by a fixed web; -1 when it is at that time. What ends before is
 * forgotten: later webs do not start earlier. */
static int32_t room(const struct span *spans, const int32_t *next, int32_t *first, struct span one, int32_t never)
{
    while (*first >= 0 && spans[*first].end < one.start)
        *first = next[*first];
    return *first < 0 ? never : spans[*first].start > one.end ? spans[*first].start : -1;
}

/* Registers for the webs that are free to choose: the old one where that is free and `old`, else the free one that is
 * needed elsewhere soonest after a web; 0 where there is none. */
static int given(const struct line *l, const struct span *spans, const int32_t *sorted, const int32_t *next,
                 const int32_t *fixed, int old, int32_t *colors)
{
    int32_t busy[REGISTERS], first[REGISTERS], never = 2 * l->count + 1;
    memcpy(first, fixed, sizeof first);
    for (int r = 0; r < REGISTERS; r++)
        busy[r] = -2;
    for (int32_t i = 0; i < l->webs; i++) {
        int32_t web = sorted[i], mine = l->old[web], chosen = -1, soonest = never + 1;
        struct span one = spans[web];
        if (l->fixed[web])
            continue;
        if (old && mine < l->registers && busy[mine] < one.start &&
            room(spans, next, first + mine, one, never) > one.end) {
            colors[web] = mine;
            busy[mine] = one.end;
            continue;
        }
        for (int32_t r = 0; r < l->registers; r++) {
            if (busy[r] >= one.start)
                continue;
            int32_t after = room(spans, next, first + r, one, never);
            if (after > one.end && after < soonest)
                chosen = r, soonest = after;
        }
        if (chosen < 0)
            return 0;
        colors[web] = chosen;
        busy[chosen] = one.end;
    }
    return 1;
}

/* A register for each web; 0 when they do not suffice. */
int colored(const struct line *l, const int32_t *order, int32_t *colors)
{
    int32_t place[MOST], sorted[MOST], next[MOST], first[REGISTERS], last[REGISTERS], count = 0;
    struct span spans[MOST];
    for (int32_t i = 0; i < l->count; i++)
        place[order[i]] = i;
    for (int32_t i = -1; i < l->count; i++) {
        int32_t at = i < 0 ? l->count : order[i];
        for (int32_t k = l->made_first[at]; k < l->made_first[at + 1]; k++) {
            int32_t web = sorted[count++] = l->made[k], end;
            spans[web].start = end = i < 0 ? -1 : 2 * i + 1;
            for (int32_t u = l->use_first[web]; u < l->use_first[web + 1]; u++) {
                int32_t when = 2 * place[l->uses[u] >> 1] + (l->uses[u] & 1);
                end = when > end ? when : end;
            }
            spans[web].end = l->lasts[web] ? 2 * l->count : end;
        }
    }
    for (int r = 0; r < REGISTERS; r++)
        first[r] = last[r] = -1;
    for (int32_t i = 0; i < count; i++) {
        int32_t web = sorted[i], r = l->old[web];
        if (!l->fixed[web])
            continue;
        if (last[r] >= 0 && spans[last[r]].end >= spans[web].start)
            return 0;
        next[web] = -1;
        if (last[r] >= 0)
            next[last[r]] = web;
        else
            first[r] = web;
        last[r] = web;
        colors[web] = r;
    }
    return given(l, spans, sorted, next, first, 1, colors) || given(l, spans, sorted, next, first, 0, colors);
}

/* The instruction at `from` to the place `to`, with those between that it waits for, or that wait for it. */
static void shifted(const struct line *l, int32_t *order, int32_t from, int32_t to)
{
    int32_t moved[MOST], stay[MOST], m = 0, s = 0;
    uint64_t set[MOST / 64] = {0};
    if (to < from) {
        memcpy(set, l->before + (int64_t)order[from] * l->words, (size_t)l->words * 8);
        for (int32_t i = from; i >= to; i--) {
            int32_t at = order[i];
            if (i == from || has(set, at)) {
                moved[m++] = at;
                for (int32_t w = 0; w < l->words; w++)
                    set[w] |= l->before[(int64_t)at * l->words + w];
            } else
                stay[s++] = at;
        }
        int32_t i = to;
        while (m)
            order[i++] = moved[--m];
        while (s)
            order[i++] = stay[--s];
    } else {
        for (int32_t i = from; i <= to; i++) {
            int32_t at = order[i];
            int wait = i == from;
            for (int32_t w = 0; w < l->words && !wait; w++)
                wait = (l->before[(int64_t)at * l->words + w] & set[w]) != 0;
            if (wait) {
                moved[m++] = at;
                set[at >> 6] |= (uint64_t)1 << (at & 63);
            } else
                stay[s++] = at;
        }
        memcpy(order + from, stay, (size_t)s * sizeof *order);
        memcpy(order + from + s, moved, (size_t)m * sizeof *order);
    }
}

static int32_t distance(uint64_t *rng, int32_t count)
{
    /* mostly short, now and then across the line */
    int32_t most = below(rng, 8) == 0 ? count : below(rng, 3) == 0 ? 16 : 4;
    return 1 + below(rng, most < count ? most : count - 1);
}

static int32_t bounded(int32_t place, int32_t count)
{
    return place < 0 ? 0 : place >= count ? count - 1 : place;
}

static int32_t found(const int32_t *order, int32_t at)
{
    int32_t i = 0;
    while (order[i] != at)
        i++;
    return i;
}

int neighbor(const struct line *l, const int32_t *order, uint64_t *rng, int32_t *made, int32_t *colors)
{
    size_t size = (size_t)l->count * sizeof *order;
    if (l->count < 2)
        return 0;
    memcpy(made, order, size);
    int kind = below(rng, 8);
    int times = kind == 7 ? 2 : 1;
    for (int t = 0; t < times; t++) {
        int32_t from = below(rng, l->count), far = distance(rng, l->count), at = made[from];
        int32_t size_of = l->chain_first[at + 1] - l->chain_first[at];
        if (below(rng, 2))
            far = -far;
        if (kind >= 2 || size_of < 2) {
            shifted(l, made, from, bounded(from + far, l->count));
            continue;
        }
        const int32_t *chain = l->chain + l->chain_first[at];
        for (int32_t k = 0; k < size_of; k++) { /* the whole chain, the end that leads first */
            int32_t member = chain[far < 0 ? k : size_of - 1 - k], here = found(made, member);
            shifted(l, made, here, bounded(here + far, l->count));
        }
    }
    return memcmp(made, order, size) != 0 && legal(l, made) && colored(l, made, colors);
}
