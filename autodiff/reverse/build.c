// SPDX-License-Identifier: MIT
// build.c: one program of the result, from its parameters to dead-code removal.
//
// The reverse program consists of parameters, forward sweep and reverse sweep.  The counting
// program, which computes the lengths of some tapes, is the forward sweep alone: dead-code removal
// leaves the slice of the primal that decides its trip counts.
#include "autodiff/facts/facts.h"
#include "autodiff/reverse/sweeps.h"
#include "autodiff/storage/storage.h"
#include "ir/check/check.h"
#include "ir/host/host_build.h"
#include "ir/pass/pass.h"

#include <stdio.h>
#include <string.h>

// ------------------------------------------------------------------------------------------- build
static void finish_scalars(reverse *r)
{
    uint32_t zero = vy_zero(r->b, VY_U32).id;
    for (uint32_t k = 0; k < r->p->leaves.count; k++) {
        if (!r->build.leaf_grad[k] || !r->build.leaf_adjoint[k]) continue;
        vy_type type = (vy_type)r->p->leaves.data[k].type;
        uint32_t sum = vy_cast(r->b, type, (vy_value){r->build.leaf_adjoint[k]}).id;
        vy_emit(r->b, VY_OP_ATOMIC_ADD, type, r->build.leaf_grad[k], 2, (uint32_t[]){zero, sum});
    }
}

// Gradients that are added, as tensors, to what the caller has.
static void finish_sums(reverse *r)
{
    for (uint32_t i = 1; i < r->p->buffers.count; i++) {
        const built_buffer *info = &r->build.buffers[i];
        if (!info->sum || r->failed || vy_builder_failed(r->b)) continue;
        const vy_type type = r->p->buffers.data[i].type;
        uint32_t all = vy_host_append(r->b, VY_OP_LOAD, type, info->adjoint, 0, NULL);
        vy_emit_update(r->b, VY_OP_ATOMIC_ADD, VY_STRENGTH_PLAIN, info->sum, 1, &all);
    }
}

static void copy_workgroup(reverse *r, vy_program *p)
{
    memcpy(p->workgroup, r->p->workgroup, sizeof p->workgroup);
    p->has_workgroup = r->p->has_workgroup;
    p->fast_math = r->p->fast_math;
    // The counting program and the reverse program must take the same branches: both are @exact
    // (tape.c marks the latter).
    p->exact = r->p->exact || vy_is_ahead(r->build.purpose);
    p->line = r->p->line;
    // A derivative needs more registers than its primal, and 128 invocations per workgroup are all
    // that every device guarantees.  A program that observes its workgroup keeps the size, and so
    // does one whose caller dispatches in workgroups, as that of a shader does.
    if (vy_sees_workgroup(r->p) || r->p->shader) return;
    for (int axis = 2; axis >= 0; axis--)
        while (p->workgroup[0] * p->workgroup[1] * p->workgroup[2] > 128 &&
               p->workgroup[axis] % 2 == 0)
            p->workgroup[axis] /= 2;
}

static bool begin_build(reverse *r, build_purpose purpose, const char *suffix)
{
    char name[300];
    snprintf(name, sizeof name, "%.280s_%s", r->p->name, suffix);
    if (!vy_build_make(&r->build, purpose, r->p, &r->plan)) {
        vy_fail_oom(r->out);
        r->failed = true;
        return false;
    }
    vy_tape_number_counters(r);
    r->b = vy_program_begin(r->out, name);
    if (!r->b) return false;
    vy_program *p = vy_builder_program(r->b);
    p->host = r->p->host;
    p->shader = r->p->shader;
    copy_workgroup(r, p);
    p->stem = vy_arena_strdup(&r->out->arena, r->p->name, strlen(r->p->name));
    if (!p->stem) vy_fail_oom(r->out);
    return true;
}

static vy_program *end(reverse *r)
{
    if (r->failed || vy_builder_failed(r->b)) {
        vy_program_abandon(r->b);
        return NULL;
    }
    vy_build_swept(&r->build);
    vy_program *p = vy_rebuild_end(r->b);
    vy_pass_context c = {0};
    if (p && vy_pass_cleanup(p, &c) && vy_pass_dce(p, &c)) return p;
    vy_program_free(p);
    return NULL;
}

// Adjoints of arrays start from zero.  The barrier separates these clears, and the stores of
// replays to shared arrays, from other invocations that are still in the forward sweep.
static void begin_reverse(reverse *r)
{
    for (uint32_t i = 1; i < r->p->buffers.count; i++) {
        vy_buffer_class cls = r->p->buffers.data[i].cls;
        if (r->build.buffers[i].kind == ADJ_MEMORY &&
            ((cls == VY_SHARED && !r->plan.spilled[i]) ||
             (cls == VY_LOCAL && !r->facts.buffers[i].home)))
            vy_clear_adjoint(r, i);
    }
    vy_lane_sums_declare(r);
    if (r->facts.phased) vy_barrier(r->b);
}

vy_program *vy_reverse_build(reverse *r, build_purpose purpose)
{
    if (!begin_build(r, purpose, "grad")) return NULL;
    if (vy_reverse_params(r) && vy_tape_declare(r)) {
        vy_replay(r, 1, r->p->insts.count);
        begin_reverse(r);
        vy_reverse_range(r, 1, r->p->insts.count);
        finish_scalars(r);
        finish_sums(r);
    }
    return end(r);
}

// Refuses old values of atomics: in another order of the invocations, each program would find other
// trip counts, or another winner.
static bool refuse_old_values(reverse *r, const vy_program *p)
{
    const char *what = vy_is_finding(r->build.purpose) ? "what a reduction by atomics finds"
                                                       : "how often a loop runs";
    for (uint32_t id = 1; id < p->insts.count; id++)
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
            uint32_t a = vy_arg(p, id, k);
            if (VY_IS_LEAF(a) || !vy_op_is_atomic((vy_op)p->insts.data[a].op)) continue;
            const vy_inst *made = &p->insts.data[a];
            vy_fail(r->out, VY_E_NOT_DIFFERENTIABLE, made->line, made->column,
                    "compute it without the old value",
                    "%s depends on the old value of %s, and so on the order of invocations", what,
                    vy_op_infos[made->op].text);
            return true;
        }
    return false;
}

vy_program *vy_reverse_count(reverse *r)
{
    if (!begin_build(r, BUILD_COUNT, "count")) return NULL;
    if (vy_reverse_params(r)) {
        const vy_dim lanes = vy_dim_const(r->b, VY_TAPE_LANES);
        vy_dim dims[3] = {vy_dim_const(r->b, r->build.counters_used), vy_tape_blocks(r), lanes};
        char name[VY_FREE_NAME];
        vy_reverse_free_name(r, "count", 0, name);
        uint32_t count = vy_param_buffer(r->b, name, VY_INOUT, VY_U32, 3, dims).id;
        vy_builder_program(r->b)->buffers.data[count].owned = true;
        vy_replay(r, 1, r->p->insts.count);
        const vy_value each = vy_int(r->b, VY_U32, VY_TAPE_LANES), at = vy_tape_invocation(r);
        const uint32_t block = vy_div(r->b, at, each).id, lane = vy_rem(r->b, at, each).id;
        for (uint32_t k = 0; k < r->plan.counters.count && !r->failed; k++) {
            const uint32_t row = r->build.counters[k].row;
            if (!row) continue;
            vy_emit(r->b, VY_OP_STORE, VY_VOID, count, 4,
                    (uint32_t[]){vy_int(r->b, VY_U32, row - 1).id, block, lane,
                                 vy_primal(r, r->plan.counters.data[k].most)});
        }
    }
    vy_program *p = end(r);
    if (p && !vy_reverse_poison(r, p) && !r->failed && !refuse_old_values(r, p)) return p;
    vy_program_free(p);
    return NULL;
}

vy_program *vy_reverse_find(reverse *r, build_purpose purpose, const char *suffix)
{
    if (!begin_build(r, purpose, suffix)) return NULL;
    if (vy_reverse_params(r)) vy_replay(r, 1, r->p->insts.count);
    vy_program *p = end(r);
    if (p && !vy_reverse_poison(r, p) && !r->failed && !refuse_old_values(r, p)) return p;
    vy_program_free(p);
    return NULL;
}

bool vy_reverse_finish(reverse *r, vy_program *p)
{
    if (!vy_vec_reserve(&r->out->programs, 1)) {
        vy_program_free(p);
        vy_fail_oom(r->out);
        return false;
    }
    vy_pass_context c = {0};
    bool ok = vy_pass_dse(p, &c) && vy_reverse_barriers(r, p) && vy_pass_dce(p, &c);
    ok = ok && vy_drop_unused(p, vy_is_ahead(r->build.purpose) ? VY_DROP_ALL : VY_DROP_MADE);
    if (ok && !vy_is_ahead(r->build.purpose)) ok = vy_drop_scalars(p, r->p->scalars.count);
    if (!ok || !vy_check_program(p)) {
        vy_together_explain(r->out, r->facts.limited);
        vy_program_free(p);
        return false;
    }
    r->out->programs.data[r->out->programs.count++] = p;
    return true;
}
