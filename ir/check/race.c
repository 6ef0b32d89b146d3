// SPDX-License-Identifier: MIT
// race.c: stores that are certain to race, found before anything runs.
//
//   over(i: M, j: N)  y[i] = x[i, j];      all j store to one element
//   over(i: N)        y[0] += x[i];        all invocations add to one element, without an atomic
//   workgroup(32)     t[0] = x[gid.x];     all lanes of a workgroup store to one element (t may be
//                                          a shared array)
//
// What is reported is wrong whatever the data: the store is reached by every invocation of the
// domain (the only constructs around it are checkpoints, and loops without an early exit, whose
// bounds they share), and its index does not depend on some domain variable whose extent is not
// declared as 1.  Or two particular invocations store to one element if either reaches the store
// (race_pairs.c).  Indices that depend on memory that may change, or on what a loop carries, are
// never reported; neither are atomics.  Where lanes of a workgroup store to one element and the
// values are not surely different, the value may be well defined: differentiation takes one of the
// stores where they are proved to be equal (redundant.c), and else refuses them
// (vy_race_redundant).  A domain whose extent N is known to be
// 1 is written over(i: 1).
//
// Sums.  An `out` buffer starts as zero, so `y[i] += e` needs no store before it (sum_loads.c), if
// the invocation owns the element: each domain variable has an axis, or a digit of a flat index, to
// itself, and it is the same one wherever else the program writes to the buffer (race_owner.c).
// Where another invocation may access the element, the error proposes atomic_add.
#include "ir/check/race.h"
#include "ir/check/redundant.h"

#include <stdio.h>

// The domain variables that differ between invocations that all reach the access and access one
// element; 0: none surely.
static uint32_t sharing(const vy_races *r, uint32_t store)
{
    const vy_program *p = r->p;
    const vy_buf *b = &p->buffers.data[p->insts.data[store].aux];
    const uint32_t among = b->cls == VY_SHARED ? r->lanes : r->all;
    uint32_t mask = vy_race_on_args(r, store, b->rank);
    for (uint32_t up = r->s->parent[store]; up; up = r->s->parent[up]) {
        const vy_inst *i = &p->insts.data[up];
        if (i->op == VY_OP_CHECKPOINT) continue;
        if (i->op != VY_OP_LOOP || vy_exits(p, up)) return 0;
        mask |= r->on[up];
    }
    return mask & VY_RACE_UNKNOWN ? 0 : among & ~mask;
}

// ------------------------------------------------------------------------------------------ errors
static void name_variables(const vy_program *p, uint32_t vars, char *out, size_t size)
{
    size_t n = 0;
    out[0] = 0;
    for (uint32_t v = 0; v < p->overs.count && v < 29 && n < size; v++)
        if (vars >> v & 1)
            n += (size_t)snprintf(out + n, size - n, "%s`%.40s`", n ? ", " : "",
                                  p->overs.data[v].name);
}

// before: an earlier access; each of the two would be fine alone.  0: this access is refused alone.
static bool refuse_sum(const vy_races *r, uint32_t access, uint32_t vars, uint32_t before)
{
    const vy_program *p = r->p;
    const vy_inst *i = &p->insts.data[access];
    const char *name = p->buffers.data[i->aux].name;
    char fix[200], over[120], line[120];
    name_variables(p, vars, over, sizeof over);
    snprintf(fix, sizeof fix, "add with atomic_add(%.60s[…], …)%s", name,
             before ? " in both places" : "");
    if (before)
        vy_fail(p->module, VY_E_READ_OUT, i->line, i->column, fix,
                "several invocations may access one element of `%s`, here and in %s: those "
                "that differ in %s",
                name, vy_line_text(p->module, p->insts.data[before].line, i->line, line), over);
    else
        vy_fail(p->module, VY_E_READ_OUT, i->line, i->column, fix,
                sharing(r, access) ? "several invocations add to one element of `%s`: its index "
                                     "does not depend on %s"
                                   : "several invocations may add to one element of `%s`: its "
                                     "index does not distinguish those that differ in %s",
                name, over);
    return false;
}

static bool refuse_store(const vy_races *r, uint32_t store, uint32_t vars, bool adds)
{
    const vy_program *p = r->p;
    const vy_inst *i = &p->insts.data[store];
    const char *name = p->buffers.data[i->aux].name;
    char fix[240], over[120];
    uint32_t first = 0;
    while (!((vars | VY_RACE_LANES) >> first & 1)) first++;
    name_variables(p, vars, over, sizeof over);
    if (adds)
        snprintf(fix, sizeof fix, "add with atomic_add(%.60s[…], …)", name);
    else if (vars & VY_RACE_LANES)
        snprintf(fix, sizeof fix,
                 "let one of them store it: `if lindex == 0 { … }`, or give `%.60s` an index that "
                 "depends on gid or lid",
                 name);
    else
        snprintf(fix, sizeof fix,
                 "let one of them store it: `if %.40s == 0 { … }`, or give `%.60s` an index that "
                 "depends on %.40s",
                 p->overs.data[first].name, name, over);
    if (vars & VY_RACE_LANES)
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

static bool refuse_conflict(const vy_races *r, const vy_conflict *m)
{
    const vy_program *p = r->p;
    const vy_inst *i = &p->insts.data[m->store];
    const char *name = p->buffers.data[i->aux].name;
    char of[64];
    if (p->overs.count)
        snprintf(of, sizeof of, "%.50s", p->overs.data[m->var].name);
    else
        snprintf(of, sizeof of, "lid.%c", "xyz"[m->var]);
    char fix[240];
    snprintf(fix, sizeof fix,
             "let one of them store it (in a workgroup `if lindex == 0 { … }`), or add with "
             "atomic_add(%.60s[…], …)",
             name);
    vy_fail(p->module, VY_E_STORE_RACE, i->line, i->column, fix,
            "data race: the invocations with `%s` = %u and %u store to one element of `%s`", of,
            m->first, m->second, name);
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

// May lanes that store to one element all have computed the same value: a number, or a sum over an
// entire buffer?
static bool may_agree(const vy_races *r, uint32_t store, uint32_t vars)
{
    const vy_buf *b = &r->p->buffers.data[r->p->insts.data[store].aux];
    const uint32_t v = vy_race_on(r, vy_arg(r->p, store, b->rank));
    return (vars & VY_RACE_LANES || b->cls == VY_SHARED) && !(v & (VY_RACE_IDS | vars));
}

static bool is_shown(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    return i->op == VY_OP_STORE && p->buffers.data[i->aux].cls != VY_LOCAL;
}

static bool check_sharing(const vy_races *r)
{
    const vy_program *p = r->p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const uint32_t vars = is_shown(p, id) ? sharing(r, id) : 0;
        if (vars && !adds_to_itself(p, id) && may_agree(r, id, vars)) continue;
        if (vars) return refuse_store(r, id, vars, adds_to_itself(p, id));
    }
    return true;
}

// Looks for pairs of invocations at stores to elements that no invocation owns.
static bool find_conflicts(const vy_races *r, vy_conflict **by)
{
    const vy_program *p = r->p;
    uint8_t *wanted = vy_realloc(NULL, p->insts.count);
    *by = vy_realloc(NULL, p->insts.count * sizeof **by);
    bool any = false, ok = wanted && *by;
    for (uint32_t id = 0; ok && id < p->insts.count; id++) {
        vy_owner o;
        wanted[id] = id && is_shown(p, id);
        if (wanted[id]) vy_owner_begin(r, &o, id);
        wanted[id] = wanted[id] && vy_owner_shared(r, &o) != 0;
        any |= wanted[id];
        (*by)[id] = (vy_conflict){0};
    }
    ok = ok && (!any || vy_race_conflicts(r, wanted, *by));
    vy_free(wanted);
    return ok;
}

// May what lanes of a workgroup store to shared memory, or to the element of their workgroup, be
// one value?
static bool may_agree_here(const vy_races *r, const vy_conflict *m)
{
    const vy_buf *b = &r->p->buffers.data[r->p->insts.data[m->store].aux];
    return !m->differ && (!r->p->overs.count || b->cls == VY_SHARED);
}

// False: see the module's diag, or out of memory (*memory).
static bool check_conflicts(const vy_races *r, bool *memory)
{
    vy_conflict *by;
    bool ok = find_conflicts(r, &by);
    *memory = !ok;
    for (uint32_t id = 1; ok && id < r->p->insts.count; id++)
        if (by[id].store && !may_agree_here(r, &by[id])) ok = refuse_conflict(r, &by[id]);
    vy_free(by);
    return ok;
}

// Does the access start a sum in a buffer that nothing was stored to before?  first[b]: as in
// check_rules.c.
static bool starts_sum(const vy_program *p, const uint8_t *sum, const uint32_t *first, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    if (!sum[id]) return false;
    const vy_buf *b = &p->buffers.data[i->aux];
    return b->init == VY_INIT_NONE && !b->view_of && !(first[i->aux] && first[i->aux] < id);
}

// Indices made of ids are left to the interpreter.
static bool has_ids(const vy_races *r, uint32_t id)
{
    const uint32_t rank = r->p->buffers.data[r->p->insts.data[id].aux].rank;
    for (uint32_t k = 0; k < rank; k++) {
        const uint32_t a = vy_arg(r->p, id, k);
        if (VY_IS_LEAF(a) && vy_race_on(r, a) & VY_RACE_UNKNOWN) return true;
    }
    return false;
}

// Checks each sum alone.
static bool check_sums(const vy_races *r, const uint8_t *sum, const uint32_t *first)
{
    for (uint32_t id = 1; id < r->p->insts.count; id++) {
        if (!starts_sum(r->p, sum, first, id) || has_ids(r, id)) continue;
        vy_owner o;
        vy_owner_begin(r, &o, id);
        const uint32_t vars = vy_owner_shared(r, &o);
        if (vars) return refuse_sum(r, id, vars, 0);
    }
    return true;
}

// Is an element that `id` accesses accessed by one invocation only, also by the accesses before?
static bool check_together(const vy_races *r, uint32_t id, vy_owner *o)
{
    if (o->skip) return true;
    o->skip = has_ids(r, id);
    const uint32_t before = o->access;
    if (before)
        vy_owner_intersect(r, o, id);
    else
        vy_owner_begin(r, o, id);
    const uint32_t vars = o->skip ? 0 : vy_owner_shared(r, o);
    return !vars || refuse_sum(r, id, vars, before);
}

// Checks the sums of a buffer together with everything else that is written to it, in programs
// without barriers.
static bool check_sums_together(const vy_races *r, const uint8_t *sum, const uint32_t *first,
                                vy_owner *owner)
{
    const vy_program *p = r->p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        if (p->insts.data[id].op == VY_OP_BARRIER) return true;
        if (starts_sum(p, sum, first, id)) owner[p->insts.data[id].aux].skip = false;
    }
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        const bool write = vy_op_infos[i->op].effect == VY_WRITE && i->op != VY_OP_ZERO;
        if ((write || sum[id]) && !check_together(r, id, &owner[i->aux])) return false;
    }
    return true;
}

static bool check_all_sums(const vy_races *r, const uint8_t *sum, const uint32_t *first,
                           bool *memory)
{
    const uint32_t n = r->p->buffers.count;
    vy_owner *owner = vy_realloc(NULL, n * sizeof *owner);
    *memory = !owner;
    for (uint32_t b = 0; owner && b < n; b++) owner[b] = (vy_owner){.skip = true};
    const bool ok = owner && check_sums(r, sum, first) && check_sums_together(r, sum, first, owner);
    vy_free(owner);
    return ok;
}

// Fills *r; false: out of memory.  The caller frees r->on.
static bool begin_races(vy_races *r, const vy_program *p, const vy_structure *s)
{
    *r = (vy_races){.p = p, .s = s};
    r->on = vy_realloc(NULL, (p->insts.count + 1) * sizeof *r->on);
    if (!r->on) return false;
    r->on[0] = 0;
    vy_race_find_dependences(r);
    return true;
}

bool vy_race_redundant(const vy_program *p, const vy_structure *s, uint8_t *stores)
{
    vy_races r;
    vy_conflict *by = NULL;
    vy_redundancy *along = vy_realloc(NULL, p->insts.count * sizeof *along);
    for (uint32_t id = 0; along && id < p->insts.count; id++) along[id] = (vy_redundancy){0};
    const bool ok =
        begin_races(&r, p, s) && find_conflicts(&r, &by) && along && vy_find_redundant(p, s, along);
    for (uint32_t id = 1; ok && id < p->insts.count; id++)
        stores[id] = is_shown(p, id) && (by[id].store || along[id].axes || sharing(&r, id));
    vy_free(along);
    vy_free(by);
    vy_free(r.on);
    return ok;
}

bool vy_check_races(vy_program *p, const vy_structure *s, const uint8_t *sum, const uint32_t *first)
{
    vy_races r;
    bool memory = !begin_races(&r, p, s);
    const bool ok = !memory && check_all_sums(&r, sum, first, &memory) && check_sharing(&r) &&
                    check_conflicts(&r, &memory);
    if (memory) vy_fail_oom(p->module);
    vy_free(r.on);
    return ok;
}
