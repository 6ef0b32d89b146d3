// SPDX-License-Identifier: MIT
// batches.c: the domain of a program in batches, one after the other, that share a tape.
//
// Tapes are as long as the domain: what 20,000 invocations keep of 1,000 iterations may be more
// than there is memory.  But invocations are independent of each other, so the domain may be cut
// along a variable, the outermost whose extent is no constant, and what the reverse of one batch
// has read the next one may overwrite.  Here a program becomes the pipeline that does this:
//
//   program f(x: in f32[N], w: in f32[2], y: out f32[N], N: u32) over(i: N) { … x[i] … }
//                →
//   program f_batch(…, y: inout f32[N], N: u32, first: u32, rows: u32) over(i: rows)
//   {
//       … x[first + i] …
//   }
//   pipeline f(x, w, y, N) {
//       fill(y);
//       repeat batch in 0..N / 5000 { f_batch(x, w, y, first=5000 * batch, rows=5000); }
//       f_batch(x, w, y, first=N / 5000 * 5000, rows=N % 5000);      // here N / 4 for 5000
//   }
//
// The rest is the derivative of pipelines.  A dispatch of f_batch becomes one of its derivative,
// which runs f_batch forwards and backwards, and has its tapes to itself; the gradients of all
// batches are added.  What a batch changes and a later one reads, it keeps as ever.  The batches
// are of one length, a formula in the sizes, so that the derivative is for any of them.
//
// A batch must be a part of what the entire program does.  That is so where invocations are
// independent but for atomic additions, whose order is open, and the batches are one: no other
// atomics and no old values, no barriers, no workgroups that the program observes, and no memory of
// the program's own, which would begin anew with each batch.
#include "autodiff/driver/batches.h"

#include "autodiff/driver/alone.h"
#include "autodiff/rewrite/explicit_padding.h"
#include "autodiff/stages/stages.h"
#include "ir/build/rewrite.h"
#include "ir/core/program_rule.h"
#include "ir/pass/pass.h"

#include <stdio.h>

// ------------------------------------------------------------------------------------ the question
uint32_t vy_batched_axis(const vy_program *p)
{
    uint32_t best = p->overs.count;
    for (uint32_t k = p->overs.count; k-- > 0;) {
        const vy_dim_node *d = &p->dims.data[p->overs.data[k].extent.id];
        const bool constant = d->op == VY_DIM_CONST,
                   open = best < p->overs.count &&
                          p->dims.data[p->overs.data[best].extent.id].op != VY_DIM_CONST;
        if (!constant || (d->value > 1 && !open)) best = k;
    }
    return best;
}

// Are all atomics sums, which the order of additions leaves as they are?  Old values, and who wins
// a maximum, depend on it.
static bool only_adds(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (vy_op_is_atomic((vy_op)i->op) && i->op != VY_OP_ATOMIC_ADD) return false;
        for (uint32_t k = 0; k < i->nargs; k++) {
            const uint32_t a = vy_arg(p, id, k);
            if (!VY_IS_LEAF(a) && p->insts.data[a].op == VY_OP_ATOMIC_ADD) return false;
        }
    }
    return true;
}

// The scalars of a dispatch are signed 64-bit numbers.
static bool passes_scalars(const vy_program *p)
{
    for (uint32_t k = 0; k < p->scalars.count; k++)
        if (p->scalars.data[k].type == VY_U64) return false;
    return true;
}

bool vy_grad_batches(const vy_program *p)
{
    if (vy_batched_axis(p) == p->overs.count || !passes_scalars(p) || !only_adds(p)) return false;
    if (vy_sees_workgroup(p) || vy_program_has_rule(p)) return false; // or has no domain
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (vy_is_global(b->cls) && (b->workspace || b->init != VY_INIT_NONE)) return false;
    }
    return true;
}

// ---------------------------------------------------------------------------- program of a batch
typedef struct shifting {
    vy_rewrite w;
    uint32_t axis;
    uint32_t *variables; // of the entire domain
} shifting;

// An integer parameter that no other is called like.
static vy_value add_scalar(shifting *s, const char *word)
{
    char name[32];
    snprintf(name, sizeof name, "%s", word);
    for (uint32_t k = 2; vy_unpad_takes(s->w.p, name); k++)
        snprintf(name, sizeof name, "%s%u", word, k);
    return vy_param_scalar(s->w.b, name, VY_U32);
}

static void shift(shifting *s)
{
    vy_program *p = vy_builder_program(s->w.b);
    const vy_value first = add_scalar(s, "first"), rows = add_scalar(s, "rows");
    const vy_dim extent = vy_dim_value(s->w.b, rows);
    if (vy_builder_failed(s->w.b)) return;
    p->overs.data[s->axis].extent = extent;
    for (uint32_t k = 0; k < p->overs.count; k++)
        s->variables[k] = vy_leaf_other(s->w.b, VY_LEAF_OVER, VY_U32, k, 0);
    s->variables[s->axis] = vy_add(s->w.b, first, (vy_value){s->variables[s->axis]}).id;
}

static uint32_t copy(void *pass, uint32_t id)
{
    shifting *s = pass;
    vy_rewrite_copy_over(&s->w, id, s->variables);
    return id;
}

// p runs a part of its domain, and adds to what its outputs hold.
static bool make_batch(vy_program *p)
{
    shifting s = {.axis = vy_batched_axis(p)};
    bool changed = false;
    bool ok = vy_rewrite_begin(&s.w, p);
    s.variables = vy_rewrite_table(&s.w, p->overs.count * sizeof *s.variables);
    ok = ok && s.variables;
    if (ok && vy_rewrite_open(&s.w)) {
        shift(&s);
        vy_rewrite_range(&s.w, 1, p->insts.count, copy, &s);
    }
    if (!vy_rewrite_end(&s.w, ok, &changed)) return false;
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (p->buffers.data[i].cls == VY_OUT) p->buffers.data[i].cls = VY_INOUT;
    return true;
}

// ----------------------------------------------------------------------------------------- the way
static bool make_pipeline(vy_module *work, const vy_program *p, vy_grad_options *o, vy_diag *diag)
{
    vy_program *batch = vy_module_find(work, p->name);
    if (!vy_alone_outputs(work, p, o)) return false;
    batch->name = vy_stage_name(work, batch, "batch");
    if (!batch->name || !make_batch(batch)) {
        if (!vy_module_ok(work)) *diag = work->diag;
        return false;
    }
    return vy_alone_in_batches(work, p, batch, vy_batched_axis(p), o->batches, diag) != NULL;
}

vy_module *vy_in_batches(const vy_program *p, vy_grad_options *o, vy_diag *diag)
{
    return vy_alone_module(p, make_pipeline, o, diag);
}

vy_module *vy_derive_batches(const vy_program *p, const vy_grad_options *o, vy_derive_call *call,
                             vy_diag *diag)
{
    return vy_alone_derive(p, make_pipeline, o, call, diag);
}
