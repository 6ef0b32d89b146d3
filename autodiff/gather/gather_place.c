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

// ----------------------------------------------------------------------------------------- numbers
// A quotient of scalars, in which nothing wraps around or is negative (gather_split_numbers.c): so
// 32 bits are enough, and it is a number of the launch as those of the program.
static vy_value number_value(vy_builder *b, uint32_t dim)
{
    const vy_dim_node d = vy_builder_program(b)->dims.data[dim];
    if (d.op < VY_DIM_ADD) return vy_dim_leaf_value(b, VY_U32, &d);
    const vy_value x = number_value(b, d.a), y = number_value(b, d.b);
    return vy_dim_operation_value(b, VY_U32, d.op, x, y);
}

vy_value gather_stride_value(vy_builder *b, const gather_stride *d)
{
    vy_value v = vy_int(b, VY_U32, (int64_t)d->constant);
    for (uint32_t k = 0; k < d->count; k++) {
        const vy_dim_op op = (vy_dim_op)vy_builder_program(b)->dims.data[d->factor[k].base].op;
        vy_value f = op == VY_DIM_DIV || op == VY_DIM_REM
                         ? number_value(b, d->factor[k].base)
                         : vy_dim_number(b, (vy_dim){d->factor[k].base});
        if (d->factor[k].offset) f = vy_add(b, f, vy_int(b, VY_U32, d->factor[k].offset));
        v = d->constant == 1 && k == 0 ? f : vy_mul(b, v, f);
    }
    return v;
}

vy_value gather_number_of(const gather_splitting *s, vy_builder *b, const vy_value *variable,
                          uint32_t low, uint32_t high)
{
    gather_stride ratio;
    vy_value sum = vy_int(b, VY_U32, 0);
    for (uint32_t k = high; k-- > low;) {
        vy_value v = variable[k];
        if (k > low && gather_stride_ratio(&s->stride[low], &s->stride[k], &ratio)) {
            const vy_value size = gather_stride_value(b, &ratio);
            v = vy_mul(b, v, size);
        }
        sum = vy_add(b, sum, v);
    }
    return sum;
}

// ------------------------------------------------------------------------------------------ places
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
