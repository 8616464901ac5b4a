/* What in_order.c, out_of_order.c and model.c share: simulate.py in C, the same rules in the same order and the same
   figures. The comments there tell why. */

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

/* An instruction as it is described, see simulate.described. */
typedef struct {
    int number, first, reads, writes;
    int read[READS], purpose[READS], write[WRITES], latency[WRITES];
} Line;

static inline int early(const Machine *core, int purpose, int number)
{
    return purpose ? core->early[(purpose - 1) * core->classes + number] : 0;
}

/* Cycles of so many passes through the lines. After each, for every pair of `carried` the first register takes the value
   of the second. */
int64_t in_order(const Machine *core, const Line *lines, int count, const int32_t *carried, int pairs, int registers,
                 int calls);
int64_t out_of_order(const Machine *core, const Line *lines, int count, const int32_t *carried, int pairs,
                     int registers, int calls);
