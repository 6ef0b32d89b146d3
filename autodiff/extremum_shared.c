// SPDX-License-Identifier: MIT
// extremum_shared.c: atomic_min and atomic_max of floats on shared arrays before they are differentiated.
//
//   atomic_max(t[c], e);        atomic_max(t[c], stop_grad(e));  shared winner_t;
//   barrier();                  barrier();
//                           →   if e == t[c] { atomic_max(winner_t[c], lindex + 1); }
//                               barrier();
//                               if winner_t[c] == lindex + 1 { t[c] = straight_through(t[c], e); }
//                               barrier();
//
// On a buffer the winner takes programs of their own (extremum.c).  A workgroup finds its own between
// barriers, in the program: who has the final value votes, and of those the highest invocation's last
// candidate stores it.  That changes no bit of the array, and it is a plain store: the derivative of the
// element is the winner's by the rules that there are, and what was there before has it where nobody won.  The
// atomic itself passes adjoints on as they are (sweep_memory.c).  Replays, tapes, masks and second
// derivatives need to know nothing, and the reverse compares no floats: it asks who has won.
//
// Barriers need uniform control flow, so all this stands in the innermost region that the whole workgroup
// reaches, ahead of the barrier that ends the phase, or of the region's end.  Candidates from arms of `if`s are handed
// out of them in local arrays, which become values.  Where a loop that invocations leave at different times
// comes to one element again and again,
//
//   for j in lindex..n step 64 { atomic_max(t[c], e(j)); }
//
// the maximum of an invocation is one candidate, behind the loop.  Candidates of one phase are numbered:
// an invocation's last one wins among equals.
//
// Refused: elements that change in such a loop, and other atomics on the array in the same phase.
#include "extremum.h"
#include "ordering.h"
#include "phases.h"

#include "ir/pass.h"

#include <math.h>

typedef struct site {
    uint32_t atomic; // of the primal
    uint32_t outer;  // construct in the uniform region that it stands in, or 0: it is there itself
    uint32_t loop;   // outermost loop in which invocations part, or 0
    uint32_t point;  // instruction ahead of which the votes are cast
    uint32_t next;   // site of the same point, + 1
    uint32_t number; // among those of one array and point, from 0
    vy_buffer came, candidate, *places; // where an arm hands it out
    vy_value is_here, value, *index;    // where the votes are cast
} site;
VY_VEC_TYPE(site_vec, site);

typedef struct shared {
    const vy_program *p;
    const uint8_t *active;
    vy_structure s;
    vy_arena arena;
    vy_builder *b;
    site_vec sites;
    uint32_t *
        point; // by instruction: where what is behind it meets the end of the phase, or of its region
    uint8_t *used;     // by instruction: its value is
    uint32_t *of;      // by instruction: site + 1
    uint32_t *meets;   // by instruction: first of the sites that meet ahead of it, + 1
    uint32_t *counts;  // by buffer: sites of the point at hand
    vy_buffer *winner; // by buffer
    uint32_t *map;
} shared;

static bool is_site(const shared *e, uint32_t id)
{
    const vy_inst *i = &e->p->insts.data[id];
    if (!vy_is_extremum((vy_op)i->op) || !e->active[id]) return false;
    return e->p->buffers.data[i->aux].cls == VY_SHARED;
}

static uint32_t rank_of(const shared *e, const site *s)
{
    return e->p->buffers.data[e->p->insts.data[s->atomic].aux].rank;
}

// ------------------------------------------------------------------------------------------ finding
// From the end: a barrier, or a construct with one, ends the phase; a marker that is no opener ends its region.
static void find_points(shared *e)
{
    const vy_program *p = e->p;
    uint32_t n = p->insts.count, barriers = 0;
    uint32_t *behind = e->map; // scratch: barriers from an instruction on
    e->point[n] = n;
    for (uint32_t id = n; id-- > 1;) {
        vy_op op = (vy_op)p->insts.data[id].op;
        barriers += op == VY_OP_BARRIER;
        behind[id] = barriers;
        uint32_t end = vy_op_opens(op) ? vy_closer(p, &e->s, id) : 0;
        bool slot = op == VY_OP_CARRY || op == VY_OP_RESULT;
        bool ends = op == VY_OP_BARRIER || (vy_is_marker(op) && !vy_op_opens(op) && !slot);
        if (end)
            e->point[id] = behind[end] != barriers ? id : e->point[end + 1];
        else
            e->point[id] = ends ? id : e->point[id + 1];
    }
}

static bool refuse(const shared *e, uint32_t id, const char *fix, const char *why)
{
    const vy_inst *i = &e->p->insts.data[id];
    vy_fail(e->p->module, VY_E_GRAD_UNSUPPORTED, i->line, i->column, fix,
            "%s on shared array `%s` %s", vy_op_infos[i->op].text, e->p->buffers.data[i->aux].name,
            why);
    return false;
}

// Known before instruction `id`, and so the same whenever what it opens comes to it?
static bool all_before(const shared *e, uint32_t atomic, uint32_t n, uint32_t id)
{
    for (uint32_t k = 0; k < n; k++) {
        uint32_t a = vy_arg(e->p, atomic, k);
        if (!VY_IS_LEAF(a) && a > id) return false;
    }
    return true;
}

static bool add_site(shared *e, const uint32_t *differs, uint32_t id)
{
    const vy_program *p = e->p;
    site s = {.atomic = id};
    for (uint32_t up = e->s.parent[id]; up; up = e->s.parent[up])
        if (differs[up]) s.outer = up;
    for (uint32_t up = s.outer ? e->s.parent[id] : 0; up && up >= s.outer; up = e->s.parent[up])
        if (vy_is_loop((vy_op)p->insts.data[up].op)) s.loop = up;
    s.point = e->point[(s.outer ? vy_closer(p, &e->s, s.outer) : id) + 1];
    uint32_t rank = rank_of(e, &s);
    if (s.loop && !all_before(e, id, rank, s.loop))
        return refuse(e, id,
                      "let all invocations of the workgroup take the loop's turns, or use a buffer",
                      "at an element that changes in a loop that invocations leave at different "
                      "times cannot be differentiated yet");
    if (s.loop && e->used[id])
        return refuse(e, id, "do without the old value",
                      "whose old value is used in a loop cannot be differentiated yet");
    s.places = vy_arena_alloc(&e->arena, (rank + 1) * sizeof *s.places);
    s.index = vy_arena_alloc(&e->arena, (rank + 1) * sizeof *s.index);
    if (s.places && s.index && vy_vec_push(&e->sites, s)) return true;
    vy_fail_oom(p->module);
    return false;
}

// ---------------------------------------------------------------------------------- other atomics
enum { MAXIMA = 1, MINIMA = 2, OTHERS = 4 };

static uint64_t kind_of(vy_op op)
{
    return op == VY_OP_ATOMIC_MAX ? MAXIMA : op == VY_OP_ATOMIC_MIN ? MINIMA : OTHERS;
}

static void touch(const shared *e, vy_phases *f, uint32_t buffer, bool on)
{
    for (uint32_t id = 1; id < e->p->insts.count; id++) {
        const vy_inst *i = &e->p->insts.data[id];
        if (vy_op_is_atomic((vy_op)i->op) && i->aux == buffer)
            f->touch[id].updates = on ? kind_of((vy_op)i->op) : 0;
    }
}

static bool check_array(const shared *e, vy_phases *f, uint32_t buffer)
{
    bool ok = true;
    touch(e, f, buffer, true);
    vy_phases_find(f);
    vy_phases_fill(f);
    for (uint32_t k = 0; ok && k < e->sites.count; k++) {
        uint32_t id = e->sites.data[k].atomic;
        const vy_inst *i = &e->p->insts.data[id];
        if (i->aux != buffer || !(f->phase[id].updates & ~kind_of((vy_op)i->op))) continue;
        ok = refuse(e, id, "put a barrier between them",
                    "has no order with another kind of atomic between the same barriers, and so no "
                    "derivative");
    }
    touch(e, f, buffer, false);
    return ok;
}

static bool check(shared *e)
{
    vy_phases f;
    if (!vy_phases_make(&f, e->p, &e->s, &e->arena)) {
        vy_fail_oom(e->p->module);
        return false;
    }
    for (uint32_t i = 1; i < e->p->buffers.count; i++) {
        bool any = false;
        for (uint32_t k = 0; k < e->sites.count && !any; k++)
            any = e->p->insts.data[e->sites.data[k].atomic].aux == i;
        if (any && !check_array(e, &f, i)) return false;
    }
    return true;
}

static bool find(shared *e)
{
    const vy_program *p = e->p;
    size_t n = p->insts.count;
    e->map = vy_arena_alloc(&e->arena, (n + 1) * sizeof *e->map);
    e->point = vy_arena_alloc(&e->arena, (n + 1) * sizeof *e->point);
    e->used = vy_arena_alloc(&e->arena, n);
    e->of = vy_arena_alloc(&e->arena, n * sizeof *e->of);
    e->meets = vy_arena_alloc(&e->arena, (n + 1) * sizeof *e->meets);
    e->counts = vy_arena_alloc(&e->arena, p->buffers.count * sizeof *e->counts);
    e->winner = vy_arena_alloc(&e->arena, p->buffers.count * sizeof *e->winner);
    bool ok = e->map && e->point && e->used && e->of && e->meets && e->counts && e->winner &&
              vy_structure_make(p, &e->s);
    const uint32_t *differs = ok ? vy_differences(p, &e->s, NULL, &e->arena) : NULL;
    if (!differs) {
        vy_fail_oom(p->module);
        return false;
    }
    find_points(e);
    for (uint32_t id = 1; id < n; id++)
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++)
            if (!VY_IS_LEAF(vy_arg(p, id, k))) e->used[vy_arg(p, id, k)] = 1;
    for (uint32_t id = 1; id < n; id++) {
        if (!is_site(e, id)) continue;
        if (!add_site(e, differs, id)) return false;
        e->of[id] = e->sites.count;
    }
    for (uint32_t k = e->sites.count; k-- > 0;) {
        site *s = &e->sites.data[k];
        s->next = e->meets[s->point];
        e->meets[s->point] = k + 1;
    }
    return check(e);
}

// --------------------------------------------------------------------------------------- rewriting
static void place_at(shared *e, const site *s) { vy_pass_at(e->b, e->p, s->atomic); }

static vy_buffer local(shared *e, const site *s, const char *prefix, vy_type type)
{
    char text[320];
    const vy_buf *of = &e->p->buffers.data[e->p->insts.data[s->atomic].aux];
    vy_dim one = vy_dim_const(e->b, 1);
    const char *name = vy_ordering_name(vy_builder_program(e->b), prefix, of->name, text);
    return vy_local_array(e->b, name, type, 1, &one);
}

static void declare(shared *e)
{
    char text[320];
    for (uint32_t k = 0; k < e->sites.count; k++) {
        site *s = &e->sites.data[k];
        uint32_t buffer = e->p->insts.data[s->atomic].aux;
        const vy_buf of = e->p->buffers.data[buffer];
        if (!e->winner[buffer].id) {
            const char *name = vy_ordering_name(vy_builder_program(e->b), "winner", of.name, text);
            e->winner[buffer] = vy_shared_array(e->b, name, VY_U32, of.rank, of.dims);
        }
        if (!s->outer) continue;
        s->came = local(e, s, "came", VY_U32);
        s->candidate = local(e, s, "candidate", of.type);
        for (uint32_t axis = 0; axis < of.rank; axis++)
            s->places[axis] = local(e, s, "place", vy_id_type(e->p, vy_arg(e->p, s->atomic, axis)));
    }
}

static vy_value get(shared *e, vy_buffer array)
{
    vy_value zero = vy_zero(e->b, VY_U32);
    return vy_load(e->b, array, &zero);
}

static void set(shared *e, vy_buffer array, vy_value v)
{
    vy_value zero = vy_zero(e->b, VY_U32);
    vy_store(e->b, array, &zero, v);
}

static vy_value none_yet(shared *e, const site *s)
{
    vy_type t = e->p->buffers.data[e->p->insts.data[s->atomic].aux].type;
    bool max = e->p->insts.data[s->atomic].op == VY_OP_ATOMIC_MAX;
    return s->loop ? vy_float(e->b, t, max ? -(double)INFINITY : (double)INFINITY)
                   : vy_zero(e->b, t);
}

// Ahead of the construct that site `s` stands in.
static void reset(shared *e, const site *s)
{
    place_at(e, s);
    set(e, s->came, vy_zero(e->b, VY_U32));
    set(e, s->candidate, none_yet(e, s));
    for (uint32_t k = 0; k < rank_of(e, s); k++)
        set(e, s->places[k],
            vy_zero(e->b, vy_builder_program(e->b)->buffers.data[s->places[k].id].type));
}

// The atomic, of a candidate that has no derivative.  Its old value.
static uint32_t update(shared *e, const site *s, const vy_value *index, vy_value v)
{
    const vy_inst *i = &e->p->insts.data[s->atomic];
    uint32_t args[VY_MAX_RANK + 1], rank = rank_of(e, s);
    for (uint32_t k = 0; k < rank; k++) args[k] = index[k].id;
    args[rank] = vy_stop_grad(e->b, v).id;
    return vy_emit(e->b, (vy_op)i->op, (vy_type)i->type, i->aux, rank + 1, args);
}

static void meet(shared *e, site *s)
{
    const vy_inst *i = &e->p->insts.data[s->atomic];
    vy_value index[VY_MAX_RANK];
    uint32_t rank = rank_of(e, s);
    vy_value v = {vy_map(e->map, vy_arg(e->p, s->atomic, rank))};
    for (uint32_t k = 0; k < rank; k++) index[k].id = vy_map(e->map, vy_arg(e->p, s->atomic, k));
    place_at(e, s);
    if (!s->loop) e->map[s->atomic] = update(e, s, index, v);
    if (!s->outer) {
        for (uint32_t k = 0; k < rank; k++) s->index[k] = index[k];
        s->is_here = vy_bool(e->b, true);
        s->value = v;
        return;
    }
    if (s->loop) { // at a tie to the later one
        vy_op op = i->op == VY_OP_ATOMIC_MAX ? VY_OP_MAX : VY_OP_MIN;
        uint32_t both[2] = {get(e, s->candidate).id, v.id};
        v.id = vy_emit(e->b, op, vy_value_type(e->b, v), 0, 2, both);
    }
    set(e, s->candidate, v);
    set(e, s->came, vy_int(e->b, VY_U32, 1));
    for (uint32_t k = 0; k < rank; k++) set(e, s->places[k], index[k]);
}

static void take(shared *e, site *s)
{
    if (!s->outer) return;
    place_at(e, s);
    vy_value came = get(e, s->came), zero = vy_zero(e->b, VY_U32);
    s->is_here = vy_ne(e->b, came, zero);
    s->value = get(e, s->candidate);
    for (uint32_t k = 0; k < rank_of(e, s); k++) s->index[k] = get(e, s->places[k]);
    if (!s->loop) return;
    vy_if(e->b, s->is_here);
    update(e, s, s->index, s->value);
    vy_end(e->b);
}

// Its number among all candidates of the array at this point, from 1: invocations first.
static vy_value number(shared *e, const site *s)
{
    uint32_t buffer = e->p->insts.data[s->atomic].aux;
    vy_value lane = vy_builtin_value(e->b, VY_LINDEX, 0);
    vy_value first = vy_mul(e->b, lane, vy_int(e->b, VY_U32, e->counts[buffer]));
    return vy_add(e->b, first, vy_int(e->b, VY_U32, s->number + 1));
}

static void vote(shared *e, const site *s)
{
    uint32_t buffer = e->p->insts.data[s->atomic].aux;
    vy_builder *b = e->b;
    place_at(e, s);
    vy_if(b, s->is_here);
    vy_value own = vy_stop_grad(b, s->value);
    vy_value final = vy_stop_grad(b, vy_load(b, (vy_buffer){buffer}, s->index));
    // One after the other, so that the code does not depend on the C compiler.
    vy_value nan_own = vy_ne(b, own, own), nan_final = vy_ne(b, final, final);
    vy_value both_nan = vy_and(b, nan_own, nan_final), equal = vy_eq(b, own, final);
    vy_if(b, vy_or(b, equal, both_nan));
    vy_atomic(b, "max", e->winner[buffer], s->index, number(e, s));
    vy_end(b);
    vy_end(b);
}

static void put(shared *e, const site *s)
{
    uint32_t buffer = e->p->insts.data[s->atomic].aux;
    vy_builder *b = e->b;
    place_at(e, s);
    vy_if(b, s->is_here);
    vy_value won = vy_load(b, e->winner[buffer], s->index);
    vy_if(b, vy_eq(b, won, number(e, s)));
    uint32_t pair[2] = {vy_load(b, (vy_buffer){buffer}, s->index).id, s->value.id};
    vy_value v = {vy_emit(b, VY_OP_STRAIGHT_THROUGH, vy_value_type(b, s->value), 0, 2, pair)};
    vy_store(b, (vy_buffer){buffer}, s->index, v);
    vy_end(b);
    vy_end(b);
}

// The sites whose phase, or region, ends ahead of instruction `point`.
static void settle(shared *e, uint32_t point)
{
    site *sites = e->sites.data;
    uint32_t first = e->meets[point];
    if (!first) return;
    vy_scope(e->b);
    for (uint32_t k = first; k; k = sites[k - 1].next)
        e->counts[e->p->insts.data[sites[k - 1].atomic].aux] = 0;
    for (uint32_t k = first; k; k = sites[k - 1].next) {
        uint32_t buffer = e->p->insts.data[sites[k - 1].atomic].aux;
        take(e, &sites[k - 1]);
        sites[k - 1].number = e->counts[buffer]++;
        if (!sites[k - 1].number) vy_emit(e->b, VY_OP_ZERO, VY_VOID, e->winner[buffer].id, 0, NULL);
    }
    vy_barrier(e->b);
    for (uint32_t k = first; k; k = sites[k - 1].next) vote(e, &sites[k - 1]);
    vy_barrier(e->b);
    for (uint32_t k = first; k; k = sites[k - 1].next) put(e, &sites[k - 1]);
    vy_barrier(e->b);
    vy_end(e->b);
}

static vy_program *rewrite(shared *e)
{
    uint32_t n = e->p->insts.count, opened = 0; // sites whose construct has begun
    e->b = vy_rebuild_begin(e->p);
    if (!e->b) return NULL;
    declare(e);
    for (uint32_t id = 1; id < n && !vy_builder_failed(e->b); id++) {
        settle(e, id);
        while (opened < e->sites.count) {
            const site *s = &e->sites.data[opened];
            if ((s->outer ? s->outer : s->atomic) > id) break;
            if (s->outer) reset(e, s);
            opened++;
        }
        if (e->of[id])
            meet(e, &e->sites.data[e->of[id] - 1]);
        else
            vy_copy_inst(e->b, e->p, id, e->map);
    }
    settle(e, n);
    return vy_rebuild_end(e->b);
}

// -------------------------------------------------------------------------------------- entry point
bool vy_extremum_shared(vy_program *p, const uint8_t *active)
{
    shared e = {.p = p, .active = active};
    bool ok = find(&e);
    vy_program *fresh = ok && e.sites.count ? rewrite(&e) : NULL;
    bool any = e.sites.count != 0;
    vy_structure_free(&e.s);
    vy_arena_free(&e.arena);
    vy_vec_free(&e.sites);
    if (fresh) vy_program_replace(p, fresh);
    vy_opt_options options = {.level = 2};
    vy_pass_context c = {.options = &options};
    if (!ok || !any || !vy_module_ok(p->module)) return ok && vy_module_ok(p->module);
    return vy_pass_scalarise(p, &c) && vy_pass_forward(p, &c) && vy_pass_cleanup(p, &c) &&
           vy_pass_dce(p, &c);
}
