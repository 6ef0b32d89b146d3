#version 450
// A walk through a tree of boxes with a stack: `do … while` with `continue`, parameters that are
// `out`, nodes and signs from a buffer of structs.
// RUN: vyre-grad check %s --set rays=6 --in nodes.lo[15,3]=uniform:-2:0:1 --in nodes.hi[15,3]=uniform:0:2:2 --in nodes.left[15]=1,3,5,7,9,11,13,-1,-2,-3,-4,-5,-6,-7,-8 --in nodes.n[15]=0,0,0,0,0,0,0,1,1,1,1,1,1,1,1 --in ro[6,4]=normal:0:0.4:3 --in rd[6,4]=normal:0:1:4 --in c[6]=zeros
// CONTAINS: ok:
layout(local_size_x = 32) in;
struct Node { vec3 lo; int left; vec3 hi; int n; };
layout(std430, binding = 0) readonly buffer N { Node nodes[]; };
layout(std430, binding = 1) readonly buffer RO { vec4 ro[]; };
layout(std430, binding = 2) readonly buffer RD { vec4 rd[]; };
layout(std430, binding = 3) writeonly buffer C { float c[]; };
layout(push_constant) uniform P { uint rays; };
bool hit(vec3 lo, vec3 hi, vec3 o, vec3 inv, float tmax, out float t0, out float t1) {
    vec3 a = (lo - o) * inv, b = (hi - o) * inv;
    vec3 mn = min(a, b), mx = max(a, b);
    t0 = max(max(mn.x, mn.y), max(mn.z, 0.0));
    t1 = min(min(mx.x, mx.y), min(mx.z, tmax));
    return t0 <= t1;
}
void main() {
    uint r = gl_GlobalInvocationID.x;
    if (r >= rays) return;
    int stack[16];
    int sp = 0;
    stack[sp++] = 0;
    vec3 o = ro[r].xyz, inv = 1.0 / rd[r].xyz;
    float acc = 0.0, best = 10.0;
    do {
        Node nd = nodes[stack[--sp]];
        float t0, t1;
        if (!hit(nd.lo, nd.hi, o, inv, best, t0, t1)) continue;
        if (nd.n > 0) {
            acc += (t1 - t0) * exp(-t0 * 0.3);
            best = min(best, t1 * 1.5 + 0.2);
        } else {
            stack[sp++] = nd.left;
            stack[sp++] = nd.left + 1;
        }
    } while (sp > 0 && acc < 6.0);
    c[r] = acc * best;
}
