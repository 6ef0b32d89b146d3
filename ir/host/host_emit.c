// SPDX-License-Identifier: MIT
// host_emit.c: instructions of host programs that are not shared, dispatches first of all.
#include "ir/build/build.h"
#include "ir/host/host_build.h"

uint32_t vy_host_append(vy_builder *b, vy_op op, vy_type type, uint32_t buffer, uint32_t nargs,
                        const uint32_t *args)
{
    if (vy_builder_failed(b)) return 0;
    const vy_inst inst = {.op = (uint16_t)op, .type = (uint8_t)type, .nargs = nargs, .aux = buffer};
    if (vy_op_infos[op].effect == VY_WRITE) return vy_emit(b, op, type, buffer, nargs, args);
    return vy_append(b, inst, args, 0);
}

uint32_t vy_host_dispatch(vy_builder *b, const vy_host_call *call, const uint32_t *args,
                          uint32_t *picks)
{
    if (vy_builder_failed(b)) return 0;
    const uint32_t nargs = call->tensors + call->scalars + (call->groups ? 3 : 0) + call->extents;
    vy_host_call *kept = vy_arena_alloc(&b->m->arena, sizeof *kept);
    if (!kept || !vy_vec_push(&b->p->calls, kept)) {
        vy_build_oom(b);
        return 0;
    }
    *kept = *call;
    const uint32_t d =
        vy_host_append(b, VY_OP_DISPATCH, VY_F32, b->p->calls.count - 1, nargs, args);
    const vy_program *p = vy_host_callee(b->m, call);
    for (uint32_t i = 1, n = 0, k = 0; i < p->buffers.count; i++) {
        const vy_buf *buf = &p->buffers.data[i];
        if (!vy_pipe_binds(buf)) continue;
        if (vy_host_gives(buf)) {
            picks[k] = vy_host_append(b, VY_OP_PICK, call->shapes[n].type, k, 1, &d);
            k++;
        }
        n++;
    }
    return vy_builder_failed(b) ? 0 : d;
}
