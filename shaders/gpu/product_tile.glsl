// SPDX-License-Identifier: MIT
// A matrix product in tiles of TILE × TILE elements by 2 TILE invocations, of which each has 8 × TILE / 16 in registers.
// Eight elements of the sum at a time lie in shared memory, which has room for twice: while one is used, the next
// is loaded, so there is one barrier for each.  Defined by who includes this: TILE; ROWS, COLUMNS and LENGTH of the
// result and of the sum; ALONG_SUM, where the factors' rows lie along the sum (left[row, n] right[column, n]), otherwise
// they lie across (left[n, row] right[n, column]).
layout(local_size_x = 2 * TILE) in;
layout(push_constant) uniform Sizes { uint M, N, K; };
layout(std430, binding = 0) readonly buffer Left { float left[]; };
layout(std430, binding = 0) readonly buffer LeftFours { vec4 left_fours[]; };
layout(std430, binding = 1) readonly buffer Right { float right[]; };
layout(std430, binding = 1) readonly buffer RightFours { vec4 right_fours[]; };
layout(std430, binding = 2) writeonly buffer Result { float result[]; };

const uint DEPTH = 8, FOURS = TILE / 4, WIDE = TILE / 64; // WIDE: of four columns each
shared vec4 tile[2][2][DEPTH][FOURS + 1];                 // [turn][left, right]; rows begin on banks of their own

#ifdef ALONG_SUM
// Which four numbers of a factor's tile the invocation loads: those from n of one row (column)
uint across() { return gl_LocalInvocationIndex >> 1; }
uint along() { return (gl_LocalInvocationIndex & 1) * 4; }
#else
uint across() { return gl_LocalInvocationIndex % FOURS * 4; }
uint along() { return gl_LocalInvocationIndex / FOURS; }
#endif

// `first` + across() of `size`, as far as four are there at once
uint clamped(uint first, uint size)
{
#ifdef ALONG_SUM
    return min(first + across(), size - 1);
#else
    return min(first + across(), (size - 1) / 4 * 4);
#endif
}

// Four numbers of a factor with `size` rows (columns), of which any may be outside.  Beyond the sum there is zero,
// beyond the rows anything.
#ifdef ALONG_SUM
#define CAREFUL(from, at, n, size, e) ((n) + e < LENGTH ? from[at * LENGTH + min((n) + e, LENGTH - 1)] : 0.0)
#define WHOLE(from, at, n, size) from[(at * LENGTH + (n)) / 4]
#define STRIDES LENGTH
#else
#define CAREFUL(from, at, n, size, e) ((n) < LENGTH ? from[min((n), LENGTH - 1) * size + min(at + e, size - 1)] : 0.0)
#define WHOLE(from, at, n, size) from[((n) * size + at) / 4]
#define STRIDES (ROWS | COLUMNS)
#endif
#define FOUR(from, at, n, size) vec4(CAREFUL(from, at, n, size, 0), CAREFUL(from, at, n, size, 1), \
                                     CAREFUL(from, at, n, size, 2), CAREFUL(from, at, n, size, 3))

void keep(uint turn, uint which, vec4 x)
{
#ifdef ALONG_SUM
    [[unroll]] for (uint e = 0; e < 4; e++) tile[turn & 1][which][along() + e][across() >> 2][across() & 3] = x[e];
#else
    tile[turn & 1][which][along()][across() >> 2] = x;
#endif
}

vec4 sum[8][WIDE];

// The elements of the sum that lie in shared memory, for the place `tx`, `ty` in the tile
void multiply(uint turn, uint tx, uint ty, uint n)
{
    vec4 u[2], v[WIDE];
    [[unroll]] for (uint h = 0; h < 2; h++) u[h] = tile[turn & 1][0][n][h * (FOURS / 2) + ty];
    [[unroll]] for (uint w = 0; w < WIDE; w++) v[w] = tile[turn & 1][1][n][w * 16 + tx];
    [[unroll]] for (uint i = 0; i < 8; i++)
        [[unroll]] for (uint w = 0; w < WIDE; w++) sum[i][w] += u[i >> 2][i & 3] * v[w];
}

void main()
{
    // 8 × 4 neighbours of a subgroup have 8 × 4 places, so that they read few different numbers
    const uint lane = gl_LocalInvocationIndex;
    const uint tx = (lane & 7) + (lane >> 5 & 1) * 8, ty = (lane >> 3 & 3) + (lane >> 6) * 4;
    const uint top = gl_WorkGroupID.y * TILE, begin = gl_WorkGroupID.x * TILE;
    const uint row = clamped(top, ROWS), column = clamped(begin, COLUMNS);
    [[unroll]] for (uint i = 0; i < 8; i++)
        [[unroll]] for (uint w = 0; w < WIDE; w++) sum[i][w] = vec4(0.0);
    keep(0, 0, FOUR(left, row, along(), ROWS));
    keep(0, 1, FOUR(right, column, along(), COLUMNS));
    barrier();
    uint turn = 0, start = 0;
    const uint whole = STRIDES % 4 == 0 ? LENGTH / DEPTH * DEPTH : 0; // until there loads are of four numbers
    for (; start + DEPTH < whole; start += DEPTH) {
        const vec4 l = WHOLE(left_fours, row, start + DEPTH + along(), ROWS);
        const vec4 r = WHOLE(right_fours, column, start + DEPTH + along(), COLUMNS);
        [[unroll]] for (uint n = 0; n < DEPTH; n++) multiply(turn, tx, ty, n);
        turn++;
        keep(turn, 0, l);
        keep(turn, 1, r);
        barrier();
    }
    for (; start < LENGTH; start += DEPTH) {
        const vec4 l = FOUR(left, row, start + DEPTH + along(), ROWS);
        const vec4 r = FOUR(right, column, start + DEPTH + along(), COLUMNS);
        [[dont_unroll]] for (uint n = 0; n < DEPTH; n++) multiply(turn, tx, ty, n);
        turn++;
        keep(turn, 0, l);
        keep(turn, 1, r);
        barrier();
    }
    [[unroll]] for (uint i = 0; i < 8; i++)
        [[unroll]] for (uint w = 0; w < WIDE; w++)
            [[unroll]] for (uint e = 0; e < 4; e++) {
                const uint at = top + (i >> 2) * (TILE / 2) + 4 * ty + (i & 3), to = begin + w * 64 + 4 * tx + e;
                if (at < ROWS && to < COLUMNS) result[at * COLUMNS + to] = sum[i][w][e];
            }
}
