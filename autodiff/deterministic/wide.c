// SPDX-License-Identifier: MIT
// wide.c: gradients of half floats that are summed in memory are summed as f32 and rounded once.
//
//   program f_grad(w: in f16[M], idx, x, grad_w: out f16[M])
//   { atomic_add(grad_w[idx[i]], x[i]); }
//               →   f_sums(idx, x, sums_grad_w: f32[M])
//                   { atomic_add(sums_grad_w[idx[i]], f32(x[i])); }
//                   f_total_grad_w(sums_grad_w, grad_w)
//                   { grad_w[i] = f16(sums_grad_w[i]); }
//
// A half has 11 bits: from 2,048 on a sum no longer sees a term of 1, so a bias over 3,000 rows
// is several per cent off.  f32 takes twice the memory for the sums, and its atomics are the
// ones that devices have; those of halves are loops of compare-and-swap.  The rewriting is that of
// sums with an order (deterministic.c); here it is for buffers of half floats alone, and additions
// stay atomics.
//
// An invocation that adds to elements of its own in a loop needs this, too, unless each iteration
// has elements of its own.  Where the sums have an order (deterministic.c), only this case is done
// here.
//
// Buffers of the program's own, and those that other atomics change or whose old values are used,
// are left alone.
#include "autodiff/deterministic/ordering.h"
#include "autodiff/core/reverse.h"
#include "autodiff/deterministic/sums.h"

#include <string.h>

bool vy_wide_find(reverse *r, const vy_program *p, vy_adjoint_buffers *names)
{
    const uint32_t buffers = r->p->buffers.count, leaves = r->p->leaves.count;
    bool *holds = vy_arena_alloc(&r->out->arena, r->out->links + 1);
    if (!holds) {
        vy_fail_oom(r->out);
        return false;
    }
    for (uint32_t i = 0; i < buffers + leaves; i++) {
        uint32_t id = i < buffers ? r->build.buffers[i].adjoint : r->build.leaf_grad[i - buffers];
        if (id) holds[p->buffers.data[id].link] = true;
    }
    names->holds = holds;
    names->count = r->out->links + 1;
    return true;
}

static bool can_widen(const vy_ordering *o, uint32_t buffer)
{
    const vy_buf *b = &o->w.p->buffers.data[buffer];
    return vy_is_global(b->cls) && !b->view_of && b->link < o->wide->count &&
           o->wide->holds[b->link];
}

// Among elements that one invocation owns only those that several iterations of a loop may add to.
static void choose_added(vy_ordering *o)
{
    const vy_program *p = o->w.p;
    for (uint32_t id = 1, loops = 0; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        loops += vy_is_loop((vy_op)i->op);
        loops -= i->op == VY_OP_ENDLOOP;
        if (!vy_adds_halves(p, id) || !can_widen(o, i->aux)) continue;
        const vy_strength s = vy_strength_of(p, id);
        if (s == VY_STRENGTH_ATOMIC ? !o->wide->own : loops && s == VY_STRENGTH_OWNED)
            o->use[i->aux] = VY_USE_ADDED;
    }
}

void vy_wide_choose(vy_ordering *o)
{
    const vy_program *p = o->w.p;
    const uint32_t *uses = vy_rewrite_uses(&o->w);
    if (!uses) return;
    choose_added(o);
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (!vy_op_is_memory((vy_op)i->op) || !o->use[i->aux]) continue;
        if (vy_op_is_atomic((vy_op)i->op) && (uses[id] || !vy_adds_halves(p, id)))
            o->use[i->aux] = 0;
        else if (!vy_op_is_atomic((vy_op)i->op))
            o->use[i->aux] |= VY_USE_PLAIN;
    }
}

vy_buffer vy_wide_declare(const vy_ordering *o, vy_builder *b, vy_buffer_class cls, uint32_t id,
                          const char *name)
{
    const vy_buf *of = &o->w.p->buffers.data[id];
    vy_dim dims[VY_MAX_RANK];
    memcpy(dims, of->dims, of->rank * sizeof *dims);
    if (o->w.p->dims.data[dims[0].id].op == VY_DIM_UNKNOWN) // as long as the buffer is
        dims[0] = cls == VY_INOUT ? vy_dim_binary(b, VY_DIM_MAX, dims[0], vy_dim_const(b, 0))
                                  : vy_dim_unknown(b);
    return vy_param_buffer(b, name, cls, VY_F32, of->rank, dims);
}

// A half as f32: the f32 that was rounded to it, if there is one.
static vy_value as_f32(vy_builder *b, vy_value v)
{
    const vy_program *p = vy_builder_program(b);
    bool rounded =
        !vy_builder_failed(b) && !VY_IS_LEAF(v.id) && p->insts.data[v.id].op == VY_OP_CAST;
    if (rounded && vy_id_type(p, vy_arg(p, v.id, 0)) == VY_F32)
        return (vy_value){vy_arg(p, v.id, 0)};
    return vy_cast(b, VY_F32, v);
}

bool vy_wide_cast(vy_ordering *o, uint32_t id)
{
    const vy_inst *i = &o->w.p->insts.data[id];
    uint32_t from = i->op == VY_OP_CAST && i->type == VY_F32 ? vy_arg(o->w.p, id, 0) : 0;
    if (!o->wide || !from || VY_IS_LEAF(from)) return false;
    const vy_inst *load = &o->w.p->insts.data[from];
    if (load->op != VY_OP_LOAD || !(o->use[load->aux] & VY_USE_ADDED)) return false;
    o->w.map[id] = as_f32(o->w.b, (vy_value){o->w.map[from]}).id;
    return true;
}

void vy_wide_add(vy_builder *b, vy_buffer sums, const vy_value *at, vy_value v, bool owned)
{
    vy_value old = vy_atomic(b, "add", sums, at, as_f32(b, v));
    if (owned) vy_emit_flags(b, old.id, vy_strength_flags(VY_STRENGTH_OWNED));
}

vy_value vy_wide_total(vy_builder *b, vy_buffer sums, const vy_value *at, vy_value held)
{
    vy_value sum = vy_load(b, sums, at);
    if (held.id) sum = vy_add(b, vy_cast(b, VY_F32, held), sum);
    return vy_cast(b, VY_F16, sum);
}
