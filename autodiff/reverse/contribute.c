// SPDX-License-Identifier: MIT
// contribute.c: adjoints of values: contributions to them, and their names.
#include "autodiff/core/adjoint.h"
#include "ir/build/build.h"
#include "autodiff/reverse/sweeps.h"

#include <stdio.h>

static uint32_t emit2(reverse *r, vy_op op, vy_type type, uint32_t x, uint32_t y)
{
    return vy_emit(r->b, op, type, 0, 2, (uint32_t[]){x, y});
}

// Inside an arm, changes to adjoints of values defined before it are logged: the end of the `if`
// merges them.
void vy_set_adjoint(reverse *r, uint32_t id, uint32_t adjoint, uint32_t mask)
{
    uint32_t *slot =
        VY_IS_LEAF(id) ? &r->build.leaf_adjoint[VY_LEAF_INDEX(id)] : &r->build.adjoint[id];
    uint32_t *mask_slot = VY_IS_LEAF(id) ? NULL : &r->build.mask[id];
    if (r->build.arm && (VY_IS_LEAF(id) || id < r->build.arm)) {
        reverse_undo u = {id, *slot, mask_slot ? *mask_slot : 0};
        if (!vy_vec_push(&r->build.log, u)) {
            vy_fail_oom(r->out);
            r->failed = true;
            return;
        }
    }
    *slot = adjoint;
    if (mask_slot) *mask_slot = mask;
}

// Adds two adjoints of `id`; the sum of halves is f32 (adjoint.h).
static uint32_t add(reverse *r, uint32_t id, uint32_t x, uint32_t y)
{
    vy_type own = vy_id_type(r->p, id), type = own == VY_F16 ? VY_F32 : own;
    y = cast_to(r, type, y);
    return emit2(r, VY_OP_ADD, type, cast_to(r, type, x), y);
}

void vy_contribute(reverse *r, uint32_t id, uint32_t g, uint32_t edge)
{
    if (!g || !vy_is_active(&r->facts, id)) return;
    uint32_t have =
        VY_IS_LEAF(id) ? r->build.leaf_adjoint[VY_LEAF_INDEX(id)] : r->build.adjoint[id];
    uint32_t mask = VY_IS_LEAF(id) ? 0 : r->build.mask[id];
    const vy_scalar *k = vy_id_const(vy_builder_program(r->b), g);
    if (!VY_IS_LEAF(id) && r->facts.maskable[id]) {
        uint32_t now = edge ? edge : vy_bool(r->b, true).id;
        mask = mask ? emit2(r, VY_OP_OR, VY_BOOL, mask, now) : now;
    }
    // A constant zero contribution is dropped; the difference between −0 and −0 + 0 is
    // unobservable.
    uint32_t sum = have && k && k->f == 0 ? have : have ? add(r, id, have, g) : g;
    vy_set_adjoint(r, id, sum, mask);
}

void vy_name_adjoint(reverse *r, uint32_t adjoint, uint32_t of)
{
    char name[80];
    const char *own = "";
    if (VY_IS_LEAF(of)) {
        const vy_leaf *l = &r->p->leaves.data[VY_LEAF_INDEX(of)];
        if (l->kind == VY_LEAF_SCALAR) own = r->p->scalars.data[l->index].name;
    } else {
        const vy_inst *i = &r->p->insts.data[of];
        own = vy_string(&r->p->module->names, i->name);
        if (!*own && i->op == VY_OP_LOAD) own = vy_buffer_name(r, i->aux);
    }
    snprintf(name, sizeof name, "adj_%.70s", own);
    if (*own) vy_name(r->b, (vy_value){adjoint}, name);
}
