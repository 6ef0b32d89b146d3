// Loops that are tested where an iteration begins, behind code that does nothing if the test fails: as if they were
// tested ahead of it.  Where that code does something, or has a loop, the last iteration is one of its own.
//
// RUN: for d in SPEC BREAK DOWN STORES TWO SUM STORE LEAVES LOCAL NESTED; do vyre-grad print %s -D $d | grep -E " (for|while) "; done
/* EXPECT
    for i_2 in 0..n {
    for i_2 in 0..n {
    for v1 in 0..bitcast_u32(max(n, 0)) {
    for i_2 in 0..n {
    while true {
    for v2 in 0..min(select(n > 0, v1, 0), 4294967294) + 1 {
    for v2 in 0..min(select(n > 0, v1, 0), 4294967294) + 1 {
    for v2 in 0..min(select(n > 0, v1, 0), 4294967294) + 1 {
    for v2 in 0..min(select(n > 0, v1, 0), 4294967294) + 1 {
    for v2 in 0..min(select(n > 0, v1, 0), 4294967294) + 1 {
        for k in 0i32..2 {
*/
// RUN: for d in SPEC BREAK DOWN STORES TWO SUM STORE LEAVES LOCAL NESTED; do vyre-grad run %s -D $d --engine eval,vulkan --in x=1,2,3,4,5 --in y=10,0,0,0,0,0 --set n=3 --set rows=1 --grad --wrt x --quiet; done
/* EXPECT
y f32[6] = [24, 0, 0, 0, 0, 0]
grad_x f32[5] = [2, 4, 6, 0, 0]
y f32[6] = [24, 0, 0, 0, 0, 0]
grad_x f32[5] = [2, 4, 6, 0, 0]
y f32[6] = [39, 0, 0, 0, 0, 0]
grad_x f32[5] = [0, 4, 6, 8, 0]
y f32[6] = [10, 1, 4, 9, 0, 0]
grad_x f32[5] = [2, 4, 6, 0, 0]
y f32[6] = [15, 0, 0, 0, 0, 0]
grad_x f32[5] = [2, 4, 0, 0, 0]
y f32[6] = [40, 0, 0, 0, 0, 0]
grad_x f32[5] = [2, 4, 6, 8, 0]
y f32[6] = [10, 1, 4, 9, 16, 0]
grad_x f32[5] = [2, 4, 6, 8, 0]
y f32[6] = [24, 0, 0, 0, 0, 25]
grad_x f32[5] = [2, 4, 6, 0, 10]
y f32[6] = [18, 0, 0, 0, 0, 0]
grad_x f32[5] = [3, 2, 1, 0, 0]
y f32[6] = [24, 0, 0, 0, 0, 0]
grad_x f32[5] = [2, 4, 6, 0, 0]
*/
// RUN: for n in 0 -2; do for d in SPEC DOWN STORES SUM; do vyre-grad run %s -D $d --in x=1,2,3,4,5 --in y=10,0,0,0,0,0 --set n=$n --set rows=1 --grad --wrt x --quiet; done; done
/* EXPECT
y f32[6] = [10, 0, 0, 0, 0, 0]
grad_x f32[5] = [0, 0, 0, 0, 0]
y f32[6] = [10, 0, 0, 0, 0, 0]
grad_x f32[5] = [0, 0, 0, 0, 0]
y f32[6] = [10, 0, 0, 0, 0, 0]
grad_x f32[5] = [0, 0, 0, 0, 0]
y f32[6] = [11, 0, 0, 0, 0, 0]
grad_x f32[5] = [2, 0, 0, 0, 0]
y f32[6] = [10, 0, 0, 0, 0, 0]
grad_x f32[5] = [0, 0, 0, 0, 0]
y f32[6] = [10, 0, 0, 0, 0, 0]
grad_x f32[5] = [0, 0, 0, 0, 0]
y f32[6] = [10, 0, 0, 0, 0, 0]
grad_x f32[5] = [0, 0, 0, 0, 0]
y f32[6] = [11, 0, 0, 0, 0, 0]
grad_x f32[5] = [2, 0, 0, 0, 0]
*/
// RUN: for d in SPEC DOWN STORES LEAVES; do vyre-grad check %s -D $d --in x=1,2,3,4,5 --in y=10,0,0,0,0,0 --set n=3 --set rows=1 | grep -c ^ok; done
/* EXPECT
1
1
1
1
*/
#version 450
layout(constant_id = 0) const int spec_n = 0;
layout(local_size_x = 8) in;
layout(push_constant) uniform P { int n; int rows; } p;
layout(binding = 0) buffer Y { float y[]; };
layout(binding = 1) readonly buffer X { float x[]; };

void main()
{
    const int row = int(gl_GlobalInvocationID.x) * 6;
    if (int(gl_GlobalInvocationID.x) >= p.rows) return;
    float s = 0.0;
    int i = 0;
#if defined(SPEC)
    for (; i < (spec_n == 0 ? p.n : spec_n); i++) s += x[i] * x[i];
#elif defined(BREAK)
    for (;;) {
        const float v = x[i];
        if (i >= p.n) break;
        s += v * v;
        i++;
    }
#elif defined(DOWN)
    for (int k = p.n;;) {
        if (k <= 0) break;
        s += x[k] * x[k];
        k--;
    }
#elif defined(STORES)
    for (;;) {
        if (i >= p.n) break;
        y[row + i + 1] += x[i] * x[i];
        i++;
    }
#elif defined(LEAVES)
    for (;;) {
        if (i >= p.n) {
            y[row + 5] += x[4] * x[4];
            break;
        }
        s += x[i] * x[i];
        i++;
    }
#elif defined(TWO)
    for (;;) {
        if (i >= p.n) break;
        if (x[i] > 2.5) break;
        s += x[i] * x[i];
        i++;
    }
#elif defined(SUM)
    for (;;) {
        s += x[i] * x[i];
        if (i >= p.n) break;
        i++;
    }
#elif defined(STORE)
    for (;;) {
        y[row + i + 1] += x[i] * x[i];
        if (i >= p.n) break;
        i++;
    }
#elif defined(LOCAL)
    float t[2] = float[](1.0, 1.0);
    for (;;) {
        t[i & 1] *= x[i];
        if (i >= p.n) break;
        s += t[1];
        i++;
    }
    s += t[0];
#else
    for (;;) {
        float v = 1.0;
        for (int k = 0; k < 2; k++) v *= x[i];
        if (i >= p.n) break;
        s += v;
        i++;
    }
#endif
    y[row] += s;
}
