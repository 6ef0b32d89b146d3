// SPDX-License-Identifier: MIT
// promote_sums.c: what a loop adds atomically to one element is added up in a variable first.
//
//   for k in 0..K {                             local t: f32[1];
//     atomic_add(loss[0], e(k));         →      for k in 0..K { t[0] += e(k); }
//   }                                           if 0 < K { atomic_add(loss[0], t[0]); }
//
// (scalarise, which runs next, turns t into a carried value.)  promote_elements.c does this for plain stores and
// must know that no other access in the loop meets the element; additions may meet others as they like.
// So all that the loop does to the memory must be additions whose old values nobody uses, and it has no
// barrier, behind which somebody could look.  Out of many loops the outermost one is taken around which
// the index does not change.
//
// Where the loop may run without adding (an `if`, an inner loop), the element may be another's: then
// nothing is added if the sum is 0, which changes at most −0 to 0.
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
    const vy_program *p;
    vy_structure s;
    vy_writes touched; // reads and writes
    vy_arena arena;
    uint8_t *used;   // by atomic: somebody wants the old value
    uint32_t *by;    // by site: 1 + its sum
    uint32_t *first; // by LOOP: 1 + its first sum
    sum_vec sums;
    uint32_t *map;
} accumulate;

static void find_used(accumulate *a)
{
    for (uint32_t id = 1; id < a->p->insts.count; id++)
        for (uint32_t k = 0; k < a->p->insts.data[id].nargs; k++) {
            uint32_t v = vy_arg(a->p, id, k);
            if (!VY_IS_LEAF(v)) a->used[v] = 1;
        }
}

// Does the loop nothing to the memory but add?
static bool only_adds(const accumulate *a, uint32_t memory, uint32_t loop)
{
    uint32_t end = a->s.partner[loop], seen = 0;
    if (vy_barrier_between(&a->touched, loop, end)) return false;
    for (uint32_t n = vy_first_after(&a->touched, memory, loop); n < a->touched.start[memory + 1];
         n++) {
        uint32_t id = a->touched.at[n];
        if (id >= end) break;
        if (++seen > MAX_ACCESSES || a->p->insts.data[id].op != VY_OP_ATOMIC_ADD || a->used[id])
            return false;
    }
    return true;
}

static bool invariant(const accumulate *a, uint32_t site, uint32_t loop)
{
    for (uint32_t k = 0; k + 1 < a->p->insts.data[site].nargs; k++) {
        uint32_t index = vy_arg(a->p, site, k);
        if (!VY_IS_LEAF(index) && index >= loop) return false;
    }
    return true;
}

// The outermost loop that `site` can leave, or 0.
static uint32_t way_out(const accumulate *a, uint32_t site, bool *sparse)
{
    uint32_t out = 0, memory = vy_memory_of(a->p, a->p->insts.data[site].aux);
    bool certain = true; // the site is reached in each iteration of the construct at hand
    for (uint32_t c = a->s.parent[site]; c; c = a->s.parent[c]) {
        vy_op op = (vy_op)a->p->insts.data[c].op;
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
    const vy_inst *i = &a->p->insts.data[x], *j = &a->p->insts.data[y];
    if (i->aux != j->aux) return false;
    for (uint32_t k = 0; k + 1 < i->nargs; k++)
        if (vy_arg(a->p, x, k) != vy_arg(a->p, y, k)) return false;
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
    for (uint32_t id = 1; id < a->p->insts.count; id++) {
        const vy_inst *i = &a->p->insts.data[id];
        if (i->op != VY_OP_ATOMIC_ADD || a->used[id] || !a->s.parent[id]) continue;
        const vy_buf *b = &a->p->buffers.data[i->aux];
        bool sparse = false;
        if (b->cls == VY_LOCAL || vy_type_loaded(b->type) != b->type) continue;
        uint32_t loop = way_out(a, id, &sparse);
        if (loop && !join(a, id, loop, sparse)) return false;
    }
    return true;
}

// ------------------------------------------------------------------------------------- rebuilding
static vy_type type_of_sum(vy_type t) { return t == VY_F16 ? VY_F32 : t; }

static void in_front(accumulate *a, vy_builder *b, uint32_t loop)
{
    vy_pass_at(b, a->p, loop);
    for (uint32_t n = a->first[loop]; n; n = a->sums.data[n - 1].next) {
        sum *s = &a->sums.data[n - 1];
        const vy_buf *buf = &a->p->buffers.data[a->p->insts.data[s->site].aux];
        vy_dim one = vy_dim_const(b, 1);
        vy_value zero = vy_int(b, VY_U32, 0);
        const vy_type t = type_of_sum(buf->type);
        s->array = vy_local_array(b, buf->name, t, 1, &one);
        vy_store(b, s->array, &zero, vy_zero(b, t));
    }
}

static void at_site(accumulate *a, vy_builder *b, uint32_t id)
{
    const sum *s = &a->sums.data[a->by[id] - 1];
    vy_value zero = vy_int(b, VY_U32, 0);
    vy_value term = {vy_map(a->map, vy_arg(a->p, id, a->p->insts.data[id].nargs - 1))};
    vy_pass_at(b, a->p, id);
    vy_value have = vy_load(b, s->array, &zero);
    vy_store(b, s->array, &zero, vy_add(b, have, vy_cast(b, vy_value_type(b, have), term)));
}

static void add_total(accumulate *a, vy_builder *b, const sum *s)
{
    const vy_inst *i = &a->p->insts.data[s->site];
    uint32_t args[VY_MAX_RANK + 1], loop = s->loop;
    vy_value zero = vy_int(b, VY_U32, 0), from = {vy_map(a->map, vy_arg(a->p, loop, 0))};
    vy_value to = {vy_map(a->map, vy_arg(a->p, loop, 1))};
    vy_pass_at(b, a->p, s->site);
    vy_value total = vy_cast(b, (vy_type)i->type, vy_load(b, s->array, &zero));
    vy_value some = s->sparse ? vy_ne(b, total, vy_zero(b, (vy_type)i->type)) : vy_lt(b, from, to);
    if (vy_builder_failed(b)) return;
    const vy_scalar *k = vy_id_const(vy_builder_program(b), some.id);
    bool surely = k && k->u;
    for (uint32_t n = 0; n + 1 < i->nargs; n++) args[n] = vy_map(a->map, vy_arg(a->p, s->site, n));
    args[i->nargs - 1] = total.id;
    if (!surely) vy_begin_if(b, some.id);
    vy_emit(b, VY_OP_ATOMIC_ADD, (vy_type)i->type, i->aux, i->nargs, args);
    if (surely) return;
    vy_begin_else(b, 0, NULL);
    vy_end_if(b, 0, NULL, NULL);
}

static bool rebuild(accumulate *a, vy_program *p)
{
    vy_builder *b = vy_rebuild_begin(p);
    if (!b) return false;
    for (uint32_t id = 1; id < p->insts.count && !vy_builder_failed(b); id++) {
        vy_op op = (vy_op)p->insts.data[id].op;
        if (a->first[id]) in_front(a, b, id);
        if (a->by[id])
            at_site(a, b, id);
        else
            vy_copy_inst(b, p, id, a->map);
        // A loop's RESULTs stand directly behind it; what is added comes after the last.
        uint32_t end = op == VY_OP_ENDLOOP ? id : op == VY_OP_RESULT ? vy_arg(p, id, 0) : 0;
        if (!end || p->insts.data[end].op != VY_OP_ENDLOOP) continue;
        uint32_t loop = a->s.partner[end];
        if (id != end + vy_slot_count(p, &a->s, loop)) continue;
        for (uint32_t n = a->first[loop]; n; n = a->sums.data[n - 1].next)
            add_total(a, b, &a->sums.data[n - 1]);
    }
    return vy_pass_finish(b, p);
}

static bool prepare(accumulate *a)
{
    size_t n = a->p->insts.count;
    a->used = vy_arena_alloc(&a->arena, n);
    a->by = vy_arena_alloc(&a->arena, n * sizeof *a->by);
    a->first = vy_arena_alloc(&a->arena, n * sizeof *a->first);
    a->map = vy_arena_alloc(&a->arena, n * sizeof *a->map);
    return a->used && a->by && a->first && a->map && vy_structure_make(a->p, &a->s) &&
           vy_writes_make(&a->touched, a->p, VY_COUNT_WRITES | VY_COUNT_READS, &a->arena);
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

bool vy_pass_accumulate(vy_program *p, vy_pass_context *c)
{
    if (!has_additions(p)) return true;
    accumulate a = {.p = p};
    bool ok = prepare(&a);
    if (ok) {
        find_used(&a);
        ok = choose(&a);
    }
    if (!ok) vy_fail_oom(p->module);
    if (ok && a.sums.count) {
        c->changed = true;
        ok = rebuild(&a, p);
    }
    vy_vec_free(&a.sums);
    vy_structure_free(&a.s);
    vy_arena_free(&a.arena);
    return ok;
}
