#version 450
#extension GL_EXT_scalar_block_layout : require
layout(local_size_x = 2, local_size_y = 1) in;
layout(push_constant) uniform Push { uint n; uint w; uint h; int push2; int hop; float push3; vec4 push1; uint leap; };
layout(std140, set = 0, binding = 1) uniform U1 { vec2 c5; } ;
layout(scalar, row_major, set = 1, binding = 2) readonly buffer B2 { vec3 h8; mat4x2 h9; float b6[]; } ;
layout(std430, row_major, set = 0, binding = 3) readonly buffer B3 { uint b10[]; } ;
layout(std430, set = 0, binding = 4) writeonly buffer B4 { float b12[]; } ;

void main()
{
    int signed_i = int(gl_GlobalInvocationID.x);
    if (signed_i >= int(n)) { return; }
    uint i = uint(signed_i);
    for (int k14 = 0; k14 < 3; k14 += 2) {
        mat3x2 v15 = matrixCompMult(mat3x2(push1.zx, h9[k14], vec2(0.25, 0.125)), ((mat3x2(1.5, 0.25, -1.25, 0.25, 0.25, 0.125)) * (h9[clamp(k14, 0, 3)][0])));
        float v16 = h8.g;
        v15[k14].g = (((k14 & push2) != (k14 ^ push2)) ? b6[(i > 0u ? i - 1u : 0u)] : b6[i]);
        v15[k14] = (fract(unpackUnorm4x8(packUnorm4x8(vec4(0.5))).yx * 0.37) + max(normalize(vec2(1.5, -0.75) + vec2(2.5)), h9[clamp((k14 ^ k14), 0, 3)]));
    }
    if (any(notEqual(uvec2(3u), uvec2(3u)))) {
        int v17 = int((n ^ 3u));
        v17 = int(all((false ? bvec3(false) : bvec3(true, true, false))));
    } else {
        float v18 = uintBitsToFloat(floatBitsToUint(b6[(i > 0u ? i - 1u : 0u)]));
        for (int k19 = 0; k19 < 1; k19 += hop) {
            v18 = b6[min(i + 1u, n - 1u)];
            int v20;
            float v21 = frexp((sign(b6[i])) * 0.77, v20);
            v18 = b6[i];
            v18 += (h9[1][0]) * 0.25;
        }
    }
    if ((step(0.3, h8.z) > b6[6])) {
        if (((i - w) == (true ? h : w))) return;
        int k22 = 0;
        for (; k22 < 2 && (n < w);) {
            k22++;
            if (((false ^^ false) ? (7 <= push2) : (push2 > push2))) break;
            if (!((true && false))) return;
            float v23 = push1[1];
            v23 *= (b6[(i + 3u) % n]) * 0.25;
        }
        float v24[4] = float[](clamp(h8.y, -1.5, 1.5), uintBitsToFloat(floatBitsToUint(h9[2].g)), h8.b, b6[i]);
    } else if ((true ? true : false)) {
        int k25 = 0;
        do {
            k25++;
            int v26 = push2;
            v26 *= (k25);
            v26 = ((v26 ^ (k25 * v26)) | int(bitCount(bitfieldInsert(push2, push2, 4, 9))));
            if (((push2 <= 5) && (3u == 5u))) break;
        } while (k25 < 3 && any(bvec2(true)));
    } else if (any(bvec4(false, true, false, false))) {
        mat3x2 v27 = ((transpose(mat2x3(-0.75, 2.0, 0.5, 0.5, 0.3, 2.0))) * (length(push1)));
    }
    int k28 = 0;
    for (; k28 < 4 && (push2 <= 2);) {
        k28++;
        int k29 = 0;
        do {
            k29++;
            float v30 = h8.r;
        } while (k29 < 3 && !(false));
        int k31 = 0;
        do {
            k31++;
            float v32 = radians((push1[clamp((k28 + k31), 0, 3)] - c5[k31]) * 20.0);
            uint v33 = uint(bitCount((false ? 2u : h)));
            v32 = b6[(uint(clamp(0.25 * 7.3, 0.0, 50.0))) % uint(b6.length())];
        } while (k31 < 1);
        vec2 v34[3] = vec2[]((c5 - h9[2]), c5, normalize(h8.xy + vec2(2.5)));
    }
    uint v35 = uint(findLSB((i >> 1u)));
    v35 = uint((bitfieldInsert(push2, push2, 4, 9) ^ (8 & 5)));
    b12[i] = unpackHalf2x16(packHalf2x16(vec2(b6[(i + 9u) % n], 0.5))).x;
    for (int k36 = 0; k36 < 1; k36 += 2) {
        if ((push2 < push2)) continue;
        for (int k37 = 0; k37 < 1; k37 += 2) {
            v35 = b10[i];
        }
        for (int k38 = 0; k38 < 3; k38++) {
            v35 = (uint((false || true)) | b10[k38]);
            vec3 v39;
            vec3 v40 = modf((h8) * 0.77, v39);
        }
        for (int k41 = 0; k41 < 3; k41++) {
            float v42[4] = float[](h9[1][k36], b6[(i > 0u ? i - 1u : 0u)], push3, h9[k41][k36]);
            if (((false ^^ false) || all(bvec4(true)))) return;
        }
    }
    b12[i] = b6[i];
}
