/* What in_order.c, out_of_order.c, model.c and modelled.c share: simulate.py in C, the same rules in the same order and
   the same figures. The comments there tell why. */
#ifndef MODEL_H
#define MODEL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { READS = 4, WRITES = 4, TAKES = 3, LINE = 5 + 2 * READS + 2 * WRITES, CLASS = 7 + 3 * TAKES };
enum { FLAGS = 0, ZERO = 1, LOAD = 1, STORE = 2 };
enum {
    WINDOW = 512,  /* instructions under way, a power of two */
    WHEEL = 32,    /* more than any latency, a power of two */
    UNITS = 16, CHOICES = 32, CLASSES = 64, PORTS = 4, REGISTERS = 4096, OPCODES = 256
};

typedef struct {
    int width, buffer, units, groups, classes;
    const int32_t *ports;   /* of each unit, then the units of each group as bits */
    const int32_t *costs;   /* CLASS numbers a class: micro-operations, latency, memory, any order, overlap, takes (count,
                               triples), and the first class that takes the same ports */
    const int32_t *early;   /* by purpose and class */
} Machine;

/* An instruction as it is described, see described.described. */
typedef struct {
    int number, first, reads, writes;
    int read[READS], purpose[READS], write[WRITES], latency[WRITES];
} Line;

/* Instructions for a core. At the end of a pass the first register of each pair of `carried` takes the value of the
   second. */
typedef struct {
    Machine core;
    const int32_t *numbers, *carried;
    int many, pairs, registers;
    Line *own;              /* each instruction, described by itself */
    void *room;             /* of in_order.c or out_of_order.c */
    const Line **lines;     /* room for an order */
    Line *others;
    int *zeros;             /* which of its operands are the register that is always zero, as bits */
} Model;

/* How far to go: beyond `most` cycles nothing matters. `times` are those at which each pass has entered, and `before`
   those of another order, of `whole` cycles in all: what is still to come then takes no less than a part `least` of what
   it took there, less `end` cycles. With `again` the last order that the model counted is this one, for one pass, which
   helps in order. */
typedef struct {
    int64_t most;
    int32_t *times;
    const int32_t *before;
    int64_t whole;
    double least, end;
    int again;
} Pace;

static inline int late(const Pace *pace, int call, int64_t cycle)
{
    return pace->before && cycle + (pace->whole - pace->before[call]) * pace->least - pace->end > pace->most;
}

static inline int early(const Machine *core, int purpose, int number)
{
    return purpose ? core->early[(purpose - 1) * core->classes + number] : 0;
}

/* Cycles of so many passes through instructions in an order, which has to fit; more than `pace->most` when there are
   more. */
int64_t cycles(const Model *model, const int32_t *order, int count, int calls, const Pace *pace);

int64_t in_order(const Model *model, const Line *const *lines, int count, int calls, const Pace *pace);
int64_t out_of_order(const Model *model, const Line *const *lines, int count, int calls, const Pace *pace);

size_t room_in_order(void), room_out_of_order(void);

/* A model with room of its own; NULL where there is none. `fits`: whether orders of so many instructions, so many times over,
   can be counted. */
Model *modeled(const int32_t *machine, const int32_t *numbers, int32_t many, const int32_t *carried, int32_t pairs,
               int32_t registers);
int fits(const Model *model, const int32_t *order, int count, int calls);
void forgotten(Model *model);

#endif
