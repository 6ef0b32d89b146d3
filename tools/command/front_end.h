// SPDX-License-Identifier: MIT
// front_end.h: shaders in a language of their own, made SPIR-V by the compiler that is installed.
#ifndef VYRE_TOOL_FRONT_END_H
#define VYRE_TOOL_FRONT_END_H

#include "tools/command/options.h"

// Does its suffix say that a compiler makes SPIR-V of it?  .comp .glsl, .hlsl, .slang
bool front_end_takes(const char *path);
// Appends the SPIR-V.  The compiler gets -D and -I, too.  False with *d: no such compiler (E0802),
// what it says of the shader (E0810), a file that cannot be read.
bool front_end_compile(const options *o, text *out, vy_diag *d);

#endif
