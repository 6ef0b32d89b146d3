// SPDX-License-Identifier: MIT
// session.h: from a program and host arrays to values and gradients, in a dozen calls.
//
//   vys_session *s; vys_task *t; vy_diag d = {0};
//   vys_open(NULL, &s, &d);                                   // VYRE_DEVICE, else the best device
//   vys_task_parse(s, text, strlen(text), "f.vyre", &(vys_settings){.order = 1}, &t, &d);
//   vys_set(t, "x", VY_F32, 2, (uint64_t[]){m, n}, x, &d);    // scalars m, n follow from shapes
//   vys_set_int(t, "steps", 100000, &d);                      // … and others are set
//   vys_run(t, &d);
//   vys_read(t, "grad_x", VY_F32, gradient, sizeof gradient, &d);
//   vys_task_free(t);
//   vys_close(s);
//
// Everything that makes a result correct and fast on the device at hand is done inside: compiler
// options are chosen from facts about the device and from the sizes of the run, and a derivative
// whose tapes do not fit is replaced by one that tapes less.  All-zero descriptors are safe
// defaults.
//
// Errors.  A call that can fail returns false and describes the first error in *d (which may hold
// one already: then the call does nothing and returns false, so one check at the end of a sequence
// is enough).  Codes are those of the command and of the library (docs/diagnostics.md): E0806 for
// contradictory shapes, E0805 for missing data, E05xx for programs without a derivative, …  Nothing
// prints, exits or aborts, except for isl, GMP and SPIRV-Tools when out of memory.
//
// Limits.  Some drivers silently compute wrong results beyond a limit of theirs (lavapipe: 65,535
// iterations of loops, 80 nested conditions).  They are not given programs that exceed it: E0903.
// Loops whose trip counts depend on data are watched while they run; beyond the limit the run fails
// (E0903) and returns no numbers.
//
// Ownership.  An object returned through `out` belongs to the caller; tasks are freed before their
// session.  Text, modules and arrays passed in are copied before the call returns.  Returned
// strings live as long as the object they were requested from.
//
// Threads.  A session with its tasks is used by one thread at a time; sessions are independent,
// even two on one device.
#ifndef VYRE_SESSION_H
#define VYRE_SESSION_H

#include "session/target.h"

#include "vkrt/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vys_session vys_session;
typedef struct vys_task vys_task;

typedef struct vys_session_desc {
    size_t size;           // of the struct, or 0 (vyre.h)
    bool interpreter;      // the reference interpreter instead of a device
    const char *device;    // an index or a part of the name; NULL: VYRE_DEVICE, else the best
    vkrt_device *use;      // a device of the caller, which outlives the session; NULL: open one
    const char *cache_dir; // of compiled kernels, as in vkrt_device_desc
} vys_session_desc;

// Opens the engine.  desc NULL: all zero.  Errors: E0903 no driver, no such device; E0001.
VYS_API bool vys_open(const vys_session_desc *desc, vys_session **out, vy_diag *d);
VYS_API void vys_close(vys_session *s); // NULL is fine
VYS_API vys_facts vys_session_facts(const vys_session *s);
VYS_API vkrt_device *vys_session_device(const vys_session *s); // NULL: the interpreter
// Messages of the validation layers, if VYRE_VALIDATION is in the environment; NULL past the last.
VYS_API const char *vys_session_message(const vys_session *s, uint32_t index);

// A program or pipeline, or its derivative, with its data.  settings->program names it (NULL: the
// only program of the module, else the last pipeline); settings->order is how many times it is
// differentiated, at most VYS_MOST_ORDER; 0: the program itself runs.  settings NULL: all zero.
// Parameters are those of the program and, for a derivative, the gradients grad_x (with
// settings->seed_buffer also cotangents ct_x, ones if they are not set), as vy_grad names them;
// with settings->forward the tangents dot_x (ones if they are not set) and dot_y, as vy_jvp names
// them.
// Errors: those of vy_parse and vy_grad; E0803; E0801 settings outside of their bounds (target.h).
VYS_API bool vys_task_parse(vys_session *s, const char *text, size_t size, const char *file,
                            const vys_settings *settings, vys_task **out, vy_diag *d);
// The same for a module that was built or read, or whose text imports files (session/import.h).
VYS_API bool vys_task_build(vys_session *s, const vy_module *m, const vys_settings *settings,
                            vys_task **out, vy_diag *d);
VYS_API void vys_task_free(vys_task *t); // NULL is fine

// Sets a buffer: `rank` lengths, slowest axis first, and row-major elements of its own type, which
// are copied.  shape NULL: `rank` is 1 and the shape follows from the declaration and
// vys_set_flat's count.  data NULL: zeros; for an `out` buffer only the shape can be set, where
// nothing else decides it.  Errors: E0801 no such buffer; E0806 another rank; E0807 another type.
VYS_API bool vys_set(vys_task *t, const char *name, vy_type type, uint32_t rank,
                     const uint64_t *shape, const void *data, vy_diag *d);
// Makes a buffer, input or result (a gradient, too), a part of a storage on the session's device
// (vkrt/engine.h): it is read and written there, and nothing is copied.  The shape is given as to
// vys_set, which also ends it.  Runs continue from what is there, but results start as zeros.
// storage NULL: as if it had never been set or bound; type and shape are ignored.
// Errors: those of vys_set; E0801 in the interpreter.
VYS_API bool vys_bind(vys_task *t, const char *name, vy_type type, uint32_t rank,
                      const uint64_t *shape, vkrt_storage *storage, uint64_t offset, vy_diag *d);
// The same for `count` elements whose shape follows from the declaration.
VYS_API bool vys_set_flat(vys_task *t, const char *name, vy_type type, uint64_t count,
                          const void *data, vy_diag *d);
// Sets a scalar.  If it is an entire dimension of a buffer that is set, it must agree with its
// shape.  Errors: E0801; E0807 a value that the scalar's type does not have.
VYS_API bool vys_set_int(vys_task *t, const char *name, int64_t value, vy_diag *d);
VYS_API bool vys_set_float(vys_task *t, const char *name, double value, vy_diag *d);
// How many workgroups run, for a program without `over` or a pipeline that names num_groups.
VYS_API bool vys_set_groups(vys_task *t, const uint32_t groups[3], vy_diag *d);

// Runs with the current data.  Every run starts from it: `out` buffers from zeros, `inout` buffers
// from the contents that were set, unless settings.keep_state.  Compiled code is reused while it
// suits the sizes.  Errors: E0805 missing data; E0806 contradictory shapes; E0811 tapes exceed
// settings.tape_limit even with the least storage; E0903 a missing feature of the device, a limit
// that the program would exceed, or out of device memory.
VYS_API bool vys_run(vys_task *t, vy_diag *d);

// All of vys_run but the run itself: vys_task_plan is then ready to be recorded, submitted with
// semaphores, written and read in part (vkrt/engine.h).  Results of such runs are read with
// vkrt_plan_read, or from storages.  Errors: those of vys_run; E0801 in the interpreter.
VYS_API bool vys_prepare(vys_task *t, vy_diag *d);
// What runs on the device; valid until the task changes.  NULL: nothing is ready.
VYS_API vkrt_plan *vys_task_plan(const vys_task *t);

// Copies an entire `out` or `inout` buffer of the last run into data[bytes].  type: the buffer's.
// Errors: E0801 no such result; E0806 another size; E0807 another type.
VYS_API bool vys_read(vys_task *t, const char *name, vy_type type, void *data, uint64_t bytes,
                      vy_diag *d);

typedef enum vys_role {
    VYS_ROLE_SCALAR,
    VYS_ROLE_BUFFER,    // of the program
    VYS_ROLE_COTANGENT, // an input
    VYS_ROLE_GRADIENT,  // an output
    VYS_ROLE_TANGENT,   // in forward mode: of an input an input, of an output an output
} vys_role;

typedef struct vys_parameter {
    const char *name;
    vys_role role;
    vy_derivative_mode mode; // of buffers: read, overwritten, or changed in place
    const char *of; // cotangents, gradients, tangents: the parameter they belong to, else NULL
    // For derivatives of derivatives: the parameter of the original source whose shape it has.
    const char *root;
    vy_buffer_class cls; // of buffers: IN, OUT, INOUT
    vy_type type;
    uint32_t rank;
    // `rank` entries, after a run, valid until the task changes; NULL: not known yet.
    const uint64_t *shape;
    uint64_t count; // elements, if the shape is known
} vys_parameter;

// Parameter `index` of what runs; false past the last.
VYS_API bool vys_task_parameter(const vys_task *t, uint32_t index, vys_parameter *out);

typedef struct vys_stats {
    uint64_t runs, compilations; // so far
    uint32_t storage;    // storage level of the derivative: 0 the fastest, 1, 2, … smaller
    double milliseconds; // of the last run: on the device, or in the interpreter
    // On a device: bytes of the buffers made by the compiler and the intermediates, at their most.
    uint64_t workspace_bytes;
} vys_stats;
VYS_API vys_stats vys_task_stats(const vys_task *t);

#ifdef __cplusplus
}
#endif
#endif
