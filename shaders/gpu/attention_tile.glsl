// SPDX-License-Identifier: MIT
// What both kernels of attention.plan do with 32 rows that stay (resident) and 16 that come and go (streamed): the
// products of every pair of rows along D = 64, twice, for q·k and ō·v.  Half of the 128 invocations make one product,
// half the other; of each half 32 sum up the first 32 columns and 32 the last, 4 × 4 pairs each.  Rows that stay lie
// in columns, so that four neighbours are one load; dimensions of arrays are such that all that is constant in
// unrolled loops becomes the offset of a load.  32 KiB, as much as any device has.
const uint RESIDENT = 32, STREAMED = 16, D4 = 16; // rows, rows, vec4 in a row
const float SCALE = 0.125 * 1.44269504088896;     // 1/√D, of exponents of two

shared vec4 resident[2][2][32][8];    // [product][half of the columns][column][four rows]
shared vec4 streamed[2][4][4][2][8];  // [product][4 × 4 rows][half of the columns][four columns]
shared vec4 part[2][2][4][4][8];      // [product][half of the columns][4 × 4 streamed rows][four resident rows]

uint me = gl_LocalInvocationIndex, product = me >> 6;
// of an invocation that has one streamed row and four resident ones, which follow each other
uint own_row = me >> 3, own_four = me & 7;

void store_resident(uint which, uint row, uint n, vec4 x)
{
    [[unroll]] for (uint e = 0; e < 4; e++) resident[which][n >> 3][(n & 7) * 4 + e][row >> 2][row & 3] = x[e];
}

void store_streamed(uint which, uint row, uint n, vec4 x) { streamed[which][row >> 2][row & 3][n >> 3][n & 7] = x; }

vec4 streamed_at(uint which, uint row, uint n) { return streamed[which][row >> 2][row & 3][n >> 3][n & 7]; }

// part[product] = the products of resident[product] and streamed[product]
void multiply()
{
    const uint half_of = me >> 5 & 1, g = me & 7, t = me >> 3 & 3;
    vec4 sum[4];
    [[unroll]] for (uint k = 0; k < 4; k++) sum[k] = vec4(0.0);
    [[unroll]] for (uint c = 0; c < D4 / 2; c++) {
        vec4 s[4];
        [[unroll]] for (uint k = 0; k < 4; k++) s[k] = streamed[product][t][k][half_of][c];
        [[unroll]] for (uint e = 0; e < 4; e++) {
            const vec4 r = resident[product][half_of][4 * c + e][g];
            [[unroll]] for (uint k = 0; k < 4; k++) sum[k] += s[k][e] * r;
        }
    }
    [[unroll]] for (uint k = 0; k < 4; k++) part[product][half_of][t][k][g] = sum[k];
}

// The own row's of a product, both halves
vec4 multiplied(uint which)
{
    const uint t = own_row >> 2, k = own_row & 3;
    return part[which][0][t][k][own_four] + part[which][1][t][k][own_four];
}

void store_weight(uint which, vec4 x) { part[which][0][own_row >> 2][own_row & 3][own_four] = x; }
