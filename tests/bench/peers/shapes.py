# SPDX-License-Identifier: MIT
"""Chains of arithmetic of one size in our language and in Slang, for what compiling costs."""

TINY = """program tiny(a: in f32[N], y: out f32[N], N: u32) over(i: N)
{
    y[i] = a[i] * a[i] * sin(a[i]);
}
"""
SLANG = """StructuredBuffer<float> x, w, grad_y;
RWStructuredBuffer<float> grad_x, grad_w;
uniform uint n;

[Differentiable]
float f(float x, float a)
{
%s}

[shader("compute")]
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID)
{
    if (id.x >= n) return;
    var a = diffPair(x[id.x]);
    var b = diffPair(w[id.x]);
    bwd_diff(f)(a, b, grad_y[id.x]);
    grad_x[id.x] = a.d;
    grad_w[id.x] = b.d;
}
"""


def chain(operations: int) -> str:
    head = "program chain(x: in f32[N], w: in f32[N], y: out f32[N], N: u32) over(i: N)\n{\n"
    steps = "".join("    v = sin(v) * a + v * %d.5;\n" % (k % 1000) for k in range(operations // 4))
    return head + "    let a = w[i];\n    var v = x[i];\n" + steps + "    y[i] = v;\n}\n"


def chain_slang(operations: int) -> str:
    steps = "".join("    v = sin(v) * a + v * %d.5f;\n" % (k % 1000) for k in range(operations // 4))
    return SLANG % ("    float v = x;\n" + steps + "    return v;\n")


def tiny_slang() -> str:
    return SLANG % "    return x * x * sin(x) + 0 * a;\n"
