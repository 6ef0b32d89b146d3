// SPDX-License-Identifier: MIT
// whole_walk.c: executes the program for one invocation as far as its position in the workgroup
// determines it.
//
// Integers and conditions computed from lid, lindex, constants and the variables of loops with such
// bounds are evaluated; gid and the domain's variables are known modulo the workgroup's sizes; all
// other values are unknown.  Both arms of an unknown condition are walked, and their accesses are
// not certain.  A loop of unknown trip count is walked once, with unknown carried values; that an
// iteration runs is certain where the bounds depend on scalars alone.
#include "spirv/facts/whole.h"

#include <string.h>

enum { MOST_STEPS = 1 << 20 }; // of all lanes: some milliseconds

typedef struct value {
    vy_scalar v;
    bool known;
    uint32_t modulus; // unless known: v is right modulo this; 0: unknown
} value;

struct vy_whole_walk {
    const vy_program *p;
    const vy_structure *s;
    const vy_whole_uses *uses;
    vy_whole_visitor visit;
    value *at;   // by instruction
    value *next; // scratch
    uint32_t steps, lid[3];
    bool spent, sure;
};

// ------------------------------------------------------------------------------------------ values
static value known(uint64_t u) { return (value){.v = {.u = u}, .known = true}; }

static value of_axis(const vy_whole_walk *w, uint32_t axis)
{
    if (axis > 2) return (value){0};
    return (value){.v = {.u = w->lid[axis]}, .modulus = w->p->workgroup[axis]};
}

// The last variable runs along x, the one before along y; all others share z.
static value of_variable(const vy_whole_walk *w, uint32_t v)
{
    const uint32_t axis = w->p->overs.count - 1 - v;
    return axis < 2 || w->p->overs.count == 3 ? of_axis(w, axis) : (value){0};
}

static value of_leaf(const vy_whole_walk *w, uint32_t id)
{
    const vy_leaf *l = &w->p->leaves.data[VY_LEAF_INDEX(id)];
    const uint32_t *n = w->p->workgroup;
    if (l->kind == VY_LEAF_CONST) return (value){.v = l->value, .known = true};
    if (l->kind == VY_LEAF_OVER) return of_variable(w, l->index);
    if (l->kind != VY_LEAF_BUILTIN) return (value){0};
    if (l->index == VY_LID && l->axis < 3) return known(w->lid[l->axis]);
    if (l->index == VY_GID) return of_axis(w, l->axis);
    if (l->index != VY_LINDEX) return (value){0};
    return known(w->lid[0] + n[0] * (w->lid[1] + (uint64_t)n[1] * w->lid[2]));
}

static value get(const vy_whole_walk *w, uint32_t id)
{
    return VY_IS_LEAF(id) ? of_leaf(w, id) : w->at[id];
}

static value arg(const vy_whole_walk *w, uint32_t id, uint32_t k)
{
    return get(w, vy_arg(w->p, id, k));
}

// x % n and x & (n − 1) of a value known modulo a multiple of n.
static value remainder_of(const vy_inst *i, value x, value n)
{
    const uint64_t by = i->op == VY_OP_REM ? n.v.u : n.v.u + 1;
    const bool power = by && !(by & (by - 1));
    if (x.known || !n.known || !by || !x.modulus || x.modulus % by) return (value){0};
    if (i->op != VY_OP_REM && (i->op != VY_OP_AND || !power)) return (value){0};
    return known(x.v.u % by);
}

static value compute(const vy_whole_walk *w, uint32_t id)
{
    const vy_inst *i = &w->p->insts.data[id];
    vy_scalar args[3], out;
    if (vy_op_infos[i->op].effect != VY_PURE || vy_type_is_float((vy_type)i->type) || !i->nargs ||
        i->nargs > 3)
        return (value){0};
    if (i->op == VY_OP_SELECT) {
        const value c = arg(w, id, 0);
        return c.known ? arg(w, id, c.v.u ? 1 : 2) : (value){0};
    }
    const vy_type type = vy_id_type(w->p, vy_arg(w->p, id, 0));
    for (uint32_t k = 0; k < i->nargs; k++) {
        const value x = arg(w, id, k);
        if (!x.known || vy_type_is_float(type))
            return i->nargs == 2 ? remainder_of(i, arg(w, id, 0), arg(w, id, 1)) : (value){0};
        args[k] = x.v;
    }
    if (!vy_scalar_eval((vy_op)i->op, type, (vy_type)i->type, args, i->aux, false, &out))
        return (value){0};
    return (value){.v = out, .known = true};
}

// ------------------------------------------------------------------------------------------ memory
// −1: unknown; −2: out of range, so nothing is accessed.
static int64_t element(const vy_whole_walk *w, uint32_t id)
{
    const vy_buf *b = &w->p->buffers.data[w->p->insts.data[id].aux];
    int64_t at = 0;
    for (uint32_t k = 0; k < b->rank; k++) {
        const value x = arg(w, id, k);
        const int64_t extent = w->p->dims.data[b->dims[k].id].value;
        if (!x.known) return -1;
        if (x.v.u >= (uint64_t)extent) return -2;
        at = at * extent + x.v.i;
    }
    return at;
}

static void access(const vy_whole_walk *w, uint32_t id)
{
    const vy_inst *i = &w->p->insts.data[id];
    if (i->op == VY_OP_ZERO) {
        w->visit.clear(w->visit.user, i->aux);
        return;
    }
    const int64_t e = element(w, id);
    if (e == -2) return;
    if (i->op != VY_OP_LOAD)
        w->visit.write(w->visit.user, i->aux, e);
    else if (e >= 0 && w->sure && w->uses->counts[id])
        w->visit.read(w->visit.user, id, e);
}

// ----------------------------------------------------------------------------------------- control
static uint32_t run(vy_whole_walk *w, uint32_t from, uint32_t to);

static uint32_t slots(const vy_whole_walk *w, uint32_t id) { return vy_slot_count(w->p, w->s, id); }

static bool same(value x, value y) { return x.known && y.known && x.v.u == y.v.u; }

static uint32_t run_if(vy_whole_walk *w, uint32_t id)
{
    const uint32_t middle = w->s->partner[id], end = vy_closer(w->p, w->s, id);
    const value c = arg(w, id, 0);
    const bool sure = w->sure;
    w->sure = sure && c.known;
    if (!c.known || c.v.u) run(w, id + 1, middle);
    if (!c.known || !c.v.u) run(w, middle + 1, end);
    w->sure = sure;
    for (uint32_t k = 0; k < slots(w, id); k++) {
        const value x = get(w, vy_slot_then(w->p, w->s, id, k)),
                    y = get(w, vy_slot_yield(w->p, w->s, id, k));
        w->at[vy_result(w->p, w->s, id, k)] = c.known      ? (c.v.u ? x : y)
                                              : same(x, y) ? x
                                                           : (value){0};
    }
    return end;
}

static void forget_carries(vy_whole_walk *w, uint32_t id)
{
    for (uint32_t k = 0; k < slots(w, id); k++) w->at[vy_carry(id, k)] = (value){0};
}

static void begin_carries(vy_whole_walk *w, uint32_t id)
{
    for (uint32_t k = 0; k < slots(w, id); k++)
        w->at[vy_carry(id, k)] = get(w, vy_slot_init(w->p, id, k));
}

// All are read before any is written: one may be another's next.
static void pass_carries(vy_whole_walk *w, uint32_t id)
{
    const uint32_t n = slots(w, id);
    for (uint32_t k = 0; k < n; k++) w->next[k] = get(w, vy_slot_next(w->p, w->s, id, k));
    for (uint32_t k = 0; k < n; k++) w->at[vy_carry(id, k)] = w->next[k];
}

// Runs one iteration from the carries.  False: it was the last one.
static bool run_iteration(vy_whole_walk *w, uint32_t id, bool *is_known)
{
    const uint32_t end = vy_closer(w->p, w->s, id);
    uint32_t at = run(w, vy_carry(id, slots(w, id)), end);
    if (at != end) { // the TEST of a WHILE
        const value c = arg(w, at, 0);
        if (c.known && !c.v.u) return false;
        if (!c.known) *is_known = w->sure = false;
        run(w, at + 1, end);
    }
    const value keep = vy_exits(w->p, id) ? get(w, vy_keep(w->p, w->s, id)) : known(1);
    if (!keep.known) *is_known = w->sure = false;
    if (*is_known)
        pass_carries(w, id);
    else
        forget_carries(w, id);
    return !keep.known || keep.v.u;
}

static void run_while(vy_whole_walk *w, uint32_t id, bool *is_known)
{
    while (run_iteration(w, id, is_known) && *is_known && !w->spent) {}
    if (*is_known) return;
    forget_carries(w, id);
    run_iteration(w, id, is_known);
}

// In execution order, so that carried values are known.
static void run_loop(vy_whole_walk *w, uint32_t id, bool *is_known)
{
    const vy_inst *i = &w->p->insts.data[id];
    const value from = arg(w, id, 0), to = arg(w, id, 1), step = arg(w, id, 2);
    uint64_t iterations;
    if (!from.known || !to.known || !step.known ||
        !vy_trips((vy_type)i->type, from.v, to.v, step.v, &iterations)) {
        *is_known = false;
        w->sure = w->sure && w->uses->shared[id];
        forget_carries(w, id);
        w->at[id] = (value){0};
        run_iteration(w, id, is_known);
        return;
    }
    for (uint64_t k = 0; k < iterations && !w->spent; k++) {
        const uint64_t n = i->flags & VY_FLAG_REVERSE ? iterations - 1 - k : k;
        w->at[id] = (value){.v = {.u = from.v.u + n * step.v.u}, .known = true};
        if (!run_iteration(w, id, is_known)) break;
    }
}

static uint32_t run_repeated(vy_whole_walk *w, uint32_t id)
{
    const bool sure = w->sure, loop = w->p->insts.data[id].op == VY_OP_LOOP;
    bool is_known = true;
    begin_carries(w, id);
    if (loop)
        run_loop(w, id, &is_known);
    else
        run_while(w, id, &is_known);
    w->sure = sure;
    for (uint32_t k = 0; k < slots(w, id); k++)
        w->at[vy_result(w->p, w->s, id, k)] = is_known ? w->at[vy_carry(id, k)] : (value){0};
    return vy_closer(w->p, w->s, id);
}

static uint32_t run_checkpoint(vy_whole_walk *w, uint32_t id)
{
    const uint32_t end = vy_closer(w->p, w->s, id);
    run(w, id + 1, end);
    for (uint32_t k = 0; k < slots(w, id); k++)
        w->at[vy_result(w->p, w->s, id, k)] = get(w, vy_slot_yield(w->p, w->s, id, k));
    return end;
}

static bool is_access(const vy_whole_walk *w, const vy_inst *i)
{
    return vy_op_is_memory((vy_op)i->op) && w->p->buffers.data[i->aux].cls == VY_SHARED;
}

// Executes one instruction or the construct that it opens; returns the last instruction of it.
static uint32_t step(vy_whole_walk *w, uint32_t id)
{
    const vy_inst *i = &w->p->insts.data[id];
    switch ((vy_op)i->op) {
    case VY_OP_IF: return run_if(w, id);
    case VY_OP_LOOP:
    case VY_OP_WHILE: return run_repeated(w, id);
    case VY_OP_CHECKPOINT: return run_checkpoint(w, id);
    case VY_OP_RESULT: return id;
    default: break;
    }
    if (is_access(w, i)) access(w, id);
    w->at[id] = w->uses->decides[id] ? compute(w, id) : (value){0};
    return id;
}

// Runs up to `to` or up to a TEST on the way; returns which.
static uint32_t run(vy_whole_walk *w, uint32_t from, uint32_t to)
{
    for (uint32_t id = from; id < to; id++) {
        if (w->steps == MOST_STEPS) w->spent = true;
        if (w->spent) return to;
        w->steps++;
        if (w->p->insts.data[id].op == VY_OP_TEST) return id;
        id = step(w, id);
    }
    return to;
}

// ------------------------------------------------------------------------------------------- lanes
vy_whole_walk *vy_whole_walk_make(const vy_program *p, const vy_structure *s,
                                  const vy_whole_uses *u, const vy_whole_visitor *v)
{
    const uint32_t n = p->insts.count;
    vy_whole_walk *w = vy_realloc(NULL, sizeof *w);
    if (!w) return NULL;
    *w = (vy_whole_walk){.p = p, .s = s, .uses = u, .visit = *v};
    w->at = vy_realloc(NULL, n * sizeof *w->at);
    w->next = vy_realloc(NULL, n * sizeof *w->next);
    if (w->at && w->next) return w;
    vy_whole_walk_free(w);
    return NULL;
}

bool vy_whole_walk_lane(vy_whole_walk *w, const uint32_t lid[3])
{
    memcpy(w->lid, lid, sizeof w->lid);
    memset(w->at, 0, w->p->insts.count * sizeof *w->at);
    w->sure = true;
    run(w, 1, w->p->insts.count);
    return !w->spent;
}

void vy_whole_walk_free(vy_whole_walk *w)
{
    if (!w) return;
    vy_free(w->at);
    vy_free(w->next);
    vy_free(w);
}
