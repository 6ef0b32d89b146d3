// SPDX-License-Identifier: MIT
// A chain of masses and springs, one invocation per mass: its energy after a step of time.
// drop_in.c launches it, and its gradient in its place.
//   vyre-grad grad springs.comp --wrt stiffness,m.at
#version 450
layout(local_size_x = 64) in;
struct Mass { vec3 at; float kg; vec3 speed; };
layout(set = 0, binding = 0) readonly buffer Masses { Mass m[]; };
layout(set = 0, binding = 1) readonly buffer Springs { float stiffness[]; }; // of the one to the next mass
layout(set = 0, binding = 2) uniform World { vec3 gravity; float dt; };
layout(set = 0, binding = 3) writeonly buffer Energies { float energy[]; };
layout(push_constant) uniform Chain { uint n; float rest; };

vec3 pull(uint i) // of spring i, on mass i
{
    vec3 d = m[i + 1].at - m[i].at;
    return stiffness[i] * (length(d) - rest) * normalize(d);
}

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    vec3 force = m[i].kg * gravity;
    if (i + 1 < n) force += pull(i);
    if (i > 0) force -= pull(i - 1);
    vec3 speed = m[i].speed + dt / m[i].kg * force;
    energy[i] = m[i].kg * (0.5 * dot(speed, speed) - dot(gravity, m[i].at + dt * speed));
}
