#version 450
// Known conditions leave blocks out, and what follows may use what those compute: it is not reached, either.
// A loop that is never entered, with values that go around it; one that is left by its only branch; code behind a
// `return`; the same in a case of a switch; a module of optimised variables each.
//
// RUN: glslangValidator -V --quiet -DWAY={1,2,3,4,5} -o %t/c.spv %s && spirv-opt --eliminate-local-multi-store %t/c.spv -o %t/o.spv && vyre-grad run %t/o.spv --groups 1,1,1 --engine eval,vulkan --grad --in x=1,2,3,4 --in y[4]=zeros
// CONTAINS: y f32[4] = [1, 4, 9, 16]
// CONTAINS: grad_x f32[4] = [2, 4, 6, 8]
layout(local_size_x = 4) in;
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Y { float y[]; };

float computed(float v)
{
    float sum = v * v;
    if (WAY == 1) {
        for (int k = 0; k < 3 && WAY == 0;) {
            k++;
            sum += sin(v * float(k));
            if (sum > 100.0) break;
        }
    } else if (WAY == 2) {
        for (int k = 0; k < 3; k++) {
            sum += 0.0 * v;
            if (WAY == 2) break;
            sum *= cos(sum);
        }
    } else if (WAY == 3) {
        float more = 0.0;
        if (WAY == 0) { more = sin(v); } else { return sum; }
        sum += more * more;
    } else if (WAY == 4) {
        switch (int(v)) {
        case 100:
            float more = cos(v);
            if (WAY == 0) { more = sin(v); } else { return sum; }
            sum += more;
            break;
        default: break;
        }
    } else {
        for (int k = 0; k < 3; k++) {
            float more;
            if (WAY == 0) { more = sin(sum); } else { break; }
            if (more > 2.0) continue;
            sum += more;
        }
    }
    return sum;
}

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= x.length()) return;
    y[i] = computed(x[i]);
}
