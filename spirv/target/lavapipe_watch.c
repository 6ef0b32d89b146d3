// SPDX-License-Identifier: MIT
// lavapipe_watch.c: did the driver leave a loop?  (vy_spirv_options.watch_loops)
//
// Some drivers give the loops of one invocation so many iterations together, and end every loop after
// them, in whatever iteration it is, without a word (vkrt.h, loop_iteration_limit).  What counts there cannot
// be counted here: a driver that runs lanes in lock step counts their iterations together, those of
// compare-exchange loops and of functions too.  But once they are used up, a loop takes one iteration,
// whatever its condition says.  So a last loop stands at the end of the kernel, and tells:
//
//       n = watch[0]                           1, until a kernel says what follows
//       for t in 0..n + 1 { s += n }           two iterations, which no compiler can know
//       if s != (n + 1) n { watch[0] = k }     one iteration: this invocation's loops were ended
//
// k is the kernel's number and 2.  The word is a binding of the kernel like a workspace's; plans
// fill it, read it back at the end and check it (VY_CHECK_LOOPS).
//
// Such a driver also runs more lanes than a row of the workgroup has, if that is no multiple of
// them.  What these load is 0, so a `while` may never end for them, and take the iterations of their
// neighbours.  The whole body stands in a condition on them then, which says `lid.x < row` in a way
// that no compiler can know to hold.
#include "spirv/target/target.h"

static uint32_t next_free_binding(const vy_program *p)
{
    uint32_t next = 0;
    for (uint32_t b = 1; b < p->buffers.count; b++) {
        const vy_buf *buf = &p->buffers.data[b];
        if (buf->cls <= VY_INOUT && buf->set == 0 && buf->binding >= next) next = buf->binding + 1;
    }
    return next;
}

// struct { u32 word; }, in a binding behind all others.
static uint32_t declare_word(vy_fn *f)
{
    vy_spv *m = f->m;
    vy_kernel *k = f->d->kernel;
    const uint32_t block = vy_spv_id(m), var = vy_spv_id(m);
    const bool pushed = k->param_set == VY_NO_BINDING;
    k->watched = true;
    k->watch_binding = next_free_binding(f->p) + !pushed;
    VY_GLOBAL(m, SpvOpTypeStruct, block, vy_spv_type(m, VY_U32));
    VY_DECORATE(m, block, SpvDecorationBlock);
    VY_PUT(m, &m->sections[VY_SEC_ANNOTATIONS], SpvOpMemberDecorate, block, 0, SpvDecorationOffset,
           0);
    const uint32_t pointer = vy_spv_pointer(m, SpvStorageClassStorageBuffer, block);
    VY_GLOBAL(m, SpvOpVariable, pointer, var, SpvStorageClassStorageBuffer);
    VY_DECORATE(m, var, SpvDecorationDescriptorSet, 0);
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

// bool: the lane is none beyond the row; 0: there are no such lanes, or they do no harm.
uint32_t vy_lavapipe_lanes(vy_fn *f)
{
    const uint32_t lanes = f->m->options->lanes, row = f->p->workgroup[0];
    if (row % lanes == 0 || !(f->facts->loop || f->facts->subgroup)) return 0;
    need_word(f);
    const uint32_t u32 = vy_spv_type(f->m, VY_U32);
    const uint32_t end = VY_DO(f, SpvOpIMul, u32, f->target.watch_word, vy_spv_u32(f->m, row));
    return VY_DO(f, SpvOpULessThan, vy_bool_type(f), vy_local_x(f), end);
}

// Iterations that surely are so few that nothing can end them.  Those of a compare-exchange and of
// functions in f64 are counted nowhere.
static bool few_iterations(vy_fn *f)
{
    enum { FEW = 30000 };
    vy_kernel k = {0};
    if (f->spins || (f->m->lib.count && f->m->types[VY_F64])) return false;
    if (f->m->options->iterations_known) return true;
    vy_describe_iterations(f->d, &k);
    const vy_expr *most = k.iteration_count ? &k.iterations[k.iteration_count - 1] : NULL;
    return !most || (!k.iterations_open && most->op == VY_EXPR_CONST && most->value < FEW);
}

// At the end of the kernel, where all its invocations come.
void vy_lavapipe_end(vy_fn *f)
{
    vy_spv *m = f->m;
    if (!f->facts->loop || few_iterations(f)) return;
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
    const uint32_t whole = VY_DO(f, SpvOpIMul, u32, iterations, n);
    vy_guard g = vy_guard_begin(f, VY_DO(f, SpvOpINotEqual, bools, s, whole));
    VY_PUT(m, f->out, SpvOpStore, f->target.watch_pointer, vy_spv_u32(m, f->d->number + 2));
    vy_guard_end(f, g, 0, 0, 0);
}
