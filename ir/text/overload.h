// SPDX-License-Identifier: MIT
// overload.h: which function a name denotes in a call, where there are several.
#ifndef VYRE_OVERLOAD_H
#define VYRE_OVERLOAD_H

#include "ir/text/front.h"

void vy_sema_overloads(vy_front *f, const vy_decl *first); // no two take the same
vy_decl *vy_choose_overload(vy_front *f, const vy_ast_expr *e, vy_decl *first); // for a call
vy_decl *vy_named_array(const vy_ast_expr *a); // a buffer or array that is named; or NULL

#endif
