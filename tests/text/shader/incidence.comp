// reflect, refract beyond its critical angle and within it, faceforward, cross, distance and normalize.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in i[2,3]=3,-4,0,0.6,-0.8,0 --in n=0,1,0 --in y[2,3]=zeros --in z[2,2]=zeros --groups 1 --grad --of y,z --wrt i
// EXPECT: y f32[2, 3] = [-5, 1, 0, -1, 0.2, 0]
// EXPECT: z f32[2, 2] = [3, -1.7860571, 0.6, -1.7860571]
// EXPECT: grad_i f32[2, 3] = [1.09675, 1.07256, 1, 1.48375, 1.36281, 1]
// TOL: 1e-5
//
// RUN: vyre-grad check %s --in i[2,3]=3,-4,1,0.6,-0.8,0.25 --in n=0.2,0.9,-0.3 --in y[2,3]=zeros --in z[2,2]=zeros --groups 1
// CONTAINS: ok:
#version 450
layout(local_size_x = 2) in;
layout(std430, binding = 0) readonly buffer I { vec3 i[]; };
layout(std430, binding = 1) readonly buffer N { vec3 n; };
layout(std430, binding = 2) writeonly buffer Y { vec3 y[]; };
layout(std430, binding = 3) writeonly buffer Z { vec2 z[]; };

void main()
{
    const uint k = gl_GlobalInvocationID.x;
    const vec3 v = i[k];
    y[k] = reflect(v, n) + cross(v, vec3(0.0, 0.0, 2.0)) + faceforward(n, v, n) * v.x;
    const vec3 within = refract(normalize(v), n, 0.75), beyond = refract(normalize(v), n, 2.0);
    z[k] = vec2(distance(v, n * v.y), within.y * 2.0 + beyond.x);
}
