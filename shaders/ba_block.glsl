// SPDX-License-Identifier: MIT
// ba_block.glsl: one observation of bundle adjustment and its derivatives.
//
// P = R v, v = X − C; a = P.xy / P.z, s = |a|², L = 1 + k1 s + k2 s², q = f L a + (u0, v0), e = w (q − feat).
// Backwards, a row g = ∂e_k/∂P becomes t = Rᵀ g for X (−t for C) and, with the right Jacobian of the rotation,
//   ∂e_k/∂r = (v × t)ᵀ (1 − B [r]× + D [r]×²),  B = (1 − cos θ)/θ², D = (θ − sin θ)/θ³,
// so a rotation is differentiated by cross products: one sine and cosine, one square root, three divisions in all.

struct turning { // R = c + s [a]× + (1 − c) a aᵀ about the unit vector a, or 1 + [r]× for small r
    vec3 a;
    float s, c, B, D;
};

turning turning_of(vec3 r)
{
    const float squared = dot(r, r);
    if (squared < 1e-8) return turning(r, 1.0, 1.0, 0.5, 1.0 / 6.0);
    turning t;
    const float inverse = inversesqrt(squared), angle = squared * inverse;
    t.a = r * inverse;
    t.s = sin(angle);
    t.c = cos(angle);
    t.B = (1.0 - t.c) * inverse * inverse;
    t.D = (angle - t.s) * inverse * inverse * inverse;
    return t;
}

vec3 turn(turning t, float s, vec3 v)
{
    return v * t.c + cross(t.a, v) * s + t.a * (dot(t.a, v) * (1.0 - t.c));
}

struct block {
    vec3 r[2], X[2]; // rows of ∂e/∂r and of ∂e/∂X = −∂e/∂C
    vec2 off;        // q − feat = ∂e/∂w
    vec2 a;
    float wL, wfs, wfss; // ∂e/∂f = wL a, ∂e/∂k1 = wfs a, ∂e/∂k2 = wfss a; ∂e/∂(u0, v0) = w
};

block differentiate(vec3 r, vec3 C, float f, vec2 centre, vec2 k, vec3 X, float w, vec2 feat)
{
    block b;
    const turning R = turning_of(r);
    const vec3 v = X - C, P = turn(R, R.s, v);
    const float inverse = 1.0 / P.z;
    b.a = P.xy * inverse;
    const float s = dot(b.a, b.a), L = 1.0 + s * (k.x + k.y * s), slope = 2.0 * (k.x + 2.0 * k.y * s);
    b.off = f * L * b.a + centre - feat;
    b.wL = w * L;
    b.wfs = w * f * s;
    b.wfss = b.wfs * s;
    for (int row = 0; row < 2; row++) {
        vec2 g = slope * b.a[row] * b.a; // ∂(L a_row)/∂a
        g[row] += L;
        g *= w * f * inverse;
        const vec3 t = turn(R, -R.s, vec3(g, -dot(g, b.a))), m = cross(v, t), n = cross(m, r);
        b.X[row] = t;
        b.r[row] = m - R.B * n + R.D * cross(n, r);
    }
    return b;
}
