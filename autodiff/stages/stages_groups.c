// SPDX-License-Identifier: MIT
// stages_groups.c: what a stage that has a domain cannot know by itself, and so has as a scalar.
//
//   program f(y: out f32[2, num_groups.x]) …        whoever runs f says how many workgroups do
//   program f_total_y(y: out f32[2, groups_x], groups_x: u32) over(e: 2 * groups_x)
//
// A domain decides the number of its own workgroups, so the caller's comes in as a scalar: in the
// lengths of buffers, in the domain, and where the code needs a length.
//
//   program f(y: inout f32[?]) …
//   program f_total_y(y: inout f32[?], length: u32) over(i: length)
//   f_total_y(y, length=len(y));
//
// No domain is as long as a buffer of open length: the pipeline says how long that is.
#include "autodiff/stages/stages_build.h"

#include "autodiff/reverse/sweeps.h"
#include "ir/build/rewrite.h"

#include <stdio.h>
#include <string.h>

static bool is_taken(const vy_program *p, const char *name)
{
    bool taken =
        vy_program_find_buffer(p, name).id || vy_program_find_scalar(p, name) != UINT32_MAX;
    for (uint32_t k = 0; k < p->overs.count; k++) taken |= !strcmp(p->overs.data[k].name, name);
    return taken;
}

// A scalar of the stage whose name neither it nor the whole has.  (With a link: of a stage that is
// cut again it is a parameter like others.)
static bool add_scalar(vy_module *m, const vy_program *whole, vy_program *stage, const char *word)
{
    char text[32];
    snprintf(text, sizeof text, "%s", word);
    for (uint32_t k = 2; is_taken(stage, text) || is_taken(whole, text); k++)
        snprintf(text, sizeof text, "%s%u", word, k);
    const char *name = vy_arena_strdup(&m->arena, text, strlen(text));
    const vy_scalar_param fresh = {.name = name, .type = VY_U32, .link = ++m->links};
    if (!name || !vy_vec_push(&stage->scalars, fresh)) {
        vy_fail_oom(m);
        return false;
    }
    vy_names_added(stage);
    return true;
}

static bool asks(const vy_program *p, const vy_leaf *l)
{
    for (uint32_t k = 0; k < p->args.count; k++)
        if (VY_IS_LEAF(p->args.data[k]) && &p->leaves.data[VY_LEAF_INDEX(p->args.data[k])] == l)
            return true;
    return false;
}

static bool is_of(const vy_leaf *l, uint32_t axis)
{
    return l->kind == VY_LEAF_BUILTIN && l->index == VY_NUM_GROUPS && l->axis == axis;
}

static bool is_used(const vy_program *p, const uint8_t *dims, uint32_t axis)
{
    for (uint32_t i = 1; i < p->dims.count; i++)
        if (dims[i] && p->dims.data[i].op == VY_DIM_GROUPS && p->dims.data[i].value == axis)
            return true;
    for (uint32_t k = 0; k < p->leaves.count; k++)
        if (is_of(&p->leaves.data[k], axis) && asks(p, &p->leaves.data[k])) return true;
    return false;
}

static void replace(vy_program *p, uint32_t axis, uint32_t scalar)
{
    for (uint32_t i = 1; i < p->dims.count; i++) {
        vy_dim_node *d = &p->dims.data[i];
        if (d->op == VY_DIM_GROUPS && d->value == axis)
            *d = (vy_dim_node){.op = VY_DIM_SCALAR, .value = scalar};
    }
    for (uint32_t k = 0; k < p->leaves.count; k++)
        if (is_of(&p->leaves.data[k], axis))
            p->leaves.data[k] = (vy_leaf){.kind = VY_LEAF_SCALAR, .type = VY_U32, .index = scalar};
}

// Operands are in the order of what they are (ir/build/build.c): builds all of p again.
static bool order_operands(vy_program *p)
{
    vy_rewrite w = {0};
    bool changed = false;
    const bool ok = vy_rewrite_begin(&w, p);
    if (ok) vy_rewrite_run(&w, NULL, NULL);
    return vy_rewrite_end(&w, ok, &changed);
}

bool vy_stage_take_groups(vy_module *m, const vy_program *whole, vy_program *p, uint32_t taken[3])
{
    uint8_t *dims = cut_table(m, p->dims.count, 1);
    if (!dims) return false;
    vy_dims_in_use(p, dims);
    bool ok = true, any = false;
    for (uint32_t axis = 0; ok && axis < 3; axis++) {
        taken[axis] = 0;
        if (!is_used(p, dims, axis)) continue;
        const char word[] = {'g', 'r', 'o', 'u', 'p', 's', '_', "xyz"[axis], 0};
        ok = add_scalar(m, whole, p, word);
        if (!ok) break;
        taken[axis] = p->scalars.count;
        replace(p, axis, p->scalars.count - 1);
        any = true;
    }
    vy_free(dims);
    return ok && (!any || order_operands(p));
}

// The first variable of the stage whose extent is the open length of a buffer; overs.count: none.
static uint32_t open_variable(const vy_program *p)
{
    uint32_t v = 0;
    while (v < p->overs.count && p->dims.data[p->overs.data[v].extent.id].op != VY_DIM_UNKNOWN) v++;
    return v;
}

static bool take_length(cut *c, uint32_t k)
{
    vy_program *p = c->stages[k];
    const uint32_t v = open_variable(p);
    if (v == p->overs.count) return true;
    c->length[k] = (uint32_t)p->dims.data[p->overs.data[v].extent.id].value;
    const vy_dim_node length = {.op = VY_DIM_SCALAR, .value = p->scalars.count};
    if (!add_scalar(c->m, c->whole, p, "length")) return false;
    p->overs.data[v].extent.id = p->dims.count;
    if (vy_vec_push(&p->dims, length)) return true;
    vy_fail_oom(c->m);
    return false;
}

bool cut_take_scalars(cut *c)
{
    c->groups = cut_table(c->m, 3 * (size_t)c->count, sizeof *c->groups);
    c->length = cut_table(c->m, c->count, sizeof *c->length);
    if (!c->groups || !c->length) return false;
    for (uint32_t k = 0; k < c->count; k++) {
        vy_program *p = c->stages[k];
        if (p->overs.count && !c->whole->overs.count &&
            !vy_stage_take_groups(c->m, c->whole, p, &c->groups[3 * k]))
            return false;
        if (!take_length(c, k)) return false;
    }
    return true;
}

uint32_t cut_length_of(const cut *c, const vy_program *stage, uint32_t scalar)
{
    for (uint32_t k = 0; k < c->count; k++)
        if (c->stages[k] == stage && c->length[k] && scalar + 1 == stage->scalars.count)
            return c->length[k];
    return 0;
}
