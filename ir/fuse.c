// SPDX-License-Identifier: MIT
// fuse.c: neighbouring `if`s on one condition become one.
//
//   if c { a = load x[i] }               if c {
//   if c { store y[i], mul a a }    →        a = load x[i]
//                                            store y[i], mul a a
//                                        }
//
// A gradient is full of these: the forward sweep's guard stands right before the reverse sweep's.  Only
// direct neighbours are taken.  Looking further would mean to prove that what stands between may move,
// and a value of the first `if` that is used between would have to be handed out anyway.
//
// Inside the fused arms the results of the earlier `if`s are simply their yields.  Needs valid structure;
// keeps order, lines and names.
#include "pass.h"

VY_VEC_TYPE(fuse_ids, uint32_t);

typedef struct fuse {
    const vy_program *old;
    vy_builder *b;
    vy_structure s;
    uint32_t *map;
    bool changed, oom;
} fuse;

static uint32_t middle_of(const fuse *f, uint32_t id) { return f->s.partner[id]; }
static uint32_t end_of(const fuse *f, uint32_t id) { return f->s.partner[f->s.partner[id]]; }

static uint32_t result_count(const fuse *f, uint32_t id)
{
    return f->old->insts.data[end_of(f, id)].nargs;
}

// The `if` on the same condition directly behind `id` and its results, or 0.
static uint32_t next_of(const fuse *f, uint32_t id)
{
    uint32_t next = end_of(f, id) + 1 + result_count(f, id);
    if (next >= f->old->insts.count || f->old->insts.data[next].op != VY_OP_IF) return 0;
    return vy_arg(f->old, next, 0) == vy_arg(f->old, id, 0) ? next : 0;
}

static void copy(fuse *f, uint32_t from, uint32_t to);

// Copies one arm of `id`, whose marker holds the yields; appends the mapped yields to `ids`, and makes
// them stand for the results while the arm goes on.
static void copy_arm(fuse *f, uint32_t id, uint32_t marker, uint32_t from, fuse_ids *ids)
{
    copy(f, from, marker);
    for (uint32_t k = 0; k < result_count(f, id) && !vy_builder_failed(f->b); k++) {
        uint32_t value = vy_map(f->map, vy_arg(f->old, marker, k));
        f->map[end_of(f, id) + 1 + k] = value;
        if (!vy_vec_push(ids, value)) f->oom = true;
    }
}

static uint32_t fuse_chain(fuse *f, uint32_t first)
{
    fuse_ids thens = {0}, elses = {0}, results = {0};
    uint32_t last = first;
    vy_pass_at(f->b, f->old, first);
    vy_begin_if(f->b, vy_map(f->map, vy_arg(f->old, first, 0)));
    for (uint32_t id = first; id && !f->oom; id = next_of(f, id)) {
        copy_arm(f, id, middle_of(f, id), id + 1, &thens);
        last = id;
    }
    vy_begin_else(f->b, thens.count, thens.data);
    for (uint32_t id = first; id && !f->oom; id = next_of(f, id))
        copy_arm(f, id, end_of(f, id), middle_of(f, id) + 1, &elses);
    if (!vy_vec_reserve(&results, elses.count + 1)) f->oom = true;
    if (!f->oom && !vy_builder_failed(f->b)) {
        vy_end_if(f->b, elses.count, elses.data, results.data);
        uint32_t at = 0;
        for (uint32_t id = first; id; id = next_of(f, id)) {
            for (uint32_t k = 0; k < result_count(f, id); k++, at++) {
                f->map[end_of(f, id) + 1 + k] = results.data[at];
                vy_pass_name(f->b, f->old, end_of(f, id) + 1 + k, results.data[at]);
            }
        }
    }
    f->changed |= last != first;
    vy_vec_free(&thens);
    vy_vec_free(&elses);
    vy_vec_free(&results);
    return end_of(f, last) + result_count(f, last); // the last instruction copied
}

// Copies from ≤ id < to.  Recursion is as deep as `if`s nest.
static void copy(fuse *f, uint32_t from, uint32_t to)
{
    for (uint32_t id = from; id < to && !f->oom && !vy_builder_failed(f->b); id++) {
        if (f->old->insts.data[id].op == VY_OP_IF)
            id = fuse_chain(f, id);
        else
            vy_copy_inst(f->b, f->old, id, f->map);
    }
}

static bool any_chain(const fuse *f)
{
    for (uint32_t id = 1; id < f->old->insts.count; id++)
        if (f->old->insts.data[id].op == VY_OP_IF && next_of(f, id)) return true;
    return false;
}

bool vy_pass_fuse(vy_program *p, vy_pass_context *c)
{
    fuse f = {.old = p};
    bool ok = vy_structure_make(p, &f.s);
    if (ok && any_chain(&f)) {
        f.map = vy_realloc(NULL, p->insts.count * sizeof *f.map);
        f.b = f.map ? vy_rebuild_begin(p) : NULL;
        ok = f.b != NULL;
        if (ok) copy(&f, 1, p->insts.count);
        if (f.b && f.oom) {
            vy_program_abandon(f.b);
            ok = false;
        } else if (f.b) {
            ok = vy_pass_finish(f.b, p);
        }
        c->changed |= f.changed;
    }
    if (!ok) vy_fail_oom(p->module); // unless something else was said before
    vy_structure_free(&f.s);
    vy_free(f.map);
    return ok;
}
