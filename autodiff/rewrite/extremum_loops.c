// SPDX-License-Identifier: MIT
// extremum_loops.c: what candidates for extrema that a divergent loop passes have in common.
//
//   for j in lindex..n step 64 { atomic_max(t[0], e(j)); }             one candidate of the loop
//   for j in lindex..n step 64 { atomic_max(t[bin[j]], e(j)); }        one for each element of t
//   for … { atomic_max(t[0], e(j)); atomic_max(t[0], g(j)); }          one: e(5) is later than g(4)
//   for … { atomic_max(t[0], e(j)); atomic_max(t[b[j]], g(j)); }       one for each element of t
//   for … { atomic_max(t[0], e(j)); atomic_max(t[1], g(j)); }          two
//
// Among equals an invocation's last candidate wins, so those that the same loop may pass to one
// element are compared in the order in which it passes them: they share their arrays, which have an
// element for each value of an index that changes in the loop or is not the same in all of them.
// Arrays whose extent only the run knows are in a workspace, with a row for each invocation of the
// workgroup; it owns the elements, as only such buffers get here (extremum_sites.c).
//
// Where an old value of the array is used, the atomics stay in the loop.  Else they follow it: one
// for each element that the loop reached.
#include "autodiff/facts/facts.h"
#include "autodiff/rewrite/extremum_vote.h"
#include "ir/core/access.h"

enum { MOST_PAIRS = 64 }; // earlier sites of a loop that one is compared with

typedef struct sharing {
    vy_voting *e;
    vy_apart apart;
    bool made;        // apart
    uint32_t *last;   // by buffer and kind: the last site so far, + 1
    uint32_t *before; // by site: the one before it of the same buffer and kind, + 1
} sharing;

static vy_candidate *site(const sharing *x, uint32_t k) { return &x->e->sites.data[k]; }

static bool has_other_index(const sharing *x, uint32_t j, uint32_t k, uint32_t axis)
{
    const vy_voting *e = x->e;
    const vy_candidate *a = site(x, j), *b = site(x, k);
    const uint32_t group = vy_candidate_group(e, a, axis);
    if (group && group == vy_candidate_group(e, b, axis)) return false; // wid.x and i / 8
    return vy_arg(e->w.p, a->atomic, axis) != vy_arg(e->w.p, b->atomic, axis);
}

// The axes whose index differs between the two.
static uint32_t other_axes(const sharing *x, uint32_t j, uint32_t k)
{
    uint32_t axes = 0;
    for (uint32_t n = vy_candidate_rank(x->e, site(x, k)); n-- > 0;)
        if (has_other_index(x, j, k, n)) axes |= 1u << n;
    return axes;
}

// The axes whose index changes in the loop.
static uint32_t changing_axes(const sharing *x, uint32_t k)
{
    uint32_t axes = 0;
    for (uint32_t n = vy_candidate_rank(x->e, site(x, k)); n-- > 0;) {
        const uint32_t a = vy_arg(x->e->w.p, site(x, k)->atomic, n);
        if (vy_candidate_inside(x->e, site(x, k), n) && a >= site(x, k)->loop) axes |= 1u << n;
    }
    return axes;
}

static bool is_apart(sharing *x, uint32_t j, uint32_t k)
{
    const vy_voting *e = x->e;
    const uint32_t a = site(x, j)->atomic, b = site(x, k)->atomic;
    return e->group[a] != e->group[b] || (x->made && vy_surely_apart(&x->apart, a, b));
}

static uint32_t root(const sharing *x, uint32_t k)
{
    while (site(x, k)->leader != k) k = site(x, k)->leader;
    return k;
}

static void join(sharing *x, uint32_t j, uint32_t k)
{
    const uint32_t a = root(x, j), b = root(x, k);
    if (a < b) site(x, b)->leader = a;
    if (b < a) site(x, a)->leader = b;
}

// Joins site k with those before it that may pass a candidate to its element.
static void join_earlier(sharing *x, uint32_t k)
{
    const vy_inst *i = vy_candidate_inst(x->e, site(x, k));
    uint32_t *last = &x->last[2 * i->aux + (i->op == VY_OP_ATOMIC_MAX)], pairs = 0;
    x->before[k] = *last;
    *last = k + 1;
    for (uint32_t j = x->before[k]; j-- && site(x, j)->loop == site(x, k)->loop; j = x->before[j]) {
        if (pairs++ >= MOST_PAIRS || !is_apart(x, j, k)) join(x, j, k);
        if (pairs > MOST_PAIRS) return;
    }
}

// ------------------------------------------------------------------------------------- the arrays
static bool has_open_extent(const vy_voting *e, const vy_candidate *s)
{
    const vy_buf *buf = vy_candidate_buf(e, s);
    for (uint32_t n = 0; n < buf->rank; n++)
        if (s->spanned >> n & 1 && e->w.p->dims.data[buf->dims[n].id].op != VY_DIM_CONST)
            return true;
    return false;
}

static uint32_t inside_axes(const vy_voting *e, const vy_candidate *s)
{
    uint32_t axes = 0;
    for (uint32_t n = vy_candidate_rank(e, s); n-- > 0;)
        if (vy_candidate_inside(e, s, n)) axes |= 1u << n;
    return axes;
}

static void span(sharing *x, uint32_t k)
{
    vy_candidate *s = site(x, k);
    s->leader = root(x, k);
    vy_candidate *l = site(x, s->leader);
    l->spanned |= changing_axes(x, k) | other_axes(x, s->leader, k);
    l->wide = has_open_extent(x->e, l);
}

static void share(sharing *x, const uint8_t *uses_old, uint32_t k)
{
    vy_candidate *s = site(x, k);
    const vy_candidate *l = site(x, s->leader);
    s->spanned = l->spanned;
    s->wide = l->wide;
    if (s->wide) s->spanned |= inside_axes(x->e, s); // it is cleared ahead of the construct
    s->in_place = !s->loop || uses_old[vy_candidate_inst(x->e, s)->aux];
}

static bool begin_sharing(sharing *x)
{
    bool any = false;
    x->last = vy_rewrite_table(&x->e->w, 2 * x->e->w.p->buffers.count * sizeof *x->last);
    x->before = vy_rewrite_table(&x->e->w, (x->e->sites.count + 1) * sizeof *x->before);
    if (!x->last || !x->before) return false;
    for (uint32_t k = 1; k < x->e->sites.count; k++)
        any |= site(x, k)->loop && site(x, k)->loop == site(x, k - 1)->loop;
    x->made = any && vy_apart_make(&x->apart, x->e->w.p, &x->e->w.s, &x->e->w.arena);
    return x->made == any;
}

bool vy_candidate_loops(vy_voting *e)
{
    sharing x = {.e = e};
    uint8_t *uses_old = vy_rewrite_table(&e->w, e->w.p->buffers.count);
    const uint32_t n = e->sites.count;
    if (!uses_old || !begin_sharing(&x)) return false;
    for (uint32_t k = 0; k < n; k++) {
        site(&x, k)->leader = k;
        uses_old[vy_candidate_inst(e, site(&x, k))->aux] |= e->used[site(&x, k)->atomic] != 0;
        if (site(&x, k)->loop) join_earlier(&x, k);
    }
    for (uint32_t k = 0; k < n; k++)
        if (site(&x, k)->loop) span(&x, k);
    for (uint32_t k = 0; k < n; k++) share(&x, uses_old, k);
    return true;
}
