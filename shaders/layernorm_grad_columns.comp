// SPDX-License-Identifier: MIT
// gain_c = Σ_r ȳ_rc h_rc and bias_c = Σ_r ȳ_rc of the rows of one part: an invocation has COLUMNS columns, 64 apart, so
// neighbours read neighbouring words and a row's mean and s are read that much less.  layernorm_grad_sum.comp adds up the parts.
// Measured: 36.1 to 38 % of the peak copy bandwidth by all kernels of layernorm.plan (llvmpipe, tools/benchmark heads).
#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Sizes { uint R, C, parts; };
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer GradY { float grad_y[]; };
layout(std430, binding = 2) readonly buffer Rows { vec2 rows[]; };
layout(std430, binding = 3) writeonly buffer Part { vec2 part[]; };

const uint COLUMNS = 4;

void main()
{
    const uint c = gl_WorkGroupID.x * 64 * COLUMNS + gl_LocalInvocationID.x, which = gl_WorkGroupID.y;
    const uint each = (R + parts - 1) / parts, end = min(R, (which + 1) * each);
    vec2 sum[COLUMNS];
    for (uint k = 0; k < COLUMNS; k++) sum[k] = vec2(0.0);
    for (uint r = which * each; r < end; r++) {
        const vec2 row = rows[r];
        for (uint k = 0; k < COLUMNS; k++) {
            const uint at = r * C + min(c + 64 * k, C - 1);
            const float g = grad_y[at];
            sum[k] += vec2(g * ((x[at] - row.x) * row.y), g);
        }
    }
    for (uint k = 0; k < COLUMNS; k++)
        if (c + 64 * k < C) part[which * C + c + 64 * k] = sum[k];
}
