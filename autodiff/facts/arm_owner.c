// SPDX-License-Identifier: MIT
// arm_owner.c: loads whose derivative is used only in an arm in which the invocation also stores to
// the element, as in the steps of a sorting network.
//
//   let a = s[k];  let b = s[k ^ h];          if c {
//   let c = a > b;                                let x = adj_s[k];  let y = adj_s[k ^ h];
//   if c {                              →         adj_s[k] = 0.0;  adj_s[k ^ h] = 0.0;
//       s[k] = b;  s[k ^ h] = a;                  adj_s[k] += y;  adj_s[k ^ h] += x;
//   }                                         }
//
// Where the arm is taken no other invocation touches the element in the phase, or the primal would
// have a race.  Where it is not, others may have loaded the element too, but the derivative is 0,
// and nothing is added: the addition is put under the condition (reverse/sweep_memory.c).
#include "autodiff/facts/facts.h"
#include "ir/core/flow.h"

typedef struct arm {
    const grad_facts *f;
    uint32_t opener; // an IF
    bool then;
} arm;

static bool is_in(const arm *a, uint32_t id)
{
    return a->opener < id && id < vy_closer(a->f->p, &a->f->s, a->opener) &&
           vy_in_then(&a->f->s, a->opener, id) == a->then;
}

// Does the other arm yield the value as what this RESULT of the IF is?
static bool is_of_other(const arm *a, uint32_t result, uint32_t value)
{
    const vy_program *p = a->f->p;
    const uint32_t k = p->insts.data[result].aux;
    return value == (a->then ? vy_slot_yield(p, &a->f->s, a->opener, k)
                             : vy_slot_then(p, &a->f->s, a->opener, k));
}

// Does a derivative reach the value through this user only where the arm is taken, if at all?
static bool is_harmless(const arm *a, uint32_t user, uint32_t value)
{
    const vy_program *p = a->f->p;
    const vy_inst *i = &p->insts.data[user];
    if (is_in(a, user)) return true;
    if (i->op == VY_OP_RESULT && vy_opener(p, &a->f->s, user) == a->opener)
        return !is_of_other(a, user, value);
    if (vy_op_is_memory((vy_op)i->op) || i->type == VY_VOID) return false;
    return !vy_type_is_float((vy_type)i->type) || !vy_is_active(a->f, user);
}

static bool has_same_index(const vy_program *p, uint32_t load, uint32_t store)
{
    bool same = true;
    for (uint32_t k = 0; k < p->buffers.data[p->insts.data[load].aux].rank && same; k++)
        same = vy_arg(p, load, k) == vy_arg(p, store, k);
    return same;
}

bool vy_used_where_stored(const grad_facts *f, const vy_dataflow *d, uint32_t load, uint32_t store)
{
    const vy_structure *s = &f->s;
    const uint32_t opener = s->parent[store], region = s->parent[load];
    if (!opener || f->p->insts.data[opener].op != VY_OP_IF || opener < load) return false;
    if (s->parent[opener] != region || !has_same_index(f->p, load, store)) return false;
    const vy_op around = region ? (vy_op)f->p->insts.data[region].op : VY_OP_CHECKPOINT;
    if (around == VY_OP_WHILE) return false; // its TEST may be between
    if (around == VY_OP_IF && vy_in_then(s, region, load) != vy_in_then(s, region, opener))
        return false;
    const arm a = {f, opener, vy_in_then(s, opener, store)};
    for (uint32_t k = d->first_user[load]; k < d->first_user[load + 1]; k++)
        if (!is_harmless(&a, d->users[k], load)) return false;
    return true;
}
