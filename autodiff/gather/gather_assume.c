// SPDX-License-Identifier: MIT
// gather_assume.c: flat indices whose strides nothing but the launch relates to each other.
//
//   a[z * cstep + y * w + x]   over(z: c, y: h, x: w)          one element each if h · w ≤ cstep
//
// A shader's rows may be padded, and only its host knows by how much.  So both are made:
//
//   repeat once in 0..holds { f_gather_a(…); }                 over(z: c, y: h, x: w), no atomics
//   repeat once in 0..1 - holds { f_atomic(…); }               the reverse program as it is
//
//   holds = 1 if h · w ≤ cstep and c · cstep ≤ 2³⁰, else 0
//
// Numbers in it may be negative or too great as well: where any index is reached, all extents
// are at least 1, so by the conditions all strides are, and nothing in them is above 2³⁰.
//
// Strides are what values in the index are multiplied by.  From the innermost outwards, the next
// is one of whose rows the index is proved to be (x < w), or else the one that gather_strides.c
// takes for it.  (Of another order only the condition does not hold.)  Along each axis the index
// must not be negative, for which offsets in it may have to be natural (gather_signs.c), and have a
// greatest value that is a sum of scalars; that, times the stride, has to be no more than the next
// greater stride.  The last condition keeps the index from wrapping.
#include "autodiff/affine/flat_terms.h"
#include "autodiff/affine/most.h"
#include "autodiff/affine/single.h"
#include "autodiff/gather/gather_owning.h"
#include "ir/text/print.h"

#include <string.h>

typedef struct assuming {
    gather *g;
    vy_affine_rows *rows;
    bool whole[VY_ROW_AXES]; // the next greater stride is a row of these, whatever is launched
    isl_set *reached[VY_ROW_AXES]; // by all indices along the axis
    bool any, open;                // something is assumed of strides; and has to be checked
    bool took;                     // a scalar that is added was taken for a step to the next row
    const char *why;               // an index is not affine
} assuming;

// ------------------------------------------------------------------------------------------ ranges
// Is site k at the flat index of the site before, in the same arms and loops?
static bool is_seen(const gather *g, uint32_t k)
{
    if (!k) return false;
    const gather_site *x = &g->sites[k], *y = &g->sites[k - 1];
    return x->access.buffer == y->access.buffer && gather_is_beside(g, x->id, y->id) &&
           vy_arg(g->r, x->id, 0) == vy_arg(g->r, y->id, 0);
}

// The index along an axis; NULL: it is not affine.
static isl_pw_aff *index_along(assuming *s, vy_nest *n, const vy_flat_terms *t, uint32_t axis)
{
    isl_pw_aff *sum = vy_nest_number(n, 0);
    vy_affine_why why = VY_AFFINE_FINE;
    for (uint32_t k = 0; k < t->count && sum; k++)
        if (vy_row_of(s->rows, &t->term[k]) == (int)axis)
            sum = vy_isl_pw_aff_add(sum, vy_row_value(n, &s->rows->axis[axis], &t->term[k], &why));
    if (!sum && why != VY_AFFINE_FINE) s->why = vy_affine_why_text(why);
    return sum;
}

// Where the place is reached, if signs are as assumed so far.
static isl_set *reached(const assuming *s, const vy_nest *n)
{
    return vy_rows_signed(n->a, s->rows, vy_nest_reached(n));
}

// What stride `outer` is times stride `axis`; base 0: it is no such product.
static vy_extent ratio(const vy_affine_rows *r, uint32_t outer, uint32_t axis)
{
    const vy_extent none = {0, 0};
    if (r->axis[outer].count != r->axis[axis].count + 1) return none;
    if (r->axis[outer].constant % r->axis[axis].constant) return none;
    const uint32_t k =
        vy_other_factor(r->axis[outer].factor, r->axis[axis].factor, r->axis[axis].count);
    return k <= r->axis[axis].count ? r->axis[outer].factor[k] : none;
}

// … by which it is multiplied in that product.
static int64_t ratio_times(const vy_affine_rows *r, uint32_t outer, uint32_t axis)
{
    return r->axis[outer].constant / r->axis[axis].constant;
}

// Is v, the index of a place along the axis, always less than the ratio of stride `outer` to it?
static bool is_in_row(const assuming *s, vy_nest *n, isl_pw_aff *v, uint32_t outer, uint32_t axis)
{
    const vy_extent e = ratio(s->rows, outer, axis);
    if (!e.base || !v) return false;
    isl_pw_aff *row = vy_affine_dim(n->a, isl_space_copy(n->space), (vy_dim){e.base});
    row = vy_isl_pw_aff_add_constant_val(row, e.offset);
    const int64_t times = ratio_times(s->rows, outer, axis);
    row = vy_isl_pw_aff_scale_val(row, times);
    isl_set *here = reached(s, n);
    const bool is = vy_affine_always_less(here, v, row);
    isl_set_free(here);
    return is;
}

static bool is_natural(const assuming *s, vy_nest *n, isl_pw_aff *v)
{
    isl_set *here = reached(s, n);
    const bool is = vy_affine_always_at_least(here, v, vy_nest_number(n, 0));
    isl_set_free(here);
    return is;
}

// Takes v, the index of a place along the axis.
static bool see_index(assuming *s, vy_nest *n, isl_pw_aff *v, uint32_t axis)
{
    const bool natural = v && (is_natural(s, n, v) || gather_sign(s->g, s->rows, n, v));
    if (natural && s->whole[axis]) s->whole[axis] = is_in_row(s, n, v, axis - 1, axis);
    isl_map *map = natural ? vy_isl_map_from_pw_aff(isl_pw_aff_copy(v)) : NULL;
    isl_set *range = vy_isl_map_range(vy_isl_map_intersect_domain(map, vy_nest_reached(n)));
    isl_pw_aff_free(v);
    s->reached[axis] = s->reached[axis] ? vy_isl_set_union(s->reached[axis], range) : range;
    return natural && s->reached[axis];
}

// Begins with a place: what it adds to the axes, and what surrounds it.
static bool begin_place(assuming *s, const gather_site *site, vy_flat_terms *t, vy_nest *n)
{
    vy_affine_reset(&s->g->a);
    if (vy_affine_spent(&s->g->a) || !gather_terms_of(s->g, site, t)) return false;
    s->took |= vy_take_strides(&s->g->a, s->rows, t);
    return vy_nest_make(n, &s->g->a, site->id, UINT32_MAX) && !n->inner;
}

static bool see_place(assuming *s, const gather_site *site)
{
    vy_nest n = {0};
    vy_flat_terms t;
    bool ok = begin_place(s, site, &t, &n);
    s->rows->partly |= ok && n.inexact_count;
    for (uint32_t k = 0; ok && k < t.count; k++) s->rows->partly |= t.term[k].guards > 0;
    for (uint32_t k = 0; k < s->rows->axes && ok; k++)
        ok = see_index(s, &n, index_along(s, &n, &t, k), k);
    vy_nest_free(&n);
    return ok && vy_affine_ok(&s->g->a);
}

// ------------------------------------------------------------------------------------------- order
// Are the indices of all places along the axis proved to be those of rows of stride `outer`?
static bool all_in_row(assuming *s, uint32_t outer, uint32_t axis)
{
    const gather *g = s->g;
    bool all = ratio(s->rows, outer, axis).base != 0;
    for (uint32_t k = 0; k < g->site_count && all; k++) {
        vy_nest n = {0};
        vy_flat_terms t;
        if (g->sites[k].access.buffer != s->rows->buffer || is_seen(g, k)) continue;
        all = begin_place(s, &g->sites[k], &t, &n);
        isl_pw_aff *v = all ? index_along(s, &n, &t, axis) : NULL;
        all = is_in_row(s, &n, v, outer, axis);
        isl_pw_aff_free(v);
        vy_nest_free(&n);
    }
    return all && vy_affine_ok(&s->g->a);
}

// Which of the first n strides is the next one outwards?
static uint32_t next_stride(assuming *s, uint32_t n)
{
    uint32_t next = 0;
    for (uint32_t k = 0; k < n; k++)
        if (all_in_row(s, k, n)) return k;
    for (uint32_t k = 1; k < n; k++)
        if (gather_is_inner(s->g, s->rows, k, next)) next = k;
    return next;
}

static void order_strides(assuming *s)
{
    vy_affine_rows *r = s->rows;
    for (uint32_t n = r->axes - 1; n > 0; n--) {
        const uint32_t k = next_stride(s, n);
        const vy_affine_axis moved = r->axis[k];
        memmove(&r->axis[k], &r->axis[k + 1], (n - 1 - k) * sizeof moved);
        r->axis[n - 1] = moved;
    }
}

// -------------------------------------------------------------------------------------- conditions
static vy_dim dim_of(gather *g, vy_extent e)
{
    const vy_dim base = {e.base};
    return e.offset ? gather_node(g, VY_DIM_ADD, base, gather_number(g, e.offset)) : base;
}

// extent (id 0: 1) · stride of the axis; safe: as a number that cannot overflow, else as it reads.
static vy_dim span(gather *g, const vy_affine_rows *r, uint32_t k, vy_dim extent, bool safe)
{
    vy_dim d = extent;
    if (r->axis[k].constant != 1)
        d = gather_times(g, d, gather_number(g, r->axis[k].constant), safe);
    for (uint32_t i = 0; i < r->axis[k].count; i++)
        d = gather_times(g, d, dim_of(g, r->axis[k].factor[i]), safe);
    return d.id ? d : gather_number(g, 1);
}

// The condition of the axis, for readers.  False: memory.
static bool word(gather *g, vy_affine_axis *x)
{
    char *text = vy_assumption_text(g->r, &x->within);
    x->condition = text ? vy_arena_strdup(&g->arena, text, strlen(text)) : NULL;
    vy_free(text);
    return x->condition != NULL;
}

// Are there as many elements as points of a domain that became coordinates?  Then indices are below
// twice an extent, since the last row begins below it, and none wraps.
static bool covers_domain(gather *g, const vy_affine_rows *r)
{
    bool any = false;
    for (uint32_t k = 0; k < g->split.count && !any; k++)
        any = gather_same_product(g->r, span(g, r, 0, r->axis[0].extent, false), g->split.all[k]);
    return any;
}

// The extent of the axis, and that its index stays within the next greater stride.
static void bound_axis(assuming *s, uint32_t k)
{
    gather *g = s->g;
    vy_affine_rows *r = s->rows;
    if (s->whole[k]) {
        const int64_t times = ratio_times(r, k - 1, k);
        r->axis[k].extent = dim_of(g, ratio(r, k - 1, k));
        if (times > 1)
            r->axis[k].extent = gather_times(g, r->axis[k].extent, gather_number(g, times), false);
        return;
    }
    vy_affine_reset(&g->a);
    s->reached[k] = vy_isl_set_intersect_params(vy_rows_signed(&g->a, r, s->reached[k]),
                                                isl_set_copy(g->a.context)); // also of later places
    r->axis[k].extent = vy_affine_end_of(&g->a, g->r, s->reached[k], true);
    if (!r->axis[k].extent.id) {
        r->axis[k].extent = vy_affine_above(&g->a, g->r, s->reached[k]);
        r->partly = true;
    }
    const vy_dim e = r->axis[k].extent;
    if (!e.id || g->failed) return;
    if (k == 0 && covers_domain(g, r)) return;
    const vy_dim more = gather_number(g, k ? 1 : (INT64_C(1) << 30) + 1);
    const vy_dim most =
        k ? gather_node(g, VY_DIM_ADD, span(g, r, k - 1, (vy_dim){0}, true), more) : more;
    const vy_dim fits = gather_less(g, span(g, r, k, e, true), most);
    if (g->failed) return;
    s->any |= k > 0;
    r->axis[k].within.least = span(g, r, k, e, false);
    r->axis[k].within.most = k ? r->axis[k - 1].stride : gather_number(g, INT64_C(1) << 30);
    g->failed |= !word(g, &r->axis[k]);
    if (k && !g->failed && gather_is_given(g, r->axis[k].condition)) return;
    s->open |= k > 0;
    r->holds = r->holds.id ? gather_node(g, VY_DIM_MIN, r->holds, fits) : fits;
}

// The conditions on signs and strides, for readers.
static bool add_text(gather *g, vy_affine_rows *r)
{
    printer o = {.p = g->r};
    const uint32_t first = vy_first_assumed(r);
    for (uint32_t k = 0; k < r->signs + r->axes - first; k++) {
        const char *one =
            k < r->signs ? r->sign[k].condition : r->axis[k - r->signs + first].condition;
        if (!one) continue;
        if (o.out.count) print_str(&o, " && ");
        print_str(&o, one);
    }
    const char *text = o.out.count ? o.out.data : "";
    r->text = o.failed ? NULL : vy_arena_strdup(&g->arena, text, o.out.count);
    vy_vec_free(&o.out);
    g->failed |= !r->text;
    return r->text != NULL;
}

static bool make_rows(assuming *s)
{
    gather *g = s->g;
    vy_affine_rows *r = s->rows;
    bool ok = true;
    for (uint32_t k = 0; k < r->axes && ok; k++) {
        r->axis[k].stride = span(g, r, k, (vy_dim){0}, false);
        bound_axis(s, k);
        ok = r->axis[k].extent.id && !g->failed;
    }
    const vy_dim signs = gather_signs_hold(g, r);
    if (!ok || g->failed) return false;
    if (signs.id) r->holds = r->holds.id ? gather_node(g, VY_DIM_MIN, r->holds, signs) : signs;
    s->any |= r->signs > 0;
    s->open |= signs.id != 0;
    r->wraps = !s->any;
    const char *last = r->axis[0].condition; // NULL: nor can it wrap
    const bool given = r->wraps ? !last || gather_is_given(g, last) : !s->open;
    if (given) r->holds.id = 0; // nor does the index wrap
    return add_text(g, r);
}

// ------------------------------------------------------------------------------------- the buffers
// Why no condition makes rows of the buffer, for readers.
static void note_refused(const assuming *s)
{
    const char *why = s->why ? s->why : "has strides that no condition makes rows";
    if (s->g->owns) s->g->owners->why[s->rows->buffer] = why;
}

// With the rows' strides; *took: with a scalar that is added as a step to the next row.
static bool assume_strides(gather *g, vy_affine_rows *r, bool *took)
{
    assuming s = {.g = g, .rows = r};
    bool ok = true;
    if (!gather_find_strides(g, r)) {
        note_refused(&s);
        return false;
    }
    order_strides(&s);
    for (uint32_t k = 0; k < r->axes; k++) s.whole[k] = k > 0;
    for (uint32_t k = 0; k < g->site_count && ok; k++)
        if (g->sites[k].access.buffer == r->buffer && !is_seen(g, k))
            ok = see_place(&s, &g->sites[k]);
    ok = ok && make_rows(&s);
    for (uint32_t k = 0; k < r->axes; k++) isl_set_free(s.reached[k]);
    g->failed |= g->a.failed;
    if (!ok) note_refused(&s);
    *took = s.took;
    return ok && !g->failed;
}

// Of a[y * w + x + w - n] the rows are those of y + 1, or the place is w - n further in its row; in
// a[z * n + x + n / 4] there are rows of n / 4, too.
static bool assume(gather *g, vy_affine_rows *r)
{
    bool took = false;
    r->steps = g->owns && gather_has_steps(g, r->buffer);
    if (assume_strides(g, r, &took)) return true;
    if (r->steps && !g->failed) {
        *r = (vy_affine_rows){.buffer = r->buffer};
        if (assume_strides(g, r, &took)) return true;
    }
    if (g->failed || !took) return false;
    *r = (vy_affine_rows){.buffer = r->buffer, .summed = true};
    return assume_strides(g, r, &took);
}

// Bytes of an element of the first axis, at least.
static int64_t row_size(const vy_program *p, const vy_buf *b)
{
    int64_t n = vy_type_size(b->type);
    for (uint32_t k = 1; k < b->rank; k++) {
        const vy_dim_node *d = &p->dims.data[b->dims[k].id];
        if (d->op == VY_DIM_CONST && d->value > 0 && d->value < 256 && n < 256) n *= d->value;
    }
    return n;
}

// Is something added to the buffer, whose first index may be flat?
static bool is_wanted(const gather *g, uint32_t buffer)
{
    const vy_buf *b = &g->r->buffers.data[buffer];
    bool any = false;
    for (uint32_t k = 0; k < g->site_count; k++) any |= g->sites[k].access.buffer == buffer;
    return any && b->rank && row_size(g->r, b) >= 4;
}

static bool is_open(const vy_program *p, uint32_t buffer)
{
    return p->dims.data[p->buffers.data[buffer].dims[0].id].op == VY_DIM_UNKNOWN;
}

static bool assume_all(gather *g, vy_affine_rows **rows, uint32_t *count)
{
    *rows = vy_arena_alloc(&g->arena, g->r->buffers.count * sizeof **rows);
    *count = 0;
    if (!*rows) return false;
    vy_affine_begin_round(&g->a);
    for (uint32_t i = 1; i < g->r->buffers.count && !g->failed; i++) {
        vy_affine_rows *r = &(*rows)[*count];
        *r = (vy_affine_rows){.buffer = i};
        if (!is_wanted(g, i)) continue;
        const bool made = assume(g, r);
        *count += made;
        if (!made && g->owns && r->axes && is_open(g->r, i)) g->vain = true; // no other rows either
        if (g->vain && g->owns) break;
    }
    return !g->failed;
}

bool gather_begin(gather *g, const vy_program *source)
{
    vy_affine_rows *rows;
    uint32_t count;
    if (!gather_begin_affine(g) || !gather_know_sizes(g, source) || !assume_all(g, &rows, &count))
        return false;
    if (g->owns && g->vain) return true;
    if (!count && !g->a.params.count) return true; // what it has not changed
    if (!vy_affine_end(&g->a) || !gather_begin_affine(g) || !gather_know_sizes(g, source))
        return false;
    g->a.rows = rows;
    g->a.row_count = count;
    return true;
}
