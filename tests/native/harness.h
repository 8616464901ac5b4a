/* The functions that the harness can call: the table is generated for each program. */

#include <stddef.h>
#include <stdint.h>

#define MOST_ARGUMENTS 16

struct function {
    int arguments;
    size_t size[MOST_ARGUMENTS]; /* bytes of each buffer; 0 for an argument by value */
    uint64_t (*call)(const uint64_t *arguments);
};

extern const struct function table[];
extern const size_t table_length;
