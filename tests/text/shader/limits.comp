// Beyond a limit of the reader: an array of an invocation that would be 70,000 variables.
//
// RUN: vyre-grad print %s
// STATUS: 1
// ERROR: error: a variable of an invocation is too large
// ERROR: [E0123]
#version 450
layout(local_size_x = 1) in;
layout(binding = 0) buffer Y { float y[]; };
void main()
{
    float v[70000];
    v[3] = y[0];
    y[1] = v[3];
}
