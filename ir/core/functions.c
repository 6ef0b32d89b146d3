// SPDX-License-Identifier: MIT
// functions.c: queries about functions with a derivative of their own.
#include "ir/core/functions.h"

#include <stdio.h>

bool vy_program_applies(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (p->insts.data[id].op == VY_OP_APPLY) return true;
    return false;
}

// ------------------------------------------------------------------------------------- signatures
typedef struct signature {
    uint32_t params, results;
    vy_type *types; // of the parameters, then of the results
} signature;

// Appends the types of the parameters, or of the floats among them.
static uint32_t params(const vy_function *f, bool floats, vy_type *types, uint32_t n)
{
    const vy_scalar_vec *s = &f->code->scalars;
    for (uint32_t k = 0; k < s->count; k++)
        if (!floats || vy_type_is_float(s->data[k].type)) types[n++] = s->data[k].type;
    return n;
}

// … of the floats among the results.
static uint32_t results(const vy_function *f, vy_type *types, uint32_t n)
{
    for (uint32_t k = 0; k < f->result_count; k++)
        if (vy_type_is_float((vy_type)f->results[k])) types[n++] = (vy_type)f->results[k];
    return n;
}

static signature needed(const vy_function *f, vy_rule_of kind, vy_type *types)
{
    const uint32_t own = params(f, false, types, 0);
    const uint32_t taken = kind == VY_VJP ? results(f, types, own) : params(f, true, types, own);
    const uint32_t all = kind == VY_VJP ? params(f, true, types, taken) : results(f, types, taken);
    return (signature){taken, all - taken, types};
}

static bool agrees(const signature *s, const vy_function *rule)
{
    if (rule->code->scalars.count != s->params || rule->result_count != s->results) return false;
    for (uint32_t k = 0; k < s->params; k++)
        if (rule->code->scalars.data[k].type != s->types[k]) return false;
    for (uint32_t k = 0; k < s->results; k++)
        if (rule->results[k] != s->types[s->params + k]) return false;
    return true;
}

// "fn g(f32, f32, f32) -> (f32, f32)", cut where it is too long.
static void describe(const signature *s, const char *name, char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size, "fn %.40s(", name);
    for (uint32_t k = 0; k < s->params + s->results && n < size; k++) {
        const char *before = k == 0           ? ""
                             : k < s->params  ? ", "
                             : k > s->params  ? ", "
                             : s->results > 1 ? ") -> ("
                                              : ") -> ";
        n += (size_t)snprintf(text + n, size - n, "%s%s", before, vy_type_name(s->types[k]));
    }
    if (n < size && s->results > 1) snprintf(text + n, size - n, ")");
}

const char *vy_rule_mismatch(const vy_function *f, const vy_function *rule, vy_rule_of kind,
                             char text[240])
{
    const uint32_t own = f->code->scalars.count;
    vy_type *types = vy_realloc(NULL, (2 * (size_t)own + VY_MAX_RANK) * sizeof *types);
    if (!types) return "memory ran out";
    const signature s = needed(f, kind, types);
    const bool fine = agrees(&s, rule);
    if (!fine) describe(&s, rule->code->name, text, 240);
    vy_free(types);
    return fine ? NULL : text;
}
