// SPDX-License-Identifier: MIT
// forward.h: forward mode: a program that computes tangents beside values.
//
//   y = x * w;                y = x * w;  dot_y = dot_x * w + x * dot_w;
//   t[k] = y;                 t[k] = y;   dot_t[k] = dot_y;
//
// The rows of the table of operations are linear in the adjoint G (ir/core/ops.h), so each is its
// own transpose: read with the tangent of operand k in place of G, contribution k is what that
// operand adds to the tangent of the result.  Nothing is stored and nothing runs backwards: control
// flow, barriers and indices are the primal's.
//
// What the reverse leaves out, forward mode leaves out too, or <ct, J dot> = <Jᵀ ct, dot> would not
// hold: a partial that is zero by convention (abs at 0), the arm of an `if` or the side of a `max`
// that was not taken.  Such a tangent is exactly 0, and 0·inf must not become NaN where it meets
// the partial of sqrt at 0.  unreached.c finds the values whose tangent may be such a zero; where
// one of them meets a partial that may be infinite (vy_rule_is_singular), the product p is
// select(t == 0 && isnan(p), 0, p).  (select(t != 0, p, 0) would be 0 at t = 0 with all its
// derivatives, and the gradient with respect to t wrong there.)
#ifndef VYRE_FORWARD_H
#define VYRE_FORWARD_H

#include "autodiff/core/reverse.h"
#include "ir/build/rewrite.h"

// Makes the forward derivative of r->p out of its copy `p`, a program of r->out, in place.  r: the
// request; `source`: the program as it was written.  False: r->out's diag.
bool vy_forward(reverse *r, vy_program *p, const vy_program *source);

// ---- forward_extremum.c
// Makes stores of the winners of the atomic_min and atomic_max of floats on buffers of p = r->p,
// which is numbered (rewrite/extremum.h).  r: analysed, and the programs that find winners are
// built.  False: r->out's diag.
bool vy_forward_winners(reverse *r, vy_program *p);

// ------------------------------------------------------------------------- between the files here
typedef struct forward {
    vy_rewrite w;
    reverse *r;
    uint32_t *dot;      // by old instruction: its tangent in the new program; 0: none
    uint32_t *leaf_dot; // by old leaf
    uint8_t *unreached; // by old instruction, see unreached.c
    uint32_t *twin;     // by old buffer: holds the tangents of its elements; 0: none
} forward;

static inline bool vy_forward_is_active(const forward *f, uint32_t id)
{
    return vy_is_active(&f->r->facts, id);
}
static inline bool vy_forward_has_twin(const forward *f, uint32_t buffer)
{
    return (f->r->facts.buffers[buffer].activity & ACTIVE) == ACTIVE &&
           vy_type_is_float(f->w.p->buffers.data[buffer].type);
}
// The tangent of a value of the old program; 0: none.
static inline uint32_t vy_forward_dot(const forward *f, uint32_t id)
{
    return VY_IS_LEAF(id) ? f->leaf_dot[VY_LEAF_INDEX(id)] : f->dot[id];
}
// The same as a value.
static inline uint32_t vy_forward_tangent(forward *f, uint32_t id)
{
    const uint32_t t = vy_forward_dot(f, id);
    return t ? t : vy_zero(f->w.b, vy_id_type(f->w.p, id)).id;
}

// ---- forward_custom.c
// A call with the tangents of its results.  Returns its last instruction.
uint32_t vy_forward_apply(forward *f, uint32_t id);
// ---- unreached.c
bool vy_find_unreached(forward *f); // fills f->unreached; false: memory
// ---- forward_params.c
// A workspace of the shape of buffer `like`; where that is of open length it is as long as the
// primal's buffer, which stays a parameter.
uint32_t vy_forward_workspace(const vy_rewrite *w, uint32_t like, const char *name, vy_type type);
bool vy_forward_declare(forward *f); // once the new program is begun; false: an error
// ---- forward_memory.c
void vy_forward_memory(forward *f, uint32_t id); // an access, and that to the twin
// ---- forward_dispatch.c
// A dispatch of a host program with the results that have tangents.  Returns its last PICK; 0: it
// has none, and is copied as it is.
uint32_t vy_forward_dispatch(forward *f, uint32_t id);
void vy_forward_refuse_atomic(reverse *r, uint32_t id, const char *what); // "the result"

#endif
