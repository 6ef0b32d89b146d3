// SPDX-License-Identifier: MIT
// print_store.c: stores, and updates as `x[i] += e`.
#include "ir/text/print.h"

// `load` if it is written inline and loads what store `id` stores to, else 0.
static uint32_t loads_element(const printer *o, uint32_t load, uint32_t id)
{
    const vy_inst *store = &o->p->insts.data[id];
    bool same =
        !VY_IS_LEAF(load) && o->inlined[load] && (vy_op)o->p->insts.data[load].op == VY_OP_LOAD &&
        o->p->insts.data[load].aux == store->aux && o->p->insts.data[load].flags == store->flags;
    uint32_t rank = store->nargs - 1;
    for (uint32_t k = 0; same && k < rank; k++) same = vy_arg(o->p, load, k) == vy_arg(o->p, id, k);
    return same ? load : 0;
}

// `load` that operand k of `value` is, if it loads what store `id` stores to; of a group, all of it
static uint32_t loads_stored(const printer *o, uint32_t value, uint32_t k, uint32_t id)
{
    const uint32_t load = vy_arg(o->p, value, k);
    if (o->lanes[id] && print_group_of(o, value, k) != load) return 0;
    return loads_element(o, load, id);
}

void print_store(printer *o, uint32_t id)
{
    const uint32_t last = o->p->insts.data[id].nargs - 1u, value = vy_arg(o->p, id, last);
    print_indent(o);
    print_element(o, id);
    // x[i] = x[i] + e
    uint32_t load = 0;
    const bool whole = !o->lanes[id] || print_group_of(o, id, last);
    for (uint32_t k = 0; whole && k < 2 && !load; k++)
        if (!VY_IS_LEAF(value) && o->inlined[value] && o->p->insts.data[value].nargs == 2)
            load = loads_stored(o, value, k, id);
    if (!load || !print_compound(o, value, load)) {
        print_str(o, " = ");
        print_operand(o, id, last, 0, true);
    }
    print_str(o, ";\n");
}
