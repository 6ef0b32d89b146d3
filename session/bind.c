// SPDX-License-Identifier: MIT
// bind.c: see bind.h; shapes are in shape.c, derived programs in derived.c.
#include "session/bind.h"

#include "session/internal.h"

#include "autodiff/transform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool vys_binding_create(vys_binding *b, vys_entry what, bool f64, const vys_words *words,
                        vy_diag *d)
{
    const vy_program *p = what.program;
    const uint32_t buffers = vy_program_buffer_count(p), scalars = vy_program_scalar_count(p);
    *b = (vys_binding){.what = what,
                       .program = p,
                       .words = words ? words : &vys_plain_words,
                       .f64 = f64,
                       .scalar_count = scalars,
                       .groups = {-1, -1, -1}};
    b->buffers = calloc(buffers + 1, sizeof *b->buffers);
    b->place = calloc(buffers + 1, sizeof *b->place);
    b->now = calloc(buffers + 1, sizeof *b->now);
    b->scalars = calloc(scalars + 1, sizeof *b->scalars);
    b->values = calloc(scalars + 1, sizeof *b->values);
    b->known = calloc(scalars + 1, sizeof *b->known);
    b->dims = calloc(vy_program_dim_count(p) + 1, sizeof *b->dims);
    b->lengths = calloc(vy_program_buffer_count(p) + 1, sizeof *b->lengths);
    b->dim_states = calloc(vy_program_dim_count(p) + 1, sizeof *b->dim_states);
    if (!b->buffers || !b->place || !b->now || !b->scalars || !b->values || !b->known || !b->dims ||
        !b->dim_states || !b->lengths)
        return vys_fail_memory(d);
    for (uint32_t i = 0; i < scalars; i++) b->scalars[i].info = vy_program_scalar(p, i);
    for (uint32_t i = 0; i <= buffers; i++) b->lengths[i] = -1;
    for (uint32_t i = 1; i <= buffers; i++) {
        vy_buffer_info info = vy_program_buffer(p, (vy_buffer){i});
        if (info.cls == VY_SHARED || info.cls == VY_LOCAL || info.workspace) continue;
        b->buffers[b->buffer_count++].info = info;
        b->derived |= info.role.kind != VY_IS_PARAMETER;
        b->place[i] = b->now[i] = b->buffer_count;
    }
    return true;
}

void vys_binding_free(vys_binding *b)
{
    for (uint32_t i = 0; i < b->buffer_count; i++)
        if (!b->buffers[i].borrowed) vys_array_free(&b->buffers[i].value);
    free(b->buffers);
    free(b->place);
    free(b->now);
    free(b->scalars);
    free(b->values);
    free(b->known);
    free(b->dims);
    free(b->dim_states);
    free(b->lengths);
    *b = (vys_binding){0};
}

// ----------------------------------------------------------------------------------------- by name
vys_bound *vys_binding_find(const vys_binding *b, const char *name)
{
    const uint32_t place = b->now ? b->now[vy_program_find_buffer(b->program, name).id] : 0;
    return place ? &b->buffers[place - 1] : NULL;
}

const vys_bound *vys_binding_base(const vys_binding *b, const vy_buffer_info *info)
{
    const bool text = info->role.kind == VY_IS_PARAMETER;
    const char *name = text ? vy_text_base(info->name) : info->role.root;
    const vys_bound *found = name ? vys_binding_find(b, name) : NULL;
    while (!found && text && name && (name = vy_text_base(name))) found = vys_binding_find(b, name);
    return found;
}

static vys_bound_scalar *find_scalar(const vys_binding *b, const char *name)
{
    const uint32_t i = vy_program_find_scalar(b->program, name);
    return i < b->scalar_count ? &b->scalars[i] : NULL;
}

static void no_such(const vys_binding *b, const char *how, const char *name, bool scalars,
                    vy_diag *d)
{
    const uint32_t count = scalars ? b->scalar_count : b->buffer_count;
    const char **have = calloc(count + 1, sizeof *have), *kind = scalars ? "scalar" : "buffer";
    char fix[sizeof d->fix] = "";
    if (!have) {
        vys_fail_memory(d);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        have[i] = scalars ? b->scalars[i].info.name : b->buffers[i].info.name;
    const char *near = vy_nearest_name(name, count, have), *const *w = b->words->data;
    if (scalars && vys_binding_find(b, name)) {
        vys_append(fix, sizeof fix, "%.80s is a buffer: %s%.80s%s%.80s%s", name, w[0], name, w[1],
                   name, w[2]);
    } else if (!scalars && find_scalar(b, name)) {
        w = b->words->scalar;
        vys_append(fix, sizeof fix, "%.80s is a scalar: %s%.80s%s", name, w[0], name, w[1]);
    } else {
        if (near) vys_append(fix, sizeof fix, "did you mean %s? ", near);
        vys_append(fix, sizeof fix, count ? "its %ss are: " : "it has no %s", kind);
        for (uint32_t i = 0; i < count; i++)
            vys_append(fix, sizeof fix, "%s%s", i ? ", " : "", have[i]);
    }
    vys_fail(d, VYS_USAGE, fix, "%s%s%s: %s has no %s of that name", how, *how ? " " : "", name,
             vys_entry_name(b->what), kind);
    free(have);
}

vys_bound *vys_binding_buffer(const vys_binding *b, const char *how, const char *name, vy_diag *d)
{
    vys_bound *found = vys_binding_find(b, name);
    if (!found) no_such(b, how, name, false, d);
    return found;
}

vys_bound_scalar *vys_binding_scalar(const vys_binding *b, const char *how, const char *name,
                                     vy_diag *d)
{
    vys_bound_scalar *found = find_scalar(b, name);
    if (!found) no_such(b, how, name, true, d);
    return found;
}

bool vys_binding_given(const vys_binding *b, vy_diag *d)
{
    for (uint32_t i = 0; i < b->buffer_count; i++) {
        const vys_bound *buf = &b->buffers[i];
        const char *name = buf->info.name, *const *w = b->words->data;
        char fix[sizeof d->fix] = "";
        if (buf->given || buf->ones || buf->info.cls == VY_OUT) continue;
        vys_append(fix, sizeof fix, "%s%.80s%s%.80s%s", w[0], name, w[1], name, w[2]);
        return vys_fail(d, VYS_MISSING, fix, "buffer %s has no data", name);
    }
    return true;
}

// -------------------------------------------------------------------------------------- workgroups
bool vys_binding_takes_groups(const vys_binding *b)
{
    return b->what.pipeline ? vy_pipeline_takes_groups(b->what.pipeline)
                            : vy_program_over_count(b->what.program) == 0;
}

bool vys_binding_groups(vys_binding *b, const uint32_t groups[3], vy_diag *d)
{
    const bool takes = vys_binding_takes_groups(b), pipeline = b->what.pipeline != NULL;
    const char *name = vys_entry_name(b->what);
    if (!takes && groups)
        return vys_fail(d, VYS_USAGE, b->words->no_groups,
                        pipeline ? "pipeline %s says itself how many workgroups it dispatches"
                                 : "%s has a domain `over` of its own",
                        name);
    if (takes && !groups)
        return vys_fail(d, VYS_MISSING, b->words->groups,
                        pipeline ? "%s depends on num_groups: how many workgroups?"
                                 : "%s has no `over`: how many workgroups?",
                        name);
    for (int i = 0; takes && i < 3; i++) b->groups[i] = groups[i];
    return true;
}

bool vys_binding_has_groups(const vys_binding *b, uint32_t groups[3])
{
    for (int i = 0; i < 3 && b->groups[i] >= 0; i++) groups[i] = (uint32_t)b->groups[i];
    return b->groups[0] >= 0;
}

// ------------------------------------------------------------------------------------------- tapes
// Bytes of a workspace, as far as shapes are known; UINT64_MAX: beyond 64 bits.
static uint64_t workspace_bytes(const vys_binding *b, const vy_buffer_info *info)
{
    uint64_t bytes = vy_type_size(info->type);
    for (uint32_t k = 0; k < info->rank; k++) {
        const uint32_t dim = info->dims[k].id;
        const bool known = b->dim_states[dim] == VY_DIM_IS_KNOWN && b->dims[dim] >= 0;
        if (!known && b->what.pipeline) return 0; // counted while it runs
        if (!known || __builtin_mul_overflow(bytes, (uint64_t)b->dims[dim], &bytes))
            return UINT64_MAX; // the run says what is wrong with the shape
    }
    return bytes;
}

bool vys_binding_tape(vys_binding *b, uint64_t limit, vy_diag *d)
{
    uint64_t total = 0;
    if (!limit) limit = (uint64_t)1 << 30;
    b->limit = limit;
    for (uint32_t i = 1; i <= vy_program_buffer_count(b->program); i++) {
        const vy_buffer_info info = vy_program_buffer(b->program, (vy_buffer){i});
        if (!info.workspace) continue;
        if (__builtin_add_overflow(total, workspace_bytes(b, &info), &total)) total = UINT64_MAX;
    }
    b->kept = total;
    if (total <= limit) return true;
    const char *what = b->what.pipeline ? "the gradient's tapes and intermediates need %llu bytes"
                                        : "the reverse keeps %llu bytes on tapes";
    char text[120];
    snprintf(text, sizeof text, what, (unsigned long long)total);
    return vys_fail(d, VYS_TAPE, b->words->tape, "%s; the limit is %llu", text,
                    (unsigned long long)limit);
}
