// Loops that count are `for`, whatever counts and tests them: in the other sign, down, in larger steps, with
// `continue` and `break`, also after spirv-opt; then their gradients need no run that counts.
//
// RUN: vyre-grad print %s | grep -E "for|while"
/* EXPECT
    for v1 in 0..n {
            for j in rev(0..m) {
    for k in lid.x..n step 4 {
    for q_2 in 0..min(m, 2147483646) + 1 {
    for v4 in 0..bitcast_u32(m) {
*/
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,2,3,4,5,6,7,8 --in y[5]=zeros --set n=8 --set m=3 --grad
// EXPECT: y f32[5] = [27, 36, 20, 6, 6]
// EXPECT: grad_x f32[8] = [7.5, 6.5, 7.5, 3, 10, 0, 0, 0]
//
// RUN: vyre-grad grad %s | grep -cE "while|pipeline" || true
// EXPECT: 0
// RUN: vyre-grad check %s --in x=1,2,3,4,5,6,7,8 --in y[5]=zeros --set n=8 --set m=3
// CONTAINS: ok:
//
// RUN: glslangValidator -V --quiet -o %t/c.spv %s && spirv-opt -O %t/c.spv -o %t/o.spv && vyre-grad run %t/o.spv --engine eval,vulkan --in x=1,2,3,4,5,6,7,8 --in y[5]=zeros --set n=8 --set m=3
// EXPECT: y f32[5] = [27, 36, 20, 6, 6]
#version 450
layout(local_size_x = 4) in;
layout(push_constant) uniform P { uint n; int m; } p;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) buffer Y { float y[]; };

void main()
{
    if (gl_GlobalInvocationID.x >= 1) return;
    float s = 0.0;
    for (int k = 0; uint(k) < p.n; ++k) {
        if (k == 2) continue;
        for (int j = p.m - 1; j >= 0; j--) s += x[j] * (k < 3 ? 1.0 : 0.5);
    }
    y[0] = s;
    float t = 0.0;
    for (uint k = gl_LocalInvocationID.x; k < p.n; k += 4) t += x[k] * x[k] + 5.0;
    y[1] = t;
    float u = 0.0;
    int q = 0;
    while (q <= p.m) { u += x[q] * float(q); if (u > 60.0) break; q++; }
    y[2] = u;
    float v = 0.0;
    for (int k = p.m; k != 0; --k) v += x[k - 1];
    y[3] = v;
    y[4] = float(q) + 2.0;
}
