// SPDX-License-Identifier: MIT
// quotients.c: quotients of a multiple and a part of one.
//
//   (4 * block + lid.x / 8) / 4          →      (4 * block) / 4        in a workgroup of 32
//
// Shaders count rows by workgroups this way and leave those that there are none for: all of a
// workgroup, which shows only where the invocation's own part has been dropped.  It may be dropped
// where the other summand has zeros in the bits that the division drops, and it has those bits
// alone: then the sum carries nothing, wrapped or not.
#include "ir/facts/low_bits.h"
#include "ir/facts/range.h"
#include "ir/pass/pass.h"
#include "spirv/read/reading.h"

typedef struct quotients {
    vy_rewrite w;
    vy_intervals bounds;
    uint32_t *whole; // by division: the summand that remains
} quotients;

// Bits that a division of unsigned numbers drops; 0: it is none.
static uint32_t dropped(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    if (i->type != VY_U32 || (i->op != VY_OP_DIV && i->op != VY_OP_SHR)) return 0;
    const vy_scalar *by = vy_id_const(p, vy_arg(p, id, 1));
    if (!by) return 0;
    if (i->op == VY_OP_SHR) return by->u < 32 ? (uint32_t)by->u : 0;
    const bool power = by->u && by->u <= UINT32_MAX && !(by->u & (by->u - 1));
    return power ? (uint32_t)__builtin_ctzll(by->u) : 0;
}

static uint32_t find_whole(const quotients *x, uint32_t id)
{
    const vy_program *p = x->w.p;
    const uint32_t bits = dropped(p, id);
    if (!bits) return 0;
    const uint32_t sum = vy_arg(p, id, 0);
    if (VY_IS_LEAF(sum) || p->insts.data[sum].op != VY_OP_ADD) return 0;
    for (uint32_t k = 0; k < 2; k++) {
        const vy_low_bits whole = vy_low_bits_of(p, &x->w.s, vy_arg(p, sum, k));
        const vy_interval part = vy_interval_of(&x->bounds, vy_arg(p, sum, !k));
        const bool multiple = whole.count >= bits && !(whole.bits & ((UINT64_C(1) << bits) - 1));
        if (multiple && part.lo >= 0 && part.hi < INT64_C(1) << bits) return vy_arg(p, sum, k);
    }
    return 0;
}

static uint32_t instead(void *pass, uint32_t id)
{
    quotients *x = pass;
    if (!x->whole[id]) return 0;
    const vy_inst *i = &x->w.p->insts.data[id];
    const uint32_t args[] = {vy_new(&x->w, x->whole[id]), vy_new_arg(&x->w, id, 1)};
    x->w.map[id] = vy_emit(x->w.b, (vy_op)i->op, (vy_type)i->type, i->aux, 2, args);
    return id;
}

static bool has_division(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (dropped(p, id)) return true;
    return false;
}

bool read_quotients(vy_program *p)
{
    quotients x = {0};
    bool any = false, changed = false;
    if (!has_division(p)) return true;
    bool ok = vy_rewrite_begin(&x.w, p) && (x.whole = vy_rewrite_ids(&x.w)) != NULL &&
              vy_intervals_make(&x.bounds, p, &x.w.s, &x.w.arena);
    for (uint32_t id = 1; ok && id < p->insts.count; id++)
        any |= (x.whole[id] = find_whole(&x, id)) != 0;
    if (any) vy_rewrite_run(&x.w, instead, &x);
    return vy_rewrite_end(&x.w, ok, &changed);
}
