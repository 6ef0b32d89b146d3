// SPDX-License-Identifier: MIT
// injective.c: buffers of which no element is touched by two invocations, proved with isl.
//
//   over(i: N)  x[2 * i] + x[2 * i + 1]      { [i] -> [2i]; [i] -> [2i + 1] } is injective
//
// The test is on the union of all accesses of the buffer: that each of two maps is injective says
// nothing about both together.  Loops are projected out.  An axis that is not affine in every
// access is dropped, and then the others have to distinguish the invocations.
//
// isl takes milliseconds, so it is not used where the answer is obvious: where each domain variable
// has an axis to itself in all accesses (yes: ir/pass/sums/mark_owned.c finds it, too), and where
// some domain variable does not occur in an index (no, except for conditions on it).
#include "autodiff/affine/access.h"
#include "autodiff/facts/facts.h"

enum { MOST_SITES = 64 }; // of one buffer: unions of many maps are slow

typedef struct buffer_map {
    bool hopeless;
    bool plain; // each domain variable has an axis to itself, the same in all accesses
    uint32_t first;
    uint32_t sites;
    uint32_t axes;          // the axes that are affine in all accesses
    uint32_t rank;          // of the accesses, with flat indices split into axes
    vy_affine_access shape; // … and their extents, of the first one; only these
    isl_map *map;           // { domain variables → elements }
} buffer_map;

static const vy_leaf *over_leaf(const vy_program *p, uint32_t id)
{
    const vy_leaf *l = VY_IS_LEAF(id) ? &p->leaves.data[VY_LEAF_INDEX(id)] : NULL;
    return l && l->kind == VY_LEAF_OVER && l->index < 32 ? l : NULL;
}

// The domain variables that a leaf may depend on, as bits.
static uint32_t variables_of(const vy_program *p, uint32_t id)
{
    const vy_leaf *over = over_leaf(p, id), *l = &p->leaves.data[VY_LEAF_INDEX(id)];
    if (over) return 1u << over->index;
    if (l->kind != VY_LEAF_BUILTIN) return 0;
    const bool one = l->axis < 2 && l->axis < p->overs.count && p->overs.count <= 32 &&
                     (l->index == VY_GID || l->index == VY_LID || l->index == VY_WID);
    return one ? 1u << (p->overs.count - 1 - l->axis) : UINT32_MAX;
}

// By instruction: the domain variables that its value may depend on, as bits.
static uint32_t *dependences(const vy_program *p)
{
    uint32_t *on = vy_realloc(NULL, p->insts.count * sizeof *on);
    for (uint32_t id = 0; on && id < p->insts.count; id++) {
        on[id] = 0;
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
            uint32_t a = vy_arg(p, id, k);
            on[id] |= VY_IS_LEAF(a) ? variables_of(p, a) : on[a];
        }
    }
    return on;
}

// -------------------------------------------------------------------------------- obvious answers
static void survey_access(const vy_program *p, uint32_t id, const uint32_t *on, bool thorough,
                          buffer_map *b)
{
    uint32_t rank = p->buffers.data[p->insts.data[id].aux].rank, occurring = 0, plain = 0;
    if (!b->sites++) b->first = id;
    for (uint32_t k = 0; k < rank; k++) {
        uint32_t a = vy_arg(p, id, k);
        const vy_leaf *l = over_leaf(p, a);
        if (l && vy_arg(p, b->first, k) == a) plain |= 1u << l->index;
        occurring |= VY_IS_LEAF(a) ? variables_of(p, a) : on[a];
    }
    uint32_t all = (uint32_t)((UINT64_C(1) << p->overs.count) - 1);
    b->plain &= plain == all;
    b->hopeless |= ((occurring & all) != all && !thorough) || b->sites > MOST_SITES;
}

// False: no buffer is left for isl.
static bool choose_buffers(const vy_program *p, const uint8_t *sites, const uint32_t *on,
                           bool thorough, buffer_map *maps, uint8_t *injective)
{
    bool any = false;
    for (uint32_t i = 1; i < p->buffers.count; i++)
        maps[i] = (buffer_map){.hopeless = p->buffers.data[i].view_of, .plain = true};
    for (uint32_t i = 1; i < p->buffers.count; i++) // two names of one memory
        if (p->buffers.data[i].view_of) maps[p->buffers.data[i].view_of].hopeless = true;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (sites[id]) survey_access(p, id, on, thorough, &maps[p->insts.data[id].aux]);
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        injective[i] = thorough && maps[i].sites && maps[i].plain && !maps[i].hopeless;
        maps[i].hopeless |= !maps[i].sites || maps[i].plain;
        any |= !maps[i].hopeless;
    }
    return any;
}

// -------------------------------------------------------------------------------------------- maps
static void begin_map(buffer_map *b, const vy_affine_access *x)
{
    b->axes = (uint32_t)((UINT64_C(1) << x->rank) - 1);
    b->rank = x->rank;
    b->shape.flat = x->flat;
    for (uint32_t k = 0; k < x->rank; k++) b->shape.extent[k] = x->extent[k];
}

// Indices of other strides say nothing about these.
static bool same_axes(const vy_affine_access *x, const vy_affine_access *y)
{
    bool same = x->flat == y->flat;
    for (uint32_t k = 0; k < y->rank && y->flat; k++)
        same &=
            x->extent[k].base == y->extent[k].base && x->extent[k].offset == y->extent[k].offset;
    return same;
}

// First pass over all accesses: which axes are affine.  Second pass (`build`): the map of those.
static bool add_site(vy_affine *a, uint32_t id, buffer_map *b, bool build)
{
    vy_affine_access x;
    vy_affine_reset(a);
    bool ok = vy_access_make(&x, a, id, UINT32_MAX);
    if (ok && !build) {
        if (!b->rank) begin_map(b, &x);
        for (uint32_t k = 0; k < x.rank; k++)
            if (!x.index[k]) b->axes &= ~(1u << k);
        b->hopeless |= b->rank != x.rank || !b->axes || !same_axes(&b->shape, &x);
    } else if (ok) {
        isl_map *m = vy_access_map(&x, b->axes);
        m = vy_isl_map_project_out(m, isl_dim_in, x.nest.overs, x.nest.count - x.nest.overs);
        b->map = b->map ? vy_isl_map_union(b->map, m) : m;
    }
    vy_access_free(&x);
    b->hopeless |= !ok || vy_affine_spent(a);
    return !a->failed;
}

static bool prove_by_isl(const vy_program *p, const vy_structure *s, const uint8_t *sites,
                         buffer_map *maps, uint8_t *injective)
{
    vy_affine a;
    bool ok = vy_affine_begin(&a, p, s);
    a.thrifty = true;
    if (ok) vy_affine_begin_round(&a);
    for (int build = 0; build < 2 && ok; build++)
        for (uint32_t id = 1; ok && id < p->insts.count; id++) {
            buffer_map *b = &maps[p->insts.data[id].aux];
            if (sites[id] && !b->hopeless) ok = add_site(&a, id, b, build);
        }
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        buffer_map *b = &maps[i];
        if (ok && b->map && !b->hopeless) {
            vy_affine_reset(&a);
            vy_affine_limit(&a, p->overs.count);
            // An element that does not exist has no owner: all invocations may name it.
            injective[i] = !vy_affine_spent(&a) &&
                           vy_isl_map_is_injective(b->map) == isl_bool_true &&
                           vy_isl_map_is_empty(b->map) == isl_bool_false;
        }
        isl_map_free(b->map);
    }
    return vy_affine_end(&a) && ok;
}

bool vy_injective(const vy_program *p, const vy_structure *s, const uint8_t *sites, bool thorough,
                  uint8_t *injective)
{
    uint32_t *on = dependences(p);
    buffer_map *maps = vy_realloc(NULL, p->buffers.count * sizeof *maps);
    bool ok = on && maps;
    for (uint32_t i = 0; i < p->buffers.count; i++) injective[i] = 0;
    if (ok && p->overs.count && p->overs.count <= 32 &&
        choose_buffers(p, sites, on, thorough, maps, injective))
        ok = prove_by_isl(p, s, sites, maps, injective);
    vy_free(on);
    vy_free(maps);
    return ok;
}
