// SPDX-License-Identifier: MIT
// subgroup_reduce.c: one atomic addition per subgroup where a whole workgroup adds to the same
// element.
//
//   over(i: N):                                   leader = lane == subgroup_min(lane)
//   for j in 0..D {                               for j in 0..D {
//     atomic_add(g[j], x[i, j])            →        s = subgroup_add(x[i, j])
//   }                                               if leader { atomic_add(g[j], s) }
//                                                 }
//   if x[i, 0] > 0 { atomic_add(g[0], v) }        if x[i, 0] > 0 { … } else { … } yields v or 0
//                                                 s = subgroup_add(…)
//                                                 if leader { if s != 0 { atomic_add(g[0], s) } }
//
// Atomic additions to one element are serialised on every device, and those by compare-exchange
// fail and retry; the gradient of a parameter consists of them.  A subgroup's sum takes a handful
// of instructions.
//
// Which additions.  The index is uniform in the workgroup, and so is the control flow to the
// addition; or that control flow includes a few divergent `if`s, whose arms yield the term, 0 in
// the other arm.  An `if` whose condition picks one invocation (`i == 0`) is left alone: there is
// no contention.  Every access to the buffer in the program must be an addition whose old value is
// unused: then it does not matter which invocation of the subgroup adds, nor when within the
// dispatch, and adjacent additions share one `if leader`.  An element to which no lane adds gets
// either no addition, or that of a sum that is 0, which changes at most −0 to 0.  Workgroups of one
// invocation have nothing to add up.
//
// The leader is the first lane inside the domain, whatever the order of lanes on the device:
// padding lanes take part in reductions as the identity, so it is `subgroup_min(lane)`.
//
// A program with subgroup operations runs its padding lanes, whose domain variables are those of
// the nearest invocation inside and whose loads give 0 (docs/language.md 3.3).  A loop controlled
// by such a 0 might never end there; so unless the program has padding lanes anyway, no loop may
// depend on what is loaded at a divergent index, or on built-ins other than the domain's.
//
// Runs only if options->subgroup_add: written SPIR-V uses no optional feature by default.  Needs
// valid structure; keeps lines and names.
#include "ir/pass/sums/subgroup_reduce.h"

#include "ir/facts/addition.h"
#include "ir/check/uniform.h"

enum {
    MAX_LIFT = 8,     // `if`s that a term is lifted out of
    MAX_PENDING = 16, // sums that wait for a shared `if leader`
};

typedef struct lift { // a term that an IF yields in addition to its own results
    uint32_t site;
    bool in_else;
    uint32_t next; // of the same IF; 1 + index
} lift;
VY_VEC_TYPE(lift_vec, lift);

typedef struct pending {
    uint32_t site, sum;
    bool sparse; // it may be that no lane added
} pending;

typedef struct reduce {
    vy_rewrite w;
    const vy_opt_options *options;
    const uint32_t *differs;
    uint8_t *sums;   // by memory: accessed only by additions whose old values are unused
    uint32_t *out;   // by site: outermost divergent IF, the site itself if none, 0: not chosen
    uint32_t *first; // by IF: 1 + its first lift
    uint32_t *last;
    lift_vec lifts;
    uint32_t *term; // by site: its value in the program being built
    vy_value leader;
    pending waiting[MAX_PENDING];
    uint32_t waits, count;
    vy_id_vec yields, results;
} reduce;

static bool differs(const reduce *r, uint32_t id)
{
    return VY_IS_LEAF(id) ? vy_leaf_differs(r->w.p, id) : r->differs[id] != 0;
}

// --------------------------------------------------------------------------------------- choosing
uint8_t *vy_find_sums(const vy_program *p, const vy_structure *s, vy_arena *arena)
{
    vy_addition_facts a;
    uint8_t *sums = vy_arena_alloc(arena, p->buffers.count);
    if (!sums || !vy_addition_facts_make(&a, p, s, arena)) return NULL;
    for (uint32_t m = 1; m < p->buffers.count; m++) {
        vy_buffer_class cls = p->buffers.data[m].cls;
        sums[m] = (cls == VY_OUT || cls == VY_INOUT) && vy_only_added_ever(&a, m);
    }
    return sums;
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

// `==` on a domain variable or a built-in: one invocation, or the leader of an earlier run of this
// pass.
static bool picks_one(const reduce *r, uint32_t condition)
{
    if (VY_IS_LEAF(condition) || r->w.p->insts.data[condition].op != VY_OP_EQ) return false;
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t v = vy_arg(r->w.p, condition, k);
        if (VY_IS_LEAF(v) && differs(r, v)) return true;
    }
    return false;
}

// The outermost divergent construct around `site`, if terms can be lifted out of it, else 0; the
// site itself if there is none.
static uint32_t way_out(const reduce *r, uint32_t site)
{
    uint32_t out = site, at = 0, steps = 0;
    for (uint32_t c = r->w.s.parent[site]; c; c = r->w.s.parent[c]) {
        steps++;
        if (!r->differs[c]) continue;
        out = c;
        at = steps;
    }
    if (at > MAX_LIFT) return 0;
    for (uint32_t c = site; c != out;) {
        c = r->w.s.parent[c];
        if (r->w.p->insts.data[c].op != VY_OP_IF || picks_one(r, vy_arg(r->w.p, c, 0))) return 0;
    }
    return out;
}

static bool has_uniform_index(const reduce *r, uint32_t site, uint32_t out)
{
    const vy_inst *i = &r->w.p->insts.data[site];
    for (uint32_t k = 0; k + 1 < i->nargs; k++) {
        uint32_t index = vy_arg(r->w.p, site, k);
        if (differs(r, index) || (!VY_IS_LEAF(index) && index > out)) return false;
    }
    return true;
}

static bool lift_out(reduce *r, uint32_t site)
{
    for (uint32_t c = site; c != r->out[site];) {
        uint32_t parent = r->w.s.parent[c];
        lift l = {.site = site, .in_else = !vy_in_then(&r->w.s, parent, site)};
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

static bool choose_additions(reduce *r)
{
    for (uint32_t id = 1; id < r->w.p->insts.count; id++) {
        const vy_inst *i = &r->w.p->insts.data[id];
        if (i->op != VY_OP_ATOMIC_ADD || !r->sums[vy_memory_of(r->w.p, i->aux)]) continue;
        if (!vy_subgroup_adds(r->options, r->w.p->buffers.data[i->aux].type)) continue;
        uint32_t out = way_out(r, id);
        if (!out || !has_uniform_index(r, id, out)) continue;
        r->out[id] = out;
        r->count++;
        if (!lift_out(r, id)) return false;
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
    vy_value lane = vy_builtin_value(r->w.b, VY_LANE, 0), first = vy_zero(r->w.b, VY_U32);
    if (r->w.p->overs.count) first = vy_subgroup(r->w.b, "min", lane);
    r->leader = vy_eq(r->w.b, lane, first);
    vy_name(r->w.b, r->leader, "leader");
}

// Does every sum that waits stand outside control flow, and are they summed over the workgroup?
static bool are_of_workgroup(const reduce *r)
{
    bool all = r->options->workgroup_sums;
    for (uint32_t k = 0; k < r->waits; k++) {
        const uint32_t site = r->waiting[k].site;
        all = all && !r->w.s.parent[r->out[site]] &&
              vy_group_adds(r->w.p, (vy_type)r->w.p->insts.data[site].type);
    }
    return all;
}

// The sums that wait become those of the workgroup, to be added by the invocation that is returned.
static vy_value add_up_workgroup(reduce *r)
{
    vy_group_sum sums[MAX_PENDING];
    for (uint32_t k = 0; k < r->waits; k++) {
        const vy_inst *i = &r->w.p->insts.data[r->waiting[k].site];
        sums[k] =
            (vy_group_sum){.sum = {r->waiting[k].sum}, .of = r->w.p->buffers.data[i->aux].name};
    }
    vy_group_add_up(r->w.b, r->leader, sums, r->waits);
    for (uint32_t k = 0; k < r->waits; k++) {
        const vy_value zero = vy_zero(r->w.b, VY_U32);
        r->waiting[k].sum = vy_load(r->w.b, sums[k].part, &zero).id;
    }
    const vy_value zero = vy_zero(r->w.b, VY_U32);
    return vy_eq(r->w.b, vy_builtin_value(r->w.b, VY_LINDEX, 0), zero);
}

static void add_one(reduce *r, const pending *w)
{
    const vy_inst *i = &r->w.p->insts.data[w->site];
    uint32_t args[VY_MAX_RANK + 1];
    vy_new_args(&r->w, w->site, i->nargs - 1, args);
    args[i->nargs - 1] = w->sum;
    vy_rewrite_at(&r->w, w->site);
    if (w->sparse) {
        vy_value sum = {w->sum};
        vy_begin_if(r->w.b, vy_ne(r->w.b, sum, vy_zero(r->w.b, (vy_type)i->type)).id);
    }
    uint32_t id = vy_emit(r->w.b, VY_OP_ATOMIC_ADD, (vy_type)i->type, i->aux, i->nargs, args);
    vy_emit_flags(r->w.b, id, i->flags); // they hold: a lane of the subgroup used this very index
    if (w->sparse) vy_end_plain_if(r->w.b);
}

static void flush(reduce *r)
{
    if (!r->waits) return;
    vy_rewrite_at(&r->w, r->waiting[0].site);
    const vy_value adder = are_of_workgroup(r) ? add_up_workgroup(r) : r->leader;
    vy_begin_if(r->w.b, adder.id);
    for (uint32_t k = 0; k < r->waits; k++) add_one(r, &r->waiting[k]);
    vy_end_plain_if(r->w.b);
    r->waits = 0;
}

static void add_up(reduce *r, uint32_t site)
{
    if (r->waits == MAX_PENDING) flush(r);
    vy_rewrite_at(&r->w, site);
    vy_value sum = vy_subgroup(r->w.b, "add", (vy_value){r->term[site]});
    r->waiting[r->waits++] = (pending){site, sum.id, r->out[site] != site};
}

// The mapped yields of the arm that ends with `marker`, followed by the terms of IF `opener`.
static bool gather(reduce *r, uint32_t opener, uint32_t marker, bool in_else)
{
    r->yields.count = 0;
    for (uint32_t k = 0; k < r->w.p->insts.data[marker].nargs; k++)
        if (!vy_vec_push(&r->yields, vy_new_arg(&r->w, marker, k))) return false;
    for (uint32_t n = r->first[opener]; n; n = r->lifts.data[n - 1].next) {
        const lift *l = &r->lifts.data[n - 1];
        uint32_t zero = vy_zero(r->w.b, (vy_type)r->w.p->insts.data[l->site].type).id;
        if (!vy_vec_push(&r->yields, l->in_else == in_else ? r->term[l->site] : zero)) return false;
    }
    r->results.count = 0;
    return vy_vec_reserve(&r->results, r->yields.count + 1);
}

// Closes an IF that yields terms.  Returns its last RESULT, which is done too.
static uint32_t close_if(reduce *r, uint32_t opener, uint32_t end)
{
    uint32_t own = r->w.p->insts.data[end].nargs, at = own;
    vy_rewrite_at(&r->w, end);
    vy_end_if(r->w.b, r->yields.count, r->yields.data, r->results.data);
    if (vy_builder_failed(r->w.b)) return end + own;
    vy_rewrite_slots(&r->w, end, own, r->results.data);
    for (uint32_t n = r->first[opener]; n; n = r->lifts.data[n - 1].next) {
        uint32_t site = r->lifts.data[n - 1].site;
        r->term[site] = r->results.data[at++];
        if (r->out[site] == opener) add_up(r, site);
    }
    return end + own;
}

static uint32_t instead(void *pass, uint32_t id)
{
    reduce *r = pass;
    const vy_program *p = r->w.p;
    vy_op op = (vy_op)p->insts.data[id].op;
    if (!vy_is_slot(op) && vy_is_marker(op)) flush(r);
    if (r->out[id]) {
        r->term[id] = vy_new_arg(&r->w, id, p->insts.data[id].nargs - 1);
        if (r->out[id] == id) add_up(r, id);
        return id;
    }
    uint32_t opener = op == VY_OP_ENDIF || op == VY_OP_ELSE ? vy_opener(p, &r->w.s, id) : 0;
    if (!opener || !r->first[opener]) return 0;
    r->w.oom |= !gather(r, opener, id, op == VY_OP_ENDIF);
    if (r->w.oom) return id;
    if (op == VY_OP_ENDIF) return close_if(r, opener, id);
    vy_begin_else(r->w.b, r->yields.count, r->yields.data);
    return id;
}

static void rebuild(reduce *r)
{
    if (!vy_rewrite_open(&r->w)) return;
    find_leader(r);
    vy_rewrite_range(&r->w, 1, r->w.p->insts.count, instead, r);
    if (!vy_rewrite_stopped(&r->w)) flush(r);
}

static bool prepare_reduction(reduce *r)
{
    r->sums = vy_find_sums(r->w.p, &r->w.s, &r->w.arena);
    r->w.oom |= !r->sums;
    uint32_t **tables[] = {&r->out, &r->first, &r->last, &r->term};
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) *tables[k] = vy_rewrite_ids(&r->w);
    r->differs = r->w.oom ? NULL : vy_differences(r->w.p, &r->w.s, NULL, &r->w.arena);
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

bool vy_pass_subgroup_reduce(vy_program *p, vy_pass_context *c)
{
    if (!vy_may_add_up(p, c->options)) return true;
    reduce r = {.options = c->options};
    bool ok = vy_rewrite_begin(&r.w, p) && prepare_reduction(&r);
    ok = ok && choose_additions(&r);
    if (ok && r.count && vy_padding_ends(p, &r.w.s, r.differs, &r.w.arena, &r.w.oom)) rebuild(&r);
    vy_vec_free(&r.lifts);
    vy_vec_free(&r.yields);
    vy_vec_free(&r.results);
    return vy_rewrite_end(&r.w, ok, &c->changed);
}
