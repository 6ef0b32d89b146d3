// SPDX-License-Identifier: MIT
// eval.h: the internals of the interpreter.
//
//   eval.c           vy_eval: the order of workgroups, registers
//   eval_fail.c      errors, allocation
//   eval_bind.c      the caller's buffers and scalars by name, memory
//   eval_shape.c     inferred scalars, dimensions, the launch
//   eval_invocation.c  coordinates of invocations
//   eval_decode.c    program → execution form, registers
//   eval_pure.c      operations on values
//   eval_flow.c      if, loops
//   eval_memory.c    loads, stores, atomics
//   eval_subgroup.c  subgroup operations, barrier
//   eval_pipeline.c  vy_eval_pipeline, step by step
//   eval_shadow.c    races, reads of unwritten elements
//   eval_path.c      path hash
//   eval_trace.c     origins of NaN and inf
//   eval_partial.c   partially filled shared arrays
//   eval_marks.c     validity of marks, also of those set by passes
//   eval_dual.c      tangents alongside values (dual.h); dual_run.c: a run with them
//
// Execution.  A *chunk* of invocations of one workgroup advances in lockstep.  Every value has a
// register: one vy_scalar per lane.  `act` lists the active lanes in ascending order.  A program
// that uses barriers, shared arrays or subgroup operations runs its entire workgroup, padding
// included, as one chunk; any other may be split into smaller chunks, which bounds the size of the
// registers.
//
// A pure operation may also write the register of an inactive lane, so it can run as a plain loop
// over all lanes.  Hence the rule of eval_decode.c: a value that an inactive lane will still need
// is never in a register that a pure operation of active lanes writes.
#ifndef VYRE_EVAL_H
#define VYRE_EVAL_H

#include "ir/eval/dual.h"
#include "ir/core/ir.h"

// Additional options for callers within the library.
typedef struct vy_eval_hooks {
    // When not NULL: every decision along the path is mixed into it (branches and trip counts, the
    // operand chosen by select/min/max/abs, the integer result of floor and conversions), so that
    // two runs on nearby data took the same path if their hashes agree.  Any initial value will do.
    uint64_t *path_hash;
    struct vy_eval_trace *trace; // not NULL: receives the origins of the first non-finite numbers
    // When not NULL: the steps taken so far, which count towards options.max_steps; those of this
    // run are added.
    uint64_t *steps;
    // When not NULL: bytes that workspaces may take, instead of options.max_workspace_bytes.
    const uint64_t *workspace_left;
    bool exact_groups; // options.groups may be 0: then nothing runs
    bool flat; // what is given with one dimension takes the declared shape, of as many elements
    // When not NULL: does a runtime skip clearing an `out` buffer before a dispatch, since the
    // program is known to write all of it?  Then it starts as NaN (integers: −1) instead of zero.
    bool (*uncleared)(const vy_program *p, uint32_t buffer);
    const vy_dual *dual; // not NULL: compute tangents alongside values
} vy_eval_hooks;
typedef struct vy_eval_trace {
    uint32_t nan, inf; // first instruction that produced one from finite operands; 0: none did
    uint32_t base;     // added to ids: in pipelines, the number of instructions of earlier programs
} vy_eval_trace;
// The instruction (plus base) that produced a NaN, encoded in the NaN itself; 0: unknown.
uint32_t vy_trace_origin(double nan);
bool vy_eval_hooked(const vy_program *p, const vy_eval_buffer *buffers, uint32_t buffer_count,
                    const vy_eval_scalar *scalars, uint32_t scalar_count,
                    const vy_eval_options *options, const vy_eval_hooks *hooks,
                    vy_eval_report *report, vy_diag *diag);
bool vy_eval_pipeline_hooked(const vy_pipeline *p, const vy_eval_buffer *buffers,
                             uint32_t buffer_count, const vy_eval_scalar *scalars,
                             uint32_t scalar_count, const vy_eval_options *options,
                             const vy_eval_hooks *hooks, vy_eval_report *report, vy_diag *diag);

// The invocations that last accessed an element, per class of access.  They are numbered from 1, 0
// is none.
typedef struct vy_touch {
    uint32_t last;   // the last one
    uint32_t beside; // another one, of the same workgroup and epoch as `last`
    uint32_t before; // one of another workgroup than `last`
    uint32_t epoch;  // number of barriers of its workgroup before `last`
} vy_touch;
typedef enum vy_touch_class {
    VY_TOUCH_READ,
    VY_TOUCH_WRITE,
    VY_TOUCH_ATOMIC,
    VY_TOUCH_CLASSES
} vy_touch_class;

typedef struct vy_bound {
    unsigned char *data;
    vy_type type;  // of an element in memory: f64 for floats of any size in f64 mode
    uint32_t size; // bytes of an element
    uint32_t rank;
    uint64_t *dims;       // NULL: not known yet
    uint64_t count;       // elements
    uint64_t lane_stride; // bytes between the copies of a local array; 0 for others
    vy_buffer_class cls;
    bool given;        // by the caller
    bool owned;        // `data` is freed by the machine
    vy_touch *touches; // VY_TOUCH_CLASSES per element, or NULL
    uint32_t *written; // per element: 1 + workgroup of the first write, or 0; or NULL
    // If an atomic is @owned, per element: who updated it; if the buffer is, who accessed it
    // (eval_marks.c).
    uint32_t *owner;
    bool one_owner; // the buffer is
    // Shared arrays of launches with invocations outside the domain, else NULL.  Per element: 1 +
    // the last workgroup in which a store was dropped; in which the element was filled.
    uint64_t *dropped, *filled;
    bool unclear;   // unknown where, or whether, invocations outside would have stored
    double *dot;    // tangents, per element; NULL for integers and in runs without tangents
    bool dot_owned; // freed by the machine
    const vy_dual_buffer *tangents; // the caller's
    bool extrema;                   // the target of an atomic_min or atomic_max
    // In runs with tangents: number of the invocation whose atomic_min or atomic_max set the
    // element, or 0.
    uint64_t *winner;
} vy_bound;

// The outcome of evaluating a dimension node.
typedef enum vy_dim_result {
    VY_DIM_MISSING,
    VY_DIM_FINE,
    VY_DIM_OVERFLOWS,
    VY_DIM_DIVIDES_BY_ZERO
} vy_dim_result;

typedef struct vy_machine vy_machine;
typedef struct vy_xinst vy_xinst;
typedef void (*vy_handler)(vy_machine *m, const vy_xinst *x);

// One decoded instruction.  Register r of lane l is vy_machine.regs[r * lane_capacity + l].
struct vy_xinst {
    vy_handler run;
    uint32_t dst, a, b, c; // registers; absent operands read register 0
    uint32_t args;         // all operands: index in vy_machine.operands, nargs of them
    uint32_t inst;         // the instruction it was decoded from
    uint32_t aux;          // of the instruction; loops: register that counts iterations
    uint32_t target;       // control: branch target (an index in code)
    uint32_t moves; // control: `nmoves` operands from vy_machine.operands[moves] on are moved
    uint32_t to;    // to the registers vy_machine.operands[to], [to+1], …
    uint32_t nmoves;
    uint16_t op;
    uint8_t type, operand_type; // vy_type of the value and of the last operand
    uint32_t nargs;
    uint32_t depth; // control: of nesting, from 0
    uint8_t flags;  // of the instruction
    bool clash;     // moves need a temporary copy: some source is a destination
};

// An open control construct.
typedef struct vy_frame {
    const uint32_t *act; // the lanes active outside
    uint32_t nact;
    uint32_t nelse; // IF: lanes waiting for ELSE
} vy_frame;

struct vy_machine {
    const vy_program *p;
    vy_eval_options options;
    const vy_eval_hooks *hooks;
    vy_eval_report *report;
    vy_diag *diag;
    bool failed;
    // Pipelines: p is the signature, which is not executed.
    bool pipeline;
    const int64_t *step_values; // by step: the value of VY_DIM_STEP nodes
    const bool *step_known;

    // bound by eval_bind.c
    vy_bound *bounds;    // by buffer id
    vy_scalar *scalars;  // by parameter index
    int64_t *dim_values; // by dim node
    uint8_t *dim_states; // vy_dim_result
    uint64_t *extents;   // by over variable
    uint64_t size[3];    // invocations along x, y, z
    uint32_t workgroup[3];
    uint64_t groups[3];
    uint64_t group_count;

    // decoded by eval_decode.c
    vy_xinst *code;
    uint32_t code_count;
    uint32_t *operands;
    uint32_t operand_count;
    uint32_t *leaf_regs; // by leaf index, UINT32_MAX: unused
    uint32_t *varying;   // indices of used leaves that differ between lanes or chunks
    uint32_t varying_count;
    uint32_t reg_count, max_depth;
    uint32_t max_moves;   // of an instruction with `clash`
    uint64_t local_bytes; // of one lane's local arrays
    bool subgroups;       // subgroup operations
    bool cooperative;     // barriers, shared arrays or subgroup operations

    // the running chunk
    vy_scalar *regs;
    vy_scalar *dots; // tangents, laid out like regs; NULL: not computed
    uint32_t lanes, lane_capacity;
    const uint32_t *act; // active lanes, ascending
    uint32_t nact;
    bool wide; // pure operations run over all lanes
    uint32_t pc;
    uint32_t *identity; // 0, 1, 2, …
    uint32_t *lists;    // two lists per depth
    vy_frame *frames;   // by depth
    int64_t *offsets;   // per lane, scratch
    vy_scalar *scratch; // max(1, max_moves) per lane
    uint8_t *marks;     // per lane
    uint8_t *padding;   // per lane: outside the domain
    uint32_t *linear;   // per lane: linear index in the workgroup
    uint64_t *gids;     // per lane: x, y, z
    uint32_t *lids;     // per linear index in the workgroup: x, y, z
    uint64_t group;     // linear, in logical order
    uint64_t group_id[3];
    uint32_t epoch; // barriers passed
    uint64_t steps;
    // By instruction, for reports of races: stores of one value by several invocations.
    struct vy_redundancy *redundant;
    uint8_t *sums;    // by instruction, for reports of reads of unwritten elements: sum_loads.c
    uint8_t *finite;  // per lane, in traced runs: the current instruction's operands are finite
    uint32_t *origin; // likewise: the origin of a NaN among them
};

static inline vy_scalar *vy_reg(const vy_machine *m, uint32_t reg)
{
    return m->regs + (size_t)reg * m->lane_capacity;
}

// Runs BODY for each active lane `l`.
#define VY_EACH_ACTIVE(m, l, BODY)                                                                 \
    for (uint32_t k_ = 0; k_ < (m)->nact; k_++) {                                                  \
        const uint32_t l = (m)->act[k_];                                                           \
        BODY                                                                                       \
    }

static inline void vy_set_active(vy_machine *m, const uint32_t *act, uint32_t n)
{
    m->act = act;
    m->nact = n;
    m->wide = 2 * (uint64_t)n >= m->lanes;
}

// eval_bind.c.  All return false with the diagnostic filled.
bool vy_eval_bind(vy_machine *m, const vy_eval_buffer *buffers, uint32_t buffer_count,
                  const vy_eval_scalar *scalars, uint32_t scalar_count);
// eval_shape.c: infers scalars, evaluates dims, compares shapes; the launch.
bool vy_eval_infer(vy_machine *m, const vy_eval_buffer *const *given, bool *have);
bool vy_eval_shapes(vy_machine *m, const vy_eval_buffer *const *given);
bool vy_eval_shape(vy_machine *m, uint32_t id, const vy_eval_buffer *given); // of one buffer
// Recomputes dimensions; without `given`, those that depend on given shapes keep their values.
void vy_eval_dims(vy_machine *m, const vy_eval_buffer *const *given);
const char *vy_eval_dim_trouble(const vy_machine *m, vy_dim d); // NULL: its value is known
bool vy_eval_launch(vy_machine *m);
// eval_bind.c: a parameter or workspace by name, 0: there is none; sets initial contents other than
// zero
uint32_t vy_eval_parameter(const vy_program *p, const char *name);
void vy_eval_start(vy_machine *m, uint32_t id);
// eval_decode.c
bool vy_eval_decode(vy_machine *m);
vy_handler vy_eval_pure(vy_op op, vy_type type, vy_type result, bool f64); // eval_pure.c
vy_handler vy_eval_flow(vy_op op, vy_op opener);                           // eval_flow.c
vy_handler vy_eval_memory(vy_op op);                                       // eval_memory.c
vy_handler vy_eval_subgroup(vy_op op);                                     // eval_subgroup.c
// eval_shadow.c
bool vy_shadow_make(vy_machine *m);
// Records an access of one lane to an element, and reports races and reads of unwritten elements.
void vy_shadow_access(vy_machine *m, const vy_xinst *x, uint32_t lane, uint64_t element,
                      vy_touch_class cls);
void vy_shadow_out_of_range(vy_machine *m, const vy_xinst *x, uint32_t lane);
// eval_path.c: before x runs; hashes the decision that it makes about the path, if any
void vy_path_note(vy_machine *m, const vy_xinst *x);
void vy_path_mix(vy_machine *m, const vy_xinst *x, uint32_t lane, uint64_t choice);

// eval_marks.c: marks of accesses (docs/language.md 16) that do not hold are errors.  Called,
// respectively: before the first run; for a lane out of range; before an atomic updates the element
// at `at`, whose value is `old`.
bool vy_marks_make(vy_machine *m);
void vy_mark_out_of_range(vy_machine *m, const vy_xinst *x);
void vy_mark_access(vy_machine *m, const vy_xinst *x); // all lanes, at m->offsets
void vy_mark_update(vy_machine *m, const vy_xinst *x, uint32_t lane, uint64_t at, vy_scalar old);

// eval_partial.c: after vy_eval_launch; the others when m->offsets are known
bool vy_partial_make(vy_machine *m);
void vy_partial_store(vy_machine *m, const vy_xinst *x, vy_bound *b);
void vy_partial_zero(vy_machine *m, const vy_bound *b);
void vy_partial_load(vy_machine *m, const vy_xinst *x, const vy_bound *b);

// eval_dual.c
// Memory of tangents: of parameters and shared arrays; of one local array or one intermediate of a
// pipeline.
bool vy_dual_make(vy_machine *m);
bool vy_dual_make_one(vy_machine *m, uint32_t id);
void vy_dual_restart(vy_machine *m, uint32_t id);    // sets all tangents to VY_DUAL_NONE
bool vy_dual_leaves(vy_machine *m);                  // registers of scalars and constants
void vy_dual_step(vy_machine *m, const vy_xinst *x); // after x has run
void vy_dual_finish(vy_machine *m);                  // copies tangents of outputs to the caller
void vy_dual_release(vy_bound *b);

// eval_trace.c: before and after x runs
void vy_trace_before(vy_machine *m, const vy_xinst *x);
void vy_trace_after(vy_machine *m, const vy_xinst *x);

// eval.c
void vy_eval_release(vy_machine *m); // frees everything it owns

// eval_fail.c
void *vy_eval_alloc(vy_machine *m, uint64_t count, uint64_t size); // zeroed; NULL: diagnostic set
void vy_eval_fail(vy_machine *m, vy_code code, uint32_t line, uint32_t column, const char *format,
                  ...) __attribute__((format(printf, 5, 6)));
void vy_eval_fail_args(vy_machine *m, vy_code code, uint32_t line, uint32_t column,
                       const char *format, va_list args);

// eval_invocation.c
// Global coordinates of a linear index in a workgroup.  Returns whether it is in the domain.
bool vy_eval_locate(const vy_machine *m, const uint64_t group_id[3], uint32_t linear,
                    uint64_t gid[3]);
uint64_t vy_eval_over(const vy_machine *m, uint32_t k, const uint64_t gid[3]); // of over variable k
void vy_eval_group_position(const vy_machine *m, uint64_t group, uint64_t id[3]);
// Writes "i=3, j=4" for the invocation with this number, counted from 1.
void vy_eval_who(const vy_machine *m, uint32_t invocation, char *out, size_t size);

#endif
