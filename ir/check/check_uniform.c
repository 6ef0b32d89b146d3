// SPDX-License-Identifier: MIT
// check_uniform.c: barriers and subgroup operations must be reached by an entire workgroup at once.
//
// Which values are the same in all invocations of a workgroup?  Walking the code once is wrong for
// loops, where a carried value is uniform only if its next value is, and walking until nothing
// changes is quadratic.  So everything starts out uniform and *difference* is propagated from its
// sources along the uses, each edge once:
//
//   sources   over-variables, gid, lid, lindex, lane; loads of memory that is not `in`, nor shared
//             and left alone between two barriers (quiet.h); old values of atomics; subgroup
//             results
//   edges     operand → value;  init, next → carry → result;  yield → result
//             condition, bound, keep → construct → its results
//
// Everything inside a construct that differs is reached by some invocations only.  The rules are
// those of WGSL's uniformity analysis, with `in` buffers as read-only storage.  Needs valid code;
// changes nothing.
//
// vy_differences is the same analysis for passes, vy_differences_along that between invocations
// that differ in one axis of a launch.
#include "ir/check/check.h"
#include "ir/check/quiet.h"
#include "ir/check/uniform.h"
#include "ir/core/dataflow.h"

#include <stdio.h>

typedef struct spread {
    const vy_program *p;
    const vy_structure *s;
    vy_dataflow flow;
    uint32_t *origin; // by instruction: 0 uniform, else the source (leaf or instruction) to blame
    const uint32_t *all;  // NULL, or the origins by all sources, if domain variables are to be none
    const uint8_t *loads; // NULL, or by buffer: loads are a source, and others that of this axis
    uint8_t *quiet;       // NULL, or by instruction: a load that is no source
    uint32_t axis;
} spread;

bool vy_leaf_differs(const vy_program *p, uint32_t id)
{
    const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(id)];
    if (l->kind == VY_LEAF_OVER) return true;
    return l->kind == VY_LEAF_BUILTIN && l->index != VY_WID && l->index != VY_NUM_GROUPS &&
           l->index != VY_SUBGROUP_SIZE;
}

// The last domain variable is along x, the one before along y, all others along z.
static uint32_t axis_of(const vy_program *p, uint32_t over)
{
    const uint32_t axis = p->overs.count - 1 - over;
    return axis < 2 ? axis : 2;
}

bool vy_leaf_along(const vy_program *p, uint32_t id, uint32_t axis)
{
    const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(id)];
    if (l->kind == VY_LEAF_OVER) return axis_of(p, l->index) == axis;
    if (l->kind != VY_LEAF_BUILTIN) return false;
    switch ((vy_builtin)l->index) {
    case VY_GID: return l->axis == axis % 3;
    case VY_LID: return l->axis == axis;
    case VY_WID: return l->axis + 3 == axis;
    case VY_LINDEX:
    case VY_LANE: return axis < 3;
    default: return false;
    }
}

bool vy_has_lone_axis(const vy_program *p, uint32_t id, uint32_t *axis)
{
    const vy_leaf *l = VY_IS_LEAF(id) ? &p->leaves.data[VY_LEAF_INDEX(id)] : NULL;
    if (!l || l->kind != VY_LEAF_OVER) return false;
    *axis = p->overs.count - 1 - l->index;
    const bool alone = *axis < 2 || (*axis == 2 && p->overs.count == 3);
    return alone && p->workgroup[*axis] > 1;
}

static bool leaf_is_source(const spread *d, uint32_t id)
{
    if (d->loads) return vy_leaf_along(d->p, id, d->axis);
    if (!vy_leaf_differs(d->p, id)) return false;
    return !d->all || d->p->leaves.data[VY_LEAF_INDEX(id)].kind != VY_LEAF_OVER;
}

static bool inst_is_source(const spread *d, uint32_t id)
{
    const vy_inst *i = &d->p->insts.data[id];
    vy_op op = (vy_op)i->op;
    if (op == VY_OP_LOAD && d->loads) return d->loads[i->aux];
    if (op == VY_OP_LOAD && d->all) return d->all[id];
    if (op == VY_OP_LOAD)
        return d->p->buffers.data[i->aux].cls != VY_IN && !(d->quiet && d->quiet[id]);
    return vy_op_is_atomic(op) || vy_op_is_subgroup(op);
}

static void differ(spread *d, uint32_t id, uint32_t origin)
{
    if (d->origin[id]) return;
    d->origin[id] = origin;
    vy_dataflow_push(&d->flow, id);
}

// The invocations branch differently at the construct, so it differs, and its results do.
static void differ_results(spread *d, uint32_t opener, uint32_t origin)
{
    uint32_t end = vy_closer(d->p, d->s, opener);
    uint32_t n = vy_slot_count(d->p, d->s, opener);
    differ(d, opener, origin);
    for (uint32_t k = 0; k < n; k++) differ(d, end + 1 + k, origin);
}

// Operand k of a marker is a leaf that differs: it controls the construct, or a slot may take it.
static void follow_marker(spread *d, uint32_t marker, uint32_t k, uint32_t origin)
{
    const vy_program *p = d->p;
    uint32_t opener = vy_opener(p, d->s, marker), skip = vy_control_args(p, d->s, marker);
    bool loop = vy_is_loop((vy_op)p->insts.data[opener].op);
    if (k < skip) {
        differ_results(d, opener, origin);
        return;
    }
    if (loop) differ(d, vy_carry(opener, k - skip), origin);
    if (marker != opener) differ(d, vy_result(p, d->s, opener, k - skip), origin);
}

// Operand k of `user` is a leaf that differs.
static void follow(spread *d, uint32_t user, uint32_t k, uint32_t origin)
{
    vy_op op = (vy_op)d->p->insts.data[user].op;
    if (!vy_is_marker(op))
        differ(d, user, origin);
    else if (!vy_is_slot(op)) // the operand of a slot is its marker
        follow_marker(d, user, k, origin);
}

static bool prepare_spread(spread *d, vy_arena *arena)
{
    d->origin = vy_arena_alloc(arena, d->p->insts.count * sizeof *d->origin);
    if (!d->loads && !d->all && !vy_find_quiet(d->p, d->s, arena, &d->quiet)) return false;
    return d->origin && vy_dataflow_make(&d->flow, d->p, d->s, arena);
}

static void follow_users(spread *d, uint32_t id)
{
    const vy_program *p = d->p;
    for (uint32_t k = d->flow.first_user[id]; k < d->flow.first_user[id + 1]; k++) {
        uint32_t user = d->flow.users[k];
        if (vy_op_opens((vy_op)p->insts.data[user].op))
            differ_results(d, user, d->origin[id]);
        else
            differ(d, user, d->origin[id]);
    }
}

static void drain(spread *d)
{
    const vy_program *p = d->p;
    for (uint32_t id; (id = vy_dataflow_pop(&d->flow));) {
        const vy_inst *i = &p->insts.data[id];
        follow_users(d, id);
        if (i->op != VY_OP_CARRY) continue;
        // A loop's result may be its carry as it is.
        differ(d, vy_result(p, d->s, vy_arg(p, id, 0), i->aux), d->origin[id]);
    }
}

static void propagate(spread *d)
{
    const vy_program *p = d->p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (inst_is_source(d, id)) differ(d, id, id);
        for (uint32_t k = 0; k < i->nargs; k++) {
            uint32_t v = vy_arg(p, id, k);
            if (VY_IS_LEAF(v) && leaf_is_source(d, v)) follow(d, id, k, v);
        }
        drain(d);
    }
}

const uint32_t *vy_differences(const vy_program *p, const vy_structure *s, const uint32_t *all,
                               vy_arena *arena)
{
    spread d = {.p = p, .s = s, .all = all};
    if (!prepare_spread(&d, arena)) return NULL;
    propagate(&d);
    return d.origin;
}

const uint32_t *vy_differences_along(const vy_program *p, const vy_structure *s, uint32_t axis,
                                     const uint8_t *loads, vy_arena *arena)
{
    spread d = {.p = p, .s = s, .axis = axis, .loads = loads};
    if (!prepare_spread(&d, arena)) return NULL;
    propagate(&d);
    return d.origin;
}

bool vy_differences_by_axis(const vy_program *p, const vy_structure *s, vy_arena *arena,
                            const uint32_t *along[3])
{
    uint8_t *loads = vy_arena_alloc(arena, p->buffers.count + 1u);
    for (uint32_t k = 1; loads && k < p->buffers.count; k++)
        loads[k] = p->buffers.data[k].cls != VY_IN;
    bool ok = loads != NULL;
    for (uint32_t axis = 0; ok && axis < 3; axis++)
        ok = (along[axis] = vy_differences_along(p, s, axis, loads, arena)) != NULL;
    return ok;
}

static const char *describe(const vy_program *p, uint32_t id, const char **name)
{
    static const char *const builtins[] = {"gid",    "lid",  "wid",          "num_groups",
                                           "lindex", "lane", "subgroup_size"};
    if (VY_IS_LEAF(id)) {
        const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(id)];
        *name = l->kind == VY_LEAF_OVER ? p->overs.data[l->index].name : builtins[l->index];
        return "";
    }
    const vy_inst *i = &p->insts.data[id];
    if (vy_op_is_memory((vy_op)i->op)) {
        *name = p->buffers.data[i->aux].name;
        return "what is read from ";
    }
    *name = vy_op_infos[i->op].text;
    return "the result of ";
}

static bool report(const spread *d, uint32_t id, uint32_t construct)
{
    const vy_program *p = d->p;
    const vy_inst *i = &p->insts.data[id], *c = &p->insts.data[construct];
    const char *name, *what = describe(p, d->origin[construct], &name);
    char text[120], line[128] = "", act[96];
    if (c->line)
        snprintf(line, sizeof line, " of %s", vy_line_text(p->module, c->line, i->line, text));
    if (i->op == VY_OP_ZERO)
        snprintf(act, sizeof act, "clearing `%.60s`", p->buffers.data[i->aux].name);
    else
        snprintf(act, sizeof act, "%s()", vy_op_infos[i->op].text);
    vy_fail(p->module, VY_E_NONUNIFORM, i->line, i->column, NULL,
            "%s is not reached by all invocations of a workgroup: the `%s`%s depends on %s`%s`",
            act, vy_op_infos[c->op].text, line, what, name);
    return false;
}

// Refuses instructions that the entire workgroup must reach inside constructs that differ.
// reached[id], by opening marker: the outermost such construct, itself included, or 0.
static bool check_places(const spread *d, uint32_t *reached)
{
    const vy_program *p = d->p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        vy_op op = (vy_op)p->insts.data[id].op;
        uint32_t parent = d->s->parent[id];
        uint32_t construct = parent ? reached[parent] : 0;
        if (vy_op_opens(op)) reached[id] = construct ? construct : d->origin[id] ? id : 0;
        bool whole = op == VY_OP_BARRIER || vy_op_is_subgroup(op) || vy_clears_shared(p, id);
        if (whole && construct) return report(d, id, construct);
    }
    return true;
}

static bool has_convergent(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (vy_op_infos[p->insts.data[id].op].effect == VY_CONV || vy_clears_shared(p, id))
            return true;
    return false;
}

bool vy_check_uniform(vy_program *p, const vy_structure *s)
{
    if (!has_convergent(p)) return true;
    vy_arena arena = {0};
    spread d = {.p = p, .s = s};
    uint32_t *reached = vy_arena_alloc(&arena, p->insts.count * sizeof *reached);
    bool ok = reached && prepare_spread(&d, &arena);
    if (ok) {
        propagate(&d);
        ok = check_places(&d, reached);
    } else {
        vy_fail_oom(p->module);
    }
    vy_arena_free(&arena);
    return ok;
}
