// SPDX-License-Identifier: MIT
// pass.h: what several passes of ir/ share.  See sweep.c, check.h for the checker.
#ifndef VYRE_PASS_H
#define VYRE_PASS_H

#include "ir.h"

// Everything a rebuild that drops things needs to know about the old program.
typedef struct vy_sweep {
    const vy_program *old;
    vy_structure s;
    vy_arena arena; // scratch, freed with the sweep
    uint8_t *live;  // by instruction id; a slot is live when its CARRY (loops) or RESULT is
    uint32_t *test; // by WHILE: its TEST
    uint32_t *same; // by instruction id: an earlier value it always equals, else the id itself
} vy_sweep;

static inline uint32_t vy_same(const vy_sweep *w, uint32_t id)
{
    return VY_IS_LEAF(id) ? id : w->same[id];
}
bool vy_sweep_begin(vy_sweep *w, const vy_program *p); // nothing live, nothing the same
void vy_sweep_free(vy_sweep *w);
// Marks what is needed.  The roots are writes and barriers, and with `keep_all` everything that is
// not a marker.
bool vy_sweep_mark(vy_sweep *w, bool keep_all);
// Rebuilds *p without what is dead or the same as something else, with constant IFs spliced and
// loops that never run removed.  *changed is set when there was anything to do.
bool vy_sweep_run(vy_sweep *w, vy_program *p, bool *changed);

bool vy_pass_rows(vy_program *p, vy_pass_context *c);       // a row that a loop adds to
bool vy_pass_registers(vy_program *p, vy_pass_context *c);  // rows in local arrays become values
bool vy_pass_promote(vy_program *p, vy_pass_context *c);    // memory that a loop updates
bool vy_pass_accumulate(vy_program *p, vy_pass_context *c); // elements that a loop adds to
bool vy_pass_arrays(vy_program *p, vy_pass_context *c);     // arrays nobody uses

// check_uniform.c: by instruction, 0 where the value is the same in all invocations of a workgroup that
// reach it (of an IF, LOOP or WHILE: where all of them go the same way), else what makes it differ.
// With `all`, an earlier answer, only differences that come from data or built-ins count, not those
// that come from the domain variables alone.  NULL: memory.
const uint32_t *vy_differences(const vy_program *p, const vy_structure *s, const uint32_t *all,
                               vy_arena *arena);
bool vy_leaf_differs(const vy_program *p, uint32_t id);

// Number of carried or yielded values of an opening marker (IF, LOOP, WHILE, CHECKPOINT).
uint32_t vy_slot_count(const vy_program *p, const vy_structure *s, uint32_t opener);
// The closing marker of an opening one.
static inline uint32_t vy_closer(const vy_program *p, const vy_structure *s, uint32_t opener)
{
    uint32_t c = s->partner[opener];
    return p->insts.data[opener].op == VY_OP_IF ? s->partner[c] : c;
}
// First of the operands that are handed on: LOOP's inits, ENDLOOP's nexts.
static inline uint32_t vy_init_arg(const vy_program *p, uint32_t loop)
{
    return p->insts.data[loop].op == VY_OP_LOOP ? 3 : 0;
}
static inline uint32_t vy_next_arg(const vy_program *p, uint32_t loop)
{
    return p->insts.data[loop].flags & VY_FLAG_EXIT ? 1 : 0;
}
// The loop's `keep`, or 0.
static inline uint32_t vy_keep(const vy_program *p, const vy_structure *s, uint32_t loop)
{
    return p->insts.data[loop].flags & VY_FLAG_EXIT ? vy_arg(p, s->partner[loop], 0) : 0;
}
static inline bool vy_is_marker(vy_op op) { return vy_op_infos[op].effect == VY_CTRL; }
static inline bool vy_is_loop(vy_op op) { return op == VY_OP_LOOP || op == VY_OP_WHILE; }

// Next thing built stands where `id` of `old` stood.
void vy_pass_at(vy_builder *b, const vy_program *old, uint32_t id);
// Gives value `fresh`, if it has no name yet, the debug name of `id` of `old`.
void vy_pass_name(vy_builder *b, const vy_program *old, uint32_t id, uint32_t fresh);
// Installs what `b` built as the new contents of *p.
bool vy_pass_finish(vy_builder *b, vy_program *p);
// True when LOOP bounds of integer type t are constants under which the body never runs.
bool vy_loop_never(vy_type t, const vy_scalar *from, const vy_scalar *to);
// Integer constant as a signed 64-bit number; false if `id` is none or it does not fit.
bool vy_id_int(const vy_program *p, uint32_t id, int64_t *out);

// Does `chunk` work on the loops of the program?
static inline bool vy_is_chunked(const vy_program *p, const vy_opt_options *o)
{
    return o && o->chunk > 1 && !(o->few_turns && o->few_turns(o->user, p));
}

// Could a program tell the size of its workgroups: no domain, a built-in, shared memory, a barrier?
bool vy_sees_workgroup(const vy_program *p);
// The workgroup of a program that names none.
void vy_default_workgroup(vy_program *p);
// Workgroups whose rows fill `lanes`, where the program cannot tell (reshape.c).
void vy_reshape(vy_program *p, uint32_t lanes);

#endif
