// SPDX-License-Identifier: MIT
// recount.c: carried values that decide whether a barrier is reached are recomputed from the first
// iteration.
//
//   for t in 0..T { for k in 0..n { …; barrier(); }  for m in 0..t { n = n * 2 % 7; } }
//
// The reverse of iteration t needs n as it was.  A tape is not allowed (uniform_control.c): n must
// be uniform, and provably so.  So a loop runs the iterations before t once more,
//
//   var n = n₀;  for j in 0..t { for m in 0..j { n = n * 2 % 7; } }
//
// with a copy of the body that writes no memory and has no barriers, of which dead-code removal
// leaves what n depends on.  That is always possible: only parameters, workgroup numbers and
// elements of `in` buffers are uniform, and what operations, loops and arms make of them.  It costs
// T²/2 iterations of these steps in all: little compared with barriers.
#include "autodiff/facts/induction.h"
#include "autodiff/reverse/sweeps.h"
#include "ir/core/flow.h"

static bool decides(const reverse *r, uint32_t opener, uint32_t k)
{
    return r->facts.together[vy_carry(opener, k)];
}

// Does the iteration's number not say what it is?
static bool is_recounted(const reverse *r, uint32_t opener, uint32_t k)
{
    return decides(r, opener, k) && !vy_induction_step(&r->facts, opener, k);
}

static uint32_t poison(reverse *r, uint32_t id)
{
    return vy_leaf_other(r->b, VY_LEAF_POISON, (vy_type)r->p->insts.data[id].type, id,
                         r->build.replaying);
}

// One more iteration, with that loop variable; `carries`: of what decides, in its order.
static void run_body(reverse *r, uint32_t opener, uint32_t variable, const uint32_t *carries,
                     uint32_t *nexts)
{
    const uint32_t n = vy_slot_count(r->p, &r->facts.s, opener), outer = r->build.map[opener];
    uint32_t c = 0;
    r->build.map[opener] = variable;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t carry = vy_carry(opener, k);
        r->build.map[carry] = decides(r, opener, k) ? carries[c++] : poison(r, carry);
    }
    vy_replay_values(r, opener + 1 + n, r->facts.s.partner[opener]);
    for (uint32_t k = c = 0; k < n; k++)
        if (decides(r, opener, k))
            nexts[c++] = vy_primal(r, vy_slot_next(r->p, &r->facts.s, opener, k));
    r->build.map[opener] = outer;
}

// Floats must be rounded as in the forward sweep: a barrier may depend on the last bit.
static bool computes_floats(const reverse *r, uint32_t opener)
{
    const uint32_t n = vy_slot_count(r->p, &r->facts.s, opener);
    bool any = false;
    for (uint32_t k = 0; k < n && !any; k++)
        any = decides(r, opener, k) && vy_type_is_float(vy_id_type(r->p, vy_carry(opener, k)));
    return any;
}

// was, in, out: room for all that the loop carries.
static void run(reverse *r, uint32_t opener, uint32_t times, vy_loop_variable *variable,
                uint32_t *was, uint32_t *in, uint32_t *out)
{
    const uint32_t n = vy_slot_count(r->p, &r->facts.s, opener);
    const uint32_t zero = vy_zero(r->b, VY_U32).id, one = vy_int(r->b, VY_U32, 1).id;
    uint32_t count = 0;
    for (uint32_t k = 0; k < n; k++) {
        was[k] = r->build.map[vy_carry(opener, k)];
        if (decides(r, opener, k)) in[count++] = vy_primal(r, vy_slot_init(r->p, opener, k));
    }
    const uint32_t number = vy_begin_loop(r->b, VY_U32, 0, zero, times, one, count, in, out);
    run_body(r, opener, variable(r, opener, number), out, in);
    vy_end_loop(r->b, 0, count, in, out);
    for (uint32_t k = count = 0; k < n; k++) {
        const uint32_t value = decides(r, opener, k) ? out[count++] : 0;
        r->build.map[vy_carry(opener, k)] = is_recounted(r, opener, k) ? value : was[k];
    }
}

void vy_recount(reverse *r, uint32_t opener, uint32_t times, vy_loop_variable *variable)
{
    const uint32_t n = vy_slot_count(r->p, &r->facts.s, opener);
    vy_id_vec room = {0};
    vy_builder_program(r->b)->exact |= computes_floats(r, opener);
    if (vy_vec_reserve(&room, (n + 1) * 3)) {
        run(r, opener, times, variable, room.data, room.data + n + 1, room.data + 2 * (n + 1));
    } else {
        vy_fail_oom(r->out);
        r->failed = true;
    }
    vy_vec_free(&room);
}

bool vy_has_recount(const reverse *r, uint32_t opener)
{
    const uint32_t n = vy_slot_count(r->p, &r->facts.s, opener);
    bool any = false;
    for (uint32_t k = 0; k < n && !any; k++) any = is_recounted(r, opener, k);
    return any;
}
