// SPDX-License-Identifier: MIT
// quiet.c: see quiet.h.
//
//   shared total: u32[1];               some invocation has found the sum of all lanes
//   barrier();
//   if total[0] == n { … barrier(); }   which all read, and leave the loop together
//
// All invocations reach a barrier together, or the program is refused.  So those of a workgroup
// are always in one phase, and what can be written in a phase is known of each (ir/core/phases.h).
//
// Not in a program with a domain: what invocations that pad it load is zero (language.md, 3.3).
#include "ir/check/quiet.h"
#include "ir/core/phases.h"

enum { MOST_MEMORIES = 64 }; // bits of a set of phases.h; loads of others are not quiet

static uint32_t memory_of(const vy_program *p, uint32_t buffer)
{
    const uint32_t of = p->buffers.data[buffer].view_of;
    return of ? of : buffer;
}

// Shared memory that an instruction loads from or writes to, or 0.
static uint32_t shared_of(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    if (!vy_op_is_memory((vy_op)i->op) && i->op != VY_OP_ZERO) return 0;
    const uint32_t memory = memory_of(p, i->aux);
    return p->buffers.data[memory].cls == VY_SHARED ? memory : 0;
}

// Gives numbers from 1 to memories that are loaded from.  False: there are none.
static bool number_memories(const vy_program *p, uint32_t *number)
{
    uint32_t n = 0;
    bool barriers = false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_op op = (vy_op)p->insts.data[id].op;
        const uint32_t memory = op == VY_OP_LOAD ? shared_of(p, id) : 0;
        barriers |= op == VY_OP_BARRIER;
        if (memory && !number[memory] && n < MOST_MEMORIES) number[memory] = ++n;
    }
    return n && barriers;
}

static uint64_t bit_of(const uint32_t *number, uint32_t memory)
{
    return number[memory] ? UINT64_C(1) << (number[memory] - 1) : 0;
}

bool vy_find_quiet(const vy_program *p, const vy_structure *s, vy_arena *arena, uint8_t **quiet)
{
    *quiet = NULL;
    if (p->overs.count || p->host) return true;
    uint32_t *number = vy_arena_alloc(arena, p->buffers.count * sizeof *number);
    if (!number || !number_memories(p, number)) return number != NULL;
    vy_phases f;
    uint8_t *found = vy_arena_alloc(arena, p->insts.count);
    if (!found || !vy_phases_make(&f, p, s, arena)) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const uint32_t memory = shared_of(p, id);
        if (memory && p->insts.data[id].op != VY_OP_LOAD)
            f.touch[id].stores = bit_of(number, memory);
    }
    vy_phases_find(&f);
    vy_phases_fill(&f);
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const uint64_t bit =
            p->insts.data[id].op == VY_OP_LOAD ? bit_of(number, shared_of(p, id)) : 0;
        found[id] = bit && !(f.phase[id].stores & bit);
    }
    *quiet = found;
    return true;
}
