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
// That all lanes take the same branch is proved from gl_SubgroupID and gl_NumSubgroups, from what a
// workgroup has in common, and from results of operations that all lanes have.  Other operations
// that not all of a workgroup reach stay as they are, and the checker refuses them (E0302).
#include "ir/build/rewrite.h"
#include "ir/check/uniform.h"
#include "ir/pass/pass.h"
#include "spirv/read/reading.h"

enum { MOST_ROUNDS = 64 }; // each takes one operation out of each arm

typedef struct arms {
    vy_rewrite w;
    const uint32_t *origin; // vy_differences
    uint8_t *same;          // by instruction: all lanes of a subgroup have the same value
    uint32_t *split;        // by IF: the first operation among lanes in one of its arms
} arms;

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
    switch ((vy_op)inst(x, id)->op) {
    case VY_OP_SG_ADD:
    case VY_OP_SG_MUL:
    case VY_OP_SG_MIN:
    case VY_OP_SG_MAX:
    case VY_OP_SG_AND:
    case VY_OP_SG_OR:
    case VY_OP_SG_XOR:
    case VY_OP_SG_ANY:
    case VY_OP_SG_ALL: return true;
    case VY_OP_SG_BROADCAST:
    case VY_OP_SG_SHUFFLE: return is_same(x, vy_arg(x->w.p, id, 1));
    default: return false;
    }
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
static bool find(arms *x)
{
    const vy_program *p = x->w.p;
    bool any = false;
    x->origin = vy_differences(p, &x->w.s, NULL, &x->w.arena);
    x->same = vy_rewrite_bytes(&x->w);
    x->split = vy_rewrite_ids(&x->w);
    if (!x->origin || !x->same || !x->split) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const uint32_t up = x->w.s.parent[id];
        x->same[id] = has_same(x, id);
        if (!vy_op_is_subgroup((vy_op)inst(x, id)->op) || inst(x, up)->op != VY_OP_IF) continue;
        if (!x->origin[up] || x->split[up] || !is_same(x, vy_arg(p, up, 0))) continue;
        x->split[up] = id;
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
    uint32_t opener, middle, end, at; // IF, ELSE, ENDIF; the operation
    bool then;                        // it is in the first arm
    uint32_t n, *passed, *ours, *zeros, *out;
} halves;

static uint32_t replace(void *pass, uint32_t id);

static bool prepare(arms *x, halves *h, uint32_t opener)
{
    const vy_structure *s = &x->w.s;
    *h = (halves){.opener = opener, .middle = s->partner[opener], .at = x->split[opener]};
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

// The arm as far as the operation, in an IF of its own.
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

// The rest of the arm, and the other one.
static void second_half(arms *x, halves *h, uint32_t condition)
{
    const vy_program *p = x->w.p;
    const uint32_t own = vy_slot_count(p, &x->w.s, h->opener);
    x->w.map[h->opener] = vy_builder_program(x->w.b)->insts.count; // of its marker, emitted next
    vy_begin_if(x->w.b, condition);
    vy_rewrite_range(&x->w, (h->then ? h->at : h->opener) + 1, h->middle, replace, x);
    for (uint32_t k = 0; k < own && !vy_rewrite_stopped(&x->w); k++)
        h->ours[k] = vy_new(&x->w, vy_slot_then(p, &x->w.s, h->opener, k));
    vy_begin_else(x->w.b, own, h->ours);
    vy_rewrite_range(&x->w, (h->then ? h->middle : h->at) + 1, h->end, replace, x);
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
    if (!vy_rewrite_stopped(&x->w)) vy_rewrite_copy(&x->w, h.at);
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
    bool again = has_subgroups(p), ok = true;
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
