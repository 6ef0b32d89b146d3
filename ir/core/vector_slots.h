// SPDX-License-Identifier: MIT
// vector_slots.h: which slots of a construct are the components of one vector.
//
// A variable of a vector is one of the builder's for each component, and the front ends name these
// v_x, v_y, …: so slots that follow each other and have such names are one.  Should they be those
// of scalars, these are printed as a vector, which means the same.
#ifndef VYRE_VECTOR_SLOTS_H
#define VYRE_VECTOR_SLOTS_H

#include "ir/core/flow.h"
#include "ir/core/vector_buffers.h"

// The length of the name of the vector whose component k has this name (`v` of `v_x`); 0: it is no
// component's name.
size_t vy_component_stem(const char *name, uint32_t k);
// Has any value the name of a first component?
bool vy_has_component_names(const vy_program *p);
// The components of the vector whose first one is slot k of the construct; 0: there is none.
uint32_t vy_vector_at_slot(const vy_program *p, const vy_structure *s, uint32_t opener, uint32_t k);

#endif
