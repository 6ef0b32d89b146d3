// SPDX-License-Identifier: MIT
// promote_sums.c: what a loop adds atomically to one element is added up in a variable first.
//
//   for k in 0..K {                             local t: f32[1];
//     atomic_add(loss[0], e(k));         →      for k in 0..K { t[0] += e(k); }
//   }                                           if 0 < K { atomic_add(loss[0], t[0]); }
//
// (scalarise, which runs next, turns t into a carried value.)  promote_elements.c does this for
// plain stores and must know that no other access in the loop meets the element; additions may meet
// others as they like.  So the loop may access the memory by additions only, whose old values are
// not used, and it has no barrier, behind which other invocations could observe the element.  Out
// of many loops the outermost one is taken around which the index does not change.
//
// Where the loop may run without adding (an `if`, an inner loop), the element may be another's:
// then nothing is added if the sum is 0, which changes at most −0 to 0.
//
// Half floats are added up as f32 and rounded once.
//
// Needs valid structure; keeps lines and names.
#include "ir/facts/memory.h"
#include "ir/pass/pass.h"

enum { MAX_ACCESSES = 64 };

typedef struct sum {
    uint32_t loop, site; // the first site names buffer and index
    uint32_t next;       // of the same loop; 1 + index
    bool sparse;         // the loop may run without adding
    vy_buffer array;
} sum;
VY_VEC_TYPE(sum_vec, sum);

typedef struct accumulate {
    vy_rewrite w;
    vy_writes touched; // reads and writes
    uint8_t *used;     // by atomic: somebody wants the old value
    uint32_t *by;      // by site: 1 + its sum
    uint32_t *first;   // by LOOP: 1 + its first sum
    sum_vec sums;
} accumulate;

static void find_used(accumulate *a)
{
    for (uint32_t id = 1; id < a->w.p->insts.count; id++)
        for (uint32_t k = 0; k < a->w.p->insts.data[id].nargs; k++) {
            uint32_t v = vy_arg(a->w.p, id, k);
            if (!VY_IS_LEAF(v)) a->used[v] = 1;
        }
}

// Does the loop nothing to the memory but add?
static bool only_adds(const accumulate *a, uint32_t memory, uint32_t loop)
{
    uint32_t end = a->w.s.partner[loop], seen = 0;
    if (vy_barrier_between(&a->touched, loop, end)) return false;
    for (uint32_t n = vy_first_after(&a->touched, memory, loop); n < a->touched.start[memory + 1];
         n++) {
        uint32_t id = a->touched.at[n];
        if (id >= end) break;
        if (++seen > MAX_ACCESSES || a->w.p->insts.data[id].op != VY_OP_ATOMIC_ADD || a->used[id])
            return false;
    }
    return true;
}

static bool invariant(const accumulate *a, uint32_t site, uint32_t loop)
{
    for (uint32_t k = 0; k + 1 < a->w.p->insts.data[site].nargs; k++) {
        uint32_t index = vy_arg(a->w.p, site, k);
        if (!VY_IS_LEAF(index) && index >= loop) return false;
    }
    return true;
}

// The outermost loop that `site` can leave, or 0.
static uint32_t way_out(const accumulate *a, uint32_t site, bool *sparse)
{
    uint32_t out = 0, memory = vy_memory_of(a->w.p, a->w.p->insts.data[site].aux);
    bool certain = true; // the site is reached in each iteration of the construct at hand
    for (uint32_t c = a->w.s.parent[site]; c; c = a->w.s.parent[c]) {
        vy_op op = (vy_op)a->w.p->insts.data[c].op;
        if (op == VY_OP_LOOP) {
            if (!invariant(a, site, c) || !only_adds(a, memory, c)) break;
            out = c;
            *sparse = !certain;
        } else if (op != VY_OP_IF) {
            break;
        }
        certain = false;
    }
    return out;
}

static bool same_element(const accumulate *a, uint32_t x, uint32_t y)
{
    const vy_inst *i = &a->w.p->insts.data[x], *j = &a->w.p->insts.data[y];
    if (i->aux != j->aux) return false;
    for (uint32_t k = 0; k + 1 < i->nargs; k++)
        if (vy_arg(a->w.p, x, k) != vy_arg(a->w.p, y, k)) return false;
    return true;
}

static bool join(accumulate *a, uint32_t site, uint32_t loop, bool sparse)
{
    for (uint32_t n = a->first[loop]; n; n = a->sums.data[n - 1].next) {
        sum *s = &a->sums.data[n - 1];
        if (!same_element(a, s->site, site)) continue;
        s->sparse &= sparse;
        a->by[site] = n;
        return true;
    }
    sum fresh = {.loop = loop, .site = site, .next = a->first[loop], .sparse = sparse};
    if (!vy_vec_push(&a->sums, fresh)) return false;
    a->by[site] = a->first[loop] = a->sums.count;
    return true;
}

static bool choose(accumulate *a)
{
    for (uint32_t id = 1; id < a->w.p->insts.count; id++) {
        const vy_inst *i = &a->w.p->insts.data[id];
        if (i->op != VY_OP_ATOMIC_ADD || a->used[id] || !a->w.s.parent[id]) continue;
        const vy_buf *b = &a->w.p->buffers.data[i->aux];
        bool sparse = false;
        if (b->cls == VY_LOCAL || vy_type_loaded(b->type) != b->type) continue;
        uint32_t loop = way_out(a, id, &sparse);
        if (loop && !join(a, id, loop, sparse)) return false;
    }
    return true;
}

// ------------------------------------------------------------------------------------- rebuilding
static vy_type type_of_sum(vy_type t) { return t == VY_F16 ? VY_F32 : t; }

static void in_front(accumulate *a, uint32_t loop)
{
    vy_builder *b = a->w.b;
    vy_rewrite_at(&a->w, loop);
    for (uint32_t n = a->first[loop]; n; n = a->sums.data[n - 1].next) {
        sum *s = &a->sums.data[n - 1];
        const vy_buf *buf = &a->w.p->buffers.data[a->w.p->insts.data[s->site].aux];
        vy_dim one = vy_dim_const(b, 1);
        vy_value zero = vy_int(b, VY_U32, 0);
        const vy_type t = type_of_sum(buf->type);
        s->array = vy_local_array(b, buf->name, t, 1, &one);
        vy_store(b, s->array, &zero, vy_zero(b, t));
    }
}

static void at_site(accumulate *a, uint32_t id)
{
    vy_builder *b = a->w.b;
    const sum *s = &a->sums.data[a->by[id] - 1];
    vy_value zero = vy_int(b, VY_U32, 0);
    vy_value term = {vy_new_arg(&a->w, id, a->w.p->insts.data[id].nargs - 1)};
    vy_rewrite_at(&a->w, id);
    vy_value have = vy_load(b, s->array, &zero);
    vy_store(b, s->array, &zero, vy_add(b, have, vy_cast(b, vy_value_type(b, have), term)));
}

static void add_total(accumulate *a, const sum *s)
{
    vy_builder *b = a->w.b;
    const vy_inst *i = &a->w.p->insts.data[s->site];
    uint32_t args[VY_MAX_RANK + 1];
    vy_value zero = vy_int(b, VY_U32, 0);
    vy_rewrite_at(&a->w, s->site);
    vy_value total = vy_cast(b, (vy_type)i->type, vy_load(b, s->array, &zero));
    vy_value some =
        s->sparse ? vy_ne(b, total, vy_zero(b, (vy_type)i->type)) : vy_new_runs(&a->w, s->loop);
    vy_new_args(&a->w, s->site, i->nargs - 1, args);
    args[i->nargs - 1] = total.id;
    bool asks = vy_begin_if_unsure(b, some.id);
    vy_emit(b, VY_OP_ATOMIC_ADD, (vy_type)i->type, i->aux, i->nargs, args);
    if (asks) vy_end_plain_if(b);
}

static uint32_t instead(void *pass, uint32_t id)
{
    accumulate *a = pass;
    if (a->first[id]) in_front(a, id);
    if (a->by[id])
        at_site(a, id);
    else
        vy_rewrite_copy(&a->w, id);
    uint32_t loop = vy_rewrite_ended(&a->w, id);
    for (uint32_t n = loop ? a->first[loop] : 0; n && !vy_rewrite_stopped(&a->w);
         n = a->sums.data[n - 1].next)
        add_total(a, &a->sums.data[n - 1]);
    return id;
}

static bool prepare(accumulate *a)
{
    a->used = vy_rewrite_bytes(&a->w);
    a->by = vy_rewrite_ids(&a->w);
    a->first = vy_rewrite_ids(&a->w);
    return !a->w.oom &&
           vy_writes_make(&a->touched, a->w.p, VY_COUNT_WRITES | VY_COUNT_READS, &a->w.arena);
}

static bool has_additions(const vy_program *p)
{
    bool loops = false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        loops |= p->insts.data[id].op == VY_OP_LOOP;
        if (loops && p->insts.data[id].op == VY_OP_ATOMIC_ADD) return true;
    }
    return false;
}

bool vy_pass_promote_sums(vy_program *p, vy_pass_context *c)
{
    if (!has_additions(p)) return true;
    accumulate a = {0};
    bool ok = vy_rewrite_begin(&a.w, p) && prepare(&a);
    if (ok) {
        find_used(&a);
        ok = choose(&a);
    }
    if (ok && a.sums.count) vy_rewrite_run(&a.w, instead, &a);
    vy_vec_free(&a.sums);
    return vy_rewrite_end(&a.w, ok, &c->changed);
}
