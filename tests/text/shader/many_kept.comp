// A gather of w needs the sums of each invocation, of which each is kept in a buffer of its own.  Where they are more
// than some devices bind, additions stay atomic, unless gathers are asked for.
//
// RUN: vyre-grad explain %s | grep -oE "needs more values kept than a device binds buffers" | sort -u
// EXPECT: needs more values kept than a device binds buffers
// RUN: for d in ALL FEW; do vyre-grad grad %s -D $d --wrt w | grep -c "kept[_0-9a-z]*: in "; true; done
/* EXPECT
0
16
*/
// RUN: vyre-grad run %s --engine eval,vulkan --set rows=2 --in x[1024]=cycle:5 --in w[1024,4]=cycle:3 --in y[32,4]=zeros --grad --wrt w --quiet | cut -c1-60
/* EXPECT
y f32[32, 4] = [127295, 130630, 133228, 127295, 130630, 1332
grad_w f32[1024, 4] = [8034, 8172, 8436, 8034, 7560, 7770, 7
*/
// RUN: vyre-grad run %s -D FEW --engine eval,vulkan --set rows=2 --in x[1024]=cycle:5 --in w[1024,4]=cycle:3 --in y[32,4]=zeros --grad --wrt w --quiet | cut -c1-60
/* EXPECT
y f32[32, 4] = [32009, 33541, 32017, 32009, 33541, 32017, 32
grad_w f32[1024, 4] = [1534, 1512, 1568, 1534, 2032, 2066, 2
*/
#version 450
layout(local_size_x = 4) in;
layout(push_constant) uniform P { uint rows; } p;
layout(binding = 0) writeonly buffer Y { vec4 y[]; };
layout(binding = 1) readonly buffer X { float x[]; };
layout(binding = 2) readonly buffer W { vec4 w[]; };
#ifdef FEW
#define EACH(F) F(0) F(1)
#else
#define EACH(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)
#endif
#define BEGIN(k) vec4 s##k = vec4(0);
#define ADD(k) s##k += x[i * 512 + j * 8 + k] * v;
#define SQUARE(k) all += s##k * s##k;

void main()
{
    const uint i = gl_GlobalInvocationID.x, z = gl_GlobalInvocationID.y;
    if (i >= p.rows || z >= 16) return;
    EACH(BEGIN)
    for (int j = 0; j < 64; j++) {
        const vec4 v = w[z * 64 + j];
        EACH(ADD)
    }
    vec4 all = vec4(0);
    EACH(SQUARE)
    y[i * 16 + z] = all;
}
