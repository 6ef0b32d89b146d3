// SPDX-License-Identifier: MIT
// Causal attention, the gradient of the queries: a workgroup has 32 queries and their cotangents in shared memory.
// First it walks the keys, 32 at a time, for the statistics of each row of scores (the largest and the sum, which
// each invocation keeps of its own pairs until the end), then keys and values by sixteens for
//   grad_q = Σ_{j ≤ i} p_j (ō·v_j − delta) k_j / √D,   p_j = exp(s_j − log Σ exp s),   delta = ō·o.
// The statistics go to gpu_attention_kv, too.  Rows past the end are the last one.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 128) in;
layout(push_constant) uniform Sizes { uint H, T; };
layout(std430, binding = 0) readonly buffer Q { vec4 q[]; };
layout(std430, binding = 1) readonly buffer K { vec4 k[]; };
layout(std430, binding = 2) readonly buffer V { vec4 v[]; };
layout(std430, binding = 3) readonly buffer O { vec4 o[]; };
layout(std430, binding = 4) readonly buffer GradO { vec4 grad_o[]; };
layout(std430, binding = 5) writeonly buffer GradQ { vec4 grad_q[]; };
layout(std430, binding = 6) writeonly buffer Statistics { vec2 statistics[]; };
#include "attention_tile.glsl"

const float LEAST = -3e38;

// ō·o of the invocation's four queries: halves of rows, summed up as multiply() does, so that delta is ō·v to the
// last bit where o is v
vec4 deltas(uint head, uint first)
{
    if (me < 2 * RESIDENT) {
        const uint at = (head + min(first + (me >> 1), T - 1)) * D4 + (me & 1) * 8;
        float sum = 0.0;
        [[unroll]] for (uint n = 0; n < 8; n++) {
            const vec4 x = grad_o[at + n], y = o[at + n];
            [[unroll]] for (uint e = 0; e < 4; e++) sum += y[e] * x[e];
        }
        part[0][0][me >> 5][me >> 3 & 3][me & 7].x = sum;
    }
    barrier();
    vec4 delta;
    [[unroll]] for (uint n = 0; n < 4; n++)
        delta[n] = part[0][0][own_four >> 2][own_four & 3][2 * n].x + part[0][0][own_four >> 2][own_four & 3][2 * n + 1].x;
    barrier();
    return delta;
}

// log2 of the sums of four rows, of what 16 invocations found of them
vec4 combined(vec4 most, vec4 sum)
{
    store_weight(0, most);
    store_weight(1, sum);
    barrier();
    vec4 top = most, all = vec4(0.0);
    for (uint t = 0; t < STREAMED; t++) top = max(top, part[0][0][t >> 2][t & 3][own_four]);
    for (uint t = 0; t < STREAMED; t++)
        all += part[1][0][t >> 2][t & 3][own_four] * exp2(part[0][0][t >> 2][t & 3][own_four] - top);
    barrier();
    return top + log2(all);
}

vec4 scores(uint which, uint first, uint key)
{
    vec4 s = multiplied(which) * SCALE;
    [[unroll]] for (uint n = 0; n < 4; n++) s[n] = key <= first + 4 * own_four + n ? s[n] : LEAST;
    return s;
}

vec4 logarithms(uint head, uint first, uint end)
{
    const uint db = me & 15;
    vec4 most = vec4(LEAST), total = vec4(0.0);
    for (uint key = 0; key < end; key += 2 * STREAMED) {
        [[unroll]] for (uint n = 0; n < 2 * STREAMED; n += 8) {
            const uint row = n + (me >> 4);
            store_streamed(n / STREAMED, row % STREAMED, db, k[(head + min(key + row, T - 1)) * D4 + db]);
        }
        barrier();
        multiply();
        barrier();
        const vec4 a = scores(0, first, key + own_row), b = scores(1, first, key + STREAMED + own_row);
        const vec4 next = max(most, max(a, b));
        total = total * exp2(most - next) + (exp2(a - next) + exp2(b - next));
        most = next;
    }
    barrier();
    return combined(most, total); // who has seen no key of a row has counted some, times 0 there
}

void main()
{
    const uint first = gl_WorkGroupID.x * RESIDENT, head = gl_WorkGroupID.y * T, end = min(first + RESIDENT, T);
    const uint row = me & 31, from = (head + min(first + row, T - 1)) * D4 + (me >> 5);
    [[unroll]] for (uint c = 0; c < D4; c += 4) {
        const vec4 x = q[from + c];
        store_resident(0, row, c + (me >> 5), x);
        store_resident(1, row, c + (me >> 5), x);
    }
    const vec4 lse = logarithms(head, first, end), delta = deltas(head, first);
    if (own_row == 0)
        [[unroll]] for (uint n = 0; n < 4; n++)
            if (first + 4 * own_four + n < T) statistics[head + first + 4 * own_four + n] = vec2(lse[n], delta[n]);
    [[unroll]] for (uint c = 0; c < D4; c += 4) store_resident(1, row, c + (me >> 5), grad_o[from + c]);
    const uint ib = (me >> 4 & 3) * 2, db = me & 15; // twice four queries, four columns
    vec4 sum[8];
    [[unroll]] for (uint n = 0; n < 8; n++) sum[n] = vec4(0.0);
    for (uint key = 0; key < end; key += STREAMED) {
        [[unroll]] for (uint n = 0; n < STREAMED; n += 8) {
            const uint row = n + (me >> 4), at = (head + min(key + row, T - 1)) * D4 + db;
            store_streamed(0, row, db, k[at]);
            store_streamed(1, row, db, v[at]);
        }
        barrier();
        multiply();
        barrier();
        store_weight(1, exp2(scores(0, first, key + own_row) - lse) * (multiplied(1) - delta));
        barrier();
        [[unroll]] for (uint n = 0; n < STREAMED / 2; n++) { // half of the keys each
            const vec4 x = streamed[0][2 * product + n / 4][n & 3][db >> 3][db & 7];
            const vec4 a = part[1][0][2 * product + n / 4][n & 3][ib], b = part[1][0][2 * product + n / 4][n & 3][ib + 1];
            [[unroll]] for (uint e = 0; e < 4; e++) {
                sum[e] += a[e] * x;
                sum[4 + e] += b[e] * x;
            }
        }
        barrier();
    }
    // the halves meet: the second one's sums lie where the queries were
    if (product == 1)
        [[unroll]] for (uint n = 0; n < 8; n++) resident[0][n >> 2][(n & 3) * 8 + (me >> 3 & 7)][me & 7] = sum[n];
    barrier();
    if (product == 1) return;
    [[unroll]] for (uint n = 0; n < 8; n++) {
        const uint i = first + 4 * ib + n;
        const vec4 other = resident[0][n >> 2][(n & 3) * 8 + (me >> 3 & 7)][me & 7];
        if (i < T) grad_q[(head + i) * D4 + db] = (sum[n] + other) * 0.125;
    }
}
