/* Calls functions on vectors from standard input and writes what they leave, for tests that compare with Python integers.
 *
 *     harness features            CPUID bits of this machine, by name
 *     harness run < vectors       as below
 *
 * All numbers are 64-bit, little endian, in the machine's own order. Input: the function's number in `table`, the number of
 * vectors, then the vectors. A vector: for each argument two words of head (the number of the first argument in the same buffer;
 * 1 when the buffer begins right after a guard page, 0 when it ends right before one), then its content in whole words.
 * An argument by value has a head too, and one word. Output, for each vector: the content of every buffer in whole words,
 * then what the function returned (0 when it returns nothing).
 */

#define _DEFAULT_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"

static unsigned long vector_number;

static void die(const char *what)
{
    fprintf(stderr, "harness: %s (vector %lu)\n", what, vector_number);
    exit(2);
}

static void fault(int number)
{
    char text[64];
    int length = snprintf(text, sizeof text, "harness: signal %d in vector %lu\n", number, vector_number);
    if (write(2, text, (size_t)length) < 0) {
        _exit(4);
    }
    _exit(3);
}

static uint64_t next(void)
{
    uint64_t word;
    if (fread(&word, sizeof word, 1, stdin) != 1) {
        die("the input ends early");
    }
    return word;
}

static void put(const void *bytes, size_t size)
{
    if (size != 0 && fwrite(bytes, size, 1, stdout) != 1) {
        die("cannot write");
    }
}

/* A page between two that may not be touched. */
static unsigned char *guarded_page(size_t page)
{
    unsigned char *pages = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_READ | PROT_WRITE) != 0) {
        die("no memory");
    }
    return pages + page;
}

static void run(const struct function *function, uint64_t count)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *pages[MOST_ARGUMENTS], *buffers[MOST_ARGUMENTS];
    uint64_t arguments[MOST_ARGUMENTS] = {0};
    for (int i = 0; i < function->arguments; i++) {
        pages[i] = guarded_page(page);
        if (function->size[i] > page) {
            die("a buffer larger than a page");
        }
    }
    for (vector_number = 0; vector_number < count; vector_number++) {
        for (int i = 0; i < function->arguments; i++) {
            size_t size = function->size[i];
            uint64_t same = next(), at_start = next();
            if (same > (uint64_t)i) {
                die("an argument shares a buffer with a later one");
            }
            if (size == 0) {
                arguments[i] = next();
                continue;
            }
            buffers[i] = same < (uint64_t)i ? buffers[same] : pages[i] + (at_start ? 0 : page - size);
            for (size_t done = 0; done < size; done += 8) {
                uint64_t word = next();
                memcpy(buffers[i] + done, &word, size - done < 8 ? size - done : 8);
            }
            arguments[i] = (uint64_t)(uintptr_t)buffers[i];
        }
        uint64_t returned = function->call(arguments);
        for (int i = 0; i < function->arguments; i++) {
            static const unsigned char zeros[8];
            put(buffers[i], function->size[i]);
            put(zeros, (8 - function->size[i] % 8) % 8);
        }
        put(&returned, sizeof returned);
    }
}

#if defined(__x86_64__)
/* EBX of a CPUID leaf, subleaf 0; EAX is returned. */
static uint32_t cpuid(uint32_t leaf, uint32_t *b)
{
    uint32_t a = leaf, c = 0, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(*b), "+c"(c), "=d"(d));
    return a;
}
#endif

static void features(void)
{
#if defined(__x86_64__)
    uint32_t b;
    if (cpuid(0, &b) >= 7) {
        cpuid(7, &b);
        printf("%s%s%s", b >> 3 & 1 ? "bmi1 " : "", b >> 8 & 1 ? "bmi2 " : "", b >> 19 & 1 ? "adx " : "");
    }
#endif
    puts("");
}

int main(int count, char **words)
{
    if (count == 2 && strcmp(words[1], "features") == 0) {
        features();
        return 0;
    }
    if (count != 2 || strcmp(words[1], "run") != 0) {
        die("say features or run");
    }
    signal(SIGSEGV, fault);
    signal(SIGBUS, fault);
    signal(SIGILL, fault);
    uint64_t number = next();
    if (number >= table_length) {
        die("no such function");
    }
    run(&table[number], next());
    if (fflush(stdout) != 0) {
        die("cannot write");
    }
    return 0;
}
