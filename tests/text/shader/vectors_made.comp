// Vectors of a shader that no buffer holds, among them a parameter.
// RUN: vyre-grad print %s | sed -n '/^{/,$p'
/* EXPECT
{
    let dir = vec3(`dir.0`, `dir.1`, `dir.2`);
    let v1 = i * 3;
    var v = vec3(x[v1], x[v1 + 1], x[v1 + 2]);
    for k in 0i32..4 {
        let param = sin(v * dir);
        let v2 = max(param.x * dir.x + param.y * dir.y + param.z * dir.z, 0.0) * dir;
        v = v2 + param * 0.1;
    }
    if v.x > 0.5 {
        let v_2 = vec3(v.y * dir.z - v.z * dir.y, v.z * dir.x - v.x * dir.z, v.x * dir.y - v.y * dir.x);
        v = v_2;
    }
    y[i] = v.x * v.x + v.y * v.y + v.z * v.z;
}
*/
// RUN: vyre-grad print %s >a.vyre && vyre-grad print a.vyre | cmp - a.vyre
// EMPTY:
// RUN: vyre-grad check %s --set n=3 --in x[9]=normal:0:1:1
// CONTAINS: ok: 
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer X { float x[]; };
layout(binding = 1) buffer Y { float y[]; };
layout(push_constant) uniform P { vec3 dir; uint n; };
vec3 shade(vec3 n, vec3 l) { return l * max(dot(n, l), 0.0) + n * 0.1; }
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    vec3 v = vec3(x[3 * i], x[3 * i + 1], x[3 * i + 2]);
    for (int k = 0; k < 4; k++) v = shade(sin(v * dir), dir);
    if (v.x > 0.5) v = cross(v, dir);
    y[i] = dot(v, v);
}
