// SPDX-License-Identifier: MIT
// component_finder.c: what a member is, and is compared by; who is in which group.
#include "ir/facts/component_finder.h"

#include "ir/build/edit.h"

typedef vy_component_finder finder;

static const vy_inst *inst(const finder *f, uint32_t id) { return &f->p->insts.data[id]; }

// The complete group that a value is in; 0: none.
uint32_t vy_component_group(const finder *f, uint32_t a)
{
    const uint32_t g = VY_IS_LEAF(a) ? 0 : f->c->group[a];
    return g && f->c->groups.data[g].complete ? g : 0;
}

bool vy_component_computed(const finder *f, uint32_t id)
{
    const vy_inst *i = inst(f, id);
    const vy_op_info *info = &vy_op_infos[i->op];
    const bool fits = info->rule == VY_RULE_F || info->rule == VY_RULE_N ||
                      info->rule == VY_RULE_I || i->op == VY_OP_SELECT;
    return fits && info->effect == VY_PURE && i->nargs <= 3 && i->type != VY_BOOL;
}

// Operands that every member has alike: the indices of a row but the last.
uint32_t vy_component_row_indices(const finder *f, uint32_t id)
{
    return f->p->buffers.data[inst(f, id)->aux].rank - 1;
}

// What stands for operand k in the comparison of members; constants of computations are alike.
uint64_t vy_component_operand(const finder *f, uint32_t id, uint32_t k, bool row)
{
    const uint32_t a = vy_arg(f->p, id, k);
    const vy_inst *i = inst(f, id);
    if (row) return k < vy_component_row_indices(f, id) ? a : 0;
    if (vy_op_is_memory((vy_op)i->op) && k + 1 < i->nargs) return 0; // where it is stored
    if (vy_component_group(f, a)) return 1ull << 32 | vy_component_group(f, a);
    const vy_vector_param *v = vy_vector_param_of(f->p, f->params, a);
    if (v) return 3ull << 32 | v->first;
    return vy_id_const(f->p, a) ? 2ull << 32 : a;
}

// Operands of operations that commute are in the order of their definition, which need not be the
// same for all components.
bool vy_component_exchanged(const finder *f, uint32_t id, bool row)
{
    const vy_inst *i = inst(f, id);
    return !row && i->nargs == 2 && vy_op_commutes((vy_op)i->op) &&
           vy_component_operand(f, id, 0, row) > vy_component_operand(f, id, 1, row);
}

void vy_component_leave(finder *f, uint32_t id)
{
    if (f->c->group[id]) f->c->groups.data[f->c->group[id]].member[f->c->component[id]] = 0;
    f->c->group[id] = 0;
}

bool vy_component_enter(finder *f, uint32_t id, uint32_t number, uint32_t k)
{
    vy_group *g = &f->c->groups.data[number];
    g->member[k] = id;
    f->c->group[id] = number;
    f->c->component[id] = (uint8_t)k;
    for (uint32_t j = 0; j < g->size; j++)
        if (!g->member[j]) return true;
    g->complete = true;
    return vy_vec_push(&f->done, number);
}
