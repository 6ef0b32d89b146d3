// An array of open length behind a header, of structs that hold arrays of structs: all indices chosen at run time, and
// its length.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in c.p.w[2,3,2]=1,2,3,4,5,6,7,8,9,10,11,12 --in c.p.id[2,3]=0,1,2,2,1,0 --in c.bias[2]=0.5,-1 --in offsets[3]=1,2,3 --in scale=2 --in y[2]=zeros --grad --of y
// EXPECT: y f32[2] = [90, 892]
// EXPECT: grad_scale f32[1] = [491]
// EXPECT: grad_offsets f32[3] = [252, 204, 108]
// EXPECT: grad_c.p.w f32[2, 3, 2] = [40, 0, 16, 12, 8, 0, 84, 0, 40, 36, 44, 0]
// EXPECT: grad_c.bias f32[2] = [4, 4]
//
// RUN: vyre-grad info %s | grep strides
// EXPECT:   set 0 binding 0   in    scale: f32[1]  storage from byte 0, strides 4
// EXPECT:   set 0 binding 0   in    offsets: f32[3]  storage from byte 4, strides 4
// EXPECT:   set 0 binding 0   in    c.p.w: f32[len_c.p.w, 3, 2]  storage from byte 32, strides 56, 16, 4
// EXPECT:   set 0 binding 0   in    c.p.id: u32[len(c.p.id), 3]  storage from byte 40, strides 56, 16
// EXPECT:   set 0 binding 0   in    c.bias: f32[len(c.bias)]  storage from byte 80, strides 56
//
// RUN: vyre-grad check %s --in c.p.w[2,3,2]=iota --in c.p.id[2,3]=0,1,2,2,1,0 --in c.bias[2]=0.5,-1 --in offsets[3]=1,2,3 --in scale=2 --in y[2]=zeros
// CONTAINS: ok:
#version 450
layout(local_size_x = 2) in;
struct Point { vec2 w; uint id; };
struct Cell { Point p[3]; float bias; };
layout(std430, binding = 0) readonly buffer C { float scale; float offsets[3]; layout(align = 32) Cell c[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    if (i >= c.length()) return;
    float s = c[i].bias * float(c.length());
    for (uint k = 0u; k < 3u; ++k) {
        const Point p = c[i].p[c[1u - i].p[k].id];
        s += p.w[k & 1u] * offsets[p.id] * c[i].p[k].w.x;
    }
    y[i] = scale * s;
}
