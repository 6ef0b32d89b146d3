// In HLSL, wave operations, push constants, inout and out parameters, switch, interlocked additions.
// RUN: vyre-grad print %s
// CONTAINS: @offset(4) range: f32)
// CONTAINS: subgroup_add(
// CONTAINS: atomic_add(bins[
// 13.5 + 0.5 + 2 of the points, and -0.5, -0.25 and 0 of the other lanes.
// RUN: vyre-grad run %s --groups 1 --set n=3 --set range=0.5 --subgroup-size 32 --engine eval --in at[3,3]=1,2,3,0,1,0,2,0,0 --in total[1]=zeros --in bins[4]=zeros
// EXPECT: total f32[1] = [8.5]
// EXPECT: bins u32[4] = [30, 1, 1, 0]
// RUN: vyre-grad check %s --groups 2 --set n=60 --set range=0.7 --in at[60,3]=normal:0:1:1 --in total[16]=zeros --in bins[4]=zeros
// CONTAINS: ok:
// What the compiler says of a shader that is none.
// RUN: vyre-grad print %s -D "n=fall()"
// STATUS: 1
// ERROR: glslangValidator refuses
struct Push {
    uint n;
    float range;
};
StructuredBuffer<float3> at : register(t0);
RWStructuredBuffer<float> total : register(u1);
RWStructuredBuffer<uint> bins : register(u2);
[[vk::push_constant]] ConstantBuffer<Push> push;

void fall(inout float v, out float w, const float g) {
    v = v * g;
    w = v - g;
}

[numthreads(32, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
    float3 p = 0;
    if (id.x < push.n) p = at[id.x];
    float v = dot(p, p), w;
    fall(v, w, push.range);
    switch (id.x % 3) {
    case 0: v += w; break;
    case 1: v -= w * w; break;
    default: v = max(v, w); break;
    }
    float s = WaveActiveSum(v);
    if (WaveIsFirstLane()) total[id.x / WaveGetLaneCount()] = s;
    uint old;
    InterlockedAdd(bins[uint(abs(v)) & 3], 1, old);
}
