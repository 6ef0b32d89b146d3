// SPDX-License-Identifier: MIT
// overlap.c: see overlap.h.
//
// The plan says where each array is final (vkrt_plan_watch); sums begin in that order, and those
// that are final at the end only follow.  A sum is matched with that of another rank by its place
// in the order alone, so ranks whose plans differ (another device, other sizes) would add different
// arrays: before the first step they compare their orders, and all begin at the end if any differs.
#include "session/overlap.h"

#include "session/internal.h"

#include <stdlib.h>

struct vys_overlap {
    vys_begin_sum *begin;
    vkrt_plan *plan; // that is watched; NULL: none
    uint32_t count;  // arrays: losses, gradients
    uint32_t *order;
    uint32_t *watched; // by place in the plan's list: which array
    bool *ready;       // by array
    uint32_t begun, step;
    bool agreed, armed, ok;
    vy_diag *d;
};

// ------------------------------------------------------------------------------------------- sums
static void go_on(vys_ranks *r)
{
    struct vys_overlap *o = r->overlap;
    while (o->ok && o->begun < o->count && o->ready[o->order[o->begun]])
        o->ok = o->begin(r, o->order[o->begun++], o->step, o->d);
}

static void ready(void *user, uint32_t buffer)
{
    vys_ranks *r = user;
    struct vys_overlap *o = r->overlap;
    const uint64_t before = r->sent;
    if (!o->armed) return;
    o->ready[o->watched[buffer]] = true;
    go_on(r);
    r->early += r->sent - before;
}

static void idle(void *user)
{
    const vys_comm *c = ((vys_ranks *)user)->comm;
    if (c->progress) c->progress(c->user);
}

// ------------------------------------------------------------------------------------------ orders
static const char *name_of(const vys_ranks *r, uint32_t index)
{
    return index ? r->made->gradients[index - 1] : r->made->losses;
}

// By where they are final, then by number.
static void sort(struct vys_overlap *o, const uint32_t *at)
{
    for (uint32_t i = 0; i < o->count; i++) {
        uint32_t k = i;
        for (; k > 0 && at[o->order[k - 1]] > at[i]; k--) o->order[k] = o->order[k - 1];
        o->order[k] = i;
    }
}

static bool watch(vys_ranks *r, vkrt_plan *plan, const char **names, uint32_t *final_at,
                  uint32_t *at, vy_diag *d)
{
    struct vys_overlap *o = r->overlap;
    vkrt_watch_desc desc = {.size = sizeof desc,
                            .buffers = names,
                            .final_at = final_at,
                            .ready = ready,
                            .idle = idle,
                            .user = r};
    vkrt_error e = {0};
    uint32_t unused;
    for (uint32_t i = 0; i < o->count; i++) {
        at[i] = UINT32_MAX;
        if (!vkrt_plan_find_buffer(plan, name_of(r, i), &unused)) continue;
        o->watched[desc.count] = i;
        names[desc.count++] = name_of(r, i);
    }
    if (vkrt_plan_watch(plan, &desc, &e)) return vys_vkrt_fail(&e, NULL, d);
    o->plan = plan;
    for (uint32_t i = 0; i < desc.count; i++) at[o->watched[i]] = final_at[i];
    sort(o, at);
    return true;
}

bool vys_overlap_begin(vys_ranks *r, vys_begin_sum *begin, vy_diag *d)
{
    const uint32_t n = r->gradients + 1;
    vkrt_plan *plan = r->comm->ranks > 1 ? r->parts[r->count - 1].run->plan : NULL;
    struct vys_overlap *o = r->overlap = calloc(1, sizeof *o);
    const char **names = calloc(n, sizeof *names);
    uint32_t *places = calloc(2 * (size_t)n, sizeof *places);
    bool ok = o && names && places;
    if (ok) {
        *o = (struct vys_overlap){.begin = begin,
                                  .count = n,
                                  .order = calloc(n, sizeof *o->order),
                                  .watched = calloc(n, sizeof *o->watched),
                                  .ready = calloc(n, sizeof *o->ready)};
        ok = o->order && o->watched && o->ready;
    }
    if (!ok) vys_fail_memory(d);
    for (uint32_t i = 0; ok && i < n; i++) o->order[i] = i;
    ok = ok && (!plan || watch(r, plan, names, places, places + n, d));
    free(names);
    free(places);
    return ok;
}

static void unwatch(struct vys_overlap *o)
{
    vkrt_error e = {0};
    if (o->plan) vkrt_plan_watch(o->plan, &(vkrt_watch_desc){.size = sizeof(vkrt_watch_desc)}, &e);
    o->plan = NULL;
}

void vys_overlap_free(vys_ranks *r)
{
    struct vys_overlap *o = r->overlap;
    if (!o) return;
    unwatch(o);
    free(o->order);
    free(o->watched);
    free(o->ready);
    free(o);
    r->overlap = NULL;
}

// Sums of the places and of their squares: both are those of equal numbers only if all are equal.
static bool agree(vys_ranks *r, vy_diag *d)
{
    struct vys_overlap *o = r->overlap;
    const uint32_t n = o->count;
    double *sums = calloc(2 * (size_t)n, sizeof *sums);
    if (!sums) return vys_fail_memory(d);
    for (uint32_t i = 0; i < n; i++)
        sums[i] = o->order[i], sums[n + i] = (double)o->order[i] * o->order[i];
    const char *why = r->comm->begin_sum(r->comm->user, sums, 2 * (uint64_t)n, VY_F64);
    if (!why) why = r->comm->finish(r->comm->user, r->timeout_ns);
    bool same = true;
    for (uint32_t i = 0; i < n; i++) {
        const double own = o->order[i], ranks = r->comm->ranks;
        same &= sums[i] == ranks * own && sums[n + i] == ranks * own * own;
    }
    free(sums);
    if (why) return vys_fail(d, VYS_RANKS, NULL, "%.300s", why);
    o->agreed = true;
    if (same) return true;
    unwatch(o);
    for (uint32_t i = 0; i < n; i++) o->order[i] = i;
    return true;
}

// ------------------------------------------------------------------------------------------- steps
bool vys_overlap_arm(vys_ranks *r, uint32_t step, vy_diag *d)
{
    struct vys_overlap *o = r->overlap;
    if (!o->agreed && r->comm->ranks > 1 && !agree(r, d)) return false;
    for (uint32_t i = 0; i < o->count; i++) o->ready[i] = false;
    o->begun = 0;
    o->step = step;
    o->d = d;
    o->ok = o->armed = true;
    return true;
}

bool vys_overlap_drain(vys_ranks *r, vy_diag *d)
{
    struct vys_overlap *o = r->overlap;
    o->armed = false;
    if (d->severity == VY_ERROR) return false;
    for (uint32_t i = 0; i < o->count; i++) o->ready[i] = true;
    go_on(r);
    return o->ok;
}

uint32_t vys_overlap_order(const vys_ranks *r, uint32_t place) { return r->overlap->order[place]; }
