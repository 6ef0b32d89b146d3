// SPDX-License-Identifier: MIT
// check_dims.c: the checker for dimensions: what they may contain, depending on what they are of.
//
// What each node contains is found in one pass over all of them, because as a tree an expression
// may be exponential in its number of nodes: len(x) * len(x).
#include "ir/check/check.h"

bool vy_check_dim_table(const vy_program *p)
{
    if (p->dims.count == 0) return false;
    for (uint32_t i = 1; i < p->dims.count; i++) {
        const vy_dim_node *d = &p->dims.data[i];
        if ((unsigned)d->op > VY_DIM_SQRT) return false;
        if (d->op == VY_DIM_SCALAR && (d->value < 0 || d->value >= p->scalars.count)) return false;
        if (d->op == VY_DIM_UNKNOWN && (d->value < 0 || d->value >= p->buffers.count)) return false;
        if (d->op == VY_DIM_STEP && !p->signature) return false;
        if (d->op == VY_DIM_GROUPS && (d->value < 0 || d->value > 2)) return false;
        if (d->op < VY_DIM_ADD) continue;
        if (!d->a || d->a >= i || !d->b || d->b >= i) return false;
    }
    return true;
}

// What a dimension contains: `?`, num_groups, a `?` that belongs to no buffer (only a malformed
// file has that).
enum { HAS_UNKNOWN = 1, HAS_GROUPS = 2, HAS_NOTHING = 4 };

static void find_contents(const vy_program *p, uint8_t *has)
{
    for (uint32_t i = 1; i < p->dims.count; i++) {
        const vy_dim_node *d = &p->dims.data[i];
        has[i] = d->op == VY_DIM_UNKNOWN  ? HAS_UNKNOWN | (d->value ? 0 : HAS_NOTHING)
                 : d->op == VY_DIM_GROUPS ? HAS_GROUPS
                 : d->op >= VY_DIM_ADD    ? has[d->a] | has[d->b]
                                          : 0;
    }
}

static bool check_unknown(vy_program *p, const uint8_t *has)
{
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        for (uint32_t k = 0; k < b->rank; k++) {
            if (!(has[b->dims[k].id] & HAS_UNKNOWN)) continue;
            bool whole = p->dims.data[b->dims[k].id].op == VY_DIM_UNKNOWN;
            bool named = !(has[b->dims[k].id] & HAS_NOTHING);
            if (p->signature && b->workspace)
                continue; // may be as long as a parameter: check_pipeline.c
            if (whole && k == 0 && vy_is_global(b->cls) && named) continue;
            if (!whole && b->workspace && named) continue; // as long as a parameter
            vy_fail(p->module, VY_E_DIM_SCALAR, b->line,
                    vy_check_column(p->module, b->line, b->name),
                    "write `?` alone, as the first dimension of a parameter",
                    "`%s`: `?` is not allowed there", b->name);
            return false;
        }
    }
    for (uint32_t i = 0; i < p->overs.count; i++) {
        const uint8_t parts = has[p->overs.data[i].extent.id];
        if (!(parts & HAS_UNKNOWN)) continue;
        // Derivatives that earlier versions made have such domains, of the programs that round
        // sums; now they take the length as a scalar (autodiff/stages/stages_groups.c).
        if (p->order > 0 && !(parts & HAS_NOTHING)) continue;
        vy_fail(p->module, VY_E_DIM_SCALAR, p->line, vy_check_column(p->module, p->line, p->name),
                "use len(…) in the body or a scalar", "the extent of `%s` is unknown",
                p->overs.data[i].name);
        return false;
    }
    return true;
}

// What is assumed is of what the caller gives.
static bool check_assumed(vy_program *p, const uint8_t *has)
{
    for (uint32_t i = 0; i < p->assumes.count; i++) {
        const vy_assumption *a = &p->assumes.data[i];
        const uint8_t parts = has[a->least.id] | has[a->most.id];
        if (!p->signature && !(parts & (HAS_NOTHING | HAS_GROUPS))) continue;
        vy_fail(p->module, VY_E_DIM_SCALAR, p->line, vy_check_column(p->module, p->line, p->name),
                "assume something of scalars and lengths",
                "`%s` assumes something of what its caller does not give", p->name);
        return false;
    }
    return true;
}

// A `?` is the length of a buffer that is sized so.  (Only a malformed file has another.)
static bool check_lengths(vy_program *p)
{
    for (uint32_t i = 1; i < p->dims.count; i++) {
        const vy_dim_node *d = &p->dims.data[i];
        if (d->op != VY_DIM_UNKNOWN || d->value == 0) continue;
        const vy_buf *b = &p->buffers.data[d->value];
        if (b->rank && p->dims.data[b->dims[0].id].op == VY_DIM_UNKNOWN) continue;
        vy_fail(p->module, VY_E_DIM_SCALAR, b->line, vy_check_column(p->module, b->line, b->name),
                "name the dimension itself",
                "`%s` is sized otherwise than `?`, but its length is used as a dimension", b->name);
        return false;
    }
    return true;
}

static bool refuse_groups(vy_program *p, uint32_t line, const char *name, const char *format)
{
    vy_fail(p->module, VY_E_DIM_GROUPS, line, vy_check_column(p->module, line, name), NULL, format,
            name);
    return false;
}

// num_groups is given by the caller, unless there is a domain, which determines it.
static bool check_groups(vy_program *p, const uint8_t *has)
{
    for (uint32_t i = 0; i < p->overs.count; i++)
        if (has[p->overs.data[i].extent.id] & HAS_GROUPS)
            return refuse_groups(p, p->line, p->name,
                                 "the domain of `%s` decides num_groups, and cannot depend on it");
    for (uint32_t i = 1; i < p->buffers.count && p->overs.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        for (uint32_t k = 0; k < b->rank; k++)
            if (has[b->dims[k].id] & HAS_GROUPS)
                return refuse_groups(
                    p, b->line, b->name,
                    "`%s`: the program has a domain, so num_groups is not allowed in its sizes");
    }
    return true;
}

void vy_dim_sizes(const vy_program *p, uint32_t *size)
{
    for (uint32_t i = 1; i < p->dims.count; i++) {
        const vy_dim_node *d = &p->dims.data[i];
        size[i] = 1;
        if (d->op >= VY_DIM_ADD) size[i] += size[d->a] + size[d->b];
        if (size[i] > VY_MAX_DIM_NODES) size[i] = VY_MAX_DIM_NODES + 1;
    }
}

static bool check_sizes(vy_program *p, const uint32_t *size)
{
    uint64_t total = 0;
    for (uint32_t i = 1; i < p->buffers.count; i++)
        for (uint32_t k = 0; k < p->buffers.data[i].rank; k++)
            total += size[p->buffers.data[i].dims[k].id];
    for (uint32_t i = 0; i < p->overs.count; i++) total += size[p->overs.data[i].extent.id];
    for (uint32_t i = 0; i < p->assumes.count; i++)
        total += (uint64_t)size[p->assumes.data[i].least.id] + size[p->assumes.data[i].most.id];
    if (total <= VY_MAX_DIM_NODES) return true;
    vy_fail(p->module, VY_E_LIMIT, p->line, vy_check_column(p->module, p->line, p->name),
            "pass the size as a scalar",
            "the dimensions of `%s`, expanded, have more than %u terms", p->name, VY_MAX_DIM_NODES);
    return false;
}

bool vy_check_dims(vy_program *p, vy_arena *arena)
{
    uint8_t *has = vy_arena_alloc(arena, p->dims.count);
    uint32_t *size = vy_arena_alloc(arena, p->dims.count * sizeof *size);
    if (!has || !size) {
        vy_fail_oom(p->module);
        return false;
    }
    find_contents(p, has);
    vy_dim_sizes(p, size);
    return check_sizes(p, size) && check_unknown(p, has) && check_lengths(p) &&
           check_groups(p, has) && check_assumed(p, has);
}
