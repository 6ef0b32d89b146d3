// SPDX-License-Identifier: MIT
// ranks.c: see ranks.h.
#include "session/ranks.h"

#include "session/internal.h"
#include "session/overlap.h"

#include <stdlib.h>
#include <string.h>

static bool failed(const char *why, vy_diag *d)
{
    return !why || vys_fail(d, VYS_RANKS, NULL, "%.300s", why);
}

bool vys_comm_gather(const vys_comm *c, const void *own, void *all, uint64_t bytes,
                     uint64_t timeout_ns, vy_diag *d)
{
    return failed(c->begin_gather(c->user, own, all, bytes), d) &&
           failed(c->finish(c->user, timeout_ns), d);
}

// ------------------------------------------------------------------------------------------ halves
static bool set(vys_binding *b, const char *name, uint32_t value, vy_diag *d)
{
    vys_bound_scalar *s = vys_binding_scalar(b, "", name, d);
    if (!s) return false;
    s->value.u = value;
    b->values[s - b->scalars] = value;
    return true;
}

bool vys_part_phase(const vys_part *p, const vy_training *made, uint32_t step, bool derivative,
                    vy_diag *d)
{
    return set(p->data, made->first, step, d) &&
           set(p->data, made->derivatives, step + derivative, d) &&
           set(p->data, made->count, step + !derivative, d) && vys_runner_rescale(p->run, d);
}

// ------------------------------------------------------------------------------------------ arrays
// What one step sums: its row of the losses, then the gradients.
typedef struct piece {
    vys_bound *b;
    char *data;
    uint64_t count;
    vy_type type;
} piece;

static piece piece_of(const vys_ranks *r, uint32_t part, uint32_t index, uint32_t step)
{
    const char *name = index ? r->made->gradients[index - 1] : r->made->losses;
    vys_bound *b = vys_binding_find(r->parts[part].data, name);
    piece p = {b, b->value.data, b->value.count, b->value.type};
    if (index) return p;
    p.data += (size_t)step * vy_type_size(p.type);
    p.count = 1;
    return p;
}

static uint64_t bytes_of(const piece *p) { return p->count * vy_type_size(p->type); }

static void scale(const piece *p, double weight)
{
    if (weight == 1) return;
    if (p->type == VY_F64) {
        double *at = (double *)p->data;
        for (uint64_t i = 0; i < p->count; i++) at[i] *= weight;
        return;
    }
    float *at = (float *)p->data;
    for (uint64_t i = 0; i < p->count; i++) at[i] = (float)(at[i] * weight);
}

static bool read_piece(const vys_ranks *r, uint32_t part, const piece *p, vy_diag *d)
{
    if (!vys_runner_read_one(r->parts[part].run, p->b, p->b->value.data, d)) return false;
    scale(p, r->parts[part].weight);
    return true;
}

// `ordered` keeps the arrays of all pieces until they are finished: where those of one begin.
static uint64_t place_of(const vys_ranks *r, uint32_t index)
{
    uint64_t at = 0;
    for (uint32_t k = 0; k < index; k++) {
        const piece p = piece_of(r, 0, k, 0);
        at += bytes_of(&p);
    }
    return at * r->count;
}

static bool begin_gather(vys_ranks *r, uint32_t index, uint32_t step, vy_diag *d)
{
    const uint64_t place = place_of(r, index);
    char *own = r->own + place;
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < r->count; k++) {
        const piece p = piece_of(r, k, index, step);
        if (!read_piece(r, k, &p, d)) return false;
        bytes = bytes_of(&p);
        if (bytes) memcpy(own + k * bytes, p.data, bytes);
    }
    r->sent += bytes * r->count;
    return failed(r->comm->begin_gather(r->comm->user, own, r->all + place * r->comm->ranks,
                                        bytes * r->count),
                  d);
}

static bool begin(vys_ranks *r, uint32_t index, uint32_t step, vy_diag *d)
{
    if (r->ordered) return begin_gather(r, index, step, d);
    const piece p = piece_of(r, 0, index, step);
    if (!read_piece(r, 0, &p, d)) return false;
    r->sent += bytes_of(&p);
    return failed(r->comm->begin_sum(r->comm->user, p.data, p.count, p.type), d);
}

// In double, and in the order of the parts.
static void add_parts(const vys_ranks *r, uint32_t index, const piece *p)
{
    const uint32_t size = vy_type_size(p->type), parts = r->count * r->comm->ranks;
    const char *all = r->all + place_of(r, index) * r->comm->ranks;
    for (uint64_t i = 0; i < p->count; i++) {
        vy_scalar sum = {.f = 0};
        for (uint32_t k = 0; k < parts; k++)
            sum.f += vy_scalar_read(p->type, all + (k * p->count + i) * size).f;
        vy_scalar_write(p->type, sum, p->data + i * size);
    }
}

static bool finish(vys_ranks *r, uint32_t index, uint32_t step, vy_diag *d)
{
    const piece p = piece_of(r, 0, index, step);
    if (!failed(r->comm->finish(r->comm->user, r->timeout_ns), d)) return false;
    if (r->ordered) add_parts(r, index, &p);
    return vys_runner_upload_one(r->parts[0].run, p.b, d);
}

uint64_t vys_ranks_bytes(const vys_ranks *r, uint32_t index, const char **name)
{
    if (index > r->gradients) return 0;
    const piece p = piece_of(r, 0, index, 0);
    *name = index ? p.b->info.name : "loss";
    return bytes_of(&p) * r->count;
}

// ------------------------------------------------------------------------------------------- steps
static bool run_half(vys_ranks *r, uint32_t part, const vys_work *w, uint32_t step, bool derivative,
                     double *ms, vy_diag *d)
{
    const vys_part *p = &r->parts[part];
    double now = 0;
    if (!vys_part_phase(p, r->made, step, derivative, d) || !vys_runner_run(p->run, w, &now, d))
        return false;
    *ms += now;
    return true;
}

// The parameters of the first part, to the others.
static bool share(vys_ranks *r, uint32_t gradient, vy_diag *d)
{
    const char *name = r->params[gradient];
    const vys_bound *from = vys_binding_find(r->parts[0].data, name);
    const uint64_t bytes = from->value.count * vy_type_size(from->value.type);
    if (r->count == 1) return true;
    if (!vys_runner_read_one(r->parts[0].run, from, from->value.data, d)) return false;
    for (uint32_t k = 1; k < r->count; k++) {
        vys_bound *to = vys_binding_find(r->parts[k].data, name);
        if (bytes) memcpy(to->value.data, from->value.data, bytes);
        if (!vys_runner_upload_one(r->parts[k].run, to, d)) return false;
    }
    return true;
}

static bool run_step(vys_ranks *r, const vys_work *w, uint32_t step, double *ms, vy_diag *d)
{
    bool ok = true;
    const uint32_t last = r->count - 1;
    for (uint32_t k = 0; ok && k < last; k++) ok = run_half(r, k, w, step, true, ms, d);
    ok = ok && vys_overlap_arm(r, step, d) && run_half(r, last, w, step, true, ms, d) &&
         vys_overlap_drain(r, d);
    for (uint32_t i = 0; ok && i <= r->gradients; i++)
        ok = finish(r, vys_overlap_order(r, i), step, d);
    ok = ok && run_half(r, 0, w, step, false, ms, d);
    for (uint32_t i = 0; ok && i < r->gradients; i++) ok = share(r, i, d);
    return ok;
}

bool vys_ranks_run(vys_ranks *r, const vys_work *w, uint32_t steps, double *ms, vy_diag *d)
{
    *ms = 0;
    for (uint32_t i = 0; i < steps; i++)
        if (!run_step(r, w, i, ms, d)) return false;
    return true;
}

bool vys_ranks_begin(vys_ranks *r, vy_diag *d)
{
    if (r->ordered && !r->comm->begin_gather)
        return vys_fail(d, VYS_USAGE, "use one that has it",
                        "this communicator has no begin_gather");
    if (!vys_overlap_begin(r, begin, d)) return false;
    if (!r->ordered) return true;
    const uint64_t bytes = place_of(r, r->gradients + 1);
    r->own = malloc(bytes + 1);
    r->all = malloc(bytes * r->comm->ranks + 1);
    return (r->own && r->all) || vys_fail_memory(d);
}

void vys_ranks_free(vys_ranks *r)
{
    vys_overlap_free(r);
    free(r->own);
    free(r->all);
    r->own = r->all = NULL;
}
