// In HLSL, structured and byte-address buffers, a constant buffer with a matrix, groupshared memory, barriers.
// RUN: vyre-grad print %s
// CONTAINS: @binding(0) @layout(0, 32, 4) `p.at`: in vec3[?],
// CONTAINS: @binding(0) @layout(0 + 12, 32) `p.mass`: in f32[?],
// CONTAINS: @binding(1) energy: out f32[?],
// CONTAINS: @binding(2) raw: out u32[?],
// CONTAINS: @uniform @binding(3) @offset(80) gravity: f32)
// CONTAINS: barrier();
// Row 1 of the matrix times (x, y, z, 1): heights 18, 36 and 54, so 36.625 + 145.5 + 324 = 506.125, and its bits.
// RUN: vyre-grad run %s --engine eval,vulkan --groups 1 --set count=3 --set gravity=2 --set m.0=0 --set m.1=0 --set m.2=0 --set m.3=0 --set m.8=0 --set m.9=0 --set m.10=0 --set m.11=0 --set m.12=0 --set m.13=0 --set m.14=0 --set m.15=0 --set m.4=1 --set m.5=2 --set m.6=3 --set m.7=4 --in p.at[3,3]=1,2,3,4,5,6,7,8,9 --in p.mass=1,2,3 --in p.uv[3,2]=0.5,1.25,2,0.5,-1,3 --in energy[3]=zeros --in raw[1]=zeros
// EXPECT: energy f32[3] = [18536.828, 73641.19, 163984.5]
// EXPECT: raw u32[1] = [1140658176]
// RUN: vyre-grad check %s --of energy --groups 2 --set count=70 --set gravity=2 --set m.4=1 --set m.5=2 --set m.6=3 --set m.7=4 --in p.at[70,3]=normal:0:1:1 --in p.mass[70]=uniform:1:2:2 --in p.uv[70,2]=uniform:0.1:0.9:3 --in energy[70]=zeros --in raw[2]=zeros
// CONTAINS: ok:
struct Particle {
    float3 at;
    float mass;
    float2 uv;
};
[[vk::binding(0)]] StructuredBuffer<Particle> p;
[[vk::binding(1)]] RWStructuredBuffer<float> energy;
[[vk::binding(2)]] RWByteAddressBuffer raw;
[[vk::binding(3)]] cbuffer Sizes {
    uint count;
    float4x4 m;
    float gravity;
};
groupshared float part[64];

float height(float3 a) { return mul(m, float4(a, 1.0)).y; }

[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID, uint3 lid : SV_GroupThreadID, uint3 group : SV_GroupID) {
    float e = 0;
    if (id.x < count)
        e = p[id.x].mass * gravity * height(p[id.x].at) + saturate(p[id.x].uv.x) * lerp(1.0, 2.0, frac(p[id.x].uv.y));
    part[lid.x] = e;
    GroupMemoryBarrierWithGroupSync();
    for (uint s = 32; s > 0; s >>= 1) {
        if (lid.x < s) part[lid.x] += part[lid.x + s];
        GroupMemoryBarrierWithGroupSync();
    }
    if (id.x < count) energy[id.x] = e * part[0];
    if (lid.x == 0) raw.Store(4 * group.x, asuint(part[0]));
}
