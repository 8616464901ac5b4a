/* Orders of instructions for the models. */

#include <stdlib.h>

#include "model.h"

static void read_machine(const int32_t *numbers, Machine *core)
{
    core->width = numbers[0], core->buffer = numbers[1], core->units = numbers[2], core->groups = numbers[3];
    core->classes = numbers[4];
    core->ports = numbers + 6;
    core->costs = core->ports + core->units + core->groups;
    core->early = core->costs + core->classes * CLASS;
}

/* Instructions in an order, as llvm-mca describes them: described.py. */
static void describe(const int32_t *numbers, const int32_t *order, int count, Line *lines)
{
    const int32_t *firsts[OPCODES] = {0};
    for (int at = 0; at < count; at++) {
        const int32_t *mine = numbers + (int64_t)order[at] * LINE, *its = mine;
        Line *line = lines + at;
        int opcode = mine[2];
        if (opcode) {
            if (!firsts[opcode])
                firsts[opcode] = mine;
            its = firsts[opcode];
        }
        line->number = mine[0], line->first = mine[1], line->reads = line->writes = 0;
        for (int i = 0, place = 4; i < mine[3]; i++, place += 2)
            if (mine[place] != ZERO && its[place] != ZERO) {
                line->read[line->reads] = mine[place];
                line->purpose[line->reads++] = mine[place + 1];
            }
        for (int i = 0, place = 5 + 2 * READS; i < mine[4 + 2 * READS]; i++, place += 2)
            if (mine[place] != ZERO) {
                int latency = its[place] == ZERO ? 0 : mine[place + 1];
                line->write[line->writes] = mine[place];
                line->latency[line->writes++] = latency;
                if (latency < line->first)
                    line->first = latency;
            }
    }
}

/* Cycles of all passes together through instructions in this order; -1 where there is no room for them. */
static int64_t total(const Machine *core, const int32_t *numbers, int many, const int32_t *order, int count,
                     const int32_t *carried, int pairs, int registers, int calls, Line *lines)
{
    if (core->buffer > WINDOW - 2 || core->units > UNITS || core->units + core->groups > CHOICES ||
        core->classes > CLASSES || registers > REGISTERS || (int64_t)count * calls > INT32_MAX)
        return -1;
    for (int i = 0; i < count; i++)
        if (order[i] < 0 || order[i] >= many || numbers[(int64_t)order[i] * LINE + 2] >= OPCODES)
            return -1;
    if (count == 0)
        return core->buffer ? 0 : 1;
    describe(numbers, order, count, lines);
    return (core->buffer ? out_of_order : in_order)(core, lines, count, carried, pairs, registers, calls);
}

/* The same for `rows` orders of `count` of the `many` instructions. */
void totals(const int32_t *machine, const int32_t *numbers, int32_t many, const int32_t *orders, int32_t rows,
            int32_t count, const int32_t *carried, int32_t pairs, int32_t registers, int32_t calls, int64_t *cycles)
{
    Machine core;
    Line *lines = malloc(sizeof(Line) * (count + 1));
    read_machine(machine, &core);
    for (int i = 0; i < rows; i++)
        cycles[i] = lines ? total(&core, numbers, many, orders + (int64_t)i * count, count, carried, pairs, registers,
                                  calls, lines) : -1;
    free(lines);
}
