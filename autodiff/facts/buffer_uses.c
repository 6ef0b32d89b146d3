// SPDX-License-Identifier: MIT
// buffer_uses.c: where each buffer is written and loaded, and where local arrays are cleared.
#include "autodiff/facts/facts.h"

// The innermost loop or checkpoint around both; an inner construct has a higher id than an outer.
static uint32_t common_scope(const grad_facts *f, uint32_t a, uint32_t b)
{
    while (a != b)
        if (a > b)
            a = f->scope[a];
        else
            b = f->scope[b];
    return a;
}

// An array that is used before it is cleared, or outside the loop that clears it (`local a: f32[3]
// undefined;`), is treated as also cleared at the beginning, or in the scope around both.
static void widen_home(const grad_facts *f, buffer_facts *info, uint32_t scope)
{
    uint32_t home = info->clears ? common_scope(f, info->home, scope) : 0;
    info->clears += !info->clears || home != info->home;
    info->home = home;
}

// Lists the local arrays of each loop and checkpoint, in their order.
static void list_locals(grad_facts *f)
{
    for (uint32_t i = f->p->buffers.count; i-- > 1;) {
        buffer_facts *info = &f->buffers[i];
        if (f->p->buffers.data[i].cls != VY_LOCAL) continue;
        info->next = f->locals[info->home];
        f->locals[info->home] = i;
    }
}

void vy_buffer_uses(grad_facts *f)
{
    for (uint32_t id = 1; id < f->p->insts.count; id++) {
        const vy_inst *i = &f->p->insts.data[id];
        if (!vy_op_is_memory((vy_op)i->op)) continue;
        buffer_facts *info = &f->buffers[i->aux];
        if (i->op == VY_OP_ZERO) // unrolling may have duplicated it
            info->home = info->clears++ ? common_scope(f, info->home, f->scope[id]) : f->scope[id];
        else if (f->p->buffers.data[i->aux].cls == VY_LOCAL)
            widen_home(f, info, f->scope[id]);
        if (i->op == VY_OP_LOAD) {
            info->loaded = true;
            info->read |= !f->adds[id];
            info->sites += vy_is_active(f, id);
        } else {
            if (!info->first_write) info->first_write = id;
            info->last_write = id;
        }
        const vy_buf *buf = &f->p->buffers.data[i->aux];
        bool active = (info->activity & ACTIVE) == ACTIVE && vy_type_is_float(buf->type);
        if (!active || !vy_is_contested(f->p, id)) continue;
        info->extremum = true;
        info->events |= vy_candidate_number(f->p, id) != 0;
    }
    list_locals(f);
    // Loads that certainly see the initial contents.
    for (uint32_t i = 1; i < f->p->buffers.count; i++) f->buffers[i].early = true;
    for (uint32_t id = 1; id < f->p->insts.count; id++) {
        const vy_inst *i = &f->p->insts.data[id];
        if (i->op != VY_OP_LOAD) continue;
        uint32_t last = id;
        for (uint32_t l = f->home[id]; l; l = f->home[l]) last = f->s.partner[l];
        buffer_facts *info = &f->buffers[i->aux];
        if (info->first_write && info->first_write < last) info->early = false;
    }
}

void vy_find_phased(grad_facts *f)
{
    bool barrier = false, visible = false;
    for (uint32_t id = 1; id < f->p->insts.count; id++)
        barrier |= f->p->insts.data[id].op == VY_OP_BARRIER;
    for (uint32_t i = 1; i < f->p->buffers.count; i++) {
        vy_buffer_class cls = f->p->buffers.data[i].cls;
        bool active = (f->buffers[i].activity & ACTIVE) == ACTIVE;
        visible |= cls == VY_SHARED || (active && (cls == VY_OUT || cls == VY_INOUT));
        f->phased |= cls == VY_SHARED && active; // its adjoint is cleared by all
    }
    f->phased |= barrier && visible;
}
