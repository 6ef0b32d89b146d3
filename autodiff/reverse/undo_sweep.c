// SPDX-License-Identifier: MIT
// undo_sweep.c: the sweeps of a host program where buffers are undone (autodiff/core/undo_plan.h).
//
//   forward   l = DISPATCH walls_log_u u           (to a tape, as any value that is kept)
//             u' = DISPATCH walls u, g
//   reverse   u = DISPATCH walls_undo_u u', l      in place; then loads of u
#include "autodiff/reverse/sweeps.h"
#include "autodiff/reverse/undo.h"
#include "autodiff/storage/storage.h"
#include "ir/host/host_build.h"

#include <string.h>

// Does this build have the contents of the buffer that `log` is of?
static bool has_contents(const reverse *r, const undo_log *log)
{
    const built_buffer *b = &r->build.buffers[r->p->insts.data[log->store].aux];
    return b->copy && b->stores;
}

// The index of the slice that memory operation `id` names, in the result; returns how many.
static uint32_t map_slice(reverse *r, uint32_t id, uint32_t *index)
{
    const uint32_t n = vy_index_count(r->p, id);
    for (uint32_t k = 0; k < n; k++) index[k] = vy_primal(r, vy_arg(r->p, id, k));
    return n;
}

static uint32_t load_slice(reverse *r, uint32_t id)
{
    const uint32_t buffer = r->p->insts.data[id].aux, copy = r->build.buffers[buffer].copy;
    uint32_t index[VY_MAX_RANK];
    const uint32_t n = map_slice(r, id, index);
    return vy_emit(r->b, VY_OP_LOAD, r->p->buffers.data[buffer].type, copy, n, index);
}

// ------------------------------------------------------------------------------ the two dispatches
// The shapes of the slice and of its log, as a dispatch of both has them; NULL: memory.
static vy_tensor *shapes_of(reverse *r, const undo_log *log)
{
    const vy_inst *i = &r->p->insts.data[log->load];
    const vy_buf *b = &r->p->buffers.data[i->aux];
    const uint32_t declared = vy_undo_declared(r, log)->rank, rank = b->rank - i->nargs;
    vy_tensor *shapes = vy_arena_alloc(&r->out->arena, 2 * sizeof *shapes);
    vy_dim *dims = vy_arena_alloc(&r->out->arena, (rank + declared) * sizeof *dims);
    if (!shapes || !dims) {
        vy_fail_oom(r->out);
        r->failed = true;
        return NULL;
    }
    for (uint32_t k = 0; k < rank; k++) dims[k] = r->build.dims[b->dims[i->nargs + k].id];
    vy_undo_dims(r, log, dims + rank);
    shapes[0] = (vy_tensor){b->type, rank, dims};
    shapes[1] = (vy_tensor){b->type, declared, dims + rank};
    return shapes;
}

// Dispatches NAME_log_u or NAME_undo_u, with the scalars of the callee's own dispatch.  Returns its
// result.
static uint32_t dispatch(reverse *r, const undo_log *log, bool undo, uint32_t slice, uint32_t old)
{
    const undo_form *f = &r->plan.undo.forms.data[log->form - 1];
    const vy_host_call *was = vy_host_call_of(r->p, log->dispatch);
    const vy_program *callee = vy_host_callee(r->out, was);
    const uint32_t number = undo ? f->undo : f->log;
    const vy_program *p = r->out->programs.data[number];
    vy_host_call call = {.callee = number,
                         .tensors = undo ? 2 : 1,
                         .scalars = p->scalars.count,
                         .count = 2,
                         .shapes = shapes_of(r, log)};
    uint32_t *args = vy_reverse_zeroed(r, 2 + (size_t)call.scalars, sizeof *args), pick = 0;
    if (args && call.shapes) {
        args[0] = slice, args[1] = old;
        for (uint32_t k = 0; k < call.scalars; k++) {
            const uint32_t own = vy_program_find_scalar(callee, p->scalars.data[k].name);
            args[call.tensors + k] = vy_primal(r, vy_arg(r->p, log->dispatch, was->tensors + own));
        }
        vy_host_dispatch(r->b, &call, args, &pick);
    }
    vy_free(args);
    return pick;
}

// --------------------------------------------------------------------------------- the forward way
static void take_log(reverse *r, const undo_log *log)
{
    if (!has_contents(r, log)) return;
    vy_tape_locate(r, log->store);
    r->build.map[log->store] =
        log->form ? dispatch(r, log, false, vy_primal(r, log->load), 0) : load_slice(r, log->store);
    if (!r->failed) vy_tape_record(r, log->store);
}

void vy_undo_take_logs(reverse *r, uint32_t id)
{
    const undo_plan *u = &r->plan.undo;
    if (!u->any || r->build.replaying) return;
    for (uint32_t k = u->taken[id]; k && !r->failed; k = u->logs.data[k - 1].next)
        take_log(r, &u->logs.data[k - 1]);
}

void vy_undo_replay_log(reverse *r, uint32_t id)
{
    const undo_log *log = vy_undo_log_of(r, id);
    if (!log || !r->build.replaying) return;
    const uint32_t kept = r->build.purpose == BUILD_PROBE ? 0 : vy_tape_load(r, id);
    r->build.map[id] =
        kept ? kept
             : vy_leaf_other(r->b, VY_LEAF_POISON, vy_undo_type(r, log), id, r->build.replaying);
}

// ------------------------------------------------------------------------------------ the way back
void vy_undo_store(reverse *r, uint32_t id)
{
    const undo_log *log = vy_undo_log_of(r, id);
    uint32_t args[VY_MAX_RANK + 1];
    if (!log || !has_contents(r, log)) return;
    const uint32_t n = map_slice(r, id, args);
    args[n] =
        log->form ? dispatch(r, log, true, load_slice(r, id), r->build.map[id]) : r->build.map[id];
    if (r->failed || vy_builder_failed(r->b)) return;
    vy_emit(r->b, VY_OP_STORE, VY_VOID, r->build.buffers[r->p->insts.data[id].aux].copy, n + 1,
            args);
}

void vy_undo_arrive(reverse *r, uint32_t id)
{
    const undo_plan *u = &r->plan.undo;
    if (!u->any) return;
    for (uint32_t v = u->first[id]; v && !r->failed && !vy_builder_failed(r->b); v = u->next[v]) {
        const built_buffer *b = &r->build.buffers[r->p->insts.data[v].aux];
        if (b->copy && b->stores && !vy_is_taped(r, v)) r->build.map[v] = load_slice(r, v);
    }
}
