// Ways out: main returns from a loop in a loop and from a switch; what is stored before stays, the rest is not.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in x=1,-2,3,0,5,2 --in y[6,2]=zeros --groups 1 --grad --of y --wrt x
// EXPECT: y f32[6, 2] = [6.5, 2.8125, 6, 2.25, -27, 0, 4.5, 0, 7, 85, 9, 0]
// EXPECT: grad_x f32[6] = [4.4375, 7.1875, -3.75, 2.75, 16, 2.25]
//
// RUN: vyre-grad check %s --in x=1,-2,3,0.25,5,2 --in y[6,2]=zeros --groups 1
// CONTAINS: ok:
#version 450
layout(local_size_x = 6) in;
layout(std430, binding = 0) readonly buffer X { float x[6]; };
layout(std430, binding = 1) buffer Y { vec2 y[]; };

bool store(uint i, float v)
{
    if (v > 12.0) return true;
    y[i].x = v;
    return v < -3.0;
}

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    float s = x[i];
    for (uint k = 0u; k < 4u; ++k) {
        if (store(i, s * float(k + 1u))) return;
        for (uint j = 0u; j < k; ++j) {
            s += x[(i + j) % 6u];
            if (s == 0.0) {
                y[i].y = -1.0;
                return;
            }
            if (s > 6.0) break;
        }
        switch (k * 8u + i) {
        case 12u: y[i].y = 10.0 * s; return;
        case 18u: s = -s; // falls
        case 19u: continue;
        case 21u: break;
        default: s *= 0.5;
        }
        s += 1.0;
    }
    y[i].y = s;
}
