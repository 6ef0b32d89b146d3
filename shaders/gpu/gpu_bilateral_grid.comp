// SPDX-License-Identifier: MIT
// Slicing a bilateral grid, the gradient of the grid: gathered.  A workgroup has a column of cells and some of the rows
// of pixels that reach it; each invocation sums up all that its pixels give to CELLS cells, whether or not they reach
// them, in registers.  The sums of subgroups (of eight or more) meet in shared memory; gpu_bilateral_sum adds up the
// parts.  A pixel's place, clamped to the grid, has the weight max(0, 1 − distance) in a cell along each axis.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 256) in;
layout(push_constant) uniform Sizes { uint GH, GW, GD, H, W, parts; };
layout(std430, binding = 0) readonly buffer Guide { float guide[]; };
layout(std430, binding = 1) readonly buffer Image { float image[]; };
layout(std430, binding = 2) readonly buffer GradMapped { float grad_mapped[]; };
layout(std430, binding = 3) writeonly buffer Part { float part[]; };

const uint CELLS = 8, PER_CELL = 12;
shared vec4 totals[32][CELLS * 3];

float weight(float place, uint cells, uint cell)
{
    return max(0.0, 1.0 - abs(clamp(place, 0.0, float(cells - 1)) - float(cell)));
}

// The pixels that may reach a cell: all, at an end of the grid, to the image's end
uvec2 reach(uint cell, uint cells, uint pixels)
{
    const float each = float(pixels) / float(cells);
    const uint from = uint(max(0.0, (float(cell) - 0.5) * each - 1.5)), to = uint((float(cell) + 1.5) * each + 1.5);
    return uvec2(cell == 0 ? 0 : min(from, pixels), cell + 1 == cells ? pixels : min(to, pixels));
}

void main()
{
    const uint lane = gl_LocalInvocationIndex, cell_x = gl_WorkGroupID.x % GW, cell_y = gl_WorkGroupID.x / GW;
    const uint first = gl_WorkGroupID.y * CELLS;
    const uvec2 across = reach(cell_x, GW, W), down = reach(cell_y, GH, H);
    const uint each = (down.y - down.x + parts - 1) / parts;
    const uint top = down.x + gl_WorkGroupID.z * each, end = min(top + each, down.y);
    vec4 sum[CELLS][3];
    [[unroll]] for (uint k = 0; k < CELLS; k++)
        [[unroll]] for (uint c = 0; c < 3; c++) sum[k][c] = vec4(0.0);
    for (uint y = top + (lane >> 5); y < end; y += 8) {
        const float weight_y = weight((float(y) + 0.5) * (float(GH) / float(H)) - 0.5, GH, cell_y);
        for (uint x = across.x + (lane & 31); x < across.y; x += 32) {
            const uint pixel = y * W + x;
            const float flat_weight = weight_y * weight((float(x) + 0.5) * (float(GW) / float(W)) - 0.5, GW, cell_x);
            const float depth = guide[pixel] * float(GD) - 0.5;
            const vec4 colour = vec4(image[3 * pixel], image[3 * pixel + 1], image[3 * pixel + 2], 1.0) * flat_weight;
            const vec3 ct = vec3(grad_mapped[3 * pixel], grad_mapped[3 * pixel + 1], grad_mapped[3 * pixel + 2]);
            const vec4 all[3] = vec4[3](ct.x * colour, ct.y * colour, ct.z * colour);
            [[unroll]] for (uint k = 0; k < CELLS; k++) {
                const float w = weight(depth, GD, first + k);
                [[unroll]] for (uint c = 0; c < 3; c++) sum[k][c] += w * all[c];
            }
        }
    }
    [[unroll]] for (uint k = 0; k < CELLS; k++)
        [[unroll]] for (uint c = 0; c < 3; c++) {
            const vec4 total = subgroupAdd(sum[k][c]);
            if (subgroupElect()) totals[gl_SubgroupID][3 * k + c] = total;
        }
    barrier();
    if (lane >= min(CELLS, GD - first) * PER_CELL) return;
    float total = 0.0;
    for (uint n = 0; n < gl_NumSubgroups; n++) total += totals[n][lane >> 2][lane & 3];
    part[(((gl_WorkGroupID.z * GH + cell_y) * GW + cell_x) * GD + first) * PER_CELL + lane] = total;
}
