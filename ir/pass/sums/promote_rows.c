// SPDX-License-Identifier: MIT
// promote_rows.c: a row of memory to which the turns of an outer loop add lives in a local array
// meanwhile.
//
//   for j in 0..n {                                  local t: f32[64];
//     s = …;                                         for j in 0..n {
//     for c in 0..64 {                                 s = …;
//       atomic_add(g[i, c], s * k[j, c]);    →         for c in 0..64 { t[c] += s * k[j, c]; }
//     }                                              }
//   }                                                if 0 < n { for c in 0..64 { atomic_add(g[i, c], t[c]); } }
//
// promote_elements.c and promote_sums.c do this for one element, whose index the loop does not
// change; here the index is also the counter of an inner loop with constant bounds.  (unroll_rows
// and scalarise, which run next, turn t into values.)  What they say of legality holds here for the
// row as a whole:
//
//   additions   all that the outer loop does to the memory must be atomic additions whose old values nobody
//               uses, and it has no barrier.  Where it may run without adding, only sums other than
//               0 are added in the end.
//   stores      every access to the buffer in the outer loop must be to the row or certainly to another
//               one, and the inner loop must stand directly in it, so that its first turn stores
//               the whole row.  Loading in front and storing behind are guarded by `from < to`.
//
// Needs valid structure; keeps lines and names.
#include "ir/facts/memory.h"
#include "ir/facts/range.h"
#include "ir/pass/pass.h"

enum { MAX_ACCESSES = 64, MAX_ROW = 128, MAX_IN_ALL = 512 };

typedef struct row {
    uint32_t loop, site; // the outer loop; the first store or addition names buffer and index
    uint32_t inner, axis, count; // the loop whose counter is that axis of the index, 0..count
    uint32_t next;               // of the same outer loop; 1 + index
    bool sparse;                 // additions: the loop may run without one
    vy_buffer array;
} row;
VY_VEC_TYPE(row_vec, row);

typedef struct rows {
    vy_rewrite w;
    vy_writes touched; // reads and writes
    uint8_t *used;     // by instruction: somebody wants its value
    uint8_t *proved;   // by access: in range
    uint32_t *by;      // by access: 1 + its row
    uint32_t *first;   // by LOOP: 1 + its first row
    row_vec list;
    uint32_t elements; // of all rows so far
} rows;

// ----------------------------------------------------------------------------------------- the row
// Turns of a loop from 0 in steps of 1 that never leaves early; 0: not such a one, or too many.
static uint32_t turns(const rows *r, uint32_t loop)
{
    int64_t from, to, step;
    if (r->w.p->insts.data[loop].op != VY_OP_LOOP || vy_next_arg(r->w.p, loop)) return 0;
    if (!vy_id_int(r->w.p, vy_arg(r->w.p, loop, 0), &from) ||
        !vy_id_int(r->w.p, vy_arg(r->w.p, loop, 1), &to) ||
        !vy_id_int(r->w.p, vy_arg(r->w.p, loop, 2), &step))
        return 0;
    return from == 0 && step == 1 && to > 1 && to <= MAX_ROW ? (uint32_t)to : 0;
}

static bool outside(uint32_t id, uint32_t loop) { return VY_IS_LEAF(id) || id < loop; }

static uint32_t rank_of(const rows *r, uint32_t access)
{
    return r->w.p->buffers.data[r->w.p->insts.data[access].aux].rank;
}

// Is access `id` to the row of w, as seen from inside w->loop?
static bool in_row(const rows *r, const row *w, uint32_t id)
{
    if (r->w.p->insts.data[id].aux != r->w.p->insts.data[w->site].aux) return false;
    for (uint32_t k = 0; k < rank_of(r, id); k++) {
        uint32_t index = vy_arg(r->w.p, id, k);
        if (k != w->axis) {
            if (index != vy_arg(r->w.p, w->site, k)) return false;
            continue;
        }
        if (VY_IS_LEAF(index) || index < w->loop) return false;
        uint32_t n = turns(r, index);
        if (!n || n > w->count) return false;
    }
    return true;
}

static bool invariant(const rows *r, const row *w, uint32_t loop)
{
    for (uint32_t k = 0; k < rank_of(r, w->site); k++)
        if (k != w->axis && !outside(vy_arg(r->w.p, w->site, k), loop)) return false;
    return true;
}

// The inner loop and the axis on which its counter alone is the index.
static bool find_axis(const rows *r, row *w)
{
    uint32_t found = 0;
    for (uint32_t k = 0; k < rank_of(r, w->site); k++) {
        uint32_t index = vy_arg(r->w.p, w->site, k);
        if (VY_IS_LEAF(index) || !(w->count = turns(r, index))) continue;
        // The innermost loop of them, around which the site stands directly or under conditions.
        uint32_t up = r->w.s.parent[w->site];
        while (up && r->w.p->insts.data[up].op == VY_OP_IF) up = r->w.s.parent[up];
        if (index != up) continue;
        w->inner = index;
        w->axis = k;
        found++;
    }
    if (found == 1) w->count = turns(r, w->inner);
    return found == 1;
}

// --------------------------------------------------------------------------------------- additions
static bool only_adds(const rows *r, uint32_t memory, uint32_t loop)
{
    uint32_t end = r->w.s.partner[loop], seen = 0;
    if (vy_barrier_between(&r->touched, loop, end)) return false;
    for (uint32_t n = vy_first_after(&r->touched, memory, loop); n < r->touched.start[memory + 1];
         n++) {
        uint32_t id = r->touched.at[n];
        if (id >= end) break;
        if (++seen > MAX_ACCESSES || r->w.p->insts.data[id].op != VY_OP_ATOMIC_ADD || r->used[id])
            return false;
    }
    return true;
}

// The outermost loop that the additions at w->site can leave.
static bool additions(const rows *r, row *w)
{
    uint32_t memory = vy_memory_of(r->w.p, r->w.p->insts.data[w->site].aux);
    bool certain = r->w.s.parent[w->site] == w->inner;
    for (uint32_t c = r->w.s.parent[w->inner]; c; c = r->w.s.parent[c]) {
        vy_op op = (vy_op)r->w.p->insts.data[c].op;
        if (op == VY_OP_LOOP) {
            if (!invariant(r, w, c) || !only_adds(r, memory, c)) break;
            w->loop = c;
            w->sparse = !certain;
        } else if (op != VY_OP_IF) {
            break;
        }
        certain = false;
    }
    return w->loop != 0;
}

// ------------------------------------------------------------------------------------------ stores
// Looks at all accesses to the memory inside the outer loop, and takes those of the row.
static bool take(rows *r, const row *w, uint32_t number)
{
    uint32_t memory = vy_memory_of(r->w.p, r->w.p->insts.data[w->site].aux), seen = 0;
    uint32_t end = r->w.s.partner[w->loop];
    const vy_writes *t = &r->touched;
    bool read = false;
    for (uint32_t n = vy_first_after(t, memory, w->loop); n < t->start[memory + 1]; n++) {
        uint32_t id = t->at[n];
        if (id >= end) break;
        vy_op op = (vy_op)r->w.p->insts.data[id].op;
        if (++seen > MAX_ACCESSES || (op != VY_OP_LOAD && op != VY_OP_STORE) || r->by[id] ||
            r->w.p->insts.data[id].aux != r->w.p->insts.data[w->site].aux)
            return false;
        if (in_row(r, w, id)) {
            read |= op == VY_OP_LOAD && id < w->site && r->w.s.parent[id] == w->inner;
            if (number) r->by[id] = number;
        } else if (vy_indices_meet(r->w.p, rank_of(r, id), vy_args(r->w.p, id),
                                   vy_args(r->w.p, w->site))) {
            return false;
        }
    }
    return read; // else an element may be one that nobody has written
}

static bool stores(rows *r, row *w)
{
    w->loop = r->w.s.parent[w->inner];
    if (!w->loop || r->w.p->insts.data[w->loop].op != VY_OP_LOOP) return false;
    return r->w.s.parent[w->site] == w->inner && r->proved[w->site] && invariant(r, w, w->loop) &&
           !vy_barrier_between(&r->touched, w->loop, r->w.s.partner[w->loop]) && take(r, w, 0);
}

// ------------------------------------------------------------------------------------------ choice
// A row that has been chosen already, of the same outer loop: index, or 0 for none.
static uint32_t known(const rows *r, const row *w)
{
    for (uint32_t n = r->first[w->loop]; n; n = r->list.data[n - 1].next) {
        const row *have = &r->list.data[n - 1];
        if (have->axis == w->axis && have->count == w->count && in_row(r, have, w->site)) return n;
    }
    return 0;
}

static bool choose(rows *r)
{
    for (uint32_t id = 1; id < r->w.p->insts.count; id++) {
        const vy_inst *i = &r->w.p->insts.data[id];
        if ((i->op != VY_OP_STORE && i->op != VY_OP_ATOMIC_ADD) || r->by[id] || !r->w.s.parent[id])
            continue;
        const vy_buf *b = &r->w.p->buffers.data[i->aux];
        row w = {.site = id};
        if (b->cls > VY_INOUT || vy_type_loaded(b->type) != b->type || !find_axis(r, &w)) continue;
        bool adds = i->op == VY_OP_ATOMIC_ADD;
        if (adds ? r->used[id] || !additions(r, &w) : !stores(r, &w)) continue;
        uint32_t have = adds ? known(r, &w) : 0;
        if (have) {
            r->list.data[have - 1].sparse &= w.sparse;
            r->by[id] = have;
            continue;
        }
        if (r->elements + w.count > MAX_IN_ALL) continue;
        r->elements += w.count;
        w.next = r->first[w.loop];
        if (!vy_vec_push(&r->list, w)) return false;
        r->first[w.loop] = r->list.count;
        if (adds)
            r->by[id] = r->list.count;
        else
            take(r, &w, r->list.count);
    }
    return true;
}

// ------------------------------------------------------------------------------------- rebuilding
// Operands of an access to element c of the row.
static void element(const rows *r, const row *w, uint32_t c, uint32_t *args)
{
    vy_new_args(&r->w, w->site, rank_of(r, w->site), args);
    args[w->axis] = c;
}

static uint32_t begin_row(rows *r, const row *w)
{
    vy_type t = (vy_type)r->w.p->insts.data[w->inner].type;
    uint32_t bounds[3];
    vy_new_args(&r->w, w->inner, 3, bounds);
    uint32_t c = vy_begin_loop(r->w.b, t, 0, bounds[0], bounds[1], bounds[2], 0, NULL, NULL);
    vy_pass_name(r->w.b, r->w.p, w->inner, c);
    return c;
}

// Opens `if from < to` unless that is known; true: it was opened.
static bool begin_if_runs(rows *r, uint32_t loop)
{
    return vy_begin_if_unsure(r->w.b, vy_new_runs(&r->w, loop).id);
}

// Is the row zero when the loop begins?  A result is, until somebody writes to it.
static bool begins_zero(const rows *r, const row *w)
{
    uint32_t buffer = r->w.p->insts.data[w->site].aux, memory = vy_memory_of(r->w.p, buffer);
    const vy_buf *b = &r->w.p->buffers.data[buffer];
    for (uint32_t up = r->w.s.parent[w->loop]; up; up = r->w.s.parent[up])
        if (vy_is_loop((vy_op)r->w.p->insts.data[up].op)) return false;
    return memory == buffer && b->cls == VY_OUT && b->init == VY_INIT_NONE && !b->workspace &&
           r->touched.at[r->touched.start[memory]] > w->loop &&
           !vy_barrier_between(&r->touched, 0, w->loop);
}

static void in_front(rows *r, uint32_t loop)
{
    vy_builder *b = r->w.b;
    for (uint32_t n = r->first[loop]; n; n = r->list.data[n - 1].next) {
        row *w = &r->list.data[n - 1];
        const vy_inst *site = &r->w.p->insts.data[w->site];
        const vy_buf *buf = &r->w.p->buffers.data[site->aux];
        vy_dim dim = vy_dim_const(b, w->count);
        uint32_t args[VY_MAX_RANK + 1];
        vy_rewrite_at(&r->w, loop);
        w->array = vy_local_array(b, buf->name, buf->type, 1, &dim);
        if (vy_builder_failed(b)) return;
        if (site->op != VY_OP_STORE || begins_zero(r, w)) continue;
        bool asks = begin_if_runs(r, loop);
        uint32_t c = begin_row(r, w);
        element(r, w, c, args);
        uint32_t v = vy_emit(b, VY_OP_LOAD, buf->type, site->aux, rank_of(r, w->site), args);
        vy_emit(b, VY_OP_STORE, VY_VOID, w->array.id, 2, (uint32_t[]){c, v});
        vy_end_loop(b, 0, 0, NULL, NULL);
        if (asks) vy_end_plain_if(b);
    }
}

static void behind_one(rows *r, const row *w)
{
    vy_builder *b = r->w.b;
    const vy_inst *site = &r->w.p->insts.data[w->site];
    bool store = site->op == VY_OP_STORE, sparse = !store && w->sparse;
    vy_type type = r->w.p->buffers.data[site->aux].type;
    uint32_t args[VY_MAX_RANK + 1], rank = rank_of(r, w->site);
    vy_rewrite_at(&r->w, w->site);
    bool asks = !sparse && begin_if_runs(r, w->loop);
    uint32_t c = begin_row(r, w);
    uint32_t v = vy_emit(b, VY_OP_LOAD, type, w->array.id, 1, &c);
    if (sparse) vy_begin_if(b, vy_ne(b, (vy_value){v}, vy_zero(b, type)).id);
    element(r, w, c, args);
    args[rank] = v;
    vy_emit(b, store ? VY_OP_STORE : VY_OP_ATOMIC_ADD, store ? VY_VOID : type, site->aux, rank + 1,
            args);
    if (sparse) vy_end_plain_if(b);
    vy_end_loop(b, 0, 0, NULL, NULL);
    if (asks) vy_end_plain_if(b);
}

static void access_row(rows *r, uint32_t id)
{
    vy_builder *b = r->w.b;
    const vy_inst *i = &r->w.p->insts.data[id];
    const row *w = &r->list.data[r->by[id] - 1];
    vy_type type = r->w.p->buffers.data[i->aux].type;
    uint32_t c = vy_new_arg(&r->w, id, w->axis), rank = rank_of(r, id);
    vy_rewrite_at(&r->w, id);
    if (i->op == VY_OP_LOAD) {
        vy_rewrite_as(&r->w, id, vy_emit(b, VY_OP_LOAD, type, w->array.id, 1, &c));
        return;
    }
    vy_value v = {vy_new_arg(&r->w, id, rank)};
    if (i->op == VY_OP_ATOMIC_ADD)
        v = vy_add(b, (vy_value){vy_emit(b, VY_OP_LOAD, type, w->array.id, 1, &c)}, v);
    vy_emit(b, VY_OP_STORE, VY_VOID, w->array.id, 2, (uint32_t[]){c, v.id});
}

static uint32_t instead(void *pass, uint32_t id)
{
    rows *r = pass;
    if (r->first[id]) in_front(r, id);
    if (r->by[id])
        access_row(r, id);
    else
        vy_rewrite_copy(&r->w, id);
    uint32_t loop = vy_rewrite_ended(&r->w, id);
    for (uint32_t n = loop ? r->first[loop] : 0; n && !vy_rewrite_stopped(&r->w);
         n = r->list.data[n - 1].next)
        behind_one(r, &r->list.data[n - 1]);
    return id;
}

// ---------------------------------------------------------------------------------------- the pass
static bool prepare(rows *r)
{
    const vy_program *p = r->w.p;
    r->used = vy_rewrite_bytes(&r->w);
    r->proved = vy_rewrite_bytes(&r->w);
    r->by = vy_rewrite_ids(&r->w);
    r->first = vy_rewrite_ids(&r->w);
    if (r->w.oom) return false;
    for (uint32_t id = 1; id < p->insts.count; id++)
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
            uint32_t v = vy_arg(p, id, k);
            if (!VY_IS_LEAF(v)) r->used[v] = 1;
        }
    return vy_writes_make(&r->touched, p, VY_COUNT_WRITES | VY_COUNT_READS, &r->w.arena) &&
           vy_prove_ranges(p, &r->w.s, &r->w.arena, r->proved);
}

// Is there a loop in a loop at all?
static bool has_nests(const vy_program *p)
{
    uint32_t loops = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        loops += p->insts.data[id].op == VY_OP_LOOP;
        if (loops > 1) return true;
    }
    return false;
}

bool vy_pass_promote_rows(vy_program *p, vy_pass_context *c)
{
    if (!has_nests(p)) return true;
    rows r = {0};
    bool ok = vy_rewrite_begin(&r.w, p) && prepare(&r) && choose(&r);
    if (ok && r.list.count) vy_rewrite_run(&r.w, instead, &r);
    vy_vec_free(&r.list);
    return vy_rewrite_end(&r.w, ok, &c->changed);
}
