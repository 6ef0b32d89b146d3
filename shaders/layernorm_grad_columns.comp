// SPDX-License-Identifier: MIT
// gain_c = Σ_r ȳ_rc h_rc and bias_c = Σ_r ȳ_rc of the rows of one part: an invocation has a column, so neighbours read
// neighbouring words.  layernorm_grad_sum.comp adds up the parts.
#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Sizes { uint R, C, parts; };
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer GradY { float grad_y[]; };
layout(std430, binding = 2) readonly buffer Rows { vec2 rows[]; };
layout(std430, binding = 3) writeonly buffer Part { vec2 part[]; };

void main()
{
    const uint c = gl_GlobalInvocationID.x, which = gl_WorkGroupID.y;
    if (c >= C) return;
    const uint each = (R + parts - 1) / parts, end = min(R, (which + 1) * each);
    vec2 sum = vec2(0.0);
    for (uint r = which * each; r < end; r++) {
        const float g = grad_y[r * C + c];
        sum += vec2(g * ((x[r * C + c] - rows[r].x) * rows[r].y), g);
    }
    part[which * C + c] = sum;
}
