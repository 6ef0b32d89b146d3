// SPDX-License-Identifier: MIT
// cost.c: implements cost.h by count.c.
#include "ir/facts/count.h"

const char *vy_cost_class_name(vy_cost_class c)
{
    static const char *const names[VY_COST_COUNT] = {
        [VY_COST_ADD] = "add",       [VY_COST_MUL] = "mul",   [VY_COST_DIV] = "div",
        [VY_COST_MATH] = "math",     [VY_COST_LOAD] = "load", [VY_COST_STORE] = "store",
        [VY_COST_ATOMIC] = "atomic",
    };
    return c < VY_COST_COUNT ? names[c] : "";
}

vy_cost *vy_program_cost(const vy_program *p, const vy_sizes *sizes)
{
    vy_cost *out = vy_realloc(NULL, sizeof *out);
    vy_count *c = vy_realloc(NULL, sizeof *c);
    if (!out || !c) {
        vy_free(out);
        vy_free(c);
        return NULL;
    }
    *out = (vy_cost){.memory = c};
    bool ok = vy_count_make(c, p, sizes);
    for (uint32_t k = 0; k < VY_COST_COUNT && ok; k++) {
        out->each[k] = vy_count_amount(c, c->each[k]);
        out->all[k] = vy_count_amount(c, c->all[k]);
    }
    if (ok) {
        enum { FLOPS = VY_COST_MATH + 1 };
        out->each_flops = vy_count_amount(c, vy_poly_total(&c->space, c->each, FLOPS));
        out->all_flops = vy_count_amount(c, vy_poly_total(&c->space, c->all, FLOPS));
        out->invocations = vy_count_amount(c, c->invocations);
        out->conditional = c->conditional;
    }
    if (ok && !c->space.failed) return out;
    vy_cost_free(out);
    return NULL;
}

void vy_cost_free(vy_cost *c)
{
    if (!c) return;
    vy_count_free(c->memory);
    vy_free(c->memory);
    vy_free(c);
}
