// SPDX-License-Identifier: MIT
// fuse_ifs.c: adjacent `if`s on the same condition, or on a condition and its negation, become one.
//
//   if c { a = load x[i] }               if c {
//   if c { store y[i], mul a a }    →        a = load x[i]
//                                            store y[i], mul a a
//                                        }
//
//   if c { r = a } else { r = b }        if c { r = a, s = r + 1 } else { r = b, s = r }
//   if !c { s = r } else { s = r + 1 } →
//
// A function that returns early looks like the second example: the rest of it is in an `if` on a
// flag that an arm of the first `if` sets.  So a condition is traced through `!` and through
// results that are true in one arm and false in the other.
//
// Gradients contain many such pairs: the forward sweep's guard comes right before the reverse
// sweep's.  A few values may be computed between them (the load of a cotangent): those that are
// also available before the first `if` are moved there.  A value that uses a result of the first
// `if` prevents fusion: the `if` would have to yield that result anyway.
//
// Inside the fused arms, the yields of the earlier `if`s replace their results.  Needs valid
// structure; keeps lines and names, and the order of everything else.
#include "ir/facts/memory.h"
#include "ir/pass/pass.h"

VY_VEC_TYPE(fuse_ids, uint32_t);

typedef struct fuse {
    vy_rewrite w;
    vy_writes writes;
    uint32_t *head; // by IF: the first one of its chain
    uint32_t *next; // by IF: the one that is fused to it, or 0
    bool *inverted; // by IF: its condition is the negation of what `truth` returns
} fuse;

static uint32_t middle_of(const fuse *f, uint32_t id) { return f->w.s.partner[id]; }
static uint32_t end_of(const fuse *f, uint32_t id) { return vy_closer(f->w.p, &f->w.s, id); }

// The value that determines `cond`; *inverted is flipped if `cond` is its negation.
static uint32_t truth(const fuse *f, uint32_t cond, bool *inverted)
{
    const vy_program *p = f->w.p;
    while (!VY_IS_LEAF(cond)) {
        uint32_t then, other, opener = vy_choice(p, &f->w.s, cond, &then, &other);
        if (p->insts.data[cond].op == VY_OP_NOT) {
            *inverted = !*inverted;
            cond = vy_arg(p, cond, 0);
        } else if (opener) {
            const vy_scalar *x = vy_id_const(p, then), *y = vy_id_const(p, other);
            if (!x || !y || x->u == y->u) break;
            *inverted ^= x->u == 0;
            cond = vy_arg(p, opener, 0);
        } else {
            break;
        }
    }
    return cond;
}

static uint32_t decides(const fuse *f, uint32_t id)
{
    bool inverted = false;
    return truth(f, vy_arg(f->w.p, id, 0), &inverted);
}

static uint32_t result_count(const fuse *f, uint32_t id)
{
    return f->w.p->insts.data[end_of(f, id)].nargs;
}

// The first instruction after the `if` and its results.
static uint32_t after(const fuse *f, uint32_t id)
{
    return end_of(f, id) + 1 + result_count(f, id);
}

// May instruction `k`, which follows `if` `id`, be computed before it and the others of its chain?
static bool may_move(const fuse *f, uint32_t id, uint32_t k)
{
    const vy_program *p = f->w.p;
    vy_effect effect = vy_op_infos[p->insts.data[k].op].effect;
    if (effect != VY_PURE && p->insts.data[k].op != VY_OP_LOAD) return false;
    for (uint32_t n = 0; n < p->insts.data[k].nargs; n++) {
        uint32_t then, other, opener = vy_choice(p, &f->w.s, vy_arg(p, k, n), &then, &other);
        if (opener && decides(f, opener) == decides(f, id)) return false;
    }
    return effect == VY_PURE ||
           !vy_written_between(&f->writes, p->insts.data[k].aux, f->head[id], k);
}

// The `if` on the same condition that follows `id` and its results, or 0.
static uint32_t find_next(const fuse *f, uint32_t id)
{
    enum { FAR = 16 };
    const vy_program *p = f->w.p;
    uint32_t next = after(f, id);
    for (uint32_t n = 0; n < FAR && next < p->insts.count && may_move(f, id, next); n++) next++;
    if (next >= p->insts.count || p->insts.data[next].op != VY_OP_IF) return 0;
    return decides(f, next) == decides(f, id) ? next : 0;
}

static uint32_t next_of(const fuse *f, uint32_t id) { return f->next[id]; }

static uint32_t instead(void *pass, uint32_t id);

// Copies one arm of `id`, whose marker holds the yields; appends the mapped yields to `ids`, and
// maps the results to them for the rest of the fused arm.
static void copy_arm(fuse *f, uint32_t id, uint32_t marker, uint32_t from, fuse_ids *ids)
{
    vy_rewrite_range(&f->w, from, marker, instead, f);
    for (uint32_t k = 0; k < result_count(f, id) && !vy_builder_failed(f->w.b); k++) {
        uint32_t value = vy_new_arg(&f->w, marker, k);
        f->w.map[end_of(f, id) + 1 + k] = value;
        if (!vy_vec_push(ids, value)) f->w.oom = true;
    }
}

static void arm(fuse *f, uint32_t id, bool first, fuse_ids *ids)
{
    uint32_t middle = middle_of(f, id);
    copy_arm(f, id, first ? middle : end_of(f, id), (first ? id : middle) + 1, ids);
}

static uint32_t fuse_chain(fuse *f, uint32_t first)
{
    fuse_ids thens = {0}, elses = {0}, results = {0};
    uint32_t last = first;
    for (uint32_t id = first; next_of(f, id); id = next_of(f, id))
        vy_rewrite_range(&f->w, after(f, id), next_of(f, id), NULL, NULL);
    vy_rewrite_at(&f->w, first);
    vy_begin_if(f->w.b, vy_new_arg(&f->w, first, 0));
    for (uint32_t id = first; id && !f->w.oom; id = next_of(f, id)) {
        arm(f, id, f->inverted[id] == f->inverted[first], &thens);
        last = id;
    }
    vy_begin_else(f->w.b, thens.count, thens.data);
    for (uint32_t id = first; id && !f->w.oom; id = next_of(f, id))
        arm(f, id, f->inverted[id] != f->inverted[first], &elses);
    if (!vy_vec_reserve(&results, elses.count + 1)) f->w.oom = true;
    if (!vy_rewrite_stopped(&f->w)) {
        vy_end_if(f->w.b, elses.count, elses.data, results.data);
        uint32_t at = 0;
        for (uint32_t id = first; id; id = next_of(f, id)) {
            vy_rewrite_slots(&f->w, end_of(f, id), result_count(f, id), results.data + at);
            at += result_count(f, id);
        }
    }
    vy_vec_free(&thens);
    vy_vec_free(&elses);
    vy_vec_free(&results);
    return after(f, last) - 1; // the last instruction copied
}

// Recursion is as deep as `if`s nest.
static uint32_t instead(void *pass, uint32_t id)
{
    fuse *f = pass;
    return f->w.p->insts.data[id].op == VY_OP_IF ? fuse_chain(f, id) : 0;
}

static bool find_chains(fuse *f)
{
    bool any = false;
    for (uint32_t id = 1; id < f->w.p->insts.count; id++) {
        if (f->w.p->insts.data[id].op != VY_OP_IF) continue;
        if (!f->head[id]) f->head[id] = id;
        truth(f, vy_arg(f->w.p, id, 0), &f->inverted[id]);
        f->next[id] = find_next(f, id);
        if (!f->next[id]) continue;
        f->head[f->next[id]] = f->head[id];
        any = true;
    }
    return any;
}

static bool prepare_fusion(fuse *f)
{
    f->head = vy_rewrite_ids(&f->w);
    f->next = vy_rewrite_ids(&f->w);
    f->inverted = vy_rewrite_table(&f->w, f->w.p->insts.count * sizeof *f->inverted);
    return !f->w.oom && vy_writes_make(&f->writes, f->w.p, VY_COUNT_WRITES, &f->w.arena);
}

bool vy_pass_fuse_ifs(vy_program *p, vy_pass_context *c)
{
    if (!(vy_constructs(p) & VY_IFS)) return true;
    fuse f = {0};
    bool ok = vy_rewrite_begin(&f.w, p) && prepare_fusion(&f);
    if (ok && find_chains(&f)) vy_rewrite_run(&f.w, instead, &f);
    return vy_rewrite_end(&f.w, ok, &c->changed);
}
