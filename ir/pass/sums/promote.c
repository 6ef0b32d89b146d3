// SPDX-License-Identifier: MIT
// promote.c: memory that a loop updates is kept in variables while the loop runs.
//
//   for k in 0..K {                         local t: f32[1];  t[0] = y[i];
//     y[i] += x[i, k];              →       for k in 0..K { t[0] += x[i, k]; }
//   }                                       if 0 < K { y[i] = t[0]; }
//
//   for k in 0..K {                         local t: f32[1];
//     atomic_add(loss[0], e(k));    →       for k in 0..K { t[0] += e(k); }
//   }                                       if 0 < K { atomic_add(loss[0], t[0]); }
//
//   for j in 0..n {                         local t: f32[64];
//     s = …;                                for j in 0..n {
//     for c in 0..64 {                        s = …;
//       atomic_add(g[i, c],           →       for c in 0..64 { t[c] += s * k[j, c]; }
//                  s * k[j, c]);            }
//     }                                     if 0 < n {
//   }                                         for c in 0..64 { atomic_add(g[i, c], t[c]); }
//                                           }
//
// Three passes: promote_elements, promote_sums, and promote_rows, which does both where an axis of
// the index is the counter of an inner loop with constant bounds.  (scalarise, which runs next,
// turns t into a carried value; rows need `registers` first.)  Conditions on the element, or on the
// entire row:
//
//   stored   Storing after the loop without testing whether it ran would write an element that the
//            program does not write, which may be another invocation's: a race of our making.  So
//            the store must be directly in the body, which runs in the first iteration, and the one
//            after the loop is guarded by `from < to`.  Every access to the memory inside the loop
//            is a load or a store of this element or provably of another one, and with a barrier
//            inside only local arrays qualify.  The index is proved in range: a store out of range
//            would be dropped, an assignment to the variable would not.
//   added    Additions may alias one another.  But the loop may access the memory only by additions
//            whose old values are unused, and may have no barrier, after which others could observe
//            the element.  Of several loops around the addition, the outermost in which the index
//            is invariant is chosen.  Where it may run without adding (an `if`, an inner loop), the
//            element may be another invocation's: then nothing is added if the sum is 0, which
//            changes at most −0 to 0.  Half floats are added up as f32 and rounded once.
//
// Needs valid structure; keeps lines and names.
#include "ir/facts/addition.h"
#include "ir/facts/range.h"
#include "ir/pass/pass.h"

enum { MAX_ACCESSES = 64, MAX_ROW = 128, MAX_IN_ALL = 512 };

typedef struct place {
    uint32_t loop, site;  // the first store or addition names buffer and index
    uint32_t inner, axis; // of a row: the loop whose counter is that axis of the index; 0: no row
    uint32_t count;       // elements
    uint32_t next;        // of the same loop; 1 + index
    bool adds;            // else stores
    bool sparse;          // adds: the loop may run without adding
    bool read_first;      // stores: the loop reads the old value of the element
    vy_buffer array;      // the variable
} place;
VY_VEC_TYPE(place_vec, place);

typedef struct promote {
    vy_rewrite w;
    vy_addition_facts a;
    bool rows, stores, adds; // what this pass promotes
    uint8_t *proved;         // by access: in range
    uint32_t *by;            // by access: 1 + its place, or 0
    uint32_t *first;         // by LOOP: 1 + its first place
    place_vec list;
    uint32_t elements; // of all places
} promote;

static const vy_inst *inst(const promote *q, uint32_t id) { return &q->w.p->insts.data[id]; }

static const vy_buf *buffer_of(const promote *q, uint32_t id)
{
    return &q->w.p->buffers.data[inst(q, id)->aux];
}

// --------------------------------------------------------------------------------------- the place
// Trip count of a loop from 0 in steps of 1 that is never left early; 0: another loop, or too many.
static uint32_t row_trips(const promote *q, uint32_t loop)
{
    const vy_program *p = q->w.p;
    int64_t from, step;
    uint64_t n;
    if (vy_exits(p, loop) || !vy_constant_trips(p, loop, &n)) return 0;
    if (!vy_id_int(p, vy_arg(p, loop, 0), &from) || !vy_id_int(p, vy_arg(p, loop, 2), &step))
        return 0;
    return from == 0 && step == 1 && n > 1 && n <= MAX_ROW ? (uint32_t)n : 0;
}

// The innermost loop around x->site, and the only axis on which its counter is the index.
static bool find_row(const promote *q, place *x)
{
    uint32_t found = 0;
    x->inner = q->w.s.parent[x->site];
    while (x->inner && inst(q, x->inner)->op == VY_OP_IF) x->inner = q->w.s.parent[x->inner];
    if (!x->inner || !(x->count = row_trips(q, x->inner))) return false;
    for (uint32_t k = 0; k < vy_rank_of(q->w.p, x->site); k++)
        if (vy_arg(q->w.p, x->site, k) == x->inner) x->axis = k, found++;
    return found == 1;
}

// Is access `id` to the place, as seen from inside x->loop?
static bool is_at(const promote *q, const place *x, uint32_t id)
{
    if (inst(q, id)->aux != inst(q, x->site)->aux || !vy_same_index(q->w.p, id, x->site, x->axis))
        return false;
    if (!x->inner) return true;
    uint32_t counter = vy_arg(q->w.p, id, x->axis);
    if (VY_IS_LEAF(counter) || counter < x->loop) return false;
    uint32_t n = row_trips(q, counter);
    return n && n <= x->count;
}

// Is access `id` provably to another place, in whatever iterations of x->loop the two execute?  The
// axis of a row proves nothing: c + 1 is the c of the next iteration.
static bool is_apart(const promote *q, const place *x, uint32_t id)
{
    for (uint32_t k = 0; k < vy_rank_of(q->w.p, id); k++)
        if (k != x->axis &&
            vy_values_differ(q->w.p, vy_arg(q->w.p, id, k), vy_arg(q->w.p, x->site, k)))
            return true;
    return false;
}

// -------------------------------------------------------------------------------- stored and added
// Checks all accesses to the memory inside the loop, and assigns those to the place to `number`.
static bool claim_accesses(promote *q, place *x, uint32_t number)
{
    const vy_writes *t = &q->a.touched;
    uint32_t memory = vy_memory_of(q->w.p, inst(q, x->site)->aux), seen = 0;
    for (uint32_t n = vy_first_after(t, memory, x->loop); n < t->start[memory + 1]; n++) {
        uint32_t id = t->at[n];
        if (id >= q->w.s.partner[x->loop]) break;
        vy_op op = (vy_op)inst(q, id)->op;
        if (++seen > MAX_ACCESSES || (op != VY_OP_LOAD && op != VY_OP_STORE) ||
            inst(q, id)->aux != inst(q, x->site)->aux)
            return false;
        if (is_at(q, x, id)) {
            if (q->by[id]) return false;
            q->by[id] = number;
            x->read_first |=
                op == VY_OP_LOAD && id < x->site && (!x->inner || q->w.s.parent[id] == x->inner);
        } else if (!is_apart(q, x, id)) {
            return false;
        }
    }
    // A row that the loop does not read first may have been written by no one.
    return !x->inner || x->read_first;
}

static bool is_stored(promote *q, place *x)
{
    const uint32_t *parent = q->w.s.parent;
    x->loop = parent[x->inner ? x->inner : x->site];
    if (!x->loop || inst(q, x->loop)->op != VY_OP_LOOP) return false;
    if (x->inner && parent[x->site] != x->inner) return false;
    return q->proved[x->site] && vy_index_invariant(q->w.p, x->site, x->loop, x->axis) &&
           (buffer_of(q, x->site)->cls == VY_LOCAL ||
            !vy_barrier_between(&q->a.touched, x->loop, q->w.s.partner[x->loop])) &&
           claim_accesses(q, x, 0);
}

static bool is_added(const promote *q, place *x)
{
    uint32_t from = x->inner ? x->inner : x->site;
    if (!vy_adds_silently(&q->a, x->site) || buffer_of(q, x->site)->cls == VY_LOCAL) return false;
    x->loop = vy_addition_way_out(&q->a, x->site, from, x->axis, &x->sparse);
    return x->loop != 0;
}

// ------------------------------------------------------------------------------------------ choice
// The number of a chosen place of the same loop that is the one added to here, or 0.
static uint32_t known(const promote *q, const place *x)
{
    for (uint32_t n = q->first[x->loop]; n; n = q->list.data[n - 1].next) {
        const place *have = &q->list.data[n - 1];
        if (have->axis == x->axis && have->count == x->count && is_at(q, have, x->site)) return n;
    }
    return 0;
}

static bool promote_one(promote *q, place *x)
{
    uint32_t have = x->adds ? known(q, x) : 0;
    if (have) {
        q->list.data[have - 1].sparse &= x->sparse;
        q->by[x->site] = have;
        return true;
    }
    if (q->elements + x->count > MAX_IN_ALL) return true;
    q->elements += x->count;
    x->next = q->first[x->loop];
    if (!vy_vec_push(&q->list, *x)) return false;
    q->first[x->loop] = q->list.count;
    if (!x->adds) return claim_accesses(q, x, q->list.count); // succeeds, as it did in is_stored()
    q->by[x->site] = q->list.count;
    return true;
}

static bool choose_elements(promote *q)
{
    for (uint32_t id = 1; id < q->w.p->insts.count; id++) {
        const vy_op op = (vy_op)inst(q, id)->op;
        place x = {.site = id, .axis = VY_NO_AXIS, .count = 1, .adds = op == VY_OP_ATOMIC_ADD};
        if ((op != VY_OP_STORE || !q->stores) && (!x.adds || !q->adds)) continue;
        const vy_buf *b = buffer_of(q, id);
        if (q->by[id] || !q->w.s.parent[id] || vy_type_loaded(b->type) != b->type) continue;
        if (q->rows && (!vy_is_global(b->cls) || !find_row(q, &x))) continue;
        if (x.adds ? !is_added(q, &x) : !is_stored(q, &x)) continue;
        if (!promote_one(q, &x)) return false;
    }
    return true;
}

// ------------------------------------------------------------------------------------- rebuilding
static vy_type type_in(const promote *q, const place *x)
{
    vy_type t = buffer_of(q, x->site)->type;
    return x->adds && t == VY_F16 ? VY_F32 : t;
}

// Begins the loop over the elements of a row; without a row there is one element, and no loop.
// Fills the index operands of the memory; returns the index into the variable.
static uint32_t begin_elements(promote *q, const place *x, uint32_t *args)
{
    uint32_t c, bounds[3];
    if (x->inner) {
        vy_new_args(&q->w, x->inner, 3, bounds);
        c = vy_begin_loop(q->w.b, (vy_type)inst(q, x->inner)->type, 0, bounds[0], bounds[1],
                          bounds[2], 0, NULL, NULL);
        vy_pass_name(q->w.b, q->w.p, x->inner, c);
    } else {
        c = vy_int(q->w.b, VY_U32, 0).id;
    }
    vy_new_args(&q->w, x->site, vy_rank_of(q->w.p, x->site), args);
    if (x->inner) args[x->axis] = c;
    return c;
}

static void end_elements(promote *q, const place *x)
{
    if (x->inner) vy_end_loop(q->w.b, 0, 0, NULL, NULL);
}

static uint32_t read(promote *q, const place *x, uint32_t c)
{
    return vy_emit(q->w.b, VY_OP_LOAD, type_in(q, x), x->array.id, 1, &c);
}

static void write(promote *q, const place *x, uint32_t c, uint32_t value)
{
    vy_emit(q->w.b, VY_OP_STORE, VY_VOID, x->array.id, 2, (uint32_t[]){c, value});
}

// Is the place zero when the loop begins?  An output is, until it is written.
static bool begins_zero(const promote *q, const place *x)
{
    uint32_t buffer = inst(q, x->site)->aux, memory = vy_memory_of(q->w.p, buffer);
    const vy_buf *b = buffer_of(q, x->site);
    for (uint32_t up = q->w.s.parent[x->loop]; up; up = q->w.s.parent[up])
        if (vy_is_loop((vy_op)inst(q, up)->op)) return false;
    return memory == buffer && b->cls == VY_OUT && b->init == VY_INIT_NONE && !b->workspace &&
           q->a.touched.at[q->a.touched.start[memory]] > x->loop &&
           !vy_barrier_between(&q->a.touched, 0, x->loop);
}

static void before_loop(promote *q, place *x)
{
    vy_builder *b = q->w.b;
    const vy_buf *buf = buffer_of(q, x->site);
    vy_dim count = vy_dim_const(b, x->count);
    uint32_t args[VY_MAX_RANK + 1];
    x->array = vy_local_array(b, buf->name, type_in(q, x), 1, &count);
    // An `out` element that was never written may not be read, even if the value is unused.
    if (vy_builder_failed(b) || !x->read_first || begins_zero(q, x)) return;
    bool guarded = x->inner && vy_begin_if_unsure(b, vy_new_runs(&q->w, x->loop).id);
    uint32_t c = begin_elements(q, x, args);
    uint32_t rank = vy_rank_of(q->w.p, x->site);
    write(q, x, c, vy_emit(b, VY_OP_LOAD, buf->type, inst(q, x->site)->aux, rank, args));
    end_elements(q, x);
    if (guarded) vy_end_plain_if(b);
}

static void after_loop(promote *q, const place *x)
{
    vy_builder *b = q->w.b;
    uint32_t args[VY_MAX_RANK + 1], buffer = inst(q, x->site)->aux;
    uint32_t rank = vy_rank_of(q->w.p, x->site);
    vy_type type = buffer_of(q, x->site)->type;
    vy_rewrite_at(&q->w, x->site);
    bool guarded = !x->sparse && vy_begin_if_unsure(b, vy_new_runs(&q->w, x->loop).id);
    uint32_t c = begin_elements(q, x, args);
    vy_value v = vy_cast(b, type, (vy_value){read(q, x, c)});
    bool nonzero = x->sparse && vy_begin_if_unsure(b, vy_ne(b, v, vy_zero(b, type)).id);
    args[rank] = v.id;
    if (x->adds)
        vy_emit_update(b, VY_OP_ATOMIC_ADD, VY_STRENGTH_ATOMIC, buffer, rank + 1, args);
    else
        vy_emit(b, VY_OP_STORE, VY_VOID, buffer, rank + 1, args);
    if (nonzero) vy_end_plain_if(b);
    end_elements(q, x);
    if (guarded) vy_end_plain_if(b);
}

static void copy_access(promote *q, uint32_t id)
{
    vy_builder *b = q->w.b;
    const place *x = &q->list.data[q->by[id] - 1];
    uint32_t c = x->inner ? vy_new_arg(&q->w, id, x->axis) : vy_int(b, VY_U32, 0).id;
    vy_rewrite_at(&q->w, id);
    if (inst(q, id)->op == VY_OP_LOAD) {
        vy_rewrite_as(&q->w, id, read(q, x, c));
        return;
    }
    vy_value v = {vy_new_arg(&q->w, id, vy_rank_of(q->w.p, id))};
    if (x->adds) {
        const vy_value term = vy_cast(b, type_in(q, x), v);
        v = vy_add(b, (vy_value){read(q, x, c)}, term);
    }
    write(q, x, c, v.id);
}

static uint32_t instead(void *pass, uint32_t id)
{
    promote *q = pass;
    if (q->first[id]) vy_rewrite_at(&q->w, id);
    for (uint32_t n = q->first[id]; n && !vy_rewrite_stopped(&q->w); n = q->list.data[n - 1].next)
        before_loop(q, &q->list.data[n - 1]);
    if (q->by[id])
        copy_access(q, id);
    else
        vy_rewrite_copy(&q->w, id);
    uint32_t loop = vy_rewrite_ended(&q->w, id);
    for (uint32_t n = loop ? q->first[loop] : 0; n && !vy_rewrite_stopped(&q->w);
         n = q->list.data[n - 1].next)
        after_loop(q, &q->list.data[n - 1]);
    return id;
}

// -------------------------------------------------------------------------------------- the passes
static bool prepare_promotion(promote *q)
{
    q->proved = vy_rewrite_bytes(&q->w);
    q->by = vy_rewrite_ids(&q->w);
    q->first = vy_rewrite_ids(&q->w);
    return !q->w.oom && vy_addition_facts_make(&q->a, q->w.p, &q->w.s, &q->w.arena) &&
           (!q->stores || vy_prove_ranges(q->w.p, &q->w.s, &q->w.arena, q->proved));
}

// Is there a store or an addition after the required number of loop markers?
static bool has_work(const promote *q, const vy_program *p)
{
    uint32_t loops = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const uint16_t op = p->insts.data[id].op;
        loops += op == VY_OP_LOOP;
        if (loops >= (q->rows ? 2 : 1) &&
            ((q->stores && op == VY_OP_STORE) || (q->adds && op == VY_OP_ATOMIC_ADD)))
            return true;
    }
    return false;
}

static bool run(vy_program *p, vy_pass_context *c, promote q)
{
    if (!has_work(&q, p)) return true;
    bool ok = vy_rewrite_begin(&q.w, p) && prepare_promotion(&q) && choose_elements(&q);
    if (ok && q.list.count) vy_rewrite_run(&q.w, instead, &q);
    vy_vec_free(&q.list);
    return vy_rewrite_end(&q.w, ok, &c->changed);
}

bool vy_pass_promote_elements(vy_program *p, vy_pass_context *c)
{
    return run(p, c, (promote){.stores = true});
}

bool vy_pass_promote_sums(vy_program *p, vy_pass_context *c)
{
    return run(p, c, (promote){.adds = true});
}

bool vy_pass_promote_rows(vy_program *p, vy_pass_context *c)
{
    return run(p, c, (promote){.rows = true, .stores = true, .adds = true});
}
