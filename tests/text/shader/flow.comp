// What a loop stores in its test, values chosen by the way that leaves it, structs in structs; also as
// spirv-opt writes it, with OpPhi and comparisons of the other sense.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in p.a.u=1 --in p.a.v=2,3 --in p.b.u=4 --in p.b.v=5,6 --in p.w=7 --in y[7]=zeros --groups 1 --grad --wrt p.a.v,p.b.u,p.w --of y --quiet
// EXPECT: y f32[7] = [3, 11, 12, 35, 0, 5, 14]
// EXPECT: grad_p.a.v f32[1, 2] = [0, 1]
// EXPECT: grad_p.b.u f32[1] = [1]
// EXPECT: grad_p.w f32[1] = [7]
//
// RUN: glslangValidator -V --quiet -o %t/c.spv %s && spirv-opt -O %t/c.spv -o %t/o.spv && vyre-grad run %t/o.spv --engine eval --in p.a.u=1 --in p.a.v=2,3 --in p.b.u=4 --in p.b.v=5,6 --in p.w=7 --in y[7]=zeros --groups 1 --of y
// EXPECT: y f32[7] = [3, 11, 12, 35, 0, 5, 14]
#version 450
layout(local_size_x = 1) in;
struct Inner { float u; float v[2]; };
struct Outer { Inner a; Inner b; float w; };
layout(std430, binding = 0) readonly buffer P { Outer p[]; };
layout(std430, binding = 1) buffer Y { float y[]; };

void main()
{
    int tested = 0, k = 0;
    while (tested++ < 2) k += 1;
    y[0] = float(tested);
    y[1] = p[0].b.u + p[0].w;
    float left = 0.0;
    for (int i = 0; i < 10; i++) {
        if (p[0].a.v[1] * float(i) > 8.0) {
            left = p[0].a.v[1] * 1.0 + 9.0 * float(i) / 3.0;
            break;
        }
    }
    y[2] = left;
    y[3] = p[0].b.v[0] * p[0].w;
    y[4] = float(k - 2);
    float found = 5.0; // no iteration finds another one
    for (int i = 0; i < int(p[0].w); i++) {
        if (p[0].b.u * float(i) > 100.0) {
            found = float(i);
            break;
        }
    }
    y[5] = found;
    Outer whole = p[0];
    y[6] = whole.w + whole.b.v[1] + whole.a.u;
}
