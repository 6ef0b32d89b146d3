// SPDX-License-Identifier: MIT
// domain.c: the domain of a shader, from its guards.
//
//   if (gid.x < n) { y[gid.x] = … }          →      over(i: n) { y[i] = … }
//
// The program is the shader as it is launched to cover the domain, so extents are ours to choose as
// long as invocations outside of it do nothing that anybody sees.
//
//   - Where a guard is ahead of all effects, barriers and shared memory included, its extent is
//     that of the domain, and the guard is known to hold.  (Invocations beyond it that have
//     returned take no part in barriers; those outside of a domain wait there, and do nothing.)
//   - Where it is ahead of what happens to buffers, but invocations beyond it work for their
//     workgroup, the domain is whole workgroups, and the guard stays.
//
// Of an axis that nothing guards only the caller knows how far it goes: then there is no domain.
#include "ir/build/rewrite.h"
#include "ir/pass/pass.h"
#include "spirv/read/guards.h"
#include "spirv/read/reading.h"

#include <stdio.h>

typedef struct domain {
    vy_rewrite w;
    read_bounds all, of_buffers; // see guards.h: of all effects, of those on buffers
    bool used[3];                // by axis: does the program see the ids along it?
    uint32_t rank;
    uint32_t over[3]; // by axis: the variable
    uint8_t *known;   // by instruction: what it is in the domain, see IS_FALSE
    uint8_t *arm;     // by IF: which of its arms the domain always takes, see ARM_THEN
} domain;
enum { IS_OTHER, IS_FALSE, IS_TRUE, IS_VARIABLE }; // IS_VARIABLE + axis
enum { ARM_EITHER, ARM_THEN, ARM_ELSE };

// ----------------------------------------------------------------------------- is there a domain?
static bool see_leaf(domain *d, uint32_t id) // false: there can be no domain
{
    const vy_leaf *l = &d->w.p->leaves.data[VY_LEAF_INDEX(id)];
    if (l->kind != VY_LEAF_BUILTIN) return true;
    if (l->index == VY_NUM_GROUPS) return false;
    if (l->index <= VY_WID) d->used[l->axis] = true;
    return true;
}

static bool find_uses(domain *d)
{
    const vy_program *p = d->w.p;
    for (uint32_t id = 1; id < p->insts.count; id++)
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++)
            if (VY_IS_LEAF(vy_arg(p, id, k)) && !see_leaf(d, vy_arg(p, id, k))) return false;
    return true;
}

// Do the first invocations of a subgroup come first in the domain, too?  Then the lane that others
// read from is in it if they are.
static bool lanes_stay(const vy_program *p)
{
    bool reads = false;
    for (uint32_t id = 1; id < p->insts.count; id++)
        reads |= vy_op_has_lane((vy_op)p->insts.data[id].op);
    return !reads || (p->workgroup[1] == 1 && p->workgroup[2] == 1);
}

static bool bounds_axis(const read_bounds *b, uint32_t axis)
{
    for (uint32_t k = 0; k < b->count; k++)
        if (b->data[k].axis == axis) return true;
    return false;
}

// The bounds of an axis; NULL: it has none.
static const read_bounds *bounds_of(const domain *d, uint32_t axis)
{
    if (bounds_axis(&d->all, axis)) return &d->all;
    return bounds_axis(&d->of_buffers, axis) ? &d->of_buffers : NULL;
}

static bool is_bounded(domain *d)
{
    for (uint32_t axis = 0; axis < 3; axis++) {
        const bool bounded = bounds_of(d, axis) != NULL;
        if (bounded) d->rank = axis + 1;
        if (!bounded && (d->used[axis] || d->w.p->workgroup[axis] > 1)) return false;
    }
    return d->rank > 0;
}

static bool has_domain(domain *d)
{
    const vy_program *p = d->w.p;
    uint32_t *sets = find_uses(d) ? vy_rewrite_ids(&d->w) : NULL;
    if (!sets) return false;
    if (lanes_stay(p)) read_guards(p, &d->w.s, READ_GROUP_EFFECT, sets, &d->all);
    read_guards(p, &d->w.s, READ_BUFFER_EFFECT, sets, &d->of_buffers);
    return is_bounded(d);
}

// ----------------------------------------------------------------------------------------- extents
// The length of an open buffer is from here on a scalar, which is found in the data.
static vy_dim length(domain *d, const vy_leaf *l)
{
    vy_builder *b = d->w.b;
    const vy_buf *buffer = &vy_builder_program(b)->buffers.data[l->index];
    const vy_dim dim = buffer->dims[l->axis];
    if (vy_builder_program(b)->dims.data[dim.id].op != VY_DIM_UNKNOWN) return dim;
    char text[320];
    const char *name = vy_free_name(vy_builder_program(b), "len", buffer->name, text);
    vy_param_scalar(b, name, VY_U32);
    vy_program *p = vy_builder_program(b);
    if (!vy_builder_failed(b))
        p->dims.data[dim.id] = (vy_dim_node){.op = VY_DIM_SCALAR, .value = p->scalars.count - 1};
    return dim;
}

static void assume_most(domain *d, vy_dim x, bool is_signed)
{
    vy_assume(d->w.b, x, vy_dim_const(d->w.b, is_signed ? INT32_MAX : UINT32_MAX));
}

// Of an operand of a quotient, or of one that may be the least: does it wrap, that shows in the
// result.  Signed ones round to zero as dimensions do, unless they are shifted.
static void assume_fits(domain *d, vy_op op, uint32_t id, vy_dim x)
{
    const vy_program *p = d->w.p;
    const bool is_signed = vy_id_type(p, id) == VY_I32;
    if (read_may_wrap(p, id)) assume_most(d, x, is_signed);
    if ((!is_signed || op == VY_OP_SHR) && !read_is_natural(p, id))
        vy_assume(d->w.b, vy_dim_const(d->w.b, 0), x);
}

static vy_dim dimension(domain *d, uint32_t id)
{
    static const struct {
        vy_op from;
        vy_dim_op to;
    } ops[] = {{VY_OP_ADD, VY_DIM_ADD}, {VY_OP_SUB, VY_DIM_SUB}, {VY_OP_MUL, VY_DIM_MUL},
               {VY_OP_MIN, VY_DIM_MIN}, {VY_OP_MAX, VY_DIM_MAX}, {VY_OP_DIV, VY_DIM_DIV}};
    const vy_program *p = d->w.p;
    vy_builder *b = d->w.b;
    const vy_scalar *c = vy_id_const(p, id);
    if (c) return vy_dim_const(b, c->i);
    if (VY_IS_LEAF(id)) {
        const vy_leaf l = p->leaves.data[VY_LEAF_INDEX(id)];
        return l.kind == VY_LEAF_LEN ? length(d, &l) : vy_dim_value(b, (vy_value){id});
    }
    const vy_op op = (vy_op)p->insts.data[id].op;
    const vy_dim x = dimension(d, vy_arg(p, id, 0));
    if (op == VY_OP_BITCAST) return x;
    const bool sums = op == VY_OP_ADD || op == VY_OP_SUB || op == VY_OP_MUL;
    if (!sums) assume_fits(d, op, vy_arg(p, id, 0), x);
    if (op == VY_OP_SHR)
        return vy_dim_binary(b, VY_DIM_DIV, x,
                             vy_dim_const(b, 1ll << vy_id_const(p, vy_arg(p, id, 1))->u));
    const vy_dim y = dimension(d, vy_arg(p, id, 1));
    if (!sums) assume_fits(d, op, vy_arg(p, id, 1), y);
    for (uint32_t k = 0; k < sizeof ops / sizeof *ops; k++)
        if (ops[k].from == op) return vy_dim_binary(b, ops[k].to, x, y);
    return x;
}

static vy_dim times(vy_builder *b, vy_dim x, uint32_t n)
{
    return n == 1 ? x : vy_dim_binary(b, VY_DIM_MUL, x, vy_dim_const(b, n));
}

static vy_dim plus(vy_builder *b, vy_dim x, int64_t n)
{
    if (!n) return x;
    return n > 0 ? vy_dim_binary(b, VY_DIM_ADD, x, vy_dim_const(b, n))
                 : vy_dim_binary(b, VY_DIM_SUB, x, vy_dim_const(b, -n));
}

// What is assumed of a bound's extent and offset.  A part of an extent that wraps may be no more
// than what is launched.
static void assume_bound(domain *d, const read_bound *bound, vy_dim e, vy_dim offset)
{
    const vy_program *p = d->w.p;
    const bool changes = bound->is_signed && !vy_id_const(p, bound->extent) &&
                         vy_id_type(p, read_plain(p, bound->extent)) == VY_U32;
    if (bound->factor > 1 && (changes || read_may_wrap(p, bound->extent)))
        assume_most(d, e, bound->is_signed);
    if (offset.id && read_may_wrap(p, bound->offset)) assume_most(d, offset, bound->is_signed);
}

// How many ids a bound lets through: the extent and what is added to it, without the offset, over
// the factor, rounded up.
static vy_dim ids_of(domain *d, const read_bound *bound)
{
    vy_builder *b = d->w.b;
    const vy_scalar *c = bound->offset ? vy_id_const(d->w.p, bound->offset) : NULL;
    const vy_dim offset = bound->offset && !c ? dimension(d, bound->offset) : (vy_dim){0};
    vy_dim e = dimension(d, bound->extent);
    assume_bound(d, bound, e, offset);
    e = plus(b, e, (int64_t)bound->one - (c ? c->i : 0) + bound->factor - 1);
    if (offset.id) e = vy_dim_binary(b, VY_DIM_SUB, e, offset);
    return bound->factor == 1 ? e : vy_dim_binary(b, VY_DIM_DIV, e, vy_dim_const(b, bound->factor));
}

// The extent that a bound gives.  whole: in whole workgroups.
static vy_dim extent_of(domain *d, const read_bound *bound, bool whole)
{
    vy_builder *b = d->w.b;
    const uint32_t size = d->w.p->workgroup[bound->axis];
    const vy_dim e = ids_of(d, bound);
    if (bound->of_group) return times(b, e, size);
    if (!whole || size == 1) return e;
    const vy_dim above = plus(b, e, size - 1);
    return times(b, vy_dim_binary(b, VY_DIM_DIV, above, vy_dim_const(b, size)), size);
}

static vy_dim axis_extent(domain *d, uint32_t axis)
{
    const read_bounds *of = bounds_of(d, axis);
    vy_dim e = of ? (vy_dim){0} : vy_dim_const(d->w.b, 1);
    for (uint32_t k = 0; of && k < of->count; k++) {
        if (of->data[k].axis != axis) continue;
        const vy_dim x = extent_of(d, &of->data[k], of != &d->all);
        e = e.id ? vy_dim_binary(d->w.b, VY_DIM_MIN, e, x) : x;
    }
    return e;
}

// ------------------------------------------------------------------------------------- the domain
static const char *variable_name(const vy_program *p, uint32_t axis, char text[16])
{
    for (uint32_t n = 0;; n++) {
        snprintf(text, 16, n ? "%c%u" : "%c", "ijk"[axis], n + 1);
        if (!vy_program_find_buffer(p, text).id && vy_program_find_scalar(p, text) == UINT32_MAX)
            return text;
    }
}

static void declare_domain(domain *d)
{
    vy_dim extents[3];
    char text[16];
    for (uint32_t axis = 0; axis < d->rank; axis++) extents[axis] = axis_extent(d, axis);
    for (uint32_t axis = d->rank; axis-- > 0;)
        d->over[axis] =
            vy_over(d->w.b, variable_name(vy_builder_program(d->w.b), axis, text), extents[axis])
                .id;
}

// Does the comparison always have this value in the domain?
static bool always(const domain *d, uint32_t id, bool value)
{
    read_bound b;
    if (!read_bound_of(d->w.p, id, value, &b)) return false;
    for (uint32_t k = 0; k < d->all.count; k++)
        if (read_same_bound(&d->all.data[k], &b)) return true;
    return false;
}

static uint8_t value_of(const domain *d, uint32_t id)
{
    const bool adds = d->w.p->insts.data[id].op == VY_OP_ADD;
    if (!adds && vy_id_type(d->w.p, id) != VY_BOOL) return IS_OTHER; // most are: no comparison
    if (always(d, id, false)) return IS_FALSE;
    if (always(d, id, true)) return IS_TRUE;
    if (!adds) return IS_OTHER;
    const int axis = read_axis_of(d->w.p, id);
    return axis < 0 || axis >= (int)d->rank ? IS_OTHER : (uint8_t)(IS_VARIABLE + axis);
}

static bool find_values(domain *d)
{
    d->known = vy_rewrite_bytes(&d->w);
    d->arm = vy_rewrite_bytes(&d->w);
    for (uint32_t id = 1; d->known && id < d->w.p->insts.count; id++)
        d->known[id] = value_of(d, id);
    return d->known && d->arm;
}

// Global ids are the variables of the domain.
static void replace_ids(domain *d)
{
    for (uint32_t k = 0; k < d->w.p->leaves.count; k++) {
        vy_leaf *l = &d->w.p->leaves.data[k];
        if (l->kind == VY_LEAF_BUILTIN && l->index == VY_GID && l->axis < d->rank)
            *l = (vy_leaf){.kind = VY_LEAF_OVER, .type = l->type, .index = d->rank - 1 - l->axis};
    }
}

// Past the IF whose end this is; its results are what the arm that is taken yields.
static uint32_t pass_end(domain *d, uint32_t opener)
{
    const vy_program *p = d->w.p;
    const uint32_t end = vy_closer(p, &d->w.s, opener), n = vy_slot_count(p, &d->w.s, opener);
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t yield = d->arm[opener] == ARM_THEN ? vy_slot_then(p, &d->w.s, opener, k)
                                                          : vy_slot_yield(p, &d->w.s, opener, k);
        vy_rewrite_as(&d->w, end + 1 + k, vy_new(&d->w, yield));
    }
    return end + n;
}

// A guard's IF is not built at all, so that clean-up has no IF to take out of the whole program.
static uint32_t pass_if(domain *d, uint32_t id)
{
    const vy_program *p = d->w.p;
    const vy_op op = (vy_op)p->insts.data[id].op;
    if (op == VY_OP_IF) {
        const vy_scalar *taken = vy_id_const(vy_builder_program(d->w.b), vy_new_arg(&d->w, id, 0));
        if (!taken) return 0;
        d->arm[id] = taken->u ? ARM_THEN : ARM_ELSE;
        return taken->u ? id : d->w.s.partner[id];
    }
    if (op != VY_OP_ELSE && op != VY_OP_ENDIF) return 0;
    const uint32_t opener = vy_opener(p, &d->w.s, id);
    return d->arm[opener] == ARM_EITHER ? 0 : pass_end(d, opener);
}

static uint32_t replace(void *pass, uint32_t id)
{
    domain *d = pass;
    const uint8_t known = d->known[id];
    if (known == IS_OTHER) return pass_if(d, id);
    d->w.map[id] =
        known >= IS_VARIABLE ? d->over[known - IS_VARIABLE] : vy_bool(d->w.b, known == IS_TRUE).id;
    return id;
}

static void rebuild(domain *d)
{
    replace_ids(d);
    if (!vy_rewrite_open(&d->w)) return;
    declare_domain(d);
    vy_rewrite_range(&d->w, 1, d->w.p->insts.count, replace, d);
}

bool read_domain(vy_program *p)
{
    domain d = {0};
    vy_pass_context c = {0};
    const bool ok = vy_rewrite_begin(&d.w, p);
    if (ok && has_domain(&d) && find_values(&d)) rebuild(&d);
    return vy_rewrite_end(&d.w, ok, &c.changed) && (!c.changed || vy_pass_cleanup(p, &c));
}
