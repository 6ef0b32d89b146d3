// A gradient in several steps: all that the shader does not have is in one set, the same for each step, the one after
// all of the shader's: set 2 also where a step has nothing of set 1, or nothing of the shader at all.
//
// RUN: vyre-grad grad %s -o steps.json && cat steps.json
// CONTAINS: "name": "main_count"
// CONTAINS: {"name": "x", "set": 0, "binding": 0,
// CONTAINS: {"name": "count", "set": 2, "binding": 0,
// CONTAINS: "name": "main_offsets"
// CONTAINS: {"name": "count", "set": 2, "binding": 0,
// CONTAINS: {"name": "base", "set": 2, "binding": 1,
// CONTAINS: {"name": "total", "set": 2, "binding": 2,
// CONTAINS: "in": {"set": 2, "binding": 3}
// CONTAINS: "name": "main_reverse"
// CONTAINS: {"name": "grad_x", "set": 2,
// NOT: {"name": "count", "set": 1
// NOT: {"name": "count", "set": 0
// NOT: push_constants
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer X { float x[]; };
layout(set = 1, binding = 0) buffer Y { float y[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= x.length()) return;
    float s = x[i];
    while (s > 1.0) s = s * s * 0.4;
    y[i] = s;
}
