// SPDX-License-Identifier: MIT
// options.c: structs of options from callers that were compiled with another version of the
// headers.
//
// Of a shorter struct, the members that it lacks are zero; a longer one is fine as long as what is
// not known here is zero, and so requests nothing.  The copy has the size that is known here: it
// may be passed on.
#include "ir/core/ir.h"

#include <string.h>

static bool refuse(vy_diag *d, const char *fix, const char *what, const char *why)
{
    *d = (vy_diag){0};
    vy_diag_set(d, VY_E_API, 0, 0, fix, "%s%s", what, why);
    return false;
}

bool vy_take_options(void *to, size_t known, size_t first, const void *from, const char *what,
                     vy_diag *d)
{
    size_t size = 0;
    memset(to, 0, known);
    if (!from) return true;
    memcpy(&size, from, sizeof size);
    if (size == 0) size = first;
    if (size < sizeof size)
        return refuse(d, "set it to the sizeof of the struct, or to 0", what, ".size is too small");
    for (size_t i = known; i < size; i++)
        if (((const unsigned char *)from)[i])
            return refuse(d, "update the library, or leave it out", what,
                          " has a member that this version does not know");
    memcpy(to, from, size < known ? size : known);
    memcpy(to, &known, sizeof known);
    return true;
}
