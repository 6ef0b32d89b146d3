// SPDX-License-Identifier: MIT
// place.h: what is assigned: a variable, a part of one, an element of a buffer or a part of that.
//
//   v.zx[f(i)] += g(v)      find: f(i);  read: v.zx[…];  g(v);  write: v.zx[…]
//   swap(a[i], a[j])        find and read both;  the function;  write both, from the left
//
// What says where it is, is computed once.  A variable is read again when a part of it is written:
// what was computed in between may have changed its other parts.
#ifndef VYRE_PLACE_H
#define VYRE_PLACE_H

#include "ir/text/lower.h"

typedef struct vy_element_at vy_element_at; // lower_element.c

typedef struct vy_place {
    const vy_ast_expr *e;
    vy_element_at *at; // in a buffer or array; NULL: in a variable
    vy_path path;      // to the part
    struct vy_place *next;
} vy_place;

// All live until the room is given back.  After an error nothing is found.
vy_place *vy_place_find(vy_lower *l, const vy_ast_expr *e);
void vy_place_read(vy_lower *l, vy_place *p, vy_value *v);
void vy_place_write(vy_lower *l, vy_place *p, const vy_value *v);

vy_element_at *vy_element_find(vy_lower *l, const vy_ast_expr *e); // NULL after an error
void vy_element_read(vy_lower *l, vy_element_at *at, vy_value *v);
void vy_element_write(vy_lower *l, vy_element_at *at, const vy_value *v);
// op: the word after `atomic_`; old: what was there before.
void vy_element_atomic(vy_lower *l, vy_element_at *at, const char *op, const vy_value *v,
                       vy_value *old);

#endif
