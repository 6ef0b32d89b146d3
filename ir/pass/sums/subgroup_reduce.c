// SPDX-License-Identifier: MIT
// subgroup_reduce.c: one atomic addition per subgroup where a whole workgroup adds to the same element.
//
//   over(i: N):                                   leader = lane == subgroup_min(lane)
//   for j in 0..D {                               for j in 0..D {
//     atomic_add(g[j], x[i, j])            →        s = subgroup_add(x[i, j])
//   }                                               if leader { atomic_add(g[j], s) }
//                                                 }
//   if x[i, 0] > 0 { atomic_add(g[0], v) }        if x[i, 0] > 0 { … } else { … } gives v or 0
//                                                 s = subgroup_add(…)
//                                                 if leader { if s != 0 { atomic_add(g[0], s) } }
//
// Additions to one element wait for each other on every device, and those by compare-exchange fail and
// start again; the gradient of a parameter is all of that.  A subgroup's sum is a handful of
// instructions.
//
// Which additions.  The index is the same in the whole workgroup, and so is the way there; or the way is
// a few `if`s that differ, whose arms hand the term out, 0 from the other one.  A condition that picks
// one invocation (`i == 0`) is left: nobody waits there.  Every access to the
// buffer in the program must be an addition whose old value nobody wants: then it does not matter which
// invocation of the subgroup adds, nor when within the dispatch, and neighbours share one `if leader`.
// An element to which no lane adds gets no addition either, or that of a sum that is 0, which changes
// at most −0 to 0.  Workgroups of one invocation have nothing to add up.
//
// The leader is the first lane inside the domain, whatever order the device puts lanes in: padding lanes
// take part in reductions as the identity, so it is `subgroup_min(lane)`.
//
// A program with subgroup operations runs its padding lanes, whose domain variables are those of the
// nearest invocation inside and whose loads give 0 (LANGUAGE 1.2).  A loop that such a 0 decides might
// never end there; so unless the program has padding lanes anyway, no loop may depend on what is
// loaded at an index that differs, or on built-ins other than the domain's.
//
// Runs only if options->subgroup_add: written SPIR-V uses no optional feature unasked.  Needs valid
// structure; keeps lines and names.
#include "ir/pass/sums/subgroup_reduce.h"

#include "ir/facts/memory.h"
#include "ir/check/uniform.h"

enum {
    MAX_LIFT = 8,     // `if`s that a term is handed out of
    MAX_PENDING = 16, // sums that wait for their `if leader`
};

typedef struct lift { // what an IF hands out besides its own yields
    uint32_t site;
    bool in_else;
    uint32_t next; // of the same IF; 1 + index
} lift;
VY_VEC_TYPE(lift_vec, lift);

typedef struct pending {
    uint32_t site, sum;
    bool sparse; // perhaps nobody added
} pending;

typedef struct reduce {
    const vy_program *p;
    const vy_opt_options *options;
    vy_structure s;
    vy_arena arena;
    const uint32_t *differs;
    uint8_t *sums;   // by memory: there are only additions whose old values are unused
    uint32_t *out;   // by site: outermost IF that differs, the site itself if none, 0: not taken
    uint32_t *first; // by IF: 1 + its first lift
    uint32_t *last;
    lift_vec lifts;
    uint32_t *map, *term; // term: by site, its value in the program being built
    vy_builder *b;
    vy_value leader;
    pending waiting[MAX_PENDING];
    uint32_t waits, count;
    vy_id_vec yields, results;
    bool oom;
} reduce;

static bool differs(const reduce *r, uint32_t id)
{
    return VY_IS_LEAF(id) ? vy_leaf_differs(r->p, id) : r->differs[id] != 0;
}

// --------------------------------------------------------------------------------------- choosing
void vy_find_sums(const vy_program *p, uint8_t *sums)
{
    for (uint32_t b = 1; b < p->buffers.count; b++)
        sums[b] = p->buffers.data[b].cls == VY_OUT || p->buffers.data[b].cls == VY_INOUT;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (vy_op_is_memory((vy_op)i->op) && i->op != VY_OP_ATOMIC_ADD)
            sums[vy_memory_of(p, i->aux)] = 0;
        for (uint32_t k = 0; k < i->nargs; k++) {
            uint32_t v = vy_arg(p, id, k);
            if (!VY_IS_LEAF(v) && p->insts.data[v].op == VY_OP_ATOMIC_ADD)
                sums[vy_memory_of(p, p->insts.data[v].aux)] = 0;
        }
    }
}

bool vy_subgroup_adds(const vy_opt_options *o, vy_type t)
{
    switch (t) {
    case VY_I32:
    case VY_U32:
    case VY_F32:
    case VY_F64: return true;
    case VY_F16:
    case VY_I64:
    case VY_U64: return o->subgroup_types;
    default: return false;
    }
}

// `==` on a domain variable or a built-in: one invocation, or the leader of an earlier run of this pass.
static bool picks_one(const reduce *r, uint32_t condition)
{
    if (VY_IS_LEAF(condition) || r->p->insts.data[condition].op != VY_OP_EQ) return false;
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t v = vy_arg(r->p, condition, k);
        if (VY_IS_LEAF(v) && differs(r, v)) return true;
    }
    return false;
}

// The outermost construct around `site` that differs, if terms can be handed out of it; the site if
// there is none; 0 if they cannot.
static uint32_t way_out(const reduce *r, uint32_t site)
{
    uint32_t out = site, at = 0, steps = 0;
    for (uint32_t c = r->s.parent[site]; c; c = r->s.parent[c]) {
        steps++;
        if (!r->differs[c]) continue;
        out = c;
        at = steps;
    }
    if (at > MAX_LIFT) return 0;
    for (uint32_t c = site; c != out;) {
        c = r->s.parent[c];
        if (r->p->insts.data[c].op != VY_OP_IF || picks_one(r, vy_arg(r->p, c, 0))) return 0;
    }
    return out;
}

static bool suits(const reduce *r, uint32_t site, uint32_t out)
{
    const vy_inst *i = &r->p->insts.data[site];
    for (uint32_t k = 0; k + 1 < i->nargs; k++) {
        uint32_t index = vy_arg(r->p, site, k);
        if (differs(r, index) || (!VY_IS_LEAF(index) && index > out)) return false;
    }
    return true;
}

static bool hand_out(reduce *r, uint32_t site)
{
    for (uint32_t c = site; c != r->out[site];) {
        uint32_t parent = r->s.parent[c];
        lift l = {.site = site, .in_else = site > r->s.partner[parent]};
        if (!vy_vec_push(&r->lifts, l)) return false;
        if (r->last[parent])
            r->lifts.data[r->last[parent] - 1].next = r->lifts.count;
        else
            r->first[parent] = r->lifts.count;
        r->last[parent] = r->lifts.count;
        c = parent;
    }
    return true;
}

static bool choose(reduce *r)
{
    for (uint32_t id = 1; id < r->p->insts.count; id++) {
        const vy_inst *i = &r->p->insts.data[id];
        if (i->op != VY_OP_ATOMIC_ADD || !r->sums[vy_memory_of(r->p, i->aux)]) continue;
        if (!vy_subgroup_adds(r->options, r->p->buffers.data[i->aux].type)) continue;
        uint32_t out = way_out(r, id);
        if (!out || !suits(r, id, out)) continue;
        r->out[id] = out;
        r->count++;
        if (!hand_out(r, id)) return false;
    }
    return true;
}

bool vy_padding_ends(const vy_program *p, const vy_structure *s, const uint32_t *differs,
                     vy_arena *arena, bool *oom)
{
    bool loops = false;
    if (!p->overs.count) return true;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        if (vy_op_infos[p->insts.data[id].op].effect == VY_CONV) return true;
        loops |= vy_is_loop((vy_op)p->insts.data[id].op);
    }
    if (!loops) return true;
    const uint32_t *data = vy_differences(p, s, differs, arena);
    *oom = !data;
    for (uint32_t id = 1; data && id < p->insts.count; id++)
        if (vy_is_loop((vy_op)p->insts.data[id].op) && data[id]) return false;
    return !*oom;
}

// ------------------------------------------------------------------------------------- rebuilding
static void find_leader(reduce *r)
{
    vy_value lane = vy_builtin_value(r->b, VY_LANE, 0), first = vy_zero(r->b, VY_U32);
    if (r->p->overs.count) first = vy_subgroup(r->b, "min", lane);
    r->leader = vy_eq(r->b, lane, first);
    vy_name(r->b, r->leader, "leader");
}

static void add_one(reduce *r, const pending *w)
{
    const vy_inst *i = &r->p->insts.data[w->site];
    uint32_t args[VY_MAX_RANK + 1];
    for (uint32_t k = 0; k + 1 < i->nargs; k++) args[k] = vy_map(r->map, vy_arg(r->p, w->site, k));
    args[i->nargs - 1] = w->sum;
    vy_pass_at(r->b, r->p, w->site);
    if (w->sparse) {
        vy_value sum = {w->sum};
        vy_begin_if(r->b, vy_ne(r->b, sum, vy_zero(r->b, (vy_type)i->type)).id);
    }
    uint32_t id = vy_emit(r->b, VY_OP_ATOMIC_ADD, (vy_type)i->type, i->aux, i->nargs, args);
    vy_emit_flags(r->b, id, i->flags); // a lane of the subgroup was there, with this very index
    if (!w->sparse) return;
    vy_begin_else(r->b, 0, NULL);
    vy_end_if(r->b, 0, NULL, NULL);
}

static void flush(reduce *r)
{
    if (!r->waits) return;
    vy_pass_at(r->b, r->p, r->waiting[0].site);
    vy_begin_if(r->b, r->leader.id);
    for (uint32_t k = 0; k < r->waits; k++) add_one(r, &r->waiting[k]);
    vy_begin_else(r->b, 0, NULL);
    vy_end_if(r->b, 0, NULL, NULL);
    r->waits = 0;
}

static void add_up(reduce *r, uint32_t site)
{
    if (r->waits == MAX_PENDING) flush(r);
    vy_pass_at(r->b, r->p, site);
    vy_value sum = vy_subgroup(r->b, "add", (vy_value){r->term[site]});
    r->waiting[r->waits++] = (pending){site, sum.id, r->out[site] != site};
}

// The yields of the arm that ends with `marker`, mapped, and the terms of IF `opener` behind them.
static bool gather(reduce *r, uint32_t opener, uint32_t marker, bool in_else)
{
    r->yields.count = 0;
    for (uint32_t k = 0; k < r->p->insts.data[marker].nargs; k++)
        if (!vy_vec_push(&r->yields, vy_map(r->map, vy_arg(r->p, marker, k)))) return false;
    for (uint32_t n = r->first[opener]; n; n = r->lifts.data[n - 1].next) {
        const lift *l = &r->lifts.data[n - 1];
        uint32_t zero = vy_zero(r->b, (vy_type)r->p->insts.data[l->site].type).id;
        if (!vy_vec_push(&r->yields, l->in_else == in_else ? r->term[l->site] : zero)) return false;
    }
    r->results.count = 0;
    return vy_vec_reserve(&r->results, r->yields.count + 1);
}

// Closes an IF that hands out terms.  Returns the last RESULT, which is done too.
static uint32_t close_if(reduce *r, uint32_t opener, uint32_t end)
{
    uint32_t own = r->p->insts.data[end].nargs, at = own;
    vy_pass_at(r->b, r->p, end);
    vy_end_if(r->b, r->yields.count, r->yields.data, r->results.data);
    if (vy_builder_failed(r->b)) return end + own;
    for (uint32_t k = 0; k < own; k++) {
        r->map[end + 1 + k] = r->results.data[k];
        vy_pass_name(r->b, r->p, end + 1 + k, r->results.data[k]);
    }
    for (uint32_t n = r->first[opener]; n; n = r->lifts.data[n - 1].next) {
        uint32_t site = r->lifts.data[n - 1].site;
        r->term[site] = r->results.data[at++];
        if (r->out[site] == opener) add_up(r, site);
    }
    return end + own;
}

// Copies instruction `id`, or what takes its place; returns the last one that is done.
static uint32_t copy(reduce *r, uint32_t id)
{
    const vy_program *p = r->p;
    vy_op op = (vy_op)p->insts.data[id].op;
    if (op != VY_OP_CARRY && op != VY_OP_RESULT && vy_is_marker(op)) flush(r);
    if (r->out[id]) {
        r->term[id] = vy_map(r->map, vy_arg(p, id, p->insts.data[id].nargs - 1));
        if (r->out[id] == id) add_up(r, id);
        return id;
    }
    uint32_t opener = op == VY_OP_ENDIF  ? r->s.partner[id]
                      : op == VY_OP_ELSE ? r->s.partner[r->s.partner[id]]
                                         : 0;
    if (!opener || !r->first[opener]) {
        vy_copy_inst(r->b, p, id, r->map);
        return id;
    }
    r->oom |= !gather(r, opener, id, op == VY_OP_ENDIF);
    if (r->oom) return id;
    if (op == VY_OP_ENDIF) return close_if(r, opener, id);
    vy_begin_else(r->b, r->yields.count, r->yields.data);
    return id;
}

static bool rebuild(reduce *r, vy_program *p)
{
    if (!(r->b = vy_rebuild_begin(p))) return false;
    find_leader(r);
    for (uint32_t id = 1; id < p->insts.count && !r->oom && !vy_builder_failed(r->b); id++)
        id = copy(r, id);
    flush(r);
    if (!r->oom) return vy_pass_finish(r->b, p);
    vy_fail_oom(p->module);
    vy_program_abandon(r->b);
    return false;
}

static bool prepare(reduce *r)
{
    size_t size = r->p->insts.count * sizeof(uint32_t);
    r->sums = vy_arena_alloc(&r->arena, r->p->buffers.count);
    uint32_t **tables[] = {&r->out, &r->first, &r->last, &r->map, &r->term};
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
        if (!(*tables[k] = vy_arena_alloc(&r->arena, size))) return false;
    if (!r->sums || !vy_structure_make(r->p, &r->s)) return false;
    r->differs = vy_differences(r->p, &r->s, NULL, &r->arena);
    return r->differs != NULL;
}

bool vy_may_add_up(const vy_program *p, const vy_opt_options *o)
{
    if (!o || !o->subgroup_add) return false;
    if (p->workgroup[0] * p->workgroup[1] * p->workgroup[2] < 2) return false;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (p->insts.data[id].op == VY_OP_ATOMIC_ADD) return true;
    return false;
}

bool vy_pass_reduce(vy_program *p, vy_pass_context *c)
{
    if (!vy_may_add_up(p, c->options)) return true;
    reduce r = {.p = p, .options = c->options};
    bool ok = prepare(&r);
    if (ok) {
        vy_find_sums(p, r.sums);
        ok = choose(&r);
    }
    bool any = ok && r.count && vy_padding_ends(p, &r.s, r.differs, &r.arena, &r.oom);
    if (!ok || r.oom) vy_fail_oom(p->module);
    ok = ok && !r.oom && (!any || rebuild(&r, p));
    c->changed |= any;
    vy_vec_free(&r.lifts);
    vy_vec_free(&r.yields);
    vy_vec_free(&r.results);
    vy_structure_free(&r.s);
    vy_arena_free(&r.arena);
    return ok;
}
