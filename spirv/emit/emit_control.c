// SPDX-License-Identifier: MIT
// emit_control.c: structured control flow and its phis.
//
//   IF … ELSE … ENDIF        header: SelectionMerge, BranchConditional; RESULTs are phis of the
//                            merge block.  Empty arms have no block; two empty arms become selects.
//   LOOP                     header: t = phi(first, next) … goes on? (emit_counted.c)
//   WHILE                    header, condition region, TEST leaves
//
// **Loops that lanes may leave in different iterations have one form**, because a driver may
// continue to compute values for lanes that have left, with loads that return zero (Mesa's llvmpipe
// before 25; SwiftShader).  Only phis keep the values of such lanes, and a value that the driver
// moves or shares may lose its phi.
//
//       header:  carries, counter, go = phi(…)       the only exit is here, and depends only on
//                if !(go && counter < to) → merge    phis of the header and values computed from
//                body                                them, which a lane keeps once it has left
//                → continue → header
//       merge:   results are the carries
//
// Nothing in the body dominates the merge block, so neither we nor an optimiser can use a value of
// the body after the loop except through these phis.  `break` is a carried value, go, and so is the
// condition of a WHILE that reads memory or holds a construct (its region then belongs to the body,
// guarded by the phi of the previous condition; one more iteration finds that false).  The continue
// block is empty, so that drivers need not invent a place for it.  This is what every GLSL compiler
// emits.
//
// **Loops that all lanes leave together** (bounds and exits alike, uniform.c) are tested at the end
// and guarded by an `if`, unless they surely run: where lanes wait for each other, a test at the
// top takes all of them through the body once more.  Results are then phis of the initial values
// and the next values.
//
// Values from which a driver might derive a loop's trip count can be hidden from it (vy_hooks):
// computed bounds, the conditions of TESTs, and `break`.
//
// Phis of a header name values that do not exist yet, so their words are patched at the end of the
// loop.
#include "spirv/emit/emit.h"

#include "ir/core/flow.h"

#include <string.h>

#define PHI_WORDS 7 // op, type, id, initial, its block, next, its block
#define PHI_NEXT 5

static const vy_inst *inst(vy_fn *f, uint32_t i) { return &f->p->insts.data[i]; }

static uint32_t header_phi(vy_fn *f, uint32_t type, uint32_t id, uint32_t initial, uint32_t before,
                           uint32_t continue_label)
{
    uint32_t at = f->code.count;
    VY_PUT(f->m, &f->code, SpvOpPhi, type, id, initial, before, 0, continue_label);
    return at;
}

static void patch(vy_fn *f, uint32_t phi, uint32_t next)
{
    if (!f->m->oom) f->code.data[phi + PHI_NEXT] = next;
}

// ------------------------------------------------------------------------------------------- loops
// The CARRYs that follow a LOOP or WHILE become phis of its header.
static void carry_phis(vy_fn *f, uint32_t i, vy_emit_frame *frame, uint32_t before)
{
    frame->carries = inst(f, i)->nargs - vy_init_arg(f->p, i);
    for (uint32_t k = 0; k < frame->carries; k++) {
        uint32_t carry = i + 1 + k, id = vy_spv_id(f->m);
        uint32_t type = vy_spv_type(f->m, (vy_type)inst(f, carry)->type);
        uint32_t at = header_phi(f, type, id, frame->inits[k], before, frame->other);
        if (k == 0) frame->phis = at;
        f->ids[carry] = id;
    }
}

static bool reserve_inits(vy_fn *f, uint32_t i, vy_emit_frame *frame)
{
    // Leaves are made in the prologue, but evaluating them here keeps ids in order of appearance.
    uint32_t n = inst(f, i)->nargs - vy_init_arg(f->p, i);
    f->init_ids.count = 0;
    if (!vy_vec_reserve(&f->init_ids, n + 1)) {
        f->m->oom = true;
        return false;
    }
    for (uint32_t k = 0; k < n; k++) f->init_ids.data[k] = vy_val(f, vy_slot_init(f->p, i, k));
    frame->inits = f->init_ids.data;
    return true;
}

static void loop_merge(vy_fn *f, const vy_emit_frame *frame)
{
    const vy_hooks *hooks = f->m->hooks;
    SpvLoopControlMask control = hooks->loop_control ? hooks->loop_control(f) : 0;
    VY_PUT(f->m, &f->code, SpvOpLoopMerge, frame->merge, frame->other, (uint32_t)control);
    vy_nest(f, 1, 1);
    vy_unnest(f, 1, 0); // the `if` of an exit holds nothing
}

// Do all lanes that run this loop leave it in the same iteration?
static bool leave_together(const vy_fn *f, uint32_t i) { return f->facts->alike[i]; }

static bool is_tested_first(vy_fn *f, uint32_t i)
{
    if (!leave_together(f, i)) return true;
    return f->m->hooks->test_first && f->m->hooks->test_first(f, i);
}

// go = phi(true, …), where something other than the counter may end the loop.
static void go_phi(vy_fn *f, vy_emit_frame *frame, uint32_t before)
{
    frame->go = vy_spv_id(f->m);
    const uint32_t yes = vy_spv_const(f->m, VY_BOOL, (vy_scalar){.u = 1});
    frame->go_phi = header_phi(f, vy_bool_type(f), frame->go, yes, before, frame->other);
}

// The only exit of a loop tested first; emission continues in the body.
static void leave_at_header(vy_fn *f, vy_emit_frame *frame, uint32_t condition)
{
    uint32_t body = vy_spv_id(f->m);
    vy_branch_if(f, vy_and_bool(f, frame->go, condition), body, frame->merge);
    vy_label(f, body);
}

static void begin_test(vy_fn *f)
{
    uint32_t test = vy_spv_id(f->m);
    vy_branch(f, test);
    vy_label(f, test);
}

static bool begin_loop(vy_fn *f, uint32_t i)
{
    vy_spv *m = f->m;
    vy_emit_frame frame = {.opener = i,
                           .header = vy_spv_id(m),
                           .merge = vy_spv_id(m),
                           .other = vy_spv_id(m)};
    vy_counted c = vy_counted_loop(f, i);
    uint32_t initial = vy_counted_first(f, &c, vy_counted_simple(f, i)), phi = vy_spv_id(m);
    c.limit = vy_counted_limit(f, i, &c);
    if (!reserve_inits(f, i, &frame)) return false;
    uint32_t before = f->block;
    frame.count = c.count;
    frame.limit = c.limit;
    frame.first_end = before;
    frame.test_first = is_tested_first(f, i);
    if (frame.test_first || (vy_counted_simple(f, i) && vy_loop_surely_runs(f->p, i))) {
        vy_branch(f, frame.header);
    } else {
        frame.skip = vy_spv_id(m);
        vy_nest(f, 1, 0);
        uint32_t some = vy_counted_test(f, &c, initial);
        VY_PUT(m, &f->code, SpvOpSelectionMerge, frame.skip, SpvSelectionControlMaskNone);
        vy_branch_if(f, some, frame.header, frame.skip);
    }
    vy_label(f, frame.header);
    frame.counter_phi = header_phi(f, c.count ? c.ut : c.t, phi, initial, before, frame.other);
    frame.counter = phi;
    frame.counter_type = c.count ? c.unsigned_type : c.type;
    frame.counter_step = c.count ? vy_spv_int(m, c.unsigned_type, 1) : c.step;
    carry_phis(f, i, &frame, before);
    if (frame.test_first && vy_exits(f->p, i)) go_phi(f, &frame, before);
    loop_merge(f, &frame);
    begin_test(f);
    if (frame.test_first) leave_at_header(f, &frame, vy_counted_test(f, &c, phi));
    f->ids[i] = vy_counted_variable(f, &c, phi, &frame.counter_next);
    return vy_push_frame(f, frame);
}

// Is the condition of a WHILE computed from its carries alone?  Then it keeps its value in lanes
// that have left.
static bool is_plain(vy_fn *f, uint32_t i)
{
    for (uint32_t k = i + 1; inst(f, k)->op != VY_OP_TEST; k++)
        if (inst(f, k)->op != VY_OP_CARRY && vy_op_infos[inst(f, k)->op].effect != VY_PURE)
            return false;
    return true;
}

static bool begin_while(vy_fn *f, uint32_t i)
{
    vy_spv *m = f->m;
    vy_emit_frame frame = {.opener = i,
                           .header = vy_spv_id(m),
                           .merge = vy_spv_id(m),
                           .other = vy_spv_id(m),
                           .test_first = true};
    if (!reserve_inits(f, i, &frame)) return false;
    uint32_t before = f->block;
    bool inside = !leave_together(f, i) && !is_plain(f, i);
    vy_branch(f, frame.header);
    vy_label(f, frame.header);
    carry_phis(f, i, &frame, before);
    if (inside || vy_exits(f->p, i)) go_phi(f, &frame, before);
    if (inside) frame.skip = vy_spv_id(m);
    loop_merge(f, &frame);
    begin_test(f);
    if (inside) leave_at_header(f, &frame, 0);
    return vy_push_frame(f, frame);
}

// The condition of a TEST or of a `break`.
static uint32_t answer(vy_fn *f, uint32_t i)
{
    const uint32_t operand = vy_arg(f->p, i, 0), id = vy_val(f, operand);
    return VY_IS_LEAF(operand) || !f->m->hooks->answer ? id : f->m->hooks->answer(f, id);
}

static void loop_leave_test(vy_fn *f, uint32_t i)
{
    vy_emit_frame *frame = &f->frames.data[f->frames.count - 1];
    uint32_t condition = answer(f, i), body;
    if (!frame->skip) {
        leave_at_header(f, frame, condition);
        return;
    }
    frame->first_end = f->block;
    vy_nest(f, 1, 0);
    VY_PUT(f->m, &f->code, SpvOpSelectionMerge, frame->skip, SpvSelectionControlMaskNone);
    vy_branch_if(f, condition, body = vy_spv_id(f->m), frame->skip);
    vy_label(f, body);
}

// Steps the counter of a LOOP; returns the condition to continue.
static uint32_t step_counter(vy_fn *f, const vy_emit_frame *frame)
{
    vy_counted c = vy_counted_loop(f, frame->opener);
    uint32_t next = frame->counter_next, t = vy_spv_type(f->m, frame->counter_type);
    c.count = frame->count;
    c.limit = frame->limit;
    if (!next) next = VY_DO(f, SpvOpIAdd, t, frame->counter, frame->counter_step);
    patch(f, frame->counter_phi, next);
    return frame->test_first ? 0 : vy_counted_test(f, &c, next);
}

// A value for the next iteration.  After the body of a WHILE whose condition is inside the body
// (body_end): where the condition was false, carries keep their values.
static uint32_t next_value(vy_fn *f, const vy_emit_frame *frame, uint32_t type, uint32_t next,
                           uint32_t otherwise, uint32_t body_end)
{
    if (!body_end || next == otherwise) return next;
    return VY_DO(f, SpvOpPhi, type, next, body_end, otherwise, frame->first_end);
}

// The value that ENDLOOP `end` passes to carry k.
static uint32_t next_of(const vy_fn *f, const vy_emit_frame *frame, uint32_t end, uint32_t k)
{
    return vy_arg(f->p, end, vy_next_arg(f->p, frame->opener) + k);
}

static void next_iteration(vy_fn *f, uint32_t i, const vy_emit_frame *frame)
{
    const bool leaves = vy_exits(f->p, frame->opener);
    uint32_t body_end = 0, keep = leaves ? answer(f, i) : 0;
    if (frame->counter) step_counter(f, frame);
    if (!frame->counter && frame->skip) {
        body_end = f->block;
        vy_branch(f, frame->skip);
        vy_label(f, frame->skip);
    }
    for (uint32_t k = 0; k < frame->carries; k++) {
        uint32_t carry = frame->opener + 1 + k;
        uint32_t type = vy_spv_type(f->m, (vy_type)inst(f, carry)->type);
        uint32_t next = vy_val(f, next_of(f, frame, i, k));
        patch(f, frame->phis + k * PHI_WORDS,
              next_value(f, frame, type, next, f->ids[carry], body_end));
    }
    if (!frame->go) return;
    uint32_t no = vy_spv_const(f->m, VY_BOOL, (vy_scalar){.u = 0});
    if (!leaves) keep = vy_spv_const(f->m, VY_BOOL, (vy_scalar){.u = 1});
    patch(f, frame->go_phi, next_value(f, frame, vy_bool_type(f), keep, no, body_end));
}

static void end_tested_first(vy_fn *f, uint32_t i, const vy_emit_frame *frame)
{
    next_iteration(f, i, frame);
    vy_branch(f, frame->other);
    vy_label(f, frame->other);
    vy_branch(f, frame->header);
    vy_label(f, frame->merge);
}

// A loop tested at its end.
static void end_guarded(vy_fn *f, uint32_t i, const vy_emit_frame *frame)
{
    const bool leaves = vy_exits(f->p, frame->opener);
    for (uint32_t k = 0; k < frame->carries; k++)
        patch(f, frame->phis + k * PHI_WORDS, vy_val(f, next_of(f, frame, i, k)));
    uint32_t keep = leaves ? answer(f, i) : 0;
    vy_branch(f, frame->other);
    vy_label(f, frame->other);
    vy_branch_if(f, vy_and_bool(f, keep, step_counter(f, frame)), frame->header, frame->merge);
    vy_label(f, frame->merge);
    if (!frame->skip) return;
    f->closed_end = frame->merge;
    vy_branch(f, frame->skip);
    vy_label(f, frame->skip);
}

static void end_loop(vy_fn *f, uint32_t i)
{
    vy_emit_frame frame = f->frames.data[--f->frames.count];
    vy_unnest(f, frame.skip != 0, 1);
    if (frame.test_first)
        end_tested_first(f, i, &frame);
    else
        end_guarded(f, i, &frame);
    f->closed = frame;
}

static uint32_t loop_result(vy_fn *f, uint32_t i, uint32_t end, uint32_t k)
{
    const vy_emit_frame *frame = &f->closed;
    if (frame->test_first) return f->ids[frame->opener + 1 + k]; // the carry
    uint32_t type = vy_spv_type(f->m, (vy_type)inst(f, i)->type);
    uint32_t next = vy_val(f, next_of(f, frame, end, k));
    if (!frame->skip) return next;
    uint32_t initial = vy_val(f, vy_slot_init(f->p, frame->opener, k));
    return VY_DO(f, SpvOpPhi, type, initial, frame->first_end, next, f->closed_end);
}

static uint32_t result(vy_fn *f, uint32_t i)
{
    uint32_t end = vy_arg(f->p, i, 0), k = inst(f, i)->aux;
    switch ((vy_op)inst(f, end)->op) {
    case VY_OP_ENDIF: return vy_emit_if_result(f, i, end, k);
    case VY_OP_ENDLOOP: return loop_result(f, i, end, k);
    default: return vy_val(f, vy_arg(f->p, end, k));
    }
}

bool vy_emit_control(vy_fn *f, uint32_t i)
{
    switch ((vy_op)inst(f, i)->op) {
    case VY_OP_IF: return vy_emit_if(f, i);
    case VY_OP_ELSE: vy_emit_else(f, i); break;
    case VY_OP_ENDIF: vy_emit_endif(f); break;
    case VY_OP_LOOP: return begin_loop(f, i);
    case VY_OP_WHILE: return begin_while(f, i);
    case VY_OP_TEST: loop_leave_test(f, i); break;
    case VY_OP_ENDLOOP: end_loop(f, i); break;
    case VY_OP_RESULT: f->ids[i] = result(f, i); break;
    default: break; // CARRY: made by its loop; CHECKPOINT: no construct on the device
    }
    return !f->m->oom;
}
