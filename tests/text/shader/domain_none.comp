// No domain, because only the caller knows how many workgroups run: something is done ahead of the guard, or
// behind it, an axis has none, invocations beside it repeat an addition, the number of workgroups is seen, the guard is no
// bound, a sum may wrap or be less than what it is compared with.
//
// RUN: for d in FIRST LATER AXIS REPEATED GROUPS STRIDE EITHER BOTH ARMS WRAPS EQUAL NAN; do vyre-grad print %s -D $d | grep workgroup; done
/* EXPECT
@shader program main(@binding(0) y: inout f32[?], @offset(0) n: u32) workgroup(4, 2) {
@shader program main(@binding(0) y: inout f32[?], @offset(0) n: u32) workgroup(4, 2) {
@shader program main(@binding(0) y: inout f32[?], @offset(0) n: u32) workgroup(4, 2) {
@shader program main(@binding(1) count: inout u32[?], @offset(0) n: u32) workgroup(4, 2) {
@shader program main(@binding(0) y: inout f32[?], @offset(0) n: u32) workgroup(4, 2) {
@shader program main(@binding(0) y: inout f32[?], @offset(0) n: u32) workgroup(4, 2) {
@shader program main(@binding(0) y: inout f32[?], @offset(0) n: u32) workgroup(4, 2) {
@shader program main(@binding(0) y: inout f32[?], @offset(0) n: u32) workgroup(4, 2) {
@shader program main(@binding(0) y: inout f32[?], @offset(0) n: u32) workgroup(4, 2) {
    workgroup(4, 2)
    workgroup(4, 2)
@shader program main(@binding(0) y: inout f32[?], @offset(8) f: f32) workgroup(4, 2) {
*/
#version 450
layout(local_size_x = 4, local_size_y = 2) in;
layout(push_constant) uniform P { uint n; int m; float f; } p;
layout(binding = 0) buffer Y { float y[]; };
layout(binding = 1) buffer C { uint count[]; };

void main()
{
    const uvec3 g = gl_GlobalInvocationID;
#if defined(FIRST)
    if (gl_LocalInvocationIndex == 0) y[gl_WorkGroupID.x * 100] += 1.0;
    if (g.x >= p.n || g.y >= p.n) return;
    y[g.x * 100 + g.y + 1] += 1.0;
#elif defined(LATER)
    if (g.x < p.n && g.y < p.n) y[g.y * p.n + g.x] += 1.0;
    if (g.x < p.n) y[g.y * 100 + g.x + 1000] -= 1.0;
#elif defined(AXIS)
    if (g.x >= p.n || g.y >= p.n) return;
    y[(g.z * 100 + g.y) * p.n + g.x] += 1.0;
#elif defined(REPEATED)
    if (g.x >= p.n) return;
    atomicAdd(count[g.x], 1);
#elif defined(GROUPS)
    if (g.x >= p.n || g.y >= p.n) return;
    y[g.y * p.n + g.x] += float(gl_NumWorkGroups.x);
#elif defined(STRIDE)
    if (g.x % 4 >= p.n || g.y >= p.n) return;
    y[g.y * p.n + g.x] += 1.0;
#elif defined(EITHER)
    if (g.x >= p.n && g.y >= p.n) return;
    y[g.y * p.n + g.x] += 1.0;
#elif defined(BOTH)
    if (all(greaterThanEqual(g.xy, uvec2(p.n)))) return;
    y[g.y * p.n + g.x] += 1.0;
#elif defined(ARMS)
    if (g.x < p.n && g.y < p.n)
        y[g.y * p.n + g.x] += 1.0;
    else
        y[g.y * 100 + g.x] -= 1.0;
#elif defined(WRAPS)
    if (g.x + p.m >= p.n || g.y >= p.n) return;
    y[g.y * p.n + g.x] += 1.0;
#elif defined(EQUAL)
    if (int(g.x) + p.m != 0 || g.y != 0) return;
    y[g.x] += float(p.n);
#else
    if (!(float(g.x) < p.f) || g.y >= 2) return;
    y[g.y * 100 + g.x] += 1.0;
#endif
}
