// SPDX-License-Identifier: MIT
// coarsen_price.c: what an instruction of one invocation costs, for coarsen.c.
//
// The prices are those of a CPU's lanes (ir/facts/price.h), and one that a table by operation
// cannot state:
//
//   atomic_add(g[c], v)    where g[c] is the same element for a row of invocations: a sum over the
//                          lanes, and one lane's loop of compare and exchange, which takes as long
//                          as 30 operations (docs/performance.md, "Rows that miss goals")
//
// Without it a loop that adds to a gradient of weights seems to be made of its loads alone, and to
// gain little where copies make one addition.  On a GPU, where it was not measured, an addition
// costs what the table says.  Nor do iterations of loops have a price: with one of 8 the choice for
// matmul's gradient changes, whose times differ by less than the noise.
#include "ir/facts/price.h"
#include "ir/pass/device/coarsen.h"

double vy_price_of_copy(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    const vy_price *price = vy_price_of((vy_op)i->op);
    if (i->op == VY_OP_LOAD && !(i->flags & VY_FLAG_INRANGE)) return price->cpu + VY_PRICE_CHECK;
    return vy_type_is_float((vy_type)i->type) ? price->cpu : price->cpu_whole;
}

// Floats: integers are added by one instruction.
bool vy_adds_for_all_lanes(const vy_program *p, uint32_t id, uint8_t along, uint32_t axes)
{
    const vy_inst *i = &p->insts.data[id];
    return i->op == VY_OP_ATOMIC_ADD && vy_type_is_float((vy_type)i->type) && axes &&
           !(along >> (axes - 1) & 1);
}

uint32_t vy_blocks_of_copy(const vy_inst *i)
{
    if (i->op == VY_OP_IF) return 2;
    if (vy_is_loop((vy_op)i->op)) return 3;
    return vy_op_is_memory((vy_op)i->op) && !(i->flags & VY_FLAG_INRANGE) ? 2 : 0;
}

uint64_t vy_local_elements(const vy_program *p, uint32_t buffer)
{
    const vy_buf *b = &p->buffers.data[buffer];
    uint64_t n = b->cls == VY_LOCAL;
    for (uint32_t k = 0; k < b->rank; k++) n *= (uint64_t)p->dims.data[b->dims[k].id].value;
    return n;
}
