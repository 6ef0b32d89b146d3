// SPDX-License-Identifier: MIT
// follows.c: values that are a loop's counter plus what does not change in the loop, modulo 2³²:
// sums, differences and conversions between integers of 32 bits (sliding_loads.c,
// ir/pass/target/strip_mine.c).
#include "ir/pass/scalar/follows.h"

enum { DEPTH = 8 };

static bool is_word(const vy_program *p, uint32_t id)
{
    return vy_id_type(p, id) == VY_U32 || vy_id_type(p, id) == VY_I32;
}

static bool follows(const vy_program *p, uint32_t id, uint32_t loop, int depth)
{
    if (id == loop) return is_word(p, id);
    if (vy_is_ahead(id, loop) || !depth || !is_word(p, id)) return false;
    const uint32_t x = vy_arg(p, id, 0);
    switch ((vy_op)p->insts.data[id].op) {
    case VY_OP_CAST: return follows(p, x, loop, depth - 1);
    case VY_OP_SUB: return vy_is_ahead(vy_arg(p, id, 1), loop) && follows(p, x, loop, depth - 1);
    case VY_OP_ADD: {
        const uint32_t y = vy_arg(p, id, 1);
        return vy_is_ahead(y, loop)   ? follows(p, x, loop, depth - 1)
               : vy_is_ahead(x, loop) ? follows(p, y, loop, depth - 1)
                                      : false;
    }
    default: return false;
    }
}

bool vy_follows(const vy_program *p, uint32_t id, uint32_t loop)
{
    return follows(p, id, loop, DEPTH);
}

vy_value vy_followed_first(vy_rewrite *w, uint32_t id, uint32_t loop)
{
    const vy_program *p = w->p;
    vy_builder *b = w->b;
    if (id == loop) return (vy_value){vy_new_arg(w, id, 0)};
    if (vy_is_ahead(id, loop)) return (vy_value){vy_new(w, id)};
    const vy_value x = vy_followed_first(w, vy_arg(p, id, 0), loop);
    if (p->insts.data[id].op == VY_OP_CAST) return vy_cast(b, vy_id_type(p, id), x);
    const vy_value y = vy_followed_first(w, vy_arg(p, id, 1), loop);
    return p->insts.data[id].op == VY_OP_ADD ? vy_add(b, x, y) : vy_sub(b, x, y);
}
