/* Cores in order: `_in_order` of simulate.py. */

#include "model.h"

typedef struct { int begun, latency, number; } Made;

typedef struct {
    int left, last, end;
    int free[UNITS][PORTS];
} State;

typedef struct {
    Made made[REGISTERS], before[REGISTERS];
    int seen[2][3 + UNITS * PORTS + 2 * REGISTERS];
    int16_t asked[2 * REGISTERS];
    State state;
    int cycle; /* of the first pass; `state` and `made` are as it left them */
    uint8_t marks[REGISTERS];
} Room;

/* The registers that a pass reads before it writes them, and those that are handed on: all that the next pass may ask
   for. */
static int asked(const Model *model, const Line *const *lines, int count, Room *room)
{
    uint8_t *seen = room->marks;
    int16_t *found = room->asked;
    int many = 0;
    memset(seen, 0, (size_t)model->registers);
    for (int at = 0; at < count; at++) {
        const Line *line = lines[at];
        for (int i = 0; i < line->reads; i++)
            if (!seen[line->read[i]]++)
                found[many++] = (int16_t)line->read[i];
        for (int i = 0; i < line->writes; i++)
            seen[line->write[i]] = 1;
    }
    for (int i = 0; i < model->pairs; i++)
        found[many++] = (int16_t)model->carried[2 * i + 1];
    return many;
}

/* All that the next pass depends on, counted from this cycle. */
static int snapshot(const Machine *core, const State *state, const Made *made, const int16_t *asked, int many, int cycle,
                    int *to)
{
    int *start = to;
    *to++ = state->left, *to++ = state->last - cycle, *to++ = state->end - cycle;
    for (int unit = 0; unit < core->units; unit++)
        for (int port = 0; port < core->ports[unit]; port++) {
            int more = state->free[unit][port] - cycle;
            *to++ = more > 0 ? more : 0;
        }
    for (int i = 0; i < many; i++) {
        const Made *of = made + asked[i];
        int more = of->begun + of->latency - cycle;
        *to++ = more > 0 ? more * CLASSES + of->number : 0;
    }
    return (int)(to - start);
}

static int pass(const Machine *core, const Line *const *lines, int count, State *kept, Made *made, int cycle)
{
    State state = *kept;
    for (int at = 0; at < count; at++) {
        const Line *line = lines[at];
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
    *kept = state;
    return cycle;
}

static void hand_on(const Model *model, Room *room)
{
    memcpy(room->before, room->made, sizeof(Made) * model->registers);
    for (int i = 0; i < model->pairs; i++)
        room->made[model->carried[2 * i]] = room->before[model->carried[2 * i + 1]];
}

int64_t in_order(const Model *model, const Line *const *lines, int count, int calls, const Pace *pace)
{
    Room *room = model->room;
    Made *made = room->made;
    const Machine *core = &model->core;
    State state = pace->again ? room->state : (State){core->width, 0, 0, {{0}}};
    int cycle = pace->again ? room->cycle : 0, at = 0, many = calls > 1 ? asked(model, lines, count, room) : 0;
    if (!pace->again)
        memset(made, 0, sizeof(Made) * model->registers);
    for (int call = 0; call < calls; call++) {
        if (call || !pace->again)
            cycle = pass(core, lines, count, &state, made, cycle);
        if (!call)
            room->state = state, room->cycle = cycle;
        if (model->pairs && (call || !pace->again))
            hand_on(model, room);
        if (pace->times)
            pace->times[call] = cycle;
        if (state.end >= pace->most || late(pace, call, cycle))
            return INT64_MAX;
        if (call + 1 == calls)
            break;
        /* Where a pass ends as the one before did, all others do. */
        int *mine = room->seen[call % 2], size = snapshot(core, &state, made, room->asked, many, cycle, mine);
        if (call && !memcmp(mine, room->seen[1 - call % 2], size * sizeof *mine)) {
            int took = cycle - at;
            while (++call < calls) {
                cycle += took, state.end += took;
                if (pace->times)
                    pace->times[call] = cycle;
                if (late(pace, call, cycle))
                    return INT64_MAX;
            }
            break;
        }
        at = cycle;
    }
    return (int64_t)state.end + 1;
}

size_t room_in_order(void) { return sizeof(Room); }
