// The places of parameters: sets and bindings, fields of an array of structs behind a header, a matrix by rows, a
// uniform block and push constants.  They survive the text, its gradient, the gradient of that, and the binary form.
//
// RUN: vyre-grad print %s
/* EXPECT
@shader program main(
    @set(1) @binding(2) @layout(16, 32, 4) `p.at`: inout vec3[`len_p.at`],
    @set(1) @binding(2) @layout(16 + 12, 32) `p.m`: in f32[?],
    @set(1) @binding(2) @layout(16 + 16, 32, 4) `p.v`: in vec3[?],
    @uniform @binding(1) @layout(16, 4, 16) k: in vec2[2],
    @binding(3) e: out f32[?],
    @offset(8) n: u32,
    @uniform @binding(1) @offset(0) `gravity.0`: f32,
    @uniform @binding(1) @offset(4) `gravity.1`: f32,
    @uniform @binding(1) @offset(8) `gravity.2`: f32,
    @uniform @binding(1) @offset(12) dt: f32,
    `len_p.at`: u32)
    workgroup(64) over(i: min(n, `len_p.at`))
{
    let gravity = vec3(`gravity.0`, `gravity.1`, `gravity.2`);
    let v = `p.v`[i] + gravity * dt;
    `p.at`[i] = v * dt + `p.at`[i];
    let v1 = k[0u];
    let v2 = k[1u];
    let w = vec2(v.x * v1.x + v.y * v2.x, v.x * v1.y + v.y * v2.y);
    let v3 = `p.m`[i] * 0.5;
    let v4 = w * w;
    e[i] = v3 * (v4.x + v4.y) + v.z * k[i % 2].y;
}
*/
// RUN: vyre-grad print %s -o a.vyre && vyre-grad print a.vyre -o b.vyre && cmp a.vyre b.vyre && vyre-grad print %s -o a.vyb && vyre-grad print a.vyb -o c.vyre && cmp a.vyre c.vyre && echo same
// EXPECT: same
//
// RUN: vyre-grad grad %s --wrt p.v --of e -o g.vyre && vyre-grad print g.vyre -o h.vyre && cmp g.vyre h.vyre && grep @ g.vyre
/* EXPECT
@order(1)
@shader program main_grad(
    @set(1) @binding(2) @layout(16, 32, 4) `p.at`: in vec3[`len_p.at`],
    @set(1) @binding(2) @layout(16 + 12, 32) `p.m`: in f32[?],
    @set(1) @binding(2) @layout(16 + 16, 32, 4) `p.v`: in vec3[?],
    @uniform @binding(1) @layout(16, 4, 16) k: in vec2[2],
    @binding(3) e: out f32[?],
    @offset(8) n: u32,
    @uniform @binding(1) @offset(0) `gravity.0`: f32,
    @uniform @binding(1) @offset(4) `gravity.1`: f32,
    @uniform @binding(1) @offset(8) `gravity.2`: f32,
    @uniform @binding(1) @offset(12) dt: f32,
*/
// RUN: vyre-grad grad %s --wrt p.v --of e | vyre-grad grad - --wrt p.v --of grad_p.v | grep @
/* EXPECT
@order(2)
@shader program main_grad_grad(
    @set(1) @binding(2) @layout(16, 32, 4) `p.at`: in vec3[`len_p.at`],
    @set(1) @binding(2) @layout(16 + 12, 32) `p.m`: in f32[?],
    @set(1) @binding(2) @layout(16 + 16, 32, 4) `p.v`: in vec3[?],
    @uniform @binding(1) @layout(16, 4, 16) k: in vec2[2],
    @binding(3) e: out f32[?],
    @offset(8) n: u32,
    @uniform @binding(1) @offset(0) `gravity.0`: f32,
    @uniform @binding(1) @offset(4) `gravity.1`: f32,
    @uniform @binding(1) @offset(8) `gravity.2`: f32,
    @uniform @binding(1) @offset(12) dt: f32,
*/
// RUN: vyre-grad info %s | grep -v 'words\|instructions'
/* EXPECT
program main
  over i
  scalar n: u32
  scalar gravity.0: f32
  scalar gravity.1: f32
  scalar gravity.2: f32
  scalar dt: f32
  scalar len_p.at: u32
  set 1 binding 2   inout p.at: f32[len_p.at, 3]  storage from byte 16, strides 32, 4
  set 1 binding 2   in    p.m: f32[len(p.m)]  storage from byte 28, strides 32
  set 1 binding 2   in    p.v: f32[len(p.v), 3]  storage from byte 32, strides 32, 4
  set 0 binding 1   in    k: f32[2, 2]  uniform from byte 16, strides 4, 16
  set 0 binding 3   out   e: f32[len(e)]
  push constant     offset 8    u32  n
  set 0 binding 1   offset 0    f32  gravity.0
  set 0 binding 1   offset 4    f32  gravity.1
  set 0 binding 1   offset 8    f32  gravity.2
  set 0 binding 1   offset 12   f32  dt
  parameter buffer: set 2 binding 0, 4 bytes
    offset 0    u32  _i_0 = max(min(n, len_p.at), 0)
*/
// RUN: vyre-grad grad %s --wrt p.v --of e -o g.json && grep '"from"' g.json
/* EXPECT
        {"name": "p.at", "set": 1, "binding": 2, "access": "in", "clear": false, "workspace": false, "init": null, "type": "f32", "element_size": 4, "shape": ["len_p.at", "3"], "from": {"block": "storage", "set": 1, "binding": 2, "offset": 16, "strides": [32, 4]}},
        {"name": "p.m", "set": 1, "binding": 2, "access": "in", "clear": false, "workspace": false, "init": null, "type": "f32", "element_size": 4, "shape": ["len(p.m)"], "from": {"block": "storage", "set": 1, "binding": 2, "offset": 28, "strides": [32]}},
        {"name": "p.v", "set": 1, "binding": 2, "access": "in", "clear": false, "workspace": false, "init": null, "type": "f32", "element_size": 4, "shape": ["len(p.v)", "3"], "from": {"block": "storage", "set": 1, "binding": 2, "offset": 32, "strides": [32, 4]}},
        {"name": "k", "set": 0, "binding": 1, "access": "in", "clear": false, "workspace": false, "init": null, "type": "f32", "element_size": 4, "shape": ["2", "2"], "from": {"block": "uniform", "set": 0, "binding": 1, "offset": 16, "strides": [4, 16]}},
        {"name": "grad_p.v", "set": 2, "binding": 0, "access": "out", "clear": true, "workspace": false, "init": null, "type": "f32", "element_size": 4, "shape": ["len(grad_p.v)", "3"], "from": null},
        {"name": "e", "set": 0, "binding": 3, "access": "out", "clear": false, "workspace": false, "init": null, "type": "f32", "element_size": 4, "shape": ["len(e)"], "from": {"block": "storage", "set": 0, "binding": 3, "offset": 0}}],
        {"name": "n", "type": "u32", "size": 4, "from": {"block": "push_constants", "offset": 8}},
        {"name": "gravity.0", "type": "f32", "size": 4, "from": {"block": "uniform", "set": 0, "binding": 1, "offset": 0}},
        {"name": "gravity.1", "type": "f32", "size": 4, "from": {"block": "uniform", "set": 0, "binding": 1, "offset": 4}},
        {"name": "gravity.2", "type": "f32", "size": 4, "from": {"block": "uniform", "set": 0, "binding": 1, "offset": 8}},
        {"name": "dt", "type": "f32", "size": 4, "from": {"block": "uniform", "set": 0, "binding": 1, "offset": 12}}],
*/
// RUN: vyre-grad grad %s --wrt p.v --of e -o g.h && grep '_ENTRY\|_BINDING_\|_SET_\|_OFFSET_' g.h
/* EXPECT
#define MAIN_GRAD_ENTRY "main_grad"
    MAIN_GRAD_BINDING_P_AT = 2, // in f32[len_p.at, 3], the shader's from byte 16, strides 32, 4
    MAIN_GRAD_SET_P_AT = 1,
    MAIN_GRAD_BINDING_P_M = 2, // in f32[len(p.m)], the shader's from byte 28, strides 32
    MAIN_GRAD_SET_P_M = 1,
    MAIN_GRAD_BINDING_P_V = 2, // in f32[len(p.v), 3], the shader's from byte 32, strides 32, 4
    MAIN_GRAD_SET_P_V = 1,
    MAIN_GRAD_BINDING_K = 1, // in f32[2, 2], the shader's from byte 16, strides 4, 16
    MAIN_GRAD_BINDING_GRAD_P_V = 0, // out f32[len(grad_p.v), 3], zero it before each dispatch
    MAIN_GRAD_SET_GRAD_P_V = 2,
    MAIN_GRAD_BINDING_E = 3, // out f32[len(e)], the shader's
    MAIN_GRAD_OFFSET_N = 8, // u32, push constants
    MAIN_GRAD_OFFSET_GRAVITY_0 = 0, // f32, uniform block: set 0, binding 1
    MAIN_GRAD_OFFSET_GRAVITY_1 = 4, // f32, uniform block: set 0, binding 1
    MAIN_GRAD_OFFSET_GRAVITY_2 = 8, // f32, uniform block: set 0, binding 1
    MAIN_GRAD_OFFSET_DT = 12, // f32, uniform block: set 0, binding 1
*/
// The runtime has its own bindings, without padding.
// RUN: vyre-grad run %s --grad --wrt p.v,p.m --of e --engine {eval,vulkan} --in p.v[2,3]=1,2,3,4,5,6 --in p.m=1,2 --in p.at[2,3]=zeros --in k[2,2]=1,2,3,4 --in e[2]=zeros --set n=2 --set dt=0.5 --set gravity=0,0,2
/* EXPECT
e f32[2] = [82.5, 1173]
grad_p.m f32[2] = [74.5, 572.5]
grad_p.v f32[2, 3] = [27, 61, 2, 150, 338, 4]
*/
#version 450
layout(local_size_x = 64) in;
struct P { vec3 at; float m; vec3 v; };
layout(set = 1, binding = 2) buffer Ps { uint count; P p[]; };
layout(set = 0, binding = 1) uniform World { vec3 gravity; float dt; layout(row_major) mat2 k; };
layout(set = 0, binding = 3) buffer E { float e[]; };
layout(push_constant) uniform Push { layout(offset = 8) uint n; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= n || i >= p.length()) return;
    vec3 v = p[i].v + dt * gravity;
    p[i].at += dt * v;
    vec2 w = k * v.xy;
    e[i] = 0.5 * p[i].m * dot(w, w) + k[i % 2][1] * v.z;
}
