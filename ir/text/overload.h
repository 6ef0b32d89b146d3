// SPDX-License-Identifier: MIT
// overload.h: which function a name denotes in a call, where there are several.
#ifndef VYRE_OVERLOAD_H
#define VYRE_OVERLOAD_H

#include "ir/text/front.h"

void vy_sema_overloads(vy_front *f, const vy_decl *first); // no two take the same
vy_decl *vy_choose_overload(vy_front *f, const vy_ast_expr *e, vy_decl *first); // for a call
vy_decl *vy_named_array(const vy_ast_expr *a); // a buffer or array that is named; or NULL

// The types that a call leaves to fn, by its arguments; the first that does not fit, or NULL.
const vy_ast_expr *vy_open_types(const vy_front *f, const vy_ast_expr *e, const vy_func *fn,
                                 uint8_t types[VY_MAX_GENERICS]);
vy_func *vy_make_instance(vy_front *f, const vy_ast_expr *e, vy_func *of,
                          const uint8_t *types);                      // instance.c
vy_func *vy_instance(vy_front *f, const vy_ast_expr *e, vy_func *fn); // fn, or what a call takes
void vy_blame_instance(vy_front *f, const vy_func *fn);               // after an error in it

#endif
