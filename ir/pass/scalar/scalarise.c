// SPDX-License-Identifier: MIT
// scalarise.c: small local arrays with constant indices become values.
//
//   local v: f32[2];               LOOP [0, n, 1, zero]
//   for k in 0..n {                  CARRY 0                    (v[0])
//     v[0] = v[0] + x[k];     →      s = add c0 (load x[k])
//   }                              ENDLOOP [s]
//   y[i] = v[0];                   RESULT 0;  y[i] = r0
//
// Forwarding stores to loads inside a region is not enough: an element that a loop or an arm
// assigns needs a value after it.  So each element is treated as a variable: constructs carry or
// yield the elements assigned inside.  Carries that this adds needlessly (of an array that is live
// only within a loop's body) are removed by cleanup.
//
// All indices of the array must be constants; out of range, a load is zero and a store does
// nothing.  Of integers in FEW elements at most it may be another, which chooses, so that places
// which they are parts of are sums again (`int at[3] = {x, y, z}; at[axis] += offset; … a[at[2]]`):
//
//   load at[k]        →   k == 0 ? at0 : k == 1 ? at1 : k == 2 ? at2 : 0
//   store at[k], v    →   at0 = k == 0 ? v : at0;  at1 = k == 1 ? v : at1;  …   (once an array)
//
// A while's condition must not assign to it (a function that is called there could): the
// condition runs once more than the body, and no carry passes on its last values.  Needs valid
// structure; keeps lines.  At most MAX_ELEMENTS per array and MAX_VARS per program.
#include "ir/pass/pass.h"
#include "ir/core/flow.h"

#include <string.h>

enum { MAX_ELEMENTS = 64, MAX_VARS = 1024, FEW = 4 };

typedef struct scalarise {
    vy_rewrite w;
    uint32_t *base; // by buffer: 1 + first variable, or 0
    uint32_t vars;
    uint32_t **assigned; // by opening marker: count, then variables assigned inside; or NULL
    uint32_t *now;       // by variable: its value, an id of the new program
} scalarise;

static uint64_t elements(const vy_program *p, const vy_buf *b)
{
    uint64_t n = 1;
    for (uint32_t k = 0; k < b->rank && n <= MAX_ELEMENTS; k++)
        n *= (uint64_t)p->dims.data[b->dims[k].id].value;
    return n;
}

// Variable of an access, or UINT32_MAX out of range.  False if an index is not constant.
static bool element(const scalarise *z, uint32_t id, uint32_t *var)
{
    const vy_program *p = z->w.p;
    const vy_buf *b = &p->buffers.data[p->insts.data[id].aux];
    uint64_t flat = 0;
    *var = 0;
    for (uint32_t k = 0; k < b->rank; k++) {
        int64_t index, extent = p->dims.data[b->dims[k].id].value;
        if (!vy_id_const(p, vy_arg(p, id, k))) return false;
        if (!vy_id_int(p, vy_arg(p, id, k), &index) || index < 0 || index >= extent)
            *var = UINT32_MAX;
        else
            flat = flat * (uint64_t)extent + (uint64_t)index;
    }
    if (*var == 0) *var = z->base[p->insts.data[id].aux] - 1 + (uint32_t)flat;
    return true;
}

// May an index be something other than a constant?
static bool is_short(const vy_program *p, const vy_buf *b)
{
    return b->rank == 1 && vy_type_is_integer(b->type) && elements(p, b) <= FEW;
}

// Is the array stored to by an index that is no constant more than once?  Then choices would be of
// choices, which are too many for whoever reads places.
static void leave_changed_often(scalarise *z)
{
    const vy_program *p = z->w.p;
    uint8_t *stores = vy_rewrite_table(&z->w, p->buffers.count);
    for (uint32_t id = 1; stores && id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        uint32_t var;
        if (i->op != VY_OP_STORE || !z->base[i->aux] || element(z, id, &var)) continue;
        if (stores[i->aux]++) z->base[i->aux] = 0;
    }
}

static bool choose_arrays(scalarise *z)
{
    const vy_program *p = z->w.p;
    z->base = vy_arena_alloc(&z->w.arena, p->buffers.count * sizeof *z->base);
    if (!z->base) return false;
    for (uint32_t b = 1; b < p->buffers.count; b++) {
        const vy_buf *buf = &p->buffers.data[b];
        z->base[b] = buf->cls == VY_LOCAL && elements(p, buf) <= MAX_ELEMENTS;
    }
    uint32_t conditions = 0; // number of whiles whose condition contains the instruction
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        uint32_t var;
        conditions += i->op == VY_OP_WHILE;
        conditions -= i->op == VY_OP_TEST;
        if (!vy_op_is_memory((vy_op)i->op) || !z->base[i->aux]) continue;
        if (i->op == VY_OP_LOAD || i->op == VY_OP_STORE)
            if (!element(z, id, &var) && !is_short(p, &p->buffers.data[i->aux]))
                z->base[i->aux] = 0;
        if (i->op != VY_OP_LOAD && conditions) z->base[i->aux] = 0;
    }
    leave_changed_often(z);
    // Arrays without any access are left to dead_arrays.
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (vy_op_is_memory((vy_op)i->op) && z->base[i->aux]) z->base[i->aux] = 2;
    }
    for (uint32_t b = 1; b < p->buffers.count; b++) {
        uint32_t n = z->base[b] == 2 ? (uint32_t)elements(p, &p->buffers.data[b]) : 0;
        if (z->vars + n > MAX_VARS) n = 0;
        z->base[b] = n ? z->vars + 1 : 0;
        z->vars += n;
    }
    return true;
}

// Adds the variables that instruction `id` assigns to the set.
static void assigned_by(const scalarise *z, uint32_t id, uint8_t *set)
{
    const vy_inst *i = &z->w.p->insts.data[id];
    uint32_t var, base = vy_op_is_memory((vy_op)i->op) ? z->base[i->aux] : 0;
    if (!base) return;
    const bool one = i->op == VY_OP_STORE && element(z, id, &var);
    if (one && var != UINT32_MAX) set[var] = 1;
    if (i->op == VY_OP_ZERO || (i->op == VY_OP_STORE && !one))
        memset(set + base - 1, 1, elements(z->w.p, &z->w.p->buffers.data[i->aux]));
}

static bool keep_list(scalarise *z, uint32_t opener, const uint8_t *set)
{
    uint32_t n = 0;
    for (uint32_t v = 0; v < z->vars; v++) n += set[v];
    if (!n) return true;
    uint32_t *list = vy_arena_alloc(&z->w.arena, (n + 1) * sizeof *list);
    if (!list) return false;
    for (uint32_t v = 0; v < z->vars; v++)
        if (set[v]) list[++list[0]] = v;
    z->assigned[opener] = list;
    return true;
}

// The variables that each construct assigns: one set per depth, merged into the outer one at the
// construct's end.
static bool find_assigned(scalarise *z)
{
    const vy_program *p = z->w.p;
    uint32_t deepest = 0;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (z->w.s.depth[id] > deepest) deepest = z->w.s.depth[id];
    uint8_t *sets = vy_arena_alloc(&z->w.arena, ((size_t)deepest + 2) * z->vars);
    z->assigned = vy_arena_alloc(&z->w.arena, p->insts.count * sizeof *z->assigned);
    z->now = vy_arena_alloc(&z->w.arena, z->vars * sizeof *z->now);
    if (!sets || !z->assigned || !z->now) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        vy_op op = (vy_op)p->insts.data[id].op;
        uint8_t *set = sets + (size_t)z->w.s.depth[id] * z->vars;
        assigned_by(z, id, set);
        if (vy_op_opens(op)) memset(set + z->vars, 0, z->vars);
        if (!vy_op_closes(op)) continue;
        if (!keep_list(z, z->w.s.partner[id], set + z->vars)) return false;
        for (uint32_t v = 0; v < z->vars; v++) set[v] |= set[z->vars + v];
    }
    return true;
}

// ------------------------------------------------------------------------------------- rebuilding
static void read_variables(const scalarise *z, const uint32_t *list, uint32_t *to)
{
    for (uint32_t v = 1; v <= list[0]; v++) to[v - 1] = z->now[list[v]];
}

static void write_variables(scalarise *z, const uint32_t *list, const uint32_t *from)
{
    for (uint32_t v = 1; v <= list[0]; v++) z->now[list[v]] = from[v - 1];
}

static uint32_t replace_access(void *pass, uint32_t id);

static void both_arms(scalarise *z, vy_remade *x, const uint32_t *list)
{
    uint32_t *more = x->in + x->own, *before = x->out + x->own;
    read_variables(z, list, before);
    vy_remake_body(&z->w, x, replace_access, z);
    vy_remake_then(&z->w, x);
    read_variables(z, list, more);
    vy_rewrite_at(&z->w, z->w.s.partner[x->opener]);
    vy_remake_else(&z->w, x);
    write_variables(z, list, before);
    vy_remake_other(&z->w, x, replace_access, z);
}

// Rebuilds a construct so that it carries or yields the variables assigned inside.  Recursion is as
// deep as constructs nest.
static uint32_t rebuild_construct(scalarise *z, uint32_t opener, const uint32_t *list)
{
    vy_op op = (vy_op)z->w.p->insts.data[opener].op;
    vy_remade x;
    if (!vy_remake(&z->w, &x, opener, list[0])) return opener;
    read_variables(z, list, x.in + x.own);
    vy_remake_begin(&z->w, &x);
    if (vy_is_loop(op)) write_variables(z, list, x.out + x.own);
    if (op == VY_OP_IF)
        both_arms(z, &x, list);
    else
        vy_remake_body(&z->w, &x, replace_access, z);
    vy_remake_next(&z->w, &x);
    read_variables(z, list, x.in + x.own);
    vy_rewrite_at(&z->w, vy_closer(z->w.p, &z->w.s, opener));
    vy_remake_end(&z->w, &x);
    write_variables(z, list, x.out + x.own);
    return vy_remake_last(&z->w, &x);
}

// Loads one of few elements by an index that is no constant.
static void load_some(scalarise *z, uint32_t id)
{
    const vy_inst *i = &z->w.p->insts.data[id];
    const vy_buf *buf = &z->w.p->buffers.data[i->aux];
    const uint32_t n = (uint32_t)elements(z->w.p, buf);
    const vy_value index = {vy_new_arg(&z->w, id, 0)};
    const vy_type t = vy_id_type(z->w.p, vy_arg(z->w.p, id, 0));
    vy_value value = vy_zero(z->w.b, (vy_type)buf->type);
    for (uint32_t k = n; k-- > 0;) {
        const vy_value one = {z->now[z->base[i->aux] - 1 + k]};
        const vy_value is = vy_eq(z->w.b, index, vy_int(z->w.b, t, k));
        value = vy_select(z->w.b, is, one, value);
    }
    vy_rewrite_as(&z->w, id, value.id);
}

// The operand of the value that `store` stores that is the element's own value, `at[k] += e`; -1:
// none is.
static int own_operand(const scalarise *z, uint32_t store)
{
    const vy_program *p = z->w.p;
    const uint32_t value = vy_arg(p, store, 1);
    if (VY_IS_LEAF(value)) return -1;
    const vy_inst *v = &p->insts.data[value], *s = &p->insts.data[store];
    for (uint32_t k = 0; k < 2 && v->nargs == 2 && vy_op_infos[v->op].effect == VY_PURE; k++) {
        const uint32_t load = vy_arg(p, value, k);
        if (VY_IS_LEAF(load) || p->insts.data[load].op != VY_OP_LOAD) continue;
        bool own = p->insts.data[load].aux == s->aux && vy_arg(p, load, 0) == vy_arg(p, store, 0);
        for (uint32_t id = load + 1; own && id < store; id++)
            own = vy_op_infos[p->insts.data[id].op].effect == VY_PURE ||
                  p->insts.data[id].op == VY_OP_LOAD;
        if (own) return (int)k;
    }
    return -1;
}

// What is stored to the element whose value is `now`, if it is the one.
static vy_value stored(scalarise *z, uint32_t store, int own, uint32_t now)
{
    const uint32_t value = vy_arg(z->w.p, store, 1);
    if (own < 0) return (vy_value){vy_new(&z->w, value)};
    const vy_inst v = z->w.p->insts.data[value];
    uint32_t args[2] = {vy_new_arg(&z->w, value, 0), vy_new_arg(&z->w, value, 1)};
    args[own] = now;
    return (vy_value){vy_emit(z->w.b, (vy_op)v.op, (vy_type)v.type, v.aux, 2, args)};
}

// Stores to one of few elements by an index that is no constant.  What is added to it is added to
// each: the sum of a choice would have it inside a choice.
static void store_some(scalarise *z, uint32_t id)
{
    const vy_inst *i = &z->w.p->insts.data[id];
    const uint32_t n = (uint32_t)elements(z->w.p, &z->w.p->buffers.data[i->aux]);
    const vy_value index = {vy_new_arg(&z->w, id, 0)};
    const vy_type t = vy_id_type(z->w.p, vy_arg(z->w.p, id, 0));
    const int own = own_operand(z, id);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t *now = &z->now[z->base[i->aux] - 1 + k];
        const vy_value is = vy_eq(z->w.b, index, vy_int(z->w.b, t, k));
        *now = vy_select(z->w.b, is, stored(z, id, own, *now), (vy_value){*now}).id;
    }
}

static void access_element(scalarise *z, uint32_t id, vy_op op)
{
    const vy_program *p = z->w.p;
    const vy_inst *i = &p->insts.data[id];
    const vy_buf *buf = &p->buffers.data[i->aux];
    uint32_t var = UINT32_MAX;
    uint32_t zero = vy_leaf_const(z->w.b, buf->type, (vy_scalar){.u = 0});
    if (op == VY_OP_ZERO) {
        uint32_t n = (uint32_t)elements(p, buf);
        for (uint32_t v = 0; v < n; v++) z->now[z->base[i->aux] - 1 + v] = zero;
        return;
    }
    if (!element(z, id, &var)) {
        if (op == VY_OP_LOAD)
            load_some(z, id);
        else
            store_some(z, id);
    } else if (op == VY_OP_LOAD) {
        vy_rewrite_as(&z->w, id, var == UINT32_MAX ? zero : z->now[var]);
    } else if (var != UINT32_MAX) {
        z->now[var] = vy_new_arg(&z->w, id, buf->rank);
    }
}

static uint32_t replace_access(void *pass, uint32_t id)
{
    scalarise *z = pass;
    const vy_inst *i = &z->w.p->insts.data[id];
    vy_op op = (vy_op)i->op;
    if (vy_op_is_memory(op) && z->base[i->aux]) {
        access_element(z, id, op);
        return id;
    }
    return z->assigned[id] ? rebuild_construct(z, id, z->assigned[id]) : 0;
}

// All elements are initially zero.
static void begin_zero(scalarise *z)
{
    const vy_program *p = z->w.p;
    for (uint32_t b = 1; b < p->buffers.count; b++) {
        if (!z->base[b]) continue;
        uint32_t zero = vy_leaf_const(z->w.b, p->buffers.data[b].type, (vy_scalar){.u = 0});
        uint32_t n = (uint32_t)elements(p, &p->buffers.data[b]);
        for (uint32_t v = 0; v < n; v++) z->now[z->base[b] - 1 + v] = zero;
    }
}

bool vy_pass_scalarise(vy_program *p, vy_pass_context *c)
{
    scalarise z = {0};
    bool ok = vy_rewrite_begin(&z.w, p) && choose_arrays(&z);
    ok = ok && (z.vars == 0 || find_assigned(&z));
    if (ok && z.vars && vy_rewrite_open(&z.w)) {
        begin_zero(&z);
        vy_rewrite_range(&z.w, 1, p->insts.count, replace_access, &z);
    }
    return vy_rewrite_end(&z.w, ok, &c->changed);
}
