/* Cores in order: `_in_order` of simulate.py. */

#include "model.h"

typedef struct { int begun, latency, number; } Made;

typedef struct {
    int left, last, end;
    int free[UNITS][PORTS];
} State;

/* All that the next pass depends on, counted from this cycle. */
static void snapshot(const Machine *core, const State *state, const Made *made, int registers, int cycle, int *to)
{
    *to++ = state->left, *to++ = state->last - cycle, *to++ = state->end - cycle;
    for (int unit = 0; unit < core->units; unit++)
        for (int port = 0; port < core->ports[unit]; port++) {
            int more = state->free[unit][port] - cycle;
            *to++ = more > 0 ? more : 0;
        }
    for (int i = 0; i < registers; i++) {
        int more = made[i].begun + made[i].latency - cycle;
        *to++ = more > 0 ? more * CLASSES + made[i].number : 0;
    }
}

int64_t in_order(const Machine *core, const Line *lines, int count, const int32_t *carried, int pairs, int registers,
                 int calls)
{
    static _Thread_local Made made[REGISTERS], before[REGISTERS];
    static _Thread_local int seen[2][3 + UNITS * PORTS + REGISTERS];
    int size = 3 + registers, at = 0;
    for (int unit = 0; unit < core->units; unit++)
        size += core->ports[unit];
    State state = {core->width, 0, 0, {{0}}};
    int cycle = 0;
    memset(made, 0, sizeof(Made) * registers);
    for (int call = 0; call < calls; call++) {
        for (const Line *line = lines; line < lines + count; line++) {
            const int32_t *cost = core->costs + line->number * CLASS;
            int micro_ops = cost[0], latency = cost[1], any_order = cost[3];
            if (micro_ops > state.left && micro_ops <= core->width)
                cycle++, state.left = core->width;
            int start = cycle;
            if (!any_order && state.last - line->first > start)
                start = state.last - line->first;
            for (int i = 0; i < line->reads; i++) {
                const Made *of = made + line->read[i];
                int there = of->begun + of->latency - early(core, line->purpose[i], of->number);
                if (there > start)
                    start = there;
            }
            int *taken[TAKES];
            for (int i = 0; i < cost[5]; i++) {
                int unit = cost[6 + 3 * i], *least = state.free[unit];
                for (int *port = least + 1; port < state.free[unit] + core->ports[unit]; port++)
                    if (*port < *least)
                        least = port;
                taken[i] = least;
                if (*least > start)
                    start = *least;
            }
            if (start > cycle)
                cycle = start, state.left = core->width;
            for (int i = 0; i < cost[5]; i++)
                *taken[i] = cycle + cost[7 + 3 * i];
            for (int i = 0; i < line->writes; i++)
                made[line->write[i]] = (Made){cycle, line->latency[i], line->number};
            if (!any_order)
                state.last = cycle + latency;
            if (cycle + latency > state.end)
                state.end = cycle + latency;
            for (state.left -= micro_ops; state.left < 0; state.left += core->width)
                if (++cycle > state.end)
                    state.end = cycle;
        }
        if (pairs) {
            memcpy(before, made, sizeof(Made) * registers);
            for (int i = 0; i < pairs; i++)
                made[carried[2 * i]] = before[carried[2 * i + 1]];
        }
        /* Where a pass ends as the one before did, all others do. */
        int *mine = seen[call % 2];
        snapshot(core, &state, made, registers, cycle, mine);
        if (call && !memcmp(mine, seen[1 - call % 2], size * sizeof *mine))
            return state.end + 1 + (int64_t)(calls - 1 - call) * (cycle - at);
        at = cycle;
    }
    return (int64_t)state.end + 1;
}
