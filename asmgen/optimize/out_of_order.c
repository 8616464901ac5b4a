/* Cores out of order: ports.py, and `_out_of_order` of simulate.py. */

#include "model.h"

typedef struct {
    uint32_t free[UNITS], all[CHOICES], turn[CHOICES], skipped[CHOICES], open;
    int until[UNITS][PORTS];
    uint64_t busy; /* unit * PORTS + port */
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
    ports->until[unit][top(port)] = until;
    ports->busy |= 1ull << (unit * PORTS + top(port));
    ports->free[unit] &= ~port;
    if (several)
        used(ports, unit, port);
    if (!ports->free[unit]) {
        ports->open &= ~(1u << unit);
        for (int group = core->units; group < core->units + core->groups; group++)
            if (ports->all[group] >> unit & 1)
                used(ports, group, 1u << unit);
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
    for (uint64_t left = ports->busy; left; left &= left - 1) {
        int at = __builtin_ctzll(left), unit = at / PORTS;
        if (ports->until[unit][at % PORTS] == cycle) {
            ports->busy &= ~(1ull << at);
            ports->free[unit] |= 1u << at % PORTS;
            ports->open |= 1u << unit;
        }
    }
}

typedef struct {
    int place, number, unknown, ready, start, users;
    int user;    /* the first read that waits for it, else -1; reads by flight * READS + which */
    int group;   /* of memory, else -1 */
    int slot;    /* among those of its kind that may start, else -1 */
} Flight;

/* Instructions that may start and take the same ports, with the one that comes first. */
typedef struct { int count, best, all[WINDOW]; } Ready;

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

/* One that many wait for comes as many places earlier. */
static int before(const Flight *one, const Flight *other)
{
    int mine = one->place - one->users, its = other->place - other->users;
    return mine < its || (mine == its && one->place < other->place);
}

static void put(Way *way, int at)
{
    Flight *flight = way->flights + at;
    int kind = kind_of(way, flight);
    Ready *ready = way->ready + kind;
    way->kinds |= 1ull << kind;
    flight->slot = ready->count;
    ready->all[ready->count++] = at;
    if (ready->count == 1 || before(flight, way->flights + ready->best))
        ready->best = at;
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
    *flight = (Flight){place, line->number, 0, way->cycle, -1, 0, -1, -1, -1};
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
            if (maker->slot >= 0) {
                Ready *ready = way->ready + kind_of(way, maker);
                if (before(maker, way->flights + ready->best))
                    ready->best = from;
            }
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

/* The instruction of those that may start now that comes first; -1 for none. */
static int choose(Way *way)
{
    int best = -1;
    for (uint64_t left = way->kinds; left; left &= left - 1) {
        int kind = __builtin_ctzll(left), mine = way->ready[kind].best;
        if ((best < 0 || before(way->flights + mine, way->flights + best)) &&
            can(way->core, &way->ports, way->core->costs + kind * CLASS))
            best = mine;
    }
    if (best < 0)
        return -1;
    Flight *flight = way->flights + best;
    Ready *ready = way->ready + kind_of(way, flight);
    int last = ready->all[--ready->count];
    ready->all[flight->slot] = last, way->flights[last].slot = flight->slot;
    flight->slot = -1;
    if (!ready->count) {
        way->kinds &= ~(1ull << kind_of(way, flight));
        return best;
    }
    ready->best = ready->all[0];
    for (int i = 1; i < ready->count; i++)
        if (before(way->flights + ready->all[i], way->flights + ready->best))
            ready->best = ready->all[i];
    return best;
}

int64_t out_of_order(const Machine *core, const Line *lines, int count, const int32_t *carried, int pairs,
                     int registers, int calls)
{
    static _Thread_local Way space;
    Way *way = &space;
    Ports *ports = &way->ports;
    int room = core->buffer, oldest = 0, entered = 0, whole = count * calls;
    way->core = core;
    memset(ports, 0, sizeof *ports);
    for (int i = 0; i < core->units + core->groups; i++)
        ports->all[i] = ports->turn[i] = i < core->units ? (1u << core->ports[i]) - 1 : (uint32_t)core->ports[i];
    memcpy(ports->free, ports->all, sizeof ports->free);
    ports->open = (1u << core->units) - 1;
    memset(way->waking, -1, sizeof way->waking);
    memset(way->finishing, -1, sizeof way->finishing);
    for (int i = 0; i < registers; i++)
        way->made[i].flight = -1;
    way->loads = way->store = way->number = way->cycle = 0;
    way->kinds = 0;
    for (int i = 0; i < core->classes; i++)
        way->ready[i].count = 0;
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
        for (int at; (at = choose(way)) >= 0;)
            start(way, at);
        int left = core->width;
        while (entered < whole) {
            const Line *line = lines + entered % count;
            int micro_ops = core->costs[line->number * CLASS];
            if (micro_ops > left || micro_ops > room)
                break;
            left -= micro_ops, room -= micro_ops;
            enter(way, line, entered++);
            if (pairs && entered % count == 0) {
                typeof(way->made[0]) values[pairs];
                for (int i = 0; i < pairs; i++)
                    values[i] = way->made[carried[2 * i + 1]];
                for (int i = 0; i < pairs; i++)
                    way->made[carried[2 * i]] = values[i];
            }
        }
    }
    return way->cycle;
}
