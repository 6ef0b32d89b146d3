// SPDX-License-Identifier: MIT
// shapes.h: the shapes of buffers whose indices are flat.
//
//   program f(a: in f32[?], c: out f32[?], M: u32, K: u32) over(i: M) {
//       for k in 0..K { … a[i * K + k] … }            →        a: in f32[M, K] … a[i, k]
//
// For programs that were read from shaders (spirv/read.h), where every buffer is `?`.
#ifndef VYRE_SHAPES_H
#define VYRE_SHAPES_H

#include "ir/vyre.h"

#ifdef __cplusplus
extern "C" {
#endif

// Changes the programs of module m, which have been checked.  Where all indices of an open buffer
// are proved to be those of one row-major shape, which the program's scalars tell, the buffer gets
// that shape and its indices one axis each.  The new program is the old one for data of that many
// elements.
//
// given: shapes by the buffer's name, "M, K" (+ - * of scalars and numbers) or "?", which leaves it
// open.  Indices that are not proved to be of a given shape stay flat, in a buffer of so many
// elements.  E0122: there is no such buffer, or it is not open, or the shape cannot be read.
// False: m's diag.
VY_API bool vy_recover_shapes(vy_module *m, const vy_define *given, uint32_t count);

#ifdef __cplusplus
}
#endif
#endif
