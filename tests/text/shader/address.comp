// A pointer that the host gives as a number.
//
// RUN: vyre-grad print %s
// STATUS: 1
// ERROR: a pointer to memory (a buffer reference) cannot be read
// ERROR: fix: bind what it points to as a storage buffer
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
layout(local_size_x = 1) in;
layout(buffer_reference) buffer Far { float x[]; };
layout(binding = 0) buffer B { uvec2 at; float y; };
void main()
{
    y = Far(at).x[gl_GlobalInvocationID.x];
}
