// SPDX-License-Identifier: MIT
// gather_parts.c: see gather_split.h.  The coordinates that a domain variable is divided into.
//
//   x = i % W              part of strides 1 and W
//   y = i / W % H          … W and H·W
//   z = i / (W * H)        … H·W and none
//
// Of a part of strides l and h, its quotient by d is that of l·d and h, its remainder that of l and
// l·d, if all strides are one chain in which each divides the next.  They are found first (of the
// parts whatever the order), then ordered, and then parts are found that are in order.
#include "autodiff/gather/gather_split.h"

#include "ir/core/flow.h"

#include <string.h>

enum { MOST_CONSTANT = 1 << 20 };

// ----------------------------------------------------------------------------------------- strides
static bool multiply_stride(gather_stride *s, const gather_stride *by)
{
    if (s->count + by->count > VY_ROW_FACTORS || s->constant * by->constant > MOST_CONSTANT)
        return false;
    s->constant *= by->constant;
    for (uint32_t k = 0; k < by->count; k++) s->factor[s->count++] = by->factor[k];
    return true;
}

uint32_t gather_plain(const vy_program *p, uint32_t id)
{
    while (!VY_IS_LEAF(id)) {
        const vy_op op = (vy_op)p->insts.data[id].op;
        if (op != VY_OP_BITCAST && op != VY_OP_CAST) break;
        const vy_type from = vy_id_type(p, vy_arg(p, id, 0));
        if (!vy_type_is_integer(from) || vy_type_size(from) != 4) break;
        if (!vy_type_is_integer(vy_id_type(p, id)) || vy_type_size(vy_id_type(p, id)) != 4) break;
        id = vy_arg(p, id, 0);
    }
    return id;
}

bool gather_stride_of(const gather_splitting *s, uint32_t id, gather_stride *out)
{
    int64_t c;
    vy_extent e;
    gather_stride second;
    *out = (gather_stride){.constant = 1};
    if (vy_id_int(s->p, id, &c)) {
        out->constant = c;
        return c > 0 && c <= MOST_CONSTANT;
    }
    id = gather_plain(s->p, id);
    if (vy_flat_constant(&s->a, id, &e)) {
        out->factor[out->count++] = e;
        return e.offset >= 0;
    }
    return !VY_IS_LEAF(id) && s->p->insts.data[id].op == VY_OP_MUL &&
           gather_stride_of(s, vy_arg(s->p, id, 0), out) &&
           gather_stride_of(s, vy_arg(s->p, id, 1), &second) && multiply_stride(out, &second);
}

bool gather_stride_ratio(const gather_stride *a, const gather_stride *b, gather_stride *ratio)
{
    uint32_t used = 0;
    *ratio = (gather_stride){.constant = b->constant / a->constant};
    for (uint32_t k = 0; k < b->count; k++) {
        uint32_t j = 0;
        while (j < a->count && (used >> j & 1 || !vy_same_form(a->factor[j], b->factor[k]))) j++;
        if (j < a->count)
            used |= 1u << j;
        else
            ratio->factor[ratio->count++] = b->factor[k];
    }
    return b->constant % a->constant == 0 && used == (1u << a->count) - 1;
}

static bool is_same(const gather_stride *a, const gather_stride *b)
{
    gather_stride r;
    return gather_stride_ratio(a, b, &r) && !r.count && r.constant == 1;
}

// The number of stride `low` times d; with `adds`, a new one if necessary.  GATHER_OPEN: none.
static uint8_t times(gather_splitting *s, uint8_t low, const gather_stride *d, bool adds)
{
    gather_stride product = s->stride[low];
    if (!multiply_stride(&product, d)) return GATHER_OPEN;
    for (uint8_t k = 0; k < s->count; k++)
        if (is_same(&s->stride[k], &product)) return k;
    if (!adds || s->count == GATHER_PARTS) return GATHER_OPEN;
    s->stride[s->count] = product;
    return (uint8_t)s->count++;
}

// Orders strides so that each divides the next.  False: they are no chain.
static bool order(gather_splitting *s)
{
    gather_stride r;
    for (uint32_t k = 1; k < s->count; k++)
        for (uint32_t j = k; j > 1 && gather_stride_ratio(&s->stride[j], &s->stride[j - 1], &r);
             j--) {
            const gather_stride moved = s->stride[j];
            s->stride[j] = s->stride[j - 1];
            s->stride[j - 1] = moved;
        }
    for (uint32_t k = 1; k < s->count; k++)
        if (!gather_stride_ratio(&s->stride[k - 1], &s->stride[k], &r)) return false;
    return s->count > 1;
}

// ------------------------------------------------------------------------------------------- parts
gather_part gather_part_of(const gather_splitting *s, uint32_t id)
{
    if (!VY_IS_LEAF(id)) return s->part[id];
    const vy_leaf *l = &s->p->leaves.data[VY_LEAF_INDEX(id)];
    const bool is = l->kind == VY_LEAF_OVER && l->index == s->over;
    return (gather_part){.high = GATHER_OPEN, .is = is};
}

// x / d (low), x % d (high).
static gather_part divided(gather_splitting *s, uint32_t id, bool remainder, bool ordered)
{
    gather_stride d;
    gather_part x = gather_part_of(s, vy_arg(s->p, id, 0));
    if (!x.is || !gather_stride_of(s, vy_arg(s->p, id, 1), &d)) return (gather_part){0};
    const uint8_t at = times(s, x.low, &d, !ordered);
    x.is = at != GATHER_OPEN && (!ordered || at <= x.high);
    *(remainder ? &x.high : &x.low) = at;
    return x;
}

// x - x / d * d
static gather_part rest_of(gather_splitting *s, uint32_t id)
{
    gather_stride d;
    gather_part x = gather_part_of(s, vy_arg(s->p, id, 0));
    const uint32_t product = vy_arg(s->p, id, 1);
    if (!x.is || VY_IS_LEAF(product) || s->p->insts.data[product].op != VY_OP_MUL)
        return (gather_part){0};
    for (uint32_t k = 0; k < 2; k++) {
        const gather_part q = gather_part_of(s, vy_arg(s->p, product, k));
        if (!q.is || !gather_stride_of(s, vy_arg(s->p, product, 1 - k), &d)) continue;
        if (q.high != x.high || times(s, x.low, &d, false) != q.low || q.low == GATHER_OPEN)
            continue;
        return (gather_part){.low = x.low, .high = q.low, .is = true};
    }
    return (gather_part){0};
}

bool gather_signs_differ(const gather_splitting *s, uint32_t id)
{
    int64_t zero;
    gather_stride d, row;
    if (VY_IS_LEAF(id) || s->p->insts.data[id].op != VY_OP_LT) return false;
    const uint32_t x = vy_arg(s->p, id, 0);
    if (!vy_id_int(s->p, vy_arg(s->p, id, 1), &zero) || zero != 0) return false;
    if (VY_IS_LEAF(x) || s->p->insts.data[x].op != VY_OP_XOR) return false;
    for (uint32_t k = 0; k < 2; k++) {
        const gather_part v = gather_part_of(s, vy_arg(s->p, x, k));
        if (v.is && v.high != GATHER_OPEN && gather_stride_of(s, vy_arg(s->p, x, 1 - k), &d) &&
            gather_stride_ratio(&s->stride[v.low], &s->stride[v.high], &row) && is_same(&d, &row))
            return true;
    }
    return false;
}

// v where v is a part, of select((v ^ d) < 0 && …, v + d, v).
static gather_part of_own_sign(const gather_splitting *s, uint32_t id)
{
    const uint32_t c = vy_arg(s->p, id, 0);
    bool differ = gather_signs_differ(s, c);
    for (uint32_t k = 0; k < 2 && !VY_IS_LEAF(c) && s->p->insts.data[c].op == VY_OP_AND; k++)
        differ |= gather_signs_differ(s, vy_arg(s->p, c, k));
    return differ ? gather_part_of(s, vy_arg(s->p, id, 2)) : (gather_part){0};
}

static gather_part part_of(gather_splitting *s, uint32_t id, bool ordered)
{
    const vy_inst *i = &s->p->insts.data[id];
    const bool narrow = vy_type_is_integer((vy_type)i->type) && vy_type_size((vy_type)i->type) == 4;
    if (!narrow) return (gather_part){0};
    switch ((vy_op)i->op) {
    case VY_OP_BITCAST:
    case VY_OP_CAST:
        if (gather_plain(s->p, id) == id) return (gather_part){0};
        return gather_part_of(s, vy_arg(s->p, id, 0));
    case VY_OP_DIV: return divided(s, id, false, ordered);
    case VY_OP_REM: return divided(s, id, true, ordered);
    case VY_OP_SUB: return rest_of(s, id);
    case VY_OP_SELECT: return of_own_sign(s, id);
    default: return (gather_part){0};
    }
}

static void find(gather_splitting *s, bool ordered)
{
    for (uint32_t id = 1; id < s->p->insts.count; id++) s->part[id] = part_of(s, id, ordered);
}

// --------------------------------------------------------------------------------------- the whole
// Is something divided by what is no constant?
static bool divides(const vy_program *p)
{
    int64_t c;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if ((p->insts.data[id].op == VY_OP_DIV || p->insts.data[id].op == VY_OP_REM) &&
            vy_type_is_integer((vy_type)p->insts.data[id].type) &&
            !vy_id_int(p, vy_arg(p, id, 1), &c))
            return true;
    return false;
}

static bool has_factors(const gather_splitting *s)
{
    for (uint32_t k = 0; k < s->count; k++)
        if (s->stride[k].count) return true;
    return false;
}

bool gather_find_parts(gather_splitting *s)
{
    if (!divides(s->p)) return false;
    s->part = vy_arena_alloc(&s->g->arena, s->p->insts.count * sizeof *s->part);
    if (!s->part || !gather_number_strides(s) ||
        !vy_dim_facts_make(&s->a.facts, s->p, &s->g->arena)) {
        s->g->failed = true;
        return false;
    }
    s->a.p = s->p;
    for (s->over = 0; s->over < s->p->overs.count; s->over++) {
        s->stride[0] = (gather_stride){.constant = 1};
        s->count = 1;
        memset(s->part, 0, s->p->insts.count * sizeof *s->part);
        find(s, false);
        if (!has_factors(s) || !order(s)) continue;
        find(s, true);
        return true;
    }
    return false;
}
