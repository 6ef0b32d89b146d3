// SPDX-License-Identifier: MIT
// uniform.c: which values are the same in every lane of a workgroup, padding lanes included.
//
// Two questions.  *alike*: the same in whatever a device runs together, which includes lanes that are no
// invocations at all (a row of a workgroup that does not fill the device's vector) and whose loads give what
// they like; so nothing loaded is alike.  It decides which loops all lanes leave together (emit_control.c).
// *uniform* trusts loads:
//
// Where a program has barriers or subgroup operations, lanes outside the domain stay alive and
// their loads give zero.  Taken literally that is a trap: in `for k in 0..count[0] { … barrier();
// }` the padding lanes would read a count of zero and miss the barrier.  So a load of an `in`
// buffer at a uniform index is carried out by padding lanes too; such a value may decide control
// flow around barriers (the checker's rule), and nothing else of a padding lane is ever seen.
//
// Optimistic: everything starts uniform and is lowered until nothing changes, so that carried
// values of uniform loops stay uniform.
#include "spirv/facts/facts.h"
#include "spirv/facts/facts.h"

#include <string.h>

#define MAX_PASSES 64 // chains of carried values that long are given up as not uniform

static bool leaf_uniform(const vy_program *p, uint32_t id)
{
    const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(id)];
    if (l->kind == VY_LEAF_OVER) return false;
    if (l->kind != VY_LEAF_BUILTIN) return true;
    return l->index == VY_WID || l->index == VY_NUM_GROUPS || l->index == VY_SUBGROUP_SIZE;
}

static bool is_uniform(const vy_program *p, const bool *u, uint32_t id)
{
    return VY_IS_LEAF(id) ? leaf_uniform(p, id) : u[id];
}

static bool args_uniform(const vy_program *p, const bool *u, uint32_t i, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if (!is_uniform(p, u, vy_arg(p, i, k))) return false;
    return true;
}

// The k-th carried value: the loop's control, its initial and its next value.
static bool carried(const vy_program *p, const vy_structure *s, const bool *u, uint32_t loop,
                    uint32_t k)
{
    uint32_t end = s->partner[loop];
    uint32_t init = k + (p->insts.data[loop].op == VY_OP_LOOP ? 3 : 0);
    uint32_t next = k + (p->insts.data[loop].flags & VY_FLAG_EXIT ? 1 : 0);
    return u[loop] && is_uniform(p, u, vy_arg(p, loop, init)) &&
           is_uniform(p, u, vy_arg(p, end, next));
}

static bool result(const vy_program *p, const vy_structure *s, const bool *u, uint32_t i)
{
    uint32_t end = vy_arg(p, i, 0), k = p->insts.data[i].aux, opener = s->partner[end];
    if (p->insts.data[end].op == VY_OP_ENDLOOP) return carried(p, s, u, opener, k);
    if (!is_uniform(p, u, vy_arg(p, end, k))) return false;
    if (p->insts.data[end].op != VY_OP_ENDIF) return true;
    return u[opener] && is_uniform(p, u, vy_arg(p, s->partner[opener], k));
}

static bool evaluate(const vy_program *p, const vy_structure *s, bool *u, bool loads, uint32_t i)
{
    const vy_inst *in = &p->insts.data[i];
    switch ((vy_op)in->op) {
    case VY_OP_IF: return args_uniform(p, u, i, 1);
    case VY_OP_LOOP: return u[i] && args_uniform(p, u, i, 3);
    case VY_OP_WHILE: return u[i];
    case VY_OP_TEST:
        if (!args_uniform(p, u, i, 1)) u[s->partner[i]] = false;
        return u[s->partner[i]];
    case VY_OP_ENDLOOP: {
        uint32_t loop = s->partner[i];
        if (p->insts.data[loop].flags & VY_FLAG_EXIT && !args_uniform(p, u, i, 1)) u[loop] = false;
        return u[loop];
    }
    case VY_OP_CARRY: return carried(p, s, u, vy_arg(p, i, 0), in->aux);
    case VY_OP_RESULT: return result(p, s, u, i);
    case VY_OP_LOAD:
        return loads && p->buffers.data[in->aux].cls == VY_IN && args_uniform(p, u, i, in->nargs);
    default: return vy_op_infos[in->op].effect == VY_PURE && args_uniform(p, u, i, in->nargs);
    }
}

bool *vy_uniform_make(const vy_program *p, bool loads)
{
    vy_structure s;
    uint32_t n = p->insts.count;
    if (!vy_structure_make(p, &s)) return NULL;
    bool *u = vy_realloc(NULL, n + 1), changed = true;
    if (u) memset(u, 1, n + 1);
    for (int pass = 0; u && changed; pass++) {
        changed = false;
        for (uint32_t i = 1; i < n; i++) {
            if (!u[i]) continue;
            bool stays = evaluate(p, &s, u, loads, i);
            if (pass > MAX_PASSES && p->insts.data[i].op == VY_OP_CARRY) stays = false;
            if (stays) continue;
            u[i] = false;
            changed = true;
        }
    }
    vy_structure_free(&s);
    return u;
}
