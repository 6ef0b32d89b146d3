// SPDX-License-Identifier: MIT
// Slicing a bilateral grid, the gradients of guide and image: an invocation has a pixel and reads the eight cells
// around its place, which its neighbours read, too.
#version 450
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x = 32, local_size_y = 8) in;
layout(push_constant) uniform Sizes { uint GH, GW, GD, H, W; };
layout(std430, binding = 0) readonly buffer Grid { vec4 grid[]; };
layout(std430, binding = 1) readonly buffer Guide { float guide[]; };
layout(std430, binding = 2) readonly buffer Image { float image[]; };
layout(std430, binding = 3) readonly buffer GradMapped { float grad_mapped[]; };
layout(std430, binding = 4) writeonly buffer GradGuide { float grad_guide[]; };
layout(std430, binding = 5) writeonly buffer GradImage { float grad_image[]; };

float along(uint p, uint cells, uint pixels) { return (float(p) + 0.5) * float(cells) / float(pixels) - 0.5; }

void main()
{
    const uint x = gl_GlobalInvocationID.x, y = gl_GlobalInvocationID.y;
    if (x >= W || y >= H) return;
    const uint pixel = y * W + x;
    const vec3 g = vec3(along(x, GW, W), along(y, GH, H), guide[pixel] * float(GD) - 0.5), low = floor(g), f = g - low;
    const ivec3 last = ivec3(GW, GH, GD) - 1, from = clamp(ivec3(low), ivec3(0), last), to = clamp(ivec3(low) + 1, ivec3(0), last);
    const vec4 colour = vec4(image[3 * pixel], image[3 * pixel + 1], image[3 * pixel + 2], 1.0);
    const vec3 ct = vec3(grad_mapped[3 * pixel], grad_mapped[3 * pixel + 1], grad_mapped[3 * pixel + 2]);
    vec4 below = vec4(0.0), above = vec4(0.0); // Σ_c ct_c row_c, over the four corners at either depth
    [[unroll]] for (uint n = 0; n < 4; n++) {
        const uint i = uint((n & 1) != 0 ? to.x : from.x), j = uint((n & 2) != 0 ? to.y : from.y);
        const float w = ((n & 1) != 0 ? f.x : 1.0 - f.x) * ((n & 2) != 0 ? f.y : 1.0 - f.y);
        const uint column = (j * GW + i) * GD, b = (column + uint(from.z)) * 3, a = (column + uint(to.z)) * 3;
        [[unroll]] for (uint c = 0; c < 3; c++) {
            below += w * ct[c] * grid[b + c];
            above += w * ct[c] * grid[a + c];
        }
    }
    grad_guide[pixel] = dot(above - below, colour) * float(GD);
    const vec3 back = mix(below.xyz, above.xyz, f.z);
    grad_image[3 * pixel] = back.x;
    grad_image[3 * pixel + 1] = back.y;
    grad_image[3 * pixel + 2] = back.z;
}
