// SPDX-License-Identifier: MIT
// race.c: stores that are certain to meet, before anything runs.
//
//   over(i: M, j: N)  y[i] = x[i, j];      all j store to one element
//   over(i: N)        y[0] += x[i];        all invocations add to one, without an atomic
//   workgroup(32)     t[0] = x[gid.x];     all lanes of a workgroup store to one, of a shared array too
//
// What is told must be wrong whatever the data: the store is reached by every invocation of the domain (around
// it stand only loops without an early exit, whose bounds they share), and its index has no part in a domain
// variable whose extent is not 1 by its declaration.  Indices that depend on memory that may change, on
// ids, or on what a loop carries are never called wrong; neither are atomics.  Where it is lanes of a workgroup that
// meet and what they store is not surely different, the value is well defined and only its gradient is not: whoever
// differentiates refuses such a store (vy_race_redundant).  A domain of extent N of which one
// knows that N is 1 is written over(i: 1).
//
// Sums.  An `out` buffer starts as zero, so `y[i] += e` needs no store before it (sums.c), if the element is the
// invocation's own: each domain variable has an axis, or a part of a flat index, to itself.  Where it may be
// another's, an error names atomic_add.
#include "check.h"

#include <stdio.h>
#include <string.h>

#define UNKNOWN 0x80000000u // beside the domain variables, as bits
#define LANES 0x40000000u   // of a program without domain variables: the lanes of a workgroup
#define IDS 0x20000000u     // made of ids: differs between lanes

typedef struct races {
    const vy_program *p;
    const vy_structure *s;
    uint32_t *on;   // by id: the domain variables it depends on, and UNKNOWN
    uint32_t all;   // the variables whose extent is not surely 1
    uint32_t lanes; // those in which lanes of one workgroup differ
} races;

// ------------------------------------------------------------------------------------- dependences
static uint32_t leaf_on(const vy_leaf *l)
{
    if (l->kind == VY_LEAF_OVER) return l->index < 29 ? 1u << l->index : UNKNOWN;
    if (l->kind != VY_LEAF_BUILTIN) return 0;
    return l->index == VY_NUM_GROUPS || l->index == VY_SUBGROUP_SIZE ? 0 : UNKNOWN | IDS;
}

static uint32_t on(const races *r, uint32_t id)
{
    return VY_IS_LEAF(id) ? leaf_on(&r->p->leaves.data[VY_LEAF_INDEX(id)]) : r->on[id];
}

static uint32_t on_args(const races *r, uint32_t id, uint32_t n)
{
    uint32_t mask = 0;
    for (uint32_t k = 0; k < n; k++) mask |= on(r, vy_arg(r->p, id, k));
    return mask;
}

// The last variable runs along x, the one before along y, then z; more than three share the last axis.
static void find_lanes(races *r)
{
    uint32_t shape[3];
    const uint32_t n = r->p->overs.count;
    vy_program_workgroup(r->p, shape);
    for (uint32_t v = 0; v < n && n <= 3; v++)
        if (shape[n - 1 - v] > 1) r->lanes |= r->all & 1u << v;
    if (n == 0 && shape[0] * shape[1] * shape[2] > 1) r->all = r->lanes = LANES;
}

static void find_dependences(races *r)
{
    for (uint32_t id = 1; id < r->p->insts.count; id++) {
        const vy_inst *i = &r->p->insts.data[id];
        const bool steady = i->op == VY_OP_LOAD && r->p->buffers.data[i->aux].cls == VY_IN;
        if (vy_op_infos[i->op].effect == VY_PURE || steady)
            r->on[id] = on_args(r, id, i->nargs);
        else
            r->on[id] = i->op == VY_OP_LOOP ? on_args(r, id, 3) : UNKNOWN;
    }
    for (uint32_t v = 0; v < r->p->overs.count && v < 29; v++) {
        const vy_dim_node *d = &r->p->dims.data[r->p->overs.data[v].extent.id];
        if (d->op != VY_DIM_CONST || d->value > 1) r->all |= 1u << v;
    }
    find_lanes(r);
}

// The domain variables that differ between invocations which all come by and name one element; 0: none surely.
static uint32_t sharing(const races *r, uint32_t store)
{
    const vy_program *p = r->p;
    const vy_buf *b = &p->buffers.data[p->insts.data[store].aux];
    const uint32_t among = b->cls == VY_SHARED ? r->lanes : r->all;
    uint32_t mask = on_args(r, store, b->rank);
    for (uint32_t up = r->s->parent[store]; up; up = r->s->parent[up]) {
        const vy_inst *i = &p->insts.data[up];
        if (i->op == VY_OP_CHECKPOINT) continue;
        if (i->op != VY_OP_LOOP || i->flags & VY_FLAG_EXIT) return 0;
        mask |= r->on[up];
    }
    return mask & UNKNOWN ? 0 : among & ~mask;
}

// ------------------------------------------------------------------------------------------ owning
static bool is_over(const vy_program *p, uint32_t id, uint32_t *v)
{
    if (!VY_IS_LEAF(id) || p->leaves.data[VY_LEAF_INDEX(id)].kind != VY_LEAF_OVER) return false;
    *v = p->leaves.data[VY_LEAF_INDEX(id)].index;
    return *v < 29;
}

// Is `id` the extent of variable v, or a larger constant?
static bool is_extent(const vy_program *p, uint32_t id, uint32_t v)
{
    const vy_dim_node *d = &p->dims.data[p->overs.data[v].extent.id];
    const vy_scalar *k = vy_id_const(p, id);
    if (k) return d->op == VY_DIM_CONST && k->i >= d->value;
    const vy_leaf *l = VY_IS_LEAF(id) ? &p->leaves.data[VY_LEAF_INDEX(id)] : NULL;
    return l && l->kind == VY_LEAF_SCALAR && d->op == VY_DIM_SCALAR &&
           (int64_t)l->index == d->value;
}

static bool part(const races *r, uint32_t id, uint32_t *vars, int depth);

// high·extent(v) + v: like two axes.
static bool flat(const races *r, uint32_t high, uint32_t low, uint32_t *vars, int depth)
{
    const vy_program *p = r->p;
    uint32_t v, more = 0;
    if (!is_over(p, low, &v) || VY_IS_LEAF(high) || p->insts.data[high].op != VY_OP_MUL)
        return false;
    for (uint32_t k = 0; k < 2; k++)
        if (is_extent(p, vy_arg(p, high, k), v) &&
            part(r, vy_arg(p, high, 1 - k), &more, depth + 1)) {
            *vars |= more | 1u << v;
            return true;
        }
    return false;
}

// Does the value tell apart invocations that differ in *vars, to which variables are added?
static bool part(const races *r, uint32_t id, uint32_t *vars, int depth)
{
    const vy_program *p = r->p;
    uint32_t v;
    if (is_over(p, id, &v)) {
        *vars |= 1u << v;
        return true;
    }
    if (VY_IS_LEAF(id) || depth > 40) return false;
    const vy_inst *i = &p->insts.data[id];
    const uint32_t a = vy_arg(p, id, 0), b = i->nargs > 1 ? vy_arg(p, id, 1) : 0;
    const vy_scalar *k;
    switch ((vy_op)i->op) {
    case VY_OP_ADD:
        if (flat(r, a, b, vars, depth) || flat(r, b, a, vars, depth)) return true;
        return (on(r, b) == 0 && part(r, a, vars, depth + 1)) ||
               (on(r, a) == 0 && part(r, b, vars, depth + 1));
    case VY_OP_SUB:
        return (on(r, b) == 0 && part(r, a, vars, depth + 1)) ||
               (on(r, a) == 0 && part(r, b, vars, depth + 1));
    case VY_OP_MUL:
        if ((k = vy_id_const(p, b))) return k->u != 0 && part(r, a, vars, depth + 1);
        return (k = vy_id_const(p, a)) && k->u != 0 && part(r, b, vars, depth + 1);
    case VY_OP_CAST: return vy_type_is_integer((vy_type)i->type) && part(r, a, vars, depth + 1);
    default: return false;
    }
}

// Variables of which, around `id`, a condition says that only one value comes by: `if j == 0 {`.
static uint32_t pinned(const races *r, uint32_t id)
{
    const vy_program *p = r->p;
    uint32_t vars = 0, inside = id;
    for (uint32_t up = r->s->parent[id]; up; inside = up, up = r->s->parent[up]) {
        if (p->insts.data[up].op != VY_OP_IF || inside > r->s->partner[up])
            continue; // the else arm
        uint32_t stack[16] = {vy_arg(p, up, 0)}, n = 1;
        while (n) {
            const uint32_t c = stack[--n];
            if (VY_IS_LEAF(c)) continue;
            const vy_inst *i = &p->insts.data[c];
            if (i->op == VY_OP_AND && n + 2 <= 16) {
                stack[n++] = vy_arg(p, c, 0);
                stack[n++] = vy_arg(p, c, 1);
            }
            if (i->op != VY_OP_EQ) continue;
            for (uint32_t k = 0; k < 2; k++)
                if (on(r, vy_arg(p, c, 1 - k)) == 0) part(r, vy_arg(p, c, k), &vars, 0);
        }
    }
    return vars;
}

// Domain variables in which invocations may differ and yet have the element of this access in common.
static uint32_t unowned(const races *r, uint32_t access)
{
    const vy_program *p = r->p;
    uint32_t vars = pinned(r, access);
    const uint32_t rank = p->buffers.data[p->insts.data[access].aux].rank;
    for (uint32_t k = 0; k < rank; k++) part(r, vy_arg(p, access, k), &vars, 0);
    return r->all & ~vars;
}

// ------------------------------------------------------------------------------------------- errors
static void name_variables(const vy_program *p, uint32_t vars, char *out, size_t size)
{
    size_t n = 0;
    out[0] = 0;
    for (uint32_t v = 0; v < p->overs.count && v < 29 && n < size; v++)
        if (vars >> v & 1)
            n += (size_t)snprintf(out + n, size - n, "%s`%.40s`", n ? ", " : "",
                                  p->overs.data[v].name);
}

static bool refuse_sum(const races *r, uint32_t load, uint32_t vars)
{
    const vy_program *p = r->p;
    const vy_inst *i = &p->insts.data[load];
    const char *name = p->buffers.data[i->aux].name;
    char fix[200], over[120];
    name_variables(p, vars, over, sizeof over);
    snprintf(fix, sizeof fix, "add with atomic_add(%.60s[…], …)", name);
    vy_fail(p->module, VY_E_READ_OUT, i->line, i->column, fix,
            sharing(r, load) ? "several invocations add to one element of `%s`: its index does not "
                               "depend on %s"
                             : "several invocations may add to one element of `%s`: its index does "
                               "not tell apart those that differ in %s",
            name, over);
    return false;
}

static bool refuse_store(const races *r, uint32_t store, uint32_t vars, bool adds)
{
    const vy_program *p = r->p;
    const vy_inst *i = &p->insts.data[store];
    const char *name = p->buffers.data[i->aux].name;
    char fix[240], over[120];
    uint32_t first = 0;
    while (!((vars | LANES) >> first & 1)) first++;
    name_variables(p, vars, over, sizeof over);
    if (adds)
        snprintf(fix, sizeof fix, "add with atomic_add(%.60s[…], …)", name);
    else if (vars & LANES)
        snprintf(fix, sizeof fix,
                 "let one of them store it: `if lindex == 0 { … }`, or give `%.60s` an index that "
                 "depends on gid or lid",
                 name);
    else
        snprintf(fix, sizeof fix,
                 "let one of them store it: `if %.40s == 0 { … }`, or give `%.60s` an index that "
                 "depends on %.40s",
                 p->overs.data[first].name, name, over);
    if (vars & LANES)
        vy_fail(p->module, VY_E_STORE_RACE, i->line, i->column, fix,
                "data race: all invocations of a workgroup store to one element of `%s`, whose "
                "index does not depend on them",
                name);
    else
        vy_fail(p->module, VY_E_STORE_RACE, i->line, i->column, fix,
                "data race: all invocations that differ in %s store to one element of `%s`, whose "
                "index does not depend on it",
                over, name);
    return false;
}

// Is what is stored computed from a load of the same element?
static bool adds_to_itself(const vy_program *p, uint32_t store)
{
    const vy_inst *i = &p->insts.data[store];
    const uint32_t rank = p->buffers.data[i->aux].rank, v = vy_arg(p, store, rank);
    if (VY_IS_LEAF(v)) return false;
    const vy_op op = (vy_op)p->insts.data[v].op;
    if (op != VY_OP_ADD && op != VY_OP_SUB) return false;
    for (uint32_t k = 0; k < 2; k++) {
        const uint32_t a = vy_arg(p, v, k);
        if (!VY_IS_LEAF(a) && p->insts.data[a].op == VY_OP_LOAD && p->insts.data[a].aux == i->aux)
            return true;
    }
    return false;
}

// Lanes that meet may all have computed the same: a sum over all of a buffer, a number.
static bool may_agree(const races *r, uint32_t store, uint32_t vars)
{
    const vy_buf *b = &r->p->buffers.data[r->p->insts.data[store].aux];
    const uint32_t v = on(r, vy_arg(r->p, store, b->rank));
    return (vars & LANES || b->cls == VY_SHARED) && !(v & (IDS | vars));
}

static bool check_stores(const races *r)
{
    const vy_program *p = r->p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (i->op != VY_OP_STORE) continue;
        const vy_buffer_class cls = p->buffers.data[i->aux].cls;
        const bool several = cls == VY_OUT || cls == VY_INOUT || cls == VY_SHARED;
        const uint32_t vars = several ? sharing(r, id) : 0;
        if (vars && !adds_to_itself(p, id) && may_agree(r, id, vars)) continue;
        if (vars) return refuse_store(r, id, vars, adds_to_itself(p, id));
    }
    return true;
}

// Sums that stand before any store to their buffer: first[b], as in check_rules.c.
static bool check_sums(const races *r, const uint8_t *sum, const uint32_t *first)
{
    const vy_program *p = r->p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        if (!sum[id]) continue;
        const vy_buf *b = &p->buffers.data[p->insts.data[id].aux];
        const uint32_t store = first[p->insts.data[id].aux];
        if (b->init != VY_INIT_NONE || b->view_of || (store && store < id)) continue;
        const uint32_t vars = unowned(r, id), rank = b->rank;
        bool ids = false; // what is made of ids is left to the interpreter
        for (uint32_t k = 0; k < rank; k++) {
            const uint32_t a = vy_arg(p, id, k);
            ids |= VY_IS_LEAF(a) && on(r, a) & UNKNOWN;
        }
        if (vars && !ids) return refuse_sum(r, id, vars);
    }
    return true;
}

// Fills *r; false: memory.  To be freed: r->on.
static bool begin(races *r, const vy_program *p, const vy_structure *s)
{
    *r = (races){.p = p, .s = s};
    r->on = vy_realloc(NULL, (p->insts.count + 1) * sizeof *r->on);
    if (!r->on) return false;
    r->on[0] = 0;
    find_dependences(r);
    return true;
}

bool vy_race_redundant(const vy_program *p, const vy_structure *s, uint8_t *stores)
{
    races r;
    if (!begin(&r, p, s)) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        const bool store = i->op == VY_OP_STORE && p->buffers.data[i->aux].cls != VY_LOCAL;
        stores[id] = store && sharing(&r, id) != 0;
    }
    vy_free(r.on);
    return true;
}

bool vy_check_races(vy_program *p, const vy_structure *s, const uint8_t *sum, const uint32_t *first)
{
    races r;
    if (!begin(&r, p, s)) {
        vy_fail_oom(p->module);
        return false;
    }
    const bool ok = check_sums(&r, sum, first) && check_stores(&r);
    vy_free(r.on);
    return ok;
}
