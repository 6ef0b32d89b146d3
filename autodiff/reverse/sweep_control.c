// SPDX-License-Identifier: MIT
// sweep_control.c: the reverse of `if` and of checkpoints.
//
// The same condition, as it was in the primal run; each arm reversed.  Contributions of the arms to
// adjoints of values defined before the `if` are merged like assignments to variables.
#include "autodiff/core/adjoint.h"
#include "autodiff/reverse/sweeps.h"

typedef struct touched {
    uint32_t value;
    uint32_t adjoint[2], mask[2]; // after each arm; 0: that arm did not change it
} touched;
VY_VEC_TYPE(touched_vec, touched);

// Moves the changes of the arm just reversed from the log into the list, and restores the state
// before it.  list_slot holds positions in the list only during this function: arms nest.
static void take_arm(reverse *r, uint32_t log_start, int arm, touched_vec *list)
{
    for (uint32_t i = 0; i < list->count; i++) *list_slot(r, list->data[i].value) = i + 1;
    for (uint32_t i = log_start; i < r->build.log.count && !r->failed; i++) {
        uint32_t id = r->build.log.data[i].value, *slot = list_slot(r, id);
        if (!*slot) {
            if (!vy_vec_push(list, (touched){.value = id}))
                oom(r);
            else
                *slot = list->count;
        }
        if (r->failed) break;
        list->data[*slot - 1].adjoint[arm] = *adjoint_slot(r, id);
        list->data[*slot - 1].mask[arm] = mask_of(r, id);
    }
    for (uint32_t i = 0; i < list->count; i++) *list_slot(r, list->data[i].value) = 0;
    while (r->build.log.count > log_start) {
        reverse_undo u = r->build.log.data[--r->build.log.count];
        *adjoint_slot(r, u.value) = u.adjoint;
        if (!VY_IS_LEAF(u.value)) r->build.mask[u.value] = u.mask;
    }
}

// Both arms must leave adjoints of the same type: f32 for halves (adjoint.h).  Adjoints to which
// they add are widened before.
static void widen(reverse *r, uint32_t id)
{
    uint32_t have = *adjoint_slot(r, id);
    if (have && vy_id_type(r->p, id) == VY_F16 && !is_wide(r, have, id))
        vy_set_adjoint(r, id, cast_to(r, VY_F32, have), mask_of(r, id));
}

static void widen_before(reverse *r, uint32_t opener, uint32_t end)
{
    if (!r->facts.has_halves) return; // nested conditions would all scan what is inside
    for (uint32_t id = opener + 1; id <= end; id++)
        for (uint32_t k = 0; k < r->p->insts.data[id].nargs; k++) {
            uint32_t a = vy_arg(r->p, id, k);
            if ((VY_IS_LEAF(a) || a < opener) && vy_is_active(&r->facts, a)) widen(r, a);
        }
}

static void widen_arm(reverse *r, uint32_t log_start)
{
    for (uint32_t i = log_start, n = r->build.log.count; i < n && !r->failed; i++)
        widen(r, r->build.log.data[i].value);
}

static uint32_t wide_zero(reverse *r, uint32_t id)
{
    return vy_id_type(r->p, id) == VY_F16 ? vy_zero(r->b, VY_F32).id : 0;
}

static void reverse_arm(reverse *r, uint32_t marker, uint32_t first, uint32_t last, uint32_t end)
{
    uint32_t n = r->p->insts.data[end].nargs;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t result = end + 1 + k;
        if (!r->build.adjoint[result]) continue;
        vy_contribute(r, vy_arg(r->p, marker, k), r->build.adjoint[result],
                      r->facts.maskable[result] ? r->build.mask[result] : 0);
    }
    vy_reverse_range(r, first, last);
}

static void merge_arms(reverse *r, touched_vec *list)
{
    uint32_t n = 0, at = 0, total = list->count * 2;
    vy_id_vec ids = {0};
    if (!vy_vec_reserve(&ids, total * 3 + 1)) {
        oom(r);
        return;
    }
    uint32_t *thens = ids.data, *elses = thens + total, *results = elses + total;
    for (uint32_t i = 0; i < list->count; i++) {
        touched *t = &list->data[i];
        uint32_t base = *adjoint_slot(r, t->value), base_mask = mask_of(r, t->value);
        if (!base) base = wide_zero(r, t->value);
        thens[n] = or_zero(r, t->adjoint[0] ? t->adjoint[0] : base, t->value);
        elses[n++] = or_zero(r, t->adjoint[1] ? t->adjoint[1] : base, t->value);
        if (!is_maskable(r, t->value)) continue;
        thens[n] = or_false(r, t->adjoint[0] ? t->mask[0] : base_mask);
        elses[n++] = or_false(r, t->adjoint[1] ? t->mask[1] : base_mask);
    }
    vy_else_yields(r->b, n, thens);
    vy_end_if(r->b, n, elses, results);
    for (uint32_t i = 0; i < list->count && !vy_builder_failed(r->b); i++) {
        uint32_t id = list->data[i].value, adjoint = results[at++];
        vy_set_adjoint(r, id, adjoint, is_maskable(r, id) ? results[at++] : 0);
    }
    vy_vec_free(&ids);
}

void vy_reverse_if(reverse *r, uint32_t opener)
{
    uint32_t middle = r->facts.s.partner[opener], end = r->facts.s.partner[middle],
             outer = r->build.arm;
    if (!r->facts.busy[opener] && !any_result_adjoint(r, end, r->p->insts.data[end].nargs)) return;
    touched_vec list = {0};
    widen_before(r, opener, end);
    uint32_t log_start = r->build.log.count;
    r->build.arm = opener;
    vy_begin_if(r->b, vy_primal(r, vy_arg(r->p, opener, 0)));
    reverse_arm(r, middle, opener + 1, middle, end);
    widen_arm(r, log_start);
    take_arm(r, log_start, 0, &list);
    vy_begin_else(r->b, 0, NULL);
    reverse_arm(r, end, middle + 1, end, end);
    widen_arm(r, log_start);
    take_arm(r, log_start, 1, &list);
    r->build.arm = outer;
    if (!r->failed) merge_arms(r, &list);
    vy_vec_free(&list);
}

void vy_clear_local_adjoints(reverse *r, uint32_t home)
{
    for (uint32_t i = r->facts.locals[home]; i; i = r->facts.buffers[i].next)
        if (r->build.buffers[i].kind == ADJ_MEMORY) vy_clear_adjoint(r, i);
}

// checkpoint { … }: nothing inside was taped; the body is replayed, and this replay may tape
// values.
void vy_reverse_checkpoint(reverse *r, uint32_t opener)
{
    uint32_t end = r->facts.s.partner[opener], n = r->p->insts.data[end].nargs,
             outer = r->build.replaying;
    if (!r->facts.busy[opener] && !any_result_adjoint(r, end, n)) return;
    r->build.replaying = opener;
    vy_replay(r, opener + 1, end);
    vy_clear_local_adjoints(r, opener);
    for (uint32_t k = 0; k < n; k++)
        if (r->build.adjoint[end + 1 + k])
            vy_contribute(r, vy_arg(r->p, end, k), r->build.adjoint[end + 1 + k],
                          r->facts.maskable[end + 1 + k] ? r->build.mask[end + 1 + k] : 0);
    vy_reverse_range(r, opener + 1, end);
    r->build.replaying = outer;
}
