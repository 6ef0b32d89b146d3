// SPDX-License-Identifier: MIT
// fields.h: requests that name a buffer of structs.
//
// Such a buffer is several to everything behind the parser, `p.pos` and `p.mass` (docs/language.md
// 2.4); `p` in `of` or `wrt` is all of them that can have a cotangent or a gradient.
#ifndef AUTODIFF_DRIVER_FIELDS_H
#define AUTODIFF_DRIVER_FIELDS_H

#include "autodiff/grad.h"

typedef struct vy_named_fields {
    vy_grad_options o; // the request, with the names of fields
    const char **of, **wrt;
} vy_named_fields;

// The request with names of fields in the place of names of buffers of structs.  The names are
// those of the request and of the module, which have to outlive them.  False: memory, in *diag.
bool vy_fields_name(vy_named_fields *f, const vy_module *m, const vy_grad_options *o,
                    vy_diag *diag);
void vy_fields_free(vy_named_fields *f);

#endif
