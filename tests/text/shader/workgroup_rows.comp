// A workgroup for each row: where it is, and which place in it an invocation has, are quotient and remainder of the
// domain's variable.  So the row-major shape is found, and of each element of x which one invocation it belongs to:
// its derivatives are added without atomics.
//
// RUN: vyre-grad explain %s | grep -E "^  (grad_x|x|y) +(f32)"
/* EXPECT
  grad_x  f32[rows, n]  read, added to, written: each element belongs to one invocation
  x  f32[rows, n]
  y  f32[rows, n]
*/
// RUN: vyre-grad grad %s | grep -c "atomic_add(grad_x" || true
// EXPECT: 0
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22 --set rows=2 --set n=11 --grad --ct y=1,-2,3,-4,5,-6,7,-8,9,-10,11,-12,13,-14,15,-16,17,-18,19,-20,21,-22 --quiet
/* EXPECT
y f32[2, 11] = [0.044455424, 0.08891085, 0.13336627, 0.1778217, 0.22227712, 0.26673254, 0.31118798, 0.3556434, 0.4000988, 0.44455424, 0.48900968, 0.20924221, 0.22667906, 0.24411592, 0.26155275, 0.2789896, …]
grad_x f32[2, 11] = [0.03865689, -0.100507915, 0.11597067, -0.20101583, 0.19328445, -0.30152375, 0.27059823, -0.40203166, 0.34791198, -0.5025396, 0.4252258, -0.18894781, 0.24866465, -0.22043912, 0.28692076, -0.25193042, …]
*/
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22 --in y[22]=zeros --set rows=2 --set n=11 --keep-domain --groups 2 --quiet
/* EXPECT
y f32[22] = [0.044455424, 0.08891085, 0.13336627, 0.1778217, 0.22227712, 0.26673254, 0.31118798, 0.3556434, 0.4000988, 0.44455424, 0.48900968, 0.20924221, 0.22667906, 0.24411592, 0.26155275, 0.2789896, …]
*/
// RUN: for d in ROWS EVERY NEXT COLUMNS; do vyre-grad check %s -D $d --in x=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22 --set rows=2 --set n=11 | grep -c ^ok; done
/* EXPECT
1
1
1
1
*/
// Not where lanes share elements: where each adds the whole row, a gather sums what they keep; where each adds its
// right neighbour's element, rows are no axis.
// RUN: for d in EVERY NEXT COLUMNS; do vyre-grad explain %s -D $d | grep -oE "^  grad_x .*(atomic adds|belongs|_x sums)"; done
/* EXPECT
  grad_x  f32[rows, n]  gathered: main_gather_x sums
  grad_x  f32[?]  atomic adds
  grad_x  f32[rows, n]  gathered: main_gather_x sums
*/
#version 450
layout(local_size_x = 8) in;
layout(push_constant) uniform P { int rows; int n; } p;
layout(binding = 0) writeonly buffer Y { float y[]; };
layout(binding = 1) readonly buffer X { float x[]; };
shared float part[8];

void main()
{
    const int row = int(gl_WorkGroupID.x), t = int(gl_LocalInvocationID.x);
    if (row >= p.rows) return;
    float s = 0.0;
#if defined(EVERY)
    for (int j = 0; j < p.n; j++) s += x[row * p.n + j] * x[row * p.n + j];
#elif defined(NEXT)
    for (int j = t; j < p.n - 1; j += 8) s += x[row * p.n + j] * x[row * p.n + j + 1];
#elif defined(COLUMNS)
    for (int j = t / 2; j < p.n; j += 8) s += x[row * p.n + j] * x[row * p.n + j];
#else
    for (int j = t; j < p.n; j += 8) s += x[row * p.n + j] * x[row * p.n + j];
#endif
    part[t] = s;
    barrier();
    for (int k = 4; k > 0; k >>= 1) {
        if (t < k) part[t] += part[t + k];
        barrier();
    }
    const float by = inversesqrt(part[0]);
    for (int j = t; j < p.n; j += 8) y[row * p.n + j] = by * x[row * p.n + j];
}
