// SPDX-License-Identifier: MIT
// npz.h: NumPy's archives: a .npy file for each array, in a zip file.  Without libzip: E0802.
#ifndef VYRE_TOOL_NPZ_H
#define VYRE_TOOL_NPZ_H

#include "tools/data/tool.h"

// Whether this build has libzip; `what` and `path` name what needs it.
bool npz_available(const char *what, const char *path, vy_diag *d);
// Appends the bytes of MEMBER.npy.  E0805: the archive has no such array, and the fix lists those
// it has; E0808: it cannot be read.
bool npz_read(const char *path, const char *member, text *out, vy_diag *d);
// Whether there is such an array.  False with *d: the archive cannot be read.
bool npz_has(const char *path, const char *member, bool *has, vy_diag *d);

typedef struct npz_member {
    char *name; // without .npy
    text file;  // .npy
} npz_member;
// Appends an archive of them, not compressed, with a fixed date: the same arrays, the same bytes.
bool npz_write(const npz_member *members, uint32_t count, const char *path, text *out, vy_diag *d);

// What the module has: the same.
VYS_API bool npz_zip_read(const char *path, const char *member, text *out, vy_diag *d);
VYS_API bool npz_zip_has(const char *path, const char *member, bool *has, vy_diag *d);
VYS_API bool npz_zip_write(const npz_member *members, uint32_t count, const char *path, text *out,
                           vy_diag *d);

#endif
