// Vectors of conditions: lessThan and the others, any, all, not, mix by them; isnan, isinf; comparison
// of whole vectors.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x[4,3]=1,2,3,-1,5,0,inf,nan,1,2,2,2 --in y[4]=zeros --groups 1
// EXPECT: y f32[4] = [31, 46, 3015, 135]
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x[4,3]=1,2,3,-1,5,0,3,1,-2,2,2,2 --in y[4]=zeros --groups 1 --grad --of y
// EXPECT: y f32[4] = [31, 46, 18, 135]
// EXPECT: grad_x f32[4, 3] = [2, 1, 7, 0, 10, 1, 0, 0, 1, 6, 6, 5]
//
// RUN: vyre-grad check %s --in x[4,3]=1,2.5,3,-1,5,0.25,3,1,-2,2.25,2.5,3 --in y[4]=zeros --groups 1
// CONTAINS: ok:
#version 450
layout(local_size_x = 4) in;
layout(std430, binding = 0) readonly buffer X { vec3 x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    const vec3 v = x[i];
    const bvec3 positive = greaterThan(v, vec3(0.0)), small = lessThanEqual(v, vec3(2.0, 2.0, 1.0));
    bvec3 odd = bvec3(ivec3(i, i + 1u, 3) & 1);
    odd.y = !odd.y;
    float s = 0.0;
    if (any(isnan(v))) s += 1000.0;
    if (any(isinf(v))) s += 2000.0;
    if (all(positive)) s += v.x * v.y;
    if (any(not(small))) s += v.z;
    if (v == vec3(2.0)) s += 100.0;
    if (positive != small) s += 10.0;
    const vec3 m = mix(vec3(1.0, 2.0, 3.0), v * v, equal(positive, odd));
    y[i] = s + dot(vec3(odd), vec3(1.0, 2.0, 4.0)) + (s < 999.0 ? m.x + m.y + m.z : 0.0);
}
