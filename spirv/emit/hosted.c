// SPDX-License-Identifier: MIT
// hosted.c: kernels that are bound as a shader is (spirv/describe/places.c): lengths, which no host
// passes, are asked of the bindings, and arrays in uniform blocks are read as vectors of words.
//
//   @layout(16 + 12, 32, 4) v: in f32[?, 3]      len(v) = (bytes of the binding − 16) / 32
//
// as OpArrayLength of the shader itself gives it.
#include "spirv/emit/emit.h"

static bool has_strides(const vy_buf *b) { return b->layout.given && b->layout.strides; }

// Elements from one index of the first axis to the next; 0: the host alone knows.
static uint32_t leading_step(const vy_fn *f, uint32_t buffer)
{
    const vy_buf *b = &f->p->buffers.data[buffer];
    if (has_strides(b)) return b->layout.strides[0] / vy_type_size(b->type);
    uint64_t step = 1;
    for (uint32_t k = 1; k < b->rank; k++) {
        const vy_dim_node *d = &f->p->dims.data[b->dims[k].id];
        if (d->op != VY_DIM_CONST || d->value <= 0 || d->value > UINT32_MAX) return 0;
        step *= (uint64_t)d->value;
        if (step > UINT32_MAX) return 0;
    }
    return (uint32_t)step;
}

bool vy_has_length(const vy_fn *f, uint32_t buffer)
{
    const vy_buf *b = &f->p->buffers.data[buffer];
    return f->d->hosted && !b->layout.uniform && !(f->d->sliced && f->d->sliced[buffer]) &&
           leading_step(f, buffer);
}

uint32_t vy_length_of_scalar(const vy_fn *f, uint32_t scalar)
{
    const vy_program *p = f->p;
    if (!f->d->hosted || p->scalars.data[scalar].layout.given) return 0;
    if (p->scalars.data[scalar].type != VY_U32) return 0;
    for (uint32_t b = 1; b < p->buffers.count; b++) {
        const vy_buf *buf = &p->buffers.data[b];
        if (!buf->layout.given || !vy_has_length(f, b)) continue;
        const vy_dim_node *d = &p->dims.data[buf->dims[0].id];
        if (d->op == VY_DIM_SCALAR && d->value == scalar) return b;
    }
    return 0;
}

uint32_t vy_length_id(vy_fn *f, uint32_t buffer)
{
    vy_array *a = &f->arrays[buffer];
    const vy_buf *b = &f->p->buffers.data[buffer];
    const uint32_t u32 = vy_spv_type(f->m, VY_U32), step = leading_step(f, buffer);
    const uint32_t before = (b->layout.offset - b->layout.within) / vy_type_size(b->type);
    if (a->length_id) return a->length_id;
    vy_words *out = f->out;
    f->out = &f->prologue;
    uint32_t n = VY_DO(f, SpvOpArrayLength, u32, a->var, 0);
    if (a->form == VY_MEM_HALVES) n = vy_u32_op(f, SpvOpIMul, n, vy_spv_u32(f->m, 2));
    if (before && has_strides(b)) {
        const uint32_t from = vy_spv_u32(f->m, before);
        n = VY_DO(f, SpvOpISub, u32, VY_EXT(f, GLSLstd450UMax, u32, n, from), from);
    }
    if (step > 1) n = VY_DO(f, SpvOpUDiv, u32, n, vy_spv_u32(f->m, step));
    f->out = out;
    return a->length_id = n;
}

// ------------------------------------------------------------------------------------- addresses
uint32_t vy_strided_address(vy_fn *f, uint32_t buffer, const uint32_t *index)
{
    const vy_buf *b = &f->p->buffers.data[buffer];
    const uint32_t size = vy_type_size(b->type);
    uint32_t sum = vy_spv_u32(f->m, b->layout.offset / size);
    for (uint32_t k = 0; k < b->rank; k++) {
        const uint32_t step = vy_spv_u32(f->m, b->layout.strides[k] / size);
        sum = vy_u32_op(f, SpvOpIAdd, sum, vy_u32_op(f, SpvOpIMul, index[k], step));
    }
    return sum;
}

bool vy_is_strided(const vy_fn *f, uint32_t buffer)
{
    return f->d && f->d->hosted && has_strides(&f->p->buffers.data[buffer]);
}

// --------------------------------------------------------------------------------- uniform blocks
// Vectors of four words that the array reaches into.
static uint32_t quads_of(const vy_fn *f, uint32_t buffer)
{
    const vy_buf *b = &f->p->buffers.data[buffer];
    uint64_t end = (uint64_t)b->layout.offset + vy_type_size(b->type);
    for (uint32_t k = 0; k < b->rank; k++) {
        const int64_t n = f->p->dims.data[b->dims[k].id].value;
        if (n > 1) end += (uint64_t)(n - 1) * b->layout.strides[k];
    }
    return (uint32_t)((end + 15) / 16);
}

// struct { uvec4 words[n]; }: what arrays in uniform blocks may be on every device.
uint32_t vy_uniform_block(vy_fn *f, uint32_t buffer)
{
    vy_spv *m = f->m;
    const uint32_t quad = VY_INTERN(m, SpvOpTypeVector, 0, vy_spv_type(m, VY_U32), 4);
    const uint32_t array = vy_spv_id(m), block = vy_spv_id(m);
    VY_GLOBAL(m, SpvOpTypeArray, array, quad, vy_spv_u32(m, quads_of(f, buffer)));
    VY_GLOBAL(m, SpvOpTypeStruct, block, array);
    VY_DECORATE(m, array, SpvDecorationArrayStride, 16);
    VY_DECORATE(m, block, SpvDecorationBlock);
    VY_PUT(m, &m->sections[VY_SEC_ANNOTATIONS], SpvOpMemberDecorate, block, 0, SpvDecorationOffset,
           0);
    return block;
}

// Which vector a word is in, and which word of it.
static void split(vy_fn *f, uint32_t word, uint32_t *quad, uint32_t *in_quad)
{
    const uint32_t u32 = vy_spv_type(f->m, VY_U32);
    uint32_t known;
    const bool constant = vy_spv_known_u32(f->m, word, &known);
    *quad = constant ? vy_spv_u32(f->m, known >> 2)
                     : VY_DO(f, SpvOpShiftRightLogical, u32, word, vy_spv_u32(f->m, 2));
    *in_quad = constant ? vy_spv_u32(f->m, known & 3)
                        : VY_DO(f, SpvOpBitwiseAnd, u32, word, vy_spv_u32(f->m, 3));
}

static uint32_t read_word(vy_fn *f, const vy_array *a, uint32_t word)
{
    vy_spv *m = f->m;
    const uint32_t u32 = vy_spv_type(m, VY_U32), pointer = vy_spv_pointer(m, a->cls, u32);
    uint32_t quad, in_quad;
    split(f, word, &quad, &in_quad);
    const uint32_t at =
        VY_DO(f, SpvOpAccessChain, pointer, a->var, vy_spv_u32(m, 0), quad, in_quad);
    return VY_DO(f, SpvOpLoad, u32, at);
}

uint32_t vy_read_uniform(vy_fn *f, const vy_array *a, uint32_t address)
{
    vy_spv *m = f->m;
    const uint32_t type = vy_spv_type(m, a->type), u32 = vy_spv_type(m, VY_U32);
    if (vy_type_size(a->type) == 4) {
        const uint32_t v = read_word(f, a, address);
        if (a->type == VY_BOOL) return VY_DO(f, SpvOpINotEqual, type, v, vy_spv_u32(m, 0));
        return a->type == VY_U32 ? v : VY_DO(f, SpvOpBitcast, type, v);
    }
    const uint32_t first = vy_u32_op(f, SpvOpIMul, address, vy_spv_u32(m, 2));
    const uint32_t pair = VY_INTERN(m, SpvOpTypeVector, 0, u32, 2), low = read_word(f, a, first);
    const uint32_t high = read_word(f, a, vy_u32_op(f, SpvOpIAdd, first, vy_spv_u32(m, 1)));
    return VY_DO(f, SpvOpBitcast, type, VY_DO(f, SpvOpCompositeConstruct, pair, low, high));
}
