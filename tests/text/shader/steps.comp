// Loops that count in steps of a scalar: it is assumed to be positive, which the launch checks, and they are counted.
// Of an unsigned one, for a counter with a sign, that it is a number of that type as well. Down too. Not of a scalar that
// is compared: it may be 0 on purpose.
//
// RUN: vyre-grad print %s
// CONTAINS: assume(1 <= step, 1 <= wide, wide <= 2147483647)
// CONTAINS: for k in first..n step step {
// CONTAINS: step wide {
// CONTAINS: k += other;
// RUN: vyre-grad print %s | grep -c while
// EXPECT: 1
//
// RUN: vyre-grad run %s --engine {eval,vulkan} --in x=1,2,3,4,5,6,7,8 --in y[1]=zeros --set n=8 --set step=3 --set wide=2 --set other=5 --set first=1 --groups 1 --grad --of y
// EXPECT: y f32[1] = [275]
// EXPECT: grad_x f32[8] = [6, 6, 6, 2, 17, 6, 14, 12]
//
// As a number with a sign that step would be negative.
// RUN: vyre-grad run %s --in x=1,2,3,4,5,6,7,8 --in y[1]=zeros --set n=8 --set step=3 --set wide=2147483648 --set other=5 --set first=1 --groups 1
// STATUS: 1
// ERROR: main assumes wide <= 2147483647, which does not hold
//
// With no step the loop would not end.
// RUN: vyre-grad run %s --in x=1,2,3,4,5,6,7,8 --in y[1]=zeros --set n=8 --set step=0 --set wide=2 --set other=5 --set first=1 --groups 1
// STATUS: 1
// ERROR: main assumes 1 <= step, which does not hold
//
// RUN: vyre-grad check %s --in x=1,2,3,4,5,6,7,8 --in y[1]=zeros --set n=8 --set step=3 --set wide=2 --set other=5 --set first=1 --groups 1
// CONTAINS: ok:
#version 450
layout(local_size_x = 1) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
layout(push_constant) uniform P { int n; int step; uint wide; int other; int first; };

void main()
{
    float s = 0.0;
    for (int k = first; k < n; k += step) s += x[k] * float(k);
    for (uint k = 0u; k < uint(n); k += wide) s += x[k] * x[k];
    if (other > 0) {
        for (int k = 0; k < n; k += other) s += x[k] * 4.0;
    }
    for (int k = 1; k < n; k += int(wide)) s += x[k];
    for (int k = n - 1; k >= 0; k -= step) s += x[k] * 3.0;
    for (int k = n; k > first; k -= int(wide)) s += x[k - 1];
    y[gl_GlobalInvocationID.x] = s;
}
