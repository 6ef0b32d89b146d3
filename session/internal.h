// SPDX-License-Identifier: MIT
// internal.h: declarations shared by the files of the session layer only.
#ifndef VYRE_SESSION_INTERNAL_H
#define VYRE_SESSION_INTERNAL_H

#include "session/words.h"

#include "ir/vyre.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

extern const vys_words vys_plain_words;

// Appends to a terminated line of `size` bytes; what does not fit is cut off.
void vys_append(char *line, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void vys_append_shape(char *line, size_t size, uint32_t rank, const uint64_t *shape); // [2, 3]

double vys_now_ms(void); // monotonic

// ---- keep_less.c: the options of a derivative that say what it keeps.
struct vys_work;
struct vy_grad_options;
void vys_keep_options(const struct vys_work *w, struct vy_grad_options *g);

struct vys_settings;
// vy_take_options with the codes of the session layer; a first error sticks.
bool vys_take(void *to, size_t known, const void *from, const char *what, vy_diag *d);
void vys_step(const struct vys_settings *s, const char *what);

#endif
