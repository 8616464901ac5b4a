/* Orders of instructions for the models. */

#include <stdlib.h>

#include "model.h"

enum { LONGEST = 1 << 16 };

static void read_machine(const int32_t *numbers, Machine *core)
{
    core->width = numbers[0], core->buffer = numbers[1], core->units = numbers[2], core->groups = numbers[3];
    core->classes = numbers[4];
    core->ports = numbers + 6;
    core->costs = core->ports + core->units + core->groups;
    core->early = core->costs + core->classes * CLASS;
}

/* An instruction where llvm-mca describes its opcode by one whose operands `zeros` are zero: described.py. */
static void describe(const int32_t *mine, int zeros, Line *line)
{
    line->number = mine[0], line->first = mine[1], line->reads = line->writes = 0;
    for (int i = 0, place = 4; i < mine[3]; i++, place += 2)
        if (mine[place] != ZERO && !(zeros >> i & 1)) {
            line->read[line->reads] = mine[place];
            line->purpose[line->reads++] = mine[place + 1];
        }
    for (int i = 0, place = 5 + 2 * READS; i < mine[4 + 2 * READS]; i++, place += 2)
        if (mine[place] != ZERO) {
            int latency = zeros >> (READS + i) & 1 ? 0 : mine[place + 1];
            line->write[line->writes] = mine[place];
            line->latency[line->writes++] = latency;
            if (latency < line->first)
                line->first = latency;
        }
}

static int zeros_of(const int32_t *mine)
{
    int found = 0;
    for (int i = 0; i < mine[3]; i++)
        found |= (mine[4 + 2 * i] == ZERO) << i;
    for (int i = 0; i < mine[4 + 2 * READS]; i++)
        found |= (mine[5 + 2 * READS + 2 * i] == ZERO) << (READS + i);
    return found;
}

Model *modeled(const int32_t *machine, const int32_t *numbers, int32_t many, const int32_t *carried, int32_t pairs,
               int32_t registers)
{
    Model *made = malloc(sizeof *made);
    if (!made)
        return NULL;
    read_machine(machine, &made->core);
    made->numbers = numbers, made->carried = carried;
    made->many = many, made->pairs = pairs, made->registers = registers;
    made->own = malloc(sizeof(Line) * ((size_t)many + 1));
    made->zeros = malloc(sizeof(int) * ((size_t)many + 1));
    made->lines = malloc(sizeof *made->lines * LONGEST);
    made->others = malloc(sizeof *made->others * LONGEST);
    made->room = malloc(made->core.buffer ? room_out_of_order() : room_in_order());
    if (!made->own || !made->zeros || !made->lines || !made->others || !made->room) {
        forgotten(made);
        return NULL;
    }
    for (int i = 0; i < many; i++) {
        made->zeros[i] = zeros_of(numbers + (int64_t)i * LINE);
        describe(numbers + (int64_t)i * LINE, made->zeros[i], made->own + i);
    }
    return made;
}

void forgotten(Model *model)
{
    free(model->own);
    free(model->zeros);
    free(model->lines);
    free(model->others);
    free(model->room);
    free(model);
}

int fits(const Model *model, const int32_t *order, int count, int calls)
{
    const Machine *core = &model->core;
    if (core->buffer > WINDOW - 2 || core->units > UNITS || core->units + core->groups > CHOICES ||
        core->classes > CLASSES || model->registers > REGISTERS || (int64_t)count * calls > INT32_MAX ||
        count > LONGEST)
        return 0;
    for (int i = 0; i < core->classes; i++) {
        const int32_t *cost = core->costs + i * CLASS;
        if (core->buffer && cost[1] >= WHEEL)
            return 0;
        for (int k = 0; core->buffer && k < cost[5]; k++)
            if (cost[7 + 3 * k] >= WHEEL)
                return 0;
    }
    for (int i = 0; i < count; i++)
        if (order[i] < 0 || order[i] >= model->many || model->numbers[(int64_t)order[i] * LINE + 2] >= OPCODES)
            return 0;
    return 1;
}

int64_t cycles(const Model *model, const int32_t *order, int count, int calls, const Pace *pace)
{
    const Line **lines = model->lines;
    Line *others = model->others;
    int16_t known[OPCODES];
    int more = 0;
    memset(known, -1, sizeof known);
    for (int i = 0; i < count; i++) {
        int at = order[i], opcode = model->numbers[(int64_t)at * LINE + 2], zeros = model->zeros[at];
        lines[i] = model->own + at;
        if (!opcode)
            continue;
        if (known[opcode] < 0)
            known[opcode] = (int16_t)zeros;
        else if (known[opcode] != zeros) {
            describe(model->numbers + (int64_t)at * LINE, known[opcode], others + more);
            lines[i] = others + more++;
        }
    }
    if (count == 0)
        return model->core.buffer ? 0 : 1;
    return (model->core.buffer ? out_of_order : in_order)(model, lines, count, calls, pace);
}

/* Cycles for `rows` orders of `count` of the `many` instructions; -1 where there is no room for them. */
void totals(const int32_t *machine, const int32_t *numbers, int32_t many, const int32_t *orders, int32_t rows,
            int32_t count, const int32_t *carried, int32_t pairs, int32_t registers, int32_t calls, int64_t *found)
{
    Model *model = modeled(machine, numbers, many, carried, pairs, registers);
    Pace pace = {INT64_MAX, NULL, NULL, 0, 0, 0, 0};
    for (int i = 0; i < rows; i++) {
        const int32_t *order = orders + (int64_t)i * count;
        found[i] = model && fits(model, order, count, calls) ? cycles(model, order, count, calls, &pace) : -1;
    }
    if (model)
        forgotten(model);
}
