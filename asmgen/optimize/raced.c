/* Candidates judged by a race: `Native` of native.py, with their machine code made of pieces that are kept. */
#define _POSIX_C_SOURCE 199309L
#include <math.h>
#include <string.h>
#include <time.h>

#include "judge.h"
#include "race.h"

enum { MISSED = 64, PARTS = 64, NEVER = 300, SPARE = 32 };

/* A mode in a context: the windows of either place, and what the ratio counts for. */
struct pair {
    struct window windows[2];
    double weight;
};

/* A part of the routine: bytes that stay, a line, a place to jump to, or a jump to one. */
enum { BYTES, STRAIGHT, LABEL, JUMP };
struct block {
    int32_t kind, number, size;
    const uint8_t *bytes;
};

/* The code of an instruction with certain registers, or of a jump over a certain distance. */
struct piece {
    uint64_t key; /* 0: none */
    int32_t size;
    uint8_t bytes[20];
};

struct raced {
    struct judge judge;
    const struct pair *pairs;
    int32_t count, glance, rounds;
    double close;
    const struct window *wide;
    double most, alone; /* time of the additions on a quiet core, and how many times that is still quiet */
    uint8_t *const *places; /* where the code of one place is written, then of the other */
    int32_t copies, room, now;
    const struct block *blocks;
    int32_t parts, instructions;
    const int32_t *first, *size; /* of each line */
    const int32_t *use_first, *uses; /* the webs of each instruction */
    struct piece *pieces;        /* by hash; `mask` is one less than how many there is room for */
    uint32_t mask, filled;
    int32_t missed;              /* pieces that Python is asked for */
    int64_t missing[MISSED];     /* number of the instruction, or after those of the jump, and the distance */
    uint8_t *code;
    double waited; /* seconds of CPU time for the core to be quiet */
};

static struct piece *place_of(const struct raced *r, uint64_t key)
{
    uint64_t hash = key * 0x9E3779B97F4A7C15u;
    uint32_t at = (uint32_t)(hash >> 32) & r->mask;
    while (r->pieces[at].key && r->pieces[at].key != key)
        at = (at + 1) & r->mask;
    return r->pieces + at;
}

static uint64_t key_of(const struct raced *r, int32_t instruction, const int32_t *colors)
{
    uint64_t key = (uint64_t)instruction + 1;
    for (int32_t u = r->use_first[instruction]; u < r->use_first[instruction + 1]; u++)
        key = key << 6 | (uint64_t)colors[r->uses[u]];
    return key << 8 | (uint64_t)(r->use_first[instruction + 1] - r->use_first[instruction]);
}

static uint64_t jump_key(const struct raced *r, int32_t jump, int32_t distance)
{
    return (uint64_t)(r->instructions + jump + 1) << 40 | (uint64_t)(uint32_t)distance << 8 | 0xff;
}

static void miss(struct raced *r, int32_t number, int32_t distance)
{
    if (r->missed < MISSED)
        r->missing[r->missed++] = (int64_t)number << 32 | (uint32_t)distance;
}

/* A piece that was missing: an instruction with these registers, or a jump. */
void raced_piece(struct raced *r, int32_t number, int32_t distance, const int32_t *colors, const uint8_t *bytes,
                 int32_t size)
{
    uint64_t key = number < r->instructions ? key_of(r, number, colors)
                                            : jump_key(r, number - r->instructions, distance);
    if (r->filled > r->mask / 2) {
        memset(r->pieces, 0, (r->mask + (size_t)1) * sizeof *r->pieces);
        r->filled = 0;
    }
    struct piece *piece = place_of(r, key);
    r->filled += !piece->key;
    piece->key = key, piece->size = size;
    memcpy(piece->bytes, bytes, (size_t)size);
}

static int32_t straight(struct raced *r, int32_t line, const int32_t *order, const int32_t *colors, uint8_t *to)
{
    uint8_t *start = to;
    for (int32_t i = 0; i < r->size[line]; i++) {
        int32_t instruction = r->first[line] + order[r->first[line] + i];
        const struct piece *piece = place_of(r, key_of(r, instruction, colors));
        if (!piece->key) {
            miss(r, instruction, 0);
            continue;
        }
        memcpy(to, piece->bytes, sizeof piece->bytes);
        to += piece->size;
    }
    return (int32_t)(to - start);
}

/* The bytes of a candidate, jumps as short as they can be; their number, -1 when pieces are missing or there is no
 * room. */
static int32_t coded(struct raced *r, const int32_t *order, const int32_t *colors)
{
    int32_t sizes[PARTS], starts[PARTS], lines[PARTS], labels[PARTS] = {0}, used = 0;
    uint8_t *lined = r->code + r->room + SPARE; /* lines one after another, before they are placed */
    r->missed = 0;
    for (int32_t i = 0; i < r->parts; i++) {
        const struct block *block = r->blocks + i;
        sizes[i] = block->kind == BYTES ? block->size : 0;
        if (block->kind != STRAIGHT)
            continue;
        lines[i] = used;
        sizes[i] = straight(r, block->number, order, colors, lined + used);
        used += sizes[i];
    }
    if (r->missed)
        return -1;
    for (int changed = 1; changed;) {
        int32_t at = 0;
        changed = 0;
        for (int32_t i = 0; i < r->parts; i++) {
            starts[i] = at;
            at += sizes[i];
            if (r->blocks[i].kind == LABEL)
                labels[r->blocks[i].number] = starts[i];
        }
        if (at > r->room)
            return -1;
        for (int32_t i = 0; i < r->parts; i++) {
            const struct block *block = r->blocks + i;
            if (block->kind != JUMP)
                continue;
            int32_t distance = labels[block->number] - starts[i];
            const struct piece *piece = place_of(r, jump_key(r, block->size, distance));
            if (!piece->key) {
                miss(r, r->instructions + block->size, distance);
                return -1;
            }
            memcpy(r->code + starts[i], piece->bytes, (size_t)piece->size);
            if (piece->size > sizes[i])
                sizes[i] = piece->size, changed = 1;
        }
    }
    for (int32_t i = 0; i < r->parts; i++) {
        const struct block *block = r->blocks + i;
        if (block->kind == BYTES)
            memcpy(r->code + starts[i], block->bytes, (size_t)sizes[i]);
        else if (block->kind == STRAIGHT)
            memcpy(r->code + starts[i], lined + lines[i], (size_t)sizes[i]);
    }
    return starts[r->parts - 1] + sizes[r->parts - 1];
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The other's time by that of what is to be beaten, in one mode and context; it waits for a quiet moment. */
static double one(struct raced *r, const struct pair *pair, int32_t rounds)
{
    for (int attempt = 0; attempt < NEVER; attempt++) {
        double began = seconds();
        double ratio = race(pair->windows + r->now, pair->windows + !r->now, (uint64_t)rounds, r->wide, r->most);
        if (!isnan(ratio))
            return ratio;
        struct timespec pause = {0, 200000 * (attempt < 10 ? attempt : 10)};
        nanosleep(&pause, NULL);
        r->waited += seconds() - began;
    }
    double now = alone(r->wide) * r->alone; /* perhaps the clock is another one now */
    r->most = now > r->most ? now : r->most;
    return INFINITY;
}

static double raced_ratio(struct judge *judge, const int32_t *order, const int32_t *colors, double limit)
{
    struct raced *r = (struct raced *)judge;
    int32_t size = coded(r, order, colors);
    if (size < 0)
        return r->missed ? -1 : limit; /* too long to be looked at */
    for (int32_t i = 0; i < r->copies; i++)
        memcpy(r->places[!r->now * r->copies + i], r->code, (size_t)size);
    serialize();
    double sum = 0, weight = 0;
    for (int32_t i = 0; i < r->count; i++) {
        sum += r->pairs[i].weight * one(r, r->pairs + i, r->rounds);
        weight += r->pairs[i].weight;
        if (i + 1 >= r->glance && sum / weight > limit + r->close * r->glance / (i + 1))
            break;
    }
    return sum / weight;
}

static void raced_take(struct judge *judge)
{
    struct raced *r = (struct raced *)judge;
    r->now = !r->now;
}

/* What is to be beaten lies in the first place. */
void raced_begin(struct raced *r, double most)
{
    r->judge.ratio = raced_ratio;
    r->judge.take = raced_take;
    r->most = most;
    r->now = 0;
}

/* The bytes of a candidate in `code`, and how many; -1 when pieces are missing or there is no room. */
int32_t raced_code(struct raced *r, const int32_t *order, const int32_t *colors)
{
    return coded(r, order, colors);
}
