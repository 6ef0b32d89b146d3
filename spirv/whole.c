// SPDX-License-Identifier: MIT
// whole.c: domains that must fill their workgroups.
//
//   shared t: f32[16, 16];
//   t[lid.y, lid.x] = a[i, k0 + lid.x];  barrier();       workgroup(16, 16) over(i: M, j: N)
//   for k in 0..16 { s += t[lid.y, k] * …; }
//
// Invocations outside of the domain do nothing, so where N is no multiple of 16 nobody fills the columns that the
// last workgroup's invocations outside would have stored, and all inside read them: whatever was there before.
// The interpreter sees that (ir/eval_partial.c).  A device cannot, so plans check the sizes, where it is certain:
// a shared array is written, on some axis, at lid of one of the domain's axes only; and read, by every
// invocation that comes by, at an index up to `reach` on that axis.  Then a last workgroup with n of W invocations
// on it is refused if 0 < n <= reach.  Nothing is claimed of reads under a condition, or of other indices.
#include "spirv/emit.h"

#include <string.h>

#define NO_AXIS 3u

typedef struct wholes {
    const vy_program *p;
    vy_structure s;
    uint8_t *
        axis; // [buffer · VY_MAX_RANK + k]: 1 + the lid axis at which all writes stand; 0: none yet; 9: several
} wholes;

static uint32_t lid_axis(const vy_program *p, uint32_t id)
{
    const uint32_t *w = p->workgroup;
    if (!VY_IS_LEAF(id)) return NO_AXIS;
    const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(id)];
    if (l->kind != VY_LEAF_BUILTIN) return NO_AXIS;
    if (l->index == VY_LID) return l->axis < 3 ? l->axis : NO_AXIS;
    return l->index == VY_LINDEX && w[1] == 1 && w[2] == 1 ? 0 : NO_AXIS;
}

static void note_write(wholes *w, uint32_t id)
{
    const vy_inst *i = &w->p->insts.data[id];
    uint8_t *axis = w->axis + (size_t)i->aux * VY_MAX_RANK;
    for (uint32_t k = 0; k < w->p->buffers.data[i->aux].rank; k++) {
        const uint32_t a = i->op == VY_OP_ZERO ? NO_AXIS : lid_axis(w->p, vy_arg(w->p, id, k));
        axis[k] = a == NO_AXIS || (axis[k] && axis[k] != a + 1) ? 9 : (uint8_t)(a + 1);
    }
}

// The largest index that this operand takes for certain, for each invocation that comes by; −1: none.
static int64_t reach_of(const vy_program *p, uint32_t id)
{
    const vy_scalar *k = vy_id_const(p, id);
    if (k) return k->i;
    if (VY_IS_LEAF(id) || p->insts.data[id].op != VY_OP_LOOP) return -1;
    const vy_scalar *from = vy_id_const(p, vy_arg(p, id, 0)),
                    *to = vy_id_const(p, vy_arg(p, id, 1)),
                    *step = vy_id_const(p, vy_arg(p, id, 2));
    if (!from || !to || !step || step->i <= 0 || from->i < 0 || to->i <= from->i) return -1;
    return from->i + (to->i - 1 - from->i) / step->i * step->i;
}

// Around the load only loops that nobody leaves early.
static bool unconditional(const wholes *w, uint32_t id)
{
    for (uint32_t up = w->s.parent[id]; up; up = w->s.parent[up]) {
        const vy_inst *i = &w->p->insts.data[up];
        if (i->op != VY_OP_CHECKPOINT && (i->op != VY_OP_LOOP || i->flags & VY_FLAG_EXIT))
            return false;
    }
    return true;
}

static void note_read(const wholes *w, uint32_t id, vy_whole *out)
{
    const vy_program *p = w->p;
    const vy_inst *i = &p->insts.data[id];
    const uint8_t *axis = w->axis + (size_t)i->aux * VY_MAX_RANK;
    if (!unconditional(w, id)) return;
    for (uint32_t k = 0; k < i->nargs; k++) {
        const int64_t reach = reach_of(p, vy_arg(p, id, k));
        const vy_dim_node *extent = &p->dims.data[p->buffers.data[i->aux].dims[k].id];
        const uint32_t a = axis[k] - 1u;
        if (axis[k] == 0 || axis[k] > 3 || reach <= 0 || reach >= (int64_t)p->workgroup[a])
            continue;
        if (extent->op != VY_DIM_CONST || reach >= extent->value) continue;
        if (reach > out[a].reach) out[a] = (vy_whole){reach, i->aux};
    }
}

bool vy_find_wholes(const vy_program *p, vy_whole out[3])
{
    wholes w = {.p = p};
    bool shared = false;
    memset(out, 0, 3 * sizeof *out);
    for (uint32_t b = 1; b < p->buffers.count; b++) shared |= p->buffers.data[b].cls == VY_SHARED;
    if (!shared || !p->overs.count) return true;
    const size_t size = (size_t)p->buffers.count * VY_MAX_RANK;
    w.axis = vy_realloc(NULL, size);
    if (!w.axis) return false;
    memset(w.axis, 0, size);
    if (!vy_structure_make(p, &w.s)) return vy_free(w.axis), false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        const bool memory =
            vy_op_is_memory((vy_op)i->op) && p->buffers.data[i->aux].cls == VY_SHARED;
        if (memory && i->op != VY_OP_LOAD) note_write(&w, id);
    }
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (i->op == VY_OP_LOAD && p->buffers.data[i->aux].cls == VY_SHARED) note_read(&w, id, out);
    }
    vy_structure_free(&w.s);
    vy_free(w.axis);
    return true;
}
