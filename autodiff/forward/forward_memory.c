// SPDX-License-Identifier: MIT
// forward_memory.c: the tangents of what is in memory.
//
// A buffer or array that has a derivative has a twin of its shape.  What happens to an element
// happens to that of the twin: a store of a value without tangent stores 0 there, since it
// overwrites what was there before.
#include "autodiff/forward/forward.h"
#include "ir/core/host.h"

void vy_forward_refuse_atomic(reverse *r, uint32_t id, const char *what)
{
    const char *name = vy_op_infos[r->p->insts.data[id].op].text;
    vy_reverse_fail(r, VY_E_NOT_DIFFERENTIABLE, id,
                    "compute it without, or cut it with stop_grad(…)",
                    "%s of %s depends on the order of invocations and has no derivative", what,
                    name);
}

static uint32_t emit_twin(forward *f, uint32_t id, vy_op op, vy_type type, uint32_t n, uint32_t v)
{
    const vy_inst *i = &f->w.p->insts.data[id];
    const uint32_t rank = op == VY_OP_ZERO ? i->nargs : vy_index_count(f->w.p, id);
    uint32_t args[VY_MAX_RANK + 1];
    vy_new_args(&f->w, id, rank, args);
    if (n) args[rank] = v;
    return vy_emit(f->w.b, op, type, f->twin[i->aux], rank + n, args);
}

void vy_forward_memory(forward *f, uint32_t id)
{
    const vy_program *p = f->w.p;
    const vy_inst *i = &p->insts.data[id];
    const vy_type type = p->buffers.data[i->aux].type;
    vy_rewrite_copy(&f->w, id);
    if (!f->twin[i->aux]) return;
    const uint32_t value =
        i->op == VY_OP_LOAD || i->op == VY_OP_ZERO ? 0 : vy_arg(p, id, vy_index_count(p, id));
    switch ((vy_op)i->op) {
    case VY_OP_LOAD:
        if (vy_forward_is_active(f, id))
            f->dot[id] = emit_twin(f, id, VY_OP_LOAD, (vy_type)i->type, 0, 0);
        return;
    case VY_OP_STORE:
        emit_twin(f, id, VY_OP_STORE, VY_VOID, 1, vy_forward_tangent(f, value));
        return;
    case VY_OP_ZERO: emit_twin(f, id, VY_OP_ZERO, VY_VOID, 0, 0); return;
    case VY_OP_ATOMIC_ADD:
        if (vy_forward_is_active(f, id))
            vy_forward_refuse_atomic(f->r, id, "the old value");
        else if (vy_forward_dot(f, value))
            emit_twin(f, id, VY_OP_ATOMIC_ADD, type, 1, vy_forward_dot(f, value));
        return;
    case VY_OP_ATOMIC_MIN:
    case VY_OP_ATOMIC_MAX: // voted: the winner stores, too (rewrite/extremum_shared.c)
        if (vy_is_contested(p, id))
            vy_forward_refuse_atomic(f->r, id, "the result");
        else if (vy_forward_is_active(f, id))
            vy_forward_refuse_atomic(f->r, id, "the old value");
        return;
    default: vy_forward_refuse_atomic(f->r, id, "the result");
    }
}
