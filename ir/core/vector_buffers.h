// SPDX-License-Identifier: MIT
// vector_buffers.h: which buffers are of vectors.
//
// A declaration says so (`p: in vec3[N]`, vy_buf.vector) of a buffer whose last axis has 2 to 4
// components.  The text cannot say it of all programs; where it cannot, nothing else may rely on
// it, or a derivative and its text would not be the same program.
#ifndef VYRE_VECTOR_BUFFERS_H
#define VYRE_VECTOR_BUFFERS_H

#include "ir/core/ir.h"

enum { VY_MOST_COMPONENTS = 4 };

// What comes before `vec3` in the name of a vector of this type; NULL: there is none.
const char *vy_vector_prefix(vy_type t);
// The number of components of what it is declared as, if there is such a type; else 0.
uint32_t vy_vector_size(const vy_program *p, const vy_buf *b);
// May the text of the program have the words for vectors?
bool vy_has_vector_words(const vy_program *p);
// The same of all buffers, by id (p->buffers.count entries), where the text says it; whether there
// are any.
bool vy_vector_sizes(const vy_program *p, uint8_t *sizes);
// Declarations of which the text says nothing become those of arrays.
void vy_settle_vectors(vy_program *p);
// The same of a finished module, whose lowered programs are printed without vectors: their marks
// are those of single elements.
void vy_settle_module_vectors(vy_module *m);

#endif
