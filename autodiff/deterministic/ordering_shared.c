// SPDX-License-Identifier: MIT
// ordering_shared.c: accumulators of shared arrays to which floats are added.
//
//   shared t: f32[B];                  shared t: f32[B];  shared sums_t: i32[B, 37];
//   atomic_add(t[k], v);           →   integer atomics on sums_t[k]
//   barrier();  y[k] = t[k];           barrier();  y[k] = t[k] + total of sums_t[k]
//   shared t;                          shared t;  shared sums_t;
//
// As for buffers that are also loaded or stored to (deterministic.c): each access touches the
// element's own accumulator, in the same way and the same phase, so there are no new races.  An
// element takes 148 bytes.  Where the shared memory that every device has does not hold that, a
// workspace does, in which each workgroup has a slice (spill.c): the barriers order it too.  A
// slice starts as zero, so a clear ahead of all accesses, or after all of them, needs no code.
// Other clears are loops: of each invocation over its share or, in a program with a domain, as
// invocations outside it write to no buffer, of the first invocation of the workgroup, which is
// always inside, over the whole slice.
#include "autodiff/deterministic/exact_sum.h"
#include "autodiff/deterministic/ordering.h"
#include "autodiff/core/reverse.h"
#include "autodiff/storage/storage.h"

#include <string.h>

enum { WORDS = 4 }; // bytes of an accumulator's word

static bool is_added(const vy_ordering *o, uint32_t buffer)
{
    return (o->use[buffer] & VY_USE_ADDED) && o->w.p->buffers.data[buffer].cls == VY_SHARED;
}

bool vy_shared_choose(vy_ordering *o)
{
    uint64_t bytes;
    if (!vy_shared_bytes(o->w.p, &bytes)) {
        vy_fail_oom(o->m);
        return false;
    }
    for (uint32_t i = 1; i < o->w.p->buffers.count; i++) {
        if (!is_added(o, i)) continue;
        const vy_buf *b = &o->w.p->buffers.data[i];
        uint64_t elements = vy_array_bytes(o->w.p, b) / vy_type_size(b->type);
        uint64_t more = elements * vy_fixed_words(b->type) * WORDS;
        o->sliced[i] = bytes + more > VY_SHARED_BYTES;
        if (!o->sliced[i]) bytes += more;
    }
    return true;
}

static int64_t elements_of(const vy_ordering *o, uint32_t id)
{
    const vy_buf *b = &o->w.p->buffers.data[id];
    return (int64_t)(vy_array_bytes(o->w.p, b) / vy_type_size(b->type));
}

vy_buffer vy_shared_declare(vy_ordering *o, uint32_t id, const char *name)
{
    const vy_buf of = o->w.p->buffers.data[id];
    const int64_t words = vy_fixed_words(of.type);
    vy_dim dims[VY_MAX_RANK + 1];
    uint32_t rank = o->sliced[id] ? VY_GROUP_RANK : 0;
    if (rank) vy_group_dims(o->w.b, o->w.p->workgroup, dims);
    for (uint32_t k = 0; k < of.rank && !o->row[id]; k++) dims[rank++] = of.dims[k];
    dims[rank++] = vy_dim_const(o->w.b, o->row[id] ? elements_of(o, id) * words : words);
    const bool sliced = o->sliced[id];
    const vy_buffer made = sliced ? vy_param_buffer(o->w.b, name, VY_INOUT, VY_I32, rank, dims)
                                  : vy_shared_array(o->w.b, name, VY_I32, rank, dims);
    if (sliced) vy_buffer_workspace(o->w.b, made);
    vy_builder_program(o->w.b)->buffers.data[made.id].made = VY_MADE_SUMS; // [0] after an error
    return made;
}

// Does nothing touch the array before clear `id`, in any iteration of a loop, or nothing after it?
static bool is_idle(const vy_ordering *o, uint32_t id)
{
    const vy_program *p = o->w.p;
    uint32_t depth = 0;
    bool before = false, after = false;
    for (uint32_t k = 1; k < p->insts.count; k++) {
        const vy_inst *i = &p->insts.data[k];
        if (k < id) depth += vy_op_opens((vy_op)i->op) - vy_op_closes((vy_op)i->op);
        if (k == id || !vy_op_is_memory((vy_op)i->op) || i->aux != p->insts.data[id].aux) continue;
        *(k < id ? &before : &after) = true;
    }
    return !depth && (!before || !after);
}

void vy_shared_clear(vy_ordering *o, uint32_t id)
{
    vy_builder *b = o->w.b;
    uint32_t buffer = o->w.p->insts.data[id].aux;
    const vy_buf of = o->w.p->buffers.data[buffer];
    if (!o->sliced[buffer]) {
        vy_emit(b, VY_OP_ZERO, VY_VOID, o->sums[buffer].id, 0, NULL);
        return;
    }
    if (is_idle(o, id)) return;
    const uint32_t *w = o->w.p->workgroup;
    vy_value lane = vy_builtin_value(b, VY_LINDEX, 0), index[VY_MAX_RANK];
    vy_value first = vy_zero(b, VY_U32), all = vy_int(b, VY_U32, elements_of(o, buffer));
    bool alone = o->w.p->overs.count > 0;
    if (alone) vy_if(b, vy_eq(b, lane, first));
    vy_value step = vy_int(b, VY_U32, alone ? 1 : (int64_t)w[0] * w[1] * w[2]);
    vy_value e = vy_for_step(b, "e", alone ? first : lane, all, step, false);
    vy_split_index(b, (vy_buffer){buffer}, of.rank, e, index);
    const vy_sum_place place = vy_sums_at(o, buffer, index);
    vy_fixed_clear(b, &place, of.type);
    vy_end(b);
    if (alone) vy_end(b);
}
