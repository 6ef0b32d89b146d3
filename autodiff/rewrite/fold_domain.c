// SPDX-License-Identifier: MIT
// fold_domain.c: a domain of more than three variables becomes one of three.
//
//   over(i: A, j: B, k: C, l: D) { y[i, j, k, l] = … }
//                →
//   over(i_j: A * B, k: C, l: D) { let j = i_j % B;  let i = i_j / B;  y[i, j, k, l] = … }
//
// A device has three axes, and extents beyond the third fold into the last one as written here
// (docs/language.md 3.3), so the program runs the same invocations in the same workgroups and
// lanes.  Where padding lanes are made explicit (explicit_padding.c), variables and axes must be
// one to one.  A negative extent is zero, of which the product must know.
#include "autodiff/rewrite/explicit_padding.h"

#include "autodiff/facts/padding.h"
#include "ir/build/rewrite.h"

#include <stdio.h>
#include <string.h>

typedef struct folding {
    vy_rewrite w;
    uint32_t *variables; // by domain variable of the old program: its value
} folding;

// How many variables become the first one.
static uint32_t folded(const vy_program *p) { return p->overs.count - (VY_LAUNCH_AXES - 1); }

static vy_dim extent(folding *f, uint32_t k)
{
    return vy_dim_binary(f->w.b, VY_DIM_MAX, f->w.p->overs.data[k].extent, vy_dim_const(f->w.b, 0));
}

static vy_dim product(folding *f)
{
    vy_dim n = extent(f, 0);
    for (uint32_t k = 1; k < folded(f->w.p); k++)
        n = vy_dim_binary(f->w.b, VY_DIM_MUL, n, extent(f, k));
    return n;
}

static const char *name_of(folding *f)
{
    const vy_program *p = f->w.p;
    char name[200];
    int n = snprintf(name, sizeof name, "%.80s_%.80s", p->overs.data[0].name,
                     p->overs.data[folded(p) - 1].name);
    for (uint32_t k = 2; vy_unpad_takes(p, name); k++)
        snprintf(name + n, sizeof name - (size_t)n, "_%u", k);
    return vy_arena_strdup(&p->module->arena, name, strlen(name));
}

static uint32_t variable(folding *f, uint32_t k)
{
    return vy_leaf_other(f->w.b, VY_LEAF_OVER, VY_U32, k, 0);
}

static void fold(folding *f)
{
    const vy_program *old = f->w.p;
    vy_program *p = vy_builder_program(f->w.b);
    const uint32_t n = folded(old);
    const vy_dim all = product(f);
    const char *name = name_of(f);
    if (!name || vy_builder_failed(f->w.b)) return;
    p->overs.data[0] = (vy_over_var){.name = name, .extent = all};
    memmove(p->overs.data + 1, p->overs.data + n, (VY_LAUNCH_AXES - 1) * sizeof *p->overs.data);
    p->overs.count = VY_LAUNCH_AXES;
    vy_value rest = {variable(f, 0)};
    for (uint32_t k = n; k-- > 1;) {
        const vy_value size = vy_dim_number(f->w.b, old->overs.data[k].extent);
        f->variables[k] = vy_rem(f->w.b, rest, size).id;
        rest = vy_div(f->w.b, rest, size);
    }
    f->variables[0] = rest.id;
    for (uint32_t k = n; k < old->overs.count; k++) f->variables[k] = variable(f, k - n + 1);
}

static uint32_t copy(void *pass, uint32_t id)
{
    folding *f = pass;
    vy_rewrite_copy_over(&f->w, id, f->variables);
    return id;
}

// Variables that there no longer are have no use, but still an entry.
static void forget_variables(vy_program *p)
{
    for (uint32_t k = 0; k < p->leaves.count; k++) {
        vy_leaf *l = &p->leaves.data[k];
        if (l->kind == VY_LEAF_OVER && l->index >= p->overs.count) l->index = 0;
    }
}

bool vy_fold_domain(vy_program *p)
{
    folding f = {0};
    bool changed = false;
    if (p->overs.count <= VY_LAUNCH_AXES) return true;
    bool ok = vy_rewrite_begin(&f.w, p);
    f.variables = ok ? vy_rewrite_table(&f.w, p->overs.count * sizeof *f.variables) : NULL;
    ok = f.variables != NULL;
    if (ok && vy_rewrite_open(&f.w)) {
        fold(&f);
        vy_rewrite_range(&f.w, 1, p->insts.count, copy, &f);
    }
    if (!vy_rewrite_end(&f.w, ok, &changed)) return false;
    forget_variables(p);
    return true;
}
