// SPDX-License-Identifier: MIT
// Causal attention, the gradients of keys and values (after FlashAttention-2): a workgroup has 32 keys and
// values in shared memory and walks the queries behind them by sixteens.  Scores and ō·v are made again, p and its
// cotangent go through shared memory, grad_k and grad_v stay in registers: 32 numbers each of 64 invocations.  No
// atomics.  Rows past the end are the last one: of queries their weight is zero, of keys nothing is stored.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 128) in;
layout(push_constant) uniform Sizes { uint H, T; };
layout(std430, binding = 0) readonly buffer Q { vec4 q[]; };
layout(std430, binding = 1) readonly buffer K { vec4 k[]; };
layout(std430, binding = 2) readonly buffer V { vec4 v[]; };
layout(std430, binding = 3) readonly buffer GradO { vec4 grad_o[]; };
layout(std430, binding = 4) readonly buffer Statistics { vec2 statistics[]; }; // log2 Σ 2^score, ō·o
layout(std430, binding = 5) writeonly buffer GradK { vec4 grad_k[]; };
layout(std430, binding = 6) writeonly buffer GradV { vec4 grad_v[]; };
#include "attention_tile.glsl"

// The weights p of a query and four keys, and p (ō·v − delta)
void weigh(uint head, uint first, uint query)
{
    const uint i = query + own_row;
    const vec2 row = statistics[head + min(i, T - 1)];
    vec4 p = exp2(multiplied(0) * SCALE - row.x);
    const uint seen = i < T ? i + 1 - min(i + 1, first + 4 * own_four) : 0; // of the four keys
    [[unroll]] for (uint n = 0; n < 4; n++) p[n] = n < seen ? p[n] : 0.0;
    const vec4 d = multiplied(1);
    store_weight(0, p);
    store_weight(1, p * (d - row.y));
}

void main()
{
    const uint first = gl_WorkGroupID.x * RESIDENT, head = gl_WorkGroupID.y * T;
    [[unroll]] for (uint c = 0; c < D4; c += 4) {
        const uint row = me & 31, n = c + (me >> 5), at = (head + min(first + row, T - 1)) * D4 + n;
        store_resident(0, row, n, k[at]);
        store_resident(1, row, n, v[at]);
    }
    const uint jb = (me >> 4 & 3) * 2, db = me & 15; // twice four keys, four columns
    vec4 sum[8];
    [[unroll]] for (uint n = 0; n < 8; n++) sum[n] = vec4(0.0);
    for (uint query = first; query < T; query += STREAMED) {
        [[unroll]] for (uint n = 0; n < STREAMED; n += 8) {
            const uint row = n + (me >> 4), at = (head + min(query + row, T - 1)) * D4 + db;
            store_streamed(0, row, db, q[at]);
            store_streamed(1, row, db, grad_o[at]);
        }
        barrier();
        multiply();
        barrier();
        weigh(head, first, query);
        barrier();
        [[unroll]] for (uint t = 0; t < STREAMED; t++) { // half of them grad_v += p ō, half grad_k += … q
            const vec4 x = streamed_at(1 - product, t, db);
            const vec4 a = part[product][0][t >> 2][t & 3][jb], b = part[product][0][t >> 2][t & 3][jb + 1];
            [[unroll]] for (uint n = 0; n < 4; n++) {
                sum[n] += a[n] * x;
                sum[4 + n] += b[n] * x;
            }
        }
        barrier();
    }
    [[unroll]] for (uint n = 0; n < 8; n++) {
        const uint j = first + 4 * jb + n;
        if (j >= T) continue;
        if (product == 0) grad_v[(head + j) * D4 + db] = sum[n];
        else grad_k[(head + j) * D4 + db] = sum[n] * 0.125;
    }
}
