// SPDX-License-Identifier: MIT
// shared_places.c: loads that differ in indices known to be in range, and share the others.
//
//   y[b, o, u, v], y[b + 1, o, u, v], y[b + 2, o, u, v]      as the blocks of coarsen.c load
//
// b and o are known to be in range, u and v are checked: once for all of them, if the address is a
// part for (b, o) plus a part for (u, v) (emit_memory.c).  A single load takes one address more so.
// n log n.
#include "spirv/facts/facts.h"
#include "ir/core/access.h"

#include <stdlib.h>
#include <string.h>

typedef struct place {
    uint32_t load, buffer, known;
    const uint32_t *rest; // the indices that are not known
    uint32_t count;
} place;

VY_VEC_TYPE(place_vec, place);

static int compare_values(uint32_t x, uint32_t y) { return x < y ? -1 : x > y; }

static int compare(const void *a, const void *b)
{
    const place *x = a, *y = b;
    int d = compare_values(x->buffer, y->buffer);
    if (!d) d = compare_values(x->known, y->known);
    for (uint32_t k = 0; k < x->count && !d; k++) d = compare_values(x->rest[k], y->rest[k]);
    return d;
}

static int in_order(const void *a, const void *b)
{
    const int d = compare(a, b);
    return d ? d : compare_values(((const place *)a)->load, ((const place *)b)->load);
}

static bool find(const vy_program *p, place_vec *all)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (i->op != VY_OP_LOAD) continue;
        const uint32_t rank = vy_rank_of(p, id), known = vy_axes_known(p, id);
        const place x = {id, i->aux, known, vy_args(p, id) + known, rank - known};
        if (known && known < rank && !vy_vec_push(all, x)) return false;
    }
    return true;
}

static void share(bool *shared, const place *x, const place *y)
{
    shared[x->load] = true;
    shared[y->load] = true;
}

bool *vy_shared_places_make(const vy_program *p)
{
    place_vec all = {0};
    bool *shared = find(p, &all) ? vy_realloc(NULL, p->insts.count + 1) : NULL;
    if (shared) memset(shared, 0, p->insts.count + 1);
    if (all.count) qsort(all.data, all.count, sizeof *all.data, in_order);
    for (uint32_t k = 1; shared && k < all.count; k++)
        if (!compare(&all.data[k - 1], &all.data[k])) share(shared, &all.data[k - 1], &all.data[k]);
    vy_vec_free(&all);
    return shared;
}
