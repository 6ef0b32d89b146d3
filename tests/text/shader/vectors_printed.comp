#version 450
// Vectors that a shader reads, carries through loops and chooses by arms are printed as vectors;
// and so is its gradient.
// RUN: vyre-grad print %s
/* EXPECT
@shader program main(
    @binding(0) at: inout vec4[?],
    @binding(1) @layout(0, 16, 4) `pull.of`: in vec3[?],
    @binding(1) @layout(0 + 12, 16) `pull.much`: in f32[?],
    @offset(0) n: u32,
    @offset(4) k: u32)
    workgroup(8) over(i: n)
{
    var p = vec3(at[i].x, at[i].y, at[i].z);
    var v = vec3(0.0);
    for t in 0..k {
        let v_2 = v * 0.9 + (`pull.of`[t] - p) * `pull.much`[t];
        var p_2 = p + v_2;
        if p_2.x > 4.0 {
            p_2 = v_2.zyx + sin(p_2);
        }
        p = p_2;
        v = v_2;
    }
    at[i] = vec4(p.x, p.y, p.z, v.x * v.x + v.y * v.y + v.z * v.z);
}
*/
// RUN: vyre-grad print %s > out.vyre && vyre-grad print out.vyre | cmp - out.vyre
// RUN: vyre-grad compile %s -o a.spv && vyre-grad print %s -o out.vyre && vyre-grad compile out.vyre -o b.spv && for f in a b; do spirv-dis --raw-id $f.spv | grep -v OpName > $f.txt; done && cmp a.txt b.txt
// RUN: vyre-grad grad %s --wrt pull | sed -n '/adj_v/,$p'
/* EXPECT
    var adj_v = v5;
    for t in rev(0..k) {
        let v9 = `pull.much`[t];
        let p_2 = vec3(tape1[3u, t, i], tape1[4u, t, i], tape1[5u, t, i]);
        var v10 = adj_v.x;
        var v11 = adj_v.y;
        var v12 = adj_v.z;
        var v13 = adj_p.z;
        var v14 = adj_p.y;
        var v15 = adj_p.x;
        if p_2.x > 4.0 {
            let v16 = adj_p.z + adj_v.x;
            let v17 = adj_p.y + adj_v.y;
            let v18 = adj_p.x + adj_v.z;
            let v19 = adj_p * cos(p_2);
            v10 = v16;
            v11 = v17;
            v12 = v18;
            v13 = select(v3, v19.z, 0.0);
            v14 = select(v3, v19.y, 0.0);
            v15 = select(v3, v19.x, 0.0);
        }
        let v20 = v12 + v13;
        let v21 = v11 + v14;
        let v22 = v10 + v15;
        let v23 = select(v3, v9 * v20, 0.0);
        let v24 = select(v3, v9 * v21, 0.0);
        let v25 = select(v3, v9 * v22, 0.0);
        let v26 = select(v3, v20 * tape1[2u, t, i], 0.0);
        let v27 = v26 + select(v3, v21 * tape1[1u, t, i], 0.0);
        let v28 = v27 + select(v3, v22 * tape1[0u, t, i], 0.0);
        atomic_add(`grad_pull.much`[t], v28);
        atomic_add(`grad_pull.of`[t], vec3(v25, v24, v23));
        let v29 = vec3(v15, v14, v13) - vec3(v25, v24, v23);
        let v30 = vec3(select(v3, v22 * 0.9, 0.0), select(v3, v21 * 0.9, 0.0), select(v3, v20 * 0.9, 0.0));
        adj_p = v29;
        adj_v = v30;
    }
    adj_at[i].z += adj_p.z;
    adj_at[i].y += adj_p.y;
    adj_at[i].x += adj_p.x;
}
*/
// RUN: vyre-grad check %s --wrt pull --set n=5 --set k=3 --in pull.much=0.3,0.5,0.2
// CONTAINS: ok:
layout(local_size_x = 8) in;
struct Pull { vec3 of; float much; };
layout(binding = 0) buffer At { vec4 at[]; };
layout(binding = 1) readonly buffer P { Pull pull[]; };
layout(push_constant) uniform Push { uint n, k; };
void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    vec3 p = at[i].xyz, v = vec3(0.0);
    for (uint t = 0; t < k; t++) {
        v = v * 0.9 + (pull[t].of - p) * pull[t].much;
        p += v;
        if (p.x > 4.0) p = sin(p) + v.zyx;
    }
    at[i] = vec4(p, dot(v, v));
}
