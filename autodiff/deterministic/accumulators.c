// SPDX-License-Identifier: MIT
// accumulators.c: where the exact sums of elements are.
//
//   g: f32[A, B]            sums_g: i32[A, B, 37]
//   shared t: f32[A, B]     shared sums_t: i32[A, B, 37], or i32[its workgroup…, A, B, 37]
//   g: f32[?]               sums_g: i32[len(g) * 37]
//
// Stages share what is of open length only as a row of one dimension (vy_share_workspace), and an
// array of as many dimensions as there may be has no further one for the words.  Word k of element
// e of such a row is at e * 37 + k, where e is the number of the element in row-major order; an
// index that is out of range on some axis is one behind the end of the row.
#include "autodiff/deterministic/exact_sum.h"
#include "autodiff/deterministic/ordering.h"
#include "autodiff/storage/storage.h"
#include "ir/build/build.h"

#include <string.h>

static bool is_open(const vy_ordering *o, uint32_t id)
{
    const vy_buf *b = &o->w.p->buffers.data[id];
    return b->rank && o->w.p->dims.data[b->dims[0].id].op == VY_DIM_UNKNOWN;
}

void vy_row_choose(vy_ordering *o)
{
    for (uint32_t i = 1; i < o->w.p->buffers.count; i++) {
        const vy_buf *b = &o->w.p->buffers.data[i];
        const uint32_t more = 1 + (b->cls == VY_SHARED ? VY_GROUP_RANK : 0);
        o->row[i] = (o->use[i] & VY_USE_ADDED) && (is_open(o, i) || b->rank + more > VY_MAX_RANK);
    }
}

// ----------------------------------------------------------------------------------- declarations
// (No binding has 2^32 words, so they are numbered in 32 bits.)
static vy_dim row_length(const vy_ordering *o, vy_builder *b, uint32_t id)
{
    const vy_buf *of = &o->w.p->buffers.data[id];
    vy_dim all = of->dims[0];
    for (uint32_t k = 1; k < of->rank; k++) all = vy_dim_binary(b, VY_DIM_MUL, all, of->dims[k]);
    return vy_dim_binary(b, VY_DIM_MUL, all, vy_dim_const(b, vy_fixed_words(of->type)));
}

vy_buffer vy_sums_declare(const vy_ordering *o, vy_builder *b, vy_buffer_class cls, uint32_t id,
                          const char *name)
{
    const vy_buf *of = &o->w.p->buffers.data[id];
    vy_dim dims[VY_MAX_RANK + 1];
    uint32_t rank = 1;
    if (o->row[id]) {
        dims[0] = is_open(o, id) && cls == VY_IN ? vy_dim_unknown(b) : row_length(o, b, id);
    } else {
        memcpy(dims, of->dims, of->rank * sizeof *dims);
        dims[of->rank] = vy_dim_const(b, vy_fixed_words(of->type));
        rank += of->rank;
    }
    return vy_param_buffer(b, name, cls, VY_I32, rank, dims);
}

// ---------------------------------------------------------------------------------------- elements
// Is an index within an axis of length n?  (Which is below 2^31, or there would be no row.)
static vy_value is_within(vy_builder *b, vy_value index, vy_value n)
{
    const vy_type t = vy_value_type(b, index);
    if (vy_type_size(t) < 8) return vy_lt(b, vy_cast(b, VY_U32, index), n);
    const vy_value behind = vy_cast(b, VY_U64, n);
    return vy_lt(b, vy_cast(b, VY_U64, index), behind);
}

// The first word of element `index` of buffer `id` in its row.
static vy_value first_word(vy_ordering *o, uint32_t id, const vy_value *index)
{
    vy_builder *b = o->w.b;
    const vy_buf of = o->w.p->buffers.data[id];
    const uint32_t words = vy_fixed_words(of.type);
    vy_value e = vy_zero(b, VY_U32), inside = vy_bool(b, true);
    for (uint32_t k = 0; k < of.rank; k++) {
        const vy_value n = vy_len(b, (vy_buffer){id}, k);
        inside = vy_and(b, inside, is_within(b, index[k], n));
        const vy_value at = vy_cast(b, VY_U32, index[k]);
        e = vy_add(b, vy_mul(b, e, n), at);
    }
    const vy_value behind = vy_int(b, VY_U32, UINT32_MAX - words + 1);
    return vy_select(b, inside, vy_mul(b, e, vy_int(b, VY_U32, words)), behind);
}

vy_sum_place vy_sums_at(vy_ordering *o, uint32_t id, const vy_value *index)
{
    vy_sum_place place = {.sums = o->sums[id]};
    uint32_t group[VY_GROUP_RANK];
    const uint32_t before = o->sliced[id] ? VY_GROUP_RANK : 0;
    if (before) vy_group_index(o->w.b, group);
    for (; place.rank < before; place.rank++) place.at[place.rank].id = group[place.rank];
    if (o->row[id]) {
        place.first = first_word(o, id, index);
        return place;
    }
    for (uint32_t k = 0; k < o->w.p->buffers.data[id].rank; k++) place.at[place.rank++] = index[k];
    return place;
}

vy_sum_place vy_sums_of(const vy_ordering *o, vy_builder *b, vy_buffer sums, uint32_t id,
                        vy_value e, const vy_value *index)
{
    const vy_buf *of = &o->w.p->buffers.data[id];
    vy_sum_place place = {.sums = sums, .rank = o->row[id] ? 0 : of->rank};
    for (uint32_t k = 0; k < place.rank; k++) place.at[k] = index[k];
    if (o->row[id]) place.first = vy_mul(b, e, vy_int(b, VY_U32, vy_fixed_words(of->type)));
    return place;
}
