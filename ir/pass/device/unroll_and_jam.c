// SPDX-License-Identifier: MIT
// unroll_and_jam.c: `factor` invocations along one domain variable become one: unroll and jam.
//
//   over(i: M, k: K)                  over(i: (M + 1) / 2, k: K)
//   for j in 0..N {                   i_0 = 2i; inside = 1 ≤ M − 1 − 2i; i_1 = inside ? 2i + 1 : 2i
//     s += a[i, j] * b[k, j]   →      for j in 0..N {
//   }                                   v = b[k, j]; s_0 += a[i_0, j] * v; s_1 += a[i_1, j] * v
//   c[i, k] = s                       }
//                                     c[i_0, k] = s_0; if inside { c[i_1, k] = s_1 }
//
// Instructions that differ along the variable (domain_dependence.c) get a copy for each of the
// invocations, all others remain single.  A construct whose control flow is the same for all of
// them remains single and carries a copy of each differing value; an `if` that diverges is copied
// for each.  Copies beyond the end repeat what copy 0 computes, so that everything known about
// indices holds for them too (VY_FLAG_INRANGE is kept), and no invocation accesses an element of
// another one.  They store nothing, but for coarsen_memory.c.
//
// Neighbours along the last variable are neighbours in a subgroup, whose loads should be adjacent
// where each lane loads one word: there copy q is i + q⌈N/f⌉, along other variables f i + q.
// adjacent: along the last one too, for compilers that make one load of what an invocation loads
// from neighbours (interior.c).  A variable with as many values as copies is removed from the
// domain.
//
// Between two markers each copy is emitted completely before the next one, which keeps live ranges
// of temporaries short; its stores wait for the next marker and share one `if`.  Local arrays that
// differ have a copy each.
//
// Needs the conditions that coarsen.c has checked.
#include "ir/pass/device/coarsen.h"
#include "ir/core/pipe.h"
#include "ir/core/flow.h"
#include "ir/core/access.h"
#include "ir/facts/domain_dependence.h"
#include "ir/facts/owner_axes.h"

typedef struct jam {
    vy_rewrite w; // its map is the map of copy 0
    vy_along along;
    uint32_t axis, factor;
    uint8_t bit;
    bool adjacent;
    const uint32_t *classes; // of dimensions
    uint32_t **maps;         // by copy: its map, like the one of the frame
    uint32_t *at;            // by copy: its coordinate along the axis
    uint32_t *inside;        // by copy: a condition, is that in the domain?  0: always
    uint8_t *use;            // by buffer: coarsen_memory.c
    uint32_t **arrays;       // by copy: by local array, its own
    vy_id_vec waiting, joint, args, out;
} jam;

// ---------------------------------------------------------------------------------------- extents
uint32_t vy_axis_buffer(const vy_program *p, uint32_t axis, const uint32_t *classes, uint32_t *k)
{
    const uint32_t class = classes[p->overs.data[axis].extent.id];
    for (uint32_t i = 1; i < p->buffers.count; i++)
        for (*k = 0; vy_is_global(p->buffers.data[i].cls) && *k < p->buffers.data[i].rank; ++*k)
            if (classes[p->buffers.data[i].dims[*k].id] == class) return i;
    return 0;
}

static bool is_scalar(const vy_program *p, const vy_dim_node *d)
{
    if (d->op != VY_DIM_SCALAR) return false;
    const vy_type t = p->scalars.data[d->value].type;
    return t == VY_U32 || t == VY_I32;
}

bool vy_axis_has_extent(const vy_program *p, uint32_t axis, const uint32_t *classes)
{
    uint32_t k;
    return vy_axis_constant(p, axis) ||
           is_scalar(p, &p->dims.data[p->overs.data[axis].extent.id]) ||
           vy_axis_buffer(p, axis, classes, &k);
}

// The extent is at least 1 if an invocation runs, so a conversion from i32 keeps its value.
static vy_value extent(jam *j)
{
    const vy_dim_node *d = &j->w.p->dims.data[j->w.p->overs.data[j->axis].extent.id];
    const uint32_t n = vy_axis_constant(j->w.p, j->axis);
    uint32_t k;
    if (n) return vy_int(j->w.b, VY_U32, n);
    if (!is_scalar(j->w.p, d)) {
        const uint32_t buffer = vy_axis_buffer(j->w.p, j->axis, j->classes, &k);
        return (vy_value){vy_extent_leaf(j->w.b, buffer, k)};
    }
    const uint32_t s = (uint32_t)d->value;
    const vy_type t = j->w.p->scalars.data[s].type;
    return vy_cast(j->w.b, VY_U32, (vy_value){vy_leaf_other(j->w.b, VY_LEAF_SCALAR, t, s, 0)});
}

// ----------------------------------------------------------------------------------------- places
static void shrink_domain(jam *j)
{
    vy_builder *b = j->w.b;
    vy_dim n = vy_builder_program(b)->overs.data[j->axis].extent;
    vy_dim up = vy_dim_binary(b, VY_DIM_ADD, n, vy_dim_const(b, j->factor - 1));
    vy_dim m = vy_dim_binary(b, VY_DIM_DIV, up, vy_dim_const(b, j->factor));
    if (!vy_builder_failed(b)) vy_builder_program(b)->overs.data[j->axis].extent = m;
}

static void find_places(jam *j)
{
    vy_builder *b = j->w.b;
    const uint32_t f = j->factor, constant = vy_axis_constant(j->w.p, j->axis);
    const bool apart = !j->adjacent && j->axis + 1 == j->w.p->overs.count;
    vy_value i = {vy_leaf_other(b, VY_LEAF_OVER, VY_U32, j->axis, 0)};
    vy_value n = extent(j), one = vy_int(b, VY_U32, 1);
    vy_value top = vy_sub(b, n, one), many = vy_int(b, VY_U32, f);
    vy_value m = vy_add(b, vy_div(b, top, many), one); // ⌈n/f⌉
    vy_value first = apart ? i : vy_mul(b, i, many);
    if (constant == f) first = vy_int(b, VY_U32, 0), m = one;
    for (uint32_t q = 0; q < f && !vy_builder_failed(b); q++) {
        vy_value by = vy_int(b, VY_U32, q);
        if (apart) by = vy_mul(b, m, by);
        vy_value at = vy_add(b, first, by);
        j->inside[q] = 0;
        if (q && !(constant && constant % f == 0)) { // the sum may wrap, this difference cannot
            j->inside[q] = vy_le(b, by, vy_sub(b, top, first)).id;
            at = vy_select(b, (vy_value){j->inside[q]}, at, first);
        }
        j->at[q] = at.id;
        if (!VY_IS_LEAF(at.id)) vy_name(b, at, j->w.p->overs.data[j->axis].name);
    }
    shrink_domain(j);
}

// -------------------------------------------------------------------------------------- copies
static bool differs(const jam *j, uint32_t id)
{
    return ((VY_IS_LEAF(id) ? vy_along_leaf(&j->along, id) : j->along.of[id]) & j->bit) != 0;
}

static uint32_t *map_of(const jam *j, uint32_t q) { return j->maps[q]; }

static uint32_t get(const jam *j, uint32_t q, uint32_t id)
{
    if (VY_IS_LEAF(id)) return differs(j, id) ? j->at[q] : id;
    return map_of(j, differs(j, id) ? q : 0)[id];
}

static void push(jam *j, vy_id_vec *v, uint32_t id) { j->w.oom |= !vy_vec_push(v, id); }

static bool stopped(const jam *j) { return vy_rewrite_stopped(&j->w); }

static void copy_with(jam *j, uint32_t q, uint32_t id)
{
    const vy_inst *i = &j->w.p->insts.data[id];
    const uint32_t own = vy_op_is_memory((vy_op)i->op) ? j->arrays[q][i->aux] : 0;
    if (!stopped(j)) vy_copy_to(j->w.b, j->w.p, id, own ? own : i->aux, j->args.data, map_of(j, q));
}

static void copy(jam *j, uint32_t q, uint32_t id)
{
    j->args.count = 0;
    for (uint32_t k = 0; k < j->w.p->insts.data[id].nargs; k++)
        push(j, &j->args, get(j, q, vy_arg(j->w.p, id, k)));
    copy_with(j, q, id);
}

static bool waits(const jam *j, uint32_t id)
{
    return vy_op_infos[j->w.p->insts.data[id].op].effect == VY_WRITE &&
           !vy_writes_at_once(j->w.p, j->use, id);
}

static void begin_inside(jam *j, uint32_t q)
{
    if (j->inside[q]) vy_begin_if(j->w.b, j->inside[q]);
}

static void end_inside(jam *j, uint32_t q)
{
    if (j->inside[q]) vy_end_plain_if(j->w.b);
}

// One addition of what all copies add to the element that they have in common.
static void add_sum(jam *j, uint32_t id)
{
    const uint32_t rank = vy_rank_of(j->w.p, id), value = vy_arg(j->w.p, id, rank);
    vy_builder *b = j->w.b;
    vy_value sum = {get(j, 0, value)};
    vy_rewrite_at(&j->w, id);
    for (uint32_t q = 1; q < j->factor; q++) {
        vy_value v = {get(j, q, value)};
        vy_value zero = vy_zero(b, vy_value_type(b, v));
        if (j->inside[q]) v = vy_select(b, (vy_value){j->inside[q]}, v, zero);
        sum = vy_add(b, sum, v);
    }
    j->args.count = 0;
    for (uint32_t k = 0; k < rank; k++) push(j, &j->args, get(j, 0, vy_arg(j->w.p, id, k)));
    push(j, &j->args, sum.id);
    copy_with(j, 0, id);
}

static void flush(jam *j)
{
    for (uint32_t k = 0; k < j->joint.count; k++) add_sum(j, j->joint.data[k]);
    j->joint.count = 0;
    for (uint32_t q = 0; q < j->factor && j->waiting.count; q++) {
        begin_inside(j, q);
        for (uint32_t k = 0; k < j->waiting.count; k++) copy(j, q, j->waiting.data[k]);
        end_inside(j, q);
    }
    j->waiting.count = 0;
}

static void copy_straight_line(jam *j, uint32_t from, uint32_t to)
{
    for (uint32_t q = 0; q < j->factor; q++)
        for (uint32_t id = from; id < to && !stopped(j); id++) {
            if (!waits(j, id) && (q == 0 || differs(j, id)))
                copy(j, q, id);
            else if (q == 0 && waits(j, id))
                push(j, vy_written_along(&j->along, id) & j->bit ? &j->waiting : &j->joint, id);
        }
}

// Copies an `if` that diverges between the copies, from its IF to its last RESULT.
static uint32_t copy_divergent_if(jam *j, uint32_t opener)
{
    const uint32_t last = vy_last_result(j->w.p, &j->w.s, opener);
    for (uint32_t q = 0; q < j->factor; q++)
        for (uint32_t id = opener; id <= last && !stopped(j); id++) {
            const bool guard = waits(j, id);
            if (guard) begin_inside(j, q);
            copy(j, q, id);
            if (guard) end_inside(j, q);
        }
    return last;
}

// ------------------------------------------------------------------------------------- constructs
// Collects the values that `marker` passes on, from operand `from` on, each as often as its slot
// has copies; slot k belongs to instruction first + k.
static void collect_values(jam *j, uint32_t marker, uint32_t from, uint32_t first)
{
    j->args.count = 0;
    for (uint32_t k = from; k < j->w.p->insts.data[marker].nargs; k++) {
        uint32_t v = vy_arg(j->w.p, marker, k), slot = first + k - from;
        for (uint32_t q = 0; q < (differs(j, slot) ? j->factor : 1); q++)
            push(j, &j->args, get(j, q, v));
    }
    j->out.count = 0;
    j->w.oom |= !vy_vec_reserve(&j->out, j->args.count + 1);
}

// Maps the slots first … first + n - 1 to the values in `out`.
static void map_slots(jam *j, uint32_t first, uint32_t n)
{
    uint32_t from = 0;
    for (uint32_t k = 0; k < n && !stopped(j); k++)
        for (uint32_t q = 0; q < (differs(j, first + k) ? j->factor : 1); q++) {
            map_of(j, q)[first + k] = j->out.data[from];
            vy_pass_name(j->w.b, j->w.p, first + k, j->out.data[from++]);
        }
}

static uint32_t open_loop(jam *j, uint32_t id)
{
    const vy_inst *i = &j->w.p->insts.data[id];
    const uint32_t inits = vy_init_arg(j->w.p, id), n = i->nargs - inits;
    collect_values(j, id, inits, id + 1);
    if (stopped(j)) return id;
    if (i->op == VY_OP_WHILE) {
        vy_begin_while(j->w.b, i->flags, j->args.count, j->args.data, j->out.data);
    } else {
        uint32_t bound[3];
        for (uint32_t k = 0; k < 3; k++) bound[k] = get(j, 0, vy_arg(j->w.p, id, k));
        uint32_t k = vy_begin_loop(j->w.b, (vy_type)i->type, i->flags, bound[0], bound[1], bound[2],
                                   j->args.count, j->args.data, j->out.data);
        if (!stopped(j)) vy_rewrite_as(&j->w, id, k);
    }
    map_slots(j, id + 1, n);
    return id + n;
}

static uint32_t close(jam *j, uint32_t id)
{
    const vy_inst *i = &j->w.p->insts.data[id];
    const uint32_t opener = j->w.s.partner[id];
    const uint32_t from = i->op == VY_OP_ENDLOOP ? vy_next_arg(j->w.p, opener) : 0;
    collect_values(j, id, from, id + 1);
    if (stopped(j)) return id;
    if (i->op == VY_OP_ENDIF)
        vy_end_if(j->w.b, j->args.count, j->args.data, j->out.data);
    else
        vy_end_loop(j->w.b, from ? get(j, 0, vy_arg(j->w.p, id, 0)) : 0, j->args.count,
                    j->args.data, j->out.data);
    map_slots(j, id + 1, i->nargs - from);
    return id + i->nargs - from;
}

// Emits marker `id` and its slots; returns the last instruction that is done.
static uint32_t construct(jam *j, uint32_t id)
{
    flush(j);
    vy_rewrite_at(&j->w, id);
    switch ((vy_op)j->w.p->insts.data[id].op) {
    case VY_OP_IF:
        if (differs(j, id)) return copy_divergent_if(j, id);
        vy_begin_if(j->w.b, get(j, 0, vy_arg(j->w.p, id, 0)));
        return id;
    case VY_OP_ELSE:
        collect_values(j, id, 0, j->w.s.partner[id] + 1);
        if (!stopped(j)) vy_begin_else(j->w.b, j->args.count, j->args.data);
        return id;
    case VY_OP_TEST: vy_loop_test(j->w.b, get(j, 0, vy_arg(j->w.p, id, 0))); return id;
    case VY_OP_LOOP:
    case VY_OP_WHILE: return open_loop(j, id);
    default: return close(j, id);
    }
}

static void copy_arrays(jam *j)
{
    uint32_t last = 0;
    for (uint32_t k = 1; k < j->w.p->buffers.count; k++) {
        if (!(j->along.array[k] & j->bit)) continue;
        const vy_buf *of = &j->w.p->buffers.data[k];
        for (uint32_t q = 1; q < j->factor && !stopped(j); q++) {
            char name[320];
            vy_next_free_name(vy_builder_program(j->w.b), "copy", of->name, &last, name);
            j->arrays[q][k] = vy_local_undefined(j->w.b, name, of->type, of->rank, of->dims).id;
        }
        last = 0;
    }
}

static void rewrite(jam *j)
{
    const uint32_t n = j->w.p->insts.count;
    copy_arrays(j);
    find_places(j);
    for (uint32_t id = 1; id < n && !stopped(j);) {
        uint32_t to = id;
        while (to < n && !vy_is_marker((vy_op)j->w.p->insts.data[to].op)) to++;
        copy_straight_line(j, id, to);
        if (to == n || stopped(j)) break;
        id = construct(j, to) + 1;
    }
    flush(j);
}

// Removes a variable of the domain: with a single value left, it has no more uses.
static void drop_axis(vy_program *p, uint32_t axis)
{
    for (uint32_t k = 0; k < p->leaves.count; k++) {
        vy_leaf *l = &p->leaves.data[k];
        if (l->kind != VY_LEAF_OVER || l->index < axis) continue;
        if (l->index == axis)
            vy_leaf_drop(l);
        else
            l->index--;
    }
    for (uint32_t k = axis; k + 1 < p->overs.count; k++) p->overs.data[k] = p->overs.data[k + 1];
    p->overs.count--;
    p->has_workgroup = false; // it was made for other axes
}

static bool prepare_jam(jam *j)
{
    j->maps = vy_rewrite_table(&j->w, j->factor * sizeof *j->maps);
    j->at = vy_rewrite_table(&j->w, j->factor * sizeof *j->at);
    j->inside = vy_rewrite_table(&j->w, j->factor * sizeof *j->inside);
    j->arrays = vy_rewrite_table(&j->w, j->factor * sizeof *j->arrays);
    j->classes = vy_dim_classes(j->w.p, &j->w.arena);
    if (j->w.oom || !j->classes) return false;
    for (uint32_t q = 0; q < j->factor; q++) {
        j->maps[q] = q ? vy_rewrite_ids(&j->w) : j->w.map;
        j->arrays[q] = vy_rewrite_table(&j->w, j->w.p->buffers.count * sizeof **j->arrays);
    }
    j->use = vy_rewrite_table(&j->w, j->w.p->buffers.count);
    const bool *owned = vy_find_owned(j->w.p, &j->w.arena);
    j->w.oom |= !owned;
    return !j->w.oom && vy_copies_suit(j->w.p, owned, j->use) &&
           vy_along_make(&j->along, j->w.p, &j->w.s, &j->w.arena);
}

bool vy_jam(vy_program *p, uint32_t axis, uint32_t factor, bool adjacent)
{
    jam j = {.axis = axis, .factor = factor, .adjacent = adjacent};
    const bool drops = vy_axis_constant(p, axis) == factor && p->overs.count > 1;
    bool ok = vy_rewrite_begin(&j.w, p) && prepare_jam(&j), changed = false;
    if (ok && vy_rewrite_open(&j.w)) {
        j.bit = (uint8_t)(1u << (axis - j.along.first));
        rewrite(&j);
    }
    vy_vec_free(&j.waiting);
    vy_vec_free(&j.joint);
    vy_vec_free(&j.args);
    vy_vec_free(&j.out);
    ok = vy_rewrite_end(&j.w, ok, &changed);
    if (ok && drops) drop_axis(p, axis);
    return ok;
}
