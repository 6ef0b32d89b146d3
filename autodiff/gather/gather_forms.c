// SPDX-License-Identifier: MIT
// gather_forms.c: does an invocation sum an element, or a workgroup (gather_tree.c), or does that
// depend on sizes?
//
// The form by workgroups is made only where the elements can be few beside their points: if two or
// more dimensions of the points correspond to no axis of the element, or if one does and the
// element has at most one axis, of another extent (of n bodies as many are pulled as pull).  A
// stencil has no such dimension.
#include "autodiff/gather/gather_making.h"

#include <stdio.h>
#include <string.h>

// How many dimensions of the points correspond to no axis: to one whose index is a constant none
// does.
static uint32_t summed(const gather_site *site)
{
    const vy_affine_access *x = &site->access;
    uint32_t n = x->nest.count;
    for (uint32_t k = 0; k < x->rank; k++)
        if (site->axes >> k & 1)
            n -= n > 0 && isl_pw_aff_involves_dims(x->index[k], isl_dim_in, 0, x->nest.count) ==
                              isl_bool_true;
    return n;
}

static bool same_extent(const gather *g, const gather_site *site)
{
    const vy_nest *n = &site->access.nest;
    vy_extent first = g->a.facts.form[g->r->overs.data[0].extent.id];
    if (n->overs == 2) {
        vy_extent other = g->a.facts.form[g->r->overs.data[1].extent.id];
        return first.base == other.base && first.offset == other.offset;
    }
    if (n->count != 2) return false;
    const uint32_t end = vy_arg(g->r, n->loop[1], 1);
    const vy_leaf *l = VY_IS_LEAF(end) ? &g->r->leaves.data[VY_LEAF_INDEX(end)] : NULL;
    if (!l || l->kind != VY_LEAF_SCALAR) return false;
    return first.offset == 0 && first.base == g->a.facts.scalar[l->index];
}

// Can the sums be divided among lanes?
static bool divides(const gather *g, uint32_t k)
{
    uint32_t sums = 0;
    for (uint32_t j = 0; j < g->site_count; j++) {
        const gather_site *site = &g->sites[j];
        if (site->program != k + 1) continue;
        vy_type t = g->r->buffers.data[site->access.buffer].type;
        if (!site->single || (t != VY_F32 && t != VY_F64)) return false;
        sums++;
    }
    return sums <= GATHER_SUMS;
}

// Are its elements named by axes, or constants?
static bool has_axes(const gather *g, uint32_t k)
{
    return g->sites[g->programs[k].first].axes != 0;
}

// Is program k worth a form in which a workgroup sums an element?
static bool has_tree(const gather *g, uint32_t k)
{
    bool small = g->programs[k].small || !has_axes(g, k);
    if (!divides(g, k) || g->sites[g->programs[k].first].access.strided) return false;
    for (uint32_t j = 0; j < g->site_count && !small; j++) {
        const gather_site *site = &g->sites[j];
        if (site->program != k + 1) continue;
        uint32_t n = summed(site), axes = site->access.nest.count - n;
        small = n > 1 || (n == 1 && axes < 2 && !(axes && same_extent(g, site)));
    }
    return small;
}

// -------------------------------------------------------------------------------------- both forms

// The dimension 1 − d of the reverse program.
static vy_dim one_less(gather *g, vy_dim d)
{
    vy_dim_vec *dims = &g->r->dims;
    vy_dim_node one = {.op = VY_DIM_CONST, .value = 1},
                rest = {.op = VY_DIM_SUB, .a = dims->count, .b = d.id};
    if (vy_vec_push(dims, one) && vy_vec_push(dims, rest)) return (vy_dim){dims->count - 1};
    g->failed = true;
    return (vy_dim){0};
}

// The value of a dimension of the reverse program if it is a constant, else -1.
static int64_t constant(const gather *g, vy_dim d)
{
    const vy_dim_node *n = &g->r->dims.data[d.id];
    return n->op == VY_DIM_CONST ? n->value : -1;
}

static bool is_partial(const gather *g, uint32_t k)
{
    bool all = divides(g, k);
    uint32_t cells = 0;
    for (uint32_t j = 0; j < g->site_count && all; j++) {
        const gather_site *site = &g->sites[j];
        if (site->program != k + 1) continue;
        cells += !site->axes && gather_first_of(g, site) == j;
        all = gather_is_partial(g, site) && cells <= GATHER_CELLS;
    }
    return all;
}

// Partial sums, and what adds them up.
static uint32_t make_partial(gather *g, uint32_t k, vy_program **made, gather_stage *stage)
{
    made[0] = gather_make(g, k, GATHER_PARTIAL, NULL);
    made[1] = made[0] ? gather_make(g, k, GATHER_TOTAL, NULL) : NULL;
    stage[0] = (gather_stage){.program = k, .form = GATHER_PARTIAL};
    stage[1] = (gather_stage){.program = k, .form = GATHER_TOTAL};
    if (made[1]) return 2;
    vy_program_free(made[0]);
    return 0;
}

uint32_t gather_make_forms(gather *g, uint32_t k, vy_program **made, gather_stage *stage)
{
    uint32_t n = 0;
    if (is_partial(g, k)) return make_partial(g, k, made, stage);
    const bool only = g->programs[k].small || !has_axes(g, k),
               tries = only || !g->probe; // one form is enough
    vy_dim small = {0};
    vy_program *tree = tries && has_tree(g, k) ? gather_make(g, k, GATHER_TREE, &small) : NULL;
    if (tree && !only && constant(g, small) == 0) {
        vy_program_free(tree);
        tree = NULL;
    }
    const bool both = tree && !only && constant(g, small) < 0;
    if (!g->failed && !only && (!tree || both)) {
        made[n] = gather_make(g, k, GATHER_WHOLE, NULL);
        stage[n] = (gather_stage){.program = k};
        if (both) stage[n].iterations = one_less(g, small);
        n += made[n] != NULL;
    }
    if (both && (!n || g->failed)) {
        vy_program_free(tree);
        tree = NULL;
    }
    if (!tree) return n;
    made[n] = tree;
    stage[n] = (gather_stage){.program = k, .form = GATHER_TREE};
    if (both) stage[n].iterations = small;
    return n + 1;
}

// ------------------------------------------------------------------------------------------- names
// The program's name with `ending`, and a number if there is one of that name; NULL: memory.
static const char *name_form(gather *g, const gather_program *q, const char *ending)
{
    char text[340];
    for (uint32_t number = 1;; number++) {
        int n = snprintf(text, sizeof text, "%.300s_%s", q->name, ending);
        if (number > 1) snprintf(text + n, sizeof text - (size_t)n, "%u", number);
        bool taken = vy_module_find(g->m, text) || vy_module_find_pipeline(g->m, text);
        if (!taken && !gather_has_name(g, q, text)) break;
    }
    return vy_arena_strdup(&g->m->arena, text, strlen(text));
}

bool gather_name_forms(gather *g, uint32_t k, const gather_stage *last)
{
    gather_program *q = &g->programs[k];
    const bool alone = last->form == GATHER_TREE && !last->iterations.id;
    if (last->form == GATHER_TREE) q->tree = alone ? q->name : name_form(g, q, "few");
    if (last->form == GATHER_TOTAL) q->partial = name_form(g, q, "partial");
    return (last->form != GATHER_TREE || q->tree) && (last->form != GATHER_TOTAL || q->partial);
}
