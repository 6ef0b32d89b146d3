// SPDX-License-Identifier: MIT
// adjoint.h: adjoints and masks of values and of leaves, for the sweeps through control flow.
#ifndef VYRE_ADJOINT_H
#define VYRE_ADJOINT_H

#include "autodiff/core/reverse.h"

static inline void oom(reverse *r)
{
    vy_fail_oom(r->out);
    r->failed = true;
}

static inline uint32_t *adjoint_slot(reverse *r, uint32_t id)
{
    return VY_IS_LEAF(id) ? &r->build.leaf_adjoint[VY_LEAF_INDEX(id)] : &r->build.adjoint[id];
}

static inline uint32_t mask_of(const reverse *r, uint32_t id)
{
    return VY_IS_LEAF(id) ? 0 : r->build.mask[id];
}

static inline bool is_maskable(const reverse *r, uint32_t id)
{
    return !VY_IS_LEAF(id) && r->facts.maskable[id];
}

static inline uint32_t *list_slot(reverse *r, uint32_t id)
{
    return VY_IS_LEAF(id) ? &r->build.leaf_slot[VY_LEAF_INDEX(id)] : &r->build.slot[id];
}

static inline uint32_t or_zero(reverse *r, uint32_t adjoint, uint32_t id)
{
    return adjoint ? adjoint : vy_zero(r->b, vy_id_type(r->p, id)).id;
}

// The adjoint of a half may be f32: adjoints that are carried by a loop or accumulated in an array
// are sums, of which halves lose several per cent.  It stays f32 through multiplications, until it
// reaches a parameter.
static inline bool is_wide(const reverse *r, uint32_t adjoint, uint32_t id)
{
    const vy_program *p = vy_builder_program(r->b);
    return adjoint && vy_id_type(r->p, id) == VY_F16 && vy_id_type(p, adjoint) == VY_F32;
}

static inline uint32_t cast_to(reverse *r, vy_type t, uint32_t v)
{
    return vy_cast(r->b, t, (vy_value){v}).id;
}

static inline uint32_t or_false(reverse *r, uint32_t mask)
{
    return mask ? mask : vy_bool(r->b, false).id;
}

static inline bool any_result_adjoint(const reverse *r, uint32_t end, uint32_t results)
{
    for (uint32_t k = 0; k < results; k++)
        if (r->build.adjoint[end + 1 + k]) return true;
    return false;
}

// Adjoints of local arrays declared in a body that is reversed start from zero each time
// (sweep_control.c).
void vy_clear_local_adjoints(reverse *r, uint32_t home);

#endif
