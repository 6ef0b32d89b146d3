// A flat domain that is divided into coordinates by what the launch alone knows: gradients are gathered over these.
//
// The extent is their product: no condition, one kernel.
// RUN: vyre-grad explain %s
// CONTAINS: main, reverse mode: 1 kernel main_grad
// CONTAINS: gathered: main_grad sums what reaches each element
// RUN: vyre-grad check %s --set W=5 --set H=3 --in img[15]=normal:0:1:1 --in o[15]=zeros --engine {eval,vulkan}
// CONTAINS: ok:
//
// Numbers with a sign, three coordinates, an extent of its own: of launches with full rows, rows that end early, no full
// row, and sizes of 0 and less, the last three add atomically.
// RUN: vyre-grad explain %s -D SIGNED
// CONTAINS: if 1 <= W && 1 <= H && W * H <= n; else main_atomic adds atomically
// RUN: vyre-grad check %s -D SIGNED --set W=4 --set H=3 --set n={24,21,5} --in img[30]=normal:0:1:1 --in o[24]=zeros --engine {eval,vulkan}
// CONTAINS: ok:
// RUN: vyre-grad check %s -D SIGNED --set W={0,-3} --set H=3 --set n=3 --in img=2,3,4 --in o[3]=zeros --engine eval --allow out-of-range
// CONTAINS: ok:
// RUN: vyre-grad explain %s -D SIGNED --assume "1 <= W" --assume "H >= 1" --assume "W * H <= n"
// CONTAINS: main, reverse mode: 1 kernel main_grad
// CONTAINS: (--assume)
// RUN: vyre-grad run %s -D SIGNED --grad --engine {eval,vulkan} --assume "1 <= W" --assume "H >= 1" --assume "W * H <= n" --set W=4 --set H=3 --set n=5 --in img[12]=ones --in o[12]=zeros
// STATUS: 1
// ERROR: main_grad assumes W * H <= n, which does not hold
// Of an extent that is no product, unsigned numbers may be 0, too; then all quotients and remainders are.
// RUN: vyre-grad explain %s -D OPEN
// CONTAINS: if 1 <= W && W <= n; else main_atomic adds atomically
// RUN: vyre-grad run %s -D OPEN --grad --engine eval,vulkan --set W=2 --set n=3 --in img=2,3,4,5 --in o[3]=zeros
// CONTAINS: grad_img f32[4] = [8, 6, 2, 0]
// RUN: vyre-grad run %s -D OPEN --grad --engine eval --set W=0 --set n=3 --in img=2,3,4,5 --in o[3]=zeros
// CONTAINS: grad_img f32[4] = [12, 0, 0, 0]
//
// x = i - i / W * W; the rows are those of another axis.
// RUN: vyre-grad explain %s -D TURNED
// CONTAINS: 1 kernel main_grad
// CONTAINS: gathered: main_grad sums what reaches each element
// RUN: vyre-grad check %s -D TURNED --set W=5 --set H=3 --in img[15]=normal:0:1:1 --in o[15]=zeros --engine {eval,vulkan}
// CONTAINS: ok:
//
// What the rest of the program keeps for the gathers has the coordinates as axes; it is launched as the shader is.
// RUN: vyre-grad grad %s -D KEPT
// CONTAINS: workgroup(64) over(i: W * H)
// CONTAINS: kept1_v: inout f32[H, W]
// RUN: vyre-grad check %s -D KEPT --set W=5 --set H=3 --in img[15]=normal:0:1:1 --in bias[5]=normal:0:1:2 --in o[15]=zeros --engine {eval,vulkan}
// CONTAINS: ok:
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { float img[]; };
layout(binding = 1) writeonly buffer B { float o[]; };
#ifdef SIGNED
layout(push_constant) uniform P { int W, H, n; };

void main()
{
    int i = int(gl_GlobalInvocationID.x);
    if (i >= n) return;
    int x = i % (W * H) % W, y = (i / W) % H, c = i / (W * H);
    float v = img[(c * H + y) * W + x];
    if (x + 1 < W) v *= img[(c * H + y) * W + x + 1];
    if (y > 0) v += sin(img[(c * H + y - 1) * W + x]);
    o[i] = v;
}
#else
layout(push_constant) uniform P { uint W, H, n; };
#ifdef KEPT
layout(binding = 2) readonly buffer C { float bias[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= W * H) return;
    uint x = i % W, y = i / W;
    float v = 0;
    for (uint k = 0; k < W; k++) v += img[y * W + k] * bias[k];
    o[i] = sin(v) * bias[x];
}
#else
void main()
{
    uint i = gl_GlobalInvocationID.x;
#ifdef OPEN
    if (i >= n) return;
    o[i] = img[i / W * W + i % W] * img[i % W];
    return;
#endif
    if (i >= W * H) return;
#ifdef TURNED
    uint y = i / W, x = i - y * W;
    float v = img[x * H + y];
    o[i] = v * img[(W - 1 - x) * H + y];
#else
    uint y = i / W, x = i % W;
    float v = img[y * W + x];
    if (x + 1 < W) v *= img[y * W + x + 1];
    if (y + 1 < H) v += sin(img[(y + 1) * W + x]);
    o[i] = v;
#endif
}
#endif
#endif
