// SPDX-License-Identifier: MIT
// emit_words.c: emits one instruction with a result, and helpers that every kind of operation uses.
#include "spirv/emit/emit.h"

#include <string.h>

void vy_no_contraction(vy_fn *f, uint32_t id)
{
    if (f->exact) VY_DECORATE(f->m, id, SpvDecorationNoContraction);
}

uint32_t vy_op_n(vy_fn *f, SpvOp op, uint32_t type, uint32_t n, const uint32_t *operands)
{
    uint32_t id = vy_spv_id(f->m);
    if (!vy_vec_reserve(f->out, n + 3)) {
        f->m->oom = true;
        return id;
    }
    uint32_t *w = f->out->data + f->out->count;
    w[0] = (n + 3) << SpvWordCountShift | (uint32_t)op;
    w[1] = type;
    w[2] = id;
    if (n) memcpy(w + 3, operands, (size_t)n * 4);
    f->out->count += n + 3;
    bool arithmetic = op == SpvOpFAdd || op == SpvOpFSub || op == SpvOpFMul || op == SpvOpFDiv;
    if (arithmetic) vy_no_contraction(f, id);
    return id;
}

uint32_t vy_ext(vy_fn *f, uint32_t inst, uint32_t type, uint32_t n, const uint32_t *operands)
{
    uint32_t words[6];
    if (!f->m->glsl) f->m->glsl = vy_spv_id(f->m);
    words[0] = f->m->glsl;
    words[1] = inst;
    memcpy(words + 2, operands, (size_t)n * 4);
    return vy_op_n(f, SpvOpExtInst, type, n + 2, words);
}

uint32_t vy_u32_op(vy_fn *f, SpvOp op, uint32_t a, uint32_t b)
{
    uint32_t x, y;
    bool known_a = vy_spv_known_u32(f->m, a, &x), known_b = vy_spv_known_u32(f->m, b, &y);
    bool add = op == SpvOpIAdd;
    if (known_a && known_b) return vy_spv_u32(f->m, add ? x + y : x * y);
    if (known_a && (add ? x == 0 : x == 1)) return b;
    if (known_b && (add ? y == 0 : y == 1)) return a;
    if (!add && ((known_a && x == 0) || (known_b && y == 0))) return vy_spv_u32(f->m, 0);
    return VY_DO(f, op, vy_spv_type(f->m, VY_U32), a, b);
}

uint32_t vy_and_bool(vy_fn *f, uint32_t a, uint32_t b)
{
    if (!a || !b || a == b) return a ? a : b;
    return VY_DO(f, SpvOpLogicalAnd, vy_bool_type(f), a, b);
}

uint32_t vy_select_id(vy_fn *f, uint32_t type, uint32_t c, uint32_t a, uint32_t b)
{
    return a == b ? a : VY_DO(f, SpvOpSelect, type, c, a, b);
}

void vy_interface(vy_fn *f, uint32_t variable)
{
    while (f->listed.count <= variable && !f->m->oom)
        if (!vy_vec_push(&f->listed, 0)) f->m->oom = true;
    if (f->m->oom || f->listed.data[variable]) return;
    f->listed.data[variable] = 1;
    if (!vy_vec_push(&f->interface, variable)) f->m->oom = true;
}

uint32_t vy_half_of_word(vy_fn *f, uint32_t word, uint32_t half)
{
    uint32_t f16 = vy_spv_type(f->m, VY_F16), pair = VY_INTERN(f->m, SpvOpTypeVector, 0, f16, 2);
    uint32_t both = VY_DO(f, SpvOpBitcast, pair, word);
    return VY_DO(f, SpvOpVectorExtractDynamic, f16, both, half);
}
