// SPDX-License-Identifier: MIT
// eval_memory.c: loads, stores and atomics, active lanes in ascending order.
//
// Padding lanes (outside the domain) load zero and store nothing.
#include "ir/check/redundant.h"
#include "ir/core/access.h"
#include "ir/eval/eval.h"

#include <string.h>

#define OUTSIDE (-1) // out of range on some axis
#define PADDING (-2)

// The offset of each active lane's element, or why it has none.  Each axis is checked by itself,
// after conversion to signed 64 bits, which is what registers hold.
static void find_offsets(vy_machine *m, const vy_xinst *x, const vy_bound *b)
{
    int64_t *off = m->offsets;
    const uint32_t known = vy_axes_known(m->p, x->inst);
    bool disproved = false;
    VY_EACH_ACTIVE(m, l, off[l] = m->padding[l] ? PADDING : 0;)
    for (uint32_t axis = 0; axis < b->rank; axis++) {
        const vy_scalar *index = vy_reg(m, m->operands[x->args + axis]);
        const uint64_t extent = b->dims[axis];
        VY_EACH_ACTIVE(
            m, l, if (off[l] >= 0) {
                if (index[l].u >= extent) {
                    off[l] = OUTSIDE;
                    disproved |= axis < known;
                } else
                    off[l] = (int64_t)((uint64_t)off[l] * extent + index[l].u);
            })
    }
    if (disproved) vy_mark_out_of_range(m, x);
    if (b->one_owner) vy_mark_access(m, x);
}

// Reports that `what` happened in one lane.
static void note(vy_machine *m, const vy_xinst *x, const vy_bound *b, uint32_t lane,
                 vy_touch_class what)
{
    const int64_t off = m->offsets[lane];
    if (off == OUTSIDE)
        vy_shadow_out_of_range(m, x, lane);
    else if (off >= 0 && (b->touches || b->written))
        vy_shadow_access(m, x, lane, (uint64_t)off, what);
}

static void note_all(vy_machine *m, const vy_xinst *x, const vy_bound *b, vy_touch_class what)
{
    if (!m->report || !(b->touches || b->written || m->options.report_out_of_range)) return;
    VY_EACH_ACTIVE(m, l, note(m, x, b, l, what);)
}

static inline unsigned char *element(const vy_bound *b, uint32_t lane, int64_t off)
{
    return b->data + lane * b->lane_stride + (uint64_t)off * b->size;
}

// One loop per common element type; the others use vy_scalar_read and vy_scalar_write.
#define LOAD_AS(T, field)                                                                          \
    VY_EACH_ACTIVE(m, l, T v = 0; if (off[l] >= 0) memcpy(&v, element(b, l, off[l]), sizeof v);    \
                   d[l].field = v;)
#define STORE_AS(T, field)                                                                         \
    VY_EACH_ACTIVE(m, l, const T v = (T)s[l].field;                                                \
                   if (off[l] >= 0) memcpy(element(b, l, off[l]), &v, sizeof v);)

static void run_load(vy_machine *m, const vy_xinst *x)
{
    const vy_bound *b = &m->bounds[x->aux];
    vy_scalar *d = vy_reg(m, x->dst);
    const int64_t *off = m->offsets;
    find_offsets(m, x, b);
    note_all(m, x, b, VY_TOUCH_READ);
    if (b->dropped) vy_partial_load(m, x, b);
    switch (b->type) {
    case VY_F32: LOAD_AS(float, f); break;
    case VY_F64: LOAD_AS(double, f); break;
    case VY_I32: LOAD_AS(int32_t, i); break;
    case VY_U32: LOAD_AS(uint32_t, u); break;
    default: // the zero of every type has the bits of 0
        VY_EACH_ACTIVE(m, l, d[l].u = 0;
                       if (off[l] >= 0) d[l] = vy_scalar_read(b->type, element(b, l, off[l]));)
        break;
    }
}

static void store(const vy_machine *m, const vy_xinst *x, const vy_bound *b, uint32_t lane)
{
    const vy_scalar *s = vy_reg(m, m->operands[x->args + b->rank]);
    if (m->offsets[lane] >= 0)
        vy_scalar_write(b->type, s[lane], element(b, lane, m->offsets[lane]));
}

// One lane after the other: each report sees what those before have stored.
static void store_in_order(vy_machine *m, const vy_xinst *x, const vy_bound *b)
{
    VY_EACH_ACTIVE(m, l, note(m, x, b, l, VY_TOUCH_WRITE); store(m, x, b, l);)
}

static void run_store(vy_machine *m, const vy_xinst *x)
{
    const vy_bound *b = &m->bounds[x->aux];
    const vy_scalar *s = vy_reg(m, m->operands[x->args + b->rank]);
    const int64_t *off = m->offsets;
    find_offsets(m, x, b);
    if (b->dropped) vy_partial_store(m, x, &m->bounds[x->aux]);
    if (m->redundant && m->redundant[x->inst].same) {
        store_in_order(m, x, b);
        return;
    }
    note_all(m, x, b, VY_TOUCH_WRITE);
    switch (b->type) {
    case VY_F32: STORE_AS(float, f); break;
    case VY_F64: STORE_AS(double, f); break;
    case VY_I32:
    case VY_U32: STORE_AS(uint32_t, u); break;
    default: VY_EACH_ACTIVE(m, l, store(m, x, b, l);) break;
    }
}

// A shared array is cleared by the entire workgroup, padding lanes included: element k by
// invocation k modulo their number.
static void zero_shared(vy_machine *m, const vy_xinst *x, const vy_bound *b)
{
    memset(b->data, 0, b->count * b->size);
    if (b->dropped) vy_partial_zero(m, b);
    if (!m->report || !(b->touches || b->written)) return;
    for (uint64_t place = 0; place < b->count; place++)
        vy_shadow_access(m, x, (uint32_t)(place % m->lanes), place, VY_TOUCH_WRITE);
}

static void run_zero(vy_machine *m, const vy_xinst *x)
{
    const vy_bound *b = &m->bounds[x->aux];
    if (b->cls == VY_SHARED)
        zero_shared(m, x, b);
    else if (b->lane_stride)
        VY_EACH_ACTIVE(m, l, memset(element(b, l, 0), 0, b->lane_stride);)
}

// ----------------------------------------------------------------------------------------- atomics
// args: the operands after the indices.
static vy_scalar atomic_result(const vy_machine *m, const vy_xinst *x, vy_type type, vy_scalar old,
                               vy_scalar v, vy_scalar w)
{
    const vy_scalar args[3] = {old, v, {.u = 0}};
    vy_scalar r = old;
    if (x->op == VY_OP_ATOMIC_EXCHANGE) return v;
    if (x->op == VY_OP_ATOMIC_CAS) return vy_scalar_same(type, old, v) ? w : old;
    vy_scalar_eval(vy_op_plain((vy_op)x->op), type, type, args, 0, m->options.f64, &r);
    return r;
}

static void run_atomic(vy_machine *m, const vy_xinst *x)
{
    const vy_bound *b = &m->bounds[x->aux];
    const vy_type type = (vy_type)x->operand_type;
    const uint32_t values = x->args + b->rank; // atomic_cas: expected, then the new value
    const vy_scalar *v = vy_reg(m, m->operands[values]);
    const vy_scalar *w = vy_reg(m, m->operands[x->op == VY_OP_ATOMIC_CAS ? values + 1 : values]);
    vy_scalar *d = x->type == VY_VOID ? m->scratch : vy_reg(m, x->dst);
    const bool ordered = x->op == VY_OP_ATOMIC_MIN || x->op == VY_OP_ATOMIC_MAX;
    find_offsets(m, x, b);
    // An atomic on an element that its invocation provably owns is not atomic on a device.
    note_all(m, x, b, x->flags & VY_FLAG_OWNED ? VY_TOUCH_WRITE : VY_TOUCH_ATOMIC);
    if (b->dropped) vy_partial_store(m, x, &m->bounds[x->aux]);
    for (uint32_t k = 0; k < m->nact; k++) {
        const uint32_t l = m->act[k];
        vy_scalar old = {.u = 0};
        if (m->offsets[l] >= 0) {
            unsigned char *at = element(b, l, m->offsets[l]);
            old = vy_scalar_read(b->type, at);
            if (b->owner || x->flags & VY_FLAG_ONCE)
                vy_mark_update(m, x, l, (uint64_t)m->offsets[l], old);
            const vy_scalar r = atomic_result(m, x, type, old, v[l], w[l]);
            vy_scalar_write(b->type, r, at);
            if (ordered && m->hooks->path_hash) vy_path_mix(m, x, l, vy_scalar_same(type, old, r));
        }
        d[l] = old;
    }
}

vy_handler vy_eval_memory(vy_op op)
{
    switch (op) {
    case VY_OP_LOAD: return run_load;
    case VY_OP_STORE: return run_store;
    case VY_OP_ZERO: return run_zero;
    default: return run_atomic;
    }
}
