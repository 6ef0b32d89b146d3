// SPDX-License-Identifier: MIT
// desc.c: descriptors of callers that were compiled with another version of the headers.
//
// A descriptor begins with its size.  Of a shorter one, the members that it lacks are zero; a
// longer one is fine as long as what is not known here is zero, and so requests nothing.  Those of
// vkrt.h may leave the size out: then they are as version 0.1 has them.
#include "vkrt/internal.h"

vkrt_status vkrt_take_desc(void *to, size_t known, size_t first, const void *from, const char *what,
                           vkrt_error *error)
{
    memset(to, 0, known);
    if (!from) return VKRT_OK;
    size_t size;
    memcpy(&size, from, sizeof size);
    if (size == 0) size = first;
    if (size < sizeof size)
        return vkrt_fail(error, VKRT_BAD_ARGUMENT, "set .size to the sizeof of the struct",
                         "%s.size is %zu", what, size);
    for (size_t i = known; i < size; i++)
        if (((const unsigned char *)from)[i])
            return vkrt_fail(error, VKRT_BAD_ARGUMENT, "update the library, or leave it out",
                             "%s has a member that this version of vkrt does not know", what);
    memcpy(to, from, size < known ? size : known);
    return VKRT_OK;
}
