// SPDX-License-Identifier: MIT
// Forces between particles.  Whoever is near i has i near it, so each particle gathers from its neighbours what
// it does to them and they to it: no atomics.  With F̄ = ā/ρ, e = x_i − x_j, r = |e|, for the pair seen from i and
// (turned round) from j: A = K (p_i + p_j)/2 (h − r)²/(ρ_j r), B = K μ (h − r)/ρ_j,
//   ē = A F̄ + r̄ e/r,  r̄ = −Ā A (2/(h − r) + 1/r) − B̄ B/(h − r),  Ā = F̄·e,  B̄ = F̄·(v_j − v_i).
// Measured: 38 % of the peak copy bandwidth, 16 bytes an entry of the lists and 28 for each pair within h; 6 % of the peak
// multiply-add rate, 105 operations a pair (llvmpipe, 405,194 entries and 224,708 pairs of 8,000 particles in 7.56 ms; counted from
// the data, so not by tools/benchmark heads).
#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Scalars { uint N, M; float h, mass, stiffness, rest, viscosity, gravity; };
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer V { float v[]; };
layout(std430, binding = 2) readonly buffer Density { float density[]; };
layout(std430, binding = 3) readonly buffer Near { uint near[]; };
layout(std430, binding = 4) readonly buffer Count { uint count[]; };
layout(std430, binding = 5) readonly buffer GradA { float grad_a[]; };
layout(std430, binding = 6) writeonly buffer GradX { float grad_x[]; };
layout(std430, binding = 7) writeonly buffer GradV { float grad_v[]; };
layout(std430, binding = 8) writeonly buffer GradDensity { float grad_density[]; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    if (i >= N) return;
    const float h2 = h * h, spiky = mass * 45.0 / (3.14159265 * h2 * h2 * h2), rho = density[i];
    const float one = 1.0 / rho;
    const vec3 xi = vec3(x[3 * i], x[3 * i + 1], x[3 * i + 2]), vi = vec3(v[3 * i], v[3 * i + 1], v[3 * i + 2]);
    const vec3 ct = vec3(grad_a[3 * i], grad_a[3 * i + 1], grad_a[3 * i + 2]), fi = ct * one;
    vec3 force = vec3(0.0), x_bar = vec3(0.0), v_bar = vec3(0.0);
    float rho_bar = 0.0, p_bar = 0.0;
    const uint last = min(count[i], M);
    for (uint k = 0; k < last; k++) {
        const uint j = near[i * M + k];
        const vec3 e = xi - vec3(x[3 * j], x[3 * j + 1], x[3 * j + 2]);
        const float r2 = dot(e, e), to_r = inversesqrt(r2), r = r2 * to_r, gap = h - r;
        if (gap <= 0.0 || r2 == 0.0) continue;
        const vec3 dv = vec3(v[3 * j], v[3 * j + 1], v[3 * j + 2]) - vi;
        const float other = 1.0 / density[j];
        const vec3 fj = vec3(grad_a[3 * j], grad_a[3 * j + 1], grad_a[3 * j + 2]) * other;
        const float pressures = stiffness * (rho + density[j] - 2.0 * rest);
        const float per = spiky * 0.5 * gap * gap * to_r, push = per * pressures, drag = spiky * viscosity * gap;
        // Seen from i over ρ_j, from j over ρ_i; there e and dv have the other sign.
        const vec3 both = fi * other - fj * one;
        const float a_bar = dot(both, e), b_bar = dot(both, dv);
        const float r_bar = -a_bar * push * (2.0 / gap + to_r) - b_bar * spiky * viscosity;
        force += other * (push * e + drag * dv);
        x_bar += push * both + (r_bar * to_r) * e;
        v_bar -= drag * both;
        p_bar += a_bar * per;
        rho_bar += one * one * (push * dot(fj, e) + drag * dot(fj, dv));
    }
    rho_bar += stiffness * p_bar - dot(ct, force) * one * one;
    grad_x[3 * i] = x_bar.x, grad_x[3 * i + 1] = x_bar.y, grad_x[3 * i + 2] = x_bar.z;
    grad_v[3 * i] = v_bar.x, grad_v[3 * i + 1] = v_bar.y, grad_v[3 * i + 2] = v_bar.z;
    grad_density[i] = rho_bar;
}
