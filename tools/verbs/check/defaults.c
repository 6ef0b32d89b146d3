// SPDX-License-Identifier: MIT
// defaults.c: data and sizes for `check FILE` without anything else.
//
// Sizes differ from one another, so that a transposed index shows.  Float buffers are one after the
// other normal:0:1:1, normal:0:1:1000001, …: with one seed for all, `a - b` would be zero and every
// `max(a, b)` a tie.  Integers count 0, 1, 2, 0, …: in range of every size chosen here, with
// duplicates.  Where that does not suit a program, check_choose.c asks for other choices.
#include "tools/verbs/check/check.h"

#include "tools/data/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED_STRIDE = 1000000, CYCLE = 3 };

static spec integers(const choices *what, vy_type type)
{
    if (type == VY_BOOL) return (spec){.kind = SPEC_CYCLE, .a = 2};
    if (what->integers == INTEGERS_IOTA) return (spec){.kind = SPEC_IOTA};
    if (what->integers == INTEGERS_ZEROS) return (spec){.kind = SPEC_CONST};
    return (spec){.kind = SPEC_CYCLE, .a = what->integers == INTEGERS_PAIRS ? 2 : CYCLE};
}

static bool add(specs *in, const vy_buffer_info *b, const choices *what, uint64_t *seed, vy_diag *d)
{
    spec s = {.kind = SPEC_NORMAL, .b = 1, .seed = *seed};
    if (!vy_type_is_float(b->type))
        s = integers(what, b->type);
    else
        *seed += SEED_STRIDE;
    s.name = strdup(b->name);
    s.text = strdup(s.kind == SPEC_CONST ? "0" : "");
    return specs_add(in, s, d);
}

// Uniform from 0.5 to 1.5: no two alike, none near zero.
static bool add_cotangent(specs *ct, const char *name, uint64_t seed, vy_diag *d)
{
    spec s = {.kind = SPEC_UNIFORM, .a = 0.5, .b = 1.5, .seed = seed};
    s.name = strdup(name);
    s.text = strdup("");
    return specs_add(ct, s, d);
}

// Does derivative `g` take the cotangent of that output?
static bool takes_cotangent(const vy_program *g, const char *of)
{
    for (uint32_t i = 1; i <= vy_program_buffer_count(g); i++) {
        const vy_derivative_role role = vy_program_buffer(g, (vy_buffer){i}).role;
        if (role.kind == VY_IS_COTANGENT && strcmp(role.of, of) == 0) return true;
    }
    return false;
}

bool check_varied_ct(checking *k, vy_diag *d)
{
    uint64_t seed = 77;
    const vy_program *g = k->seeded.module ? k->seeded.what.program : NULL;
    for (uint32_t i = 0; i < k->start.buffer_count; i++) {
        const vy_buffer_info *info = &k->start.buffers[i].info;
        if (info->cls == VY_IN || !vy_type_is_float(info->type)) continue;
        if (g && takes_cotangent(g, info->name) && !specs_find(&k->ct, info->name) &&
            !add_cotangent(&k->device_ct, info->name, seed += SEED_STRIDE, d))
            return false;
    }
    return true;
}

bool default_data(specs *in, const binding *b, const choices *what, vy_diag *d)
{
    const uint32_t count = in->count; // the user's
    uint64_t seed = 1;
    for (uint32_t i = 0; i < b->buffer_count; i++) {
        const vy_buffer_info *info = &b->buffers[i].info;
        const specs given = {.data = in->data, .count = count};
        if (info->cls == VY_OUT || specs_find(&given, info->name)) continue;
        if (!add(in, info, what, &seed, d)) return false;
    }
    return true;
}

// Which scalars dimensions and extents are made of, by index; NULL: memory.
static bool *sizes_of(const binding *b)
{
    bool *size = calloc(b->scalar_count + 1, sizeof *size);
    for (uint32_t i = 1; size && i < vy_program_dim_count(b->program); i++) {
        const int s = vy_program_dim_scalar(b->program, (vy_dim){i});
        if (s >= 0) size[s] = true;
    }
    return size;
}

choices default_choices(void)
{
    static const int64_t sizes[] = {5, 4, 3, 6, 7};
    choices what = {.other = 2, .length = VYS_CHOSEN_LENGTH};
    for (uint32_t i = 0; i < CHOSEN_SIZES; i++) what.size[i] = sizes[i % COUNT_OF(sizes)];
    return what;
}

typedef struct choosing {
    const choices *what;
    const bool *size; // by scalar: is a dimension made of it?
    chosen_counts counts;
} choosing;

static vy_scalar choose_scalar(void *user, const binding *b, uint32_t scalar)
{
    choosing *c = user;
    const vy_type type = b->scalars[scalar].info.type;
    if (vy_type_is_float(type)) return (vy_scalar){.f = 0.75};
    if (type == VY_BOOL) return (vy_scalar){.u = 1};
    if (c->size[scalar]) return (vy_scalar){.i = c->what->size[c->counts.sizes++ % CHOSEN_SIZES]};
    c->counts.others++;
    return (vy_scalar){.i = c->what->other};
}

bool default_scalars(binding *b, const choices *what, chosen_counts *counts, vy_diag *d)
{
    bool *size = sizes_of(b);
    choosing c = {.what = what, .size = size};
    b->chosen_length = (uint64_t)what->length;
    const bool ok = (size || fail_memory(d)) && vys_binding_choose(b, choose_scalar, &c, d);
    free(size);
    if (counts) *counts = c.counts;
    return ok;
}

void spec_text(const spec *s, text *out)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    number_text(VY_F64, (vy_scalar){.f = s->a}, a);
    number_text(VY_F64, (vy_scalar){.f = s->b}, b);
    if (s->kind == SPEC_IOTA)
        text_puts(out, "iota");
    else if (s->kind == SPEC_CONST)
        text_puts(out, "zeros");
    else if (s->kind == SPEC_CYCLE)
        text_printf(out, "cycle:%s", a);
    else
        text_printf(out, "%s:%s:%s:%llu", s->kind == SPEC_NORMAL ? "normal" : "uniform", a, b,
                    (unsigned long long)s->seed);
}
