// SPDX-License-Identifier: MIT
// matrix.c: linear algebra of small matrices as scalar code.
#include "ir/build/edit.h"
#include "ir/build/matrix.h"

void vy_matrix_product(vy_builder *b, uint32_t rows, uint32_t inner, uint32_t columns,
                       const vy_value *x, const vy_value *y, vy_value *v)
{
    for (uint32_t c = 0; c < columns; c++)
        for (uint32_t i = 0; i < rows; i++) {
            vy_value sum = {0};
            for (uint32_t k = 0; k < inner; k++) {
                const vy_value term = vy_mul(b, x[k * rows + i], y[c * inner + k]);
                sum = sum.id ? vy_add(b, sum, term) : term;
            }
            v[c * rows + i] = sum;
        }
}

void vy_matrix_transpose(uint32_t rows, uint32_t columns, const vy_value *x, vy_value *v)
{
    for (uint32_t c = 0; c < columns; c++)
        for (uint32_t i = 0; i < rows; i++) v[i * columns + c] = x[c * rows + i];
}

// The determinant of what is left of an n × n matrix without the rows and columns in the masks, by
// its first row.
static vy_value minor(vy_builder *b, const vy_value *m, uint32_t n, uint32_t rows, uint32_t columns)
{
    uint32_t row = 0;
    while (row < n && rows & 1u << row) row++;
    if (row == n) return vy_float_like(b, m[0], 1);
    vy_value sum = {0};
    bool negative = false;
    for (uint32_t k = 0; k < n; k++) {
        if (columns & 1u << k) continue;
        const vy_value below = minor(b, m, n, rows | 1u << row, columns | 1u << k);
        const vy_value term = vy_mul(b, m[k * n + row], below);
        sum = !sum.id ? term : negative ? vy_sub(b, sum, term) : vy_add(b, sum, term);
        negative = !negative;
    }
    return sum;
}

vy_value vy_matrix_determinant(vy_builder *b, uint32_t n, const vy_value *x)
{
    return minor(b, x, n, 0, 0);
}

// Row i and column j of the inverse: cofactor (j, i) over the determinant.
void vy_matrix_inverse(vy_builder *b, uint32_t n, const vy_value *x, vy_value *v)
{
    const vy_value det = minor(b, x, n, 0, 0);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            const vy_value q = vy_div(b, minor(b, x, n, 1u << j, 1u << i), det);
            v[j * n + i] = (i + j) % 2 ? vy_neg(b, q) : q;
        }
}
