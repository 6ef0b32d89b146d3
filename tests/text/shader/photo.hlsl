// In HLSL, textures, a sampler of its own, read and written images, a constant table.
// RUN: vyre-grad print %s
// CONTAINS: photo: in vec4[height_photo, width_photo],
// CONTAINS: over(j: `size.1`, i: `size.0`)
// A sampler clamps and is linear unless the caller says otherwise: texels 0, 0 and 1 by weights 1/4, 1/2 and 1/4, twice.
// RUN: vyre-grad run %s --engine eval,vulkan --set size.0=1 --set size.1=1 --set scale.0=0.5 --set scale.1=1 --in photo[1,2,4]=1,2,3,4,5,6,7,8 --in weight[1,1,1]=2 --in result[1,1,4]=zeros
// EXPECT: result f32[1, 1, 4] = [4, 6, 8, 10]
// RUN: vyre-grad check %s --set size.0=5 --set size.1=4 --set scale.0=0.3 --set scale.1=0.3 --in photo[6,7,4]=normal:0:1:1 --in weight[6,5,1]=normal:0:1:2 --in result[6,5,4]=zeros
// CONTAINS: ok:
Texture2D<float4> photo : register(t0);
SamplerState smooth : register(s1);
RWTexture2D<float4> result : register(u2);
RWTexture2D<float> weight : register(u3);
cbuffer View : register(b4) {
    float2 scale;
    uint2 size;
};
static const float taps[3] = {0.25, 0.5, 0.25};

[numthreads(8, 8, 1)]
void main(uint3 id : SV_DispatchThreadID) {
    if (any(id.xy >= size)) return;
    float4 sum = 0;
    [unroll] for (int k = -1; k <= 1; k++) {
        float2 uv = (float2(id.xy) + float2(0.5 + k, 0.5)) * scale;
        sum += taps[k + 1] * photo.SampleLevel(smooth, uv, 0);
    }
    result[id.xy] = sum * weight[id.xy];
}
