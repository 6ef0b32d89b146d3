// SPDX-License-Identifier: MIT
// composite.c: vectors, matrices and structs put together and taken apart, and linear algebra on
// them.
#include "spirv/read/reading.h"

typedef struct parts { // of one instruction
    reading *r;
    vy_builder *b;
    uint32_t type, n;
    const uint32_t *operands;
    vy_value *v; // the result
    uint32_t scalars;
} parts;

static vy_value part(const parts *p, uint32_t operand, uint32_t k)
{
    return read_scalar(p->r, operand < p->n ? p->operands[operand] : 0, k);
}

static const read_type *type_of(const parts *p, uint32_t operand)
{
    return read_type_of(p->r, read_type_id(p->r, operand < p->n ? p->operands[operand] : 0));
}

static bool done(const parts *p) { return !vy_builder_failed(p->b); }

static bool lacks(const parts *p)
{
    return read_fail(p->r, VY_E_SHADER_WORDS, "", "its operands do not fit its type");
}

// ---------------------------------------------------------------------------- together and apart
static bool construct(const parts *p)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t j = 0; j < read_scalar_count(p->r, p->operands[i]); j++, k++) {
            if (k >= p->scalars) return lacks(p);
            p->v[k] = part(p, i, j);
        }
    return (k == p->scalars || lacks(p)) && done(p);
}

// The first scalar of the part that literals name, and its type; false: there is no such part.
static bool find_part(const parts *p, uint32_t of, uint32_t first, uint32_t *at, uint32_t *type)
{
    *at = 0;
    *type = read_type_id(p->r, p->operands[of]);
    for (uint32_t i = first; i < p->n; i++) {
        const read_type *t = read_type_of(p->r, *type);
        const uint32_t k = p->operands[i];
        if ((t->op != SpvOpTypeStruct && !t->element) || k >= t->count) return false;
        if (t->op != SpvOpTypeStruct) {
            *type = t->element;
            *at += k * read_type_of(p->r, t->element)->scalars;
            continue;
        }
        for (uint32_t j = 0; j < k; j++)
            *at += read_type_of(p->r, read_word_of(&p->r->w, *type, 2 + j))->scalars;
        *type = read_word_of(&p->r->w, *type, 2 + k);
    }
    return true;
}

static bool extract(const parts *p)
{
    uint32_t at, type;
    if (p->n == 0 || !find_part(p, 0, 1, &at, &type) ||
        read_type_of(p->r, type)->scalars != p->scalars)
        return lacks(p);
    for (uint32_t k = 0; k < p->scalars; k++) p->v[k] = part(p, 0, at + k);
    return done(p);
}

static bool insert(const parts *p)
{
    uint32_t at, type;
    if (p->n < 2 || !find_part(p, 1, 2, &at, &type)) return lacks(p);
    const uint32_t n = read_scalar_count(p->r, p->operands[0]);
    if (read_scalar_count(p->r, p->operands[1]) != p->scalars || n > p->scalars - at)
        return lacks(p);
    for (uint32_t k = 0; k < p->scalars; k++)
        p->v[k] = k >= at && k < at + n ? part(p, 0, k - at) : part(p, 1, k);
    return done(p);
}

static bool shuffle(const parts *p)
{
    if (p->n != 2 + p->scalars) return lacks(p);
    const uint32_t n = read_scalar_count(p->r, p->operands[0]);
    for (uint32_t k = 0; k < p->scalars; k++) {
        const uint32_t from = p->operands[2 + k];
        p->v[k] = from == UINT32_MAX ? part(p, 0, 0) // undefined: any
                  : from < n         ? part(p, 0, from)
                                     : part(p, 1, from - n);
    }
    return done(p);
}

static vy_value is_number(const parts *p, uint32_t operand, uint32_t k)
{
    const vy_value i = part(p, operand, 0);
    return vy_eq(p->b, i, vy_int(p->b, vy_value_type(p->b, i), k));
}

static bool extract_dynamic(const parts *p)
{
    const uint32_t n = p->n == 2 ? read_scalar_count(p->r, p->operands[0]) : 0;
    if (n == 0) return lacks(p);
    p->v[0] = part(p, 0, n - 1);
    for (uint32_t k = n - 1; k-- > 0 && done(p);) {
        const vy_value x = part(p, 0, k);
        p->v[0] = vy_select(p->b, is_number(p, 1, k), x, p->v[0]);
    }
    return done(p);
}

static bool insert_dynamic(const parts *p)
{
    for (uint32_t k = 0; k < p->scalars && done(p); k++) {
        const vy_value old = part(p, 0, k), inserted = part(p, 1, 0);
        p->v[k] = vy_select(p->b, is_number(p, 2, k), inserted, old);
    }
    return done(p);
}

// ------------------------------------------------------------------------------- linear algebra
// Entry (row, column) of a matrix; vectors are columns.
static vy_value entry(const parts *p, uint32_t operand, uint32_t row, uint32_t column)
{
    const read_type *t = type_of(p, operand);
    const uint32_t rows =
        t->op == SpvOpTypeMatrix ? read_type_of(p->r, t->element)->count : t->count;
    return part(p, operand, column * rows + row);
}

static vy_value product_sum(const parts *p, vy_value sum, vy_value x, vy_value y)
{
    const vy_value term = vy_mul(p->b, x, y);
    return sum.id ? vy_add(p->b, sum, term) : term;
}

static bool dot(const parts *p)
{
    vy_value sum = {0};
    for (uint32_t k = 0; k < type_of(p, 0)->count; k++) {
        const vy_value y = part(p, 1, k);
        sum = product_sum(p, sum, part(p, 0, k), y);
    }
    p->v[0] = sum;
    return done(p);
}

static bool times_scalar(const parts *p)
{
    for (uint32_t k = 0; k < p->scalars; k++) {
        const vy_value factor = part(p, 1, 0);
        p->v[k] = vy_mul(p->b, part(p, 0, k), factor);
    }
    return done(p);
}

static uint32_t rows_of(const parts *p, uint32_t operand)
{
    const read_type *t = type_of(p, operand);
    return t->op == SpvOpTypeMatrix ? read_type_of(p->r, t->element)->count : t->count;
}

static uint32_t columns_of(const parts *p, uint32_t operand)
{
    const read_type *t = type_of(p, operand);
    return t->op == SpvOpTypeMatrix ? t->count : 1;
}

static bool matrix_product(const parts *p) // also of a matrix and a vector
{
    const uint32_t rows = rows_of(p, 0), inner = columns_of(p, 0), columns = columns_of(p, 1);
    if (rows_of(p, 1) != inner || rows * columns != p->scalars) return lacks(p);
    for (uint32_t c = 0; c < columns; c++)
        for (uint32_t i = 0; i < rows; i++) {
            vy_value sum = {0};
            for (uint32_t k = 0; k < inner; k++) {
                const vy_value y = entry(p, 1, k, c);
                sum = product_sum(p, sum, entry(p, 0, i, k), y);
            }
            p->v[c * rows + i] = sum;
        }
    return done(p);
}

static bool vector_times_matrix(const parts *p)
{
    const uint32_t rows = rows_of(p, 1), columns = columns_of(p, 1);
    if (rows_of(p, 0) != rows || columns != p->scalars) return lacks(p);
    for (uint32_t c = 0; c < columns; c++) {
        vy_value sum = {0};
        for (uint32_t k = 0; k < rows; k++) {
            const vy_value y = entry(p, 1, k, c);
            sum = product_sum(p, sum, part(p, 0, k), y);
        }
        p->v[c] = sum;
    }
    return done(p);
}

static bool outer_product(const parts *p)
{
    const uint32_t rows = rows_of(p, 0), columns = rows_of(p, 1);
    if (rows * columns != p->scalars) return lacks(p);
    for (uint32_t c = 0; c < columns; c++)
        for (uint32_t i = 0; i < rows; i++) {
            const vy_value y = part(p, 1, c);
            p->v[c * rows + i] = vy_mul(p->b, part(p, 0, i), y);
        }
    return done(p);
}

static bool transpose(const parts *p)
{
    const uint32_t rows = rows_of(p, 0), columns = columns_of(p, 0);
    if (rows * columns != p->scalars) return lacks(p);
    for (uint32_t c = 0; c < columns; c++)
        for (uint32_t i = 0; i < rows; i++) p->v[i * columns + c] = entry(p, 0, i, c);
    return done(p);
}

static bool any_or_all(const parts *p, bool any)
{
    vy_value all = part(p, 0, 0);
    for (uint32_t k = 1; k < type_of(p, 0)->count && done(p); k++)
        all = any ? vy_or(p->b, all, part(p, 0, k)) : vy_and(p->b, all, part(p, 0, k));
    p->v[0] = all;
    return done(p);
}

// ------------------------------------------------------------- operations with two results
// Low and high words of a product of 32-bit numbers.
static void wide_product(const parts *p, uint32_t k, bool is_signed)
{
    const vy_type word = is_signed ? VY_I32 : VY_U32, wide = is_signed ? VY_I64 : VY_U64;
    const vy_value x = vy_cast(p->b, wide, read_as(p->r, word, part(p, 0, k)));
    const vy_value y = vy_cast(p->b, wide, read_as(p->r, word, part(p, 1, k)));
    const vy_value product = vy_mul(p->b, x, y);
    p->v[k] = vy_cast(p->b, word, product);
    p->v[p->scalars / 2 + k] = vy_cast(p->b, word, vy_shr(p->b, product, vy_int(p->b, wide, 32)));
}

static void carried(const parts *p, uint32_t k, bool borrow) // sum and carry, difference and borrow
{
    const vy_value x = read_as(p->r, VY_U32, part(p, 0, k));
    const vy_value y = read_as(p->r, VY_U32, part(p, 1, k));
    p->v[k] = borrow ? vy_sub(p->b, x, y) : vy_add(p->b, x, y);
    p->v[p->scalars / 2 + k] =
        vy_cast(p->b, VY_U32, borrow ? vy_lt(p->b, x, y) : vy_lt(p->b, p->v[k], x));
}

static bool two_results(const parts *p, SpvOp op)
{
    if (p->n != 2 || vy_type_size(read_scalar_type(p->r, p->type, 0)) != 4)
        return read_refuse(p->r, "use 32-bit numbers", read_op_name(op));
    for (uint32_t k = 0; k < p->scalars / 2; k++) {
        if (op == SpvOpUMulExtended || op == SpvOpSMulExtended)
            wide_product(p, k, op == SpvOpSMulExtended);
        else
            carried(p, k, op == SpvOpISubBorrow);
    }
    for (uint32_t k = 0; k < p->scalars; k++)
        p->v[k] = read_as(p->r, read_scalar_type(p->r, p->type, k), p->v[k]);
    return done(p);
}

bool read_composite(reading *r, SpvOp op, uint32_t type, uint32_t n, const uint32_t *operands,
                    vy_value *v, bool *mine)
{
    const parts p = {r, r->b, type, n, operands, v, read_type_of(r, type)->scalars};
    *mine = true;
    switch (op) {
    case SpvOpCompositeConstruct: return construct(&p);
    case SpvOpCompositeExtract: return extract(&p);
    case SpvOpCompositeInsert: return insert(&p);
    case SpvOpVectorShuffle: return shuffle(&p);
    case SpvOpVectorExtractDynamic: return extract_dynamic(&p);
    case SpvOpVectorInsertDynamic: return insert_dynamic(&p);
    case SpvOpDot: return dot(&p);
    case SpvOpVectorTimesScalar:
    case SpvOpMatrixTimesScalar: return times_scalar(&p);
    case SpvOpMatrixTimesVector:
    case SpvOpMatrixTimesMatrix: return matrix_product(&p);
    case SpvOpVectorTimesMatrix: return vector_times_matrix(&p);
    case SpvOpOuterProduct: return outer_product(&p);
    case SpvOpTranspose: return transpose(&p);
    case SpvOpAny: return any_or_all(&p, true);
    case SpvOpAll: return any_or_all(&p, false);
    case SpvOpUMulExtended:
    case SpvOpSMulExtended:
    case SpvOpIAddCarry:
    case SpvOpISubBorrow: return two_results(&p, op);
    default: *mine = false; return true;
    }
}
