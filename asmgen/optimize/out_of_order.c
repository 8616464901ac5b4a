/* Cores out of order: ports.py, and `_out_of_order` of simulate.py. */

#include "model.h"

typedef struct {
    uint32_t free[UNITS], all[CHOICES], turn[CHOICES], skipped[CHOICES], open;
    uint32_t groups[UNITS]; /* those that a unit is in */
    uint64_t ending[WHEEL]; /* ports that become free, by cycle: bits by unit * PORTS + port */
} Ports;

static int bits(uint32_t mask) { return __builtin_popcount(mask); }
static int top(uint32_t mask) { return 31 - __builtin_clz(mask); }

static uint32_t is_free(const Machine *core, const Ports *ports, int number)
{
    return number < core->units ? ports->free[number] : ports->all[number] & ports->open;
}

static int can(const Machine *core, const Ports *ports, const int32_t *cost)
{
    int count = cost[5], overlap = cost[4];
    for (int i = 0; i < count; i++)
        if (bits(is_free(core, ports, cost[6 + 3 * i])) < cost[8 + 3 * i])
            return 0;
    if (!overlap)
        return 1;
    int left[UNITS];
    uint32_t known = 0, used = 0;
    for (int i = 0; i < count; i++) {
        int number = cost[6 + 3 * i];
        if (number < core->units) {
            known |= 1u << number;
            left[number] = bits(ports->free[number]) - 1;
            if (!left[number])
                used |= 1u << number;
        }
    }
    for (int i = 0; i < count; i++) {
        int number = cost[6 + 3 * i];
        if (number < core->units)
            continue;
        uint32_t parts = is_free(core, ports, number) & ~used;
        if (!parts)
            return 0;
        int unit = top(parts);
        if (!(known >> unit & 1))
            left[unit] = bits(ports->free[unit]), known |= 1u << unit;
        if (!left[unit])
            return 0;
        if (!--left[unit])
            used |= 1u << unit;
    }
    return 1;
}

static uint32_t next(Ports *ports, int number, uint32_t ready)
{
    if (!(ready & ports->turn[number])) {
        ports->turn[number] = ports->all[number] ^ ports->skipped[number];
        ports->skipped[number] = 0;
    }
    if (!(ready & ports->turn[number]))
        ports->turn[number] = ports->all[number];
    uint32_t part = 1u << top(ready & ports->turn[number]);
    ports->turn[number] &= part | (part - 1);
    return part;
}

static void used(Ports *ports, int number, uint32_t part)
{
    if (part > ports->turn[number]) {
        ports->skipped[number] |= part;
        return;
    }
    ports->turn[number] &= ~part;
    if (!ports->turn[number]) {
        ports->turn[number] = ports->all[number] ^ ports->skipped[number];
        ports->skipped[number] = 0;
    }
}

static void use(const Machine *core, Ports *ports, int number, int until)
{
    int unit = number < core->units ? number : top(next(ports, number, is_free(core, ports, number)));
    int several = core->ports[unit] > 1;
    uint32_t port = several ? next(ports, unit, ports->free[unit]) : 1;
    ports->ending[until % WHEEL] |= 1ull << (unit * PORTS + top(port));
    ports->free[unit] &= ~port;
    if (several)
        used(ports, unit, port);
    if (!ports->free[unit]) {
        ports->open &= ~(1u << unit);
        for (uint32_t left = ports->groups[unit]; left; left &= left - 1)
            used(ports, __builtin_ctz(left), 1u << unit);
    }
}

static void take(const Machine *core, Ports *ports, const int32_t *cost, int cycle)
{
    int waiting[TAKES], count = 0;
    for (int i = 0; i < cost[5]; i++) {
        int number = cost[6 + 3 * i];
        if (cost[4] && number >= core->units && bits(is_free(core, ports, number)) > 1)
            waiting[count++] = i;
        else
            use(core, ports, number, cycle + cost[7 + 3 * i]);
    }
    while (count) {
        int free[TAKES], later = 0;
        for (int i = 0; i < count; i++)
            free[i] = bits(is_free(core, ports, cost[6 + 3 * waiting[i]]));
        for (int i = 1; i < count; i++) /* sorted, equal ones in their order */
            for (int j = i; j && free[j] < free[j - 1]; j--) {
                int one = free[j], other = waiting[j];
                free[j] = free[j - 1], free[j - 1] = one;
                waiting[j] = waiting[j - 1], waiting[j - 1] = other;
            }
        for (int i = 0; i < count; i++) {
            int number = cost[6 + 3 * waiting[i]];
            if (!i || bits(is_free(core, ports, number)) == 1)
                use(core, ports, number, cycle + cost[7 + 3 * waiting[i]]);
            else
                waiting[later++] = waiting[i];
        }
        count = later;
    }
}

static void release(Ports *ports, int cycle)
{
    for (uint64_t left = ports->ending[cycle % WHEEL]; left; left &= left - 1) {
        int at = __builtin_ctzll(left), unit = at / PORTS;
        ports->free[unit] |= 1u << at % PORTS;
        ports->open |= 1u << unit;
    }
    ports->ending[cycle % WHEEL] = 0;
}

typedef struct {
    int place, number, unknown, ready, start, users;
    int user;    /* the first read that waits for it, else -1; reads by flight * READS + which */
    int group;   /* of memory, else -1 */
    int waits;   /* for a port: it is among those that may start */
} Flight;

/* Instructions that may start and take the same ports, by when they come: one that many wait for as many places
   earlier. The first one is `all[first]`. */
typedef struct {
    int first, end;
    int64_t all[2 * WINDOW];
} Ready;

typedef struct { int members, started, done, waiting; } Group; /* waiting: the first store, else -1 */

typedef struct {
    const Machine *core;
    Ports ports;
    Flight flights[WINDOW];
    int next_user[WINDOW * READS], after[WINDOW * READS];
    int next_waking[WINDOW], waking[WHEEL];
    int next_done[WINDOW], finishing[WHEEL];
    int next_store[2 * WINDOW]; /* a store waits for two groups at most: by flight * 2 + which */
    Group groups[WINDOW];
    int loads, store, number;   /* groups by number, 0 for none */
    Ready ready[CLASSES];       /* by kind: the first class that takes the same ports */
    uint64_t kinds;             /* those of which there are any */
    struct { int flight, place, latency; } made[REGISTERS];
    int cycle;
} Way;

static int under_way(const Group *group) { return group->started > group->done && group->started == group->members; }

static int kind_of(const Way *way, const Flight *flight) { return way->core->costs[(flight->number + 1) * CLASS - 1]; }

static int64_t turn_of(const Flight *flight)
{
    return (int64_t)(flight->place - flight->users) * ((int64_t)1 << 32) + flight->place;
}

static int flight_of(int64_t turn) { return (int)((uint32_t)turn % WINDOW); }

static void put(Way *way, int at)
{
    Flight *flight = way->flights + at;
    int kind = kind_of(way, flight), i;
    Ready *ready = way->ready + kind;
    int64_t turn = turn_of(flight);
    if (ready->end == 2 * WINDOW) {
        memmove(ready->all, ready->all + ready->first, (size_t)(ready->end - ready->first) * sizeof turn);
        ready->end -= ready->first, ready->first = 0;
    }
    for (i = ready->end++; i > ready->first && ready->all[i - 1] > turn; i--)
        ready->all[i] = ready->all[i - 1];
    ready->all[i] = turn;
    way->kinds |= 1ull << kind;
    flight->waits = 1;
}

/* One more waits for an instruction that may start. */
static void sooner(Way *way, Flight *flight)
{
    Ready *ready = way->ready + kind_of(way, flight);
    int64_t turn = turn_of(flight);
    int i = ready->end - 1;
    while (flight_of(ready->all[i]) != flight->place % WINDOW)
        i--;
    for (; i > ready->first && ready->all[i - 1] > turn; i--)
        ready->all[i] = ready->all[i - 1];
    ready->all[i] = turn;
}

static void known(Way *way, int at)
{
    Flight *flight = way->flights + at;
    if (flight->ready <= way->cycle) {
        put(way, at);
    } else {
        int *head = way->waking + flight->ready % WHEEL;
        way->next_waking[at] = *head, *head = at;
    }
}

static void heard(Way *way, int at, int ready)
{
    Flight *flight = way->flights + at;
    if (ready > flight->ready)
        flight->ready = ready;
    if (!--flight->unknown)
        known(way, at);
}

static void start(Way *way, int at)
{
    Flight *flight = way->flights + at;
    const int32_t *cost = way->core->costs + flight->number * CLASS;
    flight->start = way->cycle;
    take(way->core, &way->ports, cost, way->cycle);
    for (int user = flight->user; user >= 0; user = way->next_user[user])
        heard(way, user / READS, way->cycle + way->after[user]);
    if (flight->group >= 0) {
        Group *group = way->groups + flight->group % WINDOW;
        int *head = way->finishing + (way->cycle + cost[1]) % WHEEL;
        way->next_done[at] = *head, *head = at;
        group->started++;
        if (under_way(group)) {
            for (int user = group->waiting; user >= 0; user = way->next_store[user])
                heard(way, user / 2, way->cycle);
            group->waiting = -1;
        }
    }
}

static int new_group(Way *way)
{
    way->groups[++way->number % WINDOW] = (Group){0, 0, 0, -1};
    return way->number;
}

static void enter_memory(Way *way, int at, int memory)
{
    Flight *flight = way->flights + at;
    int mine;
    if (memory == STORE) {
        int others[2] = {way->loads, way->store};
        mine = new_group(way);
        for (int i = 0; i < 2; i++) {
            Group *other = way->groups + others[i] % WINDOW;
            if (others[i] && !under_way(other)) {
                way->next_store[2 * at + i] = other->waiting, other->waiting = 2 * at + i;
                flight->unknown++;
            }
        }
        way->store = mine;
    } else {
        mine = way->loads > way->store && !under_way(way->groups + way->loads % WINDOW) ? way->loads : new_group(way);
        way->loads = mine;
    }
    way->groups[mine % WINDOW].members++;
    flight->group = mine;
}

static void finish(Way *way, int number)
{
    Group *group = way->groups + number % WINDOW;
    if (++group->done == group->members) {
        if (way->loads == number)
            way->loads = 0;
        if (way->store == number)
            way->store = 0;
    }
}

static void enter(Way *way, const Line *line, int place)
{
    int at = place % WINDOW;
    Flight *flight = way->flights + at;
    const int32_t *cost = way->core->costs + line->number * CLASS;
    *flight = (Flight){place, line->number, 0, way->cycle, -1, 0, -1, -1, 0};
    for (int i = 0; i < line->reads; i++) {
        int from = way->made[line->read[i]].flight;
        if (from < 0)
            continue;
        Flight *maker = way->flights + from;
        if (maker->place != way->made[line->read[i]].place)
            continue; /* long since out of the buffer */
        int after = way->made[line->read[i]].latency - early(way->core, line->purpose[i], maker->number);
        if (after < 0)
            after = 0;
        if (maker->start < 0) {
            int user = at * READS + i;
            way->next_user[user] = maker->user, maker->user = user;
            way->after[user] = after;
            maker->users++;
            flight->unknown++;
            if (maker->waits)
                sooner(way, maker);
        } else if (maker->start + after > flight->ready) {
            flight->ready = maker->start + after;
        }
    }
    for (int i = 0; i < line->writes; i++) {
        way->made[line->write[i]].flight = at;
        way->made[line->write[i]].place = place;
        way->made[line->write[i]].latency = line->latency[i];
    }
    if (cost[2])
        enter_memory(way, at, cost[2]);
    if (flight->unknown)
        return;
    if (flight->ready <= way->cycle && !cost[5] && !cost[1])
        start(way, at);
    else
        known(way, at);
}

/* Start what may start now, each time the instruction that comes first. */
static void start_all(Way *way)
{
    const Machine *core = way->core;
    uint64_t blocked = 0; /* kinds whose ports are taken, as they will be for the rest of the cycle */
    for (;;) {
        int best = -1;
        int64_t turn = 0;
        for (uint64_t left = way->kinds & ~blocked; left; left &= left - 1) {
            int kind = __builtin_ctzll(left);
            const Ready *ready = way->ready + kind;
            if (best >= 0 && ready->all[ready->first] > turn)
                continue;
            const int32_t *cost = core->costs + kind * CLASS;
            if (can(core, &way->ports, cost))
                best = kind, turn = ready->all[ready->first];
            else if (!cost[4])
                blocked |= 1ull << kind;
        }
        if (best < 0)
            return;
        Ready *ready = way->ready + best;
        if (++ready->first == ready->end) {
            ready->first = ready->end = 0;
            way->kinds &= ~(1ull << best);
        }
        way->flights[flight_of(turn)].waits = 0;
        start(way, flight_of(turn));
    }
}

static void hand_on(Way *way, const Model *model)
{
    typeof(way->made[0]) values[REGISTERS];
    for (int i = 0; i < model->pairs; i++)
        values[i] = way->made[model->carried[2 * i + 1]];
    for (int i = 0; i < model->pairs; i++)
        way->made[model->carried[2 * i]] = values[i];
}

int64_t out_of_order(const Model *model, const Line *const *lines, int count, int calls, const Pace *pace)
{
    Way *way = model->room;
    Ports *ports = &way->ports;
    const Machine *core = &model->core;
    int room = core->buffer, oldest = 0, entered = 0, whole = count * calls, next_line = 0, call = 0;
    way->core = core;
    memset(ports, 0, sizeof *ports);
    for (int i = 0; i < core->units + core->groups; i++)
        ports->all[i] = ports->turn[i] = i < core->units ? (1u << core->ports[i]) - 1 : (uint32_t)core->ports[i];
    for (int group = core->units; group < core->units + core->groups; group++)
        for (uint32_t left = ports->all[group]; left; left &= left - 1)
            ports->groups[__builtin_ctz(left)] |= 1u << group;
    memcpy(ports->free, ports->all, sizeof ports->free);
    ports->open = (1u << core->units) - 1;
    memset(way->waking, -1, sizeof way->waking);
    memset(way->finishing, -1, sizeof way->finishing);
    for (int i = 0; i < model->registers; i++)
        way->made[i].flight = -1;
    way->loads = way->store = way->number = way->cycle = 0;
    way->kinds = 0;
    for (int i = 0; i < core->classes; i++)
        way->ready[i].first = way->ready[i].end = 0;
    for (; entered < whole || oldest < entered; way->cycle++) {
        int cycle = way->cycle;
        for (; oldest < entered; oldest++) {
            const Flight *flight = way->flights + oldest % WINDOW;
            const int32_t *cost = core->costs + flight->number * CLASS;
            if (flight->start < 0 || flight->start + cost[1] >= cycle)
                break;
            room += cost[0];
        }
        release(ports, cycle);
        for (int at = way->finishing[cycle % WHEEL]; at >= 0; at = way->next_done[at])
            finish(way, way->flights[at].group);
        way->finishing[cycle % WHEEL] = -1;
        for (int at = way->waking[cycle % WHEEL]; at >= 0; at = way->next_waking[at])
            put(way, at);
        way->waking[cycle % WHEEL] = -1;
        start_all(way);
        int left = core->width;
        while (entered < whole) {
            const Line *line = lines[next_line];
            int micro_ops = core->costs[line->number * CLASS];
            if (micro_ops > left || micro_ops > room)
                break;
            left -= micro_ops, room -= micro_ops;
            enter(way, line, entered++);
            if (++next_line < count)
                continue;
            next_line = 0;
            if (model->pairs)
                hand_on(way, model);
            if (pace->times)
                pace->times[call] = cycle;
            if (late(pace, call, cycle))
                return INT64_MAX;
            call++;
        }
        if (cycle >= pace->most && (entered < whole || oldest < entered))
            return INT64_MAX;
    }
    return way->cycle;
}

size_t room_out_of_order(void) { return sizeof(Way); }
