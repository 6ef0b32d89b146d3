// SPDX-License-Identifier: MIT
// gather_place.c: where a kept value is in its buffer: at the invocation that keeps it.
//
//   over(z: n)  as  over(c: (n + W - 1) / W, b: W), if c * W + b < n        kept1[c * W + b]
//
// Over coordinates of which all are points, these are the axes.  Where the last row may not be full
// their extents may be any numbers in a launch that the gather does not run in, and the buffer is
// there in all launches.  Then it has the domain as the program has it, and a point is at the
// number that its coordinates make.
#include "autodiff/gather/gather_split.h"
#include "ir/build/build.h"

uint32_t gather_place_axes(const gather *g, const vy_over_var **axes)
{
    const gather_splitting *first = g->split.guarded ? g->split.how[0] : NULL;
    *axes = first ? first->before : g->r->overs.data;
    return first ? first->before_count : g->r->overs.count;
}

// The variables before the split, from those behind it.
static void join(const gather_splitting *s, vy_builder *b, uint32_t *value)
{
    uint32_t before[VY_MAX_RANK], at = 0;
    for (uint32_t k = 0; k < s->before_count; k++) {
        if (k != s->over) {
            before[k] = value[at++];
            continue;
        }
        vy_value part[GATHER_PARTS];
        for (uint32_t i = s->count; i-- > 0;) part[i] = (vy_value){value[at++]};
        before[k] = gather_number_of(s, b, part, 0, s->count).id;
    }
    for (uint32_t k = 0; k < s->before_count; k++) value[k] = before[k];
}

void gather_place(const gather *g, vy_builder *b, uint32_t *value)
{
    for (uint32_t k = g->split.guarded ? g->split.count : 0; k-- > 0;)
        join(g->split.how[k], b, value);
}
