// SPDX-License-Identifier: MIT
// tape_tensor.c: tapes of tensors of a host program (ir/core/host.h): tape9: f32[T1, T2, N] for a
// tensor of shape [N] in two loops.
//
// A tensor may have a size that an iteration decides:
//
//   repeat t in 0..T {
//       buffer b: f32[value(n[t]), N];
//       repeat s in 0..3 { step(b); }
//   }
//
// A tape for all iterations would have entries of different sizes, whose sum is not known
// before they run.  So each iteration is a checkpoint (ir/host/raise.c), which the reverse runs
// once more, and the tape of what is kept meanwhile begins in this replay, when the size is known:
// an array of the result, with a ZERO before the outermost loop that it has entries for,
//
//   buffer tape9: f32[3, v1, N];
//
// Both that and counting more loops ahead (ir/host/count_whiles.c) are done where a first try shows
// that they are needed: the errors here are for the driver (autodiff/driver/derive_pipeline.c), and
// nothing else should see them.
#include "autodiff/core/reverse.h"
#include "autodiff/storage/storage.h"
#include "ir/core/dims.h"
#include "ir/host/host_build.h"

static uint32_t shaped_like(const reverse *r, uint32_t id)
{
    return vy_host_shaped_like(r->p, &r->facts.s, id);
}

static vy_tensor shape_of(const reverse *r, uint32_t id)
{
    return vy_host_shape(r->out, r->p, &r->facts.s, id);
}

// Of a log (undo_shape.c) only that it is no number; its extents do not depend on the run.
uint32_t vy_tensor_rank(const reverse *r, uint32_t id)
{
    return vy_undo_log_of(r, id) ? 1 : shape_of(r, id).rank;
}

const char *vy_tensor_name(const reverse *r, uint32_t id)
{
    const uint32_t shaped = shaped_like(r, id);
    const vy_inst *i = &r->p->insts.data[shaped];
    return shaped && i->op == VY_OP_LOAD ? vy_buffer_name(r, i->aux) : NULL;
}

// ------------------------------------------------------------------- sizes that the run decides
static bool is_open(const reverse *r, vy_dim d) { return r->p->dims.data[d.id].op == VY_DIM_STEP; }

void vy_tape_sizes(reverse *r)
{
    for (uint32_t id = 1; id < r->p->insts.count; id++) {
        const vy_inst *i = &r->p->insts.data[id];
        const vy_buf *b = i->op == VY_OP_ZERO ? &r->p->buffers.data[i->aux] : NULL;
        for (uint32_t k = 0; b && k < b->rank; k++)
            if (is_open(r, b->dims[k])) r->build.sized[b->dims[k].id] = id;
    }
}

// The innermost loop or checkpoint in which an array begins that its shape follows from; 0: none.
static uint32_t home_of_shape(const reverse *r, uint32_t id)
{
    const vy_tensor t = shape_of(r, id);
    uint32_t home = 0;
    for (uint32_t k = 0; k < t.rank; k++) {
        if (!is_open(r, t.dims[k])) continue;
        const uint32_t zero = r->build.sized[t.dims[k].id];
        const uint32_t begins =
            zero ? r->facts.buffers[r->p->insts.data[zero].aux].home : UINT32_MAX;
        if (begins > home) home = begins; // all are around `id`: the later one is the inner one
    }
    return home;
}

bool vy_tape_begins(const reverse *r, uint32_t id, uint32_t keeper)
{
    return keeper && home_of_shape(r, id);
}

void vy_tape_begin_with(reverse *r, uint32_t id)
{
    const uint32_t keeper = r->plan.kept[id] - 1;
    uint32_t at = id;
    while (r->facts.scope[at] != keeper) at = r->facts.scope[at];
    r->build.begins_too[id] = r->build.begins[at];
    r->build.begins[at] = id;
}

// The extent as the replay has it.
static uint32_t extent_of(reverse *r, vy_dim d)
{
    const uint32_t zero = r->build.sized[d.id];
    const vy_buf *b = &r->p->buffers.data[r->p->insts.data[zero].aux];
    uint32_t n = 0;
    for (uint32_t k = 0; k < b->rank && b->dims[k].id != d.id; k++) n += is_open(r, b->dims[k]);
    return vy_primal(r, vy_arg(r->p, zero, n));
}

static void begin_tape(reverse *r, uint32_t id)
{
    const vy_tensor t = shape_of(r, id);
    uint32_t extents[VY_MAX_RANK], n = 0;
    for (uint32_t k = 0; k < t.rank; k++)
        if (is_open(r, t.dims[k])) extents[n++] = extent_of(r, t.dims[k]);
    vy_emit(r->b, VY_OP_ZERO, VY_VOID, r->build.tape[id], n, extents);
}

void vy_tape_begin(reverse *r, uint32_t opener)
{
    for (uint32_t id = r->build.begins[opener]; id; id = r->build.begins_too[id])
        if (r->plan.kept[id] == r->build.replaying + 1) begin_tape(r, id);
}

bool vy_tape_fits(const reverse *r, uint32_t id, uint32_t keeper)
{
    const uint32_t home = home_of_shape(r, id);
    return home == keeper || vy_encloses(&r->facts, home, keeper);
}

bool vy_tape_is_steady(reverse *r, uint32_t id, uint32_t keeper)
{
    if (vy_tape_fits(r, id, keeper)) return true;
    r->varies_in_size = true;
    vy_reverse_fail(r, VY_E_INTERNAL, id, NULL, "a tape has entries of different sizes");
    return false;
}

bool vy_tape_no_bound(reverse *r, uint32_t loop)
{
    r->lacks_bound = true;
    vy_reverse_fail(r, VY_E_INTERNAL, loop, NULL, "nothing bounds the length of a tape");
    return false;
}

uint32_t vy_tape_of_tensor(reverse *r, uint32_t id, uint32_t loops, const vy_dim *counts,
                           vy_dim *dims)
{
    const undo_log *log = vy_undo_log_of(r, id);
    const vy_tensor t = shape_of(r, id);
    const bool begins = vy_tape_begins(r, id, r->plan.kept[id] - 1);
    uint32_t rank = 0;
    for (uint32_t k = 0; k < loops; k++) // an extent that is no key: its ZERO does not give it
        dims[rank++] =
            begins ? vy_dim_binary(r->b, VY_DIM_MAX, counts[k], vy_dim_const(r->b, 0)) : counts[k];
    if (log) return rank + vy_undo_dims(r, log, dims + rank);
    for (uint32_t k = 0; k < t.rank; k++) dims[rank++] = r->build.dims[t.dims[k].id];
    if (!t.rank) dims[rank++] = vy_dim_const(r->b, 1); // a number is a tensor of one element
    return rank;
}
