// SPDX-License-Identifier: MIT
// structure.c: which markers pair up and which enclose an instruction, as side tables.
//
// Programs are one array with paired markers; most passes need to jump from an IF to its ELSE or to
// know the loop around an instruction.  Searching the array each time would be quadratic, and
// fields in the instruction would go stale with every rebuild.
//
//   1 LOOP        partner 4   parent 0   depth 0
//   2   CARRY             0          1         1
//   3   add               0          1         1
//   4 ENDLOOP             1          0         0
//   5 RESULT              0          0         0
//
// Needs markers that pair up, which the checker ensures.
#include "ir/core/ir.h"

#include <assert.h>
#include <string.h>

// Enters instruction `id` as a child of the opener `top`.
static void place(vy_structure *s, uint32_t id, uint32_t top)
{
    s->parent[id] = top;
    s->depth[id] = top ? s->depth[top] + 1 : 0;
}

bool vy_structure_make(const vy_program *p, vy_structure *s)
{
    size_t n = p->insts.count ? p->insts.count : 1;
    // Partners and tests are zero but for markers: what is not touched takes no memory.
    uint32_t *block = vy_zeroed(4 * n * sizeof *block);
    *s = (vy_structure){0};
    if (!block) return false;
    *s = (vy_structure){block, block + 2 * n, block + 3 * n, block + n, 0, p->insts.count};
    // The open markers form a list through `parent`, so no stack is needed.  `last` is the marker
    // that the next one of the construct is paired with: the IF or its ELSE, the LOOP.
    uint32_t top = 0, inside = 0; // `inside`: the depth of what `top` encloses
    for (uint32_t id = 1; id < p->insts.count; id++) {
        vy_op op = (vy_op)p->insts.data[id].op;
        if (vy_op_infos[op].effect != VY_CTRL) { // almost all
            s->parent[id] = top;
            s->depth[id] = inside;
            continue;
        }
        if (vy_op_opens(op)) {
            place(s, id, top);
            top = id;
        } else if (op == VY_OP_ELSE) {
            place(s, id, s->parent[top]);
            s->partner[top] = id;
        } else if (op == VY_OP_TEST) {
            place(s, id, top);
            s->partner[id] = top;
            s->test[top] = id;
        } else if (vy_op_closes(op)) {
            place(s, id, s->parent[top]);
            uint32_t from = op == VY_OP_ENDIF ? s->partner[top] : top;
            s->partner[from] = id;
            s->partner[id] = top;
            top = s->parent[top];
        } else {
            place(s, id, top);
        }
        inside = top ? s->depth[top] + 1 : 0;
        if (inside > s->deepest) s->deepest = inside;
    }
    return true;
}

void vy_structure_free(vy_structure *s)
{
    vy_free(s->partner);
    *s = (vy_structure){0};
}

#ifdef VY_CHECKS
// Is it what would be made now?
static bool is_right(const vy_program *p, const vy_structure *s)
{
    vy_structure now;
    const size_t n = p->insts.count;
    if (!vy_structure_make(p, &now)) return true; // out of memory
    const bool same = !memcmp(now.partner, s->partner, 4 * n * sizeof *s->partner);
    vy_structure_free(&now);
    return same;
}
#endif

bool vy_structure_take(vy_program *p, vy_structure *s)
{
    if (!p->kept.partner || p->kept.count != p->insts.count) return vy_structure_make(p, s);
    *s = p->kept;
    p->kept = (vy_structure){0};
#ifdef VY_CHECKS
    assert(is_right(p, s) && "the code was changed in place");
#endif
    return true;
}

void vy_structure_keep(vy_program *p, vy_structure *s)
{
    vy_structure_free(&p->kept);
    p->kept = *s;
    *s = (vy_structure){0};
}
