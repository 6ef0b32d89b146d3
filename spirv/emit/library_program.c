// SPDX-License-Identifier: MIT
// library_program.c: functions of mathlib.vyre and mathplain.vyre as programs, parsed once.
//
//   fn tanh_f32(x: f32) -> f32 { … }   →   program tanh_f32(x: f32, r: out f32[1]) { r[0] = …; }
//
// To parse a function and all that it calls costs five times what its emission does, and a small
// kernel is compiled in less than that.  So the program of a function is made when a module of the
// process first needs it, and stays until the process ends: one for each function at most.  Nothing
// changes it afterwards, hence any number of threads may read it.  Threads that make the same
// program at once each make one; the first to publish its own wins, the others free theirs, and
// none waits.  A program that could not be made for lack of memory is not published: the next
// compilation tries again.
//
// polygamma_n has a program for each order n, of which there is no end: those are the caller's.
#include "spirv/emit/library.h"
#include "ir/pass/pass.h"
#include "ir/text/text.h"
#include "spirv/mathlib_text.h"

#include <stdatomic.h>
#include <string.h>

uint32_t vy_library_find(const char *name)
{
    for (uint32_t i = 0; i < MATHLIB_ITEM_COUNT; i++)
        if (strcmp(mathlib_items[i].name, name) == 0) return i;
    return UINT32_MAX;
}

const char *vy_library_name(uint32_t item) { return mathlib_items[item].name; }

static vy_type type_of(const mathlib_item *item)
{
    return strcmp(item->name + strlen(item->name) - 3, "f64") == 0 ? VY_F64 : VY_F32;
}

vy_type vy_library_type(uint32_t item) { return type_of(&mathlib_items[item]); }

static bool takes_order(const mathlib_item *item)
{
    return strncmp(item->name, "polygamma_", 10) == 0;
}

// The function's text with all functions that it calls.
static char *text_of(const mathlib_item *item, size_t *size)
{
    size_t total = item->text_size + 1u;
    for (uint32_t i = 0; i < item->need_count; i++)
        total += mathlib_items[mathlib_needs[item->first_need + i]].text_size + 1u;
    char *text = vy_realloc(NULL, total), *at = text;
    if (!text) return NULL;
    for (uint32_t i = 0; i <= item->need_count; i++) {
        const mathlib_item *part =
            i < item->need_count ? &mathlib_items[mathlib_needs[item->first_need + i]] : item;
        memcpy(at, part->text, part->text_size);
        at += part->text_size;
        *at++ = '\n';
    }
    *size = (size_t)(at - text);
    return text;
}

// Without the order, which is a number of the program.
static uint32_t parameter_count(const mathlib_item *item)
{
    uint32_t n = 1;
    for (const char *c = strchr(item->text, '('); c && *c && *c != ')'; c++) n += *c == ',';
    return takes_order(item) ? n - 1 : n;
}

// Scalars in, the result stored to r[0].
static bool build(vy_module *m, const mathlib_item *item, uint32_t order, const char *text,
                  size_t size)
{
    vy_builder *b = vy_program_begin(m, item->name);
    if (!b) return false;
    vy_type t = type_of(item);
    vy_value args[3], result = {0}, zero = vy_int(b, VY_U32, 0);
    uint32_t n = 0;
    if (takes_order(item)) args[n++] = vy_int(b, VY_I32, order);
    args[n++] = vy_param_scalar(b, "x", t);
    if (parameter_count(item) == 2) args[n++] = vy_param_scalar(b, "y", t);
    vy_dim one = vy_dim_const(b, 1);
    vy_buffer r = vy_param_buffer(b, "r", VY_OUT, t, 1, &one);
    vy_inline_source(b, text, size, item->name, n, args, 1, &result);
    vy_store(b, r, &zero, result);
    vy_program *p = vy_program_end(b);
    vy_pass_context c = {0};
    return p && vy_pass_dce(p, &c);
}

// NULL, with *d set unless it is memory that lacks.
static vy_module *make(const mathlib_item *item, uint32_t order, vy_diag *d)
{
    size_t size = 0;
    char *text = text_of(item, &size);
    vy_module *m = text ? vy_module_new() : NULL;
    const bool ok = m && build(m, item, order, text, size);
    vy_free(text);
    if (ok) return m;
    const vy_diag *why = m ? vy_module_diag(m) : NULL;
    if (why && why->severity == VY_ERROR && why->blame == VY_BLAME_PROGRAM)
        vy_diag_set(d, VY_E_INVALID_SPIRV, 0, 0, NULL, "internal: library function `%s`: %.300s",
                    item->name, why->text);
    vy_module_free(m);
    return NULL;
}

static _Atomic(vy_module *) made[MATHLIB_ITEM_COUNT];

static vy_module *publish(uint32_t item, vy_module *m)
{
    vy_module *first = NULL;
    if (!m || atomic_compare_exchange_strong(&made[item], &first, m)) return m;
    vy_module_free(m);
    return first;
}

const vy_program *vy_library_program(uint32_t item, uint32_t order, vy_module **own, vy_diag *d)
{
    const mathlib_item *row = &mathlib_items[item];
    vy_module *m = NULL;
    if (takes_order(row)) {
        *own = m = make(row, order, d);
    } else {
        m = atomic_load(&made[item]);
        if (!m) m = publish(item, make(row, order, d));
    }
    return m ? vy_module_program(m, 0) : NULL;
}
