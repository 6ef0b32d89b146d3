// SPDX-License-Identifier: MIT
// tool.h: what every file of the command uses: failing, growing text, exit statuses.
//
// Nothing but main.c ends the process.  A function that can fail returns false and fills a vy_diag.
#ifndef VYRE_TOOL_H
#define VYRE_TOOL_H

#include "ir/vyre.h"
#include "session/fail.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOOL_NAME "vyre-grad"
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

// exit statuses (docs/language.md 10.7)
enum { STATUS_FINE, STATUS_WRONG, STATUS_SYSTEM, STATUS_CHECK };

typedef enum tool_code {
#define X(id, code, blame, fix) TOOL_##id,
#include "tools/data/codes.h"
#undef X
} tool_code;

// Fills *d, unless it holds an error already, and returns false.  `fix` NULL: the code's own.
bool fail(vy_diag *d, tool_code code, const char *fix, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool fail_memory(vy_diag *d);

// Text that grows.  After `failed` (memory) additions do nothing; look once at the end.
typedef struct text {
    char *data; // terminated once something was added
    size_t size, capacity;
    bool failed;
} text;

void text_add(text *t, const void *data, size_t size);
void text_puts(text *t, const char *s);
void text_printf(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_free(text *t);

// A list of names, each owned by whoever put it in.
typedef struct names {
    const char **data;
    uint32_t count, capacity;
} names;
bool names_add(names *n, const char *name); // false: memory
bool names_have(const names *n, const char *name);
void names_free(names *n);

// Adds " 'a', 'b' and 'c'" style lists: names joined by ", ".
void text_join(text *t, const char *const *items, uint32_t count);

double now_ms(void); // monotonic
double cpu_ms(void); // of all threads

#endif
