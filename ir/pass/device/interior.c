// SPDX-License-Identifier: MIT
// interior.c: blocks of elements that lie inside the domain are computed without conditions.
//
//   let inside = M - 1 - 4 * i >= 3;            if M - 1 - 4 * i >= 3 {
//   let i_3 = select(inside, 4 * i + 3, 4 * i);     for k in 0..K { … a[k, 4 * i + 3] … }
//   for k in 0..K { … a[k, i_3] … }         →       c[4 * i] = …; … c[4 * i + 3] = …;
//   c[4 * i] = …;                               } else {
//   if inside { c[i_3] = … }                        as before
//                                               }
//
// unroll_and_jam.c gives each copy of an invocation a place of its own, or that of copy 0 where it
// would be beyond the end.  No compiler sees that a selected place is next to another one, so the
// loads and stores of a block stay single words.  Where the entire block is inside, the places are
// sums with constants, and a GPU's compiler makes loads and stores of four words of them.
//
// Right whatever the conditions mean: in the first arm all of them hold.  The program gets twice as
// long, so long ones stay as they are.
#include "ir/pass/device/coarsen.h"
#include "ir/core/access.h"

enum {
    MOST_AXES = 4,
    MOST_CODE = 2048, // instructions, before
};

typedef struct interior {
    vy_rewrite w;
    uint8_t *holds; // by instruction: a condition that is true in the interior
    uint32_t distance[MOST_AXES],
        widest[MOST_AXES]; // what is compared, and the strictest condition
    uint32_t axes, first;  // first: the first instruction after the places
} interior;

// --------------------------------------------------------------------------------- the conditions
static bool is_instruction(const vy_program *p, uint32_t id, vy_op op)
{
    return !VY_IS_LEAF(id) && p->insts.data[id].op == op;
}

// The number of a copy in `number <= distance`; 0: another condition.
static uint64_t copy_of(const vy_program *p, uint32_t condition)
{
    if (!is_instruction(p, condition, VY_OP_LE)) return 0;
    const vy_scalar *number = vy_id_const(p, vy_arg(p, condition, 0));
    return number && vy_id_type(p, vy_arg(p, condition, 1)) == VY_U32 ? number->u : 0;
}

static bool add_condition(interior *x, uint32_t condition)
{
    const vy_program *p = x->w.p;
    const uint32_t distance = vy_arg(p, condition, 1);
    uint32_t k = 0;
    while (k < x->axes && x->distance[k] != distance) k++;
    if (k == MOST_AXES) return false;
    if (k == x->axes) {
        x->distance[k] = distance;
        x->widest[k] = condition;
        x->axes++;
    } else if (copy_of(p, condition) > copy_of(p, x->widest[k])) {
        x->widest[k] = condition;
    }
    x->holds[condition] = 1;
    return true;
}

// Places are chosen where the program begins.
static bool find_conditions(interior *x)
{
    const vy_program *p = x->w.p;
    for (uint32_t id = 1; id < p->insts.count && !vy_is_marker((vy_op)p->insts.data[id].op); id++) {
        if (p->insts.data[id].op != VY_OP_SELECT || p->insts.data[id].type != VY_U32) continue;
        const uint32_t condition = vy_arg(p, id, 0);
        if (copy_of(p, condition) && add_condition(x, condition)) x->first = id + 1;
    }
    return x->axes > 0;
}

// ---------------------------------------------------------------------------------- the two arms
static bool is_known(const interior *x, uint32_t condition)
{
    return !VY_IS_LEAF(condition) && x->holds[condition];
}

static uint32_t instead(void *pass, uint32_t id)
{
    interior *x = pass;
    const vy_program *p = x->w.p;
    const vy_op op = (vy_op)p->insts.data[id].op;
    if ((op != VY_OP_SELECT && op != VY_OP_IF) || !is_known(x, vy_arg(p, id, 0))) return 0;
    if (op == VY_OP_SELECT) {
        x->w.map[id] = vy_new_arg(&x->w, id, 1);
        return id;
    }
    const uint32_t middle = x->w.s.partner[id], end = vy_closer(p, &x->w.s, id);
    const uint32_t results = p->insts.data[end].nargs;
    vy_rewrite_range(&x->w, id + 1, middle, instead, x);
    for (uint32_t k = 0; k < results && !vy_rewrite_stopped(&x->w); k++)
        vy_rewrite_as(&x->w, end + 1 + k, vy_new_arg(&x->w, middle, k));
    return end + results;
}

// Maps the conditions to true, and what they select to what it is then; or back.
static void take_places(interior *x, uint32_t *outside)
{
    const vy_program *p = x->w.p;
    const uint32_t yes = vy_bool(x->w.b, true).id;
    for (uint32_t id = 1; id < x->first; id++) {
        outside[id] = x->w.map[id];
        if (x->holds[id]) x->w.map[id] = yes;
        if (p->insts.data[id].op == VY_OP_SELECT && is_known(x, vy_arg(p, id, 0)))
            x->w.map[id] = vy_new_arg(&x->w, id, 1);
    }
}

static void rewrite(interior *x, uint32_t *outside)
{
    vy_builder *b = x->w.b;
    const uint32_t end = x->w.p->insts.count;
    vy_rewrite_range(&x->w, 1, x->first, NULL, NULL);
    if (vy_rewrite_stopped(&x->w)) return;
    vy_value all = {vy_new(&x->w, x->widest[0])};
    for (uint32_t k = 1; k < x->axes; k++)
        all = vy_and(b, all, (vy_value){vy_new(&x->w, x->widest[k])});
    take_places(x, outside);
    vy_begin_if(b, all.id);
    vy_rewrite_range(&x->w, x->first, end, instead, x);
    vy_begin_else(b, 0, NULL);
    for (uint32_t id = 1; id < x->first; id++) x->w.map[id] = outside[id];
    vy_rewrite_range(&x->w, x->first, end, NULL, NULL);
    if (!vy_rewrite_stopped(&x->w)) vy_end_if(b, 0, NULL, NULL);
}

bool vy_split_interior(vy_program *p)
{
    if (p->insts.count > MOST_CODE) return true;
    interior x = {0};
    bool changed = false, ok = vy_rewrite_begin(&x.w, p);
    x.holds = ok ? vy_rewrite_bytes(&x.w) : NULL;
    uint32_t *outside = ok ? vy_rewrite_ids(&x.w) : NULL;
    ok &= x.holds && outside;
    if (ok && find_conditions(&x) && vy_rewrite_open(&x.w)) rewrite(&x, outside);
    return vy_rewrite_end(&x.w, ok, &changed);
}
