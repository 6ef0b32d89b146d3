// SPDX-License-Identifier: MIT
// plan_internal.h: the executable plan, shared by the files that make and run it.
//
// A run is a sequence of segments.  A segment is one submission: the steps from a cursor up to the
// next READBACK (whose value decides the following steps), the end, or SEGMENT_DISPATCHES.  Its
// commands depend only on the cursor it starts from and the bound buffers, so a later run that
// reaches the same cursor submits it again without recording.
#ifndef VYRE_VKRT_PLAN_INTERNAL_H
#define VYRE_VKRT_PLAN_INTERNAL_H

#include "vkrt/internal.h"

#pragma GCC visibility push(hidden)

#define VKRT_SEGMENT_DISPATCHES 16384 // bounds the memory of a command buffer
#define VKRT_TIMED_DISPATCHES 1024    // likewise, when each gets two timestamps
#define VKRT_KEPT_SEGMENTS 16         // recorded ones; later ones share the last slot
#define VKRT_PARAM_CHUNK_BYTES 65536
#define VKRT_MAX_POOLS 32 // they double, so this is no limit in practice

typedef struct vkrt_frame {
    uint32_t step; // the REPEAT; its body ends before `end`
    uint32_t end;
    int64_t iteration, count;
} vkrt_frame;

// The position of a run: everything on which the rest of it depends.
typedef struct vkrt_cursor {
    uint32_t step, depth;
    uint64_t part; // workgroups of the dispatch at `step` that are done
    vkrt_frame *frames;
    int64_t *symbols; // values; for floats their bits
    bool *known;
} vkrt_cursor;

typedef enum vkrt_source { VKRT_SOURCE_NONE, VKRT_SOURCE_GIVEN, VKRT_SOURCE_INFERRED } vkrt_source;

typedef struct vkrt_bound { // a part of a buffer
    uint64_t offset, bytes;
} vkrt_bound;

#define VKRT_SPANS 8
typedef struct vkrt_spans { // parts accessed since the last barrier, if `epoch` is the recorder's
    uint32_t epoch, count;
    vkrt_bound at[VKRT_SPANS];
} vkrt_spans;

typedef struct vkrt_plan_buf {
    bool shaped, flat, contents; // shape given; only its count given; data given
    bool available;              // allocated with the shape of this run
    bool fresh;                  // became available since the last segment
    bool zero_first;             // starts every run as zero
    uint64_t *shape;             // rank entries
    uint64_t flat_count, bytes;
    vkrt_buffer memory;
    vkrt_storage *storage;    // whose part `memory` is; NULL: it is the plan's own
    vkrt_spans read, written; // of the recorder
} vkrt_plan_buf;

typedef struct vkrt_param_chunk {
    vkrt_buffer buffer;
    struct vkrt_param_chunk *next;
} vkrt_param_chunk;

typedef struct vkrt_semaphores { // the caller's
    VkSemaphore *handles;
    uint64_t *values;
    VkPipelineStageFlags *stages; // that wait
    uint32_t count;
    bool timeline; // some have values
} vkrt_semaphores;

typedef struct vkrt_segment {
    bool valid;
    bool external; // `commands` is the caller's: all of a run, without fence and queries
    vkrt_cursor start, end;
    VkCommandBuffer commands;
    VkFence fence;
    VkDescriptorPool pools[VKRT_MAX_POOLS];
    uint32_t pool_count, sets_left, buffers_left, dynamic_left; // the latter: in the newest pool
    vkrt_param_chunk *params;                                   // newest first
    uint32_t param_used;                                        // of the newest
    VkQueryPool queries; // two for the whole, then two per timed dispatch
    uint32_t query_capacity;
    uint32_t *timed_steps, timed_count, timed_capacity;
    uint32_t visited, commands_count, dispatches, barriers;
    bool timed_continues; // the first timed dispatch began in the segment before
    uint32_t pieces;      // dispatches and parts of them
    double planned_ns;    // their expected total time
    vkrt_pipeline *sole;  // if there is only one, with its groups and its largest scalar
    uint64_t sole_groups;
    int64_t sole_scale;
    uint64_t submitted_ns;
    const char *first_kernel, *last_kernel;
} vkrt_segment;

// The descriptor sets a step used last, valid while `key` and the segment stay the same.
typedef struct vkrt_step_sets {
    const vkrt_segment *segment;
    uint64_t generation;
    VkDescriptorSet sets[VKRT_MAX_SETS];
    VkDescriptorBufferInfo *key; // one per binding, then the parameter chunk
} vkrt_step_sets;

typedef struct vkrt_names { // find.c
    uint32_t *slots;        // place in the table + 1; 0: free
    size_t mask;            // number of slots, a power of two, minus 1
} vkrt_names;

typedef struct vkrt_watched {
    uint32_t buffer;
    uint32_t cut;  // the step before which it is final; UINT32_MAX: nothing writes it
    uint32_t loop; // the outermost REPEAT around that; UINT32_MAX: none
    bool final, notified;
} vkrt_watched;

typedef struct vkrt_watching { // watch.c
    vkrt_watched *buffers;
    uint32_t count;
    bool *ends; // per step: a submission ends before it; NULL: nothing is watched
    void (*ready)(void *user, uint32_t buffer);
    void (*idle)(void *user);
    void *user;
} vkrt_watching;

struct vkrt_plan {
    vkrt_device *device;
    const vy_plan *plan;
    void *owned; // memory behind a plan made from one kernel
    vkrt_plan_desc desc;
    // Buffer in which kernels say that loops were ended, where that is checked; else VY_NO_EXPR.
    uint32_t watch;
    vkrt_pipeline **pipelines; // per kernel; NULL: no step uses it
    vkrt_cache *caches;
    uint64_t *compile_ns;
    vkrt_plan_buf *buffers;
    uint64_t scratch_bytes; // of workspaces that have their memory, while shapes are determined
    // Symbols as given or inferred: where a run starts.
    int64_t *symbols;
    vkrt_source *sources;
    uint32_t *source_buffer, *source_axis; // of inferred ones
    vkrt_names symbol_names, buffer_names;
    uint32_t groups[3];
    bool has_groups;
    bool prepared;
    // The current run.
    vkrt_cursor at;
    int64_t *values; // of the plan's expressions at the cursor
    bool *value_known;
    bool *value_bad; // not known because it overflows or divides by zero
    bool evaluated;
    bool *sizing; // per symbol: a repeat's counter that the shape of a buffer depends on
    bool resized; // such a symbol has changed: shapes must be recomputed before continuing
    uint32_t max_depth;
    vkrt_segment segments[VKRT_KEPT_SEGMENTS];
    uint32_t segment_index;
    vkrt_segment *in_flight;
    vkrt_watching watching;
    vkrt_semaphores waits, signals; // of the current run, until they are submitted
    bool holds;                     // its storages are busy
    uint32_t recordings;            // in command buffers of the caller
    vkrt_step_sets *step_sets;      // per step
    uint64_t generation;            // counts recordings
    bool remeasured;                // a kernel was measured in this run: the next run records anew
    uint64_t started_ns;
    vkrt_stats stats;
    vkrt_dispatch_time *times;
    uint32_t time_capacity;
    // Scratch of the recorder.
    int64_t *kernel_symbols, *kernel_values;
    VkDescriptorBufferInfo *infos; // aligned as the device wants it
    vkrt_bound *bounds;            // per binding too: what it covers, exactly
    VkWriteDescriptorSet *writes;
    unsigned char *params; // one parameter block
    uint32_t epoch;
    VkPipelineStageFlags pending; // stages used since the last barrier
    vkrt_plan_buf dummy;          // the device's, as far as hazards go
};

// --- find.c --------------------------------------------------------------------------------------
bool vkrt_names_make(vkrt_plan *plan); // false: memory
bool vkrt_find_symbol(const vkrt_plan *plan, const char *name, uint32_t *index);

// --- value.c -------------------------------------------------------------------------------------
void vkrt_plan_evaluate(vkrt_plan *plan); // expressions at the cursor
// The value of an expression, once evaluated.  `what` it is for, in errors: UNSET, BAD_SHAPE.
vkrt_status vkrt_plan_value(const vkrt_plan *plan, uint32_t expr, const char *what, int64_t *value,
                            vkrt_error *error);
// Fails: the expression has no value that 64 bits hold.
vkrt_status vkrt_bad_value(const vkrt_plan *plan, uint32_t expr, vkrt_error *error);
// Appends the expression as C-like text, truncated to the space available.  Returns the new end.
size_t vkrt_expr_text(const vy_plan *p, uint32_t i, char *text, size_t size, size_t used);

// --- shape.c -------------------------------------------------------------------------------------
// VKRT_OK if the buffer has its size and memory, else why not.
vkrt_status vkrt_plan_need(const vkrt_plan *plan, uint32_t b, vkrt_error *error);
// Determines the shapes of buffers at the cursor, those that can be, and allocates what changed.
vkrt_status vkrt_plan_provide_all(vkrt_plan *plan, vkrt_error *error);
vkrt_status vkrt_plan_allocate(vkrt_plan *plan, uint32_t b, uint64_t bytes, vkrt_error *error);
vkrt_status vkrt_shape_bytes(const vkrt_plan *plan, uint32_t b, uint64_t count, uint64_t *bytes,
                             vkrt_error *error);
void vkrt_shape_text(uint32_t rank, const uint64_t *shape, char *text, size_t size);

// Rank and size of a shape that the caller gives; then its effect.
vkrt_status vkrt_shape_check(const vkrt_plan *plan, uint32_t b, uint32_t rank,
                             const uint64_t *shape, uint64_t *bytes, vkrt_error *error);
void vkrt_shape_take(vkrt_plan *plan, uint32_t b, uint32_t rank, const uint64_t *shape,
                     uint64_t bytes);

// --- bind.c --------------------------------------------------------------------------------------
// A buffer by its name, while the plan is not running; BUSY, BAD_ARGUMENT.
vkrt_status vkrt_find_plan_buffer(const vkrt_plan *plan, const char *name, uint32_t *b,
                                  vkrt_error *error);

// --- hold.c --------------------------------------------------------------------------------------
vkrt_status vkrt_plan_own(vkrt_plan *plan, uint32_t b, vkrt_error *error); // unbinds a storage
void vkrt_plan_release(vkrt_plan *plan, uint32_t b);
vkrt_status vkrt_plan_unrecorded(const vkrt_plan *plan, vkrt_error *error); // else BUSY
vkrt_status vkrt_plan_check_bound(const vkrt_plan *plan, vkrt_error *error);
void vkrt_plan_hold(vkrt_plan *plan, bool runs); // its storages are busy, or no longer

// --- semaphore.c ---------------------------------------------------------------------------------
vkrt_status vkrt_semaphores_take(vkrt_plan *plan, const vkrt_submit_desc *desc, vkrt_error *error);
void vkrt_semaphores_free(vkrt_semaphores *s);
// Submits with what the run still waits for, and what it signals if this is its last submission.
VkResult vkrt_semaphores_submit(vkrt_plan *plan, const VkCommandBuffer *commands, VkFence fence,
                                bool last);

// --- run.c ---------------------------------------------------------------------------------------
void vkrt_plan_begin(vkrt_plan *plan); // a run from the start: no buffer is available yet

// --- cursor.c ------------------------------------------------------------------------------------
bool vkrt_cursor_alloc(const vkrt_plan *plan, vkrt_cursor *cursor);
void vkrt_cursor_free(vkrt_cursor *cursor);
void vkrt_cursor_copy(const vkrt_plan *plan, vkrt_cursor *to, const vkrt_cursor *from);
bool vkrt_cursor_equal(const vkrt_plan *plan, const vkrt_cursor *a, const vkrt_cursor *b);
void vkrt_cursor_reset(vkrt_plan *plan);  // plan->at := the start
bool vkrt_cursor_settle(vkrt_plan *plan); // closes bodies; false: at the end
vkrt_status vkrt_cursor_repeat(vkrt_plan *plan, vkrt_error *error); // enters the REPEAT at hand
vkrt_status vkrt_cursor_test(vkrt_plan *plan, vkrt_error *error);   // passes the TEST at hand
void vkrt_watch_begin(vkrt_plan *plan);                             // of a run
void vkrt_watch_note(vkrt_plan *plan, const vkrt_cursor *at);       // that all before has been done
void vkrt_watch_notify(vkrt_plan *plan); // what was noted, if something is in flight
// The run goes on, and this buffer is final: the caller has been notified.
bool vkrt_watch_notified(const vkrt_plan *plan, const char *name, uint32_t *buffer);
void vkrt_watch_free(vkrt_plan *plan);
void vkrt_plan_invalidate(vkrt_plan *plan); // forgets recorded segments, which begin at cursors

// --- record.c ------------------------------------------------------------------------------------
vkrt_status vkrt_record(vkrt_plan *plan, vkrt_segment *segment, vkrt_error *error);
// The commands alone, between a barrier after the stages `before` and one for the stages `after`.
vkrt_status vkrt_record_commands(vkrt_plan *plan, vkrt_segment *segment,
                                 VkPipelineStageFlags before, VkPipelineStageFlags after,
                                 vkrt_error *error);
void vkrt_segment_destroy(vkrt_plan *plan, vkrt_segment *segment);

// --- barrier.c -----------------------------------------------------------------------------------
// Orders an access to a part of `b` after those it must follow, then notes it.
void vkrt_order(vkrt_plan *plan, vkrt_segment *segment, const vkrt_plan_buf *b, vkrt_bound range,
                bool writes);
void vkrt_note(vkrt_plan *plan, vkrt_plan_buf *b, vkrt_bound range, bool writes,
               VkPipelineStageFlags stage);

// --- fill.c --------------------------------------------------------------------------------------
// Fills all of a buffer, but for the last bytes of one that is no number of words, with ones: NaN.
void vkrt_poison(vkrt_plan *plan, vkrt_segment *segment, vkrt_plan_buf *b);
void vkrt_zero(vkrt_plan *plan, vkrt_segment *segment, vkrt_plan_buf *b, uint64_t offset,
               uint64_t bytes);
vkrt_status vkrt_record_fill(vkrt_plan *plan, vkrt_segment *segment, const vy_plan_step *step,
                             vkrt_error *error);
vkrt_status vkrt_record_copy(vkrt_plan *plan, vkrt_segment *segment, const vy_plan_step *step,
                             vkrt_error *error);

// --- args.c --------------------------------------------------------------------------------------
typedef struct vkrt_dispatch { // one step being recorded
    vkrt_plan *plan;
    vkrt_segment *segment;
    const vy_plan_step *step;
    const vy_kernel *kernel;
    vkrt_pipeline *pipeline;
    uint32_t index; // of the step
    uint32_t groups[3];
} vkrt_dispatch;

vkrt_status vkrt_bind_args(const vkrt_dispatch *d, vkrt_error *error); // fills plan->infos
void vkrt_clear_outputs(const vkrt_dispatch *d);
void vkrt_order_accesses(const vkrt_dispatch *d);
// Whether a dispatch in parts needs barriers between them: descriptors that begin where the device
// likes overlap although the slices do not.
bool vkrt_parts_overlap(const vkrt_dispatch *d);

// --- parts.c -------------------------------------------------------------------------------------
// Whether the dispatch can be cut along an axis.
bool vkrt_splits(const vkrt_dispatch *d, uint32_t axis);
// How many of the `left` workgroups the segment takes; 0: none, it must end before them.  *alone:
// it must end behind them.
uint64_t vkrt_part_take(const vkrt_dispatch *d, uint64_t left, bool *alone);
void vkrt_part_plan(const vkrt_dispatch *d, uint64_t taken); // notes that it did
void vkrt_part_measured(vkrt_plan *plan, const vkrt_segment *s,
                        uint64_t ns); // how long the segment took
// The largest box of at most `want` workgroups that begins behind the first `from` of the dispatch,
// and that the device takes at once.
void vkrt_part_box(const uint32_t groups[3], const uint32_t limit[3], uint64_t from, uint64_t want,
                   uint32_t base[3], uint32_t count[3]);

// --- dispatch.c, descriptor.c --------------------------------------------------------------------
// As much of the dispatch at the cursor as the segment takes.  *ends: the segment ends here; the
// cursor stays at the step, with `part` moved on, until all of it is recorded.
vkrt_status vkrt_record_dispatch(vkrt_plan *plan, vkrt_segment *segment, uint32_t step, bool *ends,
                                 vkrt_error *error);
// The sets that bind plan->infos (with the newest parameter chunk last), in plan->step_sets[step].
vkrt_status vkrt_descriptors(vkrt_plan *plan, vkrt_segment *segment, uint32_t step,
                             vkrt_error *error);
// Room for one parameter block in the newest chunk.
vkrt_status vkrt_param_room(vkrt_plan *plan, vkrt_segment *segment, uint32_t bytes,
                            uint32_t *offset, vkrt_error *error);

#pragma GCC visibility pop
#endif
