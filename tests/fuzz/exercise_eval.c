// SPDX-License-Identifier: MIT
// exercise_eval.c: runs a program on small made-up data in the interpreter, once unchanged and once
// read back and optimised.
//
// Integer scalars are 3; programs whose buffers or domain are then too large are skipped, as are
// those that run too long (max_steps).  The results of programs with data races or reads of
// undefined memory may depend on optimisation; all others must give the same bits.
#include "tests/fuzz/fuzz.h"
#include "tests/told_sizes.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_ELEMENTS = 4096,
    MOST_BUFFERS = 16,
    MOST_SCALARS = 32,
    MOST_STEPS = 60000,
    UNKNOWN = 5, // elements of a buffer declared `?`
    SUBGROUP = 4 // lanes
};

typedef struct dispatch {
    vy_eval_buffer buffers[MOST_BUFFERS];
    uint64_t shapes[MOST_BUFFERS][VY_MAX_RANK], bytes[MOST_BUFFERS];
    uint32_t count;
    vy_eval_scalar scalars[MOST_SCALARS];
    uint32_t scalar_count;
} dispatch;

static vy_scalar scalar_of(vy_type type, uint32_t k)
{
    if (vy_type_is_float(type)) return (vy_scalar){.f = 0.75 + 0.25 * (k % 3)};
    return type == VY_BOOL ? (vy_scalar){.u = k % 2} : (vy_scalar){.u = 3};
}

// Values of all dimensions; false if one is unknown, invalid or too large.
static bool dims_of(const vy_program *p, int64_t *values, vy_dim_state *states)
{
    int64_t scalars[MOST_SCALARS] = {0};
    bool known[MOST_SCALARS] = {false};
    uint32_t n = vy_program_scalar_count(p);
    for (uint32_t k = 0; k < n; k++) {
        known[k] = vy_type_is_integer(vy_program_scalar(p, k).type);
        scalars[k] = 3;
    }
    int64_t *lengths = calloc((size_t)vy_program_buffer_count(p) + 1, sizeof *lengths);
    require(lengths != NULL, "memory");
    const int64_t groups[3] = {2, 1, 1}; // as dispatch_run
    for (uint32_t k = 0; k <= vy_program_buffer_count(p); k++) lengths[k] = UNKNOWN;
    vy_program_dim_values(p, scalars, known, lengths, groups, values, states);
    free(lengths);
    uint64_t invocations = 1;
    for (uint32_t k = 0; k < vy_program_over_count(p); k++) {
        vy_dim d = vy_program_over(p, k).extent;
        if (states[d.id] != VY_DIM_IS_KNOWN || values[d.id] > 64) return false;
        invocations *= values[d.id] > 0 ? (uint64_t)values[d.id] : 0;
        if (invocations > 256) return false;
    }
    uint32_t group[3];
    vy_program_workgroup(p, group);
    return (uint64_t)group[0] * group[1] * group[2] <= 256;
}

static bool add_buffer(dispatch *d, const vy_program *p, uint32_t id, const int64_t *values,
                       const vy_dim_state *states)
{
    vy_buffer_info b = vy_program_buffer(p, (vy_buffer){id});
    if (b.cls > VY_INOUT || b.workspace) return true;
    if (d->count == MOST_BUFFERS) return false;
    uint64_t count = 1;
    for (uint32_t k = 0; k < b.rank; k++) {
        vy_dim_state state = states[b.dims[k].id];
        int64_t n = state == VY_DIM_IS_OPEN ? UNKNOWN : values[b.dims[k].id];
        if (state == VY_DIM_IS_BAD || n < 0 || n > MOST_ELEMENTS) return false;
        d->shapes[d->count][k] = (uint64_t)n;
        if ((count *= (uint64_t)n) > MOST_ELEMENTS) return false;
    }
    uint32_t size = vy_type_size(b.type);
    char *data = calloc(count + 1, size);
    require(data != NULL, "memory");
    for (uint64_t e = 0; e < count; e++) {
        vy_scalar v = {.i = (int64_t)(e * 7 + id) % 5 - (vy_type_is_signed(b.type) ? 1 : 0)};
        if (b.type == VY_BOOL) v.u &= 1;
        if (vy_type_is_float(b.type)) v.f = 0.25 * (double)((e * 5 + id) % 11) - 0.5;
        vy_scalar_write(b.type, v, data + e * size);
    }
    d->bytes[d->count] = count * size;
    d->buffers[d->count] = (vy_eval_buffer){b.name, data, d->shapes[d->count], b.rank};
    d->count++;
    return true;
}

static void dispatch_free(dispatch *d)
{
    for (uint32_t k = 0; k < d->count; k++) free(d->buffers[k].data);
}

// Fills *d; false (nothing to free) if the program is skipped.
static bool dispatch_make(const vy_program *p, dispatch *d)
{
    uint32_t n = vy_program_dim_count(p);
    *d = (dispatch){.scalar_count = vy_program_scalar_count(p)};
    if (d->scalar_count > MOST_SCALARS) return false;
    int64_t *values = calloc(n, sizeof *values);
    vy_dim_state *states = calloc(n, sizeof *states);
    require(values && states, "memory");
    bool ok = dims_of(p, values, states);
    for (uint32_t k = 0; k < d->scalar_count; k++) {
        vy_scalar_info s = vy_program_scalar(p, k);
        d->scalars[k] = (vy_eval_scalar){s.name, scalar_of(s.type, k)};
    }
    for (uint32_t id = 1; ok && id <= vy_program_buffer_count(p); id++)
        ok = add_buffer(d, p, id, values, states);
    if (!ok) dispatch_free(d);
    free(values);
    free(states);
    return ok;
}

// True: it ran to its end and its results are defined.  *races: how often two accesses did.
static bool dispatch_run(const vy_program *p, dispatch *d, uint64_t *races)
{
    vy_eval_options o = {.groups = {2, 1, 1},
                         .report_races = true,
                         .report_out_of_range = true,
                         .report_uninitialised = true,
                         .subgroup_size = SUBGROUP,
                         .max_steps = MOST_STEPS};
    vy_eval_report report = {0};
    vy_diag diag = {0};
    bool ok = vy_eval(p, d->buffers, d->count, d->scalars, d->scalar_count, &o, &report, &diag);
    if (!ok) require_diag(&diag, NULL, 0);
    if (races) *races = report.races;
    return ok && !report.races && !report.uninitialised;
}

static void require_same(const vy_program *p, const dispatch *a, const dispatch *b, int level)
{
    for (uint32_t k = 0; k < a->count; k++) {
        vy_type type = vy_program_buffer(p, vy_program_find_buffer(p, a->buffers[k].name)).type;
        for (uint64_t at = 0; at < a->bytes[k]; at += vy_type_size(type)) {
            vy_scalar u = vy_scalar_read(type, (char *)a->buffers[k].data + at);
            vy_scalar v = vy_scalar_read(type, (char *)b->buffers[k].data + at);
            require(vy_scalar_same(type, u, v), "%s[%llu] of %s differs at -O0 and -O%d: %llx %llx",
                    a->buffers[k].name, (unsigned long long)(at / vy_type_size(type)),
                    vy_program_name(p), level, (unsigned long long)u.u, (unsigned long long)v.u);
        }
    }
}

bool exercise_races(const vy_module *m, uint32_t program)
{
    dispatch d;
    uint64_t races = 0;
    const vy_program *p = vy_module_program(m, program);
    if (!dispatch_make(p, &d)) return false;
    dispatch_run(p, &d, &races);
    dispatch_free(&d);
    return races > 0;
}

void exercise_eval(const vy_module *m, uint32_t program, int level)
{
    dispatch a, b;
    const vy_program *p = vy_module_program(m, program);
    if (!dispatch_make(p, &a)) return;
    if (dispatch_run(p, &a, NULL)) {
        vy_module *copy = reparsed(m, "program");
        vy_opt_options o = {.level = level};
        if (level == 3) tell_lanes(&o, SUBGROUP);
        require(vy_optimize(copy, &o), "-O%d: %s", level, vy_module_diag(copy)->text);
        p = vy_module_program(copy, program);
        // Where a loop exits early, the unrolled code may take more steps.
        if (dispatch_make(p, &b)) {
            if (dispatch_run(p, &b, NULL)) require_same(p, &a, &b, level);
            dispatch_free(&b);
        }
        vy_module_free(copy);
    }
    dispatch_free(&a);
}
