// SPDX-License-Identifier: MIT
// subgroup_arms.c: operations among lanes in an arm that entire subgroups take or leave.
//
//   if (gl_SubgroupID == 0) { x = s[lane]; v = subgroupAdd(x); total = v; }
//                                         →
//   if (gl_SubgroupID == 0) { x = s[lane]; } else { x = 0; }
//   v = subgroupAdd(x);
//   if (gl_SubgroupID == 0) { total = v; }
//
// Our operations among lanes are executed by a workgroup at once, in emission, in the interpreter
// and in what differentiation makes.  A subgroup all of whose lanes take the arm computes the same
// from this as before, and of one that does not, whose operands are zeros, nothing uses the result.
//
// A counted loop with such operations in it is taken out in the same way, where its trip count is
// that of all the workgroup, and the arm continues in its body:
//
//   if (gl_SubgroupID == 0) for (k = 0; k < n; k++) v += subgroupAdd(v);
//                                         →
//   for (k = 0; k < n; k++) if (gl_SubgroupID == 0) v += subgroupAdd(v);
//
// That all lanes take the same branch is proved from gl_SubgroupID and gl_NumSubgroups, from what a
// workgroup has in common, and from results of operations that all lanes have.  Other operations
// that not all of a workgroup reach stay as they are, and the checker refuses them (E0302).
#include "ir/build/rewrite.h"
#include "ir/check/uniform.h"
#include "ir/pass/pass.h"
#include "spirv/read/reading.h"

enum { DEEPEST = 8, MOST_ROUNDS = 64 }; // a round takes one operation or loop out of each arm

typedef struct arms {
    vy_rewrite w;
    const uint32_t *origin; // vy_differences
    uint8_t *same;          // by instruction: all lanes of a subgroup have the same value
    uint8_t *apart;         // by construct: not all of a workgroup execute its arms or body
    uint32_t *split;        // by IF: the first operation among lanes, or loop of some, in an arm
} arms;

typedef struct steady {
    uint32_t opener, at, carry; // an IF; 0, or a loop in an arm of it, and a value that it carries
} steady;

static const vy_inst *inst(const arms *x, uint32_t id) { return &x->w.p->insts.data[id]; }

// ------------------------------------------------------------------------------- what is the same
static bool is_builtin(const arms *x, uint32_t id, vy_builtin which)
{
    const vy_leaf *l = VY_IS_LEAF(id) ? &x->w.p->leaves.data[VY_LEAF_INDEX(id)] : NULL;
    return l && l->kind == VY_LEAF_BUILTIN && l->index == (uint32_t)which;
}

static bool is_same(const arms *x, uint32_t id)
{
    return VY_IS_LEAF(id) ? !vy_leaf_differs(x->w.p, id) : x->same[id];
}

static bool all_same(const arms *x, uint32_t id)
{
    for (uint32_t k = 0; k < inst(x, id)->nargs; k++)
        if (!is_same(x, vy_arg(x->w.p, id, k))) return false;
    return true;
}

// Has every lane the result?
static bool is_for_all(const arms *x, uint32_t id)
{
    const vy_op op = (vy_op)inst(x, id)->op;
    if (vy_op_is_reduction(op)) return true;
    const bool chosen = op == VY_OP_SG_BROADCAST || op == VY_OP_SG_SHUFFLE;
    return chosen && is_same(x, vy_arg(x->w.p, id, 1));
}

// Of an IF that entire subgroups branch at alike: either yield.
static bool result_is_same(const arms *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    const uint32_t opener = vy_opener(p, &x->w.s, vy_arg(p, id, 0)), k = inst(x, id)->aux;
    return inst(x, opener)->op == VY_OP_IF && is_same(x, vy_arg(p, opener, 0)) &&
           is_same(x, vy_slot_then(p, &x->w.s, opener, k)) &&
           is_same(x, vy_slot_yield(p, &x->w.s, opener, k));
}

static bool has_same(const arms *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    const vy_op op = (vy_op)inst(x, id)->op;
    if (!x->origin[id]) return true;
    if (vy_op_is_subgroup(op)) return is_for_all(x, id);
    if (op == VY_OP_RESULT) return result_is_same(x, id);
    if (op == VY_OP_LOAD) return p->buffers.data[inst(x, id)->aux].cls == VY_IN && all_same(x, id);
    if (op == VY_OP_DIV && is_builtin(x, vy_arg(p, id, 0), VY_LINDEX) &&
        is_builtin(x, vy_arg(p, id, 1), VY_SUBGROUP_SIZE))
        return true;
    return vy_op_infos[op].effect == VY_PURE && !vy_is_marker(op) && all_same(x, id);
}

// --------------------------------------------------------------------------------- what is split
// The outermost loop around an operation within its arm, or the operation.
static uint32_t in_arm(const arms *x, uint32_t id)
{
    while (inst(x, x->w.s.parent[id])->op == VY_OP_LOOP) id = x->w.s.parent[id];
    return id;
}

// Is `id` computed from what all of a workgroup have ahead of the IF `opener`, from the counter of
// the loop `at` in an arm of it, and from a value that the loop carries?
static bool is_steady(const arms *x, const steady *s, uint32_t id, uint32_t depth)
{
    const vy_program *p = x->w.p;
    if (VY_IS_LEAF(id)) return !vy_leaf_differs(p, id);
    if (id < s->opener) return !x->origin[id];
    if (id == s->carry || id == s->at) return true;
    const vy_inst *i = inst(x, id);
    if (depth == DEEPEST || vy_op_infos[i->op].effect != VY_PURE || i->nargs > 3) return false;
    for (uint32_t k = 0; k < i->nargs; k++)
        if (!is_steady(x, s, vy_arg(p, id, k), depth + 1)) return false;
    return true;
}

// Then: the same outside of the arm.
static uint32_t emit_steady(arms *x, const steady *s, uint32_t id)
{
    uint32_t args[3];
    if (VY_IS_LEAF(id) || id < s->opener || id == s->at || id == s->carry) return vy_new(&x->w, id);
    const vy_inst *i = inst(x, id);
    for (uint32_t k = 0; k < i->nargs; k++) args[k] = emit_steady(x, s, vy_arg(x->w.p, id, k));
    return vy_emit(x->w.b, (vy_op)i->op, (vy_type)i->type, i->aux, i->nargs, args);
}

// Could all of the workgroup run this as often as those that take the arm of `opener` do?
static bool runs_outside(const arms *x, uint32_t id, uint32_t opener)
{
    const steady s = {.opener = opener};
    if (inst(x, id)->op != VY_OP_LOOP) return true;
    for (uint32_t k = 0; k < vy_control_args(x->w.p, &x->w.s, id); k++)
        if (!is_steady(x, &s, vy_arg(x->w.p, id, k), 0)) return false;
    return !vy_exits(x->w.p, id);
}

static bool find(arms *x)
{
    const vy_program *p = x->w.p;
    bool any = false;
    x->origin = vy_differences(p, &x->w.s, NULL, &x->w.arena);
    x->same = vy_rewrite_bytes(&x->w);
    x->apart = vy_rewrite_bytes(&x->w);
    x->split = vy_rewrite_ids(&x->w);
    if (!x->origin || !x->same || !x->apart || !x->split) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        x->same[id] = has_same(x, id);
        x->apart[id] = x->origin[id] || x->apart[x->w.s.parent[id]];
        if (!vy_op_is_subgroup((vy_op)inst(x, id)->op)) continue;
        const uint32_t at = in_arm(x, id), up = x->w.s.parent[at];
        if (inst(x, up)->op != VY_OP_IF || !runs_outside(x, at, up)) continue;
        if (!x->apart[up] || x->split[up] || !is_same(x, vy_arg(p, up, 0))) continue;
        x->split[up] = at;
        any = true;
    }
    return any;
}

// The values of the arm that are computed from `first` on before `at`, and used from there to
// `last`, into ids[]; returns how many.
static uint32_t find_passed(arms *x, uint32_t first, uint32_t at, uint32_t last, uint32_t *ids)
{
    const vy_program *p = x->w.p;
    uint8_t *used = vy_rewrite_bytes(&x->w);
    uint32_t count = 0;
    for (uint32_t id = at; used && id <= last; id++)
        for (uint32_t k = 0; k < inst(x, id)->nargs; k++) {
            const uint32_t a = vy_arg(p, id, k);
            if (VY_IS_LEAF(a) || a < first || a >= at || used[a]) continue;
            used[a] = 1;
            ids[count++] = a;
        }
    return count;
}

// ------------------------------------------------------------------------------------- rewriting
typedef struct halves {
    uint32_t opener, middle, end; // IF, ELSE, ENDIF
    uint32_t at, last;            // the operation or loop: its first instruction and its last
    bool then;                    // it is in the first arm
    uint32_t n, *passed, *ours, *zeros, *out;
} halves;

static uint32_t replace(void *pass, uint32_t id);

static bool prepare(arms *x, halves *h, uint32_t opener)
{
    const vy_structure *s = &x->w.s;
    *h = (halves){.opener = opener, .middle = s->partner[opener], .at = x->split[opener]};
    h->last = inst(x, h->at)->op == VY_OP_LOOP ? vy_last_result(x->w.p, s, h->at) : h->at;
    h->end = s->partner[h->middle];
    h->then = h->at < h->middle;
    const uint32_t own = vy_slot_count(x->w.p, s, opener);
    const size_t room = (h->end - h->opener + own) * sizeof(uint32_t);
    h->passed = vy_rewrite_table(&x->w, room);
    h->ours = vy_rewrite_table(&x->w, room);
    h->zeros = vy_rewrite_table(&x->w, room);
    h->out = vy_rewrite_table(&x->w, room);
    if (x->w.oom) return false;
    const uint32_t first = h->then ? opener : h->middle;
    h->n = find_passed(x, first + 1, h->at, h->then ? h->middle : h->end, h->passed);
    for (uint32_t k = 0; k < h->n; k++)
        h->zeros[k] = vy_leaf_const(x->w.b, vy_id_type(x->w.p, h->passed[k]), (vy_scalar){0});
    return !x->w.oom;
}

// The arm as far as what is taken out, in an IF of its own.
static void first_half(arms *x, halves *h, uint32_t condition)
{
    vy_builder *b = x->w.b;
    vy_begin_if(b, condition);
    if (!h->then) vy_begin_else(b, h->n, h->zeros);
    vy_rewrite_range(&x->w, (h->then ? h->opener : h->middle) + 1, h->at, replace, x);
    if (vy_rewrite_stopped(&x->w)) return;
    for (uint32_t k = 0; k < h->n; k++) h->ours[k] = vy_new(&x->w, h->passed[k]);
    if (h->then) vy_begin_else(b, h->n, h->ours);
    vy_end_if(b, h->n, h->then ? h->zeros : h->ours, h->out);
    for (uint32_t k = 0; k < h->n; k++) x->w.map[h->passed[k]] = h->out[k];
}

// What the loop carries on where the arm is not taken: strides as where it is, so that they remain
// alike in all of the workgroup, and other values as they were.
static void carry_on(arms *x, const halves *h, const vy_remade *l, uint32_t *others)
{
    const vy_program *p = x->w.p;
    for (uint32_t k = 0; k < l->own && !vy_rewrite_stopped(&x->w); k++) {
        const uint32_t next = vy_slot_next(p, &x->w.s, h->at, k);
        const steady s = {h->opener, h->at, vy_carry(h->at, k)};
        const bool is = is_steady(x, &s, vy_slot_init(p, h->at, k), 0) && is_steady(x, &s, next, 0);
        others[k] = is ? emit_steady(x, &s, next) : l->out[k];
    }
}

// The numbers that all run it by, and those that strides begin with.
static void begin_loop(arms *x, const halves *h, vy_remade *l)
{
    const vy_program *p = x->w.p;
    const steady s = {.opener = h->opener};
    for (uint32_t k = 0; k < inst(x, h->at)->nargs && !vy_rewrite_stopped(&x->w); k++) {
        const uint32_t id = vy_arg(p, h->at, k);
        if (!VY_IS_LEAF(id) && is_steady(x, &s, id, 0)) x->w.map[id] = emit_steady(x, &s, id);
    }
    if (!vy_rewrite_stopped(&x->w) && vy_remake(&x->w, l, h->at, 0)) vy_remake_begin(&x->w, l);
}

// The loop, with the arm in its body.
static void take_loop(arms *x, const halves *h, uint32_t condition)
{
    vy_remade l = {0};
    begin_loop(x, h, &l);
    uint32_t *others = vy_rewrite_table(&x->w, (l.own + 1) * sizeof *others);
    if (vy_rewrite_stopped(&x->w)) return;
    carry_on(x, h, &l, others);
    vy_begin_if(x->w.b, condition);
    if (!h->then) vy_begin_else(x->w.b, l.own, others);
    vy_remake_body(&x->w, &l, replace, x);
    vy_remake_next(&x->w, &l);
    if (vy_rewrite_stopped(&x->w)) return;
    if (h->then) vy_begin_else(x->w.b, l.own, l.in);
    vy_end_if(x->w.b, l.own, h->then ? others : l.in, l.out);
    for (uint32_t k = 0; k < l.own; k++) l.in[k] = l.out[k];
    vy_remake_end(&x->w, &l);
}

static void take_out(arms *x, const halves *h, uint32_t condition)
{
    if (vy_rewrite_stopped(&x->w)) return;
    if (inst(x, h->at)->op == VY_OP_LOOP)
        take_loop(x, h, condition);
    else
        vy_rewrite_copy(&x->w, h->at);
}

// The rest of the arm, and the other one.
static void second_half(arms *x, halves *h, uint32_t condition)
{
    const vy_program *p = x->w.p;
    const uint32_t own = vy_slot_count(p, &x->w.s, h->opener);
    x->w.map[h->opener] = vy_builder_program(x->w.b)->insts.count; // of its marker, emitted next
    vy_begin_if(x->w.b, condition);
    vy_rewrite_range(&x->w, (h->then ? h->last : h->opener) + 1, h->middle, replace, x);
    for (uint32_t k = 0; k < own && !vy_rewrite_stopped(&x->w); k++)
        h->ours[k] = vy_new(&x->w, vy_slot_then(p, &x->w.s, h->opener, k));
    vy_begin_else(x->w.b, own, h->ours);
    vy_rewrite_range(&x->w, (h->then ? h->middle : h->last) + 1, h->end, replace, x);
    for (uint32_t k = 0; k < own && !vy_rewrite_stopped(&x->w); k++)
        h->ours[k] = vy_new(&x->w, vy_slot_yield(p, &x->w.s, h->opener, k));
    if (vy_rewrite_stopped(&x->w)) return;
    vy_end_if(x->w.b, own, h->ours, h->out);
    vy_rewrite_slots(&x->w, h->end, own, h->out);
}

static uint32_t replace(void *pass, uint32_t id)
{
    arms *x = pass;
    halves h;
    if (!x->split[id] || !prepare(x, &h, id)) return 0;
    const uint32_t condition = vy_new_arg(&x->w, id, 0);
    vy_rewrite_at(&x->w, id);
    first_half(x, &h, condition);
    take_out(x, &h, condition);
    if (!vy_rewrite_stopped(&x->w)) second_half(x, &h, condition);
    return h.end + vy_slot_count(x->w.p, &x->w.s, id);
}

static bool has_subgroups(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (vy_op_is_subgroup((vy_op)p->insts.data[id].op)) return true;
    return false;
}

bool read_subgroup_arms(vy_program *p)
{
    vy_pass_context counted = {0};
    bool again = has_subgroups(p), ok = !again || vy_pass_constant_trips(p, &counted);
    for (uint32_t k = 0; k < MOST_ROUNDS && again && ok; k++) {
        arms x = {0};
        vy_pass_context c = {0};
        ok = vy_rewrite_begin(&x.w, p);
        again = ok && find(&x);
        if (again) vy_rewrite_run(&x.w, replace, &x);
        ok = vy_rewrite_end(&x.w, ok && !x.w.oom, &c.changed);
    }
    return ok;
}
