// SPDX-License-Identifier: MIT
// manifest.h: what a program needs that executes a Vyre manifest: names with values, and the
// integer expressions over them in which shapes and group counts are written.
#ifndef EXAMPLE_MANIFEST_H
#define EXAMPLE_MANIFEST_H

#include <cjson/cJSON.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Prints `vulkan_only: …` to stderr and returns false.
bool wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Members of an object, "", 0 and NULL where there is none.
const char *string(const cJSON *o, const char *key);
uint32_t number(const cJSON *o, const char *key);
const cJSON *list(const cJSON *o, const char *key);

// A scalar of the program, `len(x)` (how many elements are bound to x), the counter of a repeat, or
// a value read back.
typedef struct symbol {
    char name[80];
    int64_t integer; // its value in expressions
    double real;     // its value as a float scalar
} symbol;

typedef struct symbols {
    symbol data[256];
    size_t count;
    const cJSON *expressions; // what `$12` stands for, by name; NULL: there are none
    uint64_t changes;         // how often a symbol has changed
    struct {
        unsigned long number;
        uint64_t since; // changes + 1 when it was evaluated
        int64_t value;
    } evaluated[4096]; // of those, by number
} symbols;

// NULL if there is none of that name.
symbol *symbols_find(symbols *s, const char *name);
// Adds or replaces; false: too many, or the name is too long or NULL.
bool symbols_set(symbols *s, const char *name, int64_t integer, double real);

// + − * / % min(a, b) max(a, b) isqrt(a) ceil(a/b) ( ) over integers and symbols, in signed 64
// bits; / and % truncate, as in C.  NULL, or what is wrong (also where `expression` is NULL): an
// unknown name, an overflow, a division by zero.
const char *evaluate(const char *expression, symbols *s, int64_t *value);

#endif
