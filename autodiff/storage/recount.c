// SPDX-License-Identifier: MIT
// recount.c: carried integers that decide whether a barrier is reached are recomputed from the
// first iteration.
//
//   for t in 0..T { for k in 0..n { …; barrier(); }  n = n * 2 + 1; }
//
// The reverse of iteration t needs n as it was.  A tape is not allowed (uniform_control.c): n must
// be uniform, and provably so.  So a small loop runs only the steps of n, from the beginning,
//
//   var n = n₀;  for j in 0..t { n = n * 2 + 1; }
//
// which costs T²/2 steps in all: little compared with barriers.  The steps may use other such
// values, the loop's variable, values from outside the loop, and elements of `in` buffers.
#include "autodiff/facts/induction.h"
#include "autodiff/storage/storage.h"
#include "ir/core/flow.h"

enum { MOST = 16, LONGEST = 48 }; // interdependent carried values; steps of all of them

typedef struct run {
    uint32_t carries[MOST], steps[LONGEST];
    uint32_t carried, count;
} run;

static bool add(uint32_t *list, uint32_t *count, uint32_t most, uint32_t id)
{
    for (uint32_t k = 0; k < *count; k++)
        if (list[k] == id) return true;
    if (*count == most) return false;
    list[(*count)++] = id;
    return true;
}

static bool simple(const reverse *r, uint32_t id)
{
    const vy_inst *i = &r->p->insts.data[id];
    return vy_op_infos[i->op].effect == VY_PURE ||
           (i->op == VY_OP_LOAD && r->p->buffers.data[i->aux].cls == VY_IN);
}

// A result of an `if` becomes a select: its arms only compute.  Operands: condition, both values.
static bool is_choice(const reverse *r, uint32_t id, uint32_t args[3])
{
    uint32_t opener = vy_choice(r->p, &r->facts.s, id, &args[1], &args[2]);
    args[0] = opener ? vy_arg(r->p, opener, 0) : 0;
    return opener != 0;
}

static uint32_t next_of(const reverse *r, uint32_t carry)
{
    return vy_slot_next(r->p, &r->facts.s, vy_opener(r->p, &r->facts.s, carry),
                        r->p->insts.data[carry].aux);
}

// Collects value `id`, used by a step, after its operands.
static bool take(const reverse *r, uint32_t opener, uint32_t id, run *all, uint32_t depth)
{
    if (VY_IS_LEAF(id) || id <= opener) return true;
    const vy_inst *i = &r->p->insts.data[id];
    if (i->op == VY_OP_CARRY && vy_arg(r->p, id, 0) == opener)
        return add(all->carries, &all->carried, MOST, id);
    for (uint32_t k = 0; k < all->count; k++)
        if (all->steps[k] == id) return true;
    uint32_t choice[3];
    bool chooses = is_choice(r, id, choice);
    if (!(chooses || simple(r, id)) || depth == LONGEST) return false;
    for (uint32_t k = 0; k < (chooses ? 3 : i->nargs); k++)
        if (!take(r, opener, chooses ? choice[k] : vy_arg(r->p, id, k), all, depth + 1))
            return false;
    return add(all->steps, &all->count, LONGEST, id);
}

static bool collect(const reverse *r, uint32_t opener, uint32_t k, run *all)
{
    *all = (run){.carries = {opener + 1 + k}, .carried = 1};
    for (uint32_t c = 0; c < all->carried; c++)
        if (!take(r, opener, next_of(r, all->carries[c]), all, 0)) return false;
    return true;
}

bool vy_can_rerun(const reverse *r, uint32_t opener, uint32_t k)
{
    run all;
    return r->facts.together[opener + 1 + k] && collect(r, opener, k, &all);
}

static uint32_t emit_step(reverse *r, uint32_t id)
{
    const vy_inst *i = &r->p->insts.data[id];
    uint32_t args[VY_MAX_RANK], choice[3];
    bool chooses = is_choice(r, id, choice);
    uint32_t n = chooses ? 3 : i->nargs;
    for (uint32_t k = 0; k < n; k++)
        args[k] = vy_primal(r, chooses ? choice[k] : vy_arg(r->p, id, k));
    uint32_t aux = i->op == VY_OP_LOAD ? r->build.buffers[i->aux].copy : i->aux;
    return vy_emit(r->b, chooses ? VY_OP_SELECT : (vy_op)i->op, (vy_type)i->type, chooses ? 0 : aux,
                   n, args);
}

uint32_t vy_rerun(reverse *r, uint32_t opener, uint32_t k, uint32_t times,
                  uint32_t (*variable)(reverse *r, uint32_t opener, uint32_t number))
{
    run all;
    uint32_t in[MOST], out[MOST], outer = r->build.map[opener];
    if (!collect(r, opener, k, &all)) return 0;
    for (uint32_t c = 0; c < all.carried; c++)
        in[c] = vy_primal(r, vy_carry_init(&r->facts, opener, all.carries[c] - opener - 1));
    uint32_t zero = vy_zero(r->b, VY_U32).id, one = vy_int(r->b, VY_U32, 1).id;
    uint32_t number = vy_begin_loop(r->b, VY_U32, 0, zero, times, one, all.carried, in, out);
    r->build.map[opener] = variable(r, opener, number);
    for (uint32_t c = 0; c < all.carried; c++) r->build.map[all.carries[c]] = out[c];
    for (uint32_t n = 0; n < all.count && !vy_builder_failed(r->b); n++)
        r->build.map[all.steps[n]] = emit_step(r, all.steps[n]);
    for (uint32_t c = 0; c < all.carried; c++) in[c] = vy_primal(r, next_of(r, all.carries[c]));
    vy_end_loop(r->b, 0, all.carried, in, out);
    for (uint32_t c = 0; c < all.carried; c++) r->build.map[all.carries[c]] = 0;
    r->build.map[opener] = outer;
    return out[0];
}

bool vy_has_closed_form(const reverse *r, uint32_t opener, uint32_t k)
{
    return vy_induction_step(&r->facts, opener, k) != 0 || vy_can_rerun(r, opener, k);
}
