// SPDX-License-Identifier: MIT
// session.h: from a program and host arrays to values and gradients, in a dozen calls.
//
//   vys_session *s; vys_task *t; vy_diag d = {0};
//   vys_open(NULL, &s, &d);                                       // VYRE_DEVICE, else the best device
//   vys_task_parse(s, text, strlen(text), "f.vyre", &(vys_settings){.order = 1}, &t, &d);
//   vys_set(t, "x", VY_F32, 2, (uint64_t[]){m, n}, x, &d);        // scalars m, n follow from shapes
//   vys_set_int(t, "steps", 100000, &d);                          // … and others are given
//   vys_run(t, &d);
//   vys_read(t, "grad_x", VY_F32, gradient, sizeof gradient, &d);
//   vys_task_free(t);
//   vys_close(s);
//
// Everything that makes a result right and fast on the device at hand is done inside: options of
// the compiler from facts about the device and from the sizes of the run, and a derivative that
// keeps less where what it keeps does not fit.  All-zero descriptors are safe defaults; `reserved`
// members are zero and become options of later versions.
//
// Errors.  A call that can fail returns false and describes the first error in *d (which may hold
// one already: then the call does nothing and returns false, so one check at the end of a sequence
// is enough).  Codes are those of the command and of the library (docs/diagnostics.md): E0806 for
// shapes
// that contradict one another, E0805 for what was not given, E05xx for what has no derivative, …  Nothing
// prints, exits or aborts, except what isl, GMP and SPIRV-Tools do when memory is out.
// Limits.  A driver that breaks what goes beyond a limit of its own (lavapipe: 65,535 iterations of
// loops, 80 nested conditions) is not given such a program: E0903.  Loops whose turns only the data
// decide are counted while they run; beyond the limit the run fails (E0903) and no numbers are
// handed out.  Ownership.  What a call hands out by its `out` belongs to the caller; tasks are
// freed before their session.  Text, modules and arrays handed in are copied before the call
// returns.  Strings returned live as long as what was asked.  Threads.  A session with its tasks is
// used by one thread at a time; sessions are independent, also two on one device.
#ifndef VYRE_SESSION_H
#define VYRE_SESSION_H

#include "session/target.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vys_session vys_session;
typedef struct vys_task vys_task;

typedef struct vys_session_desc {
    bool interpreter;      // the reference interpreter instead of a device
    const char *device;    // an index or a part of the name; NULL: VYRE_DEVICE, else the best
    vkrt_device *use;      // the caller's, which outlives the session, instead of opening one
    const char *cache_dir; // of compiled kernels, as in vkrt_device_desc
    uint64_t reserved[8];
} vys_session_desc;

// Opens the engine.  desc NULL: all zero.  Errors: E0903 no driver, no such device; E0001.
VYS_API bool vys_open(const vys_session_desc *desc, vys_session **out, vy_diag *d);
VYS_API void vys_close(vys_session *s); // NULL is fine
VYS_API vys_facts vys_session_facts(const vys_session *s);
VYS_API vkrt_device *vys_session_device(const vys_session *s); // NULL: the interpreter
// What the validation layers said, if VYRE_VALIDATION is in the environment; NULL past the last.
VYS_API const char *vys_session_message(const vys_session *s, uint32_t index);

// A program or pipeline, or its derivative, with its data.  settings->program names it (NULL: the
// only program of the module, else the last pipeline); settings->order says how many times it is
// differentiated: 1 or 2; 0, it runs itself.  settings NULL: all zero.  Parameters are those of the
// program and, of a derivative, the gradients grad_x (ct_x with settings->seed_buffer: cotangents,
// ones if they are not set), as vy_grad names them; with settings->forward the tangents dot_x, which
// are ones if they are not set, and dot_y, as vy_jvp names them.  Errors: those of vy_parse and vy_grad; E0803;
// E0801 settings outside of their bounds (target.h).
VYS_API bool vys_task_parse(vys_session *s, const char *text, size_t size, const char *file,
                            const vys_settings *settings, vys_task **out, vy_diag *d);
// The same from a module that was built or read.
VYS_API bool vys_task_build(vys_session *s, const vy_module *m, const vys_settings *settings,
                            vys_task **out, vy_diag *d);
VYS_API void vys_task_free(vys_task *t); // NULL is fine

// Gives a buffer: `rank` lengths, slowest axis first, and row-major elements of its own type, which
// are copied.  shape NULL: `rank` is 1 and the shape follows from the declaration and
// vys_set_flat's count.  data NULL: zeros; of an `out` buffer only the shape can be given, where
// nothing else decides it.  Errors: E0801 no such buffer; E0806 another rank; E0807 another type.
VYS_API bool vys_set(vys_task *t, const char *name, vy_type type, uint32_t rank,
                     const uint64_t *shape, const void *data, vy_diag *d);
// The same for `count` elements whose shape follows from the declaration.
VYS_API bool vys_set_flat(vys_task *t, const char *name, vy_type type, uint64_t count,
                          const void *data, vy_diag *d);
// Gives a scalar that is no whole dimension of a buffer that is set (else it must agree).  Errors:
// E0801; E0807 a value that the scalar's type does not have.
VYS_API bool vys_set_int(vys_task *t, const char *name, int64_t value, vy_diag *d);
VYS_API bool vys_set_float(vys_task *t, const char *name, double value, vy_diag *d);
// How many workgroups a program without `over` runs in (a pipeline that names num_groups likewise).
VYS_API bool vys_set_groups(vys_task *t, const uint32_t groups[3], vy_diag *d);

// Runs on what is set now.  Every run starts from what was set: `out` buffers from zeros, `inout`
// ones from what they were given, unless settings.keep_state.  What was compiled is used again
// while it suits the sizes.  Errors: E0805 something is not given; E0806 shapes that contradict;
// E0811 more memory for what the reverse keeps than settings.tape_limit, however little it keeps;
// E0903 what the device cannot do, a limit that the program would break, no memory on it.
VYS_API bool vys_run(vys_task *t, vy_diag *d);

// Copies an `out` or `inout` buffer of the last run, whole, into data[bytes].  type: the buffer's.
// Errors: E0801 no such result; E0806 another size; E0807 another type.
VYS_API bool vys_read(vys_task *t, const char *name, vy_type type, void *data, uint64_t bytes,
                      vy_diag *d);

typedef enum vys_role {
    VYS_ROLE_SCALAR,
    VYS_ROLE_BUFFER,    // of the program
    VYS_ROLE_COTANGENT, // goes in
    VYS_ROLE_GRADIENT,  // comes out
    VYS_ROLE_TANGENT,   // forward mode: of an input goes in, of an output comes out
} vys_role;

typedef struct vys_parameter {
    const char *name;
    vys_role role;
    const char *of; // cotangents, gradients and tangents: the parameter they belong to, else NULL
    // For derivatives of derivatives: the parameter of the source itself whose shape it has.
    const char *root;
    vy_buffer_class cls; // of buffers: IN, OUT, INOUT
    vy_type type;
    uint32_t rank;
    // `rank` entries, after a run, valid until the task changes; NULL: not known yet.
    const uint64_t *shape;
    uint64_t count; // elements, then
} vys_parameter;

// Parameter `index` of what runs; false past the last.
VYS_API bool vys_task_parameter(const vys_task *t, uint32_t index, vys_parameter *out);

typedef struct vys_stats {
    uint64_t runs, compilations; // so far
    uint32_t storage;            // how little the derivative keeps: 0 what is fastest, 1, 2, …
    double milliseconds;         // of the last run: on the device, or in the interpreter
} vys_stats;
VYS_API vys_stats vys_task_stats(const vys_task *t);

#ifdef __cplusplus
}
#endif
#endif
