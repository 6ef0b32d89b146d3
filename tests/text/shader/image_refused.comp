// Images that are not read: which, where, and what to do.
//
// RUN: vyre-grad print %s -D LEVEL
// STATUS: 1
// ERROR: %s:46: error: a level of detail that is not the constant 0 cannot be read (OpImageFetch) [E0121]
// ERROR: fix: use level 0
//
// RUN: vyre-grad print %s -D CUBE
// STATUS: 1
// ERROR: %s:49: error: a cube image or subpass input cannot be read (OpImageQuerySizeLod) [E0121]
//
// RUN: vyre-grad print %s -D SAMPLES
// STATUS: 1
// ERROR: %s:52: error: an image of several samples cannot be read (OpImageFetch) [E0121]
//
// RUN: vyre-grad print %s -D CHOICE
// STATUS: 1
// ERROR: %s:55: error: an atomic on an image that is chosen when the shader runs cannot be read (OpImageTexelPointer) [E0121]
// ERROR: fix: choose it by a constant, or by conditions with an atomic in each
//
// RUN: vyre-grad print %s -D LEVELS
// STATUS: 1
// ERROR: %s:63: error: a query of levels or samples cannot be read (OpImageQueryLevels) [E0121]
//
// RUN: vyre-grad print %s -D SAMPLED
// STATUS: 1
// ERROR: %s:58: error: a level of detail that is not the constant 0 cannot be read (OpImageSampleExplicitLod) [E0121]
//
// RUN: vyre-grad print %s -D COMPARED
// STATUS: 1
// ERROR: %s:60: error: a sample that is compared cannot be read (OpImageSampleDrefExplicitLod) [E0121]
// ERROR: fix: compare in the shader
#version 450
layout(local_size_x = 1) in;
layout(binding = 0) uniform sampler2D picture;
layout(binding = 1) uniform samplerCube sky;
layout(binding = 2) uniform sampler2DMS samples;
layout(binding = 3, r32ui) uniform uimage2D several[4];
layout(binding = 4) buffer Y { vec4 y; };
layout(binding = 5) uniform sampler2DShadow shadow;
layout(push_constant) uniform P { int n; };

void main()
{
#if defined(LEVEL)
    y += texelFetch(picture, ivec2(0), n);
#elif defined(CUBE)
    // A cube.
    y.xy += vec2(textureSize(sky, 0));
#elif defined(SAMPLES)

    y += texelFetch(samples, ivec2(0), 1);
#elif defined(CHOICE)

    y.x += float(imageAtomicAdd(several[n], ivec2(0), 1u));
#elif defined(SAMPLED)

    y += textureLod(picture, vec2(0.5), float(n));
#elif defined(COMPARED)
    y.x += textureLod(shadow, vec3(0.5), 0.0);
#else

    y.x += float(textureQueryLevels(picture));
#endif
}
