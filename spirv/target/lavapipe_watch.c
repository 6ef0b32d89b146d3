// SPDX-License-Identifier: MIT
// lavapipe_watch.c: did the driver leave a loop?  (vy_spirv_options.watch_loops)
//
// Some drivers give all loops of one invocation a common budget of iterations and, once it is used
// up, silently end every loop, in whatever iteration it is (vkrt.h, loop_iteration_limit).  A
// kernel cannot count what the driver counts: a driver that runs lanes in lock step counts their
// iterations together, including those of compare-exchange loops and of functions.  But once the
// budget is used up, every loop runs exactly one iteration, whatever its condition.  So a loop at
// the end of the kernel detects it:
//
//       n = watch[0]                           1, unless a kernel has stored what follows
//       for t in 0..n + 1 { s += n }           two iterations, which no compiler can know
//       if s != (n + 1) n { watch[0] = k }     one iteration: this invocation's loops were ended
//
// k is 2 + the kernel's number.  The word is bound to the kernel like a workspace; plans fill it,
// read it back at the end and check it (VY_CHECK_LOOPS).
//
// If the row of a workgroup is not a multiple of the driver's vector, such a driver also runs
// surplus lanes beyond the row.  Their loads return 0, so a `while` may never end for them and use
// up the budget of their neighbours.  The entire body is then in an `if` that excludes them:
// `lid.x < row`, in a form that no compiler can prove to hold.
#include "spirv/target/target.h"

// struct { u32 word; }, in the binding after all others.
static uint32_t declare_word(vy_fn *f)
{
    vy_spv *m = f->m;
    vy_kernel *k = f->d->kernel;
    const uint32_t block = vy_spv_id(m), var = vy_spv_id(m);
    const vy_place_of place = vy_describe_next_place(f->d);
    k->watched = true;
    k->watch_set = place.set;
    k->watch_binding = place.binding;
    VY_GLOBAL(m, SpvOpTypeStruct, block, vy_spv_type(m, VY_U32));
    VY_DECORATE(m, block, SpvDecorationBlock);
    VY_PUT(m, &m->sections[VY_SEC_ANNOTATIONS], SpvOpMemberDecorate, block, 0, SpvDecorationOffset,
           0);
    const uint32_t pointer = vy_spv_pointer(m, SpvStorageClassStorageBuffer, block);
    VY_GLOBAL(m, SpvOpVariable, pointer, var, SpvStorageClassStorageBuffer);
    VY_DECORATE(m, var, SpvDecorationDescriptorSet, k->watch_set);
    VY_DECORATE(m, var, SpvDecorationBinding, k->watch_binding);
    vy_spv_name(m, var, VY_WATCH_NAME);
    vy_interface(f, var);
    return var;
}

// Pointer to the word and its value, made once, in the prologue.
static void need_word(vy_fn *f)
{
    vy_spv *m = f->m;
    if (f->target.watch_word) return;
    vy_words *out = f->out;
    f->out = &f->prologue;
    const uint32_t u32 = vy_spv_type(m, VY_U32);
    f->target.watch_pointer =
        VY_DO(f, SpvOpAccessChain, vy_spv_pointer(m, SpvStorageClassStorageBuffer, u32),
              declare_word(f), vy_spv_u32(m, 0));
    f->target.watch_word = VY_DO(f, SpvOpLoad, u32, f->target.watch_pointer);
    f->out = out;
}

// bool: the lane is within the row; 0: all are, or the others do no harm.
uint32_t vy_lavapipe_lanes(vy_fn *f)
{
    const uint32_t lanes = f->m->options->lanes, row = f->p->workgroup[0];
    if (row % lanes == 0 || !(f->facts->loop || f->facts->subgroup || f->facts->combined)) return 0;
    need_word(f);
    const uint32_t u32 = vy_spv_type(f->m, VY_U32);
    const uint32_t end = VY_DO(f, SpvOpIMul, u32, f->target.watch_word, vy_spv_u32(f->m, row));
    return VY_DO(f, SpvOpULessThan, vy_bool_type(f), vy_local_x(f), end);
}

// Certainly too few iterations for the driver to end any loop.  Those of a compare-exchange loop
// and of f64 functions are counted nowhere.
static bool stays_below_limit(vy_fn *f)
{
    enum { SAFE_ITERATIONS = 30000 };
    vy_kernel k = {0};
    if (f->spins || (f->m->lib.count && f->m->types[VY_F64])) return false;
    if (f->m->options->iterations_known) return true;
    vy_describe_iterations(f->d, &k);
    const vy_expr *most = k.iteration_count ? &k.iterations[k.iteration_count - 1] : NULL;
    return !most ||
           (!k.iterations_open && most->op == VY_EXPR_CONST && most->value < SAFE_ITERATIONS);
}

// At the end of the kernel, which all its invocations reach.
void vy_lavapipe_end(vy_fn *f)
{
    vy_spv *m = f->m;
    if (!f->facts->loop || stays_below_limit(f)) return;
    need_word(f);
    const uint32_t u32 = vy_spv_type(m, VY_U32), bools = vy_bool_type(f), zero = vy_spv_u32(m, 0);
    const uint32_t n = f->target.watch_word,
                   iterations = VY_DO(f, SpvOpIAdd, u32, n, vy_spv_u32(m, 1));
    const uint32_t header = vy_spv_id(m), test = vy_spv_id(m), body = vy_spv_id(m);
    const uint32_t next = vy_spv_id(m), merge = vy_spv_id(m), t = vy_spv_id(m), s = vy_spv_id(m);
    const uint32_t before = f->block, t_next = vy_spv_id(m), s_next = vy_spv_id(m);
    vy_branch(f, header);
    vy_label(f, header);
    VY_PUT(m, f->out, SpvOpPhi, u32, t, zero, before, t_next, next);
    VY_PUT(m, f->out, SpvOpPhi, u32, s, zero, before, s_next, next);
    VY_PUT(m, f->out, SpvOpLoopMerge, merge, next, SpvLoopControlDontUnrollMask);
    vy_branch(f, test);
    vy_label(f, test);
    vy_branch_if(f, VY_DO(f, SpvOpULessThan, bools, t, iterations), body, merge);
    vy_label(f, body);
    VY_PUT(m, f->out, SpvOpIAdd, u32, t_next, t, vy_spv_u32(m, 1));
    VY_PUT(m, f->out, SpvOpIAdd, u32, s_next, s, n);
    vy_branch(f, next);
    vy_label(f, next);
    vy_branch(f, header);
    vy_label(f, merge);
    const uint32_t expected = VY_DO(f, SpvOpIMul, u32, iterations, n);
    vy_guard g = vy_guard_begin(f, VY_DO(f, SpvOpINotEqual, bools, s, expected));
    VY_PUT(m, f->out, SpvOpStore, f->target.watch_pointer, vy_spv_u32(m, f->d->number + 2));
    vy_guard_end(f, g, 0, 0, 0);
}
