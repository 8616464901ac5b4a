/* Keeps numbers in numbered places and calls functions on them, as standard input says: tests write protocols with it.
 *
 * All is 64-bit words in the machine's own order. A command is one of
 *
 *     0, place, count, words...   the words are put there
 *     1, place, count             the words that stand there are written to standard output
 *     2, place, from               a whole place is copied
 *     3 + number, arguments...    a function of `table` is called: a place for each buffer, a number for each value;
 *                                 what it returns is written to standard output if it returns something
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define PLACES 4096
#define WORDS 16

/* Of each function in `table`: 1 when what it returns is a result. Generated with the table. */
extern const unsigned char returns[];

static uint64_t places[PLACES][WORDS];

static void die(const char *what)
{
    fprintf(stderr, "calculator: %s\n", what);
    exit(2);
}

/* One word of input; the program ends where the input does. */
static uint64_t next(void)
{
    uint64_t word;
    if (fread(&word, sizeof word, 1, stdin) != 1) {
        exit(0);
    }
    return word;
}

static uint64_t *place(void)
{
    uint64_t number = next();
    if (number >= PLACES) {
        die("no such place");
    }
    return places[number];
}

static size_t count(void)
{
    uint64_t words = next();
    if (words > WORDS) {
        die("a place is too small");
    }
    return (size_t)words;
}

static void put(const uint64_t *words, size_t number)
{
    if (fwrite(words, sizeof *words, number, stdout) != number || fflush(stdout) != 0) {
        die("cannot write");
    }
}

static void call(uint64_t number)
{
    if (number >= table_length) {
        die("no such function");
    }
    const struct function *function = &table[number];
    uint64_t arguments[MOST_ARGUMENTS] = {0};
    for (int i = 0; i < function->arguments; i++) {
        if (function->size[i] > sizeof places[0]) {
            die("a place is too small");
        }
        arguments[i] = function->size[i] != 0 ? (uint64_t)(uintptr_t)place() : next();
    }
    uint64_t returned = function->call(arguments);
    if (returns[number] != 0) {
        put(&returned, 1);
    }
}

int main(void)
{
    for (;;) {
        uint64_t command = next();
        if (command == 0) {
            uint64_t *to = place();
            for (size_t i = 0, words = count(); i < words; i++) {
                to[i] = next();
            }
        } else if (command == 1) {
            uint64_t *from = place();
            put(from, count());
        } else if (command == 2) {
            uint64_t *to = place();
            memmove(to, place(), sizeof places[0]);
        } else {
            call(command - 3);
        }
    }
}
