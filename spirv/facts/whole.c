// SPDX-License-Identifier: MIT
// whole.c: sizes that leave elements of shared arrays unfilled.
//
//   shared t: f32[16, 16];
//   t[lid.y, lid.x] = a[i, k0 + lid.x];  barrier();       workgroup(16, 16) over(i: M, j: N)
//   for k in 0..16 { s += t[lid.y, k] * …; }
//
// Invocations outside of the domain do nothing.  So where N is not a multiple of 16, the columns
// that those of the last workgroup would have stored stay unfilled, and the invocations inside read
// whatever was there before.  The interpreter reports that (ir/eval/eval_partial.c).  A device
// cannot, so plans check the sizes where the fault is certain from the program alone: each lane is
// walked (whole_walk.c), and for each element and axis the first position that fills it and the
// first that reads it are recorded.  An element filled from position F on and read at position R is
// missing where a last workgroup has n invocations on the axis, R < n <= F.  Such a reader
// certainly exists if it is at position 0 of the other axes; otherwise if these are long enough for
// a full workgroup, which is then part of the check.
//
// Nothing is claimed about reads under unknown conditions or at unknown indices.  Elements that may
// be written count as written, at any time.
#include "spirv/facts/facts.h"
#include "spirv/facts/whole.h"
#include "spirv/facts/facts.h"

#include <string.h>

#define NEVER UINT16_MAX

typedef struct wholes {
    const vy_program *p;
    uint32_t lid[3];
    uint32_t *first; // by buffer: its elements in `fills` and `reads`, three axes each
    // 1 + the least position on the axis, 0: the entire workgroup does it; NEVER
    uint16_t *fills;
    uint16_t *reads[2]; // [0]: by readers at 0 of the other axes; [1]: by all
    uint32_t count;
} wholes;

static void least(uint16_t *x, uint32_t y)
{
    if (y < *x) *x = (uint16_t)y;
}

static uint32_t elements(const wholes *w, uint32_t buffer)
{
    return w->first[buffer + 1] - w->first[buffer];
}

static void fill(wholes *w, uint32_t buffer, int64_t element, uint32_t whole)
{
    const uint32_t n = elements(w, buffer);
    const uint32_t from = element < 0 ? 0 : (uint32_t)element, to = element < 0 ? n : from + 1;
    for (uint32_t e = from; e < to; e++)
        for (uint32_t axis = 0; axis < 3; axis++)
            least(&w->fills[3 * (size_t)(w->first[buffer] + e) + axis],
                  whole ? 0 : w->lid[axis] + 1);
}

static void write(void *user, uint32_t buffer, int64_t element) { fill(user, buffer, element, 0); }

static void clear(void *user, uint32_t buffer) { fill(user, buffer, -1, 1); }

static void read(void *user, uint32_t load, int64_t element)
{
    wholes *w = user;
    const uint32_t *l = w->lid;
    const size_t at = 3 * (w->first[w->p->insts.data[load].aux] + (size_t)element);
    for (uint32_t axis = 0; axis < 3; axis++) {
        if (l[0] + l[1] + l[2] == l[axis]) least(&w->reads[0][at + axis], l[axis] + 1);
        least(&w->reads[1][at + axis], l[axis] + 1);
    }
}

// Assigns positions in the tables; false: memory.
static bool lay_out(wholes *w, bool *any)
{
    w->first = vy_realloc(NULL, (w->p->buffers.count + 1) * sizeof *w->first);
    if (!w->first) return false;
    w->first[0] = 0;
    for (uint32_t b = 0; b < w->p->buffers.count; b++) {
        const vy_buf *buf = &w->p->buffers.data[b];
        uint64_t n = b && buf->cls == VY_SHARED ? 1 : 0;
        for (uint32_t k = 0; n && k < buf->rank; k++)
            n *= (uint64_t)w->p->dims.data[buf->dims[k].id].value;
        w->first[b + 1] = w->first[b] + (uint32_t)n;
    }
    w->count = w->first[w->p->buffers.count];
    *any = w->count;
    if (!*any) return true;
    const size_t table = 3 * (size_t)w->count, size = 3 * table * sizeof *w->fills;
    w->fills = vy_realloc(NULL, size);
    if (!w->fills) return false;
    w->reads[0] = w->fills + table;
    w->reads[1] = w->reads[0] + table;
    memset(w->fills, 0xff, size);
    return true;
}

// --------------------------------------------------------------------------------------- intervals
// missing[n]: the shared array that misses an element where n invocations are on the axis; 0: none.
// by: which of `reads`.  mark: sets such n, else resets them.
static void mark_axis(const wholes *w, uint32_t axis, uint32_t by, bool mark, uint32_t *missing)
{
    const uint32_t most = w->p->workgroup[axis];
    for (uint32_t b = 1; b < w->p->buffers.count; b++)
        for (uint32_t e = w->first[b]; e < w->first[b + 1]; e++) {
            const size_t at = 3 * (size_t)e + axis;
            const uint32_t to = w->fills[at] == NEVER ? 0 : w->fills[at];
            for (uint32_t n = w->reads[by][at]; n < to && n < most; n++) missing[n] = mark ? b : 0;
        }
}

static bool take_axis(const wholes *w, uint32_t axis, uint32_t by, uint32_t *missing,
                      vy_whole_vec *out)
{
    const uint32_t most = w->p->workgroup[axis];
    memset(missing, 0, most * sizeof *missing);
    mark_axis(w, axis, by, true, missing);
    if (by) mark_axis(w, axis, 0, false, missing);
    for (uint32_t n = 1, last; n < most; n++) {
        if (!missing[n]) continue;
        for (last = n; last + 1 < most && missing[last + 1]; last++) {}
        if (!vy_vec_push(out, ((vy_whole){axis, n, last, missing[n], by}))) return false;
        n = last;
    }
    return true;
}

static bool take_unfilled(const wholes *w, vy_whole_vec *out)
{
    const uint32_t *n = w->p->workgroup;
    const uint32_t most = n[0] > n[1] ? (n[0] > n[2] ? n[0] : n[2]) : (n[1] > n[2] ? n[1] : n[2]);
    uint32_t *missing = vy_realloc(NULL, most * sizeof *missing);
    bool ok = missing;
    for (uint32_t k = 0; ok && k < 6; k++) ok = take_axis(w, k / 2, k % 2, missing, out);
    vy_free(missing);
    return ok;
}

// ------------------------------------------------------------------------------------------- lanes
// False: memory.  *done is false where the walk would take too long.
static bool walk_lanes(wholes *w, const vy_structure *s, const vy_whole_uses *u, bool *done)
{
    const vy_whole_visitor visitor = {w, write, clear, read};
    vy_whole_walk *walk = vy_whole_walk_make(w->p, s, u, &visitor);
    uint32_t n[3]; // on axes that the domain lacks, all positions but the first are padding
    for (uint32_t k = 0; k < 3; k++) n[k] = k < w->p->overs.count ? w->p->workgroup[k] : 1;
    if (!walk) return false;
    *done = true;
    for (uint32_t at = 0; *done && at < n[0] * n[1] * n[2]; at++) {
        w->lid[0] = at % n[0], w->lid[1] = at / n[0] % n[1], w->lid[2] = at / n[0] / n[1];
        *done = vy_whole_walk_lane(walk, w->lid);
    }
    vy_whole_walk_free(walk);
    return true;
}

static bool find_unfilled(wholes *w, vy_whole_vec *out)
{
    vy_structure s = {0};
    vy_whole_uses u = {0};
    bool done = false, ok = vy_structure_make(w->p, &s);
    ok = ok && vy_whole_uses_make(w->p, &s, &u) && walk_lanes(w, &s, &u, &done);
    if (ok && done) ok = take_unfilled(w, out);
    vy_whole_uses_free(&u);
    vy_structure_free(&s);
    return ok;
}

bool vy_find_wholes(const vy_program *p, vy_whole_vec *out)
{
    wholes w = {.p = p};
    bool any = false, ok = true;
    if (p->overs.count) ok = lay_out(&w, &any) && (!any || find_unfilled(&w, out));
    vy_free(w.first);
    vy_free(w.fills);
    return ok;
}
